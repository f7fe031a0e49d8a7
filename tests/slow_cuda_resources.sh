# slow_cuda_resources.sh - tests that all kernels of the CUDA engine, for every GPU that it is built for, use only
# registers: no stack, no local memory, and so no spills. CUB tunes its own kernels; for some GPUs its sort spills one
# register. cuobjdump is searched in the path, next to nvcc, and in the Python package index.
set -u
shopt -s nullglob
objects=("$SUTRA_BUILD"/CMakeFiles/sutra_cuda.dir/cuda/*.cu.o)
[ "${#objects[@]}" -gt 0 ] || { echo "skipped: this build has no CUDA engine (no nvcc, or SUTRA_CUDA=OFF)"; exit 77; }

nvcc=$(sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' "$SUTRA_BUILD/CMakeCache.txt")
beside=$(dirname "$(readlink -f "${nvcc:-$(command -v nvcc)}")")/cuobjdump
fetched=$SUTRA_BUILD/cuobjdump
find_tool() {
    command -v cuobjdump || find "$beside" "$fetched" -name cuobjdump -type f -perm -u+x 2>/dev/null | grep -m 1 .
}
tool=$(find_tool) || {
    why=$(python3 -m pip install --quiet --no-deps --target "$fetched" nvidia-cuda-cuobjdump 2>&1)
    tool=$(find_tool) || { echo "skipped: no cuobjdump: ${why:-the package has none}" | tr '\n' ' '; exit 77; }
}

# A line for each kernel and GPU: GPU, stack, local memory, registers, name.
kernels=$(for object in "${objects[@]}"; do
    "$tool" --dump-resource-usage "$object" 2>&1
done | awk '
    /^arch = / { gpu = $3 }
    / Function / { name = $2; sub(/:$/, "", name) }
    /REG:/ {
        for (i = 1; i <= NF; i++) { split($i, part, ":"); value[part[1]] = part[2] }
        print gpu, value["STACK"], value["LOCAL"], value["REG"], name
    }')
status=0
n=$(grep -c . <<<"$kernels")
spilling=$(awk '$3 != 0 || $2 > (index($5, "cub") ? 8 : 0)' <<<"$kernels")
[ -z "$spilling" ] || { echo "GPU, stack, local memory, registers, name of kernels that use memory of their own:"; echo "$spilling"; status=1; }

# The kernels that the time goes into must be among them, for each GPU.
gpus=$(awk '{ print $1 }' <<<"$kernels" | sort -u)
for gpu in $gpus; do
    for name in add_to_parent settle fill_run find_kinds fill_node answer_query inspect_ops set_head set_before find_covering \
        find_last find_neighbours set_partner Onesweep DeviceScanKernel DeviceScanByKeyKernel; do
        registers=$(awk -v gpu="$gpu" -v name="$name" '$1 == gpu && index($5, name) && $4 > most { most = $4 } END { print most }' <<<"$kernels")
        [ "$registers" ] || { echo "$gpu: there is no kernel $name"; status=1; }
        printf '%s %s: %s registers\n' "$gpu" "$name" "$registers"
    done
done
echo "$n kernels"
[ "$n" -ge 40 ] || { echo "these are too few"; status=1; }
exit $status
