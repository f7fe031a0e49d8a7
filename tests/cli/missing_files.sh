# Missing inputs and outputs that cannot be written are found before any work: one line that names the file.
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
fails sutra link host.json device.json -o nofolder/out.json
fails sutra link host.json device.json -o .
fails sutra link host.json device.json -o out.json --stats nofolder/stats.json

echo "-- one of several inputs is missing: nothing is done"
rm -f out err
traces
et_file >rank.0.et
printf '\200\004}.' >memory.pickle
for command in 'analyze device.json nowhere.json' 'analyze nowhere.json device.json -o out' \
    'analyze operators device.json nowhere.json -o out' 'analyze hta device.json nowhere.json -o out' \
    'analyze dlrm device.json nowhere.json -o out' 'analyze collectives device.json nowhere.json -o out' \
    'analyze memory memory.pickle nowhere.pickle' 'analyze nsys nowhere.sqlite -o out' \
    'merge device.json nowhere.json -o out.json' 'merge nowhere/ device.json -o out.json' \
    'diff device.json nowhere.json -o out' 'diff nowhere.json device.json -o out' \
    'simulate rank.0.et nowhere.et -o out' 'check rank.0.et nowhere.et' 'link host.json nowhere.json -o out.json' \
    'link nowhere nowhere -o out' 'link-legacy --et-file host.json --kineto-file nowhere.json --exact-match'; do
    try sutra $command
done
ls
