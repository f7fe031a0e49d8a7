# An output that would destroy an input, by any of its names, or another output.
. "$TOOLS/common.sh"
strange_traces
cksum host.json device.json >before
ln -s host.json symbolic.json
ln device.json hard.json
try sutra link host.json device.json -o ./host.json
try sutra link host.json device.json -o symbolic.json
try sutra link host.json device.json -o hard.json
try sutra link host.json device.json -o out.json --stats device.json
try sutra link host.json device.json -o out.json --stats ../cwd/out.json
try sutra link host.json device.json -o - --stats -
cksum host.json device.json | cmp - before
ls
