/*
 * parent_search.c - markers, launches by correlation, and the queries to the engine.
 *
 *     GPU operator --correlation--> launch --thread, start, external id--> CPU operator or marker that began before it
 *
 *     CPU operators      a     b  c           d          by start
 *     markers         P        t1       t2               of the process and of each tid, at its first event
 *
 * Cost: O(n) for the markers and the queries, a bisection for each marker; and what the engine takes.
 */
#include "link/parent_search.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "columns/column.h"
#include "match/rules.h"

/* The columns of the markers, which the engine reads. */
struct markers {
    struct op_markers table;
    struct number_column ts;
    row_t *before;
};

/* A tid's marker stands before the tid's first CPU operator, or at the end, and is then sorted by its start. What is
 * left of that: before that operator if both begin together, else behind all operators that begin with the marker. */
static row_t marker_place(const struct parent_search *search, value_key tid, struct number ts) {
    const struct cpu_ops *cpu = search->cpu;
    row_t first = key_index_find(&search->lists->threads, tid);
    if (first != ROW_NONE && number_compare(number_at(cpu->ts, first), ts) == 0)
        return first;
    return count_begun_by(cpu->ts, cpu->n, ts);
}

static void put_marker(struct markers *markers, struct number ts, row_t before) {
    row_t k = markers->table.n++;
    number_put(markers->ts, k, ts);
    markers->before[k] = k && markers->before[k - 1] > before ? markers->before[k - 1] : before;
}

/* A marker for the process at the first event that has a tid, and one for each tid at its first event. In the sorted
 * trace first means earliest, so markers come out sorted too. */
static void put_markers(const struct parent_search *search, struct markers *markers, const value_key *tids,
                        const struct key_index *seen) {
    const struct device_events *events = &search->trace->events;
    for (row_t i = 0; i < events->n; i++) {
        if (tids[i] == KEY_NULL || key_index_find(seen, tids[i]) != i)
            continue;
        struct number ts = number_at(events->ts, search->order[i]);
        if (markers->table.n == 0)
            put_marker(markers, ts, count_begun(search->cpu->ts, search->cpu->n, ts));
        put_marker(markers, ts, marker_place(search, tids[i], ts));
    }
}

/* The number of tid 0, under which markers stand; a new one if no CPU operator has that tid. */
static uint32_t marker_thread(const struct parent_search *search) {
    row_t first = key_index_find(&search->lists->threads, 0);
    return first == ROW_NONE ? search->cpu->n_threads : search->cpu->thread[first];
}

static enum sutra_status make_markers(const struct parent_search *search, struct markers *markers,
                                      struct sutra_error *error) {
    const struct device_events *events = &search->trace->events;
    struct key_index seen = {0};
    value_key *tids = arena_take(search->arena, events->n, sizeof *tids);
    enum sutra_status status = arena_status(search->arena, error);
    for (row_t i = 0; i < events->n && !status; i++)
        tids[i] = events->tid[search->order[i]];
    if (!status)
        status = key_index_build(&seen, &search->context->engine, tids, events->n, KEY_FIRST, NULL, error);
    uint64_t n = 1;
    for (row_t i = 0; i < events->n && !status; i++)
        n += tids[i] != KEY_NULL && key_index_find(&seen, tids[i]) == i;
    if (!status && n + search->cpu->n > ROW_LIMIT)
        status = error_set(error, SUTRA_DATA, "more than %u CPU operators", ROW_LIMIT);
    markers->ts = numbers_take(search->arena, n);
    markers->before = arena_take(search->arena, n, sizeof *markers->before);
    if (!status)
        status = arena_status(search->arena, error);
    if (!status)
        put_markers(search, markers, tids, &seen);
    markers->table.ts = markers->ts;
    markers->table.before = markers->before;
    markers->table.thread = marker_thread(search);
    key_index_free(&seen);
    return status;
}

/* Correlation ids; lists count as absent here (whether they are errors was decided before). */
static value_key correlation_of(const struct device_events *events, row_t event) {
    value_key key = events->correlation[event];
    return key == KEY_UNHASHABLE ? -1 : key;
}

/* Launches by correlation, sorted by start within one. */
struct launch_chains {
    struct key_index index; /* correlation -> first launch */
    row_t *at;              /* of a first launch: the last one so far that began before a GPU operator */
    row_t *next;            /* launch of the same correlation, or ROW_NONE; NULL: none repeats */
};

/* Which correlation several launches have: an error in strict mode, else told. */
static enum sutra_status judge_repetition(const struct parent_search *search, value_key key, row_t launch,
                                          struct sutra_error *error) {
    row_t event = search->lists->launch[launch];
    char text[48] = "that is not an integer";
    if (key_is_integer(key))
        snprintf(text, sizeof text, "%" PRId64, key);
    if (!search->context->options.strict) {
        context_warn(
            search->context,
            "event %u: duplicate launch with correlation %s, and possibly others: a GPU activity uses the last such "
            "launch that starts before it",
            event, text);
        return SUTRA_OK;
    }
    source_error(&search->trace->document.source, error, search->trace->events.text[event],
                 "event %u: duplicate launch with correlation %s", event, text);
    if (error)
        error->status = SUTRA_STRICT;
    return SUTRA_STRICT;
}

/* Ties launches of one correlation to each other, from the last to the first. */
static enum sutra_status chain_launches(const struct parent_search *search, struct launch_chains *chains,
                                        const value_key *keys, row_t n, struct sutra_error *error) {
    chains->at = arena_take(search->arena, n, sizeof *chains->at);
    chains->next = arena_take(search->arena, n, sizeof *chains->next);
    if (!chains->at || !chains->next)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        chains->at[i] = ROW_NONE;
    for (row_t i = n; i-- > 0;) {
        row_t first = key_index_find(&chains->index, keys[i]);
        chains->next[i] = chains->at[first];
        chains->at[first] = i;
    }
    return SUTRA_OK;
}

static enum sutra_status index_launches(const struct parent_search *search, struct launch_chains *chains,
                                        struct sutra_error *error) {
    const struct operator_lists *lists = search->lists;
    value_key *keys = arena_take(search->arena, lists->n_launches, sizeof *keys);
    if (!keys)
        return error_memory(error);
    for (row_t i = 0; i < lists->n_launches; i++)
        keys[i] = correlation_of(&search->trace->events, lists->launch[i]);
    row_t second;
    enum sutra_status status =
        key_index_build(&chains->index, &search->context->engine, keys, lists->n_launches, KEY_FIRST, &second, error);
    if (status || second == ROW_NONE)
        return status;
    status = judge_repetition(search, keys[second], second, error);
    return status ? status : chain_launches(search, chains, keys, lists->n_launches, error);
}

/* The launch of a GPU operator, whose starts rise from call to call; ROW_NONE: there is none. */
static row_t launch_of(const struct parent_search *search, struct launch_chains *chains, row_t gpu) {
    const struct device_events *events = &search->trace->events;
    row_t first = key_index_find(&chains->index, correlation_of(events, gpu));
    if (first == ROW_NONE || !chains->next)
        return first;
    row_t *at = &chains->at[first];
    while (chains->next[*at] != ROW_NONE &&
           number_compare(number_at(events->ts, search->lists->launch[chains->next[*at]]),
                          number_at(events->ts, gpu)) <= 0)
        *at = chains->next[*at];
    return *at;
}

/* The columns of the queries, which the engine reads. */
struct queries {
    struct parent_queries table;
    struct number_column launch_ts;
    uint32_t *thread;
    value_key *external;
    uint8_t *nccl;
    row_t *parent;
};

static struct queries queries_take(struct arena *arena, row_t n) {
    return (struct queries){.launch_ts = numbers_take(arena, n),
                            .thread = arena_take(arena, n, sizeof(uint32_t)),
                            .external = arena_take(arena, n, sizeof(value_key)),
                            .nccl = arena_take(arena, n, sizeof(uint8_t)),
                            .parent = arena_take(arena, n, sizeof(row_t))};
}

/* Fills query i for a GPU operator from its launch. */
static void put_query(const struct parent_search *search, struct queries *queries, row_t i, row_t gpu, row_t launch) {
    const struct device_events *events = &search->trace->events;
    value_key tid = events->tid[launch];
    row_t first = key_index_find(&search->lists->threads, tid);
    number_put(queries->launch_ts, i, number_at(events->ts, launch));
    queries->thread[i] = tid == 0 ? marker_thread(search) : first == ROW_NONE ? UINT32_MAX : search->cpu->thread[first];
    queries->external[i] = events->external[gpu];
    queries->nccl[i] = (name_roles(events, search->roles, gpu) & NAME_NCCL) != 0;
}

/* A query for each GPU operator that has a launch; those operators go to search->gpu. */
static enum sutra_status make_queries(struct parent_search *search, struct launch_chains *launches,
                                      struct queries *queries, struct sutra_error *error) {
    const struct operator_lists *lists = search->lists;
    const struct device_events *events = &search->trace->events;
    row_t n = 0;
    for (row_t i = 0; i < lists->n_gpu; i++) {
        row_t gpu = lists->gpu[i], launch = launch_of(search, launches, gpu);
        if (launch == ROW_NONE) {
            search->n_without_launch++;
            continue;
        }
        if (events->flags[gpu] & EVENT_NAME_NO_STRING && !search->context->options.lenient)
            return event_error(search->trace, gpu, "name", "a string", error);
        put_query(search, queries, n, gpu, lists->launch[launch]);
        search->gpu[n++] = gpu;
    }
    queries->table = (struct parent_queries){.n = n,
                                             .launch_ts = queries->launch_ts,
                                             .thread = queries->thread,
                                             .external = queries->external,
                                             .nccl = queries->nccl};
    return SUTRA_OK;
}

/* Keeps the operators that found a parent. */
static void keep_found(struct parent_search *search, const struct queries *queries) {
    for (row_t i = 0; i < queries->table.n; i++) {
        row_t parent = queries->parent[i];
        if (parent == ROW_NONE) {
            search->n_without_parent++;
            continue;
        }
        search->gpu[search->n_found] = search->gpu[i];
        search->external[search->n_found++] = parent < search->cpu->n ? search->cpu->external[parent] : MARKER_EXTERNAL;
    }
}

static enum sutra_status search_parents(struct parent_search *search, const struct op_markers *markers,
                                        struct sutra_error *error) {
    const struct engine *engine = &search->context->engine;
    struct launch_chains launches = {0};
    row_t n = search->lists->n_gpu;
    struct queries queries = queries_take(search->arena, n);
    search->gpu = arena_take(search->arena, n, sizeof *search->gpu);
    search->external = arena_take(search->arena, n, sizeof *search->external);
    struct parents_step step = {search->cpu, markers, &queries.table, queries.parent};
    enum sutra_status status = arena_status(search->arena, error);
    if (!status)
        status = index_launches(search, &launches, error);
    if (!status)
        status = make_queries(search, &launches, &queries, error);
    if (!status)
        status = engine->parents(engine->state, &step, error);
    if (!status)
        keep_found(search, &queries);
    key_index_free(&launches.index);
    return status;
}

enum sutra_status parent_search_run(struct parent_search *search, struct sutra_error *error) {
    struct markers markers = {0};
    enum sutra_status status = make_markers(search, &markers, error);
    if (!status)
        status = search_parents(search, &markers.table, error);
    return status;
}
