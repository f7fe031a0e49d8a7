# golden_hta.sh - tests `analyze hta`: tables of HTA (version: golden.sh), for any number of threads; JSON has the
# same rows. The last of 15 digits may differ, because sutra's sums are exact.
#
# A case is a directory with trace.json.gz, hta/*.csv.gz, and hta_compat/*.csv.gz for tables that sutra corrects without
# --compat. $DATA names another directory of cases.
. tests/golden.sh
data=${DATA:-tests/data}/analyze

# same A B: both files have the same words and, nearly, the same numbers.
same() {
    tr ',' '\n' <"$1" >"$work/a" && tr ',' '\n' <"$2" >"$work/b" &&
        [ "$(wc -l <"$work/a")" = "$(wc -l <"$work/b")" ] &&
        paste "$work/a" "$work/b" | awk -F '\t' '
            function near(a, b) { d = a - b; m = b < 0 ? -b : b; return (d < 0 ? -d : d) <= 1e-12 * (m > 1 ? m : 1) }
            $1 != $2 && !($1 ~ /^[-0-9.e+]+$/ && $2 ~ /^[-0-9.e+]+$/ && near($1, $2)) { bad = 1 }
            END { exit bad }'
}

for case in "$data"/*/; do
    [ -d "$case/hta" ] || continue
    for threads in 1 2 7; do
        rm -rf "$work/out" && "$SUTRA" analyze hta "$case/trace.json.gz" -o "$work/out" -q --threads $threads ||
            failed "$case with $threads threads"
        for table in "$case"/hta/*.csv.gz; do
            name=$(basename "$table" .gz)
            gzip -dc "$table" >"$work/expected"
            check "$case$name with $threads threads" same "$work/out/$name" "$work/expected"
        done
        [ $threads = 1 ] && cp -r "$work/out" "$work/first"
        diff -r "$work/first" "$work/out" || failed "$case depends on the number of threads"
    done
    for table in "$case"/hta_compat/*.csv.gz; do
        [ -e "$table" ] || continue
        [ -d "$work/compat" ] || "$SUTRA" analyze hta "$case/trace.json.gz" -o "$work/compat" -q --compat --no-report
        name=$(basename "$table" .gz)
        gzip -dc "$table" >"$work/expected"
        check "$case$name as HTA computes it" same "$work/compat/$name" "$work/expected"
    done
    "$SUTRA" analyze hta "$case/trace.json.gz" -o "$work/json" --table-format json -q || failed "$case as JSON"
    for table in "$work/first"/*.csv; do
        rows=$(grep -c '^ {' "$work/json/$(basename "$table" .csv).json")
        heads=1
        case $table in *queue_length_summary.csv | *memory_bw_summary.csv) heads=3 ;; esac
        n_checks=$((n_checks + 1))
        [ "$rows" = $(($(wc -l <"$table") - heads)) ] || [ "$rows" = 0 ] || failed "$table has other rows as JSON"
    done
    rm -rf "$work/first" "$work/json" "$work/compat"
done
finish "$data"
