sutra link-legacy --help
