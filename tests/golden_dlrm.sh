# The analysis gives the yardstick's files, byte for byte, in both ways of matching, on any number of threads.
#
# A case is a folder with trace.json.gz and a folder of results for each way: compat and by-correlation, the files as
# they are or with .gz. Of qps.json, which tells how the case was made, the figures count. $DATA may name another folder
# of cases.
set -u
data=${DATA:-tests/data}/analyze
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
n_checks=0 n_failed=0
figures='"(QPS|num_[a-z_]*|sum_[a-z_]*|tree_nodes|corrected_[a-z_]*|host_runtime|relax|trimmed)":'

# plain FILE: its text, compressed or not.
plain() {
    case $1 in *.gz) gzip -dc "$1" ;; *) cat "$1" ;; esac
}

# parameter NAME: its value in qps.json.
parameter() {
    sed -nE 's/^ *"'"$1"'": "?([^",]*)"?,?$/\1/p' "$work/qps"
}

for results in "$data"/*/compat "$data"/*/by-correlation; do
    [ -d "$results" ] || continue
    plain "$(ls "$results"/qps.json*)" >"$work/qps"
    how=
    [ "${results##*/}" = compat ] && how=--compat
    for threads in 1 2 7; do
        rm -rf "$work/out"
        "$SUTRA" analyze dlrm "${results%/*}/trace.json.gz" -o "$work/out" -q --threads $threads --model case \
            --module-marker "$(parameter module_marker)" --iters "$(parameter iters)" $how 2>"$work/err" ||
            { n_failed=$((n_failed + 1)); echo "FAILED $results"; cat "$work/err"; continue; }
        for file in "$results"/*; do
            name=${file##*/} name=${name%.gz}
            case $name in
            *.png) continue ;;
            qps.json)
                plain "$file" | grep -E "$figures" | sed 's/,$//' | sort >"$work/expected"
                grep -E "$figures" "$work/out/$name" | sed 's/,$//' | sort >"$work/made"
                ;;
            overheads_file.json)
                plain "$file" >"$work/expected"
                cp "$work/out/overheads_case.json" "$work/made"
                ;;
            *)
                plain "$file" >"$work/expected"
                cp "$work/out/$name" "$work/made"
                ;;
            esac
            n_checks=$((n_checks + 1))
            cmp "$work/made" "$work/expected" && continue
            echo "FAILED $results/$name with $threads threads"
            n_failed=$((n_failed + 1))
        done
    done
done
echo "$n_checks checks, $n_failed failed"
[ $n_failed = 0 ] || exit 1
[ $n_checks != 0 ] || { echo "no cases in $data"; exit 77; }
