# Several ranks on one GPU, simulated by the CPU: one engine computes for all, and results equal those of the CPU.
. "$TOOLS/common.sh"
[ -x "${SUTRA_ON_HOST_GPU:-}" ] || skip "needs a C++ compiler"
gpu() { "$SUTRA_ON_HOST_GPU" "$@" --device cuda; }
sutra gen --events 2k --ranks 4 --straggler-rank 2 --host hosts --device devices -q

sutra link hosts devices -o cpu -q
for threads in 1 2 8; do
    echo "link on $threads threads:"
    gpu link hosts devices -o cuda$threads --threads $threads --verbose >notes 2>&1 || cat notes
    grep CUDA notes | sed 's/[0-9][0-9.]* s,/N s,/; s/[0-9][0-9.]* s of/N s of/; s/[0-9.]* [kM]B/N bytes/g'
    diff -r -x .job -x job.json cpu cuda$threads
done

sutra analyze hta devices -o hta.cpu -q 2>/dev/null
gpu analyze hta devices -o hta.cuda --threads 2 --stats stats -q 2>/dev/null
diff -r hta.cpu hta.cuda
grep '"device_steps": [1-9]' stats
sutra diff devices devices --format json >diff.cpu 2>/dev/null
gpu diff devices devices --format json --threads 2 >diff.cuda 2>/dev/null
cmp diff.cpu diff.cuda

echo "A device that opens in 0.2 s, while traces are read:"
sutra gen --events 20k --host h.json --device d.json -q
HOST_GPU_OPENS_IN_US=200000 gpu link h.json d.json -o slow.json --verbose 2>&1 | grep 'opened CUDA' |
    sed 's/0\.000/no/g; s/[0-9][0-9.]* s/N s/g'

HOST_GPU_FAILS_TO_OPEN=1 try gpu link hosts devices -o failed -q
HOST_GPU_FAILS_TO_OPEN=1 try gpu analyze hta devices -o failed -q
