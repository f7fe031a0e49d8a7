/*
 * path_search.h - one search for the critical path: the columns that its stages fill, one after the other.
 *
 *     rows.c         which events count, their times and streams
 *     links.c        calls and the GPU rows that they caused, by correlation
 *     window.c       complete steps, the annotation's window, the rows in it
 *     cpu_graph.c    operators of each thread, nested, as nodes and edges
 *     queue.c        length of each stream's queue at launches and kernels
 *     waits.c        what event records and stream waits refer to
 *     gpu_graph.c    kernels, delays and synchronisation as nodes and edges
 *     longest.c      the longest path through the graph
 *
 * All columns are over the events of the device trace, so an event's number is its row everywhere. There are two sets
 * of rules. The reference's are those of HTA with pandas 2 and stable sorts, down to where it gives up; the linker
 * needs them. The extended ones serve traces on which those fail: streams 0 and named streams, devices with equal
 * stream numbers, HIP, repeated correlations, no annotation at all.
 *
 * A stage ends the search by setting an outcome other than OUTCOME_PATH. Cost: O(n) of every stage but for sorts.
 */
#ifndef CRITICAL_PATH_SEARCH_H
#define CRITICAL_PATH_SEARCH_H

#include "columns/tuples.h"
#include "context/context.h"
#include "critical_path/graph.h"
#include "facts/names.h"
#include "read/device_trace.h"
#include "read/event_places.h"
#include "read/fields.h"

enum outcome {
    OUTCOME_PATH,  /* nothing stands against a path so far */
    OUTCOME_EMPTY, /* the reference notices that it cannot go on: no dependencies */
    OUTCOME_CRASH, /* the reference crashes */
};

struct path_rules {
    bool extended;
    bool pandas3;           /* as the reference behaves with pandas 3 */
    const char *annotation; /* part of a name; NULL with extended rules: the whole trace */
    uint64_t instance;      /* which of the rows of that name, from 0 */
};

/* A role of this search: the name contains the annotation that is looked for. */
#define NAME_ANNOTATION NAME_OWN

#define CATEGORY_OP (CATEGORY_CPU_OP | CATEGORY_CALL)

enum row_state {
    ROW_KEPT = 1,    /* has a duration and a category */
    ROW_FULL = 2,    /* kept, and in a step that is complete */
    ROW_CLIPPED = 4, /* full, and in the window */
    ROW_GPU = 8,     /* on a stream, or a row of synchronisation */
};

/* A row's stream where it has none. */
#define STREAM_NONE (-1)

/* A row that waits for an event: args of the same names. */
struct wait_row {
    row_t event;
    value_key stream, record; /* wait_on_stream, wait_on_cuda_event_record_corr_id */
};

struct path_search {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    struct path_rules rules;
    struct field_reader reader;
    struct sutra_error *error;
    struct arena arena;

    enum outcome outcome;
    char reason[240]; /* why there is no path */

    struct string_roles *roles;
    struct string_roles roles_used; /* all roles of strings that kept rows have, as a name or a category */
    bool rounded;                   /* times are rounded to whole microseconds */

    /* Columns over events; meaningless where the state is not ROW_KEPT. */
    int64_t *ts; /* since the first row */
    double *dur;
    value_key *stream; /* STREAM_NONE where there is none */
    row_t *link;       /* the row at the other end of the correlation; 0 also: none; ROW_NONE: no correlation. With
                          extended rules ROW_NONE wherever there is none. */
    uint8_t *state;    /* enum row_state */

    row_t *full, n_full;       /* in the order in which they are gone through */
    row_t *clipped, n_clipped; /* rising */
    struct wait_row *waits;
    row_t n_waits;
    row_t annotation; /* row of the window, or ROW_NONE: all */
    int64_t window_begin;
    double window_end;

    /* Bits of queue lengths, over events; see queue.c. */
    uint8_t *queue;

    /* See waits.c. */
    bool has_records, has_waits;
    struct tuples records;    /* correlations of records, and, with extended rules, what waits for them */
    row_t *record_launch;     /* per such: the launch before it, or ROW_NONE */
    struct tuples wait_calls; /* rows of calls that make a stream wait */
    row_t *wait_launch;       /* per such: the next launch on that stream, or ROW_NONE */

    struct graph graph;
    node_t *path;
    uint32_t *path_edge; /* edge path_edge[i] leads from path[i] to path[i + 1] */
    node_t n_path;
};

/* The stages. A status other than SUTRA_OK: out of memory, or too large a trace. */
enum sutra_status rows_read(struct path_search *search);
enum sutra_status links_find(struct path_search *search);
enum sutra_status window_find(struct path_search *search);
enum sutra_status cpu_graph_build(struct path_search *search);
enum sutra_status queue_measure(struct path_search *search);
enum sutra_status waits_resolve(struct path_search *search);
enum sutra_status gpu_graph_build(struct path_search *search);
enum sutra_status longest_path_find(struct path_search *search);

/* Runs all of them. The search is the caller's to free whatever comes of it. */
enum sutra_status path_search_run(struct path_search *search, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, const struct path_rules *rules,
                                  struct sutra_error *error);
void path_search_free(struct path_search *search);

/* Ends the search; both return SUTRA_OK, so that a stage can return what they return. */
__attribute__((format(printf, 2, 3))) enum sutra_status stop_empty(struct path_search *search, const char *format, ...);
__attribute__((format(printf, 2, 3))) enum sutra_status stop_crash(struct path_search *search, const char *format, ...);

/* A field of the event as a key; `absent` where it is not there. */
value_key event_key(struct path_search *search, const struct event_places *places, enum event_field field,
                    value_key absent);

static inline bool name_has(const struct path_search *search, row_t event, uint32_t role) {
    return (name_roles(search->events, search->roles, event) & role) != 0;
}

static inline bool category_has(const struct path_search *search, row_t event, uint32_t role) {
    return (category_roles(search->events, search->roles, event) & role) != 0;
}

/* Whether a row that counts has the string, as a name or as a category. */
static inline bool is_used(struct string_roles roles) {
    return roles.name & NAME_USED || roles.category & CATEGORY_USED;
}

static inline bool on_stream(const struct path_search *search, row_t event) {
    return search->stream[event] != STREAM_NONE;
}

/* Time of a node: its event's start, or its end. */
static inline double node_time(const struct path_search *search, node_t node) {
    row_t event = node_event(&search->graph, node);
    return (double)search->ts[event] + (node_is_end(node) ? search->dur[event] : 0);
}

/* Sorts rows stably by a time that is not below 0. `keys` has room for n. */
enum sutra_status search_sort(const struct path_search *search, uint64_t *keys, row_t *rows, row_t n);

/* Adds an edge whose weight is the time between its nodes, or 0; the reference crashes where they are the same node. */
enum sutra_status search_add_edge(struct path_search *search, node_t from, node_t to, enum edge_type type,
                                  bool no_time);

#endif
