# fault_interrupt_folder.sh - tests termination by a signal of a command that writes a directory: the command removes
# incomplete files, keeps an earlier complete result and exits with the signal's status.
#
# One input is a pipe without data, so that the command waits with incomplete files in the directory and each signal
# arrives in time.
set -u
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 71
n_failed=0

failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

# run COMMAND...: with the default actions of the signals. A shell ignores SIGINT for jobs in the background, and nohup
# ignores SIGHUP.
run() {
    env --default-signal=INT true 2>/dev/null && exec env --default-signal=INT,PIPE,HUP,TERM "$SUTRA" "$@"
    exec "$SUTRA" "$@"
}

# interrupt SIGNAL CODE DIR FILES COMMAND...: sends the signal once DIR/incomplete.sutra has at least FILES files.
interrupt() {
    signal=$1 wanted=$2 folder=$3 n_files=$4
    shift 4
    run "$@" -o "$folder" -q --threads 1 2>err &
    program=$!
    while kill -0 $program 2>/dev/null && { [ ! -d "$folder/incomplete.sutra" ] ||
        [ "$(find "$folder/incomplete.sutra" -type f | wc -l)" -lt "$n_files" ]; }; do :; done
    kill -"$signal" $program 2>/dev/null
    { wait $program; } 2>/dev/null
    code=$?
    [ $code = "$wanted" ] || failed "$signal $*: exit $code instead of $wanted: $(cat err)"
    ! grep -q 'cannot be' err || failed "$signal $*: $(cat err)"
}

"$SUTRA" gen --events 2k --ranks 2 --seed 4 --host hosts --device d -q || exit 1
mkdir pipes
cp d/device.0.json pipes/device.0.json
mkfifo pipes/device.1.json
exec 3<>pipes/device.1.json # a reader of the pipe waits for data
both="pipes/device.0.json pipes/device.1.json"
signals="TERM:143 HUP:129 PIPE:141"
env --default-signal=INT true 2>/dev/null && signals="$signals INT:130"
"$SUTRA" analyze hta d -o whole -q 2>/dev/null || exit 1
cp -r whole kept
for pair in $signals; do
    signal=${pair%:*} code=${pair#*:}
    interrupt "$signal" "$code" new 1 analyze hta $both
    [ ! -e new ] || failed "$signal analyze hta: left over: $(ls -A new)"
    interrupt "$signal" "$code" kept 1 analyze hta $both
    diff -rq whole kept || failed "$signal analyze hta: the earlier result has changed"
    for command in "analyze" "analyze operators" "analyze dlrm" "analyze collectives" "diff pipes/device.0.json"; do
        [ "${command%% *}" = diff ] && inputs=pipes/device.1.json || inputs=$both
        interrupt "$signal" "$code" new 0 $command $inputs
        [ ! -e new ] || failed "$signal $command: left over: $(ls -A new)"
    done
    # A part of an analysis leaves no temporary file.
    run analyze hta $both -o parts -q --shard 1/1 --threads 1 2>err &
    program=$!
    while kill -0 $program 2>/dev/null && [ ! -e parts/.parts/0 ]; do :; done
    kill -"$signal" $program 2>/dev/null
    { wait $program; } 2>/dev/null
    [ $? = "$code" ] || failed "$signal --shard: exit $?"
    [ "$(ls -A parts/.parts)" = 0 ] || failed "$signal --shard: left over: $(ls -A parts/.parts)"
    rm -r parts
done

# A new directory of --astra is removed, an old one stays: the other output waits for a reader.
"$SUTRA" gen --events 20k --host host.json --device device.json -q || exit 1
"$SUTRA" link host.json device.json -o linked.json -q || exit 1
mkfifo full
exec 6<>full
dd if=/dev/zero of=full bs=64k count=1 oflag=nonblock 2>/dev/null
for pair in $signals; do
    signal=${pair%:*} code=${pair#*:}
    for old in "" old; do
        [ -z "$old" ] || mkdir new
        run convert linked.json -o - --astra new -q 2>err >full &
        program=$!
        while kill -0 $program 2>/dev/null && { [ ! -d new ] || [ ! /proc/$program/exe -ef "$SUTRA" ]; }; do :; done
        kill -"$signal" $program 2>/dev/null
        { wait $program; } 2>/dev/null
        [ $? = "$code" ] || failed "$signal --astra: exit $?: $(cat err)"
        [ "$(find new 2>/dev/null)" = "${old:+new}" ] || failed "$signal --astra: left over: $(find new)"
        rm -rf new
    done
done

# A warning into a pipe without a reader, before the results are complete.
head -c 3000 d/device.1.json >x && mv x d/device.1.json
mkfifo closed
exec 4<>closed 5>closed 4<&-
(run analyze hta d -o new 2>&5 3>&- 5>&-)
code=$?
[ $code = 141 ] || failed "a closed pipe: exit $code"
[ ! -e new ] || failed "a closed pipe: left over: $(ls -A new)"
echo "$n_failed failed"
[ $n_failed = 0 ]
