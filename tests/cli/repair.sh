# Malformed traces: the repaired text, the report, a second repair without changes, and reading with --lenient.
. "$TOOLS/common.sh"
cat >names.json <<'END'
{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "python_function", "name": "{"device": "cpu", "dtype": "float32"}(12): run", "pid": 1, "tid": 1, "ts": 1, "dur": 9},
{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 2, "dur": 3, "args": {"External id": 3}},
{"ph": "X", "cat": "python_function", "name": "l = Library("_test", "IMPL")
(1): <module>", "pid": 1, "tid": 1, "ts": 6, "dur": 1},
{"ph": "X", "cat": "python_function", "name": "torch\cuda\__init__.py(219): _lazy_init", "pid": 1, "tid": 1, "ts": 7, "dur": 1},
{"ph": "C", "cat": "cpu_op", "name": "load", "pid": 1, "ts": 8, "args": {"x": NaN}}
]}
END
printf '[\n{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1},\n{"ph": "X", "name": "b' >cut.json
printf '{"schema": "1.0.1", "nodes": [{"id": 1, "name": "root", "parent": 1}, {"id": 2, "name": "at' >twice.json
printf '{"schema": "1.0.1", "nodes": [{"id": 1, "name": "root", "parent": 1}]}\n' >>twice.json
cat >brackets.json <<'END'
{"schema": "1.1.1-chakra.0.0.4", "nodes": [
{"id": 1, "name": "a", "ctrl_deps": 1, "attrs": [{"name": "rf_id", "type": "uint64", "value": 1}],
{"id": 2, "name": "b", "inputs": {"values": [], "types": [], "ctrl_deps": 1, "attrs": []},
{"id": 3, "name": "c", "ctrl_deps": 1, "inputs": {"values": [1, [2]}, "attrs": []}
]}
END
cat >inside.json <<'END'
{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::a{"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "ts": 2}dd", "pid": 1, "ts": 1},
{"ph": "X", "cat": "cpu_op", "name": "at
{"ph": "X", "cat": "cpu_op", "name": "c", "pid": 1, "ts": 3}
]}
END
told() { sed '/peak memory$/d'; }
for trace in names cut twice brackets inside; do
    echo "$trace:"
    sutra repair $trace.json -o $trace.good.json 2>&1 | told
    cat $trace.good.json
    sutra repair $trace.good.json -o again.json -q && cmp $trace.good.json again.json && echo "again: the same"
done
echo "compressed and cut off:"
{
    echo '{"traceEvents": [{"ph": "X", "cat": "cpu_op"}'
    seq 1 5000 | sed 's/.*/, {"ph": "X", "cat": "cpu_op", "name": "n&"}/'
    echo ']}'
} | gzip -c >whole.gz
head -c $(($(wc -c <whole.gz) / 2)) whole.gz >part.gz
try sutra info part.gz
sutra repair part.gz -o part.json -q 2>/dev/null
tail -n 1 part.json | sed 's/[0-9][0-9]*/N/g' && echo
for words in "part.json" "part.gz --lenient"; do
    n=$(sutra info $words 2>err | sed -n 's/  events$//p' | tr -d ', ')
    [ "$n" -gt 1000 ] && [ "$n" -lt 4900 ] && echo "$words: some thousand events"
    sed 's/(byte [0-9]*)/(byte N)/' err
done
echo "each place:"
sutra repair names.json -o - -v 2>&1 >/dev/null | grep '^byte'
echo "statistics:"
sutra repair names.json -o names.good.json -q --stats - | sed -n '/counts/,/}/p'
echo "lenient:"
try sutra info names.json
sutra info names.json --lenient 2>&1 | head -n 4
try sutra cut cut.json --side cpu -q --lenient
echo "two documents in one file:"
# node ID PARENT RF_ID
node() {
    printf '{"id": %s, "name": "aten::mm", "ctrl_deps": %s, "inputs": {"values": [], "shapes": [], "types": []}, ' $1 "$2"
    printf '"outputs": {"values": [], "shapes": [], "types": []}, "attrs": [{"name": "rf_id", "type": "uint64", "value": %s}]}' "$3"
}
head='{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "time": "2026-01-01 00:00:00", "start_ts": 1, "nodes": ['
{
    echo "$head"
    node 1 1 0 && echo ,
    echo "$head"
    node 1 1 0 && echo ,
    node 2 1 8 && echo ,
    node 3 '{"schema": "1.1.1-chakra.0.0.4"}' 9 && echo ,
    node 4 1 '"nodes"'
    echo '], "finish_ts": 9}'
} >two.json
try sutra info two.json --lenient | sed -n '/warning/p; /nodes$/p; /exit/p'
sed -n '3,$p' two.json >one.json
try sutra info one.json --lenient | sed -n '/warning/p; /nodes$/p; /exit/p'
echo "refused:"
echo hello >hello.json
echo '{"a": }' >value.json
for words in "" "missing.json" "hello.json" "value.json" "names.json -o names.json" "names.json -o x/y.json"; do
    try sutra repair $words
done
ls
