/*
 * hang.h - inside of struct sutra_hang: dumps of all ranks, process groups, waiting operations, and the causes.
 *
 *     dumps, in parallel --> entries of each rank --join--> groups --progress--> nodes: operations that ranks wait in
 *                                                             \--> mismatches        |
 *                                                                                wait-for graph --> roots --> texts
 *
 * An entry is an operation that a rank recorded; parts of a coalesced operation are entries of one operation. A rank
 * has arrived at a node if its operation there is pending; it is missing if it has a dump without a record of the
 * operation.
 *
 * Ranks are counted by position ("rank index": of the dumps, ascending by rank) or by number (of the job). Lists of
 * members and lists in results have numbers.
 */
#ifndef ANALYZE_HANG_HANG_H
#define ANALYZE_HANG_HANG_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/table.h"
#include "base/arena.h"
#include "base/memory.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "columns/numbers.h"
#include "columns/strings.h"
#include "read/flight_recorder.h"
#include "sutra/hang.h"

/* Ranks, ascending. */
struct hang_ranks {
    const int64_t *list;
    size_t n;
};

/* Causes, in the order of docs/hang.md. */
enum hang_cause {
    HANG_NONE,
    HANG_TYPE_MISMATCH,
    HANG_SIZE_MISMATCH,
    HANG_DTYPE_MISMATCH,
    HANG_ORDER_MISMATCH,
    HANG_SKIPPED_COLLECTIVE,
    HANG_EXTRA_COLLECTIVE,
    HANG_GROUP_MISMATCH,
    HANG_P2P_DEADLOCK,
    HANG_RANK_NOT_ARRIVED,
    HANG_DUMP_MISSING,
    HANG_GPU_NOT_ARRIVED,
    HANG_STUCK_IN_KERNEL,
    HANG_N_CAUSES
};
extern const char *const hang_cause_names[]; /* "rank_not_arrived" */

enum hang_confidence { HANG_HIGH, HANG_MEDIUM, HANG_LOW };
extern const char *const hang_confidence_names[]; /* "high", "medium", "low" */

/*
 * The signature of an operation: the shapes of its parts, in order. The id of a single part is the shape's; longer ones
 * are a shorter signature and one more part:
 *
 *     id    0 .. n_shapes - 1    n_shapes + k
 *     is    [shape id]           [signature links[k].before, then shape links[k].last]
 */
struct hang_signatures {
    struct pair_table known; /* (before, last) -> k */
    struct signature_link {
        uint32_t before, last;
    } * links;
    uint64_t capacity;
    uint32_t n;
};

/* Lists of members, each once. Ids depend on the order of the files: only their equality matters. */
struct hang_lists {
    struct strings bytes; /* of the lists, by id */
    struct hang_ranks *list;
    uint64_t capacity;
};

/* The dump of a rank. */
struct hang_rank {
    int64_t rank;
    struct flight_entry *entries; /* ascending by record id; groups, names, shapes, frames are of the job */
    uint32_t *signatures;         /* of operations with several parts, by entry; NULL: the rank has none */
    uint32_t n_entries, n_pending;
    bool is_complete; /* record ids are 0, 1, 2 ...: nothing was lost or dropped */
    bool is_stale;    /* other ranks prove that one of its pending operations has passed */
};

/* A rank's records in a group: collectives, or sends and receives. */
struct hang_use {
    uint32_t rank, group; /* rank index */
    bool is_p2p;
    uint32_t first, n; /* first operation, linked by `link` of the entries; operations */
    int64_t low, high; /* first recorded and highest number */
};

/* An entry of a rank. */
struct hang_record {
    uint32_t rank, entry; /* rank index; entry of the rank */
};

/* The first operation of a group that ranks recorded differently. */
struct hang_mismatch {
    enum hang_cause kind; /* HANG_NONE: no mismatch */
    int64_t seq;
    struct hang_ranks ranks;
    bool is_tie;                    /* no signature is the most frequent one */
    struct hang_record odd, common; /* of a deviating rank, and of a rank with the most frequent signature */
};

/* A process group: a name and its members. Groups are in natural order of their names, then by members. */
struct hang_group {
    uint32_t name, description; /* string ids */
    struct hang_ranks members;
    bool has_known_members;
    uint32_t first_use, n_uses;    /* of collectives, ascending by rank */
    struct hang_ranks overlapping; /* members of only this or another list of the name, if the lists overlap */
    int64_t common_seq, passed_seq, stuck_seq;
    bool is_stuck;
    struct hang_ranks behind;
    uint32_t node; /* of the stuck collective, or HANG_NO_NODE */
    struct hang_mismatch mismatch;
};

#define HANG_NO_NODE UINT32_MAX

/* An operation that ranks wait in. Nodes are ordered by group, collectives before p2p, number, source, destination. */
struct hang_node {
    uint32_t group;
    bool is_p2p;
    int64_t seq, from, to; /* from, to: ranks, or FLIGHT_ANY */
    struct hang_ranks arrived, missing, no_dump;
    struct hang_record *records; /* of the arrived ranks */
    uint32_t type;               /* string id: as recorded by most arrived ranks */
    int64_t created_ns;
    struct hang_mismatch mismatch;
    struct hang_ranks culprits; /* missing ranks that wait in no operation, or ranks of the mismatch */
    uint32_t first_edge, n_edges;
    uint32_t component;
};

/* One node waits for another one. */
struct hang_edge {
    uint32_t from, to; /* nodes */
    int64_t rank;
    bool is_queued; /* "earlier on the rank", else "waits in" */
};

struct hang_also {
    uint32_t group;
    int64_t seq;
    bool is_p2p;
};

/* A first waiting group, and the cause. */
struct hang_root {
    enum hang_cause cause;
    enum hang_confidence confidence;
    uint32_t node; /* that represents it */
    int64_t seq;   /* of the node, or of its mismatch */
    struct hang_ranks ranks, waiting;
    bool has_timed_out, is_stale;
    int64_t timeout_ms;
    uint32_t frame;         /* string id of the lowest arrived rank's frame, or STRING_NONE */
    uint32_t *ranks_frames; /* of the last entry of each of `ranks`, or STRING_NONE */
    struct hang_also *also; /* groups with the same cause */
    size_t n_also;

    /* Sentences of the screen, the page and Markdown (words.c). */
    const char *title;                         /* "RANK NOT ARRIVED" */
    const char *seen, *where, *remedy, *check; /* "": none */
};

struct sutra_hang {
    struct sutra_result result;
    struct arena arena;
    struct strings strings; /* of all dumps */
    struct flight_name *names;
    struct flight_shape *shapes;
    uint32_t n_names, n_shapes;
    struct hang_signatures signatures;
    struct hang_lists lists;
    struct hang_rank *ranks;
    struct hang_group *groups;
    struct hang_use *uses; /* by group, collectives before p2p, rank */
    struct hang_node *nodes;
    struct hang_edge *edges;     /* by node, then by target */
    uint32_t *first_back, *back; /* nodes with an edge to node k: back[first_back[k]] .. back[first_back[k + 1] - 1] */
    struct hang_root *roots;
    uint32_t n_ranks, n_groups, n_uses, n_nodes, n_edges, n_roots;

    enum hang_cause cause;
    enum hang_confidence confidence;
    struct hang_ranks culprits; /* ranks of the first root and of all roots whose confidence is not low */
    struct hang_ranks world, missing_dumps, stale;
    const char **versions; /* in byte order */
    size_t n_versions;
    uint64_t n_skipped, n_entries, n_pending;
    const char *why, *confidence_text; /* "Rank 5 does not arrive at ...", "high: all 8 dumps are present." */
};

/* ---- Lists of ranks ---- */

/* Whether an ascending list has a rank. O(log n). */
bool hang_ranks_have(struct hang_ranks ranks, int64_t rank);

/* Appends ranges such as "0-3,8", at most n_most of them; then " ... 5 more". (results.c) */
void hang_ranges_append(struct buffer *to, struct hang_ranks ranks, size_t n_most);

/* The index of the dump of a rank; UINT32_MAX: no dump. O(log n). */
uint32_t hang_rank_index(const struct sutra_hang *hang, int64_t rank);

/* The records of a rank in a group, or NULL. O(log n). */
const struct hang_use *hang_use_find(const struct sutra_hang *hang, uint32_t group, bool is_p2p, uint32_t rank);

static inline struct flight_entry *hang_entry(const struct sutra_hang *hang, struct hang_record record) {
    return &hang->ranks[record.rank].entries[record.entry];
}

/* The operation that an entry is a part of. */
static inline struct hang_record hang_whole(const struct sutra_hang *hang, struct hang_record record) {
    return (struct hang_record){record.rank, hang_entry(hang, record)->whole};
}

/* The frame of the last entry of a rank; STRING_NONE: no entry, or no frame. */
static inline uint32_t hang_last_frame(const struct hang_rank *rank) {
    return rank->n_entries > 0 ? rank->entries[rank->n_entries - 1].frame : STRING_NONE;
}

/* Whether the ring buffer lost the first entries of a rank. */
static inline bool hang_lost_beginning(const struct hang_rank *rank) {
    return rank->n_entries > 0 && rank->entries[0].id > 0;
}

/* The signature of an operation, the first entry of its parts. */
static inline uint32_t hang_signature_of(const struct sutra_hang *hang, struct hang_record record) {
    const struct hang_rank *rank = &hang->ranks[record.rank];
    return rank->signatures ? rank->signatures[record.entry] : rank->entries[record.entry].shape;
}

/* The rank at a position in a group of a send or receive; other numbers are ranks already. */
static inline int64_t hang_peer(const struct hang_group *group, int64_t position) {
    return position >= 0 && (uint64_t)position < group->members.n ? group->members.list[position] : position;
}

/* ---- The operations of a group, while its progress and mismatches are found ---- */

struct hang_row {
    int64_t seq;
    struct hang_record record;
};

struct hang_rows {
    struct hang_row *list; /* by number, then by rank, without duplicates */
    size_t n;
};

/* The first row with this number or a higher one. O(log n). */
static inline size_t hang_rows_find(const struct hang_rows *rows, int64_t seq) {
    size_t i;
    BISECT(i, rows->n, rows->list[i].seq < seq);
    return i;
}

/* The end of the rows with the number of row `begin`. */
static inline size_t hang_rows_end(const struct hang_rows *rows, size_t begin) {
    size_t end = begin;
    while (end < rows->n && rows->list[end].seq == rows->list[begin].seq)
        end++;
    return end;
}

/* Finds the first mismatch of a group (mismatches.c). SUTRA_SYSTEM: out of memory. */
enum sutra_status hang_find_mismatch(struct sutra_hang *hang, struct hang_group *group, const struct hang_rows *rows,
                                     struct sutra_error *error);

/* The mismatch of a send and its receive, whose entries are given; kind HANG_NONE: none. */
struct hang_mismatch hang_pair_mismatch(struct sutra_hang *hang, const struct hang_node *node);

/* Sets `overlapping` of the groups of one name whose members differ and overlap. SUTRA_SYSTEM: out of memory. */
enum sutra_status hang_find_overlaps(struct sutra_hang *hang, struct sutra_error *error);

/* The id of a list of members, which is copied if it is new; UINT32_MAX: out of memory. (groups.c) */
uint32_t hang_list_intern(struct sutra_hang *hang, const int64_t *members, size_t n);

/* ---- Stages ---- */

/* Joins the dumps, whose entries become the ranks': strings, names, shapes, groups, operations. (groups.c) */
enum sutra_status hang_join(struct sutra_hang *hang, struct sutra_context *context, struct flight_dump *dumps,
                            struct sutra_error *error);

/* Finds the progress of each group, mismatches, and the nodes. (progress.c, mismatches.c) */
enum sutra_status hang_find_nodes(struct sutra_hang *hang, struct sutra_error *error);

/* Finds the wait-for graph and its roots. (roots.c) */
enum sutra_status hang_find_roots(struct sutra_hang *hang, struct sutra_error *error);

/* Makes `why` and the texts of the roots. (words.c) */
enum sutra_status hang_make_texts(struct sutra_hang *hang, struct sutra_error *error);

/* Makes the tables; the table of operations only if requested. (results.c) */
enum sutra_status hang_make_tables(struct sutra_hang *hang, bool operations, struct sutra_error *error);
extern const struct table_spec hang_table_specs[];

/* ---- Sentences and lists of the screen, the page and Markdown (words.c) ---- */

#define HANG_RANGES_SHOWN   8 /* of a list of ranks in a sentence */
#define HANG_FINDINGS_SHOWN 5

/* "0-3,8": at most `n_ranges` ranges, then "... 12 more"; "" for no rank. In the arena; "": out of memory. O(ranks). */
const char *hang_ranks_text(struct arena *arena, struct hang_ranks ranks, size_t n_ranges);

/* The remedy of a job without a pending operation. */
extern const char hang_none_remedy[];

/* A node in the list of waits. */
struct hang_wait {
    uint32_t node, distance;                  /* 0: a root; UINT32_MAX: in a cycle that is merged into a root */
    const char *group, *number, *description; /* "7", "#6" or "0->1", "TENSOR_MODEL_PARALLEL_GROUP" */
    const char *text; /* "1 of 2 arrived, missing 5"; "waits in 7 (rank 4)"; "queued after 9 (rank 4)" */
};

/* Lists all nodes: roots, then nodes by their distance to the roots; with texts for the first `n_texts`. In the arena;
 * NULL: out of memory. O(nodes + edges), O(n log n) in nodes. */
const struct hang_wait *hang_list_waits(const struct sutra_hang *hang, struct arena *arena, uint32_t n_texts);

/* "groups 1, 2, 3 (they wait for group 7)": groups that only wait for others; "": none. */
const char *hang_waiting_groups_text(const struct sutra_hang *hang, struct arena *arena);

#endif
