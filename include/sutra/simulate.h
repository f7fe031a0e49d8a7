/*
 * simulate.h - Chakra .et files, which simulators such as ASTRA-sim run.
 *
 *     .et file --> sutra_et_read() --> struct sutra_et --> sutra_et_write_json()   JSON, or JSON lines
 *     JSON lines --> sutra_et_read_lines() --/        \--> sutra_et_write()        .et
 */
#ifndef SUTRA_SIMULATE_H
#define SUTRA_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/context.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Reading ---- */

struct sutra_et;

/* Options; zero every field that you do not set. `size` is sizeof the struct as the caller knows it. */
struct sutra_et_read_options {
    size_t size;
    bool damaged; /* take the nodes before a place where the file is malformed, instead of failing there */
};

/* Reads an .et file, or bytes of one (which are copied), plain or compressed with gzip or zstd; "-" is standard input.
 * `options` may be NULL. *et is the caller's. SUTRA_NO_INPUT. SUTRA_DATA: malformed; the error has the byte and the
 * node. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_et_read(struct sutra_context *context, const char *path,
                                const struct sutra_et_read_options *options, struct sutra_et **et,
                                struct sutra_error *error);
enum sutra_status sutra_et_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                 const struct sutra_et_read_options *options, struct sutra_et **et,
                                 struct sutra_error *error);
void sutra_et_free(struct sutra_et *et);

uint64_t sutra_et_nodes(const struct sutra_et *et);

/* Whether a file is of this format, told by its beginning. SUTRA_NO_INPUT; SUTRA_DATA: it cannot be decompressed. */
enum sutra_status sutra_et_known(const char *path, bool *known, struct sutra_error *error);

/* ---- What a file holds ---- */

/* Communication of a type in a group. */
struct sutra_et_traffic {
    const char *type;  /* such as "ALL_REDUCE"; "SEND", "RECEIVE" */
    const char *group; /* its name; "": all ranks */
    uint64_t count;
    uint64_t bytes; /* of all of them; 2^64 - 1 where they do not fit */
    uint64_t bytes_least, bytes_most;
};

/* Types of nodes: the numbers of Chakra's schema up to COMM_COLL_NODE, and all others. */
enum { SUTRA_ET_OTHER = 8, SUTRA_ET_TYPES = 9 };

struct sutra_et_info {
    size_t size;
    uint64_t n_bytes; /* after decompression */
    uint64_t n_nodes, n_cpu, n_gpu;
    uint64_t n_of_type[SUTRA_ET_TYPES];
    uint64_t n_ctrl, n_data;                /* dependencies */
    uint64_t n_absent;                      /* of these, on nodes that are not there */
    uint64_t n_cyclic;                      /* nodes in a cycle of dependencies or behind one */
    uint64_t us_least, us_most, us_total;   /* durations */
    uint64_t critical_us;                   /* largest sum of durations along a chain of dependencies */
    uint64_t n_levels;                      /* nodes of the longest chain */
    uint64_t width;                         /* most nodes that stand equally far from the beginning */
    const char *schema;                     /* of the trace that was converted; "": not given */
    const struct sutra_et_traffic *traffic; /* by type, then by group in order of first sight */
    uint64_t n_traffic;
};

/* Fills the report; its texts live until the file's next report, or its end. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_et_info(struct sutra_context *context, struct sutra_et *et, struct sutra_et_info *info,
                                struct sutra_error *error);

/* ---- JSON ---- */

enum sutra_et_layout {
    SUTRA_ET_CHAKRA, /* indented objects one right behind the other, as chakra_jsonizer writes them */
    SUTRA_ET_LINES,  /* an object a line: the metadata, then the nodes */
};

/* Writes to a file as sutra_linked_write() does. */
enum sutra_status sutra_et_write_json(struct sutra_context *context, const struct sutra_et *et,
                                      enum sutra_et_layout layout, const char *path, uint64_t *n_bytes,
                                      struct sutra_error *error);

/* ---- What ASTRA-sim needs of the files of a job ---- */

struct sutra_et_check;

/* Which reader of ASTRA-sim's: that of today, or the one before it, which follows data dependencies only. */
enum sutra_et_feeder { SUTRA_FEEDER_V3, SUTRA_FEEDER_V1 };

/* Options; zero every field that you do not set. `size` is sizeof the struct as the caller knows it. */
struct sutra_et_check_options {
    size_t size;
    enum sutra_et_feeder feeder;
    bool roofline;      /* times come from ASTRA-sim's roofline model */
    const char *groups; /* path of a comm_group.json, or NULL */
};

/* Begins a check. *check is the caller's. SUTRA_NO_INPUT, SUTRA_DATA: the groups. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_et_check_create(struct sutra_context *context, const struct sutra_et_check_options *options,
                                        struct sutra_et_check **check, struct sutra_error *error);

/* Checks a file, which is known by the name that it was read by (PREFIX.RANK.et) and may be freed then; one that was
 * read in part, as `damaged` allows, is checked so far. */
enum sutra_status sutra_et_check_add(struct sutra_et_check *check, const struct sutra_et *et,
                                     struct sutra_error *error);

/* Checks what must agree between the files, after the last of them. */
enum sutra_status sutra_et_check_finish(struct sutra_et_check *check, struct sutra_error *error);

struct sutra_et_check_report {
    size_t size;
    uint64_t n_files;
    uint64_t n_errors, n_warnings; /* findings: rules that are broken, in each file, and by the job */
};
void sutra_et_check_report(const struct sutra_et_check *check, struct sutra_et_check_report *report);

/* A rule that is broken. All texts live as long as the check. */
struct sutra_et_finding {
    const char *file;    /* NULL: the job as a whole */
    const char *rule;    /* such as "R6"; docs/simulate.md explains them */
    bool is_error;       /* the simulation would stop, hang or lose nodes; else a warning */
    uint64_t count;      /* of what breaks it */
    const char *unit;    /* and what that is: "nodes", "groups" */
    const uint64_t *ids; /* the first of them */
    uint32_t n_ids;
    const char *what, *detail, *why, *mend; /* the detail may be "" */
};

/* The i-th finding, in the order in which files were added, then of the job. False: there are no more. */
bool sutra_et_check_finding(const struct sutra_et_check *check, uint64_t i, struct sutra_et_finding *finding);

void sutra_et_check_free(struct sutra_et_check *check);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
