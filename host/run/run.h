/*
 * run.h - the inventory of a run: the role, window and rank of each trace below its directories.
 *
 *     directories --walk--> files --heads, in parallel--> traces --names, processes--> streams --times--> windows
 *                             \--> skipped files, with reasons
 *
 *     role       an engine with its own ranks: trainer, rollout, decode[1]; main, if the run names none
 *     stream     the traces of one rank or process, one after another
 *     window     the traces that the ranks of a role recorded in one cycle of the profiler
 *
 * All commands ask this inventory; none of them walks directories by itself. Names of ranks, windows and roles are in
 * tables, which one loop applies to each path.
 *
 * Heads decide as long as they can. Whether a trace has GPU activity is unknown until run_scan() has scanned it; until
 * then it counts as the trace of a rank. A trace without GPU activity is no rank if another trace has some.
 *
 * Cost: O(n log n) in the number of files, a stat and a head per candidate; about 300 bytes per file.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "context/context.h"
#include "sutra/error.h"

#define RUN_NO_TIME INT64_MIN

/* Why a file is not the trace of a rank; RUN_TRACE: it is. A flat run has only the first ones, and RUN_OTHER. */
enum run_kind {
    RUN_TRACE,
    RUN_HOST,         /* a host trace or ET+ */
    RUN_CHAKRA,       /* an .et file */
    RUN_SNAPSHOT,     /* of memory */
    RUN_INSPECTOR,    /* a log of NCCL Inspector */
    RUN_DUMP,         /* of the flight recorder */
    RUN_REPORT,       /* a database that is no readable report of a profiler */
    RUN_MALFORMED,    /* begins as a trace and ends early, or has the name of JSON and another content */
    RUN_MERGED,       /* written by sutra merge */
    RUN_CAPTURE,      /* recorded the capture of graphs */
    RUN_SEVERAL,      /* has several processes */
    RUN_NO_GPU,       /* no GPU activity */
    RUN_NOT_RECORDED, /* no GPU activity, but launches */
    RUN_DUPLICATE,    /* of another trace */
    RUN_OTHER,        /* no file for any command: only counted */
    RUN_N_KINDS
};

struct run_kind_text {
    const char *name;       /* in JSON: "host" */
    const char *one, *many; /* after a number: "host trace", "host traces" */
    const char *reason;     /* in a list of files: "no GPU activity"; NULL: `one` and `many` */
};
extern const struct run_kind_text run_kinds[];

/* Where a rank comes from, in the order of preference. */
enum run_source {
    RUN_BY_INFO,        /* "rank" of "distributedInfo" */
    RUN_BY_NAME,        /* the number after "rank" in the file name */
    RUN_BY_DIRECTORY,   /* or in the innermost directory that has one */
    RUN_BY_COORDINATES, /* tp, dp, pp, cp, dcp, ep */
    RUN_BY_NUMBER,      /* another number in the file name */
    RUN_BY_ORDER,       /* counted, by directory, host and process */
    RUN_BY_LOCAL,       /* counted, by directory and the rank in names */
    RUN_N_SOURCES
};

/* The names in JSON: "distributedInfo", "name", "directory", "coordinates", "number", "order", "local". */
extern const char *const run_source_names[];

/* Why traces are of one window. */
enum run_window_source {
    RUN_WINDOWS_SINGLE, /* no stream has two traces */
    RUN_WINDOWS_LABEL,  /* each trace has a label */
    RUN_WINDOWS_TIME,   /* by start times */
    RUN_WINDOWS_COUNT,  /* the k-th trace of each stream: clocks differ */
    RUN_WINDOWS_ORDER   /* the same, because times are missing */
};

/* The names in JSON: "single", "label", "time", "count", "order". */
extern const char *const run_window_source_names[];

enum run_gpu { RUN_GPU_UNKNOWN, RUN_GPU_NONE, RUN_GPU_ACTIVE };

/* A trace of a rank. */
struct run_trace {
    const char *path; /* relative to the directory of the run; as the arguments begin, if the run has several */
    const char *file; /* the path to open */
    const char *host; /* that recorded it, or its directory */
    int64_t pid;      /* -1: not recorded */
    int64_t rank;
    int64_t begin_ns; /* since 1970, or RUN_NO_TIME */
    uint64_t bytes;   /* of the file */
    enum run_source source;
    enum run_gpu gpu;
};

struct run_window {
    const char *label;                     /* "iteration_30", or NULL */
    const char *missing;                   /* ranks without a trace, as --rank accepts them: "1-1023"; "": none */
    int64_t begin_ns;                      /* of its first trace, or RUN_NO_TIME */
    uint64_t bytes;                        /* of its files */
    const struct run_trace *const *traces; /* by rank */
    size_t n_traces;
};

struct run_role {
    const char *name;
    int64_t world_size; /* 0: not recorded */
    enum run_window_source window_source;
    const struct run_window *windows;
    size_t n_windows;
    size_t default_window; /* the last of the windows with most ranks */
    size_t n_ranks;        /* of all windows */
};

/* A file that is no trace of a rank. */
struct run_skipped {
    const char *path;
    const char *file; /* the path to open */
    const char *of;   /* RUN_DUPLICATE: the path of the other trace; or NULL */
    enum run_kind kind;
    uint64_t n_launches; /* RUN_NOT_RECORDED */
};

struct run {
    /* Set before. */
    const char *skipped_folder; /* the output directory, which is not searched; or NULL */

    const char *path; /* of the run: the argument; of several, the first one */
    size_t n_arguments;
    uint64_t n_files, n_folders, n_bytes, n_other, n_deep;
    const struct run_role *roles; /* in natural order of their names */
    size_t n_roles;
    const struct run_skipped *skipped; /* in natural order of their paths */
    size_t n_skipped;
    size_t n_contradictions; /* traces whose name contains another rank than "distributedInfo" */
    bool is_flat;            /* one directory with one trace per rank: commands read its files as they always did */
    bool is_nested;          /* all files with a kind are in subdirectories of one argument */
    bool is_scanned;         /* all traces are scanned */
    const struct run_pick *picks; /* by run_choose() */
    size_t n_picks;
    struct arena *arena;         /* of the roles: until the next choice */
    struct inventory *inventory; /* the files, to choose again */
};

/* Lists the files and directories in `arguments`; warnings are of unreadable directories (SUTRA_STRICT in a strict
 * context), of deep ones and of contradictions. SUTRA_NO_INPUT: an argument does not exist. A run without traces has no
 * roles. Call run_free() in any case. */
enum sutra_status run_open(struct run *run, struct sutra_context *context, const char *const *arguments, size_t n,
                           struct sutra_error *error);

/* Scans all traces for GPU activity, and chooses roles, ranks and windows again. All pointers into the run become
 * invalid. SUTRA_SYSTEM, SUTRA_CANCELLED. */
enum sutra_status run_scan(struct run *run, struct sutra_context *context, struct sutra_error *error);

/* Options of a command that select windows. */
struct run_selection {
    const char *role;   /* a name, or its part before "["; NULL: all roles */
    const char *window; /* a number, a label, "first", "last" or "all"; NULL: the default window */
    bool needs_one_role;
    bool reads_hosts; /* the command reads host traces, too: they are not skipped */
    bool reads_logs;  /* the command reads logs of NCCL Inspector, too, of a run without traces */
};

static inline bool window_is_all(const char *window) {
    return window && strcmp(window, "all") == 0;
}

/* Windows of a role: first .. first + n - 1. */
struct run_pick {
    const struct run_role *role;
    size_t first, n;
};

/* Selects the windows that a command reads, and scans their traces. If one has no GPU activity, which changes the
 * choice, the choice is repeated; in the end all traces are scanned. Sets picks, and warns about skipped files.
 * SUTRA_NO_INPUT: no trace. SUTRA_DATA: no such role or window, or several roles; SUTRA_STRICT: a strict context, and
 * GPU activity of a selected window was not recorded, or a trace of it is malformed. */
enum sutra_status run_choose(struct run *run, struct sutra_context *context, const struct run_selection *selection,
                             struct sutra_error *error);

/* The windows of a role that an option selects, as in struct run_selection. SUTRA_DATA: no such window. */
enum sutra_status run_find_window(const struct run *run, const struct run_role *role, const char *window,
                                  struct run_pick *pick, struct sutra_error *error);

/* The number of skipped files of a kind. */
size_t run_count_skipped(const struct run *run, enum run_kind kind);

/* SUTRA_NO_INPUT: the error for a run without traces. */
enum sutra_status run_no_trace(const struct run *run, struct sutra_error *error);

/* "2 host traces, 1 memory snapshot": the skipped files by reason; free() it. NULL: out of memory. */
char *run_skipped_text(const struct run *run, bool without_hosts);

void run_free(struct run *run);

/* ---- All files below directories, for analyses whose files are no traces ---- */

struct run_files {
    const char *const *paths; /* by directory, then by name, in byte order */
    const uint64_t *bytes;    /* sizes */
    size_t n;
    struct arena arena; /* of the paths; the caller frees it in any case */
};

/* Lists the files in `arguments`, and the files below the directories in them, of any name; hidden files and
 * `skipped_folder` (may be NULL) are skipped. Warnings and errors as of run_open(). O(n log n). */
enum sutra_status run_list_files(struct run_files *files, struct sutra_context *context, const char *const *arguments,
                                 size_t n, const char *skipped_folder, struct sutra_error *error);

/* ---- The path of a trace (trace_name.c): rank, coordinates, number, window label, host, role ----
 *
 *     profiling/traces/iteration_30/node1/dp0_pp0_tp3_rank11.1795839870007000000.pt.trace.json.gz
 *                      label        |     coordinates |      time
 *                                   directory         rank
 *
 * All are numbers after words, in one table of patterns. Letters match in any case.
 */

#define NAME_NONE     (-1) /* no such number */
#define LABEL_IS_DATE INT64_MAX

/* Coordinates of a rank, from the slowest to the fastest. */
enum { COORDINATE_DP, COORDINATE_PP, COORDINATE_CP, COORDINATE_EP, COORDINATE_TP, N_COORDINATES };

#define NAME_TEXT_MAX 4096 /* PATH_MAX */

struct trace_name {
    int64_t rank;           /* after the last "rank" of the file name, */
    int64_t directory_rank; /* or of the innermost directory that has one */
    bool has_coordinates;
    int64_t coordinates[N_COORDINATES]; /* of the file name, else of the directories; 0: not in the name */
    bool has_dp;
    int64_t number;  /* after "worker" or another word, else the only small number in the name */
    int64_t label;   /* number of `label_text`, or LABEL_IS_DATE; NAME_NONE: no label */
    int64_t time_ns; /* when the file was written: a number of nanoseconds in the name; NAME_NONE */
    char label_text[256];
    char host[256];             /* of HOST_PID in the file name, if PID is the process; "" */
    char folder[NAME_TEXT_MAX]; /* the directories without window labels, */
    char node[NAME_TEXT_MAX];   /* and of them the ones without a rank */
    char role[NAME_TEXT_MAX];   /* directories and file name that have the name of an engine; "" */
};

/* Reads the path of a trace of process `pid` (-1: not recorded). O(length of the path). */
void trace_name_read(const char *path, int64_t pid, struct trace_name *name);

#endif
