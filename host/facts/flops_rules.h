/*
 * flops_rules.h - what the families of operators share; inside of facts/flops.
 */
#ifndef FACTS_FLOPS_RULES_H
#define FACTS_FLOPS_RULES_H

#include <math.h>

#include "facts/flops.h"

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
double tensor_stored(const struct input_tensor *tensor);

/* The same of a tensor, or of all in a list. */
double input_elements(const struct operator_input *input);
double input_stored(const struct operator_input *input);

/* Bytes that reading the input takes: of what lies in memory, or to TraceLens of all. */
double case_read(const struct flops_case *at, uint32_t place);

/* Whether the value at a place is True. */
bool case_is_true(const struct flops_case *at, uint32_t place);

/* Numbers of the value at a place; false: it is no list of them. */
bool case_numbers(const struct flops_case *at, uint32_t place, int64_t *numbers, uint32_t most, uint32_t *n);

/* Most dimensions that are looked at. */
#define FLOPS_RANK 64

#endif
