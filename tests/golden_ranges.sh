# golden_ranges.sh - tests analyses of a time range: they equal the analysis of the cut trace, byte for byte. The same for
# selected ranks of a job.
. tests/golden.sh
data=$(cd "$(dirname "$0")" && pwd)/data
mkdir "$work/whole" "$work/small" "$work/few" || exit 71

# analyze FOLDER OUT WORDS...: the traces of the folder, which are named as they are from there.
analyze() {
    folder=$1
    out=$work/$2
    shift 2
    (cd "$work/$folder" && "$SUTRA" "$@" -o "$out" --no-report -q 2>"$work/err") ||
        { cat "$work/err"; failed "$*"; }
    for calls in "$out/launch_calls.csv"; do # in the order of the names of a file
        [ ! -e "$calls" ] || { sort "$calls" >"$work/sorted" && mv "$work/sorted" "$calls"; }
    done
}

# Times of evidence count from the first event of the file.
same() {
    n_checks=$((n_checks + 1))
    diff -r -x evidence.csv "$work/a" "$work/b" >"$work/diff" || { failed "$*: results differ"; head -20 "$work/diff"; }
    rm -rf "$work/a" "$work/b"
}

# part WORDS...: of the trace as the words say, by every analysis.
part() {
    "$SUTRA" cut "$work/whole/rank1.json" "$@" -o "$work/small/rank1.json" -q --force || exit 70
    for words in "analyze" "analyze hta --last-step" "analyze dlrm --full-trace" "analyze operators" "analyze kernels" \
        "analyze operators --compat tracelens" "analyze collectives --arrivals"; do
        analyze whole a $words rank1.json "$@"
        analyze small b $words rank1.json
        same "$words" "$@"
    done
}

"$SUTRA" gen -n 6k --python-functions --collectives --host "$work/host.json" --device "$work/whole/rank1.json" || exit 70
part --step 2
part --from-us 3k --to-us 9k
"$SUTRA" cut "$work/whole/rank1.json" --step 1-2 -o "$work/small/rank1.json" -q --force || exit 70
analyze whole a analyze hta rank1.json --step 1-2 -n 3
analyze small b analyze hta rank1.json --last-step -n 3
same hta --step 1-2
gzip -dc "$data/link/torch_gloo2_r0_dn/device.json.gz" >"$work/whole/rank1.json" || exit 70
part --from-us 500 --to-us 4000

"$SUTRA" gen -n 2k --ranks 4 --collectives --host "$work/hosts" --device "$work/job" || exit 70
cp "$work/job/device.1.json" "$work/job/device.2.json" "$work/few" || exit 71
for words in "analyze" "analyze hta" "analyze dlrm" "analyze operators" "analyze collectives"; do
    analyze job a $words . --rank 1-2
    analyze few b $words .
    same "$words" --rank 1-2
done
finish
