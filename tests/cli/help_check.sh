sutra help check
