# The version is a name and three numbers.
sutra --version | grep -xE 'sutra [0-9]+\.[0-9]+\.[0-9]+' | sed 's/[0-9.]*$/VERSION/'
sutra --version >long
sutra -V | cmp - long
