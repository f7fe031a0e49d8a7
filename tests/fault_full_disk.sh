# fault_full_disk.sh - tests a full disk while ET+ is written: sutra reports the error, keeps the old output and removes
# its temporary file.
set -u
work=$(mktemp -d) || exit 71
mounted=
trap '[ -z "$mounted" ] || umount "$work/disk"; rm -rf "$work"' EXIT
case=tests/data/link/torch_mlp_nosync
n_failed=0

failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

# fails OUT: linking ends with exit code 74 and one line that says what is full.
fails() {
    "$SUTRA" link $case/host.json.gz $case/device.json.gz -o "$1" --no-sync -q "${@:2}" 2>"$work/err"
    code=$?
    [ $code = 74 ] || failed "$*: exit $code"
    [ "$(wc -l <"$work/err")" = 1 ] || failed "$*: not one line"
    grep -q "$1: cannot be written: No space left on device" "$work/err" || failed "$*: $(cat "$work/err")"
}

if [ -e /dev/full ]; then
    fails /dev/full
    fails /dev/full --threads 1
    "$SUTRA" link $case/host.json.gz $case/device.json.gz -o - --no-sync -q >/dev/full 2>"$work/err"
    [ $? = 74 ] || failed "standard output on /dev/full"
    grep -q 'standard output: cannot be written: No space left on device' "$work/err" || failed "$(cat "$work/err")"
fi

mkdir "$work/disk"
if ! mount -t tmpfs -o size=64k tmpfs "$work/disk" 2>"$work/err"; then
    [ $n_failed = 0 ] || exit 1
    echo "a small disk cannot be mounted: $(cat "$work/err")"
    exit 77
fi
mounted=yes
echo old >"$work/disk/out.json"
for threads in 1 2 4; do
    fails "$work/disk/out.json" --threads $threads
    fails "$work/disk/new.json" --threads $threads
done
[ "$(cat "$work/disk/out.json")" = old ] || failed "the old output is gone"
[ "$(ls -A "$work/disk")" = out.json ] || failed "left over: $(ls -A "$work/disk")"
# What fits is written where the old output was.
"$SUTRA" link $case/host.json.gz $case/device.json.gz -o "$work/disk/out.json.zst" --no-sync -q 2>"$work/err" ||
    failed "a compressed output does not fit: $(cat "$work/err")"
# A disk without any room.
cat /dev/zero >"$work/disk/filler" 2>/dev/null
fails "$work/disk/out.json"
[ "$(cat "$work/disk/out.json")" = old ] || failed "the old output is gone"
echo "$n_failed failed"
[ $n_failed = 0 ]
