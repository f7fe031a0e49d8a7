# Device traces with impossible times: each command reports them once, skips or corrects them, and bases no verdict on
# them.
. "$TOOLS/common.sh"

# trace KERNEL_FIELDS...: two steps of 1 ms, with a launch each 100 us and a kernel that begins 10 us later and takes 40
# us. Each argument "N FIELDS" replaces the times of kernel N.
trace() {
    echo '{"traceEvents": ['
    for step in 0 1; do
        printf '{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 1, "tid": 1, "ts": %d, "dur": 1000},\n' $step $((5000000 + step * 1000))
    done
    for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
        at=$((5000000 + i * 100))
        times="\"ts\": $((at + 30)), \"dur\": 40"
        for change; do
            [ "${change%% *}" != $i ] || times=${change#* }
        done
        printf '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": %d, "dur": 80},\n' $at
        printf '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": %d, "dur": 5, "args": {"correlation": %d}},\n' $((at + 20)) $((i + 1))
        printf '{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, %s, "args": {"stream": 7, "correlation": %d}},\n' "$times" $((i + 1))
    done
    echo '{"ph": "i", "name": "end", "pid": 1, "tid": 1, "ts": 5002000}]}'
}
# shown COMMAND...: the command line, and what it prints without the time.
shown() {
    echo "\$ $*"
    "$@" 2>&1 | grep -v 'peak memory$'
}

mkdir job
trace >sound.json
trace '3 "ts": 0, "dur": 40' '4 "dur": 40' '5 "ts": 5000530' >no_time.json
trace '3 "ts": 0, "dur": 40' >one.json
trace '3 "ts": 5000330, "dur": 640' >long.json
cp sound.json job/rank0.json
cp no_time.json job/rank1.json
cp one.json job/rank2.json
grep -v '"kernel"' sound.json >job/tokenizer.json

echo "-- the verdict"
shown sutra analyze sound.json
shown sutra analyze no_time.json
try sutra analyze one.json -q
shown sutra analyze long.json
sutra analyze no_time.json -f json 2>&1 | grep -A 12 -e reliable -e validity | sed -n '/step_us/,/findings/!p'
sutra analyze no_time.json -f markdown 2>/dev/null | head -8
sutra analyze no_time.json -q -o out 2>/dev/null
grep -o '<p class="warning"[^/]*' out/report.html
grep -o 'Trace is damaged.\{80\}' out/report.html

echo "-- a job"
shown sutra analyze job
try sutra merge job -o merged.json -q

echo "-- strict"
try sutra analyze no_time.json --strict
try sutra analyze job --strict

echo "-- differences"
try sutra diff sound.json no_time.json -q --fail-above 5%
try sutra diff sound.json no_time.json -q --fail-above 5% --fail-on-unclear
sutra diff sound.json no_time.json --format json 2>/dev/null | sed -n '1,5p'

echo "-- no time range extends to a skipped activity"
sutra critical-path one.json --rules full 2>/dev/null | sed -n '2,4p'
sutra critical-path one.json 2>/dev/null | sed -n '2,7p'
sutra critical-path one.json --rules full --format json 2>/dev/null | sed -n '/validity/,/]/p'
sutra cut one.json --from-us 100 --to-us 200 -o part.json 2>/dev/null
grep -c gemm part.json

echo "-- far from all other events, or by another clock"
trace '19 "ts": 400005001930, "dur": 40' >late.json
trace '19 "ts": 5001930, "dur": 4e11' >endless.json
sed '/"aten::mm".*"ts": 5000300/s/"dur": 80/"dur": 4e11/' sound.json >endless_op.json
sed '/"kernel"/s/"ts": 5/"ts": 3605/' sound.json >ahead.json
for name in late endless endless_op ahead; do
    sutra analyze $name.json 2>&1 | grep -e warning -e steps
    sutra critical-path $name.json --rules full 2>/dev/null | grep path:
    sutra tree $name.json -q 2>/dev/null | grep -c aten::mm
done

echo "-- tables of other tools are as they were"
sutra analyze operators one.json --compat tracelens -q -o tracelens 2>&1 | cut -c 1-60
sed -i 's/"ts": 0, "dur": 40/"ts": 1, "dur": 40/' one.json
sutra analyze operators one.json --compat tracelens -q -o other 2>/dev/null
cmp tracelens/ops_summary.csv other/ops_summary.csv && echo equal

echo "-- ranks of a job that are truncated"
sutra gen --events 2k --ranks 2 --host hosts --device devices -q
for rank in 0 1; do
    lines=$(wc -l <devices/device.$rank.json)
    head -n $((lines * 9 / 10)) devices/device.$rank.json >part && mv part devices/device.$rank.json
done
try sutra link hosts devices -o linked --lenient -q

echo "-- the complete part as an .et file"
sutra gen --events 10k -q
lines=$(wc -l <device.json)
head -n $((lines * 97 / 100)) device.json >part.json
try sutra link host.json part.json -o part.et --lenient | grep -e warning -e measured -e complete -e exit
sutra cut device.json --step 0-3 -o steps.json -q
sutra link host.json steps.json -o steps.et -q && cmp part.et steps.et && echo "equal to the file of these steps"
head -n $((lines * 72 / 100)) device.json >part.json
try sutra link host.json part.json -o none.et --lenient -q
