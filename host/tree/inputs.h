/*
 * inputs.h - internals of struct sutra_inputs: the inputs of operators in flat arrays.
 *
 *     tags      Tensor Scalar End | ListBegin Tensor Tensor End Other End | End     three operators
 *     tensors   t0                              t1     t2
 *     sizes     8 16 16 1  |  ...                        t0: two sizes, two strides
 *     scalars   "1.0"                                    string ids
 *
 * A list and an operator have the same end tag. Only strided tensors have strides, after their sizes.
 */
#ifndef TREE_INPUTS_H
#define TREE_INPUTS_H

#include "columns/strings.h"
#include "sutra/profiler.h"

struct sutra_inputs {
    enum sutra_torch_version torch_version;
    bool in_list;
    uint8_t *tags;
    uint64_t n_tags, tags_capacity;
    struct sutra_tensor *tensors;
    uint64_t n_tensors, tensors_capacity;
    int64_t *sizes;
    uint64_t n_sizes, sizes_capacity;
    uint32_t *scalars;
    uint64_t n_scalars, scalars_capacity;
    struct strings strings; /* names of dtypes, and scalars */
};

/* The number of a name of a dtype; STRING_NONE: out of memory. */
static inline uint32_t inputs_dtype(struct sutra_inputs *inputs, const char *name, size_t length) {
    return strings_intern(&inputs->strings, name, length);
}

#endif
