sutra help analyze hta
