# Files of a what-if: the same nodes with other durations; a simulation of them takes the time of the what-if.
. "$TOOLS/common.sh"
sutra gen --events 1k --ranks 2 --seed 3 --sync event --host hosts --device devices
sutra link hosts devices -o job --format et --quiet
sutra link hosts devices -o one --format et --gpu one --quiet
time_of() { sed -n 's/^  "time_us": \([0-9.]*\),$/\1/p'; }
for what in '--scale gpu:0.5' '--scale rank=1:cpu:1.5' '--remove name=~gemm' '--no-launch-latency' '--overlap comm' '--bandwidth x0.5' \
    '--network alpha=30us,beta=4GB/s' '--straggler none'; do
    for of in job one; do
        expected=$(sutra simulate $of $what --write changed --force --quiet --format json | time_of)
        found=$(sutra simulate changed --quiet --format json | time_of)
        [ "$expected" = "$found" ] && echo "$of $what: the same time" || echo "$of $what: $expected, but written $found"
    done
done
sutra jsonize changed/rank.1.et --lines | sed -n 1p | grep -o '"what_if".*'
echo "only durations, kernel_exec_ns and the metadata change:"
fixed() { sutra jsonize $1 --lines | sed -E '1d; s/"durationMicros": "[0-9]*", //; s/\{"name": "kernel_exec_ns", "int64Val": "[0-9]*"\}//'; }
fixed job/rank.1.et >before
sutra simulate job --scale gpu:2 --scale cpu:3 --write changed --force --quiet >/dev/null
fixed changed/rank.1.et | cmp - before && echo same
sutra simulate job --remove name=~gemm --write changed --force --quiet >/dev/null
sutra jsonize changed/rank.0.et --lines | grep gemm | grep -c -v durationMicros
echo "back again:"
sutra simulate job --scale compute:0.5 --write half --quiet >/dev/null
sutra simulate half --scale compute:2 --write whole.gz --quiet >/dev/null
sutra jsonize whole.gz/rank.0.et --lines | sed -n 1p | grep -o '"what_if".*'
echo "errors:"
try sutra simulate job --scale gpu:2 --write half
try sutra simulate job --write job
mkdir other && cp job/rank.0.et other
try sutra simulate job/rank.0.et other/rank.0.et --write new
try sutra simulate job --write job/rank.0.et/new
