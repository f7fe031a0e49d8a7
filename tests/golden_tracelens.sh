# golden_tracelens.sh - tests --compat tracelens: analyze operators and analyze collectives write TraceLens' CSV files
# byte for byte, for any number of threads.
#
# A case is a directory with the tables of TraceLens (version: golden.sh) as NAME.csv.gz and with the traces of all
# ranks, with trace.json.gz, or with a file `trace` that names one. $DATA names another directory of cases.
. tests/golden.sh
data=${DATA:-tests/data}/tracelens

for case in "$data"/*/; do
    case=${case%/}
    analysis=operators
    set -- "$case"/trace.json.gz
    [ -f "$case/trace" ] && set -- "$case/$(cat "$case/trace")"
    [ -f "$case/rank0_trace.json.gz" ] && analysis=collectives && set -- "$case"/rank*_trace.json.gz
    for threads in 1 2 7; do
        rm -rf "$work/out"
        "$SUTRA" analyze $analysis "$@" --compat tracelens -q --threads $threads -o "$work/out" 2>"$work/err" ||
            { failed "$case"; cat "$work/err"; continue; }
        for file in "$case"/*.csv.gz; do
            name=${file##*/} name=${name%.gz}
            gzip -dc "$file" >"$work/expected"
            check "$case/$name with $threads threads" cmp "$work/out/$name" "$work/expected"
        done
    done
done
finish "$data"
