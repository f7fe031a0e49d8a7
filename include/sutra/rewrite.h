/*
 * rewrite.h - write a part of a trace as a trace; repair a malformed or truncated trace.
 *
 *     device trace --> sutra_cut_run() --> struct sutra_cut --> sutra_cut_write()       a smaller device trace
 *                                               + host trace --> sutra_cut_write_host()  the corresponding host trace
 *
 * Kept events are copied byte for byte in file order, together with all text between events.
 */
#ifndef SUTRA_REWRITE_H
#define SUTRA_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Which events are kept. COMMUNICATION: communication kernels, and CPU events named as collectives. */
enum sutra_only { SUTRA_ONLY_ALL, SUTRA_ONLY_GPU, SUTRA_ONLY_CPU, SUTRA_ONLY_COMMUNICATION };

/* Selects events of a device trace. Initialize all other fields to zero. `size` is sizeof the caller's struct.
 *
 * An event is inside of the steps and the time range if its decisive time is: for GPU work, the start of its call
 * (with the same correlation); for annotations on streams, the start of the CPU annotation with their name and
 * external id; for all other events, their own start. Operators, annotations and Python functions that enclose the
 * start of the range are kept too, so that work launched in the range has its operator and module. Metadata and
 * events without a time are always kept. An arrow is kept if all its ends are at kept events; otherwise all its ends
 * are dropped. An end without an event counts as kept if it is inside and CPU events are kept.
 *
 * With `overlap`, an event is inside if any part of it is in the range, also GPU work whose call is not. The call of
 * each kept GPU work is kept too, unless `only`, `min_us` or `no_python` drops it. Without steps and times, `overlap`
 * has no effect. */
struct sutra_selection {
    size_t size;
    const char *step;      /* number N of "ProfilerStep#N", or a range: "3-5" */
    double from_us, to_us; /* [from, to) in whole microseconds after the first start of the trace */
    double min_us;         /* drop shorter events */
    enum sutra_only only;
    bool no_python; /* drop Python functions */
    bool overlap;   /* keep each event that overlaps the range */
};

struct sutra_cut;

/* Selects the events. For a host trace (may be NULL), keeps the nodes whose record-function id a kept operator or
 * annotation has, their ancestors, and the root. The caller frees *cut, before the traces. Errors: SUTRA_DATA: no
 * such step; SUTRA_USAGE: a host trace combined with a selection that drops operators by kind; SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status sutra_cut_run(struct sutra_context *context, const struct sutra_device_trace *device,
                                const struct sutra_host_trace *host, const struct sutra_selection *selection,
                                struct sutra_cut **cut, struct sutra_error *error);

/* Write the device trace, or the host trace (SUTRA_USAGE without one), as sutra_linked_write() does. *n_bytes (may be
 * NULL): uncompressed bytes. */
enum sutra_status sutra_cut_write(struct sutra_context *context, const struct sutra_cut *cut, const char *path,
                                  uint64_t *n_bytes, struct sutra_error *error);
enum sutra_status sutra_cut_write_host(struct sutra_context *context, const struct sutra_cut *cut, const char *path,
                                       uint64_t *n_bytes, struct sutra_error *error);

/* Counts of all and of kept events. */
struct sutra_cut_report {
    size_t size; /* sizeof the struct, set by the caller */
    uint64_t n_events, n_events_kept;
    uint64_t n_operators, n_operators_kept;   /* CPU operators */
    uint64_t n_work, n_work_kept;             /* GPU work */
    uint64_t n_arrow_ends, n_arrow_ends_kept; /* two for most arrows */
    uint64_t n_broken_ends;                   /* dropped because the other end of the arrow is dropped */
    uint64_t n_nodes, n_nodes_kept;           /* of the host trace */
};
void sutra_cut_report(const struct sutra_cut *cut, struct sutra_cut_report *report);

void sutra_cut_free(struct sutra_cut *cut);

/*
 * Repairs malformed JSON of a host trace or device trace; enum sutra_repair_kind lists the repairs.
 *
 *     file --> sutra_repair_read() --> struct sutra_repair --> sutra_repair_write()
 *
 * Well-formed elements of the trace's array stay byte for byte; a well-formed file is unchanged. Of a truncated file,
 * also a compressed one, all complete elements are kept, and the trace gets the member "sutra_repair": {
 * "truncated_at_byte": N, "lost": {"elements": 0 or 1, "bytes": N}}. Elements that cannot be repaired are dropped. The
 * result is valid JSON; sutra does not check whether it is a trace.
 */
struct sutra_repair;

/* Reads and repairs a file. The input is held in memory only if it needs repairs. The caller frees *repair. Errors:
 * SUTRA_NO_INPUT: missing or unreadable; SUTRA_DATA: not repairable, or no complete element; SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status sutra_repair_read(struct sutra_context *context, const char *path, struct sutra_repair **repair,
                                    struct sutra_error *error);

/* The same for bytes in memory, which are copied; `name` is the file name in errors. */
enum sutra_status sutra_repair_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                     struct sutra_repair **repair, struct sutra_error *error);

/* Writes the repaired text as sutra_cut_write() does. */
enum sutra_status sutra_repair_write(struct sutra_context *context, const struct sutra_repair *repair, const char *path,
                                     uint64_t *n_bytes, struct sutra_error *error);

/* Repairs made. `places` are the first ones, with byte offsets in the decompressed input; they live as long as the
 * repair. */
struct sutra_repair_report {
    size_t size;      /* sizeof the struct, set by the caller */
    uint64_t n_bytes; /* of the input, after decompression */
    uint64_t n_elements;
    uint64_t n_repaired; /* sum of n */
    uint64_t n_skipped_bytes;
    const struct sutra_repair_site *places;
    uint64_t n_places;
    uint64_t n[SUTRA_N_REPAIR_KINDS]; /* repairs by enum sutra_repair_kind */
};
void sutra_repair_report(const struct sutra_repair *repair, struct sutra_repair_report *report);

/* Returns a description, singular or plural: "quotes without a backslash". */
const char *sutra_repair_kind_name(enum sutra_repair_kind kind, bool many);

void sutra_repair_free(struct sutra_repair *repair);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
