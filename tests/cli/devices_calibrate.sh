# A calibration with a GPU, simulated by the CPU, is written, read, and used by --device auto; any other file is ignored.
. "$TOOLS/common.sh"
[ -x "${SUTRA_ON_HOST_GPU:-}" ] || skip "needs a C++ compiler"
need python3
gpu() { "$SUTRA_ON_HOST_GPU" "$@"; }
here() { sed "s|$PWD|HERE|g"; }
export HOST_GPU_DEVICES=2
file=$XDG_CONFIG_HOME/sutra/calibration.json

calibrate() { gpu devices --calibrate --operators 20k --threads 2 "$@"; }

echo "# Measured times differ, so only the words and sizes are compared."
calibrate >out 2>err
echo "exit $?"
sed '/^GPU 0 (stand-in 0) is [a-z]* than 2 threads.*; with .* to open it/d; s/ *[0-9][0-9]*\.[0-9][0-9]/ MS/g' out | here
cat err
grep -c '^GPU 0 (stand-in 0) is' out

# edit STATEMENT: changes the calibration, c.
edit() { python3 -c "
import json, sys
c = json.load(open('$file'))
$1
json.dump(c, open('$file', 'w'))"; }
edit "print(sorted(c)); print(c['version'], c['threads'], c['no_gpu'], len(c['cpu']) > 0)
print([(g['number'], g['name'], g['cuda'], g['open_ms'] >= 0) for g in c['gpus']])
print([(r['operators'], r['one_thread_ms'] > 0, r['all_threads_ms'] > 0, [g['number'] for g in r['gpus']]) for r in c['rows']])
assert all(g['opening_ms'] >= g['ms'] for r in c['rows'] for g in r['gpus'])
assert c['date'].endswith('Z') and len(c['date']) == 20"
cp "$file" measured.json
calibrate --json >printed.json 2>/dev/null
cmp printed.json "$file"
try calibrate --quiet

echo "# The choice of --device auto"
gpu gen --events 40k --seed 1 -q
gpu link host.json device.json -o expected.json --device cpu -q
gpu gen --events 2k --seed 1 --host small_host.json --device small_device.json -q
choice() {
    echo "- $1"
    cp measured.json "$file"
    edit "g = c['gpus'][0]; g['min_operators'] = 10000; g['min_operators_open'] = 10000; c['date'] = 'DATE'; $2"
    gpu devices --threads 2 | sed '/^[01]/d' | here
    gpu link host.json device.json -o out.json --verbose --threads 2 2>&1 | grep computing
    cmp out.json expected.json
}
choice "faster from 10,000 operators" ""
gpu devices --threads 2 --json | here | sed -n '/"auto"/p'
try gpu critical-path device.json -o path.txt --verbose --threads 2
gpu tree device.json -o tree.json --verbose --threads 2 2>&1 | grep computing
gpu link small_host.json small_device.json -o out.json --verbose --threads 2 2>&1 | grep computing
gpu link-legacy host.json device.json -o legacy.json --verbose --threads 2 2>&1 | grep computing
gpu link host.json device.json -o out.json --verbose --threads 1 2>&1 | grep computing
HOST_GPU_DEVICES=0 gpu link host.json device.json -o out.json --verbose --threads 2 2>&1 | grep computing
HOST_GPU_DEVICES=0 gpu devices --threads 2 | here
choice "faster from a million operators" "g['min_operators'] = 1000000"
choice "not faster with the time to open it" "g['min_operators'] = None"
choice "never faster" "g['min_operators'] = g['min_operators_open'] = None"
choice "another version" "c['version'] = '0.0.1'"
choice "another CPU" "c['cpu'] = 'another'" | sed 's/this is .*: run/this is CPU: run/'
choice "another driver" "c['driver'] = 'another'"
choice "another number of threads" "c['threads'] = 3"
choice "another GPU" "g['name'] = 'stand-in 7'"
choice "another CUDA version" "g['cuda'] = 12040"
choice "no GPU" "c['gpus'] = []"
choice "unknown keys" "c['more'] = [1, {'a': None}]; g['more'] = 'x'"

echo "# Files that are no calibration"
python3 - <<'END'
import json, os
c = json.load(open("measured.json"))
whole = json.dumps(c).encode()
os.mkdir("hostile")
def add(name, bytes):
    open("hostile/" + name, "wb").write(bytes)
def changed(name, **fields):
    add(name, json.dumps(dict(c, **fields)).encode())
add("empty", b"")
add("truncated", whole[:-1])
add("more", whole + b"x")
add("list", b"[]")
add("zeros", b"\0" * 100)
add("large", whole + b" " * 65536)
add("deep", b'{"rows": ' + b"[" * 30000 + b"]" * 30000 + b"}")
add("raw_escape", whole.replace(b"stand-in", b"\x1b[31m"))
add("not_utf8", whole.replace(b"stand-in", b"\xff\xfe"))
changed("escape", cpu="\x1b[31m")
changed("long", version="1" * 32)
changed("number", version=1)
changed("negative", threads=-1)
changed("fraction", threads=2.5)
changed("huge", threads=10**30)
changed("no_list", gpus={})
changed("no_object", gpus=[1])
changed("many", gpus=c["gpus"] * 65)
END
for name in $(ls hostile); do
    cp hostile/$name "$file"
    printf '%s: ' $name
    gpu devices --threads 2 >out || echo "exit $?"
    sed -n 's/.*is ignored: //p' out | LC_ALL=C tr '\001-\011\013-\037\177-\377' '@' | sed 's/at byte [0-9]*/at byte N/'
done
gpu link host.json device.json -o out.json --verbose --threads 2 2>&1 | grep computing
cmp out.json expected.json
for kind in pipe directory link; do
    rm -rf "$file"
    case $kind in
    pipe) mkfifo "$file" ;;
    directory) mkdir "$file" ;;
    link) ln -s /dev/zero "$file" ;;
    esac
    gpu devices --threads 2 | sed -n 's/.*is ignored: //p'
done
rm -rf "$file"

echo "# Directories"
mkdir home
(unset XDG_CONFIG_HOME && HOME=$PWD/home && export HOME && calibrate -q 2>/dev/null && ls home/.config/sutra)
(XDG_CONFIG_HOME=relative HOME=$PWD/home && export HOME XDG_CONFIG_HOME && try gpu devices -T 2 | tail -n 2 | here | sed 's/ of 2.*Z/ of DATE/')
(unset XDG_CONFIG_HOME HOME && try calibrate -q && gpu devices -T 2 | tail -n 1)
touch regular
(XDG_CONFIG_HOME=$PWD/regular && try calibrate -q | here)
(XDG_CONFIG_HOME=/proc/1/none && try calibrate -q | sed 's/: [^:]*: set/: REASON: set/')

echo "# Failures write nothing"
HOST_GPU_WRONG=1 try calibrate
HOST_GPU_FAILS_FROM=3 try calibrate 2>&1
ls "$XDG_CONFIG_HOME/sutra"

echo "# Limits"
HOST_GPU_DEVICES=0 gpu devices --calibrate --seconds 1 --json --threads 2 >limited.json
python3 -c "
import json
c = json.load(open('limited.json'))
n = len(c['rows'])
print(c['gpus'], c['no_gpu'], n >= 1, n + c['skipped_for_time'] + c['skipped_for_memory'])"
HOST_GPU_DEVICES=0 gpu devices --calibrate --operators 10k | here | sed 's/ *[0-9][0-9]*\.[0-9][0-9]/ MS/g; s/[0-9]* threads*$/N threads/'
try gpu devices --seconds 5
try gpu devices --operators 20k
try gpu devices --calibrate --operators 9k
if sh -c 'ulimit -v 300000 && "$SUTRA_ON_HOST_GPU" --version' >/dev/null 2>&1; then
    (ulimit -v 300000 && calibrate --operators 500k --json >limited.json 2>/dev/null)
    grep skipped_for_memory limited.json
else # a sanitizer's program
    echo '  "skipped_for_memory": 1'
fi
