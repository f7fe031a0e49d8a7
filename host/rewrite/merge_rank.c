/*
 * merge_rank.c - a rank's events, as pieces of the timeline.
 *
 * Until it is its turn a rank's pieces are held, compressed if the output is; from then on they go straight to the
 * sink. Where one ends and the next begins depends on the events alone.
 */
#include <stdlib.h>

#include "base/error.h"
#include "columns/column.h"
#include "facts/selection.h"
#include "rewrite/merge.h"
#include "rewrite/merge_event.h"
#include "rewrite/merge_lanes.h"
#include "text/decimal_ns.h"
#include "write/pieces.h"
#include "write/trace_copy.h"

struct held_piece {
    struct buffer packed;
    size_t n_text;
};

struct merge_writing {
    struct sutra_merged *merged;
    struct rank_run *run;
    size_t number; /* of the trace in the list */
    struct merge_rank *rank;
    const struct sutra_device_trace *trace;
    struct merge_lanes lanes;
    struct merge_changes changes;
    struct buffer out;
    struct held_piece *held;
    uint64_t n_held, held_capacity;
    bool failed; /* out of memory */
};

static void write_held(struct merge_writing *writing) {
    struct sutra_merged *merged = writing->merged;
    for (uint64_t i = 0; i < writing->n_held; i++) {
        sink_write_packed(merged->sink, merged->n_pieces++, &writing->held[i].packed, writing->held[i].n_text);
        buffer_free(&writing->held[i].packed);
    }
    writing->n_held = 0;
}

/* Ends a piece: it is written, or held. */
static void end_piece(struct merge_writing *writing) {
    struct sutra_merged *merged = writing->merged;
    size_t n_text = writing->out.length;
    if (rank_run_is_next(writing->run, writing->number)) {
        write_held(writing);
        sink_write(merged->sink, merged->n_pieces++, writing->out.bytes, n_text);
        writing->out.length = 0;
        return;
    }
    writing->failed |= !sink_pack(merged->sink, &writing->out) ||
                       !column_grow(&writing->held, writing->n_held, &writing->held_capacity, sizeof *writing->held);
    if (writing->failed)
        return;
    writing->held[writing->n_held++] = (struct held_piece){writing->out, n_text};
    writing->out = (struct buffer){0};
}

static void write_events(struct merge_writing *writing, const uint8_t *kept) {
    struct merge_rank *rank = writing->rank;
    merge_lanes_write(&writing->lanes, writing->trace, writing->merged->tasks.list[writing->number].rank,
                      rank->position, &writing->out);
    for (row_t event = 0, passed = 0; event < writing->trace->events.n && !writing->failed; event++) {
        if (kept[event]) {
            buffer_append(&writing->out, ",\n", 2);
            merge_event_write(&writing->changes, event, merge_process_of(&writing->lanes, rank->position, event),
                              &writing->out);
            rank->n_kept++;
        }
        if (writing->out.length < PIECE_BYTES)
            continue;
        end_piece(writing);
        events_passed(writing->trace, passed, event);
        passed = event;
        if (sink_failed(writing->merged->sink))
            return;
    }
    end_piece(writing);
    writing->failed |= writing->out.failed;
}

/* Notes where arrows can end at the kernels of this rank, when its turn has come. */
static void note_points(struct merge_writing *writing, const uint8_t *kept) {
    struct sutra_merged *merged = writing->merged;
    const struct merge_rank *rank = writing->rank;
    struct buffer tid = {0};
    for (uint64_t i = rank->first_call; i < rank->first_call + rank->n_calls && !writing->failed; i++) {
        row_t event = merged->calls.list[i].event;
        struct event_places places;
        int64_t ns;
        merged->points[i].tid = STRING_NONE;
        if (!kept[event])
            continue;
        event_find(writing->trace, event, &writing->changes.learned, &places);
        const char *ts = writing->trace->document.source.bytes + places.field[FIELD_TS].at;
        size_t length = 0;
        number_scan(ts, &length);
        if (!places.field[FIELD_TS].at || !decimal_ns(ts, length, &ns))
            continue;
        tid.length = 0;
        merge_tid_write(writing->trace, places.field[FIELD_TID], &tid);
        merged->points[i] =
            (struct merge_point){ns + rank->shift_ns, merge_process_of(&writing->lanes, rank->position, event),
                                 strings_intern(&merged->calls.strings, tid.bytes ? tid.bytes : "", tid.length)};
        writing->failed |= tid.failed || merged->points[i].tid == STRING_NONE;
    }
    buffer_free(&tid);
}

/* Which events stay: all, or as the selection has it. */
static enum sutra_status choose_events(struct merge_writing *writing, struct sutra_context *context,
                                       struct arena *arena, uint8_t **kept, struct sutra_error *error) {
    struct selection selection;
    row_t n = writing->trace->events.n;
    if (writing->merged->selects) {
        enum sutra_status status =
            selection_make(context, writing->trace, &writing->merged->selection, NULL, arena, &selection, error);
        *kept = selection.kept;
        return status;
    }
    *kept = arena_take(arena, n, 1);
    if (!*kept)
        return error_memory(error);
    memset(*kept, 1, n);
    return SUTRA_OK;
}

static enum sutra_status write_rank(struct merge_writing *writing, struct sutra_context *context, struct arena *arena,
                                    struct sutra_error *error) {
    uint8_t *kept;
    if (writing->trace->events.n != writing->rank->n_events)
        return error_file(error, SUTRA_DATA, writing->trace->document.source.name, "changed during the merge");
    enum sutra_status status = choose_events(writing, context, arena, &kept, error);
    if (!status)
        status = merge_lanes_find(writing->trace, kept, arena, &writing->lanes, error);
    if (status)
        return status;
    writing->rank->n_processes = writing->lanes.n_processes;
    if (writing->lanes.n_processes > 0)
        write_events(writing, kept);
    rank_run_wait(writing->run, writing->number);
    write_held(writing);
    note_points(writing, kept);
    return writing->failed ? error_memory(error) : SUTRA_OK;
}

enum sutra_status merge_rank_work(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                  struct sutra_device_trace *trace, struct sutra_error *error) {
    struct sutra_merged *merged = arg;
    struct merge_rank *rank = merge_rank_at(merged, number);
    struct merge_writing writing = {.merged = merged,
                                    .run = run,
                                    .number = number,
                                    .rank = rank,
                                    .trace = trace,
                                    .changes = {.trace = trace,
                                                .shift_ns = rank->shift_ns,
                                                .ids = {rank->position, merge_id_bits(merged->report.n_ranks)}}};
    struct arena arena = {0};
    enum sutra_status status = write_rank(&writing, context, &arena, error);
    for (uint64_t i = 0; i < writing.n_held; i++)
        buffer_free(&writing.held[i].packed);
    free(writing.held);
    buffer_free(&writing.out);
    event_forms_free(&writing.changes.learned);
    arena_free(&arena);
    sutra_device_trace_free(trace);
    return status;
}
