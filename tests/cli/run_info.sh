# `sutra info RUN`: roles, windows and ranks of nested directories, and what is skipped, with the reason; hostile
# directories.
. "$TOOLS/common.sh"
for window in 1 2 3; do
    for rank in 0 1; do
        [ $window$rank = 31 ] || trace_of run/trainer/iteration_${window}0/rank${rank}_trace.json - 10$rank ${window}00 1000
    done
done
trace_of run/rollout/e0/a.json 0 200 150 1000
trace_of run/rollout/e0/b.json 1 201 150 1000
trace_of run/rollout/e1/a.json 0 300 150 1000
trace_of run/rollout/e1/b.json 1 301 150 1000
cp run/trainer/iteration_10/rank0_trace.json run/trainer/latest_rank0_trace.json
echo '{"schema": "1.1", "pid": 1, "nodes": []}' >run/host.json
echo '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "pid": 7, "tid": 7, "ts": 1, "dur": 2, "name": "a"}]}' >run/frontend.json
mkdir run/capture_traces
trace_of run/capture_traces/bs_8_rank0.json - 100 50 1000
echo '{"traceEvents": [{' >run/broken.json
: >run/train.log
try sutra info run
sutra info run --json | sed -n '/"role": "trainer"/,/"traces"/p; /"skipped"/,$p'
echo "-- two directories, a file"
try sutra info run/trainer/iteration_10 run/trainer/iteration_20
try sutra info run/trainer/iteration_10 run/rollout/e0/a.json --json | grep path
echo "-- hostile directories"
mkdir -p hostile/loop "hostile/$(printf 'a\033[31m\nb')" hostile/secret
ln -s .. hostile/loop/up
ln -s nowhere hostile/gone.json
mkfifo hostile/pipe.json
trace_of "hostile/$(printf 'a\033[31m\nb')/rank0.json" - 1 1 1000
trace_of hostile/secret/rank1.json - 1 1 1000
try sutra info hostile
if [ "$(id -u)" != 0 ]; then chmod 0 hostile/secret; fi
sutra info hostile -q >/dev/null && echo "read"
chmod 700 hostile/secret
mkdir empty
try sutra info empty
try sutra info empty/nowhere
