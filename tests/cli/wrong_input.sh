# Inputs that are no traces, or traces of the wrong kind: one line with the file, exit 65, no output.
. "$TOOLS/common.sh"
strange_traces
fails() {
    sutra link "$1" "$2" -o out.json 2>err
    echo "exit $?, $(wc -l <err) line: $(grep -oE '^sutra: [a-z.]+: ' err)"
}
head -c 100 host.json >cut.json
echo '[1, 2]' >list.json
: >empty.json
fails device.json host.json
fails cut.json device.json
grep -qE 'byte [0-9]+, line [0-9]+' err || echo "an error without its place"
fails host.json list.json
fails empty.json device.json
# Files that were swapped are told so.
sutra link device.json host.json -o out.json 2>&1 | grep -oE 'device trace|host trace' | sort -u
ls
