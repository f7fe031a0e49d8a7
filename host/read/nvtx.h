/*
 * nvtx.h - the texts and payloads of NVTX ranges: operators of torch.autograd.profiler.emit_nvtx(), steps, NCCL calls.
 *
 *     aten::addmm, seq = 7, op_id = 41, sizes = [[8, 16], [16, 4]], input_op_ids = [(39,0), (3,1)]
 *     iteration_12        ProfilerStep#12        step 12
 *     ncclAllGather  with the payload  NCCL communicator ID, Message size [bytes]
 */
#ifndef READ_NVTX_H
#define READ_NVTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* A number that is not recorded. */
#define NVTX_NONE INT64_MIN

/* The text of a range, split as emit_nvtx() joins it. */
struct nvtx_label {
    size_t name_length;  /* of the name, with which the text begins */
    int64_t sequence;    /* sequence number of the autograd node, or NVTX_NONE */
    int64_t record;      /* op_id: record-function id, or NVTX_NONE */
    const char *sizes;   /* JSON list of the shapes of the inputs, or NULL */
    size_t sizes_length; /* 0, if the list is malformed */
    bool is_annotation;  /* of record_function(), which names parts of a program, not operators */
};

/* Splits a text; false: emit_nvtx() has not written it. O(n). */
bool nvtx_label_read(const char *text, size_t n, struct nvtx_label *label);

/* Whether a text names a step: ProfilerStep, iteration, iter, step, batch, train_step or global_step in any letter
 * case, then spaces, _ : # or -, then the number. */
bool nvtx_step_read(const char *text, size_t n, int64_t *step);

/* Whether a kernel of a report communicates between GPUs, by its name. */
bool nsys_kernel_communicates(const char *name, size_t n);

/* Fields of the payloads of NCCL. */
enum nccl_payload_field { NCCL_COMMUNICATOR, NCCL_N_RANKS, NCCL_RANK, NCCL_BYTES, NCCL_N_FIELDS };

struct nccl_payload {
    int64_t field[NCCL_N_FIELDS];
    unsigned has; /* bit 1 << field: recorded */
};

/* One field of a payload's schema. */
struct nvtx_schema_entry {
    int64_t domain, schema, index, type, offset; /* offset NVTX_NONE: after the previous field */
    unsigned field;                              /* enum nccl_payload_field, or NCCL_N_FIELDS for any other */
    uint64_t row;                                /* of repeated entries the last one counts */
};

struct nvtx_schemas {
    struct nvtx_schema_entry *list;
    size_t n;
};

/* The field of this name, or NCCL_N_FIELDS. */
unsigned nccl_field_named(const char *name);

/* Sorts the entries and removes repeated ones. O(n log n). */
void nvtx_schemas_sort(struct nvtx_schemas *schemas);

/* Decodes an extended payload: domain, schema, size and offset as 64-bit numbers, then the bytes. O(fields). */
struct nccl_payload nvtx_payload_read(const struct nvtx_schemas *schemas, const void *bytes, size_t n);

#endif
