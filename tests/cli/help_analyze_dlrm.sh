sutra help analyze dlrm
