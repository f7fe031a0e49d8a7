# Every way of asking for help gives the same text, for every command.
sutra --help >expected && sutra -h | cmp - expected && sutra help | cmp - expected
for name in $(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' expected); do
    sutra help "$name" >text
    sutra "$name" --help | cmp - text && sutra "$name" -h | cmp - text && sutra "$name" --hel | cmp - text
    grep -q "^Usage:" text && echo "$name has help"
    awk -v name="$name" '/^Examples:/ { examples = 1 } length > 80 && !examples { print name ": too wide: " $0 }' text
done
sutra help chakra_trace_link >text
chakra_trace_link -h | cmp - text
