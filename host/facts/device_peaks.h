/*
 * device_peaks.h - what a device can do at most: operations by unit and precision, and bytes of memory a second.
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
#ifndef FACTS_DEVICE_PEAKS_H
#define FACTS_DEVICE_PEAKS_H

#include <stdbool.h>
#include <stddef.h>

#include "context/context.h"
#include "facts/flops.h"
#include "read/document.h"

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
