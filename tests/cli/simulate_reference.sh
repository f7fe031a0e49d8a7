# The error of what-ifs with one resource per GPU, by the files of the same job for a resource per stream.
. "$TOOLS/common.sh"
sutra gen --events 2k --ranks 4 --seed 3 --straggler-rank 1 --host hosts --device devices
sutra link hosts devices -o one --format et --gpu one --quiet
sutra link hosts devices -o streams --format et --quiet
summary() { sutra simulate "$@" --what-if-summary --quiet | sed -n '/what-if/,/takes no time/p'; }
summary one
summary one --reference streams
summary streams
sutra simulate one --scale gpu:2 --reference streams --quiet | head -n 3
echo "--- JSON"
sutra simulate one --scale gpu:2 --straggler none --reference streams --what-if-summary --quiet --format json |
    grep 'time_us.*change\|reference_time_us\|error_percent' | head -n 5
sutra simulate one --what-if-summary --quiet --format json | grep -o '"error_percent": .*'
echo "--- errors"
try sutra simulate one --scale gpu:2 --reference one
try sutra simulate one/rank.0.et --scale gpu:2 --reference streams
try sutra simulate one --scale gpu:2 --reference none
