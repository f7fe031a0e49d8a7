#!/usr/bin/env bash
# golden_scale_truth.sh - tests what-ifs that change the nodes of a job (--data-parallel, --micro-batches, --layers)
# against the same synthetic job written with these numbers.
set -euo pipefail
command -v python3 >/dev/null || { echo "needs python3" && exit 77; }
. tests/golden.sh
tools=$PWD/tests
cd "$work"

# make NAME [NUMBER...]: writes a job of .et files.
make() {
    rm -rf "$1"
    python3 "$tools/scale_job.py" "$@"
}

# simulated NAME [OPTION...]: microseconds; the JSON is in simulated.json.
simulated() {
    "$SUTRA" simulate "$1" --format json --quiet "${@:2}" >simulated.json
    grep -q '"never_ran": 0,' simulated.json || { echo "$*: nodes never ran" >&2 && return 1; }
    sed -n 's/^  "time_us": \([0-9.]*\),$/\1/p' simulated.json
}

# predicts SHARE NUMBERS OPTIONS NUMBERS: the job of the first numbers with these options takes the time of the job of
# the second numbers, which is in the interval if there is one.
predicts() {
    local truth time
    # shellcheck disable=SC2086
    make base $2 && make other $4
    truth=$(simulated other)
    # shellcheck disable=SC2086
    time=$(simulated base $3)
    near "$2, $3" "$time" "$truth" "$1"
    check "$2, $3: interval" awk -v time="$truth" '
        /"interval"/ { gsub(/[",{}:]/, " "); for (i = 1; i < NF; i++) { if ($i == "low_us") low = $(i + 1); if ($i == "high_us") high = $(i + 1) } }
        END { exit low != "" && (time < low || time > high) }' simulated.json
}

exact=0.000002
for jitter in 0 2; do
    base="jitter=$jitter steps=3"
    predicts $exact "$base pp=4 layers=8 micro=6" "--micro-batches 3" "$base pp=4 layers=8 micro=3"
    predicts $exact "$base pp=4 layers=8 micro=6" "--micro-batches 13" "$base pp=4 layers=8 micro=13"
    # Fewer micro-batches than stages: the steps of the first stages do not show their warm-up.
    predicts $exact "$base pp=4 layers=8 micro=2" "--micro-batches 7" "$base pp=4 layers=8 micro=7"
    predicts $exact "$base pp=5 tp=2 layers=10 micro=3" "--micro-batches 6" "$base pp=5 tp=2 layers=10 micro=6"
    predicts $exact "$base pp=4 layers=8 micro=6 schedule=gpipe" "--micro-batches 9" "$base pp=4 layers=8 micro=9 schedule=gpipe"
    predicts 0.001 "$base pp=2 tp=2 layers=8 micro=4" "--layers 4" "$base pp=2 tp=2 layers=4 micro=4"
    predicts 0.001 "$base pp=2 tp=2 layers=8 micro=4" "--layers 14" "$base pp=2 tp=2 layers=14 micro=4"
    predicts 0.001 "$base dp=2 layers=4 micro=3" "--layers 9 --micro-batches 5" "$base dp=2 layers=9 micro=5"
done
# An unedited program is the recorded one.
for numbers in "pp=4 micro=6 layers=8" "dp=2 tp=2 pp=2 micro=2" "dp=4 reduce=scatter"; do
    # shellcheck disable=SC2086
    predicts $exact "$numbers" "--layers $(case $numbers in *layers=8*) echo 8 ;; *) echo 4 ;; esac)" "$numbers"
done
predicts $exact "dp=2 tp=2 pp=2 micro=2" "--data-parallel 2" "dp=2 tp=2 pp=2 micro=2"
predicts 0.002 "dp=2" "--data-parallel 4 --hop 1" "dp=4"
predicts 0.002 "dp=4 reduce=scatter" "--data-parallel 8 --hop 1" "dp=8 reduce=scatter"
predicts 0.002 "dp=8" "--data-parallel 4 --hop 1" "dp=4"
predicts 0.002 "dp=8 rph=4" "--data-parallel 16 --hop 3 --ranks-per-host 4" "dp=16 rph=4"
predicts 0.002 "dp=8 rph=4 recorded=1" "--data-parallel 16 --hop 3" "dp=16 rph=4"
predicts 0.002 "dp=2 tp=2 rph=64" "--data-parallel 8 --hop 1 --ranks-per-host 64" "dp=8 tp=2 rph=64"
predicts 0.006 "dp=2 tp=2 pp=2 micro=4 rph=64 layers=6" "--data-parallel 3 --hop 1 --micro-batches 2 --layers 8 --ranks-per-host 64" \
    "dp=3 tp=2 pp=2 micro=2 layers=8 rph=64"
# A network of another bandwidth for more replicas; one replica, whose reductions move nothing with any algorithm.
predicts 0.006 "dp=2 tp=2 rph=64" "--data-parallel 8 --hop 1 --ranks-per-host 64 --bandwidth x0.25" "dp=8 tp=2 rph=64 speed=0.25"
predicts 0.002 "dp=4 algorithm=TREE" "--data-parallel 16 --hop 1 --ranks-per-host 64" "dp=16 algorithm=TREE rph=64"
make base dp=4 && ring=$(simulated base --data-parallel 1)
make base dp=4 algorithm=TREE && near "one replica" "$(simulated base --data-parallel 1)" "$ring" 0.01
predicts 0.01 "dp=4 experts=1" "--data-parallel 8 --hop 1" "dp=8 experts=1"

# The order of the files has no effect, and other what-ifs follow.
make base dp=2 tp=2 pp=3 micro=4 layers=6
ls base/*.et >files
# shellcheck disable=SC2046
first=$(simulated base --data-parallel 4 --ranks-per-host 64 --scale compute:0.5)
# shellcheck disable=SC2046
"$SUTRA" simulate $(sort -r files) --data-parallel 4 --ranks-per-host 64 --scale compute:0.5 --format json --quiet >reverse.json
check "order of files" grep -q "\"time_us\": $first," reverse.json
"$SUTRA" simulate base --data-parallel 4 --ranks-per-host 64 --scale compute:0.5 --format json --quiet | cmp - simulated.json &&
    n_checks=$((n_checks + 1))
plain=$(simulated base --data-parallel 4 --ranks-per-host 64)
check "further changes apply" awk -v a="$first" -v b="$plain" 'BEGIN { exit !(a < 0.8 * b) }'
finish
