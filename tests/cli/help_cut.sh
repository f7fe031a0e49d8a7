sutra help cut
