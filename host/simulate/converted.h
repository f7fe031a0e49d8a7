/*
 * converted.h - inside of struct sutra_converted: protobuf nodes as columns, and where their texts lie.
 */
#ifndef SIMULATE_CONVERTED_H
#define SIMULATE_CONVERTED_H

#include "simulate/comm_groups.h"
#include "simulate/et_nodes.h"
#include "simulate/plus_nodes.h"
#include "sutra/convert.h"

struct sutra_converted {
    struct document document; /* ET+, unless it was only linked */
    struct plus_trace plus;   /* whose columns are freed when the nodes are made; its texts stay */
    struct et_nodes nodes;
    struct comm_groups groups; /* which compat leaves alone */
    struct sutra_convert_report report;
};

/* Makes the nodes of converted->plus. */
enum sutra_status converted_make(struct sutra_converted *converted, struct sutra_context *context,
                                 const struct sutra_convert_options *options, struct sutra_error *error);

/* The caller's options as we know them. */
enum sutra_status convert_options_take(const struct sutra_convert_options *options, struct sutra_convert_options *taken,
                                       struct sutra_error *error);

#endif
