# Outputs of another kind than the command writes: a name that ends in .json for protobuf, a file in place of a directory,
# a directory in place of a file, a terminal.
. "$TOOLS/common.sh"
need python3
traces
sutra link host.json device.json -o plus.json --quiet
mkdir dir hosts
cp host.json hosts/host.0.json
sed 's/"traceEvents"/"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents"/' device.json >hosts/device.0.json
try sutra convert plus.json -o out.json
try sutra convert plus.json -o out.json.gz
sutra convert plus.json --compat -o compat.json --quiet && head -c 3 compat.json | od -An -tx1
echo "-- a file in place of a directory"
try sutra analyze device.json -o plus.json
try sutra analyze hta device.json -o plus.json
try sutra link hosts hosts -o plus.json
echo "-- a directory in place of a file"
try sutra link host.json device.json -o dir
try sutra link host.json device.json -o dir/
try sutra link host.json device.json -o dir/new/
try sutra link host.json device.json -o dir --force
try sutra cut device.json -o dir
echo "-- a terminal"
# terminal COMMAND...: runs it with standard output on a pseudo terminal; the first line and the exit code.
terminal() {
    echo "\$ $*"
    python3 - "$@" <<'END'
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
text = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        piece = b""
    if not piece:
        break
    text += piece
print(text.decode().splitlines()[0])
print("exit", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
}
echo '{"traceEvents": []}' >empty.json
terminal sutra repair empty.json
terminal sutra cut device.json
terminal sutra repair empty.json -o - -q
sutra repair empty.json -q
ls dir
