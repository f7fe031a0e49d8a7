sutra help info
