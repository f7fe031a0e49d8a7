/*
 * host_ops.h - the operators of a host trace that are matched: the operators of one iteration, ascending by id.
 *
 * Names of both traces are in one table, so that operators are compared by number. The facts about a name are computed
 * once per name.
 *
 *     0 ... n - 1     the strings of the device trace, with their numbers
 *     n ...           names of the host trace, and of the markers for process and threads
 */
#ifndef LEGACY_HOST_OPS_H
#define LEGACY_HOST_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/memory.h"
#include "columns/strings.h"
#include "context/context.h"
#include "link/link.h"
#include "sutra/legacy.h"

#define PROCESS_NAME    "[pytorch|profiler|execution_trace|process]"
#define THREAD_NAME     "[pytorch|profiler|execution_trace|thread]"
#define OLD_THREAD_NAME "[pytorch|profiler|execution_graph|thread]"

/* ---- Log lines of the older program, assembled in pieces. Without a callback, the functions do nothing. ---- */

/* The owner frees the text. */
struct legacy_log {
    void (*line)(void *arg, enum sutra_legacy_line kind, const char *text, size_t length);
    void *arg;
    struct buffer text;
};

__attribute__((format(printf, 2, 3))) void log_text(struct legacy_log *log, const char *format, ...);
void log_bytes(struct legacy_log *log, const char *bytes, size_t n);

/* Appends a number as Python's str() formats it. */
void log_number(struct legacy_log *log, struct number number);

/* Passes the line to the callback. Lines without memory are skipped. */
void log_end(struct legacy_log *log, enum sutra_legacy_line kind);

/* Ends a line with this text, as SUTRA_LEGACY_INFO. */
__attribute__((format(printf, 2, 3))) void log_info(struct legacy_log *log, const char *format, ...);

/* ---- Names and operators ---- */

struct legacy_names {
    struct strings table;
    uint32_t process, thread, old_thread; /* numbers of the three names above */

    /* Per name, computed by names_finish() in its arena. */
    uint8_t *annotated; /* contains the annotation */
    uint8_t *iteration; /* contains "iteration#" */
    uint32_t *renamed;  /* the name with each "execution_graph" replaced by "execution_trace" */
};

/* Initializes the table with the strings of a device trace; false: out of memory. The caller frees the table. */
bool names_begin(struct legacy_names *names, const struct strings *device);

/* Computes the facts about names; annotation NULL: none. No name may be added later. False: out of memory. */
bool names_finish(struct legacy_names *names, const char *annotation, struct arena *arena);

/* Whether a host and a device operator with these names, at the same position, are the same. */
static inline bool names_agree(const struct legacy_names *names, uint32_t host, uint32_t device) {
    return host == device || names->renamed[host] == device || (names->iteration[host] && names->iteration[device]);
}

/* Columns are in one arena; the owner frees `units`. */
struct host_side {
    const struct sutra_host_trace *trace;
    struct host_ops units; /* nodes by id; a unit's last node is the operator, as in `link` */
    uint32_t *name;        /* per node: its number in the table of names */
    uint8_t *has_category; /* per node: it has the field "cat" */
    value_key *sequence;   /* per node: its sequence number, or KEY_ABSENT */
    row_t *unit;           /* the operators, ascending by id: rows of units */
    row_t *parent;         /* per operator: its parent, or ROW_NONE (the root) */
    row_t n;
};

/* Reads the names of all nodes into the table. SUTRA_DATA: a node has no name, or there is no root. */
enum sutra_status host_side_read(struct host_side *side, struct sutra_context *context,
                                 const struct sutra_host_trace *trace, struct legacy_names *names, struct arena *arena,
                                 struct sutra_error *error);

/* Selects the iteration and lists its operators; `old_names`: threads may have their older name. SUTRA_DATA: parents
 * form a cycle, or an operator whose parent is outside the iteration is on a thread without a node. */
enum sutra_status host_side_choose(struct host_side *side, struct sutra_context *context,
                                   const struct legacy_names *names, bool old_names, struct legacy_log *log,
                                   struct arena *arena, struct sutra_error *error);

/* The node that represents an operator. */
static inline row_t host_side_node(const struct host_side *side, row_t op) {
    return unit_node(&side->units, side->unit[op]);
}

static inline value_key host_side_id(const struct host_side *side, row_t op) {
    return side->trace->nodes.id[host_side_node(side, op)];
}

static inline value_key host_side_sequence(const struct host_side *side, row_t op) {
    return side->sequence[host_side_node(side, op)];
}

static inline uint32_t host_side_name(const struct host_side *side, row_t op) {
    return side->name[host_side_node(side, op)];
}

#endif
