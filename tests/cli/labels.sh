# Labels name the counted quantity: synchronization is no kernel, ranks have a time each, nothing is -0.0 % or -1 us.
. "$TOOLS/common.sh"
# trace RANK END SYNC: a launch, its kernel until END, and an event of synchronisation if SYNC is 1.
trace() {
    echo '{"distributedInfo": {"rank": '"$1"'}, "traceEvents": ['
    echo '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 30, "args": {}},'
    echo '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 9, "args": {"correlation": 5}},'
    [ "$3" = 0 ] ||
        echo '{"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7, "ts": 12, "dur": 2, "args": {"correlation": 6, "stream": 7}},'
    echo '{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": '$(($2 - 10))', "args": {"correlation": 5, "stream": 7}}'
    echo ']}'
}
trace 0 1010 1 >sync.json
sutra analyze hta sync.json -o tables 2>/dev/null | sed -n '1,5p; /launches/p'
cut -d, -f1,3,4 tables/rank_summary.csv
echo "--- two ranks"
mkdir ranks
trace 0 1010 0 >ranks/a.json
trace 1 3010 0 >ranks/b.json
sutra analyze hta ranks 2>/dev/null | sed -n '1,6p'
sutra analyze hta sync.json ranks/a.json 2>/dev/null | grep -c -e '-0\.0 %' -e ' -[0-9.]* us' -e '1 ranks'
echo "--- one of each"
echo '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 0, "dur": 9},
{"ph": "X", "cat": "cpu_op", "name": "late", "pid": 1, "tid": 1, "ts": 20, "dur": -3}]}' >one.json
sed 's/9},$/9}]}/; 2d' one.json >bare.json
sutra critical-path bare.json --rules full -q 2>/dev/null | sed -n '/path:/p; /graph:/p'
sutra tree one.json -f text -q 2>/dev/null --depth 1 --min-us 1 | tail -n 1
sutra tree one.json -f text 2>&1 >/dev/null
sutra analyze hta sync.json -o report -q
grep -o 'on 1 stream<' report/hta.html
exit 0
