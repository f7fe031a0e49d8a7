/*
 * params.h - the parameters by which TraceLens' performance models describe an operator.
 *
 *     aten::mm of (141, 512) and (512, 64)   -->   M 141, N 64, K 512, bias False, stride_A (512, 1), ..., B 1
 *
 * TraceLens groups operators by these parameters and prints them: as columns "param: M" of a sheet for each kind of
 * operator, and as a dictionary in the column "perf_params". Cost: O(dimensions).
 */
#ifndef ANALYZE_COMPAT_TRACELENS_PARAMS_H
#define ANALYZE_COMPAT_TRACELENS_PARAMS_H

#include "base/memory.h"
#include "facts/op_categories.h"
#include "facts/op_inputs.h"

/* The type of the Python value. A string's text has no quotes. */
enum param_kind { PARAM_NONE, PARAM_INTEGER, PARAM_REAL, PARAM_STRING, PARAM_OTHER };

#define PARAM_PREFIX "param: "

struct model_param {
    const char *name; /* of the column, with the prefix */
    enum param_kind kind;
    double number;        /* of an integer or a real */
    size_t begin, length; /* its str() in the text of all parameters */
};

/* Maximum parameters of one operator. */
#define PARAMS_MAX 24

/* Zero-initialise; free with buffer_free(&text). */
struct model_params {
    struct model_param list[PARAMS_MAX];
    uint32_t n;
    struct buffer text;
};

/* The operands that are transposed by the kernel's name. */
struct gemm_transposes {
    enum { TRANSPOSE_UNKNOWN, TRANSPOSE_KNOWN } known; /* whether a GEMM kernel has the name */
    enum { TRANSPOSE_NONE, TRANSPOSE_FALSE, TRANSPOSE_TRUE } a, b;
};

/* As TraceLens reads names of rocBLAS' and cuBLAS' kernels. */
struct gemm_transposes gemm_transposes_of(const char *kernel, size_t length);

/* Fills in the parameters of an operator whose FLOPs follow from TraceLens' rules; none if sutra does not support the
 * model. False: out of memory. */
bool tracelens_params_find(const struct op_kind *kind, const struct op_inputs *inputs,
                           struct gemm_transposes transposes, struct model_params *params);

/* Appends {'M': 141, ...}. */
void tracelens_params_append(const struct model_params *params, struct buffer *out);

/* The unit and precision that TraceLens compares an operator with, such as "matrix_bf16"; "" if none. */
const char *tracelens_compute_spec(const struct op_kind *kind, const struct op_inputs *inputs);

/* Whether TraceLens has numbers for the model's gradient, and writes operators of the model a row for it. */
bool tracelens_has_gradient(const struct op_kind *kind);

#endif
