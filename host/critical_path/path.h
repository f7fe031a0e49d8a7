/*
 * path.h - inside of struct sutra_critical_path, and the writers of its formats.
 */
#ifndef CRITICAL_PATH_PATH_H
#define CRITICAL_PATH_PATH_H

#include "base/arena.h"
#include "columns/hash_tables.h"
#include "context/context.h"
#include "critical_path/graph.h"
#include "facts/names.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "read/event_fields.h"
#include "sutra/critical_path.h"
#include "write/text.h"

/*
 * One search for the critical path: its stages, and what each takes and gives.
 *
 *     trace --rows.c--> rows       which events count, their times and streams
 *            links.c               rows of calls and of the GPU that belong together, by correlation
 *           window.c--> window     complete steps, the annotation's window, the rows in it
 *        cpu_graph.c--> graph      operators of each thread, nested, as nodes and edges
 *     runtime_lock.c--> graph      in HTA 0.6: calls that wait for each other
 *            queue.c--> queue      length of each stream's queue at launches and kernels
 *            waits.c--> waits      what event records and stream waits refer to
 *        gpu_graph.c--> graph      kernels, delays and synchronisation as nodes and edges
 *          longest.c--> path       the longest path through the graph
 *
 * All columns are over the events of the device trace, so an event's number is its row everywhere. There are two sets
 * of rules. The reference's are those of HTA with pandas 2 and stable sorts, down to where it gives up; the linker
 * needs them. The extended ones serve traces on which those fail: streams 0 and named streams, devices with equal
 * stream numbers, HIP, repeated correlations, no annotation at all.
 *
 * A stage returns what stop_empty() or stop_crash() return where there is no path. Cost: O(n) of every stage but for
 * sorts.
 */

enum outcome {
    OUTCOME_PATH,  /* there is a path */
    OUTCOME_EMPTY, /* the reference notices that it cannot go on: no dependencies */
    OUTCOME_CRASH, /* the reference crashes */
};

struct path_rules {
    bool extended;
    bool pandas3;      /* as the reference behaves with pandas 3 */
    bool first_counts; /* event 0 may be an operator, which to the linker's version of the reference it never is */
    bool newer;        /* those of HTA 0.6; first_counts is set, too */
    const char *data_loading; /* with these: part of the names of rows that load data, which count as operators; NULL */
    const char *annotation;   /* part of a name; "", or NULL with extended rules: the whole trace */
    uint64_t instance;        /* which of the rows of that name, from 0 */
};

/* How a search ended, and why there is no path. */
struct path_verdict {
    enum outcome outcome;
    char reason[240];
};

/* What every stage works with. */
struct path_work {
    struct sutra_context *context;
    const struct engine *engine;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    struct path_rules rules;
    struct field_reader reader;
    struct arena *results; /* where what a stage gives lives */
    struct arena scratch;  /* and what it needs on the way */
    struct path_verdict *verdict;
    struct sutra_error *error;
};

/* A role of this search: the name contains the annotation that is looked for. */
#define NAME_ANNOTATION NAME_OWN

/* And that of rows that load data. */
#define NAME_LOADS_DATA (NAME_OWN << 1)

#define CATEGORY_OP (CATEGORY_CPU_OP | CATEGORY_CALL)

enum path_row_state {
    ROW_KEPT = 1,    /* has a duration and a category */
    ROW_GPU = 2,     /* on a stream, or a row of synchronisation */
    ROW_FULL = 4,    /* kept, and in a step that is complete */
    ROW_CLIPPED = 8, /* full, and in the window */
};

/* A row's stream where it has none. */
#define STREAM_NONE (-1)

/* A row that waits for an event: args of the same names. */
struct wait_row {
    row_t event;
    value_key stream, record; /* wait_on_stream, wait_on_cuda_event_record_corr_id */
};

/* Columns over events; meaningless where the state is not ROW_KEPT. */
struct path_rows {
    const struct device_events *events;
    struct string_roles *roles;
    struct string_roles used; /* all roles of strings that rows have, as a name or a category */
    int64_t *ts;              /* microseconds since the first row */
    double *dur;
    value_key *stream;      /* STREAM_NONE where there is none */
    row_t *link;            /* the row at the other end of the correlation; 0 also: none; ROW_NONE: no correlation. With
                          extended rules ROW_NONE wherever there is none. */
    uint8_t *state;         /* enum path_row_state */
    row_t *list, n;         /* the rows, in the order in which they are gone through */
    row_t n_untimed;        /* events with a duration but no start, which are left out */
    struct wait_row *waits; /* rising */
    row_t n_waits;
};

struct path_window {
    row_t annotation; /* row of the window, or ROW_NONE: all */
    int64_t begin;
    double end;
    bool timeless;  /* by extended rules: no row in it takes any time, and all count */
    row_t *rows, n; /* rising */
};

/* What event records and stream waits refer to. */
struct path_waits {
    bool has_records, has_waits;
    struct tuples records;    /* correlations of records, and, with extended rules, what waits for them */
    row_t *record_launch;     /* per such: the launch before it, or ROW_NONE */
    struct tuples wait_calls; /* rows of calls that make a stream wait */
    row_t *wait_launch;       /* per such: the next launch on that stream, or ROW_NONE */
};

struct path_nodes {
    node_t *node, n;
    uint32_t *edge; /* edge[i] leads from node[i] to node[i + 1] */
};

/* What a search gives. */
struct path_search {
    const struct sutra_device_trace *trace;
    struct path_rules rules;
    struct path_verdict verdict;
    struct arena arena;
    struct path_rows rows;
    struct path_window window;
    struct graph graph;
    struct path_nodes path;
};

/* The stages. Failures other than the end of the search: out of memory, or too large a trace. */
enum sutra_status rows_read(struct path_work *work, struct path_rows *rows);
enum sutra_status links_find(struct path_work *work, struct path_rows *rows); /* gives the links */

/* Leaves the rows of complete steps on the list. */
enum sutra_status window_find(struct path_work *work, struct path_rows *rows, struct path_window *window);
enum sutra_status cpu_graph_build(struct path_work *work, const struct path_rows *rows,
                                  const struct path_window *window, struct graph *graph);

/* queue[event]: enum queue_bit. */
enum sutra_status queue_measure(struct path_work *work, const struct path_rows *rows, uint8_t *queue);
enum sutra_status waits_resolve(struct path_work *work, const struct path_rows *rows, struct path_waits *waits);
enum sutra_status gpu_graph_build(struct path_work *work, const struct path_rows *rows,
                                  const struct path_window *window, const uint8_t *queue,
                                  const struct path_waits *waits, struct graph *graph);

/* All nodes of the graph by time, those of one time by event, starts first. */
enum sutra_status nodes_by_time(struct path_work *work, const struct path_rows *rows, const struct graph *graph,
                                node_t *nodes);

enum sutra_status longest_path_find(struct path_work *work, const struct path_rows *rows, struct graph *graph,
                                    struct path_nodes *path);

/* Runs all of them. The search is the caller's to free whatever comes of it. */
enum sutra_status path_search_run(struct path_search *search, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, const struct path_rules *rules,
                                  struct sutra_error *error);
void path_search_free(struct path_search *search);

/* End the search, with the reason why there is no path: what they return is no failure. */
__attribute__((format(printf, 2, 3))) enum sutra_status stop_empty(const struct path_work *work, const char *format,
                                                                   ...);
__attribute__((format(printf, 2, 3))) enum sutra_status stop_crash(const struct path_work *work, const char *format,
                                                                   ...);

/* Whether there was memory for all that was taken. */
static inline enum sutra_status work_taken(const struct path_work *work) {
    enum sutra_status status = arena_status(work->results, work->error);
    return status ? status : arena_status(&work->scratch, work->error);
}

/* A field of the event as a key; `absent` where it is not there. */
static inline value_key event_key(struct field_reader *reader, const struct event_places *places,
                                  enum event_field field, value_key absent) {
    struct json_place place = places->field[field];
    return place.at ? field_key(reader, place) : absent;
}

static inline bool name_has(const struct path_rows *rows, row_t event, uint32_t role) {
    return (name_roles(rows->events, rows->roles, event) & role) != 0;
}

static inline bool category_has(const struct path_rows *rows, row_t event, uint32_t role) {
    return (category_roles(rows->events, rows->roles, event) & role) != 0;
}

static inline bool on_stream(const struct path_rows *rows, row_t event) {
    return rows->stream[event] != STREAM_NONE;
}

/* Time of a node: its event's start, or its end. */
static inline double node_time(const struct path_rows *rows, const struct graph *graph, node_t node) {
    row_t event = node_event(graph, node);
    return (double)rows->ts[event] + (node_is_end(node) ? rows->dur[event] : 0);
}

/* A row's stream as a tuple; with extended rules each device has streams of its own. */
static inline struct tuple stream_of(const struct path_work *work, const struct path_rows *rows, row_t event) {
    return (struct tuple){{rows->stream[event], work->rules.extended ? work->events->pid[event] : 0}};
}

/* Whether a row counts as an operator, which has nodes. */
static inline bool is_operator(const struct path_work *work, const struct path_rows *rows, row_t event) {
    bool counts = event > 0 || work->rules.first_counts || work->rules.extended;
    return counts && (category_has(rows, event, CATEGORY_OP) || name_has(rows, event, NAME_LOADS_DATA));
}

/* Sorts rows stably by a time that is not below 0. `keys` has room for n. */
enum sutra_status work_sort(const struct path_work *work, uint64_t *keys, row_t *rows, row_t n);

/* Adds an edge whose weight is the time between its nodes, or 0; the reference crashes where they are the same node. */
enum sutra_status work_add_edge(const struct path_work *work, const struct path_rows *rows, struct graph *graph,
                                node_t from, node_t to, enum edge_type type, bool no_time);

/*
 * What waits for what on the critical path, in external ids: all that the linker wants of it.
 */

/* Entry i: what has the external id end[i] waits for what has start[i]. Pairs may repeat. */
struct sync_map {
    value_key *end, *start;
    row_t n;
};

void sync_map_free(struct sync_map *map);

/* The map by the rules of the reference. Where there is none `map` is empty and the verdict tells why. */
enum sutra_status sync_map_find(struct sync_map *map, struct sutra_context *context,
                                const struct sutra_device_trace *trace, bool pandas3, struct path_verdict *verdict,
                                struct sutra_error *error);

/* Whose rules are the reference's: the version that Chakra's linker asks for. */
#define PATH_REFERENCE "Holistic Trace Analysis (d731cc2)"

struct sutra_critical_path {
    struct sutra_context *context;
    struct path_search search;
    struct sync_map map;
    bool newer;         /* HTA 0.6 is wanted */
    bool only_critical; /* in the marked trace, and which arrows */
    enum sutra_path_arrows arrows;
    struct path_verdict verdict; /* how the reference's rules ended */
    struct sutra_critical_path_report report;
    struct sutra_path_share *shares;
};

/* Fills the report and the shares. */
enum sutra_status breakdown_make(struct sutra_critical_path *path, struct sutra_error *error);

/* What an edge's time went to. The event that owns it: the operator or kernel, else ROW_NONE. */
enum sutra_path_kind edge_kind(const struct path_search *search, uint32_t edge, row_t *owner);

static inline const char *event_name(const struct path_search *search, row_t event) {
    return strings_text(&search->trace->strings, search->rows.events->name[event]);
}

/* The writers append to the text; false: out of memory. */
bool write_path_text(const struct sutra_critical_path *path, struct text_out *text);
bool write_path_json(const struct sutra_critical_path *path, struct text_out *text);
bool write_path_chrome(const struct sutra_critical_path *path, struct text_out *text);

#endif
