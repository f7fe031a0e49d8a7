/*
 * flight_recorder.h - a dump of PyTorch's flight recorder: the collectives of one rank, in columns.
 *
 *     {"version": "2.9", "pg_config": {"0": {"desc": "default_pg", "ranks": "[0, 1]"}},
 *      "entries": [{"record_id": 7, "process_group": ["0", "default_pg"], "profiling_name": "nccl:all_reduce", ...}]}
 *
 *     pickle or JSON --objects--> entries, ascending by record id; texts, names and shapes stored once
 *
 * Fields of the wrong type are read as absent, unknown fields are skipped. Cost: O(size of the file); 64 bytes per
 * entry remain.
 */
#ifndef READ_FLIGHT_RECORDER_H
#define READ_FLIGHT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/hash_tables.h"
#include "columns/strings.h"
#include "read/source.h"

/* A rank or position that is not recorded: the source of a receive from any rank. */
#define FLIGHT_ANY (-1)

/* A profiling name, such as "nccl:send 0->3". Texts are string ids. */
struct flight_name {
    uint32_t recorded; /* "send": the first word, without the backend */
    uint32_t type;     /* the operation, in lower case, without variants: "all_gather" of "_all_gather_base" */
    int64_t from, to;  /* of a send or receive: positions in the group, or FLIGHT_ANY */
    bool is_send, is_receive;
    bool is_end;          /* ends a coalesced operation */
    uint32_t compared;    /* fields of shapes, if they have types */
    bool synchronizes;    /* completes only if all ranks of the group take part */
    bool reports_timeout; /* the backend is like NCCL: retired entries that are not completed timed out */
};

/* Fields of a shape that are equal on all ranks of a collective. */
enum { COMPARE_N_IN = 1, COMPARE_N_OUT = 2, COMPARE_IN_TYPES = 4, COMPARE_OUT_TYPES = 8 };

/* Operation, sizes and types of an entry. Types: the id of a text such as "BFloat16,Float", sorted, or of "". */
struct flight_shape {
    int64_t n_in, n_out; /* elements of all tensors */
    uint32_t in_types, out_types;
    uint32_t type;
    uint32_t compared; /* fields */
};

/* The recorded state of an entry. */
enum flight_state { FLIGHT_SCHEDULED, FLIGHT_STARTED, FLIGHT_COMPLETED };

/* An entry. `group`, `name`, `shape` and `frame` are indices into lists of the dump; joining dumps replaces them. */
struct flight_entry {
    int64_t id, seq, created_ns, timeout_ms;
    uint32_t group;
    uint32_t name, shape;
    uint32_t frame; /* string id, or STRING_NONE */
    uint32_t whole; /* index of the first part of the coalesced operation, or its own */
    uint32_t link;  /* an index for the analysis */
    bool passed, started, timed_out, is_p2p;
    bool has_parts, is_ended; /* a coalesced operation, and the entry that ends it was recorded */
    uint8_t state;            /* enum flight_state */
};

/* A process group as entries name it. */
struct flight_group {
    uint32_t name, description;
};

/* A process group in pg_config, whose members contain the rank of the dump. */
struct flight_config {
    uint32_t name, description;
    int64_t *members; /* ascending, without duplicates */
    size_t n_members;
    uint32_t list; /* an index for the analysis */
};

struct flight_dump {
    struct arena member_arena; /* of the members */
    struct strings strings;
    uint32_t version; /* string id */
    bool is_pickle;
    struct flight_name *names; /* malloc(), as the other lists */
    struct flight_shape *shapes;
    struct flight_group *groups;
    struct flight_config *configs;
    struct flight_entry *entries;
    uint32_t n_names, n_shapes, n_groups, n_configs, n_entries;
};

#define FLIGHT_EXPECTED "a dump of PyTorch's flight recorder"

/* Reads the dump of `rank`; `objects` has its values until the next dump. SUTRA_DATA: malformed, truncated, or no dump,
 * with the byte; SUTRA_SYSTEM: out of memory. Needs flight_dump_free() in any case. */
struct objects;
enum sutra_status flight_dump_read(struct flight_dump *dump, struct objects *objects, const struct source *source,
                                   int64_t rank, struct sutra_error *error);
void flight_dump_free(struct flight_dump *dump);

/* The rank in the name of a dump: the number before an optional .json, .pkl or .pickle, and .gz or .zst. False: no
 * number, or above 2^31 - 1. */
bool flight_dump_rank(const char *path, int64_t *rank);

#endif
