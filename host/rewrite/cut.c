/*
 * cut.c - copies selected events of a device trace, and the nodes of the host trace that belong to them.
 *
 * Cost: O(events + nodes), and the bytes that are copied.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/options.h"
#include "columns/hash_tables.h"
#include "columns/numbers.h"
#include "context/context.h"
#include "facts/selection.h"
#include "read/host_trace.h"
#include "read/source.h"
#include "text/strings.h"
#include "write/json_copy.h"
#include "write/sink.h"

/*
 * The text of a trace with only the selected elements of its array, byte for byte.
 *
 *     {"a": 1, "traceEvents": [ {0},\n  {1},\n  {2},\n  {3} ], "b": 2}          kept: 1, 3
 *     |-------- head --------|         |--|           |-----|- tail -|
 *                                            {1},\n  {3}
 *
 * An element is copied with the comma and the white space before it; the first one is copied without. All threads copy
 * pieces. Cost: O(elements), and the bytes that are copied.
 */
struct kept_text {
    const struct source *source;
    const uint64_t *text; /* by element: offset of its first byte */
    size_t end;           /* end of the last element */
    row_t n;
    const uint8_t *kept; /* by element */
};

/* Piece 0 is the text before the first element, the last piece the text after the last element. Piece i between them
 * contains the selected elements of first[i - 1] to first[i]. */
struct kept_pieces {
    const struct kept_text *kept;
    row_t *first;
    uint64_t n, capacity;
    row_t first_kept;
};

static size_t end_of(const struct kept_text *kept, row_t element) {
    return element + 1 == kept->n ? kept->end : element_end(kept->source->bytes, kept->text[element + 1]);
}

static bool cut_pieces(struct kept_pieces *pieces, struct arena *arena) {
    const struct kept_text *kept = pieces->kept;
    size_t bytes = PIECE_BYTES;
    pieces->first_kept = ROW_NONE;
    for (row_t element = 0; element < kept->n; element++) {
        if (!kept->kept[element])
            continue;
        if (pieces->first_kept == ROW_NONE)
            pieces->first_kept = element;
        if (bytes >= PIECE_BYTES) {
            if (!arena_grow(arena, &pieces->first, pieces->n, &pieces->capacity, sizeof *pieces->first))
                return false;
            pieces->first[pieces->n++] = element;
            bytes = 0;
        }
        bytes += (element + 1 < kept->n ? kept->text[element + 1] : kept->end) - kept->text[element];
    }
    return true;
}

static void copy_piece(const struct kept_pieces *pieces, row_t first, row_t end, struct buffer *out) {
    const struct kept_text *kept = pieces->kept;
    for (row_t element = first; element < end; element++) {
        if (!kept->kept[element])
            continue;
        /* a run of selected elements, with the text before it */
        size_t from = element == pieces->first_kept ? kept->text[element] : end_of(kept, element - 1);
        while (element < end && kept->kept[element])
            element++;
        buffer_append(out, kept->source->bytes + from, end_of(kept, element - 1) - from);
    }
    source_return_pages(kept->source, kept->text[first], end_of(kept, end - 1));
}

static void fill_piece(const void *arg, size_t number, struct buffer *out) {
    const struct kept_pieces *pieces = arg;
    const struct kept_text *kept = pieces->kept;
    const struct source *source = kept->source;
    if (kept->n == 0)
        buffer_append(out, source->bytes, number == 0 ? source->size : 0);
    else if (number == 0)
        buffer_append(out, source->bytes, kept->text[0]);
    else if (number > pieces->n)
        buffer_append(out, source->bytes + kept->end, source->size - kept->end);
    else
        copy_piece(pieces, pieces->first[number - 1], number < pieces->n ? pieces->first[number] : kept->n, out);
}

/* Writes the text to `path`; *n_bytes is the size before compression. SUTRA_SYSTEM: out of memory. */
static enum sutra_status kept_text_write(struct sutra_context *context, const struct kept_text *kept, const char *path,
                                         uint64_t *n_bytes, struct sutra_error *error) {
    struct arena arena = {0};
    struct kept_pieces pieces = {.kept = kept};
    enum sutra_status status = SUTRA_OK;
    stage_begin(context, "write", kept->n);
    if (!cut_pieces(&pieces, &arena))
        status = error_memory(error);
    if (!status)
        status = pieces_write(context, path, pieces.n + 2, fill_piece, &pieces, n_bytes, error);
    stage_end(context);
    arena_free(&arena);
    return status;
}

/* The id of the root node of a host trace. */
#define ROOT_ID 1

struct sutra_cut {
    const struct sutra_device_trace *device;
    const struct sutra_host_trace *host; /* or NULL */
    struct arena arena;
    struct selection selection;
    uint8_t *nodes; /* by node: whether it is kept */
    row_t n_nodes;  /* number of nodes that are kept */
};

/* ---- Nodes ---- */

/* Nodes by id; nodes with the same id are kept or dropped together. */
struct node_choice {
    const struct host_nodes *nodes;
    struct pair_table ids;
    uint32_t *of_node; /* by node: the number of its id */
    value_key *parent; /* by number: the parent's id */
    uint8_t *kept;     /* by number */
};

static bool number_ids(struct node_choice *choice) {
    const struct host_nodes *nodes = choice->nodes;
    uint32_t n = 0;
    for (row_t node = 0; node < nodes->n; node++) {
        struct pair_entry *entry = pair_table_insert(&choice->ids, (uint64_t)nodes->id[node], 0);
        if (!entry)
            return false;
        if (entry->number == PAIR_NONE)
            entry->number = n++;
        choice->of_node[node] = entry->number;
        choice->parent[entry->number] = nodes->parent[node];
    }
    return true;
}

/* Keeps an id and its ancestors. Each id is visited once, also in cycles of parents. */
static void keep_with_parents(struct node_choice *choice, uint32_t number) {
    while (number != PAIR_NONE && !choice->kept[number]) {
        choice->kept[number] = 1;
        number = pair_table_find(&choice->ids, (uint64_t)choice->parent[number], 0);
    }
}

static bool is_rf_id(value_key rf) {
    return key_is_value(rf) && rf != 0;
}

/* Keeps the root, the nodes whose rf_id is the rf_id of a kept CPU operator, and their ancestors. False: out of
 * memory. */
static bool choose_nodes(struct sutra_cut *cut, struct node_choice *choice, struct pair_table *rf_ids) {
    const struct device_events *events = &cut->device->events;
    const struct host_nodes *nodes = choice->nodes;
    for (row_t event = 0; event < events->n; event++)
        if (cut->selection.kept[event] && selected_is_operation(&cut->selection, event) &&
            is_rf_id(events->rf[event]) && !pair_table_note(rf_ids, (uint64_t)events->rf[event], 0, event))
            return false;
    for (row_t node = 0; node < nodes->n; node++)
        if (nodes->id[node] == ROOT_ID ||
            (is_rf_id(nodes->rf[node]) && pair_table_find(rf_ids, (uint64_t)nodes->rf[node], 0) != PAIR_NONE))
            keep_with_parents(choice, choice->of_node[node]);
    for (row_t node = 0; node < nodes->n; node++) {
        cut->nodes[node] = choice->kept[choice->of_node[node]];
        cut->n_nodes += cut->nodes[node];
    }
    return true;
}

static enum sutra_status cut_nodes(struct sutra_cut *cut, struct sutra_error *error) {
    row_t n = cut->host->nodes.n;
    struct pair_table rf_ids = {0};
    cut->nodes = arena_alloc(&cut->arena, n, 1);
    struct arena_mark mark = arena_mark(&cut->arena);
    struct node_choice choice = {.nodes = &cut->host->nodes,
                                 .of_node = arena_alloc(&cut->arena, n, sizeof *choice.of_node),
                                 .parent = arena_alloc(&cut->arena, n, sizeof *choice.parent),
                                 .kept = arena_zeros(&cut->arena, n, 1)};
    bool ok = !cut->arena.failed && pair_table_init(&rf_ids) && pair_table_init(&choice.ids) && number_ids(&choice) &&
              choose_nodes(cut, &choice, &rf_ids);
    pair_table_free(&choice.ids);
    pair_table_free(&rf_ids);
    arena_release(&cut->arena, mark);
    return ok ? SUTRA_OK : error_memory(error);
}

static enum sutra_status fill_cut(struct sutra_context *context, struct sutra_cut *cut,
                                  const struct sutra_selection *wish, struct sutra_error *error) {
    if (cut->host && (wish->only != SUTRA_ONLY_ALL || wish->min_us > 0))
        return error_set(
            error, SUTRA_USAGE,
            "linking needs all events of the time range: only Python functions can be omitted from a pair");
    stage_begin(context, "cut", cut->device->events.n);
    enum sutra_status status = selection_make(context, cut->device, wish, NULL, &cut->arena, &cut->selection, error);
    if (!status && cut->host)
        status = cut_nodes(cut, error);
    stage_end(context);
    return status;
}

enum sutra_status sutra_cut_run(struct sutra_context *context, const struct sutra_device_trace *device,
                                const struct sutra_host_trace *host, const struct sutra_selection *selection,
                                struct sutra_cut **cut, struct sutra_error *error) {
    struct sutra_selection wish;
    TRY(selection_copy_options(selection, &wish, error));
    struct sutra_cut *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    made->device = device;
    made->host = host;
    enum sutra_status status = fill_cut(context, made, &wish, error);
    if (status)
        sutra_cut_free(made);
    else
        *cut = made;
    return status;
}

void sutra_cut_free(struct sutra_cut *cut) {
    if (!cut)
        return;
    arena_free(&cut->arena);
    free(cut);
}

/* ---- Output ---- */

enum sutra_status sutra_cut_write(struct sutra_context *context, const struct sutra_cut *cut, const char *path,
                                  uint64_t *n_bytes, struct sutra_error *error) {
    const struct device_events *events = &cut->device->events;
    const struct kept_text kept = {.source = &cut->device->document.source,
                                   .text = events->text,
                                   .end = events->n ? trace_event_end(cut->device, events->n - 1) : 0,
                                   .n = events->n,
                                   .kept = cut->selection.kept};
    return kept_text_write(context, &kept, path, n_bytes, error);
}

enum sutra_status sutra_cut_write_host(struct sutra_context *context, const struct sutra_cut *cut, const char *path,
                                       uint64_t *n_bytes, struct sutra_error *error) {
    if (!cut->host)
        return error_set(error, SUTRA_USAGE, "no host trace to write: pass the host trace to the cut");
    const struct host_nodes *nodes = &cut->host->nodes;
    const struct kept_text kept = {.source = &cut->host->document.source,
                                   .text = nodes->text,
                                   .end = nodes->n ? nodes->end[nodes->n - 1] : 0,
                                   .n = nodes->n,
                                   .kept = cut->nodes};
    return kept_text_write(context, &kept, path, n_bytes, error);
}

static uint64_t sum_of(const row_t *n) {
    uint64_t sum = 0;
    for (int kind = 0; kind < SELECTED_N_KINDS; kind++)
        sum += n[kind];
    return sum;
}

void sutra_cut_report(const struct sutra_cut *cut, struct sutra_cut_report *report) {
    const struct selection *selection = &cut->selection;
    const struct sutra_cut_report made = {.n_events = sum_of(selection->n),
                                          .n_events_kept = sum_of(selection->n_kept),
                                          .n_operators = selection->n[SELECTED_OPERATOR],
                                          .n_operators_kept = selection->n_kept[SELECTED_OPERATOR],
                                          .n_work = selection->n[SELECTED_WORK],
                                          .n_work_kept = selection->n_kept[SELECTED_WORK],
                                          .n_arrow_ends = selection->n[SELECTED_ARROW],
                                          .n_arrow_ends_kept = selection->n_kept[SELECTED_ARROW],
                                          .n_broken_ends = selection->n_broken_arrows,
                                          .n_nodes = cut->host ? cut->host->nodes.n : 0,
                                          .n_nodes_kept = cut->n_nodes};
    report_give(report, &made, sizeof made);
}
