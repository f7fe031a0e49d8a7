/*
 * rewrite.h - traces in, traces out: a part of a trace as a trace; a broken trace made whole.
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
 * name and external id began, for all others their own start. Operators, annotations and functions of Python that run
 * when the stretch begins are kept, too, so that work launched in it has its operator and its module. Metadata and
 * events without a time are always kept. Arrows are kept if all their ends begin at events that are kept (those that
 * begin at none: if they are inside, and the host's events are kept), else no end is. */
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
 * annotations have, the nodes above them, and the root. *cut is the caller's; free it before the traces. SUTRA_DATA:
 * there is no such step. SUTRA_USAGE: a host trace, and operators are left out for what they are. SUTRA_SYSTEM: out of
 * memory. */
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
    size_t size; /* sizeof the struct, set by the caller */
    uint64_t n_events, n_events_kept;
    uint64_t n_operators, n_operators_kept;   /* of the host */
    uint64_t n_work, n_work_kept;             /* of the device */
    uint64_t n_arrow_ends, n_arrow_ends_kept; /* two for most arrows */
    uint64_t n_broken_ends;                   /* of those that are left out: for the arrow's other end */
    uint64_t n_nodes, n_nodes_kept;           /* of the host trace */
};
void sutra_cut_report(const struct sutra_cut *cut, struct sutra_cut_report *report);

void sutra_cut_free(struct sutra_cut *cut);

/*
 * A host trace or device trace that is no JSON any more, made JSON again (enum sutra_mend says what is mended):
 *
 *     file --> sutra_repair_read() --> struct sutra_repair --> sutra_repair_write()
 *
 * Elements of the trace's array that are well-formed stay byte for byte, and so does a text of which all is. Of a file
 * that was cut off, also when it was compressed, all whole elements are kept; one that cannot be mended is left out.
 * What is mended can be read by all readers of JSON; whether it is a trace is not looked at.
 */
struct sutra_repair;

/* *repair is the caller's. SUTRA_DATA: it cannot be mended, or no element of its array is whole. SUTRA_NO_INPUT: it
 * cannot be read. SUTRA_SYSTEM: out of memory. The input is held in memory only if something is mended. */
enum sutra_status sutra_repair_read(struct sutra_context *context, const char *path, struct sutra_repair **repair,
                                    struct sutra_error *error);

/* The same for bytes in memory, which are copied; `name` stands for the file's name in errors. */
enum sutra_status sutra_repair_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                     struct sutra_repair **repair, struct sutra_error *error);

/* Writes the text; as in sutra_cut_write(). */
enum sutra_status sutra_repair_write(struct sutra_context *context, const struct sutra_repair *repair, const char *path,
                                     uint64_t *n_bytes, struct sutra_error *error);

/* What was mended. `places` are the first of them, in bytes of the input after decompression; they live as long as the
 * repair. */
struct sutra_repair_report {
    size_t size;      /* sizeof the struct, set by the caller */
    uint64_t n_bytes; /* of the input, after decompression */
    uint64_t n_elements;
    uint64_t n_mended; /* sum of n */
    uint64_t n_left_out_bytes;
    const struct sutra_mend_place *places;
    uint64_t n_places;
    uint64_t n[SUTRA_N_MENDS]; /* by enum sutra_mend */
};
void sutra_repair_report(const struct sutra_repair *repair, struct sutra_repair_report *report);

/* What it is called, as a singular or as a plural: "quotes without a backslash". */
const char *sutra_mend_name(enum sutra_mend kind, bool many);

void sutra_repair_free(struct sutra_repair *repair);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
