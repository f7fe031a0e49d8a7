# golden_report.sh - tests the HTML reports of analyze: well-formed for all traces, small, without external resources,
# with the numbers of the tables.
. tests/golden.sh
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
case=tests/data/analyze/synth/trace.json.gz

# report NAME ANALYSIS TRACE... : writes $work/out/NAME.
report() {
    mkdir -p "$work/out"
    "$SUTRA" analyze "$2" "${@:3}" -o "$work/out/$1" -q 2>"$work/err" || failed "$1: $(head -n 1 "$work/err")"
}

python3 tests/report_traces.py "$work" || exit 70
"$SUTRA" gen --events 100k --seed 1 --host "$work/host.json" --device "$work/big.json" >/dev/null
report hta_synth hta "$case"
report dlrm_synth dlrm "$case"
report dlrm_compat dlrm "$case" --compat --full-trace
report operators_synth operators "$case"
report kernels_synth kernels "$case"
for trace in hostile streams long tiny huge bare big; do
    report hta_$trace hta "$work/$trace.json"
    report operators_$trace operators "$work/$trace.json"
    report kernels_$trace kernels "$work/$trace.json"
    report dlrm_$trace dlrm "$work/$trace.json"
done
mkdir -p "$work/out"
# overview NAME TRACE... : the same of all that is known.
overview() {
    "$SUTRA" analyze "${@:2}" -o "$work/out/overview_$1" -q 2>"$work/err" || failed "$1: $(head -n 1 "$work/err")"
}
for trace in hostile streams long huge bare; do
    overview $trace "$work/$trace.json"
done
overview synth "$case"
overview modules tests/fuzz/corpus/operators/whole.json
overview many "$work/many"
for trace in synth hostile tiny bare; do
    other=$work/$trace.json
    [ $trace = synth ] && other=$case
    "$SUTRA" diff "$work/big.json" "$other" -o "$work/out/diff_$trace" -q 2>"$work/err" ||
        failed "diff $trace: $(head -n 1 "$work/err")"
done
# The page of a comparison begins with the sentence of the terminal.
for trace in synth hostile; do
    other=$work/$trace.json
    [ $trace = synth ] && other=$case
    sentence=$("$SUTRA" diff "$work/big.json" "$other" 2>/dev/null | grep '^B is ')
    sed -n '/<main/,/<dl/p' "$work/out/diff_$trace/report.html" | sed -n 3p | grep -qxF "<p>${sentence}</p>" ||
        failed "diff $trace does not begin with: $sentence"
done
# Call paths of collectives have the color of communication.
"$SUTRA" gen --events 3k --ranks 2 --straggler-rank 1 --host "$work/hosts" --device "$work/devices" -q &&
    "$SUTRA" diff "$work"/devices/device.{0,1}.json -o "$work/out/diff_ranks" -q 2>"$work/err" &&
    grep -q '<rect class="c1' "$work/out/diff_ranks/charts/changed_paths.svg" || failed "diff_ranks: $(cat "$work/err")"
# A run with several windows: lines of step times and shares.
mkdir "$work/run"
for window in 1 2 3 4 5; do
    "$SUTRA" gen --events 1k --ranks 2 --seed 1 --gpu-scale $((window / 4 + 1)) --host "$work/hosts" --device "$work/run/step_$window" -q
    sed -i "s/\"baseTimeNanoseconds\": 17908/\"baseTimeNanoseconds\": 1791$window/" "$work/run/step_$window"/*
done
overview trend "$work/run" --window all
for analysis in dlrm operators kernels; do
    report all $analysis "$case"
done
"$SUTRA" analyze "$case" -o "$work/out/all" -q 2>"$work/err" || failed "all: $(head -n 1 "$work/err")"
report all collectives "$case"
report all hta "$case"
report hta_many hta "$work/many"
report operators_many operators "$work/many"
report kernels_many kernels "$work/many"
report modules operators tests/fuzz/corpus/operators/whole.json
report hta_three hta "$work"/many/rank1.json "$work"/many/rank2.json "$work"/many/rank3.json --nanoseconds
report memory memory tests/data/memory/h200_adam/input.pickle.gz
report memory_oom memory tests/data/memory/gen_oom/input.pickle.gz tests/data/memory/gen_leak/input.pickle.gz
python3 tests/scale_job.py "$work/job" pp=4 micro=6 layers=8
"$SUTRA" simulate "$work"/job/*.et --pipeline -o "$work/out/pipeline" --quiet >/dev/null || failed "pipeline"
python3 tests/report_check.py "$work"/out/* || failed "reports"

# A check that cannot fail would be none.
sed 's/\(data-column="compute_us" data-value="\)/\11/' "$work/out/hta_synth/charts/hta_time_by_rank.svg" >"$work/chart" &&
    mv "$work/chart" "$work/out/hta_synth/charts/hta_time_by_rank.svg"
python3 tests/report_check.py "$work/out/hta_synth" >/dev/null && failed "a wrong number is not found"

sed 's/\(data-column="compute_us" data-value="\)/\11/' "$work/out/overview_synth/charts/steps.svg" >"$work/chart" &&
    mv "$work/chart" "$work/out/overview_synth/charts/steps.svg"
python3 tests/report_check.py "$work/out/overview_synth" >/dev/null && failed "a wrong number of a step is not found"
sed 's/querySelectorAll/querySelectorall/' "$work/out/overview_hostile/report.html" >"$work/page" &&
    mv "$work/page" "$work/out/overview_hostile/report.html"
python3 tests/report_check.py "$work/out/overview_hostile" >/dev/null && failed "another script is not found"
sed 's/<ul class="pages">.*<.ul><.nav>/<ul class="pages"><\/ul><\/nav>/' "$work/out/all/dlrm.html" >"$work/page" &&
    mv "$work/page" "$work/out/all/dlrm.html"
python3 tests/report_check.py "$work/out/all" >/dev/null && failed "a page that leads nowhere is not found"

# What is asked for, and what is not.
"$SUTRA" analyze hta "$case" -o "$work/none" -q --no-report &&
    "$SUTRA" analyze dlrm "$case" -o "$work/none" -q --no-report 2>"$work/err"
[ -e "$work/none/hta.html" ] || [ -e "$work/none/dlrm.html" ] || [ -e "$work/none/charts" ] && failed "--no-report writes a report"
mkdir "$work/a b%é"
[ "$("$SUTRA" analyze dlrm "$case" -o "$work/a b%é" -q --print-path 2>"$work/err")" = "$work/a b%é/dlrm.html
file://$(cd "$work" && pwd -P)/a%20b%25%C3%A9/dlrm.html" ] || failed "--print-path"
[ -s "$work/a b%é/dlrm.html" ] || failed "--print-path leads nowhere"
"$SUTRA" analyze hta "$case" --print-path -q 2>"$work/err"
[ $? = 64 ] && grep -q 'needs --output' "$work/err" || failed "--print-path without a folder"
echo file >"$work/file"
"$SUTRA" analyze hta "$case" -o "$work/file" -q 2>"$work/err"
[ $? = 73 ] || failed "a file in place of the folder"
mkdir "$work/blocked" && echo file >"$work/blocked/charts"
"$SUTRA" analyze hta "$case" -o "$work/blocked" -q 2>"$work/err"
[ $? = 73 ] && [ ! -e "$work/blocked/hta.html" ] || failed "a file in place of the charts: $(cat "$work/err")"
finish
