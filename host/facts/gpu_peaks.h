/*
 * gpu_peaks.h - the peak rates of a device: operations by unit and precision, and bytes of memory per second.
 *
 *     "NVIDIA H100 80GB HBM3"  -->  989 TFLOP/s of bf16 products, 3.35 TB/s
 *
 *     TFLOP/s ^          .---------------  compute-bound
 *             |        .'
 *             |      .'  memory-bound: FLOPs per byte times the memory bandwidth
 *             +-----------------------> FLOPs per byte
 *
 * The roofline: the minimum time of an operator is the longer of the time for its operations and the time for its bytes
 * at the peak rates.
 */
#ifndef FACTS_GPU_PEAKS_H
#define FACTS_GPU_PEAKS_H

#include <stdbool.h>
#include <stddef.h>

#include "context/context.h"
#include "facts/flops.h"
#include "read/device_trace.h"
#include "read/document.h"

/*
 * Occupancy: how well a kernel's grid fills a GPU.
 *
 *     deviceProperties of the trace --> struct device_limits      grid, block, registers, shared memory --> occupancy
 *
 * Threads, registers, shared memory and the maximum number of blocks limit the blocks that are resident on a
 * multiprocessor. NVIDIA's occupancy calculator defines the allocation granularity by compute capability.
 */

/* Of one device; 0: unknown. */
struct device_limits {
    int64_t id;
    int64_t major, minor; /* compute capability */
    int64_t n_multiprocessors, warp_size;
    int64_t threads, registers, shared_memory; /* of a multiprocessor */
};

#define MAX_DEVICES 64

/* Reads the devices of a trace; returns their number, at most MAX_DEVICES. O(length of their text). */
size_t device_limits_read(const struct sutra_device_trace *trace, struct device_limits *limits);

struct kernel_shape {
    double blocks, threads;          /* of the grid, and of a block */
    double registers, shared_memory; /* of a thread, and bytes of a block */
};

/* NaN: unknown. */
struct kernel_occupancy {
    double limit;    /* share of a multiprocessor's threads that can be resident */
    double occupied; /* the same, limited by the grid, as Kineto estimates */
    double waves;    /* number of times that the grid fills all multiprocessors */
};

struct kernel_occupancy occupancy_of(const struct device_limits *limits, const struct kernel_shape *shape);

struct device_peaks {
    const char *name; /* of the device or the file */
    double bytes_per_s;
    double flops_per_s[2][N_PRECISIONS]; /* by enum flops_unit; 0: unknown; never NaN */
};

/* The figures of data sheets for a device of this name, as traces record it; false: none. */
bool device_peaks_find(const char *name, size_t length, struct device_peaks *peaks);

/* The position of a member of the first device of a trace; `at` is 0 if it is missing. */
struct json_span device_member(const struct document *document, const char *name);

/* Figures of data sheets for the first device of a trace. */
bool device_peaks_of(const struct document *document, struct device_peaks *peaks);

/* Bytes per second that a device sends to other devices of its machine while it receives as many, by data sheets; 0:
 * unknown, as for devices on a PCIe bus. */
double device_link_of(const struct document *document);

/* Figures from a file, in the form of TraceLens' "arch" files:
 *     {"mem_bw_gbps": 3350, "max_achievable_tflops": {"matrix_bf16": 700, "vector_fp32": 60, ...}}
 * Other members are skipped; *name is "name" or the path, and the caller frees it. SUTRA_NO_INPUT. SUTRA_DATA:
 * malformed, no memory bandwidth, or an unknown unit or precision. SUTRA_SYSTEM. */
enum sutra_status device_peaks_read(struct sutra_context *context, const char *path, struct device_peaks *peaks,
                                    char **name, struct sutra_error *error);

/* The minimum time of an operator in seconds. */
struct roofline {
    double compute_s, memory_s; /* NaN: unknown */
    double min_s;               /* the longer one; NaN: both unknown */
    bool by_compute;            /* compute-bound */
};

/* With tf32, products of fp32 have the peak of TF32. */
struct roofline roofline_of(const struct device_peaks *peaks, const struct op_flops *work, bool tf32);

#endif
