# Wrong command lines of analyze: one line that names the error; exit codes of sysexits.h.
. "$TOOLS/common.sh"
try sutra analyze
try sutra analyze hat x
try sutra analyze --zzz
try sutra help analyze hat
try sutra help link x
try sutra analyze hta
try sutra analyze hta x --table-format xml
try sutra analyze hta x --kernels 0
try sutra analyze hta x --strict --lenient
try sutra analyze hta nowhere.json
try sutra analyze hta nowhere.json other.json
mkdir folder
try sutra analyze hta folder
echo '{"traceEvents": [{"ph": "i", "name": "Record Window End", "pid": 1, "tid": 1, "ts": 1, "s": "g"}]}' >trace.json
try sutra analyze hta trace.json -o trace.json
try sutra analyze hta trace.json -o no/where
try sutra analyze hta trace.json --stats trace.json
try sutra analyze hta trace.json --stats no/where
