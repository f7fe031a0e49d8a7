/*
 * flops.h - floating point operations and bytes of memory traffic of an operator, from its name and its inputs.
 *
 *     aten::addmm   [512] [141, 512] [512, 30522]   -->   4.4e9 FLOPs, 40 MB, on matrix units, in bf16
 *
 * FLOPs count a multiplication and an addition as two; bytes count each input once and each output once, as if caches
 * kept all intermediate results. There are two sets of rules, ours and TraceLens':
 *
 *                      TraceLens                              ours
 *     bool, short      bytes are unknown                      1 and 2 bytes
 *     expanded inputs  count in full                          count stored elements
 *     convolution      no bias, both gradients always         bias and output_mask as recorded
 *     attention        2 bytes per element                    size of the recorded type
 *     reductions       one result                             results by "dim"
 *     norms            always train, with weight and bias     by the recorded arguments
 *     copies           compute                                only move
 *
 * If inputs are missing or do not match, the result has the reason. Cost: O(dimensions).
 */
#ifndef FACTS_FLOPS_H
#define FACTS_FLOPS_H

#include <math.h>

#include "facts/op_categories.h"
#include "facts/op_inputs.h"

enum flops_rules { FLOPS_OURS, FLOPS_TRACELENS };

static inline enum op_table flops_table(enum flops_rules rules) {
    return rules == FLOPS_TRACELENS ? OP_TABLE_TRACELENS : OP_TABLE_ALL;
}

/* The units of the device. */
enum flops_unit { UNIT_VECTOR, UNIT_MATRIX };

struct op_flops {
    const char *missing; /* why the FLOPs are unknown; NULL: they are known */
    const char *remark;  /* why known FLOPs are too low, or NULL */
    double flops;
    double bytes; /* NaN: unknown, as for unknown types */
    enum flops_unit unit;
    enum precision precision; /* of the first operand; PRECISION_NONE */
};

/* `kind` may be NULL: an unknown operator. */
struct op_flops op_flops_find(const struct op_kind *kind, const struct op_inputs *inputs, enum flops_rules rules);

/* The same for the gradient of attention, from the forward operator, by TraceLens' rules. */
struct op_flops op_flops_gradient(const struct op_kind *kind, const struct op_inputs *inputs);

/* Whether an annotation names the lengths of the sequences of an iteration, as vLLM and SGLang write it; op_inputs of
 * attention need it. O(length). */
bool flops_iteration_is_known(const char *annotation);

/* ---- Triton kernels of torch.compile (flops_triton.c) ---- */

enum triton_kind { TRITON_NONE, TRITON_POINTWISE, TRITON_REDUCTION, TRITON_PERSISTENT };

/* The kind of a kernel by the beginning of its name; TRITON_NONE: another kernel, or a template. */
enum triton_kind triton_kind_of(const char *name, size_t length);

/* The operators that a kernel fuses. */
struct triton_sources {
    char text[512]; /* "add relu", without the last ones if they do not fit */
    size_t text_length;
    int flops; /* per element, of all of them */
};

/* False: the name has parts that are no known operators. O(length). */
bool triton_sources_find(const char *name, size_t length, struct triton_sources *sources);

/* One call of a kernel. */
struct triton_work {
    const char *missing;   /* why FLOPs or bytes are unknown, or NULL */
    double xnumel, rnumel; /* elements, and elements of a reduction; NaN: not recorded */
    double flops, bytes;   /* NaN: unknown */
    enum precision precision;
};

struct triton_work triton_work_find(const char *name, size_t length, const struct op_inputs *inputs);

/* ---- Internal to facts/flops*.c: shared by the families of operators (flops.c) ---- */

/* An operator and its formula. */
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
flops_rule flops_triton, flops_paged_attention, flops_moe, flops_grouped_gemm;

/* A result, in the precision of the input at `position`. */
struct op_flops flops_known(const struct flops_case *at, double flops, double bytes, enum flops_unit unit,
                            uint32_t position);
struct op_flops flops_unknown(const char *why);

/* The input at a position, and its type; NULL: not an element type. */
static inline struct operator_input case_input(const struct flops_case *at, uint32_t position) {
    return op_input_at(at->inputs, position);
}
const struct data_type *case_type(const struct flops_case *at, uint32_t position);

/* Bytes of an element of the input, NaN for unknown types. */
double case_bytes(const struct flops_case *at, uint32_t position);

/* Whether the input is a tensor (not a scalar, a list, or missing). */
bool case_is_tensor(const struct flops_case *at, uint32_t position);

/* Elements of a tensor. */
double tensor_elements(const struct input_tensor *tensor);

/* Bytes read of the input: of its stored elements (an expanded dimension counts once), for TraceLens of all. */
double case_read(const struct flops_case *at, uint32_t position);

/* Whether the value is True. */
bool case_is_true(const struct flops_case *at, uint32_t position);

/* Numbers of the value; false: not a list of numbers. */
bool case_numbers(const struct flops_case *at, uint32_t position, int64_t *numbers, uint32_t max_numbers, uint32_t *n);

/* Maximum number of dimensions. */
#define FLOPS_RANK 64

#endif
