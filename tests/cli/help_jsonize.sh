sutra help jsonize
