# The screen of analyze: widths, lines, details, colors, real paths in commands; Markdown.
. "$TOOLS/common.sh"
sutra gen --events 20k --ranks 4 --straggler-rank 2 --host hosts --device devices >/dev/null 2>&1
quietly sutra analyze devices/device.2.json
quietly sutra analyze devices
for trace in devices devices/device.*.json; do
    sutra analyze $trace 2>/dev/null >screen
    awk -v name=$trace 'length > 80 { print name, "has a wide line:", $0 } END { if (NR > 60) print name, "has", NR, "lines" }' screen
    grep -n 'TRACE' screen
    grep -q '^Next:' screen || echo "$trace: no commands"
done

echo "commands run as they are printed, without the purpose after them, also with a path that needs quotes:"
mkdir "my traces"
cp devices/device.2.json "my traces/rank 2's.json"
sutra analyze "my traces/rank 2's.json" 2>/dev/null >screen
sed -n '/^  sutra cut/,/-o/p' screen
sed -n '/^  sutra cut/,/-o/p' screen | sed 's/  for Perfetto$//' >command.sh
sh command.sh 2>&1 | grep -c 'events kept'
sutra analyze "my traces/rank 2's.json" -o out 2>/dev/null | grep 'sutra analyze' || echo "no command for the report, which was written"

echo "ranges of a part of the trace count from its first event:"
sutra analyze devices/device.2.json --step 5 2>/dev/null | sed -n '/^  sutra cut/,/-o/p' | sed 's/  for Perfetto$//' >command.sh
sh command.sh >/dev/null 2>&1
gzip -dc host_bound.json.gz | grep -c 'ProfilerStep#5"'

echo "the trace of a straggler may be a pipe, which is read once:"
mkfifo pipe.json
for command in "analyze" "analyze collectives"; do
    cat devices/device.2.json >pipe.json &
    sutra $command devices/device.0.json devices/device.1.json pipe.json devices/device.3.json 2>/dev/null | grep 'rank 2' | sed 's/^ *//'
done

echo "defects of a trace that is read again are reported once:"
cp -r devices damaged
awk '/"cat": "kernel"/ && !n { n = sub(/"dur": /, "&-") } { print }' devices/device.2.json >damaged/device.2.json
for command in "analyze" "analyze collectives"; do
    sutra $command damaged 2>&1 >/dev/null | grep -c 'no valid start time'
done

echo "details:"
sutra analyze devices --details 2>/dev/null | sed -n '/^rank 0/,$p'

echo "colors on a terminal only:"
# colors: the escape sequences of the bar on a terminal.
colors() {
    TERM=xterm script -qec "sutra analyze devices/device.2.json 2>/dev/null" /dev/null | tr -d '\r' | sed -n '/one step/p' | cat -v |
        grep -o '\^\[\[[0-9]*m' | tr '\n' ' '
    echo
}
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1; then
    colors
    NO_COLOR=1 colors
else
    printf '^[[32m ^[[0m ^[[33m ^[[0m ^[[35m ^[[0m \n\n' # the expected lines, where the program is missing
fi

echo "markdown:"
quietly sutra analyze devices/device.2.json --format markdown
sutra analyze "$PWD/devices/device.2.json" --format markdown 2>/dev/null | grep -c "$PWD"
sutra analyze "$PWD/devices/device.2.json" --format markdown --keep-paths 2>/dev/null | grep -q "$PWD" && echo "paths are kept"

echo "JSON of more than a megabyte, with long names of kernels:"
awk 'BEGIN {
    name = "k"
    while (length(name) < 150000) name = name name
    print "{\"traceEvents\": ["
    for (i = 1; i <= 12; i++)
        printf "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s%d\", \"pid\": 0, \"tid\": 7, \"ts\": %d, \"dur\": 9}%s\n", name, i, 10 * i, i < 12 ? "," : "]}"
}' >long.json
sutra analyze long.json --format json -q 2>/dev/null | tail -n 1
sutra analyze long.json 2>/dev/null | awk 'length > 80 && !/^  sutra/ { n++ } END { print n + 0, "wide lines" }'
