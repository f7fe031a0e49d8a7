# Inputs that are not there and outputs that cannot be, found before any work is done: one line that names the file.
. "$TOOLS/common.sh"
strange_traces
# fails COMMAND...: the exit code, the lines on standard error, and what they begin with.
fails() {
    "$@" -q >out 2>err
    echo "exit $?, $(wc -l <err) line: $(grep -oE '^sutra: [a-z./]+: ' err), $(wc -c <out) bytes of output"
}
fails sutra link nowhere.json device.json -o out.json
fails sutra link host.json nowhere.json -o out.json
fails sutra info nowhere.json
fails sutra info .
fails sutra link nowhere.json device.json -o nofolder/out.json
fails sutra link nowhere.json device.json -o .
fails sutra link nowhere.json device.json -o out.json --stats nofolder/stats.json
ls
