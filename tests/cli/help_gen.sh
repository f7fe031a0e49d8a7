sutra help gen
