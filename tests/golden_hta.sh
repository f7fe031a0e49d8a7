# The tables of HTA are those that HTA 0.5.0 makes with stable sorts, for any number of threads; numbers may differ in
# the last of 15 digits, since our sums are exact. As JSON they say the same.
#
# A case is a folder with trace.json.gz and hta/*.csv.gz, and hta_compat/*.csv.gz of tables that we mend otherwise; $DATA may name another folder of them.
set -u
data=${DATA:-tests/data}/analyze
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
n_checks=0 n_failed=0

failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

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
            n_checks=$((n_checks + 1))
            name=$(basename "$table" .gz)
            gzip -dc "$table" >"$work/expected"
            same "$work/out/$name" "$work/expected" || failed "$case$name with $threads threads"
        done
        [ $threads = 1 ] && cp -r "$work/out" "$work/first"
        diff -r "$work/first" "$work/out" || failed "$case depends on the number of threads"
    done
    for table in "$case"/hta_compat/*.csv.gz; do
        [ -e "$table" ] || continue
        [ -d "$work/compat" ] || "$SUTRA" analyze hta "$case/trace.json.gz" -o "$work/compat" -q --compat --no-report
        n_checks=$((n_checks + 1))
        name=$(basename "$table" .gz)
        gzip -dc "$table" >"$work/expected"
        same "$work/compat/$name" "$work/expected" || failed "$case$name as HTA computes it"
    done
    "$SUTRA" analyze hta "$case/trace.json.gz" -o "$work/json" --format json -q || failed "$case as JSON"
    for table in "$work/first"/*.csv; do
        rows=$(grep -c '^ {' "$work/json/$(basename "$table" .csv).json")
        heads=1
        case $table in *queue_length_summary.csv | *memory_bw_summary.csv) heads=3 ;; esac
        n_checks=$((n_checks + 1))
        [ "$rows" = $(($(wc -l <"$table") - heads)) ] || [ "$rows" = 0 ] || failed "$table has other rows as JSON"
    done
    rm -rf "$work/first" "$work/json" "$work/compat"
done
echo "$n_checks checks, $n_failed failed"
[ $n_failed = 0 ] || exit 1
[ $n_checks != 0 ] || { echo "no cases in $data"; exit 77; }
