# Every way of requesting help prints the same text, for every command.
sutra --help >expected && sutra -h | cmp - expected && sutra help | cmp - expected
sutra man --list | sed '1d; /^sutra/!d' | while read -r page name; do
    sutra help $name >text
    sutra $name --help | cmp - text && sutra $name -h | cmp - text && sutra $name --hel | cmp - text
    grep -q "^Usage:" text && echo "$name has help"
    awk -v name="$name" '/^Examples:/ { examples = 1 } /^$/ { examples = 0 }
        length > 80 && !examples { print name ": too wide: " $0 }' text
done
sutra help chakra_trace_link >text
chakra_trace_link -h | cmp - text
