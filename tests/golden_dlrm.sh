# golden_dlrm.sh - tests `analyze dlrm`: the DLRM notebook's files, byte for byte, for both matching methods and any
# number of threads.
#
# A case is a directory with trace.json.gz and a directory of results for each method: compat and by-correlation, files
# plain or as .gz. Of qps.json only the numbers are compared; its other fields record how the case was made. $DATA names
# another directory of cases.
. tests/golden.sh
data=${DATA:-tests/data}/analyze
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
            { failed "$results"; cat "$work/err"; continue; }
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
            check "$results/$name with $threads threads" cmp "$work/made" "$work/expected"
        done
    done
done
finish "$data"
