# The program gives the same files on the GPU as on the CPU, byte for byte; also where it may take so little of the GPU's
# memory that all but small tables go in pieces.
. tests/on_gpu.sh
bash tests/same_on_device.sh "$SUTRA" && bash tests/same_on_device.sh "$SUTRA" --device-memory 2M
