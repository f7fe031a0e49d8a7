# `sutra analyze RUN --window all`: changes of the step time over the windows of a run, the gate, formats, files, and
# several processes.
. "$TOOLS/common.sh"
# window DIR US...: a trace of two ranks with a step of each duration.
window() {
    folder=$1
    shift
    mkdir -p "$folder"
    step_trace "$@" >"$folder/rank0.json"
    cp "$folder/rank0.json" "$folder/rank1.json"
}
for i in 10 20 30 40 50 60 70; do
    [ $i -lt 50 ] && window run/iteration_$i 1000 1010 990 1000 || window run/iteration_$i 1200 1215 1190 1200
done

echo "shift:"
quietly sutra analyze run --window all
echo "gate:"
for options in "--fail-above 5%" "--fail-above 50" "--fail-above 5% --baseline previous" "--fail-above 5% --baseline 4" \
    "--fail-above 5% --baseline iteration_20 --fail-on-unclear" "--fail-above 0.1% --baseline 5 --fail-on-unclear"; do
    try sutra analyze run -q $options | grep -v ' s, '
done
echo "one window is too few for a change, and noise is unknown:"
mkdir one && cp -r run/iteration_10 one
quietly sutra analyze one --window all
window single/step_1 1000
window single/step_2 1000
window single/step_3 1500
quietly sutra analyze single --window all

echo "spike, unconfirmed shift, window without steps:"
for i in 1 2 3 4 5 6 7 8; do
    window series/step_$i 1000 1010 990 1000
done
window series/step_3 1300 1310 1290 1300
window series/step_8 1100 1110 1090 1100
for rank in 0 1; do
    sed 's/ProfilerStep#[0-9]*/step/' series/step_6/rank$rank.json >x && mv x series/step_6/rank$rank.json
done
quietly sutra analyze series --window all
quietly sutra analyze series --window all --baseline step_3 | grep -A 9 window

echo "a long series is shortened:"
for i in $(seq 100 139); do
    [ $i -lt 120 ] && window long/step_$i 1000 1000 1000 || window long/step_$i 900 900 900
done
quietly sutra analyze long --window all | cut -c -60

echo "roles are tested one by one:"
mkdir roles
cp -r run roles/train
cp -r long roles/rollout
try sutra analyze roles --fail-above 5% -q | grep -v ' s, '
sutra analyze roles --window all 2>/dev/null | grep -e ROLE -e TREND
sutra analyze roles --window all --format json -q | grep -e '^ *"role"' -e '"kind": "s[hp]'
sutra analyze roles --window all --role train 2>/dev/null | sed -n '/^Next/,$p'
sutra analyze roles --window all -o out -q && ls out

echo "JSON and Markdown:"
sutra analyze run --fail-above 5% --format json -q 2>/dev/null | sed -n '1,/"verdict"/p' | sed 's/"shares": {[^}]*}, //'
sutra analyze run --window all --format markdown -q | sed -n '1,/^# Why/p'

echo "files, and the same by several processes:"
sutra analyze run --window all -o alone -q --format json >alone.json
cut -d , -f -9 alone/windows.csv
ls alone/trend.html alone/report.html alone/charts/trend_*.svg
grep -c '<circle' alone/charts/trend_step.svg
for k in 1 2 3; do
    sutra analyze run --window all -o shared -q --shard $k/3
done
rm shared/.parts/4/1
quietly sutra analyze run --window all -o shared -q --combine --format json | tail -n 2
sutra analyze run --window all -o shared -q --shard 1/3
sutra analyze run --window all -o shared -q --combine --format json | cmp - alone.json
diff -r alone shared

echo "errors:"
try sutra analyze run --window all --baseline 9
try sutra analyze run --window all --baseline all
try sutra analyze run --baseline 2
try sutra analyze run --window 2 --fail-above 5%
try sutra analyze run --fail-above five
try sutra analyze run/iteration_10/rank0.json --window all
try sutra analyze hta run --window all -o out2
