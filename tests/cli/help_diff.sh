sutra help diff
