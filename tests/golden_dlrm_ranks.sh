# The overheads of two ranks together are those of the yardstick, on any number of threads and in any order of the
# traces; each rank's folder is what the analysis of its trace alone gives.
#
# A case is a folder with trace.json.gz, the trace of rank 0, and a folder ranks with rank1.sed, which makes the trace of
# rank 1 of it, and the results. $DATA may name another folder of cases.
set -u
data=${DATA:-tests/data}/analyze
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
n_checks=0 n_failed=0

failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

# analyze TRACES... FOLDER-AND-OPTIONS...: as the yardstick did.
analyze() {
    "$SUTRA" analyze dlrm "$@" -q --compat --model case --module-marker '## ' --iters 10 2>"$work/err" ||
        { failed "$*"; cat "$work/err"; }
}

for case in "$data"/*/; do
    [ -d "$case/ranks" ] || continue
    mkdir -p "$work/in"
    cp "$case/trace.json.gz" "$work/in/rank0.json.gz"
    gzip -dc "$case/trace.json.gz" | sed -f "$case/ranks/rank1.sed" >"$work/in/rank1.json"
    for rank in 0 1; do
        analyze "$work/in/rank$rank.json"* -o "$work/alone$rank"
    done
    for threads in 1 2 7; do
        rm -rf "$work/out"
        case $threads in
        2) analyze "$work/in/rank1.json" "$work/in/rank0.json.gz" -o "$work/out" --threads 2 ;;
        *) analyze "$work/in" -o "$work/out" --threads $threads ;;
        esac
        for file in "$case"/ranks/overheads*.gz; do
            n_checks=$((n_checks + 1))
            gzip -dc "$file" | cmp - "$work/out/$(basename "$file" .gz)" || failed "$file with $threads threads"
        done
        for rank in 0 1; do
            n_checks=$((n_checks + 1))
            diff -r "$work/out/rank$rank" "$work/alone$rank" || failed "rank $rank of $case with $threads threads"
        done
    done
    rm -rf "$work"/*
done
echo "$n_checks checks, $n_failed failed"
[ $n_failed = 0 ] || exit 1
[ $n_checks != 0 ] || { echo "no cases in $data"; exit 77; }
