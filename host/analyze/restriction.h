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

/* Removes the GPU activity outside of the restriction, and attributes the rest again. Events of the host remain;
 * model->from and to delimit the restriction. Errors as of sutra_device_trace_restrict(). */
enum sutra_status restrict_launch_model(struct sutra_context *context, const struct sutra_restriction *restriction,
                                        struct launch_model *model, struct arena *arena, struct arena *scratch,
                                        struct sutra_error *error);

/* Removes the events after the complete part of a truncated trace, for our analyses; others are unchanged. SUTRA_DATA:
 * no step is complete. */
enum sutra_status restrict_to_complete_part(struct sutra_context *context, struct sutra_device_trace *trace,
                                            struct sutra_error *error);

#endif
