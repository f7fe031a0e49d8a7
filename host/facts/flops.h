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

#include <math.h>

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

/*
 * What the families of operators share; inside of facts/flops.
 */

/* An operator whose formula is asked for. */
struct flops_case {
    const struct op_kind *kind;
    const struct op_inputs *inputs;
    enum op_formula formula;
    bool tracelens;
};

typedef struct op_flops flops_rule(const struct flops_case *at);

flops_rule flops_gemm, flops_linear;
flops_rule flops_convolution, flops_convolution_backward;
flops_rule flops_attention, flops_attention_backward, flops_attention_gradient;
flops_rule flops_elementwise, flops_copy, flops_foreach, flops_optimizer, flops_resize;
flops_rule flops_reduce, flops_softmax;
flops_rule flops_norm, flops_norm_backward;

/* What is known, and on which units, in the precision of the input at `place`. */
struct op_flops flops_known(const struct flops_case *at, double flops, double bytes, enum flops_unit unit,
                            uint32_t place);
struct op_flops flops_unknown(const char *why);

/* The input at a place, and its type; NULL: no element type. */
static inline struct operator_input case_input(const struct flops_case *at, uint32_t place) {
    return op_input_at(at->inputs, place);
}
const struct data_type *case_type(const struct flops_case *at, uint32_t place);

/* Bytes of an element of the input at a place, NaN where its type is unknown. */
double case_bytes(const struct flops_case *at, uint32_t place);

/* Whether the input is a tensor, and not a scalar, a list or nothing. */
bool case_is_tensor(const struct flops_case *at, uint32_t place);

/* Elements of a tensor; those of them that lie in memory: an expanded dimension is there once. */
double tensor_elements(const struct input_tensor *tensor);

/* Bytes that reading the input takes: of what lies in memory, or to TraceLens of all. */
double case_read(const struct flops_case *at, uint32_t place);

/* Whether the value at a place is True. */
bool case_is_true(const struct flops_case *at, uint32_t place);

/* Numbers of the value at a place; false: it is no list of them. */
bool case_numbers(const struct flops_case *at, uint32_t place, int64_t *numbers, uint32_t most, uint32_t *n);

/* Most dimensions that are looked at. */
#define FLOPS_RANK 64

#endif
