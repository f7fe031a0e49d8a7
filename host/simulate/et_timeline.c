/*
 * et_timeline.c - each node of the timeline takes its words from a plain node; see et_timeline.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "facts/names.h"
#include "simulate/communication.h"
#include "simulate/et_format.h"
#include "simulate/et_timeline.h"
#include "simulate/timeline.h"

/*
 * Columns of ET+ once more as those of the timeline; see plus_timeline.h.
 */

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
    timing->input->calls = timeline_calls_alloc(timing->arena, most);
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

/* The row of the plain node with an id, or ROW_NONE; plain nodes have rising ids. */
static row_t plain_row(const struct et_nodes *plain, uint64_t id) {
    row_t row = rising_id_place(plain->id, plain->n, id);
    return row == plain->n ? ROW_NONE : row;
}

void et_timeline_prepare(const struct et_nodes *plain, struct timeline_input *input) {
    struct timeline_kernels *kernels = &input->kernels;
    uint64_t most = plain->n ? plain->id[plain->n - 1] : 0;
    for (row_t k = 0; k < kernels->n; k++) {
        row_t row = plain_row(plain, kernels->id[k]);
        if (row != ROW_NONE && plain->type[row] != ET_COMP)
            kernels->traits[k] |= KERNEL_COMMUNICATES;
        most = kernels->id[k] > most ? kernels->id[k] : most;
    }
    if (input->ops.n && input->ops.id[input->ops.n - 1] > most)
        most = input->ops.id[input->ops.n - 1];
    input->first_new_id = most + 1;
}

/* A node to be: a node of the timeline, or a plain one without times. */
struct source_node {
    row_t timeline; /* ROW_NONE: it has no times */
    row_t plain;    /* whose words it has; ROW_NONE: none */
};

struct timeline_making {
    struct et_nodes *made;
    const struct et_nodes *plain;
    const struct timeline_input *input;
    const struct timeline_nodes *timeline;
    struct pool *pool;
    struct arena *arena;

    row_t *op_row, *kernel_row; /* per operator and kernel: its plain node, or ROW_NONE */
    row_t *row_op;   /* per plain node: its operator; of one without times the one up to its id; or ROW_NONE */
    row_t *op_place; /* per operator: place of its first part in the timeline */
    struct source_node *sources; /* by rising id */
    row_t n;
    row_t *parent;   /* per source: place of the node that its parent has become, or ROW_NONE */
    uint64_t *total; /* per kernel: nanoseconds of its parts */
    uint64_t *given; /* per source that is a part of a kernel: nanoseconds of the parts before it */
};

/* Nodes that a task does. */
#define TASK_NODES 4096

static size_t count_tasks(row_t n) {
    return ((size_t)n + TASK_NODES - 1) / TASK_NODES;
}

static row_t task_end(row_t n, size_t task) {
    return (task + 1) * TASK_NODES < n ? (row_t)((task + 1) * TASK_NODES) : n;
}

/* ---- Which node is which ---- */

/* Goes through both lists of rising ids at once. */
static void pair_ops(struct timeline_making *making) {
    const struct timeline_ops *ops = &making->input->ops;
    row_t op = 0;
    for (row_t i = 0; i < ops->n; i++)
        making->op_row[i] = ROW_NONE;
    for (row_t row = 0; row < making->plain->n; row++) {
        while (op < ops->n && ops->id[op] <= making->plain->id[row])
            op++;
        making->row_op[row] = op ? op - 1 : ROW_NONE;
        if (op && ops->id[op - 1] == making->plain->id[row])
            making->op_row[op - 1] = row;
    }
}

static void pair_kernels(struct timeline_making *making) {
    const struct timeline_kernels *kernels = &making->input->kernels;
    row_t row = 0;
    for (row_t k = 0; k < kernels->n; k++) {
        while (row < making->plain->n && making->plain->id[row] < kernels->id[k])
            row++;
        bool found = row < making->plain->n && making->plain->id[row] == kernels->id[k];
        making->kernel_row[k] = found ? row : ROW_NONE;
    }
}

static bool pair_rows(struct timeline_making *making) {
    making->op_row = arena_take(making->arena, making->input->ops.n, sizeof *making->op_row);
    making->kernel_row = arena_take(making->arena, making->input->kernels.n, sizeof *making->kernel_row);
    making->row_op = arena_take(making->arena, making->plain->n, sizeof *making->row_op);
    if (making->arena->failed)
        return false;
    pair_ops(making);
    pair_kernels(making);
    return true;
}

/* ---- Which nodes there are ---- */

/* The plain row of the operator or kernel that a node of the timeline is a part of. */
static row_t words_of(const struct timeline_making *making, row_t place) {
    row_t of = making->timeline->of[place];
    if (of == ROW_NONE)
        return ROW_NONE;
    return making->timeline->role[place] == NODE_KERNEL ? making->kernel_row[of] : making->op_row[of];
}

static uint64_t source_id(const struct timeline_making *making, struct source_node source) {
    return source.timeline == ROW_NONE ? making->plain->id[source.plain] : making->timeline->id[source.timeline];
}

/* All nodes by rising id. What is of the timeline stands in for the plain nodes of the same ids. */
static bool list_sources(struct timeline_making *making, const struct engine *engine, struct sutra_error *error) {
    const size_t most = (size_t)making->timeline->n + making->plain->n;
    struct source_node *found = arena_take(making->arena, most, sizeof *found);
    uint64_t *ids = arena_take(making->arena, most, sizeof *ids);
    row_t *order = arena_take(making->arena, most, sizeof *order);
    bool *is_timed = arena_zeros(making->arena, making->plain->n, sizeof *is_timed);
    making->sources = arena_take(making->arena, most, sizeof *making->sources);
    if (making->arena->failed || most > ROW_LIMIT)
        return false;
    for (row_t place = 0; place < making->timeline->n; place++) {
        row_t words = words_of(making, place);
        if (words != ROW_NONE)
            is_timed[words] = true;
        found[making->n++] = (struct source_node){place, words};
    }
    for (row_t row = 0; row < making->plain->n; row++)
        if (!is_timed[row] && making->plain->type[row] != ET_METADATA)
            found[making->n++] = (struct source_node){ROW_NONE, row};
    for (row_t i = 0; i < making->n; i++) {
        ids[i] = source_id(making, found[i]);
        order[i] = i;
    }
    if (engine->sort_keys(engine->state, &(struct sort_keys_step){ids, order, making->n}, error))
        return false;
    for (row_t i = 0; i < making->n; i++)
        making->sources[i] = found[order[i]];
    return true;
}

/* Where the first part of each operator stands: it has the operator's id. */
static bool find_first_parts(struct timeline_making *making) {
    const struct timeline_ops *ops = &making->input->ops;
    making->op_place = arena_take(making->arena, ops->n, sizeof *making->op_place);
    if (making->arena->failed)
        return false;
    for (row_t op = 0; op < ops->n; op++)
        making->op_place[op] = ROW_NONE;
    for (row_t place = 0; place < making->timeline->n; place++) {
        row_t of = making->timeline->of[place];
        if (making->timeline->role[place] == NODE_OP && of != ROW_NONE && making->timeline->id[place] == ops->id[of])
            making->op_place[of] = place;
    }
    return true;
}

/* What a part of a kernel counts among the others. */
static uint64_t part_weight(const struct timeline_nodes *timeline, row_t place) {
    double run_ns = timeline->run_us[place] * 1000;
    return run_ns >= 1 ? (uint64_t)run_ns : 1;
}

/* By rising id. */
static bool measure_parts(struct timeline_making *making) {
    const struct timeline_nodes *timeline = making->timeline;
    making->total = arena_zeros(making->arena, making->input->kernels.n, sizeof *making->total);
    making->given = arena_take(making->arena, making->n, sizeof *making->given);
    for (row_t node = 0; !making->arena->failed && node < making->n; node++) {
        row_t place = making->sources[node].timeline;
        if (place == ROW_NONE || timeline->role[place] != NODE_KERNEL)
            continue;
        uint64_t *total = &making->total[timeline->of[place]];
        making->given[node] = *total;
        *total += part_weight(timeline, place);
    }
    return !making->arena->failed;
}

/* ---- Dependencies ---- */

/* Places of the chain rise with time, and lie behind those of the kernels. */
static row_t chain_dep(const struct timeline_making *making, row_t place) {
    const struct timeline_nodes *timeline = making->timeline;
    row_t last = ROW_NONE;
    for (uint64_t d = timeline->first_dep[place]; d < timeline->first_dep[place + 1]; d++)
        if (timeline->role[timeline->deps[d]] != NODE_KERNEL && (last == ROW_NONE || timeline->deps[d] > last))
            last = timeline->deps[d];
    return last;
}

static bool is_first_part(const struct timeline_making *making, struct source_node source) {
    return source.plain != ROW_NONE && making->timeline->role[source.timeline] != NODE_REST &&
           making->timeline->id[source.timeline] == making->plain->id[source.plain];
}

/* The place of the node that a node's parent has become, if that is sure to come before it in the chain; else
 * ROW_NONE. */
static row_t parent_place(const struct timeline_making *making, struct source_node source) {
    const struct et_ids *ctrl = &making->plain->ctrl;
    if (source.timeline == ROW_NONE || !is_first_part(making, source) ||
        ctrl->first[source.plain] == ctrl->first[source.plain + 1])
        return ROW_NONE;
    row_t row = plain_row(making->plain, ctrl->ids[ctrl->first[source.plain]]);
    row_t op = row == ROW_NONE ? ROW_NONE : making->row_op[row];
    if (op == ROW_NONE || making->op_row[op] != row || making->op_place[op] == ROW_NONE)
        return ROW_NONE;
    row_t before = chain_dep(making, source.timeline);
    return before != ROW_NONE && making->op_place[op] <= before ? making->op_place[op] : ROW_NONE;
}

static uint64_t count_data_deps(const struct timeline_making *making, struct source_node source) {
    if (source.timeline != ROW_NONE)
        return making->timeline->first_dep[source.timeline + 1] - making->timeline->first_dep[source.timeline];
    return making->row_op[source.plain] != ROW_NONE;
}

static int compare_ids(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void put_data_deps(const struct timeline_making *making, row_t node) {
    struct source_node source = making->sources[node];
    uint64_t *ids = making->made->data.ids + making->made->data.first[node];
    uint64_t n = making->made->data.first[node + 1] - making->made->data.first[node];
    if (source.timeline == ROW_NONE) {
        if (n)
            ids[0] = making->input->ops.id[making->row_op[source.plain]];
        return;
    }
    const row_t *deps = making->timeline->deps + making->timeline->first_dep[source.timeline];
    for (uint64_t d = 0; d < n; d++)
        ids[d] = making->timeline->id[deps[d]];
    if (n > 1)
        qsort(ids, n, sizeof *ids, compare_ids);
}

/* ---- Words ---- */

static uint64_t count_attributes(const struct timeline_making *making, struct source_node source) {
    const struct et_nodes *plain = making->plain;
    if (source.plain == ROW_NONE)
        return 1; /* is_cpu_op */
    uint64_t n = plain->attr_first[source.plain + 1] - plain->attr_first[source.plain];
    return n + (source.timeline != ROW_NONE && making->timeline->role[source.timeline] == NODE_KERNEL);
}

static void put_attribute(struct et_attributes *attributes, uint64_t at, enum et_name name, enum et_kind kind,
                          uint64_t bits) {
    attributes->name[at] = (uint32_t)name;
    attributes->kind[at] = (uint8_t)kind;
    attributes->length[at] = 0;
    attributes->value[at].bits = bits;
}

/* A part of a kernel does a part of its work. */
static void share_work(const struct timeline_making *making, row_t node, struct et_attributes *attributes,
                       uint64_t begin, uint64_t end) {
    const row_t place = making->sources[node].timeline;
    const uint64_t weight = part_weight(making->timeline, place), total = making->total[making->timeline->of[place]];
    for (uint64_t i = begin; i < end; i++) {
        uint64_t *amount = &attributes->value[i].bits;
        if (attributes->name[i] == ET_NAME_NUM_OPS || attributes->name[i] == ET_NAME_TENSOR_SIZE) {
            uint64_t share = work_share(*amount, making->given[node], weight, total);
            *amount = share || attributes->name[i] == ET_NAME_TENSOR_SIZE ? share : 1;
        }
    }
}

static void put_attributes(const struct timeline_making *making, row_t node) {
    struct source_node source = making->sources[node];
    struct et_attributes *to = &making->made->attributes;
    const struct et_attributes *from = &making->plain->attributes;
    uint64_t at = making->made->attr_first[node];
    if (source.plain == ROW_NONE) {
        put_attribute(to, at, ET_NAME_IS_CPU_OP, ET_BOOL, 1);
        return;
    }
    for (uint64_t i = making->plain->attr_first[source.plain]; i < making->plain->attr_first[source.plain + 1]; i++) {
        to->name[at] = from->name[i];
        to->kind[at] = from->kind[i];
        to->length[at] = from->length[i];
        to->value[at++] = from->value[i];
    }
    if (at < making->made->attr_first[node + 1]) {
        share_work(making, node, to, making->made->attr_first[node], at);
        put_attribute(to, at, ET_NAME_KERNEL_EXEC_NS, ET_INT64,
                      (uint64_t)(making->timeline->run_us[source.timeline] * 1000 + 0.5));
    }
}

/* "[rest] operator"; the text lies in the arena of the nodes. */
static struct et_text rest_name(const struct timeline_making *making, row_t plain) {
    static const char before[] = "[rest] ";
    struct et_text name = et_text_at(making->plain->text[ET_NODE_NAME], plain);
    size_t length = sizeof before - 1 + name.length;
    char *bytes = arena_take(&making->made->arena, length, 1);
    if (!bytes)
        return (struct et_text){"", 0};
    memcpy(bytes, before, sizeof before - 1);
    memcpy(bytes + sizeof before - 1, name.bytes, name.length);
    return (struct et_text){bytes, (uint32_t)length};
}

static bool is_rest(const struct timeline_making *making, struct source_node source) {
    return source.plain != ROW_NONE && source.timeline != ROW_NONE &&
           making->timeline->role[source.timeline] == NODE_REST;
}

static void put_node(const struct timeline_making *making, row_t node) {
    struct source_node source = making->sources[node];
    struct et_nodes *made = making->made;
    const struct timeline_nodes *timeline = making->timeline;
    const bool timed = source.timeline != ROW_NONE, plain = source.plain != ROW_NONE;
    made->id[node] = source_id(making, source);
    made->type[node] = plain ? making->plain->type[source.plain] : ET_COMP;
    made->start_us[node] =
        timed && timeline->start[source.timeline] > 0 ? (uint64_t)timeline->start[source.timeline] : 0;
    made->duration_us[node] = timed ? timeline->duration_us[source.timeline] : 0;
    made->flags[node] = plain ? making->plain->flags[source.plain] : ET_HAS_INPUTS | ET_HAS_OUTPUTS;
    et_text_put(made->text[ET_NODE_NAME], node,
                plain ? et_text_at(making->plain->text[ET_NODE_NAME], source.plain) : (struct et_text){"[gap]", 5});
    for (int column = ET_INPUT_VALUES; column < ET_TEXT_COLUMNS; column++)
        et_text_put(made->text[column], node,
                    plain ? et_text_at(making->plain->text[column], source.plain) : (struct et_text){"", 0});
    if (making->parent[node] != ROW_NONE)
        made->ctrl.ids[made->ctrl.first[node]] = timeline->id[making->parent[node]];
    put_data_deps(making, node);
    put_attributes(making, node);
}

/* ---- All nodes ---- */

static void count_task(void *arg, size_t task) {
    const struct timeline_making *making = arg;
    for (row_t node = (row_t)(task * TASK_NODES); node < task_end(making->n, task); node++) {
        struct source_node source = making->sources[node];
        making->parent[node] = parent_place(making, source);
        making->made->data.first[node + 1] = count_data_deps(making, source);
        making->made->attr_first[node + 1] = count_attributes(making, source);
    }
}

static void put_task(void *arg, size_t task) {
    const struct timeline_making *making = arg;
    for (row_t node = (row_t)(task * TASK_NODES); node < task_end(making->n, task); node++)
        put_node(making, node);
}

/* Names that are new lie in the arena, which one thread takes from at a time. */
static void name_rests(const struct timeline_making *making) {
    for (row_t node = 0; node < making->n; node++)
        if (is_rest(making, making->sources[node]))
            et_text_put(making->made->text[ET_NODE_NAME], node, rest_name(making, making->sources[node].plain));
}

static enum sutra_status fill(struct timeline_making *making, struct sutra_error *error) {
    struct et_nodes *made = making->made;
    const uint64_t most_deps = making->timeline->n_deps + making->plain->n;
    making->parent = arena_take(making->arena, making->n, sizeof *making->parent);
    enum sutra_status status = et_nodes_take(made, making->n, making->n, most_deps, 0, error);
    if (status || making->arena->failed)
        return error_memory(error);
    pool_run(making->pool, count_tasks(making->n), count_task, making);
    for (row_t node = 0; node < making->n; node++) {
        made->ctrl.first[node + 1] = made->ctrl.first[node] + (making->parent[node] != ROW_NONE);
        made->data.first[node + 1] += made->data.first[node];
        made->attr_first[node + 1] += made->attr_first[node];
    }
    status = et_attributes_take(made, &made->attributes, made->attr_first[making->n], error);
    if (status)
        return status;
    pool_run(making->pool, count_tasks(making->n), put_task, making);
    name_rests(making);
    return made->arena.failed ? error_memory(error) : SUTRA_OK;
}

/* Its text, which lies in the arena of `plain`, once more in our own; out of memory the arena tells. */
static void copy_text(struct arena *arena, struct et_attributes *attributes, uint64_t at) {
    const uint32_t length = attributes->length[at];
    char *bytes = arena_take(arena, length, 1);
    if (bytes && length)
        memcpy(bytes, attributes->value[at].bytes, length);
    attributes->value[at].bytes = bytes;
}

/* The file's own attributes. Names have the same numbers in all files that we make. */
static enum sutra_status copy_metadata(struct et_nodes *made, const struct et_nodes *plain, struct sutra_error *error) {
    const struct et_attributes *from = &plain->metadata;
    enum sutra_status status = et_attributes_take(made, &made->metadata, from->n, error);
    if (status)
        return status;
    made->version = plain->version;
    memcpy(made->metadata.name, from->name, from->n * sizeof *from->name);
    memcpy(made->metadata.kind, from->kind, from->n * sizeof *from->kind);
    memcpy(made->metadata.length, from->length, from->n * sizeof *from->length);
    memcpy(made->metadata.value, from->value, from->n * sizeof *from->value);
    for (uint64_t i = 0; i < from->n; i++)
        if (et_kind_is_text(from->kind[i]))
            copy_text(&made->arena, &made->metadata, i);
    return arena_status(&made->arena, error);
}

enum sutra_status et_timeline_make(struct et_nodes *made, const struct et_nodes *plain,
                                   const struct timeline_input *input, const struct timeline_nodes *timeline,
                                   struct sutra_context *context, struct sutra_error *error) {
    struct arena scratch = {0};
    struct timeline_making making = {
        .made = made, .plain = plain, .input = input, .timeline = timeline, .pool = context->pool, .arena = &scratch};
    bool listed = pair_rows(&making) && list_sources(&making, &context->engine, error) && find_first_parts(&making) &&
                  measure_parts(&making);
    enum sutra_status status = listed ? SUTRA_OK : error_memory(error);
    if (!status)
        status = fill(&making, error);
    if (!status)
        status = copy_metadata(made, plain, error);
    arena_free(&scratch);
    return status;
}
