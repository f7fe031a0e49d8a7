/*
 * graph_captures.c - reads the traces that recorded the capture of graphs (graphs.h): segments of dispatches, recorded
 * kernel names, graph node ids, the enclosing operators and modules of the calls, and captured batch sizes.
 *
 *     calls by time   |Begin|  launch a  memcpy  launch b  |End|   ...   |Begin| ...
 *                             \---------- segment ---------/
 *
 * A segment has the calls of any thread that are completely between the end of a StreamBeginCapture and the start of
 * the StreamEndCapture with the same index by time. A trace without captures has a segment for each profiler step, or
 * one segment.
 *
 * Cost: O(n log n). Segments that overlap share calls; their total is limited to SHARED_SEGMENTS times the calls.
 */
#include <string.h>

#include "analyze/launches/graphs.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "facts/profiler_steps.h"
#include "match/steps.h"
#include "read/event_columns.h"
#include "read/file_kind.h"

/* Segments that may have the same call, on average. */
#define SHARED_SEGMENTS 8

/* Roles of the names of calls. */
enum { CALL_DISPATCHES = 1, CALL_COPIES = 2, CALL_SETS = 4, CALL_BEGINS = 8, CALL_ENDS = 16 };

/* The number after a text in a name, if it begins the name or `anywhere`; -1: none. */
static int64_t number_after(const char *name, const char *text, bool anywhere) {
    const char *at = anywhere ? strstr(name, text) : strncmp(name, text, strlen(text)) == 0 ? name : NULL;
    int64_t number = 0;
    if (!at)
        return -1;
    at += strlen(text);
    if (*at < '0' || *at > '9')
        return -1;
    for (; *at >= '0' && *at <= '9' && number < INT32_MAX; at++)
        number = number * 10 + (*at - '0');
    return number;
}

int64_t graph_iteration_size(const char *name) {
    if (strncmp(name, "step[", 5) == 0)
        return number_after(name, " bs=", true);
    return strncmp(name, "execute_", 8) == 0 ? number_after(name, "_generation_", true) : -1;
}

int64_t graph_capture_size(const char *name) {
    return number_after(name, "capture_", false);
}

/* A capture trace while it is read. */
struct capture_build {
    struct sutra_context *context;
    struct graph_capture *capture;
    struct arena *arena, *scratch;
    uint8_t *roles;               /* by string */
    struct requested_column name; /* recorded kernels */
    row_t n_calls;
    row_t *calls;     /* dispatches: rows of hosts by start, then position in the file */
    int64_t *starts;  /* of them */
    uint32_t *symbol; /* of them */
    uint64_t n_total; /* dispatches of all segments */
    uint64_t capacity;
};

/* Sorts rows of hosts by start, then by position in the file. */
static enum sutra_status sort_calls(const struct host_rows *hosts, row_t *rows, row_t n, struct arena *scratch,
                                    struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    uint64_t *keys = arena_alloc(scratch, n, sizeof *keys);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < n; i++)
        keys[i] = hosts->event[rows[i]];
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n}, error));
    for (row_t i = 0; i < n; i++)
        keys[i] = integer_sort_key(hosts->start[rows[i]]);
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n}, error));
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* Lists the calls of a role, sorted. */
static enum sutra_status list_calls(const struct capture_build *build, uint8_t role, row_t **list, row_t *n,
                                    struct sutra_error *error) {
    const struct host_rows *hosts = &build->capture->model.hosts;
    *n = 0;
    for (row_t row = 0; row < hosts->n; row++)
        *n += hosts->kind[row] == HOST_CALL && build->roles[hosts->name[row]] & role;
    *list = arena_alloc(build->arena, *n, sizeof **list);
    TRY_ALLOC(*list, error);
    *n = 0;
    for (row_t row = 0; row < hosts->n; row++)
        if (hosts->kind[row] == HOST_CALL && build->roles[hosts->name[row]] & role)
            (*list)[(*n)++] = row;
    return sort_calls(hosts, *list, *n, build->scratch, error);
}

static enum sutra_status find_roles(struct capture_build *build, struct sutra_error *error) {
    static const struct {
        const char *text;
        enum comparison comparison;
        uint8_t role;
    } words[] = {{"launch", TEXT_HAS_IN_ANY_CASE, CALL_DISPATCHES},
                 {"memcpy", TEXT_HAS_IN_ANY_CASE, CALL_DISPATCHES | CALL_COPIES},
                 {"memset", TEXT_HAS_IN_ANY_CASE, CALL_DISPATCHES | CALL_SETS},
                 {"StreamBeginCapture", TEXT_HAS, CALL_BEGINS},
                 {"StreamEndCapture", TEXT_HAS, CALL_ENDS}};
    const struct strings *strings = build->capture->model.strings;
    build->roles = arena_zeros(build->scratch, strings->n, sizeof *build->roles);
    TRY(arena_status(build->scratch, error));
    for (uint32_t string = 0; string < strings->n; string++) {
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (text_compare(strings, string, words[i].comparison, words[i].text))
                build->roles[string] |= words[i].role;
        if (text_compare(strings, string, TEXT_HAS_IN_ANY_CASE, "graphlaunch"))
            build->roles[string] &= (uint8_t)~CALL_DISPATCHES;
    }
    return SUTRA_OK;
}

/* Reads recorded kernel names, and graph node ids, of all calls. */
static enum sutra_status read_fields(struct capture_build *build, struct sutra_error *error) {
    static const struct requested_field fields[] = {{"kernel", ASK_STRING, false}, {"graph node id", ASK_KEY, false}};
    struct graph_capture *capture = build->capture;
    const struct host_rows *hosts = &capture->model.hosts;
    struct requested_column columns[2];
    row_t *events = arena_alloc(build->scratch, hosts->n, sizeof *events), n = 0;
    TRY(arena_status(build->scratch, error));
    for (row_t row = 0; row < hosts->n; row++)
        if (hosts->kind[row] == HOST_CALL)
            events[n++] = hosts->event[row];
    TRY(event_columns_request(build->context, capture->trace, fields, 2, events, n, columns, error));
    build->name = columns[0];
    for (row_t row = 0; row < hosts->n; row++) {
        value_key node = hosts->kind[row] == HOST_CALL ? columns[1].key[hosts->event[row]] : KEY_ABSENT;
        if (!key_is_integer(node) || node == 0)
            continue;
        struct pair_entry *entry = pair_table_insert(&capture->nodes, (uint64_t)node, 0);
        TRY_ALLOC(entry, error);
        if (entry->number == PAIR_NONE || hosts->event[entry->number] < hosts->event[row]) /* the last in the file */
            entry->number = row;
    }
    return SUTRA_OK;
}

/* Reads the inputs of operators, which replays repeat. */
static enum sutra_status read_arguments(struct capture_build *build, struct sutra_error *error) {
    static const struct requested_field field = {"args", ASK_ARGUMENTS, true};
    struct graph_capture *capture = build->capture;
    const struct host_rows *hosts = &capture->model.hosts;
    struct requested_column column;
    struct arena_mark mark = arena_mark(build->scratch);
    row_t *events = arena_alloc(build->scratch, hosts->n, sizeof *events), n = 0;
    TRY(arena_status(build->scratch, error));
    for (row_t row = 0; row < hosts->n; row++)
        if (hosts->kind[row] != HOST_CALL)
            events[n++] = hosts->event[row];
    TRY(event_columns_request(build->context, capture->trace, &field, 1, events, n, &column, error));
    arena_release(build->scratch, mark);
    capture->arguments = column.string;
    return SUTRA_OK;
}

/* Lists the dispatches with their symbols. */
static enum sutra_status list_dispatches(struct capture_build *build, struct sutra_error *error) {
    struct graph_capture *capture = build->capture;
    const struct host_rows *hosts = &capture->model.hosts;
    const struct strings *recorded = event_columns_strings(capture->trace);
    TRY(list_calls(build, CALL_DISPATCHES, &build->calls, &build->n_calls, error));
    build->starts = arena_alloc(build->scratch, build->n_calls, sizeof *build->starts);
    build->symbol = arena_alloc(build->scratch, build->n_calls, sizeof *build->symbol);
    TRY(arena_status(build->scratch, error));
    for (row_t i = 0; i < build->n_calls; i++) {
        row_t row = build->calls[i];
        uint8_t roles = build->roles[hosts->name[row]];
        uint32_t name = build->name.string[hosts->event[row]];
        build->starts[i] = hosts->start[row];
        build->symbol[i] = roles & CALL_COPIES ? GRAPH_COPY : roles & CALL_SETS ? GRAPH_SET : GRAPH_UNNAMED;
        if (build->symbol[i] != GRAPH_UNNAMED || name == STRING_NONE)
            continue;
        uint32_t number = strings_intern(&capture->names, strings_text(recorded, name), strings_length(recorded, name));
        TRY_ALLOC(number != STRING_NONE, error);
        build->symbol[i] = GRAPH_N_SYMBOLS + number;
    }
    return SUTRA_OK;
}

/* Appends the segment of the dispatches in a time range, both ends included. */
static enum sutra_status add_segment(struct capture_build *build, int64_t from, int64_t to, struct sutra_error *error) {
    struct graph_capture *capture = build->capture;
    const struct host_rows *hosts = &capture->model.hosts;
    row_t begin = 0, end = 0, n = 0;
    BISECT(begin, build->n_calls, build->starts[begin] < from);
    BISECT(end, build->n_calls, build->starts[end] <= to);
    end = MAX(end, begin);
    build->n_total += end - begin;
    if (build->n_total > SHARED_SEGMENTS * (uint64_t)build->n_calls)
        return SUTRA_OK; /* captures on many threads at a time */
    TRY_ALLOC(
        arena_grow(build->arena, &capture->segments, capture->n_segments, &build->capacity, sizeof *capture->segments),
        error);
    row_t *call = arena_alloc(build->arena, end - begin, sizeof *call);
    uint32_t *symbol = arena_alloc(build->arena, end - begin, sizeof *symbol);
    TRY(arena_status(build->arena, error));
    for (row_t i = begin; i < end; i++) {
        if (hosts->stop[build->calls[i]] > to)
            continue;
        call[n] = build->calls[i];
        symbol[n++] = build->symbol[i];
    }
    capture->segments[capture->n_segments] = (struct graph_segment){.n = n, .call = call, .symbol = symbol};
    return graph_segment_index(&capture->segments[capture->n_segments++], build->arena, build->scratch, error);
}

/* Adds the captured segments; without any the profiler steps, or all calls. */
static enum sutra_status add_segments(struct capture_build *build, struct sutra_error *error) {
    const struct host_rows *hosts = &build->capture->model.hosts;
    const struct step_rows rows = host_step_rows(&build->capture->model, 1u << HOST_ANNOTATION);
    struct profiler_steps steps;
    row_t *begins, *ends, n_begins, n_ends;
    TRY(list_calls(build, CALL_BEGINS, &begins, &n_begins, error));
    TRY(list_calls(build, CALL_ENDS, &ends, &n_ends, error));
    for (row_t i = 0; i < n_begins && i < n_ends; i++)
        TRY(add_segment(build, hosts->stop[begins[i]], hosts->start[ends[i]], error));
    if (n_begins)
        return SUTRA_OK;
    TRY_ALLOC(profiler_steps_find(&rows, STEPS_OVERVIEW, build->scratch, &steps), error);
    for (row_t i = 0; i < steps.n; i++)
        TRY(add_segment(build, hosts->start[steps.row[i]], hosts->stop[steps.row[i]], error));
    return steps.n ? SUTRA_OK : add_segment(build, INT64_MIN, INT64_MAX, error);
}

/* Finds for all rows of hosts the innermost operator, module, and either of them. */
static enum sutra_status find_enclosing(struct capture_build *build, struct sutra_error *error) {
    struct graph_capture *capture = build->capture;
    const struct launch_model *model = &capture->model;
    const struct host_rows *hosts = &model->hosts;
    const row_t **const results[] = {&capture->op, &capture->module, &capture->enclosing};
    uint32_t ignored = strings_find(model->strings, "execute", strlen("execute"));
    uint8_t *marked = arena_alloc(build->scratch, hosts->n, sizeof *marked);
    uint8_t *is_module = arena_alloc(build->scratch, hosts->n, sizeof *is_module);
    TRY(arena_status(build->scratch, error));
    mark_modules(model, is_module);
    for (int k = 0; k < 3; k++) {
        row_t *found = arena_alloc(build->arena, hosts->n, sizeof *found);
        TRY(arena_status(build->arena, error));
        for (row_t row = 0; row < hosts->n; row++) {
            bool is_op = hosts->kind[row] == HOST_OPERATOR && hosts->name[row] != ignored;
            marked[row] = (k != 1 && is_op) || (k != 0 && is_module[row]);
        }
        TRY(find_marked_ancestors(model, marked, build->scratch, found, error));
        *results[k] = found;
    }
    return SUTRA_OK;
}

/* Reads what the trace records about the segments. */
static enum sutra_status read_segments(struct capture_build *build, struct sutra_error *error) {
    struct graph_capture *capture = build->capture;
    TRY(launch_model_build(build->context, capture->trace, 0, build->arena, build->scratch, &capture->model, error));
    TRY(find_roles(build, error));
    TRY(read_fields(build, error));
    TRY(list_dispatches(build, error));
    TRY(add_segments(build, error));
    TRY(find_enclosing(build, error));
    return read_arguments(build, error);
}

static enum sutra_status read_capture(struct sutra_context *context, const char *path, struct graph_capture *capture,
                                      struct arena *arena, struct sutra_error *error) {
    struct arena scratch = {0};
    struct capture_build build = {.context = context, .capture = capture, .arena = arena, .scratch = &scratch};
    *capture = (struct graph_capture){.size = -1, .rank = -1};
    context->prefetch_columns = PREFETCH_ARGUMENTS;
    enum sutra_status status = sutra_device_trace_read(context, path, &capture->trace, error);
    context->prefetch_columns = PREFETCH_NOTHING;
    TRY(status);
    TRY_ALLOC(strings_init(&capture->names) && pair_table_init(&capture->nodes), error);
    status = read_segments(&build, error);
    arena_free(&scratch);
    TRY(status);

    enum sutra_rank_source source;
    const struct host_rows *hosts = &capture->model.hosts;
    int64_t rank = rank_number(capture->trace, path, 0, &source);
    capture->rank = source == SUTRA_RANK_POSITION ? -1 : rank;
    for (row_t row = 0; row < hosts->n && capture->size < 0; row++)
        if (hosts->kind[row] == HOST_ANNOTATION)
            capture->size = graph_capture_size(strings_text(capture->model.strings, hosts->name[row]));
    return SUTRA_OK;
}

enum sutra_status graph_captures_read(struct sutra_context *context, const char *const *paths, size_t n,
                                      struct graph_captures *captures, struct sutra_error *error) {
    *captures = (struct graph_captures){.n = 0};
    captures->list = arena_zeros(&captures->arena, n, sizeof *captures->list);
    TRY(arena_status(&captures->arena, error));
    for (size_t i = 0; i < n; i++)
        TRY(read_capture(context, paths[i], &captures->list[captures->n++], &captures->arena, error));
    return SUTRA_OK;
}

void graph_captures_free(struct graph_captures *captures) {
    for (size_t i = 0; i < captures->n; i++) {
        strings_free(&captures->list[i].names);
        pair_table_free(&captures->list[i].nodes);
        sutra_device_trace_free(captures->list[i].trace);
    }
    arena_free(&captures->arena);
}
