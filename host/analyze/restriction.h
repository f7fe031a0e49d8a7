/*
 * restriction.h - the analyzed part of a job (struct sutra_restriction): its ranks, and the events of each trace.
 */
#ifndef ANALYZE_RESTRICTION_H
#define ANALYZE_RESTRICTION_H

#include "analyze/launches/launches.h"
#include "base/memory.h"
#include "facts/selection.h"

/* Copies the caller's options; NULL: no restriction. */
enum sutra_status restriction_copy(const struct sutra_restriction *given, struct sutra_restriction *taken,
                                   struct sutra_error *error);

bool restriction_has_rank(const struct sutra_restriction *restriction, int64_t rank);

/* Whether it skips events of a trace. */
static inline bool restriction_is_part(const struct sutra_restriction *restriction) {
    return restriction->step || restriction->from_us > 0 || restriction->to_us > 0 || restriction->name ||
           restriction->stream || restriction->category;
}

/* The options of a partial result (encode_options of codec.h). */
void restriction_encode(const void *options, struct buffer *out);

/* Selects events of a trace; `model` is the launch model of it, by our rules, or NULL without a name and a category.
 * Errors as of sutra_device_trace_restrict(); warns if no GPU activity is selected. */
enum sutra_status restriction_select(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const struct sutra_restriction *restriction, const struct launch_model *model,
                                     struct arena *arena, struct selection *selection, struct sutra_error *error);

/* Removes the events after the complete part of a truncated trace, for our analyses; others are unchanged. SUTRA_DATA:
 * no step is complete. */
enum sutra_status restrict_to_complete_part(struct sutra_context *context, struct sutra_device_trace *trace,
                                            struct sutra_error *error);

#endif
