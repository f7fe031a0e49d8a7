/*
 * memory.h - where GPU memory goes: analysis of memory snapshots and of the memory events of device traces.
 *
 * Inputs: files of torch.cuda.memory._dump_snapshot() (a pickle of protocol 2 to 5, or its JSON form), lists of
 * torch.cuda.memory_snapshot(), and Kineto traces recorded with profile_memory=True. Pickles are read, never executed.
 */
#ifndef SUTRA_MEMORY_H
#define SUTRA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/context.h"
#include "sutra/table.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_memory;

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_memory_options {
    size_t size;
    const char *against; /* a second input to compare with; NULL: none */
    uint64_t n_top;      /* rows of each list of sutra_memory_write_json(); 0: 10 */
    bool tables;         /* make tables */

    /* Several inputs to compare with, instead of `against`: the inputs of both sides are compared rank by rank. Ranks
     * come from "distributedInfo" of Kineto traces, else from the file name (the number after "rank", else its last
     * number), else from the position. The devices of rank 3 are named "rank 3 cuda:0". Ranks of one side only are
     * skipped with a warning. */
    const char *const *against_paths;
    size_t n_against;
    const char *names[2]; /* of both sides in results; NULL: the first path */
};

/* Tables of all inputs. The first columns are the input's index and the device; bytes are columns of integers. */
enum sutra_memory_table {
    SUTRA_MEMORY_DEVICES,    /* device: peak, largest reserved size, state at the end */
    SUTRA_MEMORY_TIMELINE,   /* event: allocated, active and reserved bytes after the event */
    SUTRA_MEMORY_PEAK,       /* kind (category, operator, frame, stack, size), name: live bytes at the peak */
    SUTRA_MEMORY_STEPS,      /* step: peak, growth, allocations */
    SUTRA_MEMORY_GROWTH,     /* frame whose live bytes grow with every step */
    SUTRA_MEMORY_LIFETIMES,  /* range of lifetimes: allocations */
    SUTRA_MEMORY_NOT_FREED,  /* frame: allocations that are never freed */
    SUTRA_MEMORY_SEGMENTS,   /* stream, type, pool: state of the allocator's segments */
    SUTRA_MEMORY_OOMS,       /* out-of-memory event */
    SUTRA_MEMORY_FINDINGS,   /* finding: rule, device, bytes, text */
    SUTRA_MEMORY_COMPARISON, /* value or name: bytes of both inputs; NULL without `against` */
    SUTRA_MEMORY_N_TABLES
};

/* Analyzes `n_paths` inputs. The caller frees *memory. Errors: SUTRA_NO_INPUT: missing; SUTRA_DATA: neither a snapshot
 * nor a Kineto trace, malformed, no memory events, or no rank that both sides of a comparison have; SUTRA_USAGE: a
 * comparison of one input with several; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_memory_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                   const struct sutra_memory_options *options, struct sutra_memory **memory,
                                   struct sutra_error *error);

/* The same for bytes in memory, which are copied; `name` is the file name in errors. */
enum sutra_status sutra_memory_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                     const struct sutra_memory_options *options, struct sutra_memory **memory,
                                     struct sutra_error *error);
void sutra_memory_free(struct sutra_memory *memory);

struct sutra_memory_finding {
    const char *rule;   /* "fragmentation_at_peak" */
    const char *device; /* "cuda:0" */
    int64_t bytes;      /* -1: none */
    const char *text;   /* cause, number, advice */
};

/* Fills *finding with the i-th finding; returns 0 after the last one. */
int sutra_memory_finding(const struct sutra_memory *memory, size_t i, struct sutra_memory_finding *finding);

/* Writes all results as JSON: an object for one input (docs/memory.md lists its keys); {"kind": "diff", ...} with
 * `against`; {"kind": "inputs", "inputs": [...]} for several inputs. Writes as sutra_table_write() does. */
enum sutra_status sutra_memory_write_json(struct sutra_context *context, const struct sutra_memory *memory,
                                          const char *path, uint64_t *n_bytes, struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
