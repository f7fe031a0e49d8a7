/*
 * comm_bytes.h - how many bytes a communication kernel moves: those of the tensors among its inputs, each a list whose
 * fourth element is its number of elements and whose fifth is the size of one.
 *
 *     values   [[5, 6, 0, 112, 4, "cuda:0"], [[7, 8, 0, 16, 2, "cuda:0"], ...], true]
 *     types    ["Tensor(float)", "GenericList[Tensor(c10::Half),...]", "Bool"]
 *
 * Lists of lists of tensors, of which chakra_converter fails, are summed too. Cost: O(length of the values).
 */
#ifndef SIMULATE_COMM_BYTES_H
#define SIMULATE_COMM_BYTES_H

#include "read/fields.h"

/* The values and the types that stand at these bytes (0: nowhere). *nested: there is a list of lists. False: they are
 * none, or the sum does not fit. */
bool comm_bytes_read(struct field_reader *fields, size_t values_at, size_t types_at, int64_t *bytes, bool *nested);

#endif
