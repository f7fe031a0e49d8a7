# fault_kill_job.sh - tests a job that is killed at random times: it leaves only complete files, and the next run gives
# the result of an undisturbed run, also the kernels for a resource per stream of files for simulators. KILLS sets the
# number of kills (default: 12).
set -u
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 71
n_failed=0 n_hit=0 n_half=0

failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

"$SUTRA" gen --events 3k --ranks 6 --seed 2 --host hosts --device devices || exit 1
json=""
et="--format et --gpu one"
begin=$(date +%s%N)
"$SUTRA" link hosts devices -o whole-json -q || exit 1
most=$((($(date +%s%N) - begin) / 1000000 + 10)) # milliseconds that it takes
# shellcheck disable=SC2086
"$SUTRA" link hosts devices -o whole-et $et -q || exit 1

# bound FOLDER: the time and the error of a what-if with one resource.
bound() { "$SUTRA" simulate "$1" --scale gpu:2 --format json | grep 'time_us\|error_percent' | head -n 4; }
bound whole-et >bound
grep -q 'error_percent": [0-9]' bound || failed "no bound"

# disturb N: kills a run, half of the times as soon as it has begun to write, and looks at what it left.
disturb() {
    signal=$([ $(($1 % 3)) = 0 ] && echo TERM || echo KILL)
    form=$([ $(($1 / 2 % 2)) = 0 ] && echo json || echo et)
    options=$([ $form = et ] && echo "$et" || echo "$json")
    # shellcheck disable=SC2086
    "$SUTRA" link hosts devices -o out -q --threads $((1 + $1 % 2)) $options &
    program=$!
    if [ $(($1 % 4)) -lt 2 ]; then
        while [ -z "$(ls -A out 2>/dev/null)" ] && kill -0 $program 2>/dev/null; do :; done
    else
        sleep "$(printf 0.%03d $(($1 * 7919 % most)))"
    fi
    kill -"$signal" $program 2>/dev/null
    { wait $program; } 2>/dev/null && code=0 || code=1
    n_hit=$((n_hit + code))
    for file in out/rank.*.$form out/.job/rank.*.streams.et; do
        [ ! -e "$file" ] || cmp -s "$file" "whole-$form/${file#out/}" || failed "$signal: $file is not whole"
    done
    [ "$(ls out/rank.*.$form 2>/dev/null | wc -l)" = 6 ] || n_half=$((n_half + 1))
    # shellcheck disable=SC2086
    "$SUTRA" link hosts devices -o out -q $options || failed "the run after $signal: exit $?"
    diff -r -x .job -x job.json "whole-$form" out || failed "the run after $signal"
    [ $form = json ] || bound out | cmp -s - bound || failed "the bound after $signal"
    [ -z "$(find out -name '.*.tmp')" ] || failed "left over after $signal: $(find out -name '.*.tmp')"
    rm -r out
}

for N in $(seq "${KILLS:-12}"); do
    disturb "$N"
done
while [ $n_hit = 0 ] && [ "$N" -lt 200 ]; do # on a busy machine each may have been at its end
    N=$((N + 1))
    disturb "$N"
done
[ $n_hit -gt 0 ] || failed "no run was hit"
echo "$n_hit hit, $n_half of them between ranks, $n_failed failed"
[ $n_failed = 0 ]
