# gpu_sanitizer.sh - runs the steps of the CUDA engine under the tools of compute-sanitizer: accesses out of bounds,
# races in shared memory, reads of uninitialized memory, misuse of barriers. compute-sanitizer is searched in the path
# and next to nvcc.
. tests/on_gpu.sh
steps=$SUTRA_BUILD/tests/gpu_steps
[ -x "$steps" ] || { echo "skipped: gpu_steps was not built: it needs cmocka"; exit 77; }
nvcc=$(sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' "$SUTRA_BUILD/CMakeCache.txt")
PATH=$PATH:$(dirname "$(readlink -f "${nvcc:-nvcc}")")
command -v compute-sanitizer >/dev/null || { echo "skipped: no compute-sanitizer in the path or beside nvcc"; exit 77; }
status=0
for tool in memcheck racecheck initcheck synccheck; do
    for test in both_engines_agree_at_the_edges_of_warps_and_blocks a_device_that_is_too_small_works_in_pieces \
        both_engines_agree_on_columns_at_the_edges_of_warps; do
        echo "$tool: $test"
        compute-sanitizer --tool $tool --error-exitcode 9 "$steps" $test || status=1
    done
done
exit $status
