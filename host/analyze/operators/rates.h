/*
 * rates.h - input of the tables of rates: the operator that represents each launcher, and the rows of equal operators.
 */
#ifndef ANALYZE_OPERATORS_RATES_H
#define ANALYZE_OPERATORS_RATES_H

#include "analyze/launches/arguments.h"
#include "analyze/operators/operators.h"
#include "facts/gpu_peaks.h"

/* A row of the table. */
struct rate_row {
    uint32_t group; /* of costs; or, if the FLOPs are unknown, */
    uint32_t name;  /* the launcher's name, */
    const char *missing;
    row_t calls, attributions; /* operators, and launchers below them */
    uint64_t kernels;
    wide_t device, direct; /* ticks */
    bool tf32;
    row_t first_launcher;
};

struct rates_run {
    const struct op_input *input;
    const struct launch_model *model;
    row_t n_hosts, *hosts; /* rows of hosts: operators with a formula at or above any launcher */
    struct op_costs costs;
    row_t *index;          /* by path: its index in that list, and among the costs, or ROW_NONE */
    row_t *representative; /* by path: the path of the operator with known FLOPs that represents it, or ROW_NONE */
    uint32_t *row_of;      /* by launcher */
    struct tuples keys;    /* (group, 0) or (name, 1) */
    struct rate_row *rows;
    uint8_t *is_tf32; /* by name of activity: 1 no, 2 yes */
    struct device_peaks peaks;
    bool has_peaks;
    char *peaks_name;
};

/* Requests all columns of the trace except the arguments of the operators in the list. `run` needs rates_end() in any
 * case. SUTRA_NO_INPUT, SUTRA_DATA: the file of peaks. */
enum sutra_status rates_begin(const struct op_input *input, struct arena *arena, struct rates_run *run,
                              struct sutra_error *error);
void rates_end(struct rates_run *run);

#endif
