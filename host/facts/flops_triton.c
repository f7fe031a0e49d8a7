/*
 * flops_triton.c - FLOPs and bytes of the Triton kernels that torch.compile generates, from the name of the kernel and
 * the arguments that PyTorch 2.4 and later record.
 *
 *     triton_poi_fused_add_relu_0   [1000, 1000] [1000, 1000] []   bf16 bf16 Scalar   "" "" "1000000"
 *            |         |    |                                                                |
 *            kind      source operators: 1 + 1 FLOPs per element                            xnumel
 *
 *     poi   pointwise    elements xnumel            bytes of all tensors, and the first one once more (read and written)
 *     red   reduction    elements xnumel x rnumel   bytes of all tensors
 *     per   persistent reduction, the same
 *
 * The text between "_fused_" and the number is cut into known names of operators so that it is covered completely: the
 * longest name that ends at each position counts. The rules and the FLOPs per element are TraceLens'
 * (triton_compiled_perf_model.py, commit 171dd747). Cost: O(length of the name) look-ups of at most MAX_NAME bytes.
 */
#include <string.h>

#include "base/shared.h"
#include "facts/flops.h"

/* Longest name of a source operator, and words of a kernel's name at most. */
#define MAX_NAME  64
#define MAX_WORDS 512

/* FLOPs per element of the operators that compute. */
static const struct {
    const char *name;
    uint8_t flops;
} computing[] = {{"abs", 1},  {"add", 1},  {"div", 1},        {"eq", 1},   {"exp", 4},   {"gelu", 8},
                 {"gt", 1},   {"log", 4},  {"lt", 1},         {"mean", 1}, {"mul", 1},   {"ne", 1},
                 {"neg", 1},  {"pow", 2},  {"reciprocal", 2}, {"relu", 1}, {"rsqrt", 2}, {"sigmoid", 4},
                 {"silu", 4}, {"sqrt", 2}, {"sub", 1},        {"sum", 1},  {"tanh", 4},  {"var", 2}};

/* Further names that torch.compile writes into kernel names; sorted. */
static const char *const others[] = {"_log_softmax",
                                     "_softmax",
                                     "_softmax_backward_data",
                                     "_to_copy",
                                     "_unsafe_view",
                                     "addmm",
                                     "all_gather_into_tensor",
                                     "all_reduce",
                                     "all_to_all_single",
                                     "amax",
                                     "amin",
                                     "arange",
                                     "argmax",
                                     "argmin",
                                     "avg_pool2d",
                                     "bitwise_and",
                                     "bitwise_not",
                                     "bitwise_or",
                                     "bmm",
                                     "cat",
                                     "ceil",
                                     "clamp",
                                     "clone",
                                     "constant_pad_nd",
                                     "convolution",
                                     "copy",
                                     "copy_",
                                     "cos",
                                     "cumsum",
                                     "detach",
                                     "dropout",
                                     "embedding",
                                     "empty",
                                     "erf",
                                     "expand",
                                     "fill",
                                     "floor",
                                     "full",
                                     "full_like",
                                     "gather",
                                     "ge",
                                     "gelu_backward",
                                     "hardswish",
                                     "hardtanh",
                                     "index",
                                     "index_put",
                                     "le",
                                     "lift_fresh",
                                     "logical_and",
                                     "logical_not",
                                     "logical_or",
                                     "masked_fill",
                                     "max",
                                     "max_pool2d_with_indices",
                                     "maximum",
                                     "min",
                                     "minimum",
                                     "mm",
                                     "native_batch_norm",
                                     "native_batch_norm_backward",
                                     "native_dropout",
                                     "native_group_norm",
                                     "native_layer_norm",
                                     "native_layer_norm_backward",
                                     "new_zeros",
                                     "nll_loss_backward",
                                     "nll_loss_forward",
                                     "ones",
                                     "ones_like",
                                     "permute",
                                     "reduce_scatter_tensor",
                                     "round",
                                     "scalar_tensor",
                                     "scatter",
                                     "select",
                                     "silu_backward",
                                     "sin",
                                     "slice",
                                     "softmax",
                                     "split",
                                     "squeeze",
                                     "stack",
                                     "t",
                                     "threshold_backward",
                                     "transpose",
                                     "tril",
                                     "triu",
                                     "unsqueeze",
                                     "var_mean",
                                     "view",
                                     "wait_tensor",
                                     "where",
                                     "zeros",
                                     "zeros_like"};

/* FLOPs per element of an operator; -1: not a known name. O(log names). */
static int flops_of_source(const char *name, size_t length) {
    char text[sizeof "aten::" + MAX_NAME] = "aten::";
    size_t prefix = strlen(text), i, k;
    memcpy(text + prefix, name, length);
    text[prefix + length] = 0;
    BISECT(i, sizeof computing / sizeof *computing, strcmp(computing[i].name, text + prefix) < 0);
    if (i < sizeof computing / sizeof *computing && strcmp(computing[i].name, text + prefix) == 0)
        return computing[i].flops;
    BISECT(k, sizeof others / sizeof *others, strcmp(others[k], text + prefix) < 0);
    if (k < sizeof others / sizeof *others && strcmp(others[k], text + prefix) == 0)
        return 0;
    return op_kind_find(text, prefix + length, OP_TABLE_ALL) ? 0 : -1;
}

enum triton_kind triton_kind_of(const char *name, size_t length) {
    static const char *const beginnings[] = {
        [TRITON_POINTWISE] = "triton_poi_", [TRITON_REDUCTION] = "triton_red_", [TRITON_PERSISTENT] = "triton_per_"};
    for (int kind = TRITON_POINTWISE; kind <= TRITON_PERSISTENT; kind++)
        if (length > strlen(beginnings[kind]) && memcmp(name, beginnings[kind], strlen(beginnings[kind])) == 0)
            return (enum triton_kind)kind;
    return TRITON_NONE;
}

bool triton_sources_find(const char *name, size_t length, struct triton_sources *sources) {
    static const char fused[] = "fused_";
    size_t begin = strlen("triton_poi_"), end = length;
    *sources = (struct triton_sources){.text_length = 0};
    if (triton_kind_of(name, length) == TRITON_NONE || length < begin + strlen(fused) ||
        memcmp(name + begin, fused, strlen(fused)) != 0)
        return false;
    begin += strlen(fused);
    while (end > begin && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    if (end == length || end < begin + 2 || name[end - 1] != '_')
        return false;
    end--;

    /* Words between underscores: word w ends before stop[w]. */
    uint32_t stop[MAX_WORDS], n = 0;
    int32_t from[MAX_WORDS + 1]; /* of the operator that ends after w words: its first word; -1: none */
    for (size_t i = begin; i <= end; i++) {
        if (i < end && name[i] != '_')
            continue;
        if (n == MAX_WORDS)
            return false;
        stop[n++] = (uint32_t)i;
    }
    uint32_t first = 0; /* word of a name that may end here */
    from[0] = 0;
    for (uint32_t w = 1; w <= n; w++) {
        from[w] = -1;
        while ((first ? stop[first - 1] + 1 : begin) + MAX_NAME < stop[w - 1]) /* no known name is longer */
            first++;
        for (uint32_t s = first; s < w && from[w] < 0; s++) {
            size_t start = s ? stop[s - 1] + 1 : begin;
            if ((s == 0 || from[s] >= 0) && stop[w - 1] > start &&
                flops_of_source(name + start, stop[w - 1] - start) >= 0)
                from[w] = (int32_t)s;
        }
    }
    if (from[n] < 0)
        return false;

    /* The operators, last to first, are written first to last. */
    uint32_t first_word[MAX_WORDS] = {0}, n_ops = 0;
    for (uint32_t w = n; w > 0; w = (uint32_t)from[w])
        first_word[n_ops++] = (uint32_t)from[w];
    for (uint32_t k = n_ops; k-- > 0;) {
        uint32_t s = first_word[k], w = k ? first_word[k - 1] : n;
        size_t start = s ? stop[s - 1] + 1 : begin, n_bytes = stop[w - 1] - start;
        sources->flops += flops_of_source(name + start, n_bytes);
        if (sources->text_length + n_bytes + 2 > sizeof sources->text)
            continue; /* FLOPs count all of them */
        if (sources->text_length)
            sources->text[sources->text_length++] = ' ';
        memcpy(sources->text + sources->text_length, name + start, n_bytes);
        sources->text_length += n_bytes;
    }
    return true;
}

/* A decimal integer, between optional spaces. */
static bool read_integer(struct input_text value, double *number) {
    size_t at = 0, digits = 0;
    while (at < value.length && strchr(" \t\n\r\f\v", value.at[at]))
        at++;
    bool negative = at < value.length && value.at[at] == '-';
    at += at < value.length && (value.at[at] == '-' || value.at[at] == '+');
    *number = 0;
    for (; at < value.length && value.at[at] >= '0' && value.at[at] <= '9'; at++, digits++)
        *number = *number * 10 + (value.at[at] - '0');
    while (at < value.length && strchr(" \t\n\r\f\v", value.at[at]))
        at++;
    *number = negative ? -*number : *number;
    return digits && at == value.length;
}

struct triton_work triton_work_find(const char *name, size_t length, const struct op_inputs *inputs) {
    enum triton_kind kind = triton_kind_of(name, length);
    struct triton_work work = {.xnumel = NAN, .rnumel = NAN, .flops = NAN, .bytes = NAN, .precision = PRECISION_NONE};
    double scalars[2] = {0}, number, first = NAN, bytes = 0;
    uint32_t n_scalars = 0;
    for (uint32_t i = 0; i < inputs->n_values; i++)
        if (read_integer(op_input_at(inputs, i).value, &number)) {
            scalars[0] = scalars[1];
            scalars[1] = number;
            n_scalars++;
        }
    work.missing = "no argument shapes in the trace";
    if (kind == TRITON_NONE || inputs->n_shapes == 0 || inputs->n_types == 0 || n_scalars == 0)
        return work;
    bool has_two = kind != TRITON_POINTWISE && n_scalars >= 2;
    work.xnumel = has_two ? scalars[0] : scalars[1];
    work.rnumel = has_two ? scalars[1] : 1;

    for (uint32_t i = 0; i < inputs->n_shapes && i < inputs->n_types; i++) {
        struct operator_input input = op_input_at(inputs, i);
        if (input.tensor.n_dims == 0 || input_is(input.type, "Scalar"))
            continue;
        const struct data_type *type = input.type.at ? data_type_find(input.type.at, input.type.length) : NULL;
        work.missing = "element type unknown";
        if (!type)
            return work;
        if (isnan(first)) {
            first = type->bytes;
            work.precision = type->precision;
        }
        bytes += tensor_elements(&input.tensor) * type->bytes;
    }
    if (kind == TRITON_POINTWISE && !isnan(first))
        bytes += first * work.xnumel;
    struct triton_sources sources;
    work.missing = triton_sources_find(name, length, &sources) ? NULL : "source operators unknown";
    work.flops = work.missing ? 0 : sources.flops * work.xnumel * work.rnumel;
    work.bytes = bytes;
    return work;
}

struct op_flops flops_triton(const struct flops_case *at) {
    const char *name = at->inputs->name;
    struct triton_work work = triton_work_find(name, name ? strlen(name) : 0, at->inputs);
    if (isnan(work.bytes) || !(work.flops >= 0) || !(work.bytes >= 0))
        return flops_unknown(work.missing ? work.missing : "the FLOPs do not follow from its shapes");
    return (struct op_flops){.remark = work.missing,
                             .flops = work.flops,
                             .bytes = work.bytes,
                             .unit = UNIT_VECTOR,
                             .precision = work.precision};
}
