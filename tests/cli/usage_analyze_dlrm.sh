# Wrong command lines of analyze dlrm: one line that names the error; exit codes of sysexits.h.
. "$TOOLS/common.sh"
try sutra analyze dlrm
try sutra analyze dlrm nowhere.json elsewhere.json
try sutra analyze dlrm x --iteration-time 0
try sutra analyze dlrm x --iteration-time 5ms
try sutra analyze dlrm x --iters 0
try sutra analyze dlrm x --percentage 40
try sutra analyze dlrm x --percentage 60:40
try sutra analyze dlrm x --time a:b
try sutra analyze dlrm x --time 1:2 --full-trace
try sutra analyze dlrm nowhere.json
echo '{"traceEvents": [{"name": "a", "cat": "cpu_op", "tid": 1, "ts": 1, "dur": 2}]}' >trace.json
try sutra analyze dlrm trace.json --time 5:6
try sutra analyze dlrm trace.json -o trace.json
try sutra analyze dlrm trace.json -o no/where
try sutra analyze dlrm trace.json --stats trace.json
try sutra analyze dlrm trace.json --stats no/where
