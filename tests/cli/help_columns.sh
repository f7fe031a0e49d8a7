sutra help columns
