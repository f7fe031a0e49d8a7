# Pages on a terminal: as wide as the terminal, with names and paths shortened; complete on request.
. "$TOOLS/common.sh"
need script
script -qec true /dev/null >/dev/null 2>&1 || skip "needs a pseudo-terminal"
folder=a_folder_with_a_long_name/that_holds_a_folder/with_another_long_name/and_one_more
mkdir -p "$folder"
trace=$folder/trace_of_rank_0.json
functor() {
    echo "void at::native::vectorized_elementwise_kernel<$2, at::native::$1<float>, at::detail::Array<char*, $2> >(int, at::native::$1<float>, at::detail::Array<char*, $2>)"
}
{
    echo '{"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": ['
    i=0
    while [ $i -lt 60 ]; do
        case $((i % 4)) in
        0) name=$(functor CUDAFunctor_add 2) ;;
        1) name=$(functor CUDAFunctor_add 4) ;;
        2) name='漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字' ;;
        3) name=Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT16x16x256_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_WG$i ;;
        esac
        t=$((1000 + i * 100))
        cat <<END
{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: torch::autograd::WithALongNameToTheEnd$((i % 14))", "pid": 1, "tid": 1, "ts": $t, "dur": 60, "args": {"External id": $i}},
{"ph": "X", "cat": "cpu_op", "name": "aten::within_$i", "pid": 1, "tid": 1, "ts": $((t + 5)), "dur": 50, "args": {"External id": $i}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": $((t + 10)), "dur": 5, "args": {"External id": $i, "correlation": $i}},
{"ph": "X", "cat": "kernel", "name": "$name", "pid": 0, "tid": 7, "ts": $((t + 30)), "dur": $((90 - i % 7)), "args": {"stream": 7, "device": 0, "External id": $i, "correlation": $i}},
END
        i=$((i + 1))
    done
    echo '{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 990, "dur": 9000, "args": {}}]}'
} >"$trace"

# page COLUMNS COMMAND...: what it prints on a terminal of so many columns.
page() {
    columns=$1
    shift
    script -qec "stty cols $columns; $* 2>/dev/null" /dev/null | tr -d '\r'
}

for command in "critical-path" "critical-path --rules full" "tree" "tree --depth 0 --lines 0" "info" "analyze hta" "analyze dlrm"; do
    for columns in 40 80 132; do
        n=$(page $columns "sutra $command $trace" | tee out | wc -L)
        [ "$n" -gt 80 ] && [ "$n" -gt $columns ] && echo "$command: $n columns on $columns"
    done
    [ "$n" -gt 80 ] && echo "$command: names take the room that there is"
done
echo "the critical path:"
page 80 "sutra critical-path $trace" | tee out
[ "$(wc -l <out)" -le 50 ] || echo "more than a page"
echo "all of it:"
page 80 "sutra critical-path $trace --all" >all
sutra critical-path "$trace" -q -o file.txt
sutra critical-path "$trace" -q | cmp - file.txt && cmp all file.txt && echo "the same on a terminal, in a file and in a pipe"
echo "the tree:"
page 80 "sutra tree $trace --lines 4"
page 80 "sutra tree $trace" | tail -n 3
page 80 "sutra tree $trace --depth 0 --lines 0 --format text" | grep -c WithALongNameToTheEnd
page 80 "sutra tree $trace --format json" | head -c 1
