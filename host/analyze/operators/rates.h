/*
 * rates.h - what the tables of rates share: which operator stands for which charge, and the rows of equal ones.
 */
#ifndef ANALYZE_OPERATORS_RATES_H
#define ANALYZE_OPERATORS_RATES_H

#include "analyze/launches/arguments.h"
#include "analyze/operators/operators.h"
#include "facts/gpu_peaks.h"

/* What a row is of. */
struct rate_row {
    uint32_t group; /* of works; or, where nothing is known, */
    uint32_t name;  /* the launcher's name, */
    const char *missing;
    row_t calls, charges; /* operators, and launchers below them */
    uint64_t kernels;
    wide_t device, direct; /* ticks */
    bool tf32;
    row_t first_charge;
};

struct rates_work {
    const struct op_input *input;
    const struct op_reading *reading;
    row_t n_hosts, *hosts; /* rows of hosts: operators with a formula at or above any launcher */
    struct op_works works;
    row_t *place;       /* by way: its place in that list, and among the works, or ROW_NONE */
    row_t *stands;      /* by way: that of the operator with known work that stands for it, or ROW_NONE */
    uint32_t *row_of;   /* by charge */
    struct tuples keys; /* (group, 0) or (name, 1) */
    struct rate_row *rows;
    uint8_t *is_tf32; /* by name of work: 1 no, 2 yes */
    struct device_peaks peaks;
    bool has_peaks;
    char *peaks_name;
};

/* rates.c: all that is asked of the trace, but for the arguments of the operators in the list. `work` needs rates_end()
 * in any case. Errors are those of rate_peaks_find(). */
enum sutra_status rates_begin(const struct op_input *input, struct arena *arena, struct rates_work *work,
                              struct sutra_error *error);
void rates_end(struct rates_work *work);

#endif
