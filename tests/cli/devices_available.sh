# Messages of the commands with a GPU, simulated by the CPU, and with a GPU that fails during an analysis.
. "$TOOLS/common.sh"
[ -x "${SUTRA_ON_HOST_GPU:-}" ] || skip "needs a C++ compiler"
traces
gpu() { "$SUTRA_ON_HOST_GPU" "$@"; }
export HOST_GPU_DEVICES=2
try gpu devices
try gpu devices --json
try gpu link host.json device.json -o out.json --device cuda --verbose --stats stats.json | grep -v '^ ' | sed 's/[0-9][0-9.]* s/N s/g'
sutra link host.json device.json -o expected.json -q
cmp out.json expected.json
sed -n '/"engine"/,$ { s/: [0-9][0-9.]*/: N/; p; }' stats.json
try gpu link host.json device.json -o out.json --verbose --stats stats.json | grep -v '^ '
sed -n '/"engine"/,$p' stats.json
try gpu link host.json device.json -o failed.json --device cuda --device-memory 1k
HOST_GPU_FAILS_FROM=20 try gpu link host.json device.json -o failed.json --device cuda
ls failed.json 2>&1
HOST_GPU_DEVICES=0 try gpu link host.json device.json -o failed.json --device cuda
try gpu link host.json device.json -o failed.json --device cuda:2
HOST_GPU_DEVICES=0 try gpu devices
