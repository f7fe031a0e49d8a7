# fault_job_write.sh - tests jobs whose ranks cannot be written or run out of memory: the exit code is that of the
# failure (not of malformed traces), standard error names the rank, and no partial file is left. A directory that the
# command has created is removed if nothing was completed in it.
set -u
work=$(mktemp -d) || exit 71
mounted=
trap '[ -z "$mounted" ] || umount "$work/disk"; rm -rf "$work"' EXIT
cd "$work" || exit 71
n_failed=0

failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

"$SUTRA" gen --events 3k --ranks 2 --seed 2 --host hosts --device devices || exit 1
"$SUTRA" link hosts devices -o whole -q || exit 1

# fails CODE WORDS COMMAND...: the command exits with CODE and reports WORDS of rank 0 in one line.
fails() {
    expected=$1 words=$2
    shift 2
    "$@" 2>err
    code=$?
    [ $code = "$expected" ] || failed "$*: exit $code, not $expected"
    [ "$(grep -c "rank 0: .*$words" err)" = 1 ] || failed "$*: $(cat err)"
}

# limited COMMAND...: with files of at most 100 KiB.
limited() {
    (ulimit -f 100 && "$@")
}

for format in json et json.gz; do
    fails 74 "File too large" limited "$SUTRA" link hosts devices -o out --format $format -q
    fails 74 "File too large" limited "$SUTRA" link hosts devices -o out --format $format -q --shard 1/2
    [ -z "$(find out -name 'rank.0.*' -o -name '.*.tmp')" ] || failed "left over: $(find out -name 'rank.0.*')"
    "$SUTRA" link --combine -o out -q 2>err
    [ $? = 74 ] || failed "--combine after a full disk"
    rm -rf out
done

# What the record says, whichever rank it is.
for codes in "65 65 65" "71 71 65" "74 65 74" "71 74 71" "73 73 65" "74 73 74" "65 66 1"; do
    set -- $codes
    rm -rf out && cp -R whole out
    for rank in 0 1; do
        shift
        sed "/^seconds/q" whole/.job/rank.$rank >out/.job/rank.$rank
        printf 'error\t%s\tthe reason\nend\n' "$1" >>out/.job/rank.$rank
    done
    set -- $codes
    fails "$1" "the reason" "$SUTRA" link --combine -o out -q
done

# A malformed rank is reported by the process that finds it.
head -c 100000 devices/device.0.json >cut && mv cut devices/device.0.json
rm -rf out
for part in 1/1 1/2; do
    "$SUTRA" link hosts devices -o out --shard $part -q 2>err
    code=$?
    [ $code = 65 ] || failed "--shard $part: exit $code"
    grep -q '^sutra: rank 0: .*device.0.json' err || failed "--shard $part: $(cat err)"
done

"$SUTRA" gen --events 3k --ranks 2 --seed 2 --host hosts --device devices || exit 1
"$SUTRA" link hosts devices -o files --format et -q || exit 1

# without_room COMMAND...: in a new directory in which no file can be written, and in an old one, which stays
without_room() {
    for old in "" old; do
        [ -z "$old" ] || mkdir new
        error=$( (ulimit -f 0 && "$SUTRA" "$@" 2>&1 >/dev/null))
        code=$?
        [ $code = 74 ] || failed "$*: exit $code: $error"
        [ "$(find new 2>/dev/null)" = "${old:+new}" ] || failed "$*: left over: $(find new), expected ${old:+new}"
        rm -rf new
    done
}
# The runtime of ThreadSanitizer cannot begin without room for a file.
if (ulimit -f 0 && "$SUTRA" --version >/dev/null) 2>/dev/null; then
    without_room link hosts devices -o new --shard 1/2
    without_room link hosts devices -o new --format et --astra network
    without_room link hosts/host.0.json devices/device.0.json -o new.et --astra new
    without_room convert whole/rank.0.json -o new.et --astra new
    without_room simulate files --write new
    without_room simulate files --pipeline -o new
    without_room analyze hta devices -o new
    without_room analyze hta devices -o new --shard 1/2
    without_room diff devices/device.0.json devices/device.1.json -o new
    without_room gen --events 1k --ranks 2 --host new --device new/more
fi

mkdir disk
if ! mount -t tmpfs -o size=200k tmpfs disk 2>err; then
    echo "$n_failed failed; a small disk cannot be mounted: $(cat err)"
    [ $n_failed = 0 ] && exit 77
    exit 1
fi
mounted=yes
"$SUTRA" gen --events 3k --ranks 2 --seed 2 --host hosts --device devices || exit 1
for threads in 1 2; do
    # Which rank the disk has no room for depends on the order of the writes.
    "$SUTRA" link hosts devices -o disk/out -q --threads $threads 2>err
    code=$?
    [ $code = 74 ] || failed "--threads $threads: exit $code"
    # The file of a rank, or its record in .job/.
    grep -q "rank[ .][01]: .*No space left on device" err || failed "--threads $threads: $(cat err)"
    [ -z "$(find disk/out -name 'rank.*.json' -o -name '.*.tmp')" ] || failed "left over: $(find disk/out)"
    rm -rf disk/out
done
echo "$n_failed failed"
[ $n_failed = 0 ]
