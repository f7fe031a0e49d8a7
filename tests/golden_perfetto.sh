# golden_perfetto.sh - tests that a timeline in Perfetto's format equals the same timeline as JSON, event by event.
#
# perfetto_check.py decodes the packets by itself, and by Perfetto's published schema if the Python package perfetto can
# be installed.
. tests/golden.sh
command -v python3 >/dev/null || { echo "needs the program python3"; exit 77; }
schema=$SUTRA_BUILD/perfetto-schema
[ -d "$schema" ] || python3 -m pip install --quiet --target "$schema" perfetto protobuf >/dev/null 2>&1 || rm -rf "$schema"
[ -d "$schema" ] || echo "Perfetto's schema is not there: only the decoder of the test is used"

# same WHAT COMMAND...: the command writes the same timeline to $work/t.json and to $work/t.pftrace. OUT is replaced.
same() {
    local what=$1 out
    shift
    n_checks=$((n_checks + 1))
    for out in json pftrace; do
        "${@//OUT/$work/t.$out}" >/dev/null || { failed "$what: $out"; return; }
    done
    PYTHONPATH=$schema python3 tests/perfetto_check.py "$work/t.json" "$work/t.pftrace" "$most" || failed "$what"
}

# The size is below this share of the JSON text, for traces of a usual size.
most=0.21
"$SUTRA" gen -n 20k --python-functions --collectives --host "$work/host" --device "$work/device" || exit 70
"$SUTRA" gen -n 3k --ranks 2 --host "$work/hosts" --device "$work/devices" || exit 70
same "cut" "$SUTRA" cut "$work/device" -o OUT -q
most=1
same "tree" "$SUTRA" tree "$work/device" --format chrome -o OUT -q
same "critical path" "$SUTRA" critical-path "$work/device" --format chrome -o OUT -q
same "merge" "$SUTRA" merge "$work/devices" -o OUT -q
"$SUTRA" link "$work/host" "$work/device" -o "$work/rank.0.et" -q || exit 70
same "simulated times" "$SUTRA" simulate "$work/rank.0.et" --trace OUT -q

# Slices that overlap, nest, begin together, or last 0 ns; flows, counters, marks, ids and names of all kinds.
cat >"$work/hard" <<'JSON'
{"schemaVersion": 1, "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "args": {"name": "python"}},
{"ph": "M", "name": "process_labels", "pid": 5, "tid": 0, "args": {"labels": "GPU 0"}},
{"ph": "M", "name": "process_sort_index", "pid": 5, "tid": 0, "args": {"sort_index": -3}},
{"ph": "M", "name": "thread_name", "pid": 5, "tid": 7, "args": {"name": "stream 7 "}},
{"ph": "X", "cat": "kernel", "name": "a\u00e9\n\"x\"", "pid": 5, "tid": 7, "ts": 1748729125404176.123, "dur": 10.5, "args": {"n": 1, "neg": -2, "real": 0.25, "yes": true, "no": false, "none": null, "text": "t\\u", "list": [1, [2]], "object": {"a": {}}, "big": 18446744073709551615}},
{"ph": "X", "cat": "kernel", "name": "b", "pid": 5, "tid": 7, "ts": 1748729125404180, "dur": 10.001, "args": {}},
{"ph": "X", "cat": "kernel", "name": "c", "pid": 5, "tid": 7, "ts": 1748729125404180, "dur": 3},
{"ph": "X", "cat": "kernel", "name": "empty", "pid": 5, "tid": 7, "ts": 1748729125404180, "dur": 0},
{"ph": "X", "cat": "kernel", "name": "after", "pid": 5, "tid": 7, "ts": 1748729125404190.001, "dur": 1},
{"ph": "X", "cat": "cpu_op", "name": "op", "pid": "host", "tid": "main", "ts": 1748729125404170, "dur": 2},
{"ph": "s", "cat": "ac2g", "id": 3, "name": "ac2g", "pid": "host", "tid": "main", "ts": 1748729125404171},
{"ph": "f", "cat": "ac2g", "id": 3, "name": "ac2g", "pid": 5, "tid": 7, "ts": 1748729125404180, "bp": "e"},
{"ph": "f", "cat": "ac2g", "id": 4, "name": "ac2g", "pid": 5, "tid": 7, "ts": 1, "bp": "e"},
{"ph": "C", "name": "memory", "pid": 5, "ts": 3, "args": {"used": 7, "free": 2.5, "unit": "bytes"}},
{"ph": "C", "name": "memory", "pid": 5, "ts": 2, "args": {"used": -6}},
{"ph": "B", "name": "outer", "pid": 1, "tid": 1, "ts": -5}, {"ph": "X", "name": "inner", "pid": 1, "tid": 1, "ts": -4, "dur": 1},
{"ph": "E", "name": "outer", "pid": 1, "tid": 1, "ts": 5},
{"ph": "i", "name": "mark", "pid": 1, "tid": 1, "ts": 2, "s": "g"}
], "traceName": "hard"}
JSON
same "all kinds of events" "$SUTRA" cut "$work/hard" -o OUT -q

for ending in gz zst; do
    "$SUTRA" cut "$work/device" -o "$work/packed.pftrace.$ending" -q &&
        "$SUTRA" cut "$work/device" -o "$work/p.pftrace" -q -T 1 || exit 70
    case $ending in
        gz) gzip -dc "$work/packed.pftrace.gz" ;;
        zst) zstd -dqc "$work/packed.pftrace.zst" ;;
    esac >"$work/plain"
    check "compressed with $ending, for any number of threads" cmp "$work/plain" "$work/p.pftrace"
done
check "no timeline" test "$("$SUTRA" link "$work/host" "$work/device" -o "$work/no.pftrace" -q 2>/dev/null; echo $?)" = 64
check "no file without a timeline" test ! -e "$work/no.pftrace"
finish
