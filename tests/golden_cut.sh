# golden_cut.sh - tests that cutting a pair and linking it equals linking it and restricting the result.
#
# Synchronization dependencies are excluded: `link` computes them for the first step of a trace. If the time range
# begins within an operator, its exclusive duration covers only the remaining children.
. tests/golden.sh
command -v python3 >/dev/null || { echo "needs the program python3"; exit 77; }

# cut PAIR FIELD WORDS...: the pair $work/PAIR.host, PAIR.device, whose link is PAIR.plus, cut as the words say.
cut() {
    n_checks=$((n_checks + 1))
    pair=$work/$1
    field=$2
    shift 2
    "$SUTRA" cut "$pair.device" "$@" -o "$work/d.json.zst" --host "$pair.host" --host-out "$work/h.json.gz" -q &&
        "$SUTRA" link --no-sync "$work/h.json.gz" "$work/d.json.zst" -o "$work/small.json" -q &&
        "$SUTRA" cut "$work/d.json.zst" -o "$work/d.json" -q &&
        "$SUTRA" cut "$pair.device" "$@" -o "$work/e.json" -T 1 -q && cmp "$work/d.json" "$work/e.json" &&
        gzip -dc "$work/h.json.gz" >"$work/h.json" &&
        python3 cut_check.py "$pair.plus" "$work/small.json" "$work/h.json" "$work/d.json" $field && return
    failed "$*"
}

cd "$(dirname "$0")" || exit 70
for seed in 1 2; do
    "$SUTRA" gen -n 6k --seed $seed --python-functions --collectives --host "$work/$seed.host" \
        --device "$work/$seed.device" || exit 70
    "$SUTRA" link --no-sync "$work/$seed.host" "$work/$seed.device" -o "$work/$seed.plus" -q || exit 70
done
cut 1 "" --step 2
cut 1 "" --step 1-3 --no-python
cut 2 "" --step 0
cut 2 exclusive_dur --from-us 5k --to-us 12k
cut 2 exclusive_dur --from-us 6543
for case in torch_mlp_nosync torch_gloo2_r0_dn; do
    for side in host device; do
        gzip -dc "data/link/$case/$side.json.gz" >"$work/$case.$side" || exit 70
    done
    "$SUTRA" link --no-sync "$work/$case.host" "$work/$case.device" -o "$work/$case.plus" -q || exit 70
    cut $case exclusive_dur --from-us 500 --to-us 4000
    cut $case exclusive_dur --from-us 1000
    cut $case exclusive_dur --to-us 2500
done
finish
