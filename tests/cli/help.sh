# The help of the program fits one screen: the commands in groups, and where to read on.
sutra --help
sutra --help | awk 'length > 80 { print "too wide: " $0 } END { if (NR > 40) print NR " lines" }'
sutra help exit-codes
