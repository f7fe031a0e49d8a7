/*
 * operators.c - tables of operators, their trees and GPU operators, as PyTorch 2 records them for a transformer.
 *
 * OPERATORS lists name, inputs, outputs, schema, launch, sequence, annotation; the trees refer to its rows by number.
 */
#include <stdarg.h>
#include <stdint.h>

#include "generate/lines.h"
#include "generate/operators.h"

/*
 * Lists of arguments, built once per operator.
 *
 *     letters "tws", shapes k --facet--> "[[8, 32, 64], [64, 64], []]"            sizes
 *                                        "['Tensor(float)', ..., 'Int']"          types, and so on
 */

struct shape {
    uint32_t n, size[4];
};

static const struct shape tensors[N_TENSOR_SHAPES] = {{3, {8, 32, 64}},    {3, {32, 8, 256}},    {2, {256, 64}},
                                                      {4, {8, 4, 32, 32}}, {4, {4, 16, 64, 64}}, {2, {512, 1024}}};
static const struct shape matrices[N_TENSOR_SHAPES] = {{2, {64, 64}}, {2, {1000, 64}}, {2, {256, 64}},
                                                       {2, {32, 32}}, {2, {64, 192}},  {2, {1024, 1024}}};

static bool is_tensor(char letter) {
    return letter == 't' || letter == 'w' || letter == 'v' || letter == 'l';
}

/* The shape of a tensor, or the values of a list of integers. */
static struct shape shape_of(char letter, size_t k) {
    if (letter == 'w')
        return matrices[k];
    if (letter == 'v')
        return (struct shape){1, {matrices[k].size[1]}};
    if (letter == 'l')
        return (struct shape){2, {8, 32}};
    return tensors[k];
}

static struct shape strides_of(struct shape shape) {
    struct shape strides = {.n = shape.n};
    uint32_t stride = 1;
    for (uint32_t i = shape.n; i-- > 0;) {
        strides.size[i] = stride;
        stride *= shape.size[i];
    }
    return strides;
}

static void integers_add(struct buffer *text, struct shape shape) {
    for (uint32_t i = 0; i < shape.n; i++)
        buffer_format(text, "%s%u", i ? ", " : "[", shape.size[i]);
    buffer_format(text, "]");
}

/* Appends a word per integer of a list. */
static void words_add(struct buffer *text, struct shape shape, const char *word, const char *between) {
    for (uint32_t i = 0; i < shape.n; i++)
        buffer_format(text, "%s%s", i ? between : "", word);
}

static void value_add(struct buffer *text, char letter, bool is_made, size_t k) {
    struct shape shape = shape_of(letter, k);
    uint32_t elements = strides_of(shape).size[0] * shape.size[0];
    if (is_tensor(letter))
        buffer_format(text, "[%s, 0, %u, %d, 'cuda:0']", is_made ? "@output@, @made@" : "@input@, @storage@", elements,
                      letter == 'l' ? 8 : 4);
    else if (letter == 'i')
        integers_add(text, shape);
    else
        buffer_format(text, "%s",
                      letter == 's'   ? "1"
                      : letter == 'f' ? "1e-05"
                      : letter == 'b' ? "false"
                      : letter == 'd' ? "'cuda:0'"
                                      : "'<None>'");
}

static void shape_add(struct buffer *text, char letter, struct shape shape) {
    if (is_tensor(letter)) {
        integers_add(text, shape);
        return;
    }
    buffer_format(text, "[");
    if (letter == 'i')
        words_add(text, shape, "[]", ", ");
    buffer_format(text, "]");
}

static void type_add(struct buffer *text, char letter, size_t k) {
    if (letter == 'i') {
        buffer_format(text, "'GenericList[");
        words_add(text, shape_of(letter, k), "Int", ",");
        buffer_format(text, "]'");
        return;
    }
    buffer_format(text, "%s",
                  letter == 'l'       ? "'Tensor(long int)'"
                  : is_tensor(letter) ? "'Tensor(float)'"
                  : letter == 's'     ? "'Int'"
                  : letter == 'f'     ? "'Double'"
                  : letter == 'b'     ? "'Bool'"
                  : letter == 'd'     ? "'Device'"
                                      : "'None'");
}

static void concrete_add(struct buffer *text, char letter, size_t k) {
    buffer_format(text, "'");
    if (letter == 'i')
        integers_add(text, shape_of(letter, k));
    else if (letter == 's' || letter == 'f' || letter == 'b')
        buffer_format(text, "%s", letter == 's' ? "1" : letter == 'f' ? "1.0000000000000001e-05" : "False");
    buffer_format(text, "'");
}

static const char *input_type(char letter) {
    if (is_tensor(letter))
        return letter == 'l' ? "'long int'" : "'float'";
    if (letter == 'i')
        return "'ScalarList'";
    return letter == 's' || letter == 'f' || letter == 'b' ? "'Scalar'" : "''";
}

static void sizes_add(struct buffer *text, char letter, struct shape shape) {
    if (is_tensor(letter))
        integers_add(text, shape);
    else
        buffer_format(text, "[]");
}

static void argument_add(struct buffer *text, enum facet facet, char letter, bool is_made, size_t k) {
    struct shape shape = shape_of(letter, k);
    switch (facet) {
    case FACET_VALUES:
        value_add(text, letter, is_made, k);
        break;
    case FACET_SHAPES:
        shape_add(text, letter, shape);
        break;
    case FACET_TYPES:
        type_add(text, letter, k);
        break;
    case FACET_STRIDES:
        shape_add(text, letter, strides_of(shape));
        break;
    case FACET_CONCRETE_INPUTS:
        concrete_add(text, letter, k);
        break;
    case FACET_INPUT_TYPES:
        buffer_format(text, "%s", input_type(letter));
        break;
    case FACET_INPUT_STRIDES:
        sizes_add(text, letter, strides_of(shape));
        break;
    case FACET_INPUT_DIMS:
        sizes_add(text, letter, shape);
        break;
    }
}

void arguments_add(struct buffer *text, enum facet facet, const char *letters, bool are_made, size_t k) {
    buffer_format(text, "[");
    for (size_t i = 0; letters[i]; i++) {
        buffer_format(text, "%s", i ? ", " : "");
        argument_add(text, facet, letters[i], are_made, k);
    }
    buffer_format(text, "]");
}

#define OPERATORS(X)                                                                                                   \
    X(SCOPE, "## block ##", "", "", "", NONE, false, true)                                                             \
    X(LINEAR, "aten::linear", "twv", "t", "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",    \
      NONE, true, false)                                                                                               \
    X(T, "aten::t", "w", "w", "aten::t(Tensor(a) self) -> Tensor(a)", NONE, true, false)                               \
    X(TRANSPOSE, "aten::transpose", "tss", "t",                                                                        \
      "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", NONE, false, false)                      \
    X(AS_STRIDED, "aten::as_strided", "tiin", "t",                                                                     \
      "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",    \
      NONE, false, false)                                                                                              \
    X(ADDMM, "aten::addmm", "vtwss", "t",                                                                              \
      "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", MULTIPLY,      \
      true, false)                                                                                                     \
    X(MM, "aten::mm", "tw", "t", "aten::mm(Tensor self, Tensor mat2) -> Tensor", MULTIPLY, true, false)                \
    X(BMM, "aten::bmm", "tt", "t", "aten::bmm(Tensor self, Tensor mat2) -> Tensor", MULTIPLY, true, false)             \
    X(MATMUL, "aten::matmul", "tt", "t", "aten::matmul(Tensor self, Tensor other) -> Tensor", NONE, true, false)       \
    X(EXPAND, "aten::expand", "tib", "t",                                                                              \
      "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", NONE, true, false)           \
    X(RESHAPE, "aten::reshape", "ti", "t", "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", NONE, true,   \
      false)                                                                                                           \
    X(VIEW, "aten::view", "ti", "t", "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", NONE, true, false)      \
    X(COPY, "aten::copy_", "ttb", "t",                                                                                 \
      "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", COPY, false, false)           \
    X(TO, "aten::to", "tsbbn", "t",                                                                                    \
      "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "      \
      "memory_format=None) -> Tensor(a)",                                                                              \
      NONE, false, false)                                                                                              \
    X(TO_COPY, "aten::_to_copy", "tsnnnbn", "t",                                                                       \
      "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "        \
      "pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",                         \
      NONE, false, false)                                                                                              \
    X(EMPTY, "aten::empty", "isnd", "t",                                                                               \
      "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "              \
      "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",                               \
      NONE, false, false)                                                                                              \
    X(EMPTY_STRIDED, "aten::empty_strided", "iissdb", "t",                                                             \
      "aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? "   \
      "device=None, bool? pin_memory=None) -> Tensor",                                                                 \
      NONE, false, false)                                                                                              \
    X(LAYER_NORM, "aten::layer_norm", "tivvfb", "t",                                                                   \
      "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "       \
      "eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",                                                 \
      NONE, true, false)                                                                                               \
    X(NATIVE_LAYER_NORM, "aten::native_layer_norm", "tivvf", "tvv",                                                    \
      "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "  \
      "(Tensor, Tensor, Tensor)",                                                                                      \
      REDUCE, true, false)                                                                                             \
    X(DROPOUT, "aten::dropout", "tfb", "t", "aten::dropout(Tensor input, float p, bool train) -> Tensor", NONE, true,  \
      false)                                                                                                           \
    X(NATIVE_DROPOUT, "aten::native_dropout", "tfb", "tt",                                                             \
      "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", ELEMENTWISE, true, false)        \
    X(RELU, "aten::relu", "t", "t", "aten::relu(Tensor self) -> Tensor", NONE, true, false)                            \
    X(CLAMP_MIN, "aten::clamp_min", "ts", "t", "aten::clamp_min(Tensor self, Scalar min) -> Tensor", ELEMENTWISE,      \
      false, false)                                                                                                    \
    X(SOFTMAX, "aten::softmax", "tsn", "t",                                                                            \
      "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", NONE, true, false)                  \
    X(SOFTMAX_IMPL, "aten::_softmax", "tsb", "t",                                                                      \
      "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", REDUCE, true, false)                       \
    X(ADD, "aten::add", "tts", "t", "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",        \
      ELEMENTWISE, true, false)                                                                                        \
    X(ADD_, "aten::add_", "tts", "t",                                                                                  \
      "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)", ELEMENTWISE, false, false)  \
    X(MUL, "aten::mul", "tt", "t", "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", ELEMENTWISE, true, false)  \
    X(MUL_, "aten::mul_", "tf", "t", "aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", ELEMENTWISE,    \
      false, false)                                                                                                    \
    X(ADDCDIV_, "aten::addcdiv_", "tttf", "t",                                                                         \
      "aten::addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)", ELEMENTWISE, \
      false, false)                                                                                                    \
    X(SQRT, "aten::sqrt", "t", "t", "aten::sqrt(Tensor self) -> Tensor", ELEMENTWISE, false, false)                    \
    X(FILL_, "aten::fill_", "ts", "t", "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)", ELEMENTWISE, \
      false, false)                                                                                                    \
    X(SUM, "aten::sum", "tibn", "t",                                                                                   \
      "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",      \
      REDUCE, false, false)                                                                                            \
    X(EMBEDDING, "aten::embedding", "wlsbb", "t",                                                                      \
      "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool "     \
      "sparse=False) -> Tensor",                                                                                       \
      NONE, true, false)                                                                                               \
    X(INDEX_SELECT, "aten::index_select", "wsl", "t",                                                                  \
      "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", REDUCE, false, false)                        \
    X(DETACH, "aten::detach", "t", "t", "aten::detach(Tensor(a) self) -> Tensor(a)", NONE, false, false)               \
    X(ADDMM_NODE, "autograd::engine::evaluate_function: AddmmBackward0", "", "", "", NONE, true, false)                \
    X(ADDMM_BACKWARD, "AddmmBackward0", "t", "", "", NONE, true, false)                                                \
    X(RELU_NODE, "autograd::engine::evaluate_function: ReluBackward0", "", "", "", NONE, true, false)                  \
    X(RELU_BACKWARD, "ReluBackward0", "t", "", "", NONE, true, false)                                                  \
    X(THRESHOLD_BACKWARD, "aten::threshold_backward", "tts", "t",                                                      \
      "aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor", ELEMENTWISE, false,     \
      false)                                                                                                           \
    X(NORM_NODE, "autograd::engine::evaluate_function: NativeLayerNormBackward0", "", "", "", NONE, true, false)       \
    X(NORM_BACKWARD, "NativeLayerNormBackward0", "t", "", "", NONE, true, false)                                       \
    X(NATIVE_NORM_BACKWARD, "aten::native_layer_norm_backward", "ttivvvv", "tvv",                                      \
      "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, "       \
      "Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",                   \
      REDUCE, false, false)                                                                                            \
    X(GRAD_NODE, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "", "", "", NONE, true,       \
      false)                                                                                                           \
    X(ACCUMULATE, "torch::autograd::AccumulateGrad", "t", "", "", NONE, false, false)                                  \
    X(ALLREDUCE, "c10d::allreduce_", "tnnnbs", "tn",                                                                   \
      "c10d::allreduce_(Tensor[] tensors, __torch__.torch.classes.c10d.ProcessGroup process_group, "                   \
      "__torch__.torch.classes.c10d.ReduceOp reduce_op, Tensor? sparse_indices, bool async_op=True, int timeout=-1) "  \
      "-> (Tensor[], __torch__.torch.classes.c10d.Work)",                                                              \
      NONE, false, false)                                                                                              \
    X(RECORD_COMMS, "record_param_comms", "tsnnnsi", "t", "", NCCL, false, false)                                      \
    X(COALESCED, "nccl:coalesced", "", "", "", NCCL, false, true)                                                      \
    X(BROADCAST, "c10d::broadcast_", "tniibs", "tn",                                                                   \
      "c10d::broadcast_(Tensor[] tensors, __torch__.torch.classes.c10d.ProcessGroup process_group, int root_rank, "    \
      "int root_tensor, bool async_op=True, int timeout=-1) -> (Tensor[], __torch__.torch.classes.c10d.Work)",         \
      NONE, false, false)                                                                                              \
    X(ALL_GATHER, "c10d::_allgather_base_", "ttnbs", "tn",                                                             \
      "c10d::_allgather_base_(Tensor output_tensor, Tensor input_tensor, __torch__.torch.classes.c10d.ProcessGroup "   \
      "process_group, bool async_op=True, int timeout=-1) -> (Tensor, __torch__.torch.classes.c10d.Work)",             \
      NONE, false, false)                                                                                              \
    X(REDUCE_SCATTER, "c10d::_reduce_scatter_base_", "ttnnbs", "tn",                                                   \
      "c10d::_reduce_scatter_base_(Tensor output_tensor, Tensor input_tensor, "                                        \
      "__torch__.torch.classes.c10d.ProcessGroup process_group, __torch__.torch.classes.c10d.ReduceOp reduce_op, "     \
      "bool async_op=True, int timeout=-1) -> (Tensor, __torch__.torch.classes.c10d.Work)",                            \
      NONE, false, false)                                                                                              \
    X(SEND, "c10d::send", "tnii", "n",                                                                                 \
      "c10d::send(Tensor[] tensors, __torch__.torch.classes.c10d.ProcessGroup process_group, int dst, int tag) -> "    \
      "__torch__.torch.classes.c10d.Work",                                                                             \
      NONE, false, false)                                                                                              \
    X(RECEIVE, "c10d::recv_", "tnii", "n",                                                                             \
      "c10d::recv_(Tensor[] tensors, __torch__.torch.classes.c10d.ProcessGroup process_group, int src, int tag) -> "   \
      "__torch__.torch.classes.c10d.Work",                                                                             \
      NONE, false, false)

#define ROW(id, name, inputs, outputs, schema, launch, sequence, annotation)                                           \
    {name, inputs, outputs, schema, LAUNCH_##launch, sequence, annotation},
#define NUMBER(id, ...) OP_##id,

enum operator_number { OPERATORS(NUMBER) OP_COUNT };

const struct operator_row operator_rows[] = {OPERATORS(ROW)};
const size_t n_operators = OP_COUNT;
const size_t n_single_operators = OP_COALESCED + 1;
const uint8_t operator_scope = OP_SCOPE;

static const uint8_t linear[] = {0, OP_LINEAR, 1, OP_T,      2, OP_TRANSPOSE,  3, OP_AS_STRIDED,
                                 1, OP_ADDMM,  2, OP_EXPAND, 3, OP_AS_STRIDED, 2, OP_COPY};
static const uint8_t linear_batched[] = {0, OP_LINEAR,  1, OP_T,    2, OP_TRANSPOSE, 3, OP_AS_STRIDED, 1, OP_MATMUL,
                                         2, OP_RESHAPE, 3, OP_VIEW, 2, OP_MM,        1, OP_ADD_};
static const uint8_t attention[] = {0, OP_MATMUL,  1, OP_EXPAND,       2, OP_AS_STRIDED, 1, OP_RESHAPE,
                                    2, OP_VIEW,    1, OP_EXPAND,       2, OP_AS_STRIDED, 1, OP_BMM,
                                    1, OP_SOFTMAX, 2, OP_SOFTMAX_IMPL, 1, OP_DROPOUT,    2, OP_NATIVE_DROPOUT};
static const uint8_t norm[] = {0, OP_LAYER_NORM, 1, OP_NATIVE_LAYER_NORM, 2, OP_EMPTY, 2, OP_EMPTY, 2, OP_VIEW};
static const uint8_t relu[] = {0, OP_RELU, 1, OP_CLAMP_MIN};
static const uint8_t residual[] = {0, OP_ADD};
static const uint8_t view[] = {0, OP_TRANSPOSE, 1, OP_AS_STRIDED};
static const uint8_t scaled[] = {0, OP_MUL, 1, OP_TO, 2, OP_TO_COPY, 3, OP_EMPTY_STRIDED, 3, OP_COPY};
static const uint8_t embedding[] = {0, OP_EMBEDDING, 1, OP_RESHAPE, 2, OP_VIEW, 1, OP_INDEX_SELECT, 2, OP_EMPTY};

static const uint8_t linear_gradient[] = {
    0, OP_ADDMM_NODE, 1, OP_ADDMM_BACKWARD, 2, OP_T,  3, OP_TRANSPOSE, 4, OP_AS_STRIDED, 2, OP_MM,  2, OP_T,
    3, OP_TRANSPOSE,  4, OP_AS_STRIDED,     2, OP_MM, 1, OP_SUM,       2, OP_FILL_,      1, OP_VIEW};
static const uint8_t relu_gradient[] = {0, OP_RELU_NODE, 1, OP_RELU_BACKWARD, 2, OP_THRESHOLD_BACKWARD};
static const uint8_t norm_gradient[] = {0, OP_NORM_NODE, 1, OP_NORM_BACKWARD, 2, OP_NATIVE_NORM_BACKWARD,
                                        3, OP_EMPTY,     3, OP_EMPTY,         3, OP_EMPTY};
static const uint8_t accumulate[] = {0, OP_GRAD_NODE, 1, OP_ACCUMULATE, 2, OP_DETACH, 2, OP_ADD_};

static const uint8_t decay[] = {0, OP_MUL_};
static const uint8_t moment[] = {0, OP_MUL_, 0, OP_ADD_};
static const uint8_t root[] = {0, OP_SQRT, 0, OP_ADD_};
static const uint8_t update[] = {0, OP_ADDCDIV_};
static const uint8_t step_count[] = {0, OP_ADD_, 1, OP_TO, 2, OP_TO_COPY, 3, OP_EMPTY_STRIDED, 3, OP_COPY};

static const uint8_t allreduce[] = {0, OP_ALLREDUCE, 1, OP_RECORD_COMMS};
static const uint8_t broadcast[] = {0, OP_BROADCAST, 1, OP_RECORD_COMMS};
static const uint8_t all_gather[] = {0, OP_ALL_GATHER, 1, OP_RECORD_COMMS};
static const uint8_t reduce_scatter[] = {0, OP_REDUCE_SCATTER, 1, OP_RECORD_COMMS};
static const uint8_t send_to_partner[] = {0, OP_SEND, 1, OP_RECORD_COMMS};
static const uint8_t receive_from_partner[] = {0, OP_RECEIVE, 1, OP_RECORD_COMMS};
static const uint8_t allreduce_coalesced[] = {0, OP_ALLREDUCE, 1, OP_COALESCED, 2, OP_RECORD_COMMS};

#define TREE(name, height)                                                                                             \
    { name, sizeof name / 2, height }

static const struct tree forward_trees[] = {
    TREE(linear, 4),   TREE(linear, 4), TREE(linear_batched, 4), TREE(attention, 3), TREE(norm, 3),     TREE(relu, 2),
    TREE(residual, 1), TREE(view, 2),   TREE(view, 2),           TREE(scaled, 4),    TREE(embedding, 3)};
static const struct tree backward_trees[] = {TREE(linear_gradient, 5), TREE(linear_gradient, 5), TREE(relu_gradient, 3),
                                             TREE(norm_gradient, 4),   TREE(accumulate, 3),      TREE(accumulate, 3)};
static const struct tree optimizer_trees[] = {TREE(decay, 1), TREE(moment, 1), TREE(root, 1), TREE(update, 1),
                                              TREE(step_count, 4)};
static const struct tree reduction_trees[] = {TREE(allreduce, 2), TREE(allreduce, 2), TREE(allreduce_coalesced, 3)};

const struct tree collective_trees[N_COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALL_REDUCE] = TREE(allreduce, 2),  [COLLECTIVE_BROADCAST] = TREE(broadcast, 2),
    [COLLECTIVE_ALL_GATHER] = TREE(all_gather, 2), [COLLECTIVE_REDUCE_SCATTER] = TREE(reduce_scatter, 2),
    [COLLECTIVE_SEND] = TREE(send_to_partner, 2),  [COLLECTIVE_RECEIVE] = TREE(receive_from_partner, 2),
};

#define FOREST(trees)                                                                                                  \
    { trees, sizeof trees / sizeof trees[0] }

const struct forest forests[N_PHASES] = {
    [PHASE_FORWARD] = FOREST(forward_trees),
    [PHASE_BACKWARD] = FOREST(backward_trees),
    [PHASE_OPTIMIZER] = FOREST(optimizer_trees),
    [PHASE_COLLECTIVE] = FOREST(reduction_trees),
};

#define ELEMENTWISE(functor)                                                                                           \
    "void at::native::vectorized_elementwise_kernel<4, at::native::" functor ", std::array<char*, 3ul> >(int, "        \
    "at::native::" functor ", std::array<char*, 3ul>)"
#define RUNTIME(name, cbid) name, "cuda_runtime", cbid
#define DRIVER(name, cbid)  name, "cuda_driver", cbid
#define ALL_REDUCE          "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

const struct gpu_row gpu_rows[] = {
    {LAUNCH_MULTIPLY, false, false, 60, "ampere_sgemm_128x64_nn", RUNTIME("cudaLaunchKernel", 211), NULL},
    {LAUNCH_MULTIPLY, false, false, 24, "ampere_sgemm_64x32_sliced1x4_tn", RUNTIME("cudaLaunchKernel", 211), NULL},
    {LAUNCH_MULTIPLY, false, false, 45, "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_cgasize1x1x1_cublas",
     DRIVER("cuLaunchKernelEx", 652), NULL},
    {LAUNCH_MULTIPLY, false, false, 38,
     "void gemmSN_NN_kernel<float, 128, 2, 4, 8, 4, 4, false, cublasGemvTensorStridedBatched<float const>, "
     "cublasGemvTensorStridedBatched<float> >(cublasGemmSmallNParams<float>)",
     RUNTIME("cudaLaunchKernelExC", 430), NULL},
    {LAUNCH_ELEMENTWISE, false, false, 6, ELEMENTWISE("CUDAFunctor_add<float>"), RUNTIME("cudaLaunchKernel", 211),
     NULL},
    {LAUNCH_ELEMENTWISE, false, false, 7,
     ELEMENTWISE("BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >"),
     RUNTIME("cudaLaunchKernel", 211), NULL},
    {LAUNCH_ELEMENTWISE, false, false, 4, ELEMENTWISE("FillFunctor<float>"), RUNTIME("cudaLaunchKernel", 211), NULL},
    {LAUNCH_ELEMENTWISE, false, false, 5,
     ELEMENTWISE("(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, c10::Scalar)"),
     RUNTIME("cudaLaunchKernel", 211), NULL},
    {LAUNCH_ELEMENTWISE, false, false, 9, "triton_poi_fused_add_mul_relu_0", DRIVER("cuLaunchKernel", 307), NULL},
    {LAUNCH_REDUCE, false, false, 13,
     "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, float const*, "
     "float const*, float const*, float*, float*, float*)",
     RUNTIME("cudaLaunchKernel", 211), NULL},
    {LAUNCH_REDUCE, false, false, 12,
     "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
     "at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, "
     "unsigned int, float, 4> >(at::native::ReduceOp<float, unsigned int, float, 4>)",
     RUNTIME("cudaLaunchKernel", 211), NULL},
    {LAUNCH_REDUCE, false, false, 16,
     "void (anonymous namespace)::softmax_warp_forward<float, float, float, 5, false, false>(float*, float const*, "
     "int, int, int, bool const*, int, bool)",
     RUNTIME("cudaLaunchKernel", 211), NULL},
    {LAUNCH_COPY, true, false, 2, "Memcpy DtoD (Device -> Device)", RUNTIME("cudaMemcpyAsync", 41), NULL},
    {LAUNCH_COPY, true, true, 4, "Memcpy HtoD (Pageable -> Device)", RUNTIME("cudaMemcpyAsync", 41), NULL},
    {LAUNCH_COPY, true, false, 3, "Memcpy DtoH (Device -> Pinned)", RUNTIME("cudaMemcpyAsync", 41), NULL},
    {LAUNCH_COPY, false, false, 5, ELEMENTWISE("direct_copy_kernel_cuda(at::TensorIteratorBase&)"),
     RUNTIME("cudaLaunchKernel", 211), NULL},
    {LAUNCH_NCCL, false, false, 110, ALL_REDUCE, RUNTIME("cudaLaunchKernelExC", 430), "0"},
    {LAUNCH_NCCL, false, false, 110, ALL_REDUCE, RUNTIME("cudaLaunchKernelExC", 430), "1"},
    {LAUNCH_NCCL, false, false, 110, ALL_REDUCE, RUNTIME("cudaLaunchKernelExC", 430), "dp_group"},
    {LAUNCH_NCCL, false, false, 110, ALL_REDUCE, RUNTIME("cudaLaunchKernelExC", 430), NULL},
};
const size_t n_gpu_rows = sizeof gpu_rows / sizeof gpu_rows[0];
