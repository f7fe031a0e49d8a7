/*
 * gpu_peaks.h - what a device can do at most: operations by unit and precision, and bytes of memory a second.
 *
 *     "NVIDIA H100 80GB HBM3"  -->  989 TFLOP/s of bf16 products, 3.35 TB/s
 *
 *     TFLOP/s ^          .---------------  computing is the limit
 *             |        .'
 *             |      .'  memory is: FLOPs per byte times its rate
 *             +-----------------------> FLOPs per byte
 *
 * The roofline: an operator takes at least as long as computing takes at the peak, and at least as long as its bytes
 * take; the longer of the two is what it is bound by.
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
 * How well a kernel's grid fills a GPU, from what the trace says of both.
 *
 *     deviceProperties of the trace --> struct device_limits      grid, block, registers, shared memory --> occupancy
 *
 * A multiprocessor holds so many blocks at once as its threads, registers, shared memory and places for blocks allow.
 * The sizes in which these are given out are those of NVIDIA's published occupancy calculator, by compute capability.
 */

/* Of one device; 0: not known. */
struct device_limits {
    int64_t id;
    int64_t major, minor; /* compute capability */
    int64_t n_multiprocessors, warp_size;
    int64_t threads, registers, shared_memory; /* of a multiprocessor */
};

#define DEVICES_MOST 64

/* Reads the devices of a trace; returns how many there are, at most DEVICES_MOST. O(length of their text). */
size_t device_limits_read(const struct sutra_device_trace *trace, struct device_limits *limits);

struct kernel_shape {
    double blocks, threads;          /* of the grid, and of a block */
    double registers, shared_memory; /* of a thread, and bytes of a block */
};

/* NaN where it cannot be told. */
struct kernel_occupancy {
    double limit;    /* share of a multiprocessor's threads that can be there at once */
    double occupied; /* the same, but no more than the grid has; what Kineto estimates */
    double waves;    /* times that all multiprocessors are filled */
};

struct kernel_occupancy occupancy_of(const struct device_limits *limits, const struct kernel_shape *shape);

struct device_peaks {
    const char *name; /* of what the figures are of */
    double bytes_per_s;
    double flops_per_s[2][N_PRECISIONS]; /* by enum flops_unit; 0: none that is told, NaN nowhere */
};

/* The figures of data sheets for a device of this name, as a trace tells it; false: the table has none. */
bool device_peaks_find(const char *name, size_t length, struct device_peaks *peaks);

/* Where a member of the first device that a trace describes stands; `at` is 0 where there is none. */
struct json_place device_member(const struct document *document, const char *name);

/* The same, of the device that a trace describes. */
bool device_peaks_of(const struct document *document, struct device_peaks *peaks);

/* Bytes a second that a device sends to the others of its machine, as data sheets have it, and takes at the same time;
 * 0: not known, as where the bus decides. */
double device_link_of(const struct document *document);

/* Figures from a file, in the form of TraceLens' "arch" files:
 *     {"mem_bw_gbps": 3350, "max_achievable_tflops": {"matrix_bf16": 700, "vector_fp32": 60, ...}}
 * Other members are passed over; "name" (kept in *name, which is freed by the caller) is told. SUTRA_NO_INPUT.
 * SUTRA_DATA: malformed, no rate of memory, or a unit or precision that does not exist. SUTRA_SYSTEM. */
enum sutra_status device_peaks_read(struct sutra_context *context, const char *path, struct device_peaks *peaks,
                                    char **name, struct sutra_error *error);

/* The least time of an operator in seconds. */
struct roofline {
    double compute_s, memory_s; /* NaN: not known */
    double least_s;             /* the longer one; NaN: neither is known */
    bool by_compute;            /* that is computing */
};

/* With TF32, products of fp32 have that peak. */
struct roofline roofline_of(const struct device_peaks *peaks, const struct op_flops *work, bool tf32);

#endif
