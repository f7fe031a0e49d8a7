sutra help repair
