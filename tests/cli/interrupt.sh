# SIGINT and SIGTERM end the program with their exit codes and leave no file; an ignored SIGINT stays ignored.
. "$TOOLS/common.sh"
strange_traces
mkfifo pipe
for signal in INT TERM HUP; do
    sleep 3 >pipe &
    timeout --preserve-status -s $signal 0.3 sutra link pipe device.json -o out.json
    echo "$signal: exit $?"
    kill $! 2>/dev/null # ThreadSanitizer delivers the signal only when the pipe is closed
    wait
done
ls
# A shell without job control starts commands in the background with SIGINT ignored.
sutra link pipe device.json -o out.json -q 2>/dev/null &
sleep 0.2
kill -INT $!
cat host.json >pipe
wait $!
echo "ignored: exit $?"
[ -s out.json ] && echo "written"
