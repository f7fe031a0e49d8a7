sutra help merge
