/*
 * flops.h - floating point operations and bytes of memory traffic of an operator, from its name and its inputs.
 *
 *     aten::addmm   [512] [141, 512] [512, 30522]   -->   4.4e9 FLOPs, 40 MB, on matrix units, in bf16
 *
 * FLOPs count a multiplication and an addition as two; bytes count each input once and each output once, as if caches
 * kept all in between. Two rules: ours, and TraceLens' with what it leaves out or takes for something else:
 *
 *                      TraceLens                              ours
 *     bool, short      bytes are unknown                      1 and 2 bytes
 *     expanded inputs  count in full                          count what is there
 *     convolution      no bias, both gradients always         bias and output_mask as they were
 *     attention        2 bytes an element                     as many as its type has
 *     reductions       one result                             as many as "dim" says
 *     norms            always train, with weight and bias     as the arguments say
 *     copies           compute                                move only
 *
 * Where inputs are absent or do not fit, the result says why nothing is known. Cost: O(dimensions).
 */
#ifndef FACTS_FLOPS_H
#define FACTS_FLOPS_H

#include "facts/data_types.h"
#include "facts/op_categories.h"
#include "facts/op_inputs.h"

enum flops_rules { FLOPS_OURS, FLOPS_TRACELENS };

/* Which of the device's units compute. */
enum flops_unit { UNIT_VECTOR, UNIT_MATRIX };

struct op_flops {
    const char *missing; /* why nothing is known; NULL: flops are */
    double flops;
    double bytes; /* NaN: unknown, as are those of unknown types */
    enum flops_unit unit;
    enum precision precision; /* of the first operand; PRECISION_NONE */
};

/* `kind` may be NULL: an operator that is not known. */
struct op_flops op_flops_find(const struct op_kind *kind, const struct op_inputs *inputs, enum flops_rules rules);

/* The same of the gradient of an operator of attention, told by the operator itself, by TraceLens' rules. */
struct op_flops op_flops_gradient(const struct op_kind *kind, const struct op_inputs *inputs);

#endif
