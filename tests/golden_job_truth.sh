#!/usr/bin/env bash
# golden_job_truth.sh - tests simulations of synthetic jobs against the same job generated with another GPU or without
# its straggler; also what-ifs, and reports of ranks that are missing, truncated, late or lack a collective.
set -euo pipefail
command -v python3 >/dev/null || { echo "needs python3" && exit 77; }
. tests/golden.sh
cd "$work"

# make NAME [OPTION...]: links a job of three ranks into NAME; what it said is in NAME.said.
make() {
    "$SUTRA" gen --events 2k --ranks 3 --ranks-per-host 1 --clock-offset-us 700 --sync event --host hosts --device devices "${@:2}"
    "$SUTRA" link hosts devices -o "$1" --format et >"$1.said" 2>&1 || [ "${may_fail:-}" ]
    rm -r hosts devices
}

# measured NAME: microseconds. simulated NAME [OPTION...]: the same, where all nodes ran.
measured() { sed -n 's/^ *"measured_us": \([0-9.]*\),*$/\1/p' "$1/job.json"; }
simulated() {
    "$SUTRA" simulate "$1"/rank.*.et --format json --quiet "${@:2}" >simulated.json
    grep -q '"never_ran": 0,' simulated.json || { echo "$*: nodes never ran" >&2 && return 1; }
    sed -n 's/^  "time_us": \([0-9.]*\),$/\1/p' simulated.json
}

# told NAME TEXT: whether linking said so.
told() {
    grep -q -- "$2" "$1.said" || { echo "$1: nothing is told of '$2':" && cat "$1.said" && exit 1; }
    n_checks=$((n_checks + 1))
}

for seed in 1 2; do
    make slow --seed $seed --straggler-rank 1 --skew-us 400
    make half --seed $seed --straggler-rank 1 --skew-us 400 --gpu-scale 0.5
    make even --seed $seed --skew-us 400
    near "job $seed" "$(simulated slow)" "$(measured slow)" 0.001
    near "job $seed, GPUs of half the time" "$(simulated slow --scale gpu:0.5)" "$(measured half)" 0.01
    near "job $seed, slower GPUs" "$(simulated half --scale gpu:2)" "$(measured slow)" 0.01
    near "job $seed, no slow rank" "$(simulated slow --straggler none)" "$(measured even)" 0.03
    near "job $seed, the slow rank alone" "$(simulated slow --scale rank=1:cpu:0.6667 --scale rank=1:compute:0.6667)" \
        "$(measured even)" 0.03
done

make late --seed 3 --skew-us 20000
near "a late rank" "$(simulated late)" "$(measured late)" 0.001
python3 - <<'PYTHON'
import json
waits = json.load(open("simulated.json"))["waits"]
assert waits[0]["us"] > 3000 and waits[0]["for"] != waits[0]["rank"], waits
PYTHON

make lost --seed 3 --inject missing:2
told lost "rank 2: no pair of traces for 1 of 3 ranks"
told lost "collectives lack ranks"
near "a rank is lost" "$(simulated lost)" "$(measured lost)" 0.003

may_fail=1 make cut --seed 3 --inject cut:1
told cut "rank 1: devices/device.1.json: .* the file is truncated here"
told cut "collectives lack ranks"
near "a rank is cut off" "$(simulated cut)" "$(measured cut)" 0.003

make lossy --seed 3 --inject lost:2
told lossy "rank 2: group 0: the rank lacks 1 of the other ranks' collectives"
near "a rank lost a collective" "$(simulated lossy)" "$(measured lossy)" 0.003
finish
