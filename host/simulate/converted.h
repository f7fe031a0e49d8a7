/*
 * converted.h - inside of struct sutra_converted: protobuf nodes as columns, and where their texts lie.
 */
#ifndef SIMULATE_CONVERTED_H
#define SIMULATE_CONVERTED_H

#include "simulate/comm_groups.h"
#include "simulate/et_nodes.h"
#include "simulate/plus_nodes.h"
#include "simulate/timeline.h"
#include "sutra/convert.h"

struct sutra_converted {
    struct document document; /* ET+, unless it was only linked */
    struct plus_trace plus;   /* whose columns are freed when the nodes are made; its texts stay */
    struct et_nodes nodes;
    struct comm_groups groups; /* which compat leaves alone */
    struct sutra_convert_report report;
    struct timeline_input times; /* of ET+, if they are kept: in the arena */
    struct arena times_arena;
    bool has_times;
};

#endif
