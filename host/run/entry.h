/*
 * entry.h - the candidates of a run, between the walk (inventory.c) and its roles, ranks and windows (windows.c).
 */
#ifndef RUN_ENTRY_H
#define RUN_ENTRY_H

#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "columns/strings.h"
#include "run/run.h"
#include "text/strings.h"

/* Traces of one identity or stream, and one time, that are compared with each other: more than there are copies of a
 * trace, or engines. */
#define COMPARED_MAX ((size_t)256)

/* A candidate. Ids are of strings of the inventory. */
struct run_entry {
    struct run_trace trace; /* `rank` is valid if has_rank, `host` is set at the end */
    enum run_kind kind;     /* by the head, */
    enum run_kind settled;  /* and with regard to the other files */
    uint64_t n_launches;    /* see struct run_skipped */
    const char *of;
    uint32_t trace_id;     /* STRING_NONE: not recorded */
    uint32_t host, folder; /* of the process; without window labels */
    uint32_t node;         /* the folder without ranks */
    uint32_t role;
    uint32_t label;        /* text; STRING_NONE */
    int64_t label_number;  /* or LABEL_IS_DATE; NAME_NONE */
    int64_t end_ns;        /* or RUN_NO_TIME */
    int64_t name_time_ns;  /* NAME_NONE */
    int64_t recorded_rank; /* by `recorded_source`, without regard to other traces; NAME_NONE */
    enum run_source recorded_source;
    int64_t number;
    int64_t world_size; /* 0: not recorded */
    int32_t coordinates[N_COORDINATES];
    bool has_coordinates, has_dp, has_rank, is_several, is_compressed, is_report;
    bool needs_end, has_end; /* end_ns is compared with other traces, is known */
    bool is_nested;          /* in a directory below an argument */
    uint32_t stream, window; /* of its engine */
};

static inline bool has_time(const struct run_entry *entry) {
    return entry->trace.begin_ns != RUN_NO_TIME;
}

static inline bool is_one_process(const struct run_entry *a, const struct run_entry *b) {
    return a->host == b->host && a->trace.pid == b->trace.pid;
}

/* Whether the recorded times overlap. */
static inline bool overlaps(const struct run_entry *a, const struct run_entry *b) {
    return has_time(a) && has_time(b) && a->trace.begin_ns < b->end_ns && b->trace.begin_ns < a->end_ns;
}

/* ---- Lists of entries, and their orders: 0 for entries that belong together ---- */

typedef int entry_order(const struct run_entry *a, const struct run_entry *b, const struct strings *strings);

/* Defines an order by fields, as ORDER_BY() does; texts by NATURAL(), which takes their ids. */
#define ENTRY_ORDER(name, keys)                                                                                        \
    static int name(const struct run_entry *a, const struct run_entry *b, const struct strings *strings) {             \
        (void)strings;                                                                                                 \
        keys return 0;                                                                                                 \
    }
#define NATURAL(field)                                                                                                 \
    if (a->field != b->field)                                                                                          \
        return compare_natural(strings_text(strings, a->field), strings_text(strings, b->field));
#define ASCENDING_COORDINATES                                                                                          \
    ASCENDING(coordinates[0])                                                                                          \
    ASCENDING(coordinates[1]) ASCENDING(coordinates[2]) ASCENDING(coordinates[3]) ASCENDING(coordinates[4])

/* Copies n entries, and sorts the copy: by the order, then by natural order of the paths, in which the entries are. */
void entries_sort(struct run_entry **to, struct run_entry *const *from, size_t n, entry_order *order,
                  const struct strings *strings);

/* The end of the entries from `begin` on that belong together. */
size_t entries_end(struct run_entry *const *list, size_t n, size_t begin, entry_order *order,
                   const struct strings *strings);

static inline struct run_entry **alloc_entries(struct arena *arena, size_t n) {
    return arena_alloc(arena, n, sizeof(struct run_entry *));
}

/* Scans the texts of traces in parallel, up to the first GPU activity, or completely if `whole`: sets gpu, n_launches,
 * kind, is_several, begin_ns if it is unknown, and of whole texts end_ns. */
enum sutra_status run_scan_entries(struct sutra_context *context, struct run_entry **list, size_t n, bool whole,
                                   struct sutra_error *error);

/* Divides the traces (by natural order of their paths) into roles, numbers their ranks and windows, and fills the roles
 * of the run. O(n log n). */
enum sutra_status run_make_roles(struct run *run, struct arena *arena, const struct strings *strings,
                                 struct run_entry **traces, size_t n, struct sutra_error *error);

#endif
