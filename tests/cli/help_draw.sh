sutra help draw
