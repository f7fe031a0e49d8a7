# The program gives the same files with the steps of the CUDA engine, which run on a stand-in for a device here, as on the CPU.
[ -x "${SUTRA_ON_HOST_GPU:-}" ] || { echo "needs a C++ compiler"; exit 77; }
exec bash tests/same_on_device.sh "$SUTRA_ON_HOST_GPU"
