# golden_link.sh - tests `sutra link` on recorded pairs of traces: the expected bytes, for any number of threads and any
# compression.
#
# A case is a directory with host.json.gz, device.json.gz and either out.nosync.json.gz, the output of
# chakra_trace_link (version: golden.sh), or error.txt: chakra_trace_link fails, and the table below has the expected
# outcome. Cases are in tests/data/link and, if present, ../shared/cases/link.
. tests/golden.sh
data=tests/data/link
shared=../shared/cases/link

# Case, exit code, and a part of what is said on standard error; "-": nothing is said.
outcomes='
edge_ac2g_bad_ph      65 event 122: field ph: "s" or "f" on a flow event (ac2g) was expected
edge_ac2g_no_id       65 event 122: field id: an id on a flow event (ac2g) was expected
edge_args_null        65 event 70: field args: an object was expected
edge_bad_escape       65 byte 387, line 1: bad escape in a string
edge_bad_utf8         65 byte 390, line 1: byte 0xff is not valid UTF-8
edge_bigint_5000      65 an integer of at most 4300 digits
edge_bom              65 byte 0, line 1: the file begins with a byte order mark
edge_dup_corr         0  event 171: duplicate launch with correlation 40875
edge_empty_kineto     65 device.json.gz: is empty
edge_et_bad_schema    0  the schema is "9.9.9", which is unknown
edge_et_bad_tensor    0  -
edge_et_cycle         0  3 of 125 nodes are not below the root: their parents form a cycle
edge_et_empty_nodes   0  nothing matches
edge_et_missing_inputs 0 -
edge_et_no_nodes      65 this is not a host trace: it has no "nodes"
edge_et_no_pid        0  -
edge_et_no_root       0  124 of 124 nodes have no root (a node with id 1) above them
edge_et_no_schema     0  the schema is missing
edge_event_null       65 event 304 is not an object
edge_ext_badstring    65 event 64: field args["External id"]: an integer was expected
edge_ext_null         65 event 64: field args["External id"]: an integer was expected
edge_neg_excl         0  exclusive durations below 0 (the first is event 71): 1;
edge_rf_list          65 event 70: field args["Record function id"]
edge_tid_list         65 event 70: field tid: a number or a string was expected
edge_trailing         65 byte 73910, line 1: malformed JSON: text after the end
edge_trailing_comma   65 byte 73839, line 1: malformed JSON
edge_trunc_et         65 byte 57740, line 1: the file is truncated here
edge_trunc_kineto     65 byte 73809, line 1: the file is truncated here
edge_ts_null          65 event 70: field ts: a number below 2^62 was expected
edge_ts_string        0  1 of 167 CPU events has no valid start time and duration: more than a day from most
edge_two_neg          0  exclusive durations below 0 (the first is event 91): 1;
'

# link HOST DEVICE OUT [OPTION...]: what it says goes to $work/err.
link() {
    "$SUTRA" link "$1" "$2" -o "$3" --match ids --no-sync -q "${@:4}" 2>"$work/err"
}

# links_to EXPECTED HOST DEVICE OUT [OPTION...]: whether the output, decompressed, is the expected file.
links_to() {
    expected=$1
    shift
    link "$@" || { cat "$work/err"; return 1; }
    case $3 in
    *.gz) gzip -dc "$3" ;;
    *.zst) zstd -dcq "$3" ;;
    *) cat "$3" ;;
    esac | cmp - "$expected"
}

# says PART: whether standard error is free of crashes and has the part, or is empty where that is "-".
says() {
    if [ "$1" = - ]; then [ ! -s "$work/err" ]; else grep -qF -e "$1" "$work/err"; fi || { cat "$work/err"; return 1; }
}

# ends_as CODE PART CASE: whether linking ends with the exit code, says so, and leaves a file only if it is 0.
ends_as() {
    rm -f "$work/out.json"
    link "$3/host.json.gz" "$3/device.json.gz" "$work/out.json"
    code=$?
    [ $code = "$1" ] || { echo "exit $code"; cat "$work/err"; return 1; }
    says "$2" || return 1
    [ $code = 0 ] || [ "$(wc -l <"$work/err")" = 1 ] || return 1
    if [ -e "$work/out.json" ]; then [ $code = 0 ]; else [ $code != 0 ]; fi
}

# ends CASE: a result, or a one-line error without one.
ends() {
    rm -f "$work/out.json"
    link "$1/host.json.gz" "$1/device.json.gz" "$work/out.json"
    code=$?
    [ $code = 0 ] && [ -s "$work/out.json" ] && return 0
    [ $code = 65 ] && [ "$(wc -l <"$work/err")" = 1 ] && [ ! -e "$work/out.json" ] && return 0
    echo "exit $code"
    cat "$work/err"
    return 1
}

run_case() {
    case=$1 name=${1##*/}
    if [ -e "$case/out.nosync.json.gz" ]; then
        gzip -dc "$case/out.nosync.json.gz" >"$work/expected"
        check "$name" links_to "$work/expected" "$case/host.json.gz" "$case/device.json.gz" "$work/out.json"
        return
    fi
    row=$(grep "^$name " <<<"$outcomes")
    if [ "$row" ]; then
        read -r _ wanted part <<<"$row"
        check "$name" ends_as "$wanted" "$part" "$case"
    else
        check "$name" ends "$case"
    fi
}

# same NAME HOST DEVICE EXPECTED: the same bytes with any number of threads, from and to any form of file, each time.
same() {
    for threads in 1 2 7; do
        check "$1 with $threads threads" links_to "$4" "$2" "$3" "$work/out.json" --threads $threads
        check "$1 once more with $threads threads" links_to "$4" "$2" "$3" "$work/out.json" --threads $threads
        check "$1 to gzip with $threads threads" links_to "$4" "$2" "$3" "$work/out.json.gz" --threads $threads
    done
    gzip -nc "$2" >"$work/h.gz"
    gzip -nc "$3" >"$work/d.gz"
    check "$1 from gzip" links_to "$4" "$work/h.gz" "$work/d.gz" "$work/out.json"
    link "$2" "$3" - >"$work/stream"
    check "$1 to standard output" cmp "$work/stream" "$4"
    link - "$3" - <"$2" >"$work/stream"
    check "$1 from standard input" cmp "$work/stream" "$4"
    command -v zstd >/dev/null || return
    zstd -qcf "$2" >"$work/h.zst"
    zstd -qcf "$3" >"$work/d.zst"
    check "$1 from zstd" links_to "$4" "$work/h.zst" "$work/d.zst" "$work/out.json"
    check "$1 to zstd" links_to "$4" "$2" "$3" "$work/out.json.zst" --threads 3
}

n_bundled=0 n_shared=0
for case in "$data"/*/; do
    run_case "${case%/}"
    n_bundled=$((n_bundled + 1))
done
for case in "$shared"/*/; do
    [ -d "$case" ] || continue
    run_case "${case%/}"
    n_shared=$((n_shared + 1))
done
[ $n_bundled -ge 15 ] || failed "only $n_bundled bundled cases"

for case in "$data/torch_mlp_nosync" "$data/torch_threads_int"; do
    for file in host device out.nosync; do gzip -dc "$case/$file.json.gz" >"$work/$file.json"; done
    same "${case##*/}" "$work/host.json" "$work/device.json" "$work/out.nosync.json"
done
# A pair of several chunks of the reader and several pieces of the writer. One thread's output is the measure of all.
"$SUTRA" gen --events 20k --seed 3 --host "$work/host.json" --device "$work/device.json" || exit 1
check "made pair of several chunks" [ "$(wc -c <"$work/device.json")" -gt $((3 * 256 * 1024)) ]
link "$work/host.json" "$work/device.json" "$work/one.json" --threads 1
check "made pair of several pieces" [ "$(wc -c <"$work/one.json")" -gt $((3 * 1024 * 1024)) ]
same "made pair" "$work/host.json" "$work/device.json" "$work/one.json"

command -v zstd >/dev/null || echo "without zstd files: no program zstd"
echo "$n_bundled bundled and $n_shared shared cases"
finish
