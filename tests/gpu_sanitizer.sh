# gpu_sanitizer.sh - runs the steps of the CUDA engine under the tools of compute-sanitizer: accesses out of bounds,
# races in shared memory, reads of uninitialized memory, misuse of barriers. Columns are apart from each other, so that
# the tools detect accesses beyond a column. compute-sanitizer is searched in the path and next to nvcc.
#
# usage: gpu_sanitizer.sh [TOOL [NAME...]]; default: four tools, small tables. NAME: see gpu_steps.c.
. tests/on_gpu.sh
steps=$SUTRA_BUILD/tests/gpu_steps
[ -x "$steps" ] || { echo "skipped: gpu_steps was not built: it needs cmocka"; exit 77; }
nvcc=$(sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' "$SUTRA_BUILD/CMakeCache.txt" 2>/dev/null)
PATH=$PATH:$(dirname "$(readlink -f "${nvcc:-nvcc}")")
command -v compute-sanitizer >/dev/null || { echo "skipped: no compute-sanitizer in the path or next to nvcc"; exit 77; }
tools="memcheck racecheck initcheck synccheck"
[ $# = 0 ] || { tools=$1 && shift; }
[ $# -gt 0 ] || set -- '*_at_the_edges_of_warps*' a_device_that_is_too_small_works_in_pieces
status=0
for tool in $tools; do
    echo "$tool:"
    columns=--apart
    [ "$tool" != initcheck ] || columns=--apart-unfilled
    compute-sanitizer --tool "$tool" --error-exitcode 9 "$steps" $columns "$@" || status=1
done
exit $status
