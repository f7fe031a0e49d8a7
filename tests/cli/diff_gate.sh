# `sutra diff` as a gate: regressions, changes that are too noisy to decide, and the result as JSON and Markdown.
. "$TOOLS/common.sh"
step_trace 1000 1010 990 1000 >a.json
step_trace 1100 1110 1090 1100 >slow.json
step_trace 1000 1100 900 1120 >noisy.json
step_trace 1000 1200 1010 910 >noisier.json
step_trace 1000 1004 996 1001 >near.json
step_trace 1030 >one.json
echo "regression:"
quietly sutra diff a.json slow.json -q --fail-above 5%
echo "clear, below the limit:"
quietly sutra diff a.json slow.json -q --fail-above 15% --fail-on-unclear
quietly sutra diff slow.json a.json -q --fail-above 5% --fail-on-unclear
echo "not clear, but the noise is below the limit:"
quietly sutra diff a.json near.json -q --fail-above 5% --fail-on-unclear
quietly sutra diff a.json a.json -q --fail-above 0% --fail-on-unclear
echo "too noisy to decide:"
quietly sutra diff a.json noisy.json -q --fail-above 5%
quietly sutra diff a.json noisy.json -q --fail-above 5% --fail-on-unclear
quietly sutra diff a.json noisier.json -q --fail-above 2% --fail-on-unclear
quietly sutra diff a.json near.json -q --fail-on-unclear
quietly sutra diff a.json one.json -q --fail-above 5% --fail-on-unclear
quietly sutra diff a.json one.json -q --fail-above 2%
mkdir job_a job_b
for rank in 0 1; do
    cp a.json job_a/rank$rank.json
    cp noisy.json job_b/rank$rank.json
done
quietly sutra diff job_a job_b -q --fail-above 5% --fail-on-unclear
quietly sutra diff a.json noisy.json | sed -n '/^B is/,/^$/p'
# With as many steps of the same spread as the message asks for, the decision is clear.
steps=$(sutra diff a.json noisy.json -q --fail-above 5% 2>&1 | sed 's/.*at least \([0-9,]*\) steps.*/\1/; s/,//')
for name in "a 1000 1010 990 1000" "noisy 1000 1100 900 1120"; do
    set -- $name
    file=many_$1.json
    shift
    n=0 all=
    while [ $n -lt $steps ]; do
        all="$all $*" n=$((n + 4))
    done
    step_trace $all >$file
done
quietly sutra diff many_a.json many_noisy.json -q --fail-above 5% --fail-on-unclear

echo "JSON and Markdown:"
kernel='a|b`c' step_trace 1100 1110 1090 1100 >'odd|`.json'
quietly sutra diff a.json slow.json -q --format json --fail-above 5%
sutra diff a.json noisy.json -q --format json --fail-above 5% 2>/dev/null | grep -A1 '"step":'
quietly sutra diff a.json 'odd|`.json' -q --format markdown
quietly sutra diff a.json noisy.json -q --format markdown --fail-on-unclear
sutra diff "$PWD/a.json" slow.json -q --format markdown | grep "^A:"
sutra diff a.json slow.json -q -o tables --table-format json
sutra diff a.json slow.json -q --format json >all.json
cat tables/diff_kernels.json >kernels.txt
sed -n '/"diff_kernels": /,/^\]/p' all.json | sed 's/.*"diff_kernels": //' | diff - kernels.txt && echo "the rows of the file"
if command -v python3 >/dev/null; then python3 -m json.tool all.json >/dev/null; fi
quietly sutra diff a.json slow.json -q --format json --compat hta -o compat
quietly sutra diff a.json slow.json -q --fail-on-unclear --compat hta -o compat
