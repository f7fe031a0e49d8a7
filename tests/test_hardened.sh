# test_hardened.sh - tests that the program is built with its compiler's hardening options, with a preset and without
# one.
set -u
cache=$SUTRA_BUILD/CMakeCache.txt
command -v readelf >/dev/null || { echo "needs readelf"; exit 77; }
grep -q '^CMAKE_BUILD_TYPE:STRING=Release$' "$cache" && ! grep -q '^CMAKE_C_FLAGS:STRING=.*-fsanitize' "$cache" ||
    { echo "this is no release build"; exit 77; }
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
n_failed=0

failed() {
    echo "FAILED $*"
    n_failed=$((n_failed + 1))
}

for file in "$SUTRA" "$SUTRA_BUILD/libsutra.so"; do
    readelf -Wd "$file" >"$work/dynamic"
    readelf -Wl "$file" >"$work/segments"
    readelf -Ws "$file" >"$work/symbols"
    grep -q 'FLAGS.*NOW' "$work/dynamic" || failed "$file: symbols are bound late"
    grep -q 'GNU_RELRO' "$work/segments" || failed "$file: no RELRO"
    grep 'GNU_STACK' "$work/segments" | grep -q ' RW ' || failed "$file: the stack can be executed"
    grep -q '__stack_chk_fail' "$work/symbols" || failed "$file: no stack protector"
    grep -q '_chk@' "$work/symbols" || failed "$file: no FORTIFY"
done
readelf -Wh "$SUTRA" | grep -q 'Type: *DYN' || failed "the program lies at a fixed address"

# flags FOLDER: what the compiler is told of one file, in any order.
flags() {
    grep -A 2 'strings\.c' "$1/compile_commands.json" | grep '"command"' | head -n 1 | tr ' ' '\n' |
        grep -E '^-(f|O|m|g|std|W|D|U)' | sort
}

cc=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$cache")
cmake -S . -B "$work/plain" -DSUTRA_CUDA=OFF -DBUILD_TESTING=OFF -DCMAKE_C_COMPILER="$cc" >"$work/out" 2>&1 ||
    failed "plain: $(tail -n 3 "$work/out")"
flags "$work/plain" >"$work/of_plain"
flags "$SUTRA_BUILD" | grep -v '^-Werror$' >"$work/of_preset"
grep -q '^-O2$' "$work/of_plain" || failed "plain: $(cat "$work/of_plain")"
diff "$work/of_plain" "$work/of_preset" || failed "the plain build has other flags"
echo "$n_failed failed"
[ $n_failed = 0 ]
