sutra help critical-path
