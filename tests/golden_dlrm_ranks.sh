# golden_dlrm_ranks.sh - tests `analyze dlrm` of two ranks: combined overheads equal those of the DLRM notebook for any
# number of threads and any order of traces; the directory of each rank equals the analysis of its trace alone.
#
# A case is a directory with trace.json.gz (rank 0) and a directory ranks with rank1.sed, which creates the trace of
# rank 1 from it, and the results. $DATA names another directory of cases.
. tests/golden.sh
data=${DATA:-tests/data}/analyze

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
            check "rank $rank of $case with $threads threads" diff -r "$work/out/rank$rank" "$work/alone$rank"
        done
    done
    rm -rf "$work"/*
done
finish "$data"
