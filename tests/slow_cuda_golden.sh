# slow_cuda_golden.sh - tests that sutra writes the same files with the steps of the CUDA engine (run on the CPU by
# host_gpu.cpp) as with the CPU engine.
[ -x "${SUTRA_ON_HOST_GPU:-}" ] || { echo "needs a C++ compiler"; exit 77; }
exec bash tests/same_on_device.sh "$SUTRA_ON_HOST_GPU"
