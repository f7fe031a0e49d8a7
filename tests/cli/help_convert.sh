sutra convert --help
