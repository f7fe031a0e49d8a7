sutra help simulate
