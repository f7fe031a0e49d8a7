# golden_convert.sh - tests `sutra convert` on recorded traces: the bytes of chakra_converter, for any number of threads
# and any compression.
#
# tests/data/convert/sha256 contains a checksum for each case of tests/data/link that chakra_converter converts.
# ../shared/cases/convert, if present, has more cases: in.json.gz with out.et.gz, or with error.txt where
# chakra_converter fails. For these a result or a one-line error is accepted.
. tests/golden.sh
shared=../shared/cases/convert

# convert IN OUT [OPTION...]
convert() { "$SUTRA" convert --compat "$1" -o "$2" -q "${@:3}" 2>"$work/err"; }

# link CASE [OPTION...]: to an .et file at once.
link() {
    rm -f "$work/linked.et"
    "$SUTRA" link "tests/data/link/$1/host.json.gz" "tests/data/link/$1/device.json.gz" -o "$work/linked.et" -q \
        --no-sync "${@:2}" 2>"$work/err"
}

same() { cmp -s "$1" "$2"; }

# has_sum FILE SUM
has_sum() { [ "$(sha256sum <"$1")" = "$2  -" ]; }

while read -r name sum; do
    plus=tests/data/link/$name/out.nosync.json.gz
    convert "$plus" "$work/one.et" --threads 1
    check "$name" has_sum "$work/one.et" "$sum"
    gunzip -c "$plus" >"$work/plus.json"
    convert "$work/plus.json" "$work/four.et" --threads 4
    check "$name: four threads" same "$work/one.et" "$work/four.et"
    convert - - <"$work/plus.json" >"$work/pipe.et"
    check "$name: pipes" same "$work/one.et" "$work/pipe.et"
    convert "$work/plus.json" "$work/packed.et.gz" && gunzip -c "$work/packed.et.gz" >"$work/unpacked.et"
    check "$name: gzip" same "$work/one.et" "$work/unpacked.et"
    link "$name" --compat
    check "$name: linked" same "$work/one.et" "$work/linked.et"
    link "$name" --plain --threads 4
    "$SUTRA" convert "$work/plus.json" -o "$work/plain.et" -q
    check "$name: linked, plain" same "$work/plain.et" "$work/linked.et"
done <tests/data/convert/sha256

# Nodes of schema 1.0.1 name their parents by other ids once they are linked.
"$SUTRA" gen --events 3000 --seed 3 --schema 1.0.1 --host "$work/host.json" --device "$work/device.json" \
    2>"$work/err"
"$SUTRA" link "$work/host.json" "$work/device.json" -o "$work/old.json" -q --no-sync
for how in --plain --compat; do
    "$SUTRA" link "$work/host.json" "$work/device.json" -o "$work/linked.et" -q --no-sync $how
    "$SUTRA" convert "$work/old.json" -o "$work/old.et" -q ${how#--plain}
    check "schema 1.0.1: linked, $how" same "$work/old.et" "$work/linked.et"
done

ln -s "$SUTRA" "$work/chakra_converter"
"$work/chakra_converter" --log-filename "$work/log" PyTorch --input "$work/plus.json" --output "$work/other.et" \
    --simulate 2>"$work/err"
check "chakra_converter" same "$work/one.et" "$work/other.et"

# refused STATUS: one line, and no output.
refused() { [ "$1" -eq 65 ] && [ ! -e "$work/out.et" ] && [ "$(wc -l <"$work/err")" -eq 1 ]; }

for in in "$shared"/*/in.json.gz; do
    [ -e "$in" ] || break
    folder=$(dirname "$in") name=$(basename "$(dirname "$in")")
    rm -f "$work/out.et"
    convert "$in" "$work/out.et"
    status=$?
    if [ -e "$folder/error.txt" ]; then
        [ $status -eq 0 ] || check "$name" refused $status
    else
        gunzip -c "$folder/out.et.gz" >"$work/want.et"
        check "$name" same "$work/out.et" "$work/want.et"
    fi
done

# What Google's own reader makes of a file: its messages, one behind the other as fields of one.
joined() {
    python3 - "$1" <<'END'
import sys

def number(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at

data, at, key = open(sys.argv[1], "rb").read(), 0, b"\x12"
while at < len(data):
    length, begin = number(data, at)
    sys.stdout.buffer.write(key + data[at:begin + length])
    at, key = begin + length, b"\x0a"
END
}

# What protoc reads by the schema; a field that it does not have would be a number.
decoded() {
    echo 'syntax = "proto3"; import "chakra_et.proto"; message File { repeated ChakraProtoMsg.Node node = 1;' \
        'ChakraProtoMsg.GlobalMetadata metadata = 2; }' >"$work/file.proto"
    joined "$1" | protoc -I "$work" -I host/simulate --decode=File "$work/file.proto" 2>"$work/err"
}

if command -v protoc >/dev/null && command -v python3 >/dev/null; then
    for et in one plain old; do
        n=$("$SUTRA" jsonize "$work/$et.et" --lines | wc -l)
        decoded "$work/$et.et" >"$work/decoded"
        check "$et: protoc" [ "$(grep -c '^node {\|^metadata {' "$work/decoded")" -eq "$n" ]
        check "$et: protoc knows all fields" [ "$(grep -c '^ *[0-9]' "$work/decoded")" -eq 0 ]
    done
else
    echo "SKIPPED protoc: it is not there"
fi

finish
