/*
 * calibration.h - the file of `sutra devices --calibrate`: from which number of operators a GPU of this machine matches
 * faster than its CPU; and the choice of the engine by this file.
 *
 *     $XDG_CONFIG_HOME/sutra/calibration.json (default: ~/.config)
 *
 *     {"version": "0.1.0", "date": "2026-11-30T12:00:00Z", "cpu": "AMD EPYC 9654", "threads": 16, "driver": "NVRM ...",
 *      "gpus": [{"number": 0, "name": "NVIDIA H200", "cuda": 13000, "open_ms": 150.1, "min_operators": 500000,
 *                "min_operators_open": 10000}], "rows": [...]}
 *
 * A file of another version, CPU, driver or number of threads is ignored with the reason, and so is any malformed file.
 * Readers ignore other keys. Texts are printable ASCII without escapes, so that messages may contain them.
 */
#ifndef FACTS_CALIBRATION_H
#define FACTS_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

#include "context/context.h"
#include "sutra/trace.h"

#define CALIBRATION_BYTES_MAX 65536
#define CALIBRATION_GPUS_MAX  64

struct calibrated_gpu {
    uint32_t number, cuda; /* `cuda`: CUDA version of the driver, such as 13000 */
    char name[128];
    double open_ms;
    uint64_t min_ops, min_open_ops; /* as in struct gpu_calibration */
};

struct calibration {
    char version[32], date[32];
    char cpu[128], driver[200]; /* of this machine; driver "": unknown */
    uint32_t n_threads, n_gpus;
    struct calibrated_gpu gpus[CALIBRATION_GPUS_MAX];
};

/* Sets *path, of `size` bytes, to the path of the file. False: no directory is known, or the path is too long. */
bool calibration_path(char *path, size_t size);

/* Describes this program and machine: version, CPU, driver and number of threads, without GPUs and date. */
void calibration_describe_machine(unsigned n_threads, struct calibration *calibration);

/* Copies a text of the system, with bytes replaced that a calibration cannot contain; cuts it at `size`. */
void calibration_copy_text(char *to, size_t size, const char *text);

/* Parses a file of `size` bytes, followed by SOURCE_PADDING zeros. Errors: SUTRA_DATA. */
enum sutra_status calibration_parse(const char *bytes, size_t size, struct calibration *calibration,
                                    struct sutra_error *error);

/* Reads the file, without opening the driver, and sets all of *gpu for one GPU. False: the file is ignored;
 * gpu->why_cpu is the reason with the remedy. */
bool calibration_read(unsigned n_threads, uint32_t number, struct calibration *calibration,
                      struct gpu_calibration *gpu);

/* Chooses the engine of a link (context_choose_engine()) by the number of CPU operators, events of category cpu_op. The
 * measured tables have as many GPU operators. AUTO reads the file once for a context, if the trace is large enough. */
void choose_engine_for_matching(struct sutra_context *context, const struct sutra_device_trace *trace);

#endif
