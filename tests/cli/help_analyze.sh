sutra help analyze
