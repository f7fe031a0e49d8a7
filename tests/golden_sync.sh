# Linking with synchronisation dependencies gives the yardstick's files, byte for byte, on any number of threads.
#
# A case is a folder with host.json.gz, device.json.gz and out.json.gz; $DATA may name another folder of them.
set -u
data=${DATA:-tests/data}/link
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
n_checks=0 n_failed=0
for case in "$data"/*/; do
    [ -e "$case/out.json.gz" ] || continue
    gzip -dc "$case/out.json.gz" >"$work/expected"
    for threads in 1 2 7; do
        n_checks=$((n_checks + 1))
        rm -f "$work/out.json"
        "$SUTRA" link "$case/host.json.gz" "$case/device.json.gz" -o "$work/out.json" -q --threads $threads 2>"$work/err" &&
            cmp "$work/out.json" "$work/expected" && continue
        echo "FAILED $case with $threads threads"
        cat "$work/err"
        n_failed=$((n_failed + 1))
    done
done
echo "$n_checks checks, $n_failed failed"
[ $n_failed = 0 ] || exit 1
[ $n_checks != 0 ] || { echo "no cases in $data"; exit 77; }
