/*
 * path.h - internals of struct sutra_critical_path: the stages of a search, and the writers of the formats.
 *
 *     event_rows.c  trace -> rows       the events that count, their times and streams
 *                         -> links      calls and GPU activity with the same correlation
 *                         -> window     complete steps, the annotation's window, the rows in it
 *     cpu_graph.c         -> graph      operators of each thread, nested, as nodes and edges; in HTA 0.6 also the lock
 *                                       of the CUDA runtime
 *     gpu_graph.c         -> queue      lengths of each stream's queue at launches and kernels
 *                         -> waits      the launches of event records and stream waits
 *                         -> graph      kernels, delays and synchronization as nodes and edges
 *     graph.c             -> path       the longest path through the graph
 *
 * All columns have one entry per event of the device trace, so the row of an event is its number. There are two sets of
 * rules. The reference rules are the rules of HTA with pandas 2 and stable sorts, including its failures; the linker
 * needs them. The extended rules serve traces on which HTA fails: streams 0 and named streams, devices with equal
 * stream numbers, HIP, repeated correlations, no annotation.
 *
 * A stage returns the result of stop_empty() or stop_crash() if there is no path. Cost: O(n) per stage, and sorts.
 */
#ifndef CRITICAL_PATH_PATH_H
#define CRITICAL_PATH_PATH_H

#include "base/arena.h"
#include "base/error.h"
#include "columns/hash_tables.h"
#include "context/context.h"
#include "critical_path/graph.h"
#include "facts/names.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "read/event_fields.h"
#include "sutra/critical_path.h"
#include "write/text.h"

enum outcome {
    OUTCOME_PATH,  /* path found */
    OUTCOME_EMPTY, /* HTA catches the problem: no dependencies */
    OUTCOME_CRASH, /* HTA raises an exception */
};

struct path_rules {
    bool extended;
    bool first_counts;        /* event 0 may be an operator; the linker's version of HTA ignores it */
    bool newer;               /* the rules of HTA 0.6; first_counts is set, too */
    const char *data_loading; /* HTA 0.6: rows whose name contains this text are operators that load data; or NULL */
    const char *annotation;   /* text in a name; "", or NULL with extended rules: the whole trace */
    uint64_t instance;        /* index among the rows with such a name */
    const char *step;         /* instead of the annotation: the steps of the window, "3" or "3-5"; or NULL */
};

/* How a search ended, and why there is no path. */
struct path_verdict {
    enum outcome outcome;
    char reason[240];
};

/* Inputs, results and errors of all stages. */
struct path_work {
    struct sutra_context *context;
    const struct engine *engine;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    struct path_rules rules;
    struct field_reader reader;
    struct arena *results; /* results of the stages */
    struct arena scratch;  /* temporary columns */
    struct path_verdict *verdict;
    struct sutra_error *error;
};

/* Roles of this search: the name contains the annotation, or the text for data loading. */
#define NAME_ANNOTATION NAME_OWN
#define NAME_LOADS_DATA (NAME_OWN << 1)

#define CATEGORY_OP (CATEGORY_CPU_OP | CATEGORY_CALL)

enum path_row_state {
    ROW_KEPT = 1,    /* has a duration and a category */
    ROW_GPU = 2,     /* on a stream, or a synchronization row */
    ROW_FULL = 4,    /* kept, and in a complete step */
    ROW_CLIPPED = 8, /* full, and in the window */
};

/* The stream of rows without a stream. */
#define STREAM_NONE (-1)

/* A row that waits for an event: two of its args. */
struct wait_row {
    row_t event;
    value_key stream, record; /* wait_on_stream, wait_on_cuda_event_record_corr_id */
};

/* Columns per event; valid only for states with ROW_KEPT. */
struct path_rows {
    const struct device_events *events;
    struct string_roles *roles;
    struct string_roles used; /* union of the roles of all names and categories of rows */
    int64_t *ts;              /* microseconds since the first row */
    double *dur;
    value_key *stream;      /* or STREAM_NONE */
    row_t *link;            /* the row at the other end of the correlation; ROW_NONE: no correlation, or (extended) no
                          partner; 0: no partner by HTA's rules */
    uint8_t *state;         /* enum path_row_state */
    row_t *list, n;         /* the rows, in processing order */
    row_t n_untimed;        /* events with a duration but no start: skipped */
    struct wait_row *waits; /* ascending */
    row_t n_waits;
};

struct path_window {
    row_t annotation; /* row of the window or of its first step, or ROW_NONE: the whole trace */
    char steps[80];   /* "ProfilerStep#3-5", if the window consists of steps */
    int64_t begin;
    double end;
    bool timeless;  /* extended rules: all rows in the window have length 0, and count */
    row_t *rows, n; /* ascending */
};

/* The launches of event records and stream waits. */
struct path_waits {
    bool has_records, has_waits;
    struct tuples records;    /* correlation of a record; with extended rules also the waiting stream and device */
    row_t *record_launch;     /* per record: the last launch before it, or ROW_NONE */
    struct tuples wait_calls; /* rows of calls that make a stream wait */
    row_t *wait_launch;       /* per wait call: the next launch on the stream, or ROW_NONE */
};

struct path_nodes {
    node_t *node, n;
    uint32_t *edge; /* edge[i] leads from node[i] to node[i + 1] */
};

/* Results of a search. */
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

/* The stages. Failures other than the end of the search: out of memory, or the trace is too large. */
enum sutra_status rows_read(struct path_work *work, struct path_rows *rows);
enum sutra_status links_find(struct path_work *work, struct path_rows *rows);

/* Drops the rows of incomplete steps from the list. */
enum sutra_status window_find(struct path_work *work, struct path_rows *rows, struct path_window *window);
enum sutra_status cpu_graph_build(struct path_work *work, const struct path_rows *rows,
                                  const struct path_window *window, struct graph *graph);

/* queue[event]: bits of enum queue_bit. */
enum sutra_status queue_measure(struct path_work *work, const struct path_rows *rows, uint8_t *queue);
enum sutra_status waits_resolve(struct path_work *work, const struct path_rows *rows, struct path_waits *waits);
enum sutra_status gpu_graph_build(struct path_work *work, const struct path_rows *rows,
                                  const struct path_window *window, const uint8_t *queue,
                                  const struct path_waits *waits, struct graph *graph);

/* Lists all nodes by time, nodes of equal time by event, starts first. */
enum sutra_status nodes_by_time(struct path_work *work, const struct path_rows *rows, const struct graph *graph,
                                node_t *nodes);

enum sutra_status longest_path_find(struct path_work *work, const struct path_rows *rows, struct graph *graph,
                                    struct path_nodes *path);

/* Runs all stages. The caller frees the search, also on failure. */
enum sutra_status path_search_run(struct path_search *search, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, const struct path_rules *rules,
                                  struct sutra_error *error);
void path_search_free(struct path_search *search);

/* Returned by a stage that ends the search. Callers of the library never get this status. */
#define SEARCH_ENDED ((enum sutra_status)255)

/* End the search with the reason why there is no path, and return SEARCH_ENDED. */
__attribute__((format(printf, 2, 3))) enum sutra_status stop_empty(const struct path_work *work, const char *format,
                                                                   ...);
__attribute__((format(printf, 2, 3))) enum sutra_status stop_crash(const struct path_work *work, const char *format,
                                                                   ...);

/* Fails if an allocation in one of the arenas failed. */
static inline enum sutra_status work_check_memory(const struct path_work *work) {
    TRY(arena_status(work->results, work->error));
    return arena_status(&work->scratch, work->error);
}

/* A field of the event as a key, or `absent`. */
static inline value_key event_key(struct field_reader *reader, const struct event_spans *places, enum event_field field,
                                  value_key absent) {
    struct json_span place = places->field[field];
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

/* The start or end of the event of a node. */
static inline double node_time(const struct path_rows *rows, const struct graph *graph, node_t node) {
    row_t event = node_event(graph, node);
    return (double)rows->ts[event] + (node_is_end(node) ? rows->dur[event] : 0);
}

/* The stream of a row as a tuple. By the extended rules, streams of different devices differ. */
static inline struct tuple stream_of(const struct path_work *work, const struct path_rows *rows, row_t event) {
    return (struct tuple){{rows->stream[event], work->rules.extended ? work->events->pid[event] : 0}};
}

/* Whether a row is an operator with nodes. */
static inline bool is_operator(const struct path_work *work, const struct path_rows *rows, row_t event) {
    bool counts = event > 0 || work->rules.first_counts || work->rules.extended;
    return counts && (category_has(rows, event, CATEGORY_OP) || name_has(rows, event, NAME_LOADS_DATA));
}

/* Sorts n rows stably by keys. */
static inline enum sutra_status work_sort(const struct path_work *work, uint64_t *keys, row_t *rows, row_t n) {
    return work->engine->sort_keys(work->engine->state, &(struct sort_keys_step){keys, rows, n}, work->error);
}

/* Adds an edge whose weight is the time between its nodes, or 0. Ends the search if both nodes are the same. */
enum sutra_status work_add_edge(const struct path_work *work, const struct path_rows *rows, struct graph *graph,
                                node_t from, node_t to, enum edge_type type, bool no_time);

/* Synchronization on the critical path in external ids: end[i] waits for start[i]. Pairs may repeat. */
struct sync_map {
    value_key *end, *start;
    row_t n;
};

void sync_map_free(struct sync_map *map);

/* Finds the map by HTA's rules. Without a path, `map` is empty and the verdict contains the reason. */
enum sutra_status sync_map_find(struct sync_map *map, struct sutra_context *context,
                                const struct sutra_device_trace *trace, struct path_verdict *verdict,
                                struct sutra_error *error);

/* The source of the reference rules: the version of HTA that Chakra's linker requires. */
#define PATH_REFERENCE "Holistic Trace Analysis (d731cc2)"

struct sutra_critical_path {
    struct sutra_context *context;
    struct path_search search;
    struct sync_map map;
    bool newer;         /* HTA 0.6 is selected */
    bool only_critical; /* in the Chrome trace */
    enum sutra_path_arrows arrows;
    uint64_t most_bytes;         /* of the output; 0: unlimited */
    struct path_verdict verdict; /* outcome of HTA's rules */
    struct sutra_critical_path_report report;
    struct sutra_path_share *shares;
};

/* The kind of an edge, and the operator or kernel that owns its time, or ROW_NONE. */
enum sutra_path_kind edge_kind(const struct path_search *search, uint32_t edge, row_t *owner);

static inline const char *event_name(const struct path_search *search, row_t event) {
    return strings_text(&search->trace->strings, search->rows.events->name[event]);
}

/* The size that an output has about. */
uint64_t path_output_size(const struct sutra_critical_path *path, enum sutra_path_format format);

/* Writers for text_file_write(), of a struct sutra_critical_path. */
bool write_path_text(const void *of, struct text_out *text);
bool write_path_json(const void *of, struct text_out *text);
bool write_path_chrome(const void *of, struct text_out *text);

#endif
