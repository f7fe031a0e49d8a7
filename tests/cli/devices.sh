# Without a GPU: `sutra devices` and --device cuda report the reason, and auto uses the CPU. A build without the CUDA
# engine has its own reason.
. "$TOOLS/common.sh"
traces
sutra devices >list 2>&1
grep -q '^no CUDA device: ' list || skip "there is a GPU: $(head -n 1 list)"

# reason: what the two kinds of build, and machines with half of a driver, say.
reason() {
    sed 's/no CUDA device: \(this build has no CUDA engine; build again with nvcc of the CUDA toolkit and SUTRA_CUDA=ON to get it\|no NVIDIA driver is loaded\|no CUDA-capable device is detected\|the NVIDIA driver knows CUDA .*: update the driver\)/no CUDA device: REASON/'
}
try sutra devices | reason
try sutra devices --json | reason
sutra devices --json >list.json
try sutra link host.json device.json -o out.json --device cuda | reason
try sutra link host.json device.json -o out.json -d CUDA:1 --device-memory 2G | reason
try sutra critical-path device.json --device=cuda | reason
try sutra link-legacy host.json device.json -o out.json --device cuda | reason
ls out.json 2>&1
try sutra link host.json device.json -o out.json --device cpu --verbose | grep -v '^ '
try sutra link host.json device.json -o out.json --verbose | grep -v '^ '
try sutra critical-path device.json -o path.txt --verbose
for word in cpu:1 auto:0 cuda: cuda:x cuda:4294967296 cuda:-1 :1 gpu; do
    try sutra link host.json device.json -o out.json --device $word
done
try sutra link host.json device.json -o out.json --device-memory 2X
try sutra critical-path device.json -q -v
try sutra devices extra
