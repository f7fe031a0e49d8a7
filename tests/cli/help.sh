# The help of the program fits one screen: the commands in groups, and where to read more. Every way of requesting the
# help of a command prints the same text, which begins with its usage and fits 80 columns.
sutra --help >text && cat text
sutra -h | cmp - text && sutra help | cmp - text
awk 'length > 80 { print "too wide: " $0 } END { if (NR > 40) print NR " lines" }' text
sutra help exit-codes
sutra man --list | sed '1d; /^sutra/!d' | while read -r page name; do
    sutra help $name >text
    sutra $name --help | cmp - text && sutra $name -h | cmp - text && sutra $name --hel | cmp - text
    grep -q "^Usage:" text || echo "$name has no help"
    awk -v name="$name" '/^Examples:/ { examples = 1 } /^$/ { examples = 0 }
        length > 80 && !examples { print name ": too wide: " $0 }' text
done
sutra help chakra_trace_link >text
chakra_trace_link -h | cmp - text
for name in link link-legacy convert jsonize columns info analyze 'analyze dlrm' 'analyze hta' critical-path diff tree \
    correlate cut merge repair simulate check draw gen chakra_trace_link; do
    echo "\$ sutra help $name"
    sutra help $name
done
