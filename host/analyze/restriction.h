/*
 * restriction.h - a part of the traces of a job (struct sutra_restriction): which ranks, and which events of a trace.
 */
#ifndef ANALYZE_RESTRICTION_H
#define ANALYZE_RESTRICTION_H

#include "analyze/launches/launches.h"
#include "base/memory.h"
#include "facts/selection.h"

/* Takes over what a caller set; NULL: no restriction. */
enum sutra_status restriction_take(const struct sutra_restriction *given, struct sutra_restriction *taken,
                                   struct sutra_error *error);

bool restriction_has_rank(const struct sutra_restriction *restriction, int64_t rank);

/* Whether it leaves events of a trace out. */
static inline bool restriction_is_part(const struct sutra_restriction *restriction) {
    return restriction->step || restriction->from_us > 0 || restriction->to_us > 0 || restriction->name ||
           restriction->stream || restriction->category;
}

/* The options of a partial result (encode_options of codec.h). */
void restriction_encode(const void *restriction, struct buffer *out);

/* Which events of a trace stay; `reading` is of this trace, by our rules, or NULL where neither a name nor a category
 * is asked for. Errors as of sutra_device_trace_restrict(); what leaves no work of the device is warned of. */
enum sutra_status restriction_choose(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const struct sutra_restriction *restriction, const struct op_reading *reading,
                                     struct arena *arena, struct selection *selection, struct sutra_error *error);

#endif
