# golden_two_keys.sh - tests that no output depends on hash order: with other keys of the hash tables every command
# gives the same bytes.
. tests/golden.sh
[ -n "${SUTRA_KEYED:-}" ] || { echo "needs the program with given keys"; exit 77; }

# keyed COMMAND...: the program with the key at hand.
keyed() {
    SUTRA_HASH_KEY=$key "$SUTRA_KEYED" "$@" -q >>"$out/said" 2>&1 || failed "key $key: $*: $(tail -n 1 "$out/said")"
}

# pair NAME HOST DEVICE: everything that is made of a pair.
pair() {
    keyed link "$2" "$3" -o "$out/$1.plus.json"
    keyed link-legacy "$2" "$3" -o "$out/$1.legacy.json" --lenient
    keyed critical-path "$3" -o "$out/$1.path.json" -f json
    keyed tree "$3" -o "$out/$1.tree.json" -f json
    keyed correlate "$3" --host-trace "$2" --kind all -o "$out/$1.pairs.json"
    keyed analyze hta "$3" -o "$out/$1.hta" --no-report
    keyed analyze dlrm "$3" -o "$out/$1.dlrm"
    keyed link "$2" "$3" -o "$out/$1.et"
    keyed simulate "$out/$1.et" --trace "$out/$1.times.json"
}

"$SUTRA" gen --events 20k --seed 5 --collectives --host "$work/host.json" --device "$work/device.json" || exit 70
for key in 1 2 0; do
    out=$work/out # the same for each key: outputs may name themselves
    mkdir "$out"
    pair made "$work/host.json" "$work/device.json"
    for case in tests/data/link/torch_mlp_adam_ne tests/data/link/torch_gloo2_r0_dn; do
        pair "$(basename "$case")" "$case/host.json.gz" "$case/device.json.gz"
    done
    mv "$out" "$work/with_$key"
done
for key in 2 0; do
    diff -rq "$work/with_1" "$work/with_$key" || failed "outputs differ with the key"
done
n_files=$(find "$work/with_1" -type f -size +0 | wc -l)
[ "$n_files" -ge 40 ] || failed "only $n_files files"
echo "$n_files files with each key"
finish
