/*
 * graphs.h - attributes the kernels of CUDA and HIP graphs to operators and modules. One launch call starts all kernels
 * of a graph, so that its correlation names the launch and no operator.
 *
 *     graph launch --> kernels by time --+--> node:      the capture trace has their graph node ids
 *                                        +--> verified:  the kernel names of a captured segment, in this order
 *                                        +--> streams:   the same for each stream
 *                                        +--> counted:   as many dispatches as kernels; names were not recorded
 *                                        +--> name:      one operator launches kernels of this name outside of graphs
 *                                        +--> between:   the operator between two such kernels outside of graphs
 *                                        +--> unmatched: the launch remains the owner
 *
 * A capture trace recorded the capture of the graphs: the calls between StreamBeginCapture and StreamEndCapture are a
 * segment of dispatches in the order of the graph's kernels. A capture trace without captures is an eager run: its
 * profiler steps are the segments.
 *
 *     capture   |Begin| mm: launch gemm | silu: launch silu_k | add: launch add_k |End|      dispatches
 *     launch    gemm      silu_k     add_k                                                   kernels
 *
 * Two phases: graph_kernels_find() determines the owners by row of devices; graph_kernels_attach() inserts the owners
 * below the launch calls as rows of hosts without CPU time, so that all tables by operator, module and path count them.
 *
 * Cost: O(n log n) for n events of both traces. A launch is compared with at most GRAPH_SEGMENTS_MAX segments.
 */
#ifndef ANALYZE_LAUNCHES_GRAPHS_H
#define ANALYZE_LAUNCHES_GRAPHS_H

#include "analyze/launches/launches.h"
#include "columns/hash_tables.h"
#include "columns/strings.h"

enum graph_method {
    GRAPH_NONE, /* the activity belongs to no graph */
    GRAPH_NODE,
    GRAPH_VERIFIED,
    GRAPH_STREAMS,
    GRAPH_NAME,
    GRAPH_COUNTED,
    GRAPH_BETWEEN,
    GRAPH_UNMATCHED,
    GRAPH_N_METHODS
};

/* "verified", and its confidence: "exact", "high", "medium", "none". */
extern const char *const graph_method_names[GRAPH_N_METHODS];
extern const char *const graph_confidence_names[GRAPH_N_METHODS];

/* What readers of an attribution should know, by its confidence: "by kernel name"; "" if it is exact. */
const char *graph_remark(const char *confidence);

/* ---- Alignment of a launch with a segment (graph_align.c) ---- */

/* Segments that are compared with a launch at most, and streams of a launch that is aligned by stream. */
#define GRAPH_SEGMENTS_MAX 64
#define GRAPH_STREAMS_MAX  64

/* Symbols of dispatches: calls without a recorded kernel name, memcpy and memset calls; higher ones are numbers of
 * recorded names. */
enum { GRAPH_UNNAMED, GRAPH_COPY, GRAPH_SET, GRAPH_N_SYMBOLS };
#define GRAPH_NO_SYMBOL UINT32_MAX /* of a kernel whose name no dispatch records */

/* The dispatches of a segment, by time. */
struct graph_segment {
    row_t n;
    const row_t *call;      /* rows of the capture's hosts */
    const uint32_t *symbol; /* what each dispatch starts */
    const uint64_t *sorted; /* symbol << 32 | index, ascending */
    const uint64_t *prefix; /* n + 1 hashes of the first symbols */
    bool is_named;          /* all dispatches except memcpy and memset have names */
};

/* A kernel, memcpy or memset of a launch. */
struct graph_kernel {
    uint32_t symbol; /* of its name, or GRAPH_NO_SYMBOL */
    bool copies, sets;
    value_key stream;
};

/* Fills the derived members of a segment whose n, call and symbol are set; in the arena. O(n log n). */
enum sutra_status graph_segment_index(struct graph_segment *segment, struct arena *arena, struct arena *scratch,
                                      struct sutra_error *error);

/* Aligns n kernels with a segment: match[i] becomes the index of the dispatch of kernel i. Returns GRAPH_VERIFIED,
 * GRAPH_COUNTED, GRAPH_STREAMS or GRAPH_UNMATCHED, and GRAPH_NONE if memory runs out. O(n log n), and times the number
 * of streams for GRAPH_STREAMS. */
enum graph_method graph_align(const struct graph_segment *segment, const struct graph_kernel *kernels, row_t n,
                              struct arena *scratch, row_t *match);

/* ---- Capture traces (graph_captures.c) ---- */

/* One capture trace. */
struct graph_capture {
    struct sutra_device_trace *trace;
    struct launch_model model;
    struct strings names; /* recorded names of kernels: symbol - GRAPH_N_SYMBOLS */
    struct graph_segment *segments;
    row_t n_segments;
    struct pair_table nodes;   /* by graph node id: the call, a row of hosts */
    const uint32_t *arguments; /* by event: inputs of operators, of event_columns_strings(); STRING_NONE */
    const row_t *op;           /* by row of hosts: the innermost enclosing operator, or ROW_NONE */
    const row_t *module;       /* the innermost enclosing module */
    const row_t *enclosing;    /* the innermost of both */
    int64_t size;              /* captured batch size; -1: not recorded */
    int64_t rank;              /* -1: not recorded */
};

/* Capture traces are read once and shared by the analyses of all ranks, which only read them. */
struct graph_captures {
    size_t n;
    struct graph_capture *list;
    struct arena arena;
};

/* Reads capture traces; `captures` needs graph_captures_free() in any case. Errors as for sutra_device_trace_read(). */
enum sutra_status graph_captures_read(struct sutra_context *context, const char *const *paths, size_t n,
                                      struct graph_captures *captures, struct sutra_error *error);
void graph_captures_free(struct graph_captures *captures);

/* The batch size in the name of an annotation; -1: none. Iterations: "execute_64_context_0(...)_generation_64(...)",
 * "step[DECODE bs=64]"; captures: "capture_64_decode". O(length). */
int64_t graph_iteration_size(const char *name);
int64_t graph_capture_size(const char *name);

/* ---- Owners of graph kernels (graph_owners.c, graph_landmarks.c) ---- */

/* Enclosing operators and modules of a kernel that are replayed at most: the innermost ones. */
#define GRAPH_DEPTH 16

/* A row of a capture's hosts that a graph launch replays; ROW_NONE: an operator that is known by name only. */
struct graph_replay {
    uint32_t capture;
    row_t row;
};

/* By row of devices. */
struct graph_kernels {
    const struct graph_captures *captures; /* or NULL */
    uint8_t *method;                       /* enum graph_method */
    uint32_t *op, *module;        /* strings of the model: of the operator, and of the module's class; or STRING_NONE */
    uint32_t *capture;            /* index of the capture trace with the owner; without one: of no meaning */
    row_t *call;                  /* row of its hosts: the dispatch; ROW_NONE: found without a capture */
    row_t n_kernels;              /* of graph launches */
    struct graph_replay *replays; /* of the attached rows */
    struct strings strings;       /* of the model if owners have names that the trace lacks */
    bool has_strings;
};

/* Determines the owners of all kernels of graph launches of a model by our rules; model->graphs refers to the result,
 * and stays NULL without graph launches. `captures` NULL: without capture traces. `rank` selects capture traces of the
 * same rank if there are any. `graphs` needs graph_kernels_free() in any case, after the last use of the model. */
enum sutra_status graph_kernels_find(struct sutra_context *context, struct launch_model *model,
                                     const struct graph_captures *captures, int64_t rank, struct arena *arena,
                                     struct arena *scratch, struct graph_kernels *graphs, struct sutra_error *error);
void graph_kernels_free(struct graph_kernels *graphs);

/* Inserts the owners as rows of hosts and attributes all activities again (graph_rows.c). Rows of hosts get new
 * numbers. SUTRA_DATA: too many rows. */
enum sutra_status graph_kernels_attach(struct launch_model *model, struct graph_kernels *graphs, struct arena *arena,
                                       struct arena *scratch, struct sutra_error *error);

/* The captured inputs of an attached row, among event_columns_strings() of the trace of capture *capture; STRING_NONE:
 * unknown, or no attached row. */
uint32_t graph_replay_arguments(const struct launch_model *model, row_t host, uint32_t *capture);

/* The name of the operator of an activity, in a model with or without attached rows: of the graph's operator if it is
 * known, else of the launcher; STRING_NONE. */
static inline uint32_t activity_operator(const struct launch_model *model, row_t device) {
    row_t launcher = model->devices.launcher[device];
    if (model->graphs && model->graphs->op[device] != STRING_NONE)
        return model->graphs->op[device];
    return launcher == ROW_NONE ? STRING_NONE : model->hosts.name[launcher];
}

/* Whether kernels of graphs belong to an operator of this name with medium confidence. O(activities). */
static inline bool graph_operator_is_probable(const struct launch_model *model, uint32_t op) {
    for (row_t i = 0; model->graphs && i < model->devices.n; i++)
        if (model->graphs->op[i] == op &&
            (model->graphs->method[i] == GRAPH_COUNTED || model->graphs->method[i] == GRAPH_BETWEEN))
            return true;
    return false;
}

/* ---- Internal to the files that find owners ---- */

/* Kernels of graph launches, grouped by launch. */
struct graph_launches {
    row_t n;
    row_t *call;   /* rows of hosts, ascending by start, then by position in the file */
    row_t *first;  /* n + 1: kernels of launch i are device[first[i]] .. device[first[i + 1] - 1] */
    row_t *device; /* rows of devices, by start, then by position in the file */
};

/* graph_landmarks.c: finds owners without a capture trace. launch_of[device] != ROW_NONE marks kernels of graphs. O(n)
 * in expectation. */
enum sutra_status graph_landmarks_find(const struct launch_model *model, const row_t *launch_of, struct arena *scratch,
                                       struct graph_kernels *graphs, struct sutra_error *error);

#endif
