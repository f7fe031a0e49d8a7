sutra help link
