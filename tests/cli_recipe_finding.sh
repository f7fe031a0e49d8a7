#!/usr/bin/env bash
# cli_recipe_finding - the recipe "Finding rule" of docs/architecture.md, followed in a directory of its own, adds a rule
# whose finding has its own title, remedy and check.
set -eu
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
recipe=$work/recipe.md tree=$work/tree from=host/analyze/overview
sed -n '/^### Finding rule$/,/^### Metric/p' docs/architecture.md >"$recipe"
line=$(sed -n 's/^| `host.*findings.h`.*`\(RULE(.*)\)` |$/\1/p' "$recipe")
mkdir -p "$tree/$from"

# findings.c contains no change, but the list of rules.
cp $from/findings.c "$tree/$from"
sed "s/^    RULE(layout) .*/&\n    $line \\\\/" $from/findings.h >"$tree/$from/findings.h"
{ cat $from/rules_gpu.c && sed -n '/^```c$/,/^```$/{ /^```/!p; }' "$recipe"; } >"$tree/$from/rules_gpu.c"
bash tests/relink.sh "$SUTRA_BUILD" "$tree" "$work/sutra"
# With sanitizers the program is linked to a shared library, whose rules the program replaces.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_odr_violation=0

# Ten kernels, most of them shorter than 10 us.
for i in {1..10}; do
    echo "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":$((i * 100)),\"dur\":5,"
    echo "\"args\":{\"correlation\":$i}},"
    echo "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":$((i * 100 + 8)),\"dur\":$((i < 8 ? 5 : 50)),"
    echo "\"args\":{\"correlation\":$i,\"stream\":7}}$([ "$i" = 10 ] || echo ,)"
done | { echo '{"traceEvents":[' && cat && echo ']}'; } >"$work/trace.json"

n_failed=0
# contains TEXT ARGUMENT...: the output of `sutra analyze` contains the text.
contains() {
    if ! "$work/sutra" analyze "$work/trace.json" "${@:2}" 2>"$work/log" | tr -s ' \n' ' ' | grep -F -- "$1" >/dev/null; then
        echo "FAILED: '$1' is not in the output of sutra analyze ${*:2}"
        n_failed=$((n_failed + 1))
    fi
}
contains 'SHORT KERNELS Seen 70.0% of the kernels take less than 10 us. Do Fuse kernels with torch.compile.'
contains 'Check 70.0% of kernels below 10 us must fall.'
contains '"rule": "short_kernels"' --format json
contains '"title": "Short kernels", "situation": "eager"' --format json
contains '"do": [{"text": "Fuse kernels with torch.compile.", "api": "torch.compile",' --format json
[ $n_failed = 0 ]
