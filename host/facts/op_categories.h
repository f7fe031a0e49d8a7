/*
 * op_categories.h - the kind of an operator by its name: a category for tables, and the formula by which its arithmetic
 * and its traffic follow from the shapes of its inputs (facts/flops.h).
 *
 *     "aten::mm" --binary search in a sorted table--> OP_GEMM, FORMULA_MM
 *     "aten::_my_op" that launches "void at::native::vectorized_elementwise_kernel..." --> OP_ELEMENTWISE
 *
 * TraceLens has a table of its own, with quirks; each line has TraceLens' formula and ours, so that its numbers can be
 * reproduced.
 *
 * Cost of a look-up: O(log lines) comparisons of names.
 */
#ifndef FACTS_OP_CATEGORIES_H
#define FACTS_OP_CATEGORIES_H

#include <stddef.h>

/* Numbers and names of the categories. */
#define OP_CATEGORIES(X)                                                                                               \
    X(OTHER, "other")                                                                                                  \
    X(CONV_BWD, "CONV_bwd")                                                                                            \
    X(CONV_FWD, "CONV_fwd")                                                                                            \
    X(CROSS_ENTROPY_BWD, "CrossEntropy_bwd")                                                                           \
    X(CROSS_ENTROPY_FWD, "CrossEntropy_fwd")                                                                           \
    X(CUSTOM_COLLECTIVE, "CustomCollective")                                                                           \
    X(ELEMENTWISE, "elementwise")                                                                                      \
    X(GEMM, "GEMM")                                                                                                    \
    X(GROUP_QUANT, "GroupQuant")                                                                                       \
    X(GROUPED_GEMM_FWD, "GroupedGEMM_fwd")                                                                             \
    X(INFERENCE_ATTENTION, "InferenceAttention")                                                                       \
    X(MHC, "mHC")                                                                                                      \
    X(MOE_AUX, "MoE_aux")                                                                                              \
    X(MOE_COMM_BWD, "MoE_comm_bwd")                                                                                    \
    X(MOE_COMM_FWD, "MoE_comm_fwd")                                                                                    \
    X(MOE_FUSED, "MoE_fused")                                                                                          \
    X(MOE_UNFUSED, "MoE_unfused")                                                                                      \
    X(MULTI_TENSOR_APPLY, "multi_tensor_apply")                                                                        \
    X(NORM_BWD, "NORM_bwd")                                                                                            \
    X(NORM_FWD, "NORM_fwd")                                                                                            \
    X(RECORD_PARAM_COMMS, "record_param_comms")                                                                        \
    X(REDUCE, "reduce")                                                                                                \
    X(RMS_NORM, "RMSNorm")                                                                                             \
    X(ROPE_BWD, "RoPE_bwd")                                                                                            \
    X(ROPE_FWD, "RoPE_fwd")                                                                                            \
    X(SDPA_BWD, "SDPA_bwd")                                                                                            \
    X(SDPA_FWD, "SDPA_fwd")                                                                                            \
    X(SSM_BWD, "SSM_bwd")                                                                                              \
    X(SSM_FWD, "SSM_fwd")                                                                                              \
    X(TRITON, "triton")                                                                                                \
    X(COMMUNICATION, "communication") /* by the kernels: facts/kernel_class.h */

enum op_category {
#define OP_CATEGORY_NUMBER(number, name) OP_##number,
    OP_CATEGORIES(OP_CATEGORY_NUMBER)
#undef OP_CATEGORY_NUMBER
        OP_N_CATEGORIES
};

/* "GEMM" and so on. */
extern const char *const op_category_names[OP_N_CATEGORIES];

/* The rule by which FLOPs and bytes follow from the inputs. The positions of arguments depend on the operator, so
 * operators of one kind may have several formulas. */
enum op_formula {
    FORMULA_NONE,    /* only the name is known */
    FORMULA_FOREIGN, /* TraceLens has a formula, sutra has none */
    FORMULA_OWN,     /* TraceLens does not know the operator */
    FORMULA_MM,      /* a, b */
    FORMULA_ADDMM,   /* bias, a, b */
    FORMULA_BMM,     /* the same for batches */
    FORMULA_BADDBMM, /* bias, a, b, batches */
    FORMULA_SCALED_MM,
    FORMULA_LINEAR,         /* x, weights of (outputs, inputs), bias */
    FORMULA_LINEAR_OUT,     /* x, weights, output */
    FORMULA_LINEAR_INTO,    /* x, weights, dtype, output */
    FORMULA_LINEAR_SCALED,  /* x and weights of 8 bits, with scales, to 16 bits */
    FORMULA_CONV,           /* aten::convolution */
    FORMULA_CONV_CUDNN,     /* of libraries, below it */
    FORMULA_CONV_MIOPEN,    /* */
    FORMULA_CONV_BACKWARD,  /* aten::convolution_backward */
    FORMULA_SDPA_CUDNN,     /* query, key and value of (batch, heads, length, width) */
    FORMULA_SDPA_EFFICIENT, /* other positions of "causal" */
    FORMULA_SDPA_FLASH,     /* */
    FORMULA_FLASH,          /* (batch, length, heads, width) from here on */
    FORMULA_FLASH_ATEN,     /* */
    FORMULA_EFFICIENT_ATEN, /* */
    FORMULA_FMHA,           /* */
    FORMULA_FLASH_3,        /* */
    FORMULA_FLASH_VARLEN,   /* (all lengths, heads, width) */
    FORMULA_SDPA_CUDNN_BACKWARD,
    FORMULA_SDPA_EFFICIENT_BACKWARD,
    FORMULA_SDPA_FLASH_BACKWARD,
    FORMULA_FLASH_BACKWARD,
    FORMULA_FLASH_ATEN_BACKWARD,
    FORMULA_EFFICIENT_ATEN_BACKWARD,
    FORMULA_FMHA_BACKWARD,
    FORMULA_FLASH_VARLEN_BACKWARD,
    FORMULA_UNARY,     /* element by element of one input; a second one is the output */
    FORMULA_BINARY,    /* of two */
    FORMULA_GENERAL,   /* of any number */
    FORMULA_COMPARE,   /* the same with boolean results */
    FORMULA_COPY,      /* moves only */
    FORMULA_FILL,      /* writes only */
    FORMULA_RESIZE,    /* to a recorded size in space */
    FORMULA_PAD,       /* by edges */
    FORMULA_GATED,     /* silu of one half, times the other */
    FORMULA_FOREACH,   /* element by element of lists of tensors */
    FORMULA_OPTIMIZER, /* lists of parameters, gradients and states */
    FORMULA_REDUCE,
    FORMULA_CUMULATE, /* as many results as inputs */
    FORMULA_SOFTMAX,
    FORMULA_SOFTMAX_BACKWARD,
    FORMULA_BATCH_NORM,
    FORMULA_LAYER_NORM,
    FORMULA_GROUP_NORM,
    FORMULA_NATIVE_GROUP_NORM,
    FORMULA_INSTANCE_NORM,
    FORMULA_RMS_NORM,
    FORMULA_BATCH_NORM_BACKWARD,
    FORMULA_VENDOR_BATCH_NORM_BACKWARD, /* of cuDNN and MIOpen: the input first */
    FORMULA_LAYER_NORM_BACKWARD,
    FORMULA_GROUP_NORM_BACKWARD,
    FORMULA_RMS_NORM_BACKWARD,
    FORMULA_TRITON,          /* kernels of torch.compile */
    FORMULA_PAGED_ATTENTION, /* query, key; lengths are in the annotation of the iteration */
    FORMULA_MOE,             /* tokens, weights of both layers, weights of the chosen experts */
    FORMULA_MOE_INTO,        /* results, tokens, weights of both layers; experts per token: input 8 */
    FORMULA_GROUPED_GEMM,    /* tokens, weights, ..., results: input 3, chosen experts: input 8 */
    N_FORMULAS
};

/* The table to search. */
enum op_table { OP_TABLE_ALL, OP_TABLE_TRACELENS };

struct op_kind {
    const char *name;
    enum op_category category;
    enum op_formula tracelens; /* FORMULA_OWN: TraceLens does not know the name */
    enum op_formula formula;
};

/* The line of an operator, or NULL. */
const struct op_kind *op_kind_find(const char *name, size_t length, enum op_table table);

/* The same for operators that have a formula; also by patterns of names: kernels of torch.compile, attention of vLLM,
 * AITER and SGLang, which number some operators. NULL: no formula. */
const struct op_kind *op_formula_find(const char *name, size_t length, enum op_table table);

/* The category of an operator by its name, its name's prefix, or the name of its first kernel (which may be NULL); else
 * OP_OTHER. */
enum op_category op_category_find(const char *name, size_t length, const char *kernel, size_t kernel_length,
                                  enum op_table table);

#endif
