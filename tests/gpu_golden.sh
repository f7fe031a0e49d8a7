# gpu_golden.sh - tests that sutra writes the same files on the GPU as on the CPU, byte for byte; also with a memory
# limit that splits all but small tables.
. tests/on_gpu.sh
bash tests/same_on_device.sh "$SUTRA" && bash tests/same_on_device.sh "$SUTRA" --device-memory 3M
