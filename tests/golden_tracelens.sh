# analyze operators and analyze collectives write TraceLens' CSV files byte for byte with --compat tracelens, on any
# number of threads.
#
# A case is a folder with the tables of TraceLens 171dd747 (pandas 3.1, numpy 2.4) as NAME.csv.gz, and with the traces of
# all ranks, with trace.json.gz, or with a file `trace` that names one. $DATA may name another folder of cases.
set -u
data=${DATA:-tests/data}/tracelens
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
n_checks=0 n_failed=0

for case in "$data"/*/; do
    case=${case%/}
    analysis=operators
    set -- "$case"/trace.json.gz
    [ -f "$case/trace" ] && set -- "$case/$(cat "$case/trace")"
    [ -f "$case/rank0_trace.json.gz" ] && analysis=collectives && set -- "$case"/rank*_trace.json.gz
    for threads in 1 2 7; do
        rm -rf "$work/out"
        "$SUTRA" analyze $analysis "$@" --compat tracelens -q --threads $threads -o "$work/out" 2>"$work/err" ||
            { n_failed=$((n_failed + 1)); echo "FAILED $case"; cat "$work/err"; continue; }
        for file in "$case"/*.csv.gz; do
            name=${file##*/} name=${name%.gz}
            gzip -dc "$file" >"$work/expected"
            n_checks=$((n_checks + 1))
            cmp "$work/out/$name" "$work/expected" && continue
            echo "FAILED $case/$name with $threads threads"
            n_failed=$((n_failed + 1))
        done
    done
done
echo "$n_checks checks, $n_failed failed"
[ $n_failed = 0 ] || exit 1
[ $n_checks != 0 ] || { echo "no cases in $data"; exit 77; }
