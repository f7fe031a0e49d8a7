/*
 * rewrite.h - traces in, traces out: a part of a trace as a trace.
 *
 *     device trace --> sutra_cut_make() --> struct sutra_cut --> sutra_cut_write()       a smaller device trace
 *                                               + host trace --> sutra_cut_write_host()  the host trace that goes with it
 *
 * What is kept is copied byte for byte, in the order of the file, with all that stands around the events.
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

/* Events of which side. Communication: kernels that communicate, and what is named as a collective on the host. */
enum sutra_only { SUTRA_ONLY_ALL, SUTRA_ONLY_GPU, SUTRA_ONLY_CPU, SUTRA_ONLY_COMMUNICATION };

/* Which events of a device trace are kept; zero every field that you do not set. `size` is sizeof the struct as the
 * caller knows it.
 *
 * A moment decides whether an event is inside of the steps and times: for work on the device that at which its call
 * (the one with its correlation) began, for annotations on streams that at which the annotation of the host with their
 * name and external id began, for all others their own start. Operators and annotations of the host that run when the
 * stretch begins are kept, too, so that work launched in it has its operator. Metadata and events without a time are
 * always kept. Arrows are kept if all their ends begin at events that are kept (those that begin at none: if they are
 * inside, and the host's events are kept), else no end is. */
struct sutra_selection {
    size_t size;
    const char *step;      /* from the start to the end of "ProfilerStep#" with this number, or of several: "3-5" */
    double from_us, to_us; /* from here on, before there; whole microseconds from the first start of the trace */
    double min_us;         /* without events that have a shorter duration */
    enum sutra_only only;
    bool no_python; /* without Python's functions */
};

struct sutra_cut;

/* Chooses what is kept. Of a host trace, which may be NULL: the nodes whose record-function ids the kept operators and
 * annotations have, the nodes above them, and the root. *cut is the caller's; free it before the traces. SUTRA_DATA: there is no such
 * step. SUTRA_USAGE: a host trace, and operators are left out for what they are. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_cut_make(struct sutra_context *context, const struct sutra_device_trace *device,
                                 const struct sutra_host_trace *host, const struct sutra_selection *selection,
                                 struct sutra_cut **cut, struct sutra_error *error);

/* Write the device trace, and the host trace, which there must be; plain or compressed by the path's name, "-" is
 * standard output. *n_bytes, which may be NULL, is the size before compression. */
enum sutra_status sutra_cut_write(struct sutra_context *context, const struct sutra_cut *cut, const char *path,
                                  uint64_t *n_bytes, struct sutra_error *error);
enum sutra_status sutra_cut_write_host(struct sutra_context *context, const struct sutra_cut *cut, const char *path,
                                       uint64_t *n_bytes, struct sutra_error *error);

/* What there was and what is kept of it. */
struct sutra_cut_report {
    size_t size; /* sizeof the struct, which the caller sets */
    uint64_t n_events, n_events_kept;
    uint64_t n_operators, n_operators_kept;   /* of the host */
    uint64_t n_work, n_work_kept;             /* of the device */
    uint64_t n_arrow_ends, n_arrow_ends_kept; /* two for most arrows */
    uint64_t n_broken_ends;                   /* of those that are left out: for the arrow's other end */
    uint64_t n_nodes, n_nodes_kept;           /* of the host trace */
};
void sutra_cut_report(const struct sutra_cut *cut, struct sutra_cut_report *report);

void sutra_cut_free(struct sutra_cut *cut);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
