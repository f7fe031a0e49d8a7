sutra help tree
