sutra help correlate
