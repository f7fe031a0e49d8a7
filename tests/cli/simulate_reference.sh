# The error of what-ifs with one resource per GPU, by the nodes of the same job for a resource per stream: from the
# records of the job, or from files that --reference names.
. "$TOOLS/common.sh"
sutra gen --events 2k --ranks 4 --seed 3 --straggler-rank 1 --host hosts --device devices
sutra link hosts devices -o one --format et --gpu one --quiet
sutra link hosts devices -o streams --format et --quiet
summary() { sutra simulate "$@" --what-if-summary --quiet | sed -n '/what-if/,/takes no time/p'; }
summary one | tee summary
summary one --reference streams | diff - summary && echo "--reference has the same answer"
summary streams
sutra simulate one --scale gpu:2 --reference streams --quiet | head -n 3
echo "--- JSON"
sutra simulate one --scale gpu:2 --straggler none --reference streams --what-if-summary --quiet --format json |
    grep 'time_us.*change\|reference_time_us\|error_percent' | head -n 5
sutra simulate one --what-if-summary --quiet --format json | grep -o '"error_percent": .*'
echo "--- the same answers from the records as from the files of --gpu streams"
# same OPTION...: links the job for one resource, and compares what-ifs by its records with what-ifs by --reference
same() {
    rm -rf form
    sutra link hosts devices -o form --format et --quiet "$@" 2>/dev/null
    for change in gpu:0.5 rank=1:compute:2 op=~mm:0.5 comm:2; do
        sutra simulate form --scale $change --what-if-summary --format json --quiet >records.json
        sutra simulate form --scale $change --what-if-summary --format json --quiet --reference streams >files.json
        cmp records.json files.json && grep -c 'error_percent' records.json
    done | uniq -c
}
same --gpu one
same --astra
same --astra network
sutra link hosts devices -o gz --format et.gz --gpu one --quiet
sutra simulate gz --scale gpu:2 --quiet | grep 'per stream'
(cd one && sutra simulate rank.0.et rank.1.et --scale gpu:2 --quiet | grep 'per stream')
cp -r one copy && sutra simulate copy --scale gpu:2 --quiet | grep 'per stream'
echo "--- a rank is linked again from other traces"
bound() {
    sutra simulate one --scale gpu:2 --format json 2>message | grep 'reference_time_us\|error_percent'
    cat message
}
sutra gen --events 2k --ranks 4 --seed 3 --straggler-rank 1 --skew-us 2000 --host hosts2 --device devices2
cp hosts2/host.2.json hosts && cp devices2/device.2.json devices
sutra link hosts devices -o one --format et --gpu one --shard 3/4 --quiet
echo "before the collectives are matched:" && bound
sutra link hosts devices -o one --format et --gpu one --quiet
sutra link hosts devices -o streams --format et --quiet
bound >records && cat records && sutra simulate one --scale gpu:2 --format json --quiet --reference streams |
    grep 'reference_time_us\|error_percent' | diff - records && echo same
echo "--- without the records, or with other files"
cp one/rank.1.et kept && cp copy/rank.1.et one && bound
cp kept one/rank.1.et && bound | diff - records && echo same
printf 0 | dd of=one/rank.3.et bs=1 seek=$(($(wc -c <one/rank.3.et) - 1)) conv=notrunc 2>/dev/null && bound
sutra link hosts devices -o one --format et --gpu one --quiet --relink && bound | diff - records && echo same
rm one/.job/rank.1.streams.et && bound
sutra simulate one --what-if-summary --quiet | grep -c unknown
sutra link hosts devices -o one --format et --gpu one --quiet && bound | diff - records && echo same
rm -r copy/.job && try sutra simulate copy --scale gpu:2 | grep 'without the what-if\|unknown'
sutra link hosts/host.0.json devices/device.0.json -o rank.0.et --quiet
sutra simulate rank.0.et --scale gpu:2 --format json | grep error_percent
sutra simulate one --scale gpu:2 --gpu streams --what-if-summary --quiet | grep -c unknown
echo "--- errors"
try sutra simulate one --scale gpu:2 --reference one
try sutra simulate one/rank.0.et --scale gpu:2 --reference streams
try sutra simulate one --scale gpu:2 --reference none
