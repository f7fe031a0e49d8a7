/*
 * plus_timeline.c - columns of ET+ once more as those of the timeline; see plus_timeline.h.
 */
#include "simulate/plus_timeline.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "columns/pair_table.h"
#include "columns/row_list.h"
#include "facts/names.h"
#include "simulate/timeline_stages.h"
#include "simulate/unsigned_text.h"

struct plus_timing {
    const struct node_graph *graph;
    const struct plus_nodes *plus;
    struct timeline_input *input;
    struct timeline_work work; /* to sort with */
    struct arena *arena;
    row_t *rows; /* with times, by rising id */
    row_t n;
    const row_t *op_row, *kernel_row;   /* of the timeline's operators and kernels */
    struct pair_table threads, streams; /* their numbers */
};

static bool lasts(const struct plus_nodes *plus, row_t row) {
    return isfinite(plus->start[row]) && isfinite(plus->end[row]) && plus->end[row] >= plus->start[row];
}

static bool list_rows(struct plus_timing *timing) {
    const struct node_graph *graph = timing->graph;
    const struct engine *engine = &graph->context->engine;
    uint64_t *ids = arena_take(timing->arena, graph->n_made, sizeof *ids);
    timing->rows = arena_take(timing->arena, graph->n_made, sizeof *timing->rows);
    if (timing->arena->failed)
        return false;
    for (row_t i = 0; i < graph->n_made; i++) {
        row_t row = graph->message[graph->made[i]];
        if (!lasts(timing->plus, row) || (timing->plus->flags[row] & PLUS_IS_META))
            continue;
        ids[timing->n] = timing->plus->id[row];
        timing->rows[timing->n++] = row;
    }
    return !engine->sort_keys(engine->state, &(struct sort_keys_step){ids, timing->rows, timing->n}, NULL);
}

/* ---- Operators ---- */

/* A key's number, the next one if it is new. False: out of memory. */
static bool take_number(struct pair_table *table, uint64_t key, uint32_t kind, uint32_t *n, uint32_t *number) {
    struct pair_entry *entry = pair_table_take(table, key, kind);
    if (!entry)
        return false;
    if (entry->number == PAIR_NONE)
        entry->number = (*n)++;
    *number = entry->number;
    return true;
}

static uint64_t thread_id(const struct plus_timing *timing, row_t row) {
    return (uint64_t)timing->plus->number[PLUS_TID - PLUS_FIRST_NUMBER][row];
}

static bool read_ops(struct plus_timing *timing) {
    uint64_t *id = arena_take(timing->arena, timing->n, sizeof *id);
    double *start = arena_take(timing->arena, timing->n, sizeof *start);
    double *end = arena_take(timing->arena, timing->n, sizeof *end);
    uint32_t *thread = arena_take(timing->arena, timing->n, sizeof *thread), n_threads = 0;
    row_t *rows = arena_take(timing->arena, timing->n, sizeof *rows), n = 0;
    if (timing->arena->failed)
        return false;
    for (row_t i = 0; i < timing->n; i++) {
        row_t row = timing->rows[i];
        if (graph_is_gpu(timing->graph, row))
            continue;
        id[n] = timing->plus->id[row];
        start[n] = timing->plus->start[row];
        end[n] = timing->plus->end[row];
        rows[n] = row;
        if (!take_number(&timing->threads, thread_id(timing, row), 0, &n_threads, &thread[n++]))
            return false;
    }
    timing->op_row = rows;
    timing->input->ops = (struct timeline_ops){n, n_threads, id, start, end, thread};
    return true;
}

/* ---- Kernels ---- */

/* What names say; those of kernels are few. */
static bool find_traits(const struct plus_timing *timing, const row_t *rows, row_t n, uint8_t *traits) {
    struct strings names = {0};
    uint32_t *name = arena_take(timing->arena, n, sizeof *name);
    bool done = strings_init(&names) && name;
    for (row_t i = 0; i < n && done; i++) {
        struct et_text text = timing->plus->name[rows[i]];
        name[i] = strings_intern(&names, text.bytes, text.length);
        done = name[i] != STRING_NONE;
    }
    const struct string_roles *roles = done ? names_find(&names, READER_SIMULATE, timing->arena) : NULL;
    for (row_t i = 0; i < n && roles; i++) {
        uint32_t role = roles[name[i]].name;
        traits[i] = (uint8_t)((role & NAME_COPY ? KERNEL_COPIES : 0) | (role & NAME_PAGEABLE ? KERNEL_PAGEABLE : 0));
    }
    strings_free(&names);
    return roles != NULL;
}

static bool read_kernels(struct plus_timing *timing) {
    const row_t most = timing->n - timing->input->ops.n;
    uint64_t *id = arena_take(timing->arena, most, sizeof *id);
    double *start = arena_take(timing->arena, most, sizeof *start);
    double *end = arena_take(timing->arena, most, sizeof *end);
    uint32_t *stream = arena_take(timing->arena, most, sizeof *stream), n_streams = 0;
    uint8_t *traits = arena_take(timing->arena, most, sizeof *traits);
    row_t *rows = arena_take(timing->arena, most, sizeof *rows), n = 0;
    if (timing->arena->failed)
        return false;
    for (row_t i = 0; i < timing->n; i++) {
        row_t row = timing->rows[i];
        if (!graph_is_gpu(timing->graph, row))
            continue;
        bool none = timing->plus->flags[row] & PLUS_NO_STREAM;
        id[n] = timing->plus->id[row];
        start[n] = timing->plus->start[row];
        end[n] = timing->plus->end[row];
        rows[n] = row;
        if (!take_number(&timing->streams, none ? 0 : (uint64_t)timing->plus->stream[row], none, &n_streams,
                         &stream[n++]))
            return false;
    }
    timing->kernel_row = rows;
    timing->input->kernels = (struct timeline_kernels){
        .n = n, .n_streams = n_streams, .id = id, .start = start, .end = end, .stream = stream, .traits = traits};
    return find_traits(timing, rows, n, traits);
}

/* The operator that a kernel stands below, if it has times; else ROW_NONE. */
static row_t launching_row(const struct plus_timing *timing, row_t kernel) {
    row_t parent = timing->graph->parent[timing->kernel_row[kernel]];
    bool is_op = parent != ROW_NONE && !graph_is_gpu(timing->graph, parent) && lasts(timing->plus, parent);
    return is_op ? parent : ROW_NONE;
}

/* What is known of the last kernel of a stream. */
struct stream_state {
    double launch, end;
};

/* When the kernel was launched, at the earliest: after the one before it on its stream, in its operator. A stream that
 * stood idle ran it at once. */
static double earliest_launch(const struct plus_timing *timing, row_t kernel, row_t op,
                              const struct stream_state *before) {
    double start = timing->input->kernels.start[kernel];
    bool was_idle = start - before->end > LATENCY_US;
    double begin = was_idle ? timing->plus->end[op] : timing->plus->start[op];
    return fmin(fmax(begin, before->launch), start);
}

static bool guess_launches(struct plus_timing *timing) {
    struct timeline_kernels *kernels = &timing->input->kernels;
    double *launch_start = arena_take(timing->arena, kernels->n, sizeof *launch_start);
    double *launch_end = arena_take(timing->arena, kernels->n, sizeof *launch_end);
    uint32_t *thread = arena_take(timing->arena, kernels->n, sizeof *thread);
    row_t *order = arena_take(timing->arena, kernels->n, sizeof *order);
    struct stream_state *streams = arena_take(timing->arena, kernels->n_streams, sizeof *streams);
    const double *keys[] = {kernels->end, kernels->start};
    if (timing->arena->failed || !timeline_sort(&timing->work, kernels->n, keys, 2, order))
        return false;
    for (uint32_t s = 0; s < kernels->n_streams; s++)
        streams[s] = (struct stream_state){-INFINITY, -INFINITY};
    for (row_t i = 0; i < kernels->n; i++) {
        row_t kernel = order[i], op = launching_row(timing, kernel);
        struct stream_state *stream = &streams[kernels->stream[kernel]];
        double start = kernels->start[kernel];
        launch_start[kernel] = op == ROW_NONE ? start : earliest_launch(timing, kernel, op, stream);
        launch_end[kernel] = op == ROW_NONE ? start : fmax(launch_start[kernel], fmin(timing->plus->end[op], start));
        thread[kernel] = op == ROW_NONE ? THREAD_UNKNOWN : pair_table_find(&timing->threads, thread_id(timing, op), 0);
        *stream = (struct stream_state){launch_start[kernel], fmax(stream->end, kernels->end[kernel])};
    }
    kernels->launch_start = launch_start;
    kernels->launch_end = launch_end;
    kernels->launch_thread = thread;
    return true;
}

/* ---- Waits ---- */

/* What happens on each thread: times[first[t]] .. rising. */
struct thread_moments {
    double *times;
    row_t *first;
};

/* n times, each of a thread, by thread. */
static bool sort_moments(const struct plus_timing *timing, const double *times, const uint32_t *thread, row_t n,
                         uint32_t n_threads, struct thread_moments *moments) {
    row_t *order = arena_take(timing->arena, n, sizeof *order);
    row_t *sorted = arena_take(timing->arena, n, sizeof *sorted);
    const double *keys[] = {times};
    moments->times = arena_take(timing->arena, n, sizeof *moments->times);
    moments->first = arena_take(timing->arena, (size_t)n_threads + 1, sizeof *moments->first);
    if (timing->arena->failed || !timeline_sort(&timing->work, n, keys, 1, order))
        return false;
    rows_bucket(order, n, thread, n_threads, moments->first, sorted);
    for (row_t i = 0; i < n; i++)
        moments->times[i] = times[sorted[i]];
    return true;
}

/* The last moment of the thread before a time, or -INFINITY. */
static double moment_before(const struct thread_moments *moments, uint32_t thread, double time) {
    row_t first = moments->first[thread], n = moments->first[thread + 1] - first;
    row_t before = times_below(moments->times + first, n, time);
    return before ? moments->times[first + before - 1] : -INFINITY;
}

/* The first one not before it, or INFINITY. */
static double moment_from(const struct thread_moments *moments, uint32_t thread, double time) {
    row_t first = moments->first[thread], n = moments->first[thread + 1] - first;
    row_t before = times_below(moments->times + first, n, time);
    return before < n ? moments->times[first + before] : INFINITY;
}

/* Where operators begin, where they begin or end, and where those of any thread do. */
struct op_moments {
    struct thread_moments begins, all, any;
};

static bool find_moments(const struct plus_timing *timing, struct op_moments *moments) {
    const struct timeline_ops *ops = &timing->input->ops;
    const row_t n = ops->n;
    double *times = arena_take(timing->arena, 2 * (size_t)n, sizeof *times);
    uint32_t *thread = arena_take(timing->arena, 2 * (size_t)n, sizeof *thread);
    if (timing->arena->failed || n > ROW_LIMIT / 2)
        return false;
    for (row_t i = 0; i < n; i++) {
        times[i] = ops->start[i];
        times[n + i] = ops->end[i];
        thread[i] = thread[n + i] = ops->thread[i];
    }
    const uint32_t *same = arena_zeros(timing->arena, 2 * (size_t)n, sizeof *same);
    return sort_moments(timing, times, thread, n, ops->n_threads, &moments->begins) &&
           sort_moments(timing, times, thread, 2 * n, ops->n_threads, &moments->all) && same &&
           sort_moments(timing, times, same, 2 * n, 1, &moments->any);
}

/* Whether a kernel ended between the begin of the thread's operator before this one and the begin of this one: then the
 * processor waited for it from *begin on, when something last began or ended. */
static bool waited_before(const struct plus_timing *timing, const struct op_moments *moments, row_t op, row_t kernel,
                          double *begin) {
    const struct timeline_ops *ops = &timing->input->ops;
    const uint32_t thread = ops->thread[op];
    const double end = timing->input->kernels.end[kernel];
    if (end > ops->start[op] + 1 || end < moment_before(&moments->begins, thread, ops->start[op]))
        return false;
    *begin = fmax(moment_before(&moments->all, thread, end), timing->work.origin);
    return true;
}

/* A stretch in which no operator begins or ends and near whose end a kernel ends was spent waiting for it. */
#define STRETCH_US   20.0
#define STRETCH_TAIL 0.1

static bool waited_in_stretch(const struct op_moments *moments, double end, double *begin, double *until) {
    *begin = moment_before(&moments->any, 0, end);
    *until = moment_from(&moments->any, 0, end);
    return isfinite(*begin) && *until - *begin > STRETCH_US && *until - end < STRETCH_TAIL * (*until - *begin);
}

/* The next element of a list of ids, of which *at is behind the "[" or the element before; false at its end. What is no
 * id is UINT64_MAX. */
static bool next_id(const char **at, uint64_t *id) {
    while (**at == ' ' || **at == '\t' || **at == '\n' || **at == '\r' || **at == ',')
        (*at)++;
    if (**at == ']' || !**at)
        return false;
    if (!unsigned_parse(*at, id))
        *id = UINT64_MAX;
    while (**at && **at != ',' && **at != ']')
        (*at)++;
    return true;
}

/* The list of an operator's sync_dep, behind its "["; or an empty one. */
static const char *sync_list(const struct plus_timing *timing, row_t op) {
    uint64_t at = timing->plus->sync[timing->op_row[op]];
    return at ? timing->graph->plus->document->source.bytes + at + 1 : "]";
}

static size_t count_syncs(const struct plus_timing *timing) {
    size_t n = 0;
    for (row_t op = 0; op < timing->input->ops.n; op++) {
        uint64_t id;
        for (const char *at = sync_list(timing, op); next_id(&at, &id);)
            n++;
    }
    return n;
}

static row_t find_kernel(const struct timeline_kernels *kernels, uint64_t id) {
    row_t kernel = rising_id_place(kernels->id, kernels->n, id);
    return kernel == kernels->n ? ROW_NONE : kernel;
}

static void add_call(struct plus_timing *timing, double start, double end, uint32_t thread, row_t kernel) {
    const struct timeline_kernels *kernels = &timing->input->kernels;
    const struct timeline_call call = {start, end, nextafter(kernels->launch_start[kernel], INFINITY),
                                       kernels->stream[kernel], thread};
    timeline_calls_add(&timing->input->calls, call);
}

/* What sync_dep names. */
static void add_named(struct plus_timing *timing, const struct op_moments *moments) {
    const struct timeline_ops *ops = &timing->input->ops;
    for (row_t op = 0; op < ops->n; op++) {
        uint64_t id;
        double begin;
        for (const char *at = sync_list(timing, op); next_id(&at, &id);) {
            row_t kernel = find_kernel(&timing->input->kernels, id);
            if (kernel != ROW_NONE && waited_before(timing, moments, op, kernel, &begin))
                add_call(timing, begin, ops->start[op], ops->thread[op], kernel);
        }
    }
}

/* What times show. */
static void add_seen(struct plus_timing *timing, const struct op_moments *moments) {
    const struct timeline_kernels *kernels = &timing->input->kernels;
    double begin, until;
    for (row_t k = 0; k < kernels->n; k++)
        if (waited_in_stretch(moments, kernels->end[k], &begin, &until))
            add_call(timing, begin, until, kernels->launch_thread[k], k);
}

static bool read_calls(struct plus_timing *timing) {
    const size_t most = count_syncs(timing) + timing->input->kernels.n;
    struct op_moments moments;
    timing->input->calls = timeline_calls_take(timing->arena, most);
    if (timing->arena->failed || most > ROW_LIMIT || !find_moments(timing, &moments))
        return false;
    add_named(timing, &moments);
    add_seen(timing, &moments);
    return true;
}

/* ---- All of it ---- */

static double first_start(const struct timeline_ops *ops) {
    double first = INFINITY;
    for (row_t i = 0; i < ops->n; i++)
        first = fmin(first, ops->start[i]);
    return first;
}

enum sutra_status plus_timeline_read(const struct node_graph *graph, struct arena *arena, struct timeline_input *input,
                                     struct sutra_error *error) {
    struct plus_timing timing = {.graph = graph,
                                 .plus = &graph->plus->nodes,
                                 .input = input,
                                 .work = {.input = input, .engine = &graph->context->engine, .arena = arena},
                                 .arena = arena};
    *input = (struct timeline_input){0};
    bool done = pair_table_init(&timing.threads) && pair_table_init(&timing.streams) && list_rows(&timing) &&
                read_ops(&timing) && read_kernels(&timing) && guess_launches(&timing);
    timing.work.origin = first_start(&input->ops);
    done = done && read_calls(&timing);
    pair_table_free(&timing.streams);
    pair_table_free(&timing.threads);
    return done ? SUTRA_OK : error_memory(error);
}
