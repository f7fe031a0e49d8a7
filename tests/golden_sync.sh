# golden_sync.sh - tests `sutra link` with synchronization dependencies: the bytes of chakra_trace_link, for any number
# of threads.
#
# A case is a directory with host.json.gz, device.json.gz and out.json.gz; $DATA names another directory of cases.
. tests/golden.sh
data=${DATA:-tests/data}/link

for case in "$data"/*/; do
    [ -e "$case/out.json.gz" ] || continue
    gzip -dc "$case/out.json.gz" >"$work/expected"
    for threads in 1 2 7; do
        n_checks=$((n_checks + 1))
        rm -f "$work/out.json"
        "$SUTRA" link "$case/host.json.gz" "$case/device.json.gz" -o "$work/out.json" -q --threads $threads 2>"$work/err" &&
            cmp "$work/out.json" "$work/expected" && continue
        failed "$case with $threads threads"
        cat "$work/err"
    done
done
finish "$data"
