sutra --help
