/*
 * critical_path.h - the longest chain of work and waiting through a device trace, or one step of it.
 *
 *     device trace --> sutra_critical_path_find() --> struct sutra_critical_path --> sutra_critical_path_write()
 *
 * Nodes are starts and ends of operators and kernels; edges are their own time, the delay from a launch to its kernel
 * and from one kernel to the next on a stream, and synchronisation. The rules are those of Holistic Trace Analysis with
 * pandas 2 and stable sorts. Where those fail, or know less than the trace (stream 0, equal stream numbers on several
 * devices, HIP), rules of ours take their place, which never fail for such reasons.
 */
#ifndef SUTRA_CRITICAL_PATH_H
#define SUTRA_CRITICAL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/edition.h"
#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_critical_path;

/* Which edges of the graph are arrows in the marked trace. */
enum sutra_path_arrows {
    SUTRA_ARROWS_PATH,  /* those of the path between two events */
    SUTRA_ARROWS_WAITS, /* of these dependencies, launch delays and synchronisation, as HTA has it */
    SUTRA_ARROWS_ALL,   /* all of the graph between two events; args.critical tells those of the path */
    SUTRA_N_ARROWS
};

/* Options; zero every field that you do not set. `size` is sizeof the struct as the caller knows it. */
struct sutra_critical_path_options {
    size_t size;
    const char *annotation; /* part of the name of an event that the path is looked for in; NULL: "ProfilerStep" if
                               there is one, else the whole trace; "": the whole trace */
    uint64_t instance;      /* which of the events of that name, from 0 */
    enum sutra_hta_edition edition;
    const char *data_loading; /* edition 0.6: rows with this in their name load data, and count as operators; NULL */
    bool only_critical;       /* in the marked trace only spans on the path, annotations and functions of Python stay */
    enum sutra_path_arrows arrows;
};

/* Finds the path in the trace, which must outlive it. *path is the caller's.
 * SUTRA_DATA: no such annotation, or no path. SUTRA_SYSTEM: out of memory. A warning tells where our own rules were
 * used because the reference's fail. */
enum sutra_status sutra_critical_path_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_critical_path_options *options,
                                           struct sutra_critical_path **path, struct sutra_error *error);

/* What time on the path went to; in microseconds. */
enum sutra_path_kind {
    SUTRA_PATH_OPERATOR,     /* operators and calls of the CPU */
    SUTRA_PATH_KERNEL,       /* kernels, copies and sets of the GPU */
    SUTRA_PATH_LAUNCH_DELAY, /* between a launch and its kernel */
    SUTRA_PATH_KERNEL_DELAY, /* between two kernels of a stream */
    SUTRA_PATH_SYNC,         /* waits, which are edges of weight 0: their number tells */
    SUTRA_PATH_DEPENDENCY,   /* from one top-level operator to the next, of weight 0 too */
    SUTRA_PATH_N_KINDS
};

struct sutra_path_share {
    enum sutra_path_kind kind;
    const char *name; /* the operator's or kernel's; NULL for the other kinds; lives as long as the trace */
    double us;
    uint64_t n_edges;
};

/* A part of the window that the path does not reach: what begins there. */
struct sutra_path_outside {
    double us; /* 0: there is no such part */
    uint64_t n_operators, n_kernels;
    const char
        *longest;      /* the longest of the kernels and outermost operators; NULL: none; lives as long as the trace */
    double longest_us; /* as far as it lies in there */
};

struct sutra_critical_path_report {
    size_t size;               /* sizeof the struct, which the caller sets */
    uint64_t n_nodes, n_edges; /* of the graph */
    uint64_t n_path_nodes;
    bool extended;      /* our own rules were used */
    const char *reason; /* why the reference finds no path, "" where it does */
    double us;          /* all weights on the path */
    double kind_us[SUTRA_PATH_N_KINDS];
    uint64_t kind_edges[SUTRA_PATH_N_KINDS];
    double compute_us, communication_us, memory_us; /* of the kernels */
    const struct sutra_path_share *shares;          /* by kind, then by falling time; lives as long as the path */
    uint64_t n_shares;
    double window_us;        /* of the annotation, or of the whole trace */
    double begin_us, end_us; /* of the path, since the window's begin */
    struct sutra_path_outside before, behind;
    const char *window;             /* name of the annotation; NULL: the whole trace; lives as long as the trace */
    enum sutra_hta_edition edition; /* whose rules gave the path, or what ours are like */
    double data_loading_us;         /* of the operators' time that of rows that load data */
};
void sutra_critical_path_report(const struct sutra_critical_path *path, struct sutra_critical_path_report *report);

/* A stretch of the path, from one of its nodes to the next. */
struct sutra_path_step {
    size_t size; /* sizeof the struct, which the caller sets */
    enum sutra_path_kind kind;
    const char *name;    /* whose time it is, or from what it leads; lives as long as the trace */
    const char *to_name; /* to what it leads; NULL where it is the time of an operator or kernel */
    double at_us, us;    /* since the window's begin */
};
/* Fills in stretch i of n_path_nodes - 1. */
void sutra_critical_path_step(const struct sutra_critical_path *path, uint64_t i, struct sutra_path_step *step);

enum sutra_path_format {
    SUTRA_PATH_TEXT,   /* for people: the breakdown and the path */
    SUTRA_PATH_JSON,   /* map of external ids, nodes, edges, path, breakdown */
    SUTRA_PATH_CHROME, /* the trace itself: the path's events marked (args "critical_path"), its edges as flows */
};

/* Writes to a file as sutra_linked_write() does. */
enum sutra_status sutra_critical_path_write(struct sutra_context *context, const struct sutra_critical_path *path,
                                            enum sutra_path_format format, const char *file, struct sutra_error *error);

void sutra_critical_path_free(struct sutra_critical_path *path);

/* ---- By full rules ---- */

/* The longest path through all that the trace tells: the processor's work of all threads in one line, what it waits
 * for, launches, streams and the events between them, as in .et files that take the measured time. So the path lasts
 * from the first start to the last end, and each moment of it is of one kind. */
struct sutra_full_path;

enum sutra_full_kind {
    SUTRA_FULL_OPERATOR,      /* the processor in an operator, of several that run the one that began last */
    SUTRA_FULL_GAP,           /* in no operator */
    SUTRA_FULL_LAUNCH,        /* between a launch and its kernel */
    SUTRA_FULL_STREAM_GAP,    /* between a kernel and the one that waited for it */
    SUTRA_FULL_KERNEL,        /* computation on the GPU */
    SUTRA_FULL_COPY,          /* copies there */
    SUTRA_FULL_COMMUNICATION, /* collectives and messages there */
    SUTRA_FULL_N_KINDS
};

/* Steps of the path of one kind and name. */
struct sutra_full_share {
    enum sutra_full_kind kind;
    const char *name; /* the operator's or kernel's, NULL of gaps; lives as long as the trace */
    double us;
    uint64_t n_steps;
    uint64_t n_waits;     /* after so many of these steps the processor went on, which had waited for the kernel */
    uint32_t first_event; /* the first event of the file that is among them */
};

/* How much longer an operator or a kernel may take without the path becoming longer, if nothing else changes and the
 * kernels of a stream keep their order: 0 on the path, but where the processor goes on beside a kernel. Of an operator
 * it counts wherever in it that time is spent. */
struct sutra_full_slack {
    uint32_t event;
    enum sutra_full_kind kind;
    const char *name;
    double us; /* as measured */
    double slack_us;
};

/* The same of all operators or kernels of one kind and name that have slack: at least 0.1 us. */
struct sutra_full_slack_name {
    enum sutra_full_kind kind;
    const char *name;
    uint64_t n;
    double us;                /* of these, as measured */
    double least_us, most_us; /* their slack */
    uint32_t first_event;
};

struct sutra_full_report {
    size_t size;        /* sizeof the struct, which the caller sets */
    uint64_t n_nodes;   /* of the graph */
    uint64_t n_steps;   /* of the path */
    uint64_t n_waits;   /* after so many of these the processor went on, which had waited for the GPU */
    double us;          /* the path */
    double measured_us; /* from the first start to the last end */
    double kind_us[SUTRA_FULL_N_KINDS];
    uint64_t kind_steps[SUTRA_FULL_N_KINDS];
    const struct sutra_full_share *shares; /* the longest first; lives as long as the path */
    uint64_t n_shares;
    const struct sutra_full_slack *slacks; /* by event; lives as long as the path */
    uint64_t n_slacks;
    const struct sutra_full_slack_name *slack_names; /* the longest first */
    uint64_t n_slack_names;
};

/* Finds the path in the trace, or in what begins in the time of an annotation; the trace must outlive it. *path is the
 * caller's. SUTRA_DATA: no such annotation, or nothing in its time. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_full_path_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                       const struct sutra_critical_path_options *options, struct sutra_full_path **path,
                                       struct sutra_error *error);
void sutra_full_path_report(const struct sutra_full_path *path, struct sutra_full_report *report);

/* Writes text or JSON as sutra_critical_path_write() does; there is no marked trace: SUTRA_USAGE. */
enum sutra_status sutra_full_path_write(struct sutra_context *context, const struct sutra_full_path *path,
                                        enum sutra_path_format format, const char *file, struct sutra_error *error);
void sutra_full_path_free(struct sutra_full_path *path);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
