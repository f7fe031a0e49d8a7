/*
 * params.c - parameters of TraceLens' performance models, as Python prints them.
 *
 * Each family of models has a rule here: products of matrices, convolutions, attention, element-wise operators,
 * reductions, norms. The table of models contains the positions of the inputs that a model reads.
 */
#include "analyze/compat/tracelens/params.h"
#include "base/shared.h"

#include <string.h>

#include "text/numbers.h"
#include "text/strings.h"

#define NOWHERE UINT32_MAX

/* Maximum numbers that are read of a list. */
#define RANK_MAX 64

struct params_case;

typedef void params_rule(const struct params_case *at, struct model_params *params);

/* A model: its rule and the positions of its arguments. */
struct params_model {
    params_rule *rule;
    uint32_t x;      /* the first operand */
    uint32_t values; /* attention: dropout; convolutions: the first value; norms: "train" */
    uint32_t causal; /* attention; norms: the list of gradients */
    uint32_t shape;  /* norms: the normalized shape, or the number of groups */
    bool bias, batch, flash;
    const char *unit;
    uint32_t precision; /* the input whose type is the precision */
};

struct params_case {
    const struct op_kind *kind;
    const struct params_model *model;
    const struct op_inputs *inputs;
    struct gemm_transposes transposes;
};

/* ---- Values ---- */

/* Sums and products of sizes in a file, which may overflow. */
static int64_t wrapping_sum(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrapping_product(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static void append_integer(struct buffer *text, int64_t value) {
    char number[NUMBER_TEXT_MAX];
    buffer_append(text, number, integer_format(value, number));
}

/* Begins a parameter, whose text follows in params->text. */
static struct model_param *begin(struct model_params *params, const char *name, enum param_kind kind) {
    struct model_param *param = &params->list[params->n++];
    *param = (struct model_param){.name = name, .kind = kind, .begin = params->text.length};
    return param;
}

static void end(struct model_params *params, struct model_param *param) {
    param->length = params->text.length - param->begin;
}

static void add_words(struct model_params *params, const char *name, enum param_kind kind, const char *words) {
    struct model_param *param = begin(params, name, kind);
    buffer_append_text(&params->text, words);
    end(params, param);
}

static void add_none(struct model_params *params, const char *name) {
    add_words(params, name, PARAM_NONE, "None");
}

static void add_bool(struct model_params *params, const char *name, bool value) {
    add_words(params, name, PARAM_OTHER, value ? "True" : "False");
}

static void add_integer(struct model_params *params, const char *name, int64_t value) {
    struct model_param *param = begin(params, name, PARAM_INTEGER);
    param->number = (double)value;
    append_integer(&params->text, value);
    end(params, param);
}

static void add_real(struct model_params *params, const char *name, double value) {
    char number[NUMBER_TEXT_MAX];
    struct model_param *param = begin(params, name, PARAM_REAL);
    param->number = value;
    buffer_append(&params->text, number, double_format(value, number));
    end(params, param);
}

static void add_tuple(struct model_params *params, const char *name, const int64_t *numbers, uint32_t n) {
    struct model_param *param = begin(params, name, PARAM_OTHER);
    buffer_append_text(&params->text, "(");
    for (uint32_t i = 0; i < n; i++) {
        buffer_append_text(&params->text, i ? ", " : "");
        append_integer(&params->text, numbers[i]);
    }
    buffer_append_text(&params->text, n == 1 ? ",)" : ")");
    end(params, param);
}

static void append_list(struct buffer *text, const int64_t *numbers, uint32_t n, bool bools) {
    buffer_append_text(text, "[");
    for (uint32_t i = 0; i < n; i++) {
        buffer_append_text(text, i ? ", " : "");
        if (bools)
            buffer_append_text(text, numbers[i] ? "True" : "False");
        else
            append_integer(text, numbers[i]);
    }
    buffer_append_text(text, "]");
}

static struct operator_input input_at(const struct params_case *at, uint32_t place) {
    return op_input_at(at->inputs, place);
}

static void add_shape(const struct params_case *at, struct model_params *params, const char *name, uint32_t place) {
    struct operator_input input = input_at(at, place);
    add_tuple(params, name, input.tensor.dims, input.tensor.n_dims);
}

static void add_strides(const struct params_case *at, struct model_params *params, const char *name, uint32_t place) {
    struct operator_input input = input_at(at, place);
    if (place == NOWHERE || !at->inputs->has_strides)
        add_none(params, name);
    else
        add_tuple(params, name, input.tensor.strides, input.tensor.strides ? input.tensor.n_dims : 0);
}

/* A tuple of types of inputs; NOWHERE means None. */
static void add_types(const struct params_case *at, struct model_params *params, const char *name,
                      const uint32_t *places, uint32_t n) {
    struct model_param *param = begin(params, name, PARAM_OTHER);
    buffer_append_text(&params->text, "(");
    for (uint32_t i = 0; i < n; i++) {
        buffer_append_text(&params->text, i ? ", " : "");
        if (places[i] == NOWHERE) {
            buffer_append_text(&params->text, "None");
            continue;
        }
        struct input_text type = input_at(at, places[i]).type;
        buffer_append_text(&params->text, "'");
        buffer_append(&params->text, type.at ? type.at : "", type.length);
        buffer_append_text(&params->text, "'");
    }
    buffer_append_text(&params->text, n == 1 ? ",)" : ")");
    end(params, param);
}

/* The types of two inputs that follow each other, as a slice of the list has them. */
static void add_type_pair(const struct params_case *at, struct model_params *params, const char *name, uint32_t place) {
    const uint32_t places[] = {place, place + 1};
    uint32_t n = at->inputs->n_types > place ? at->inputs->n_types - place : 0;
    add_types(at, params, name, places, MIN(n, 2));
}

static int64_t dim_of(const struct params_case *at, uint32_t place, uint32_t dim) {
    struct operator_input input = input_at(at, place);
    return dim < input.tensor.n_dims ? input.tensor.dims[dim] : 0;
}

static uint32_t read_numbers(const struct params_case *at, uint32_t place, int64_t *numbers) {
    uint32_t n = 0;
    return input_numbers(input_at(at, place).value, numbers, RANK_MAX, &n) ? n : 0;
}

/* Python's float() of a value; `otherwise` if it is not a number. */
static double read_real(const struct params_case *at, uint32_t place, double otherwise) {
    char text[NUMBER_TEXT_MAX * 3] = {0};
    struct input_text value = input_at(at, place).value;
    size_t length = 0;
    if (!value.length || value.length >= NUMBER_TEXT_MAX * 2)
        return otherwise;
    memcpy(text, value.at, value.length);
    if (value.length > 1 && text[value.length - 1] == '.') /* "0.", which PyTorch writes and JSON lacks */
        text[value.length] = '0';
    return number_scan(text, &length) == NUMBER_FORM_BAD || length < value.length ? otherwise
                                                                                  : double_parse(text, length);
}

/* ---- Products of matrices ---- */

static void params_gemm(const struct params_case *at, struct model_params *params) {
    uint32_t a = at->model->x, row = at->model->batch;
    if (at->model->batch)
        add_integer(params, "param: B", dim_of(at, a, 0));
    add_integer(params, "param: M", dim_of(at, a, row));
    add_integer(params, "param: N", dim_of(at, a + 1, row + 1));
    add_integer(params, "param: K", dim_of(at, a, row + 1));
    add_bool(params, "param: bias",
             at->model->bias || (at->kind->tracelens == FORMULA_SCALED_MM && at->inputs->n_shapes == 3));
    add_strides(at, params, "param: stride_A", a);
    add_strides(at, params, "param: stride_B", a + 1);
    add_type_pair(at, params, "param: dtype_A_B", a);
    if (!at->model->batch)
        add_integer(params, "param: B", 1);
    if (at->transposes.known == TRANSPOSE_UNKNOWN)
        return;
    static const char *const transposes[] = {"None", "False", "True"};
    struct model_param *param = begin(params, "param: transpose", PARAM_OTHER);
    buffer_append_text(&params->text, "(");
    buffer_append_text(&params->text, transposes[at->transposes.a]);
    buffer_append_text(&params->text, ", ");
    buffer_append_text(&params->text, transposes[at->transposes.b]);
    buffer_append_text(&params->text, ")");
    end(params, param);
}

/* ---- Convolutions ---- */

/* A tuple of a number for each dimension in space; "" means `otherwise`, a single number applies to all. */
static void add_space(const struct params_case *at, struct model_params *params, const char *name, uint32_t place,
                      int64_t otherwise) {
    int64_t numbers[RANK_MAX];
    uint32_t n_dims = input_at(at, at->model->x).tensor.n_dims, n = read_numbers(at, place, numbers);
    uint32_t space = n_dims > 2 && n_dims <= RANK_MAX ? n_dims - 2 : 0;
    if (n == 0)
        numbers[0] = otherwise;
    for (uint32_t i = 1; n < 2 && i < space; i++)
        numbers[i] = numbers[0];
    add_tuple(params, name, numbers, n < 2 ? space : n);
}

static void params_convolution(const struct params_case *at, struct model_params *params) {
    static const char *const names[] = {"conv1d", "conv2d", "conv3d"};
    int64_t groups[RANK_MAX] = {1};
    uint32_t x = at->model->x, value = at->model->values, n_dims = input_at(at, x).tensor.n_dims;
    add_words(params, "param: convNd", PARAM_STRING, n_dims >= 3 && n_dims <= 5 ? names[n_dims - 3] : "");
    add_shape(at, params, "param: input_shape", x);
    add_shape(at, params, "param: filter_shape", x + 1);
    add_type_pair(at, params, "param: dtype_input_weight", x);
    add_strides(at, params, "param: input_stride", x);
    add_strides(at, params, "param: weight_stride", x + 1);
    bool backward = at->kind->tracelens == FORMULA_CONV_BACKWARD, listed = backward && at->inputs->n_shapes > 3;
    if (listed && !input_at(at, 3).tensor.n_dims && !input_at(at, 3).n_members)
        add_words(params, "param: bias", PARAM_OTHER, "[]");
    else
        add_bool(params, "param: bias", backward ? listed : at->inputs->n_shapes == 3);
    add_space(at, params, "param: stride", value, 1);
    add_space(at, params, "param: padding", value + 1, 0);
    add_space(at, params, "param: dilation", value + 2, 1);
    add_bool(params, "param: transposed_conv", input_is(input_at(at, value + 3).value, "true"));
    add_space(at, params, "param: output_padding", value + 4, 0);
    read_numbers(at, value + 5, groups);
    add_integer(params, "param: groups", groups[0]);
}

/* ---- Attention ---- */

/* The dimensions of length, heads and width in the shapes. */
struct attention_dims {
    uint32_t length, heads, width;
    bool packed; /* sequences of several lengths in one dimension, without batches */
};

static void add_attention_sizes(const struct params_case *at, struct model_params *params, struct attention_dims dims) {
    uint32_t q = at->model->x;
    add_integer(params, "param: B", dims.packed ? 1 : dim_of(at, q, 0));
    add_integer(params, "param: N_Q", dim_of(at, q, dims.length));
    add_integer(params, "param: H_Q", dim_of(at, q, dims.heads));
    add_integer(params, "param: N_KV", dim_of(at, q + 1, dims.length));
    add_integer(params, "param: H_KV", dim_of(at, q + 1, dims.heads));
    add_integer(params, "param: d_h_qk", dim_of(at, q, dims.width));
    add_integer(params, "param: d_h_v", dim_of(at, q + 2, dims.width));
}

static void params_sdpa(const struct params_case *at, struct model_params *params) {
    add_attention_sizes(at, params, (struct attention_dims){2, 1, 3, false});
    add_real(params, "param: dropout", read_real(at, at->model->values, 0));
    add_bool(params, "param: causal", input_is(input_at(at, at->model->causal).value, "true"));
    add_bool(params, "param: flash_impl", at->model->flash);
    add_type_pair(at, params, "param: dtype_A_B", 0);
}

static void params_flash(const struct params_case *at, struct model_params *params) {
    bool packed = at->model->shape != NOWHERE;
    struct input_text causal = input_at(at, at->model->causal).value;
    struct attention_dims dims =
        packed ? (struct attention_dims){0, 1, 2, true} : (struct attention_dims){1, 2, 3, false};
    add_attention_sizes(at, params, dims);
    add_strides(at, params, "param: q_stride", at->model->x);
    add_strides(at, params, "param: k_stride", at->model->x + 1);
    add_strides(at, params, "param: v_stride", at->model->x + 2);
    add_real(params, "param: dropout", read_real(at, at->model->values, 0));
    add_bool(params, "param: causal", !causal.length || input_is(causal, "true"));
    add_bool(params, "param: flash_impl", true);
    add_type_pair(at, params, "param: dtype_A_B", 0);
    if (!packed)
        return;
    uint32_t starts = at->model->shape, longest = starts + 2;
    add_integer(params, "param: num_seqs_q", wrapping_sum(dim_of(at, starts, 0), -1));
    add_integer(params, "param: num_seqs_kv", wrapping_sum(dim_of(at, starts + 1, 0), -1));
    add_real(params, "param: max_seqlen_q", read_real(at, longest, 0));
    add_real(params, "param: max_seqlen_kv", read_real(at, longest + 1, 0));
}

/* ---- Element-wise operators ---- */

static bool has_shape(const struct params_case *at, uint32_t place) {
    struct operator_input input = input_at(at, place);
    return input.tensor.n_dims || input.n_members;
}

static void params_unary(const struct params_case *at, struct model_params *params) {
    const uint32_t output = has_shape(at, 1) ? 1 : NOWHERE, types[] = {0, output};
    add_shape(at, params, "param: op_shape", 0);
    add_types(at, params, "param: dtype_in_out", types, 2);
    add_strides(at, params, "param: stride_input", 0);
    add_strides(at, params, "param: stride_output", output);
}

static void params_binary(const struct params_case *at, struct model_params *params) {
    const uint32_t output = has_shape(at, 2) ? 2 : NOWHERE, types[] = {0, 1, output};
    add_shape(at, params, "param: shape_in1", 0);
    add_shape(at, params, "param: shape_in2", 1);
    add_types(at, params, "param: dtype_in1_in2_out", types, 3);
    add_strides(at, params, "param: stride_input1", 0);
    add_strides(at, params, "param: stride_input2", 1);
    add_strides(at, params, "param: stride_output", output);
}

static void params_resize(const struct params_case *at, struct model_params *params) {
    static const uint32_t types[] = {0, 0};
    int64_t numbers[RANK_MAX], shape[RANK_MAX] = {0};
    bool pads = at->kind->tracelens == FORMULA_PAD;
    struct input_tensor x = input_at(at, 0).tensor;
    uint32_t n = read_numbers(at, 1, numbers), n_dims = MIN(x.n_dims, RANK_MAX), n_shape = n_dims;
    /* The shape of the result: by edges, innermost first, or by a size in space. */
    for (uint32_t i = 0; i < n_dims; i++)
        shape[i] = x.dims[i];
    for (uint32_t i = 0; pads && i < n / 2 && i < n_dims; i++)
        shape[n_dims - 1 - i] = wrapping_sum(shape[n_dims - 1 - i], wrapping_sum(numbers[2 * i], numbers[2 * i + 1]));
    for (uint32_t i = 0; !pads && i < n && i + 2 < RANK_MAX; i++)
        shape[2 + i] = numbers[i];
    if (!pads)
        n_shape = MIN(n + 2, RANK_MAX);
    add_shape(at, params, "param: input_shape", 0);
    add_tuple(params, "param: output_shape", shape, n_shape);
    if (pads) {
        struct model_param *param = begin(params, "param: padding", PARAM_OTHER);
        append_list(&params->text, numbers, n, false);
        end(params, param);
    }
    add_tuple(params, "param: op_shape", shape, n_shape);
    add_types(at, params, "param: dtype_in_out", types, 2);
    add_strides(at, params, "param: stride_input", 0);
    add_none(params, "param: stride_output");
}

/* ---- Reductions ---- */

static int64_t elements_of(const struct params_case *at, uint32_t place) {
    struct input_tensor x = input_at(at, place).tensor;
    int64_t n = 1;
    for (uint32_t i = 0; i < x.n_dims; i++)
        n = wrapping_product(n, x.dims[i]);
    return n;
}

static void params_reduce(const struct params_case *at, struct model_params *params) {
    const uint32_t types[] = {at->inputs->n_types ? 0 : NOWHERE, NOWHERE};
    static const uint32_t none[] = {NOWHERE, NOWHERE};
    bool known = at->inputs->n_shapes > 0, cumulates = at->kind->tracelens == FORMULA_CUMULATE;
    add_integer(params, "param: num_input_elems", known ? elements_of(at, 0) : 0);
    add_integer(params, "param: num_output_elems", !known ? 0 : cumulates ? elements_of(at, 0) : 1);
    add_types(at, params, "param: dtype_in_out", known ? types : none, 2);
    if (!known)
        return;
    static const char *const words[] = {"mean", "max", "min", "norm"};
    const char *type = "sum";
    for (size_t i = sizeof words / sizeof *words; i-- > 0;)
        type = strstr(at->kind->name, words[i]) ? words[i] : type;
    add_words(params, "param: reduce_type", PARAM_STRING, type);
}

/* ---- Norms ---- */

static void params_norm(const struct params_case *at, struct model_params *params) {
    const uint32_t types[] = {at->model->x, NOWHERE};
    enum op_formula formula = at->kind->tracelens;
    bool root = formula == FORMULA_RMS_NORM || formula == FORMULA_RMS_NORM_BACKWARD;
    bool vendor = formula == FORMULA_VENDOR_BATCH_NORM_BACKWARD, layer = formula == FORMULA_LAYER_NORM_BACKWARD;
    bool batch = formula == FORMULA_BATCH_NORM_BACKWARD || vendor;
    int64_t mask[RANK_MAX] = {1, 1, 1};
    uint32_t n = at->model->causal == NOWHERE ? batch : read_numbers(at, at->model->causal, mask);
    add_shape(at, params, "param: op_shape", at->model->x);
    add_types(at, params, "param: dtype_in_out", types, 2);
    add_strides(at, params, "param: stride_input", at->model->x);
    add_none(params, "param: stride_output");
    int64_t numbers[RANK_MAX], channels = dim_of(at, at->model->x, 1);
    bool groups = formula == FORMULA_GROUP_NORM_BACKWARD;
    uint32_t n_numbers = at->model->shape == NOWHERE ? 0 : read_numbers(at, at->model->shape, numbers);
    if (groups && n_numbers == 1 && numbers[0]) {
        add_real(params, "param: num_channels", (double)channels / (double)numbers[0]);
    } else {
        if (at->model->shape != NOWHERE && !groups)
            channels = 1;
        for (uint32_t i = 0; i < n_numbers && !groups; i++)
            channels = wrapping_product(channels, numbers[i]);
        add_integer(params, "param: num_channels", channels);
    }
    add_bool(params, "param: has_bias", layer ? n > 2 && mask[2] : !root);
    add_bool(params, "param: is_affine", layer ? n > 1 && mask[1] : true);
    add_bool(params, "param: is_training",
             !root && !vendor && (at->model->values == NOWHERE || input_at(at, at->model->values).value.length));
    if (at->model->causal == NOWHERE && !batch)
        return;
    struct model_param *param = begin(params, "param: output_mask", PARAM_OTHER);
    append_list(&params->text, mask, n, true);
    end(params, param);
}

/* ---- The models ---- */

#define GEMM(a, has_bias, is_batch)                                                                                    \
    { .rule = params_gemm, .x = (a), .bias = (has_bias), .batch = (is_batch), .unit = "matrix", .precision = (a) }
#define SDPA(dropout, is_causal, is_flash)                                                                             \
    { .rule = params_sdpa, .values = (dropout), .causal = (is_causal), .flash = (is_flash), .unit = "matrix" }
#define FLASH(q, dropout, is_causal, starts)                                                                           \
    { .rule = params_flash, .x = (q), .values = (dropout), .causal = (is_causal), .shape = (starts), .unit = "matrix" }
#define NORM(input, train, mask, of_shape)                                                                             \
    {                                                                                                                  \
        .rule = params_norm, .x = (input), .values = (train), .causal = (mask), .shape = (of_shape), .unit = "vector", \
        .precision = (input)                                                                                           \
    }

static const struct params_model models[N_FORMULAS] = {
    [FORMULA_MM] = GEMM(0, false, false),
    [FORMULA_SCALED_MM] = GEMM(0, false, false),
    [FORMULA_ADDMM] = GEMM(1, true, false),
    [FORMULA_BMM] = GEMM(0, false, true),
    [FORMULA_BADDBMM] = GEMM(1, true, true),
    [FORMULA_CONV] = {.rule = params_convolution, .values = 3, .unit = "matrix"},
    [FORMULA_CONV_BACKWARD] = {.rule = params_convolution, .x = 1, .values = 4, .unit = "matrix", .precision = 1},
    [FORMULA_SDPA_CUDNN] = SDPA(5, 6, false),
    [FORMULA_SDPA_EFFICIENT] = SDPA(5, 6, false),
    [FORMULA_SDPA_FLASH] = SDPA(3, 4, true),
    [FORMULA_FLASH] = FLASH(0, 3, 5, NOWHERE),
    [FORMULA_FLASH_BACKWARD] = FLASH(1, 8, 10, NOWHERE),
    [FORMULA_FLASH_VARLEN] = FLASH(0, 7, 9, 3),
    [FORMULA_FLASH_VARLEN_BACKWARD] = FLASH(1, 13, 15, 9),
    [FORMULA_UNARY] = {.rule = params_unary, .unit = "vector"},
    [FORMULA_BINARY] = {.rule = params_binary, .unit = "vector"},
    [FORMULA_PAD] = {.rule = params_resize, .unit = "vector"},
    [FORMULA_RESIZE] = {.rule = params_resize, .unit = "vector"},
    [FORMULA_REDUCE] = {.rule = params_reduce, .unit = "vector"},
    [FORMULA_CUMULATE] = {.rule = params_reduce, .unit = "vector"},
    [FORMULA_BATCH_NORM] = NORM(0, 5, NOWHERE, NOWHERE),
    [FORMULA_LAYER_NORM] = NORM(0, NOWHERE, NOWHERE, 1),
    [FORMULA_GROUP_NORM] = NORM(0, NOWHERE, NOWHERE, NOWHERE),
    [FORMULA_INSTANCE_NORM] = NORM(0, 5, NOWHERE, NOWHERE),
    [FORMULA_RMS_NORM] = NORM(0, NOWHERE, NOWHERE, 1),
    [FORMULA_BATCH_NORM_BACKWARD] = NORM(1, 7, NOWHERE, NOWHERE),
    [FORMULA_VENDOR_BATCH_NORM_BACKWARD] = NORM(0, NOWHERE, NOWHERE, NOWHERE),
    [FORMULA_LAYER_NORM_BACKWARD] = NORM(1, NOWHERE, 7, 2),
    [FORMULA_GROUP_NORM_BACKWARD] = NORM(1, NOWHERE, 9, 8),
    [FORMULA_RMS_NORM_BACKWARD] = NORM(1, NOWHERE, 5, 2),
};

static const struct params_model *model_of(const struct op_kind *kind) {
    const struct params_model *model = kind ? &models[kind->tracelens] : NULL;
    return model && model->rule ? model : NULL;
}

bool tracelens_params_find(const struct op_kind *kind, const struct op_inputs *inputs,
                           struct gemm_transposes transposes, struct model_params *params) {
    const struct params_case at = {kind, model_of(kind), inputs, transposes};
    params->n = 0;
    params->text.length = 0;
    if (at.model)
        at.model->rule(&at, params);
    return !params->text.failed;
}

void tracelens_params_append(const struct model_params *params, struct buffer *out) {
    buffer_append_text(out, "{");
    for (uint32_t i = 0; i < params->n; i++) {
        const struct model_param *param = &params->list[i];
        const char *quote = param->kind == PARAM_STRING ? "'" : "";
        buffer_append_text(out, i ? ", '" : "'");
        buffer_append_text(out, param->name + strlen(PARAM_PREFIX));
        buffer_append_text(out, "': ");
        buffer_append_text(out, quote);
        buffer_append(out, params->text.bytes + param->begin, param->length);
        buffer_append_text(out, quote);
    }
    buffer_append_text(out, "}");
}

/* ---- Units and precisions ---- */

static const struct precision_spec {
    const char *type, *matrix, *vector;
} specs[] = {
    {"float", "matrix_fp32", "vector_fp32"},
    {"double", "matrix_fp64", "vector_fp64"},
    {"c10::half", "matrix_fp16", "vector_fp16"},
    {"c10::bfloat16", "matrix_bf16", "vector_bf16"},
    {"c10::float8_e4m3fnuz", "matrix_fp8", "vector_fp8"},
    {"c10::float8_e4m3fn", "matrix_fp8", "vector_fp8"},
    {"unsigned char", "matrix_fp8", "vector_fp8"},
    {"fp8", "matrix_fp8", "vector_fp8"},
    {"fp4", "matrix_fp4", "vector_fp4"},
    {"mxfp4", "matrix_fp4", "vector_fp4"},
    {"c10::float4_e2m1fn_x2", "matrix_fp4", "vector_fp4"},
};

const char *tracelens_compute_spec(const struct op_kind *kind, const struct op_inputs *inputs) {
    const struct params_model *model = model_of(kind);
    if (!model)
        return "";
    struct input_text type = op_input_at(inputs, model->precision).type;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        if (type.at && input_is(type, specs[i].type))
            return *model->unit == 'm' ? specs[i].matrix : specs[i].vector;
    return "";
}

bool tracelens_has_gradient(const struct op_kind *kind) {
    const struct params_model *model = model_of(kind);
    return model && (model->rule == params_sdpa || model->rule == params_flash || model->rule == params_reduce);
}

/* ---- Names of kernels ---- */

struct gemm_transposes gemm_transposes_of(const char *kernel, size_t length) {
    static const char pattern[] = "Cxxx_Axxx_Bxxx"; /* of ROCm, such as Cijk_Ailk_Bljk; x: a lower-case letter */
    struct gemm_transposes found = {TRANSPOSE_UNKNOWN, TRANSPOSE_NONE, TRANSPOSE_NONE};
    size_t n = sizeof pattern - 1, matched = 0;
    for (size_t i = 0; i + n <= length && matched < n; i++) {
        matched = 0;
        while (matched < n && (pattern[matched] == 'x' ? kernel[i + matched] >= 'a' && kernel[i + matched] <= 'z'
                                                       : kernel[i + matched] == pattern[matched]))
            matched++;
    }
    if (matched == n && !text_has(kernel, length, "\n")) {
        found.known = TRANSPOSE_KNOWN;
        if (text_has(kernel, length, "_Ailk_"))
            found.a = TRANSPOSE_FALSE;
        else if (text_has(kernel, length, "_Alik_"))
            found.a = TRANSPOSE_TRUE;
        if (text_has(kernel, length, "_Bljk_"))
            found.b = TRANSPOSE_FALSE;
        else if (text_has(kernel, length, "_Bjlk_"))
            found.b = TRANSPOSE_TRUE;
    } else if (length >= 5 && memcmp(kernel, "nvjet", 5) == 0) {
        const char *last = kernel;
        for (size_t i = 0; i < length; i++)
            last = kernel[i] == '_' ? kernel + i + 1 : last;
        found.known = TRANSPOSE_KNOWN;
        found.a = last < kernel + length && *last == 'T' ? TRANSPOSE_TRUE : TRANSPOSE_FALSE;
        found.b = last + 1 < kernel + length && last[1] == 'T' ? TRANSPOSE_TRUE : TRANSPOSE_FALSE;
    }
    return found;
}
