/*
 * flops.c - from an operator's formula to its family's rule, and what the families share.
 */
#include "facts/flops.h"

static flops_rule *const rules_of[N_FORMULAS] = {
    [FORMULA_MM] = flops_gemm,
    [FORMULA_ADDMM] = flops_gemm,
    [FORMULA_BMM] = flops_gemm,
    [FORMULA_BADDBMM] = flops_gemm,
    [FORMULA_SCALED_MM] = flops_gemm,
    [FORMULA_LINEAR] = flops_linear,
    [FORMULA_LINEAR_OUT] = flops_linear,
    [FORMULA_LINEAR_INTO] = flops_linear,
    [FORMULA_LINEAR_SCALED] = flops_linear,
    [FORMULA_CONV] = flops_convolution,
    [FORMULA_CONV_CUDNN] = flops_convolution,
    [FORMULA_CONV_MIOPEN] = flops_convolution,
    [FORMULA_CONV_BACKWARD] = flops_convolution_backward,
    [FORMULA_SDPA_CUDNN] = flops_attention,
    [FORMULA_SDPA_EFFICIENT] = flops_attention,
    [FORMULA_SDPA_FLASH] = flops_attention,
    [FORMULA_FLASH] = flops_attention,
    [FORMULA_FLASH_ATEN] = flops_attention,
    [FORMULA_EFFICIENT_ATEN] = flops_attention,
    [FORMULA_FMHA] = flops_attention,
    [FORMULA_FLASH_3] = flops_attention,
    [FORMULA_FLASH_VARLEN] = flops_attention,
    [FORMULA_SDPA_CUDNN_BACKWARD] = flops_attention_backward,
    [FORMULA_SDPA_EFFICIENT_BACKWARD] = flops_attention_backward,
    [FORMULA_SDPA_FLASH_BACKWARD] = flops_attention_backward,
    [FORMULA_FLASH_BACKWARD] = flops_attention_backward,
    [FORMULA_FLASH_ATEN_BACKWARD] = flops_attention_backward,
    [FORMULA_EFFICIENT_ATEN_BACKWARD] = flops_attention_backward,
    [FORMULA_FMHA_BACKWARD] = flops_attention_backward,
    [FORMULA_FLASH_VARLEN_BACKWARD] = flops_attention_backward,
    [FORMULA_UNARY] = flops_elementwise,
    [FORMULA_BINARY] = flops_elementwise,
    [FORMULA_GENERAL] = flops_elementwise,
    [FORMULA_COMPARE] = flops_elementwise,
    [FORMULA_COPY] = flops_copy,
    [FORMULA_FILL] = flops_copy,
    [FORMULA_RESIZE] = flops_resize,
    [FORMULA_PAD] = flops_resize,
    [FORMULA_GATED] = flops_resize,
    [FORMULA_FOREACH] = flops_foreach,
    [FORMULA_OPTIMIZER] = flops_optimizer,
    [FORMULA_REDUCE] = flops_reduce,
    [FORMULA_CUMULATE] = flops_reduce,
    [FORMULA_SOFTMAX] = flops_softmax,
    [FORMULA_SOFTMAX_BACKWARD] = flops_softmax,
    [FORMULA_BATCH_NORM] = flops_norm,
    [FORMULA_LAYER_NORM] = flops_norm,
    [FORMULA_GROUP_NORM] = flops_norm,
    [FORMULA_NATIVE_GROUP_NORM] = flops_norm,
    [FORMULA_INSTANCE_NORM] = flops_norm,
    [FORMULA_RMS_NORM] = flops_norm,
    [FORMULA_BATCH_NORM_BACKWARD] = flops_norm_backward,
    [FORMULA_VENDOR_BATCH_NORM_BACKWARD] = flops_norm_backward,
    [FORMULA_LAYER_NORM_BACKWARD] = flops_norm_backward,
    [FORMULA_GROUP_NORM_BACKWARD] = flops_norm_backward,
    [FORMULA_RMS_NORM_BACKWARD] = flops_norm_backward,
};

struct op_flops flops_unknown(const char *why) {
    return (struct op_flops){.missing = why, .bytes = NAN, .precision = PRECISION_NONE};
}

struct op_flops flops_known(const struct flops_case *at, double flops, double bytes, enum flops_unit unit,
                            uint32_t place) {
    const struct data_type *type = case_type(at, place);
    if (!isfinite(flops) || flops < 0 || bytes < 0 || isinf(bytes))
        return flops_unknown("the FLOPs do not follow from its shapes");
    return (struct op_flops){
        .flops = flops, .bytes = bytes, .unit = unit, .precision = type ? type->precision : PRECISION_NONE};
}

static struct op_flops apply(flops_rule *rule, const struct flops_case *at) {
    return (*rule)(at);
}

struct op_flops op_flops_find(const struct op_kind *kind, const struct op_inputs *inputs, enum flops_rules rules) {
    struct flops_case at = {kind, inputs, FORMULA_NONE, rules == FLOPS_TRACELENS};
    if (kind)
        at.formula = at.tracelens ? kind->tracelens : kind->formula;
    flops_rule *rule = rules_of[at.formula];
    if (!rule)
        return flops_unknown("no formula for this operator");
    if (inputs->n_shapes == 0 && rule != flops_reduce)
        return flops_unknown("input shapes not recorded (record_shapes=True)");
    return apply(rule, &at);
}

struct op_flops op_flops_gradient(const struct op_kind *kind, const struct op_inputs *inputs) {
    const struct flops_case at = {kind, inputs, kind->tracelens, true};
    if (rules_of[kind->tracelens] != flops_attention)
        return flops_unknown("no formula for its gradient");
    return apply(flops_attention_gradient, &at);
}

const struct data_type *case_type(const struct flops_case *at, uint32_t place) {
    struct input_text type = case_input(at, place).type;
    return type.at ? data_type_find(type.at, type.length) : NULL;
}

double case_bytes(const struct flops_case *at, uint32_t place) {
    struct input_text type = case_input(at, place).type;
    if (!type.at)
        return NAN;
    if (at->tracelens) {
        unsigned bytes = data_type_tracelens_bytes(type.at, type.length);
        return bytes ? (double)bytes : (double)NAN;
    }
    const struct data_type *known = data_type_find(type.at, type.length);
    return known ? known->bytes : NAN;
}

bool case_is_tensor(const struct flops_case *at, uint32_t place) {
    struct operator_input input = case_input(at, place);
    return !input.is_list && (input.tensor.n_dims || case_type(at, place));
}

double tensor_elements(const struct input_tensor *tensor) {
    double n = 1;
    for (uint32_t i = 0; i < tensor->n_dims; i++)
        n *= (double)tensor->dims[i];
    return n;
}

static double tensor_stored(const struct input_tensor *tensor) {
    double n = 1;
    for (uint32_t i = 0; i < tensor->n_dims; i++)
        if (!tensor->strides || tensor->strides[i] != 0 || tensor->dims[i] == 0)
            n *= (double)tensor->dims[i];
    return n;
}

static double input_sum(const struct operator_input *input, double (*of)(const struct input_tensor *)) {
    double n = input->is_list ? 0 : of(&input->tensor);
    for (uint32_t i = 0; i < input->n_members; i++)
        n += of(&input->members[i]);
    return n;
}

/* The same of a tensor, or of all in a list. */
static double input_elements(const struct operator_input *input) {
    return input_sum(input, tensor_elements);
}

static double input_stored(const struct operator_input *input) {
    return input_sum(input, tensor_stored);
}

double case_read(const struct flops_case *at, uint32_t place) {
    struct operator_input input = case_input(at, place);
    return case_bytes(at, place) * (at->tracelens ? input_elements(&input) : input_stored(&input));
}

bool case_is_true(const struct flops_case *at, uint32_t place) {
    return input_is(case_input(at, place).value, "true");
}

bool case_numbers(const struct flops_case *at, uint32_t place, int64_t *numbers, uint32_t most, uint32_t *n) {
    return input_numbers(case_input(at, place).value, numbers, most, n);
}

/*
 * Sums, means, largest ones and the like, and softmax.
 *
 * One operation for each element that goes in. How many come out follows from "dim", which stands at different places:
 * a list of dimensions in the second or third input, or a number, where "keepdim" follows.
 */

static bool name_is_one_of(const struct flops_case *at, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(at->kind->name, names[i]) == 0)
            return true;
    return false;
}

/* Those that take one dimension, as a number. */
static bool takes_one_dimension(const struct flops_case *at) {
    static const char *const names[] = {"aten::max", "aten::min", "aten::argmax", "aten::argmin",
                                        "aten::all", "aten::any", "aten::prod"};
    return name_is_one_of(at, names, sizeof names / sizeof *names);
}

static bool gives_places(const struct flops_case *at) {
    static const char *const names[] = {"aten::argmax", "aten::argmin"};
    return name_is_one_of(at, names, sizeof names / sizeof *names);
}

static bool gives_truth(const struct flops_case *at) {
    static const char *const names[] = {"aten::all", "aten::any"};
    return name_is_one_of(at, names, sizeof names / sizeof *names);
}

static bool gives_two(const struct flops_case *at) {
    static const char *const names[] = {"aten::var_mean", "aten::std_mean"};
    return name_is_one_of(at, names, sizeof names / sizeof *names);
}

static bool gives_long_sums(const struct flops_case *at) {
    static const char *const names[] = {"aten::sum", "aten::prod", "aten::nansum", "aten::cumsum", "aten::cumsum_"};
    return name_is_one_of(at, names, sizeof names / sizeof *names);
}

static bool is_list_text(struct input_text value) {
    return value.length && *value.at == '[';
}

/* The dimensions that go; none stands for all. */
static uint32_t reduced_dims(const struct flops_case *at, int64_t *dims) {
    uint32_t n = 0;
    for (uint32_t place = 1; place <= 2; place++)
        if (is_list_text(case_input(at, place).value))
            return case_numbers(at, place, dims, FLOPS_RANK, &n) ? n : 0;
    bool keeps = input_is(case_input(at, 2).value, "true") || input_is(case_input(at, 2).value, "false");
    if (takes_one_dimension(at) && keeps && case_numbers(at, 1, dims, 1, &n))
        return n;
    return 0;
}

static double reduced_elements(const struct flops_case *at, const struct input_tensor *x) {
    int64_t dims[FLOPS_RANK];
    uint32_t n = reduced_dims(at, dims);
    double elements = tensor_elements(x);
    bool gone[FLOPS_RANK] = {false};
    if (n == 0 || x->n_dims > FLOPS_RANK || elements == 0)
        return 1;
    for (uint32_t i = 0; i < n; i++) {
        int64_t dim = dims[i] < 0 ? dims[i] + x->n_dims : dims[i];
        if (dim >= 0 && dim < x->n_dims && !gone[dim]) {
            elements /= (double)x->dims[dim];
            gone[dim] = true;
        }
    }
    return elements;
}

static struct op_flops reduce_tracelens(const struct flops_case *at) {
    if (at->inputs->n_shapes == 0)
        return (struct op_flops){.bytes = NAN, .unit = UNIT_VECTOR, .precision = PRECISION_NONE};
    struct operator_input x = case_input(at, 0);
    double n = tensor_elements(&x.tensor), results = at->formula == FORMULA_CUMULATE ? n : 1;
    if (x.is_list)
        return flops_unknown("the first input is a list");
    return flops_known(at, n, case_bytes(at, 0) * n + case_bytes(at, 0) * results, UNIT_VECTOR, 0);
}

/* Bytes of all results of one. */
static double result_bytes_flops_reduce(const struct flops_case *at, bool one_dimension) {
    const struct data_type *type = case_type(at, 0);
    double bytes = case_bytes(at, 0);
    bool ordinal = type && type->kind <= ELEMENT_INTEGER;
    if (gives_places(at))
        return 8;
    if (gives_truth(at))
        return 1;
    if (gives_long_sums(at) && ordinal)
        bytes = 8;
    if (one_dimension && (strcmp(at->kind->name, "aten::max") == 0 || strcmp(at->kind->name, "aten::min") == 0))
        return bytes + 8; /* and where they are */
    return gives_two(at) ? 2 * bytes : bytes;
}

/* The larger ones of two tensors are no reduction. */
static struct op_flops larger_of_two(const struct flops_case *at) {
    struct flops_case pair = *at;
    pair.formula = FORMULA_BINARY;
    return flops_elementwise(&pair);
}

struct op_flops flops_reduce(const struct flops_case *at) {
    int64_t dims[FLOPS_RANK];
    if (at->tracelens)
        return reduce_tracelens(at);
    struct operator_input x = case_input(at, 0);
    if (at->inputs->n_shapes == 0 || (!x.is_list && !case_is_tensor(at, 0)))
        return flops_unknown("input shapes not recorded (record_shapes=True)");
    if (case_is_tensor(at, 1) && takes_one_dimension(at))
        return larger_of_two(at);
    double n = input_elements(&x), results = x.is_list ? x.n_members : reduced_elements(at, &x.tensor);
    if (at->formula == FORMULA_CUMULATE)
        results = n;
    return flops_known(at, n, case_read(at, 0) + results * result_bytes_flops_reduce(at, reduced_dims(at, dims) > 0),
                       UNIT_VECTOR, 0);
}

/* Forward: the largest, the difference, the exponential, the sum, the quotient. Backward: a product, its sum, a
 * difference, a product. */
struct op_flops flops_softmax(const struct flops_case *at) {
    bool backward = at->formula == FORMULA_SOFTMAX_BACKWARD;
    struct operator_input x = case_input(at, 0);
    if (!case_is_tensor(at, 0))
        return flops_unknown("the first input is not a tensor");
    double n = input_elements(&x), read = case_read(at, 0) + (backward ? case_read(at, 1) : 0);
    return flops_known(at, (backward ? 4 : 5) * n, read + n * case_bytes(at, 0), UNIT_VECTOR, 0);
}

/*
 * Normalisation by batch, layer, group, instance and root mean square, forward and backward.
 *
 *     forward     3 n for mean and variance, where they are not given; 2 n to scale and shift
 *     backward    4 n for the gradient's sums, 5 n for the input's gradient
 *
 * and a few for each channel. TraceLens takes whatever stands for "train" as true, and weight and bias as given.
 */

#define NOWHERE UINT32_MAX

/* Where an operator's arguments are. */
struct norm_places {
    enum op_formula formula;
    uint32_t x, weight, bias;
    uint32_t shape; /* value: what a layer or a root mean square is taken over; NOWHERE: channels are the second dim */
    uint32_t train; /* value; NOWHERE: always */
    uint32_t groups, mask; /* values; NOWHERE */
};

static const struct norm_places norm_table[] = {
    {FORMULA_BATCH_NORM, 0, 1, 2, NOWHERE, 5, NOWHERE, NOWHERE},
    {FORMULA_LAYER_NORM, 0, 2, 3, 1, NOWHERE, NOWHERE, NOWHERE},
    {FORMULA_GROUP_NORM, 0, 2, 3, NOWHERE, NOWHERE, 1, NOWHERE},
    {FORMULA_NATIVE_GROUP_NORM, 0, 1, 2, NOWHERE, NOWHERE, 6, NOWHERE},
    {FORMULA_INSTANCE_NORM, 0, 1, 2, NOWHERE, 5, NOWHERE, NOWHERE},
    {FORMULA_RMS_NORM, 0, 2, NOWHERE, 1, NOWHERE, NOWHERE, NOWHERE},
    {FORMULA_BATCH_NORM_BACKWARD, 1, 2, NOWHERE, NOWHERE, 7, NOWHERE, 9},
    {FORMULA_VENDOR_BATCH_NORM_BACKWARD, 0, 2, NOWHERE, NOWHERE, NOWHERE, NOWHERE, NOWHERE},
    {FORMULA_LAYER_NORM_BACKWARD, 1, 5, NOWHERE, 2, NOWHERE, NOWHERE, 7},
    {FORMULA_GROUP_NORM_BACKWARD, 1, 4, NOWHERE, NOWHERE, NOWHERE, 8, 9},
    {FORMULA_RMS_NORM_BACKWARD, 1, 4, NOWHERE, 2, NOWHERE, NOWHERE, 5},
};

static const struct norm_places *norm_places_of(enum op_formula formula) {
    const struct norm_places *places = norm_table;
    while (places->formula != formula)
        places++;
    return places;
}

struct norm {
    double n, channels;
    double statistics; /* how many means there are */
    bool train, affine, bias;
    bool mask[3]; /* gradients of input, weight and bias that are wanted */
    double bytes; /* of an element */
};

/* Channels: the second dimension, or the product of the shape that is told. */
static bool channels_read(const struct flops_case *at, const struct norm_places *places, struct norm *norm) {
    int64_t shape[FLOPS_RANK];
    uint32_t n;
    struct input_tensor x = case_input(at, places->x).tensor;
    norm->channels = x.n_dims > 1 ? (double)x.dims[1] : 0;
    if (places->shape == NOWHERE)
        return x.n_dims > 1 && norm->channels > 0;
    if (!case_numbers(at, places->shape, shape, FLOPS_RANK, &n))
        return false;
    norm->channels = 1;
    for (uint32_t i = 0; i < n; i++)
        norm->channels *= (double)shape[i];
    return norm->channels > 0;
}

static bool mask_read(const struct flops_case *at, const struct norm_places *places, struct norm *norm) {
    int64_t mask[3] = {1, 1, 1};
    uint32_t n = 3;
    bool told = places->mask == NOWHERE || case_numbers(at, places->mask, mask, 3, &n);
    for (uint32_t i = 0; i < 3; i++)
        norm->mask[i] = i < n && mask[i];
    return told;
}

/* What TraceLens takes for it: what stands at a place counts as there, any text as true. */
static bool tracelens_read(const struct flops_case *at, const struct norm_places *places, struct norm *norm) {
    bool base = at->formula == FORMULA_RMS_NORM || at->formula == FORMULA_RMS_NORM_BACKWARD;
    bool vendor = at->formula == FORMULA_VENDOR_BATCH_NORM_BACKWARD;
    struct input_text train =
        places->train == NOWHERE ? (struct input_text){"True", 4} : case_input(at, places->train).value;
    norm->train = !base && !vendor && train.length;
    norm->affine = true;
    norm->bias = !base;
    if (at->formula == FORMULA_LAYER_NORM_BACKWARD) {
        norm->affine = norm->mask[1];
        norm->bias = norm->mask[2];
    }
    if (at->formula == FORMULA_BATCH_NORM_BACKWARD || vendor)
        norm->mask[0] = true;
    uint32_t needed = at->formula == FORMULA_LAYER_NORM ? 3 : 2;
    if (at->formula == FORMULA_GROUP_NORM_BACKWARD)
        needed = 5;
    if (at->formula == FORMULA_RMS_NORM_BACKWARD)
        needed = 4;
    return at->inputs->n_shapes > needed && at->inputs->n_types > places->x && at->inputs->n_strides > places->x &&
           (places->train == NOWHERE || train.at) && !isnan(norm->bytes);
}

/* Means: one for each channel, for each group of each image, for each row. */
static double statistics_of(const struct flops_case *at, const struct norm_places *places, const struct norm *norm) {
    int64_t groups;
    uint32_t n;
    double images = (double)case_input(at, places->x).tensor.dims[0];
    if (places->shape != NOWHERE)
        return norm->n / norm->channels;
    if (places->groups != NOWHERE)
        return case_numbers(at, places->groups, &groups, 1, &n) && n == 1 ? images * (double)groups : norm->channels;
    return at->formula == FORMULA_INSTANCE_NORM ? images * norm->channels : norm->channels;
}

static void arguments_read(const struct flops_case *at, const struct norm_places *places, struct norm *norm) {
    norm->train = places->train == NOWHERE || case_is_true(at, places->train);
    norm->affine = case_is_tensor(at, places->weight);
    norm->bias = places->bias != NOWHERE && case_is_tensor(at, places->bias);
    norm->statistics = statistics_of(at, places, norm);
}

/* Why it cannot be read, or NULL. */
static const char *norm_read(const struct flops_case *at, const struct norm_places *places, struct norm *norm) {
    struct operator_input x = case_input(at, places->x);
    *norm = (struct norm){.n = tensor_elements(&x.tensor), .bytes = case_bytes(at, places->x)};
    bool mask = mask_read(at, places, norm);
    if (x.is_list || !x.tensor.n_dims || !channels_read(at, places, norm))
        return "number of channels not recorded";
    if (at->tracelens)
        return (mask || at->formula == FORMULA_BATCH_NORM_BACKWARD) && tracelens_read(at, places, norm)
                   ? NULL
                   : "types, strides or arguments not recorded";
    arguments_read(at, places, norm);
    return NULL;
}

static double yes(bool it_is, double then) {
    return it_is ? then : 0;
}

struct op_flops flops_norm(const struct flops_case *at) {
    const struct norm_places *places = norm_places_of(at->formula);
    struct norm norm;
    const char *why = norm_read(at, places, &norm);
    if (why)
        return flops_unknown(why);
    double n = norm.n, c = norm.channels, statistics = at->tracelens ? c : norm.statistics, bytes = norm.bytes;
    if (at->formula == FORMULA_RMS_NORM)
        return flops_known(at, n / c * (2 * c + 2) + n * (norm.affine ? 2 : 1),
                           2 * n * bytes + yes(norm.affine, c * bytes), UNIT_VECTOR, 0);
    bool running = at->formula == FORMULA_BATCH_NORM || at->tracelens; /* means that are kept are written again */
    double parameters =
        c * (yes(norm.affine, 1) + yes(norm.affine && norm.bias, 1)) + statistics * (2 + yes(norm.train && running, 2));
    return flops_known(at, 6 * statistics + yes(norm.train, 3 * n) + 2 * n, (2 * n + parameters) * bytes, UNIT_VECTOR,
                       0);
}

static struct op_flops rms_backward(const struct flops_case *at, const struct norm_places *places,
                                    const struct norm *norm) {
    double n = norm->n, rows = n / norm->channels;
    double flops =
        n + yes(norm->affine, n) + yes(norm->mask[0], 6 * n) + yes(norm->mask[1] && norm->affine, n + yes(rows > 1, n));
    double written = at->tracelens || norm->mask[0] ? n : 0;
    double weights = yes(norm->affine, norm->channels * (at->tracelens || norm->mask[1] ? 2 : 1));
    return flops_known(at, flops, norm->bytes * (2 * n + written + weights), UNIT_VECTOR, places->x);
}

/* It gives no gradient of the input the operations that belong to one without training. */
static struct op_flops backward_tracelens(const struct flops_case *at, const struct norm_places *places,
                                          const struct norm *norm) {
    int64_t groups = 1;
    uint32_t one;
    double n = norm->n, c = norm->channels;
    if (at->formula == FORMULA_GROUP_NORM_BACKWARD) {
        if (!case_numbers(at, places->groups, &groups, 1, &one) || one != 1 || groups <= 0)
            return flops_unknown("number of groups not recorded");
        c /= (double)groups;
    }
    double input = norm->mask[0] ? yes(norm->train, 5 * n) : 2 * n;
    double flops = yes(!norm->train, 3 * c) + 4 * n + input;
    double elements = n + n * (norm->mask[0] && norm->train ? 2 : 1) + yes(norm->train, c) +
                      yes(norm->affine, c + yes(norm->train, c * (norm->bias ? 2 : 1)));
    return flops_known(at, flops, elements * norm->bytes, UNIT_VECTOR, places->x);
}

struct op_flops flops_norm_backward(const struct flops_case *at) {
    const struct norm_places *places = norm_places_of(at->formula);
    struct norm norm;
    const char *why = norm_read(at, places, &norm);
    if (why)
        return flops_unknown(why);
    if (at->formula == FORMULA_RMS_NORM_BACKWARD)
        return rms_backward(at, places, &norm);
    if (at->tracelens)
        return backward_tracelens(at, places, &norm);
    double n = norm.n, c = norm.channels;
    double flops = 4 * n + yes(norm.mask[0], norm.train ? 5 * n : 2 * n) + yes(!norm.train, 3 * norm.statistics);
    double elements = 2 * n + yes(norm.mask[0], n) + 2 * norm.statistics + yes(norm.affine && norm.mask[0], c) +
                      yes(norm.affine && norm.mask[1], c) + yes(norm.affine && norm.mask[2], c);
    return flops_known(at, flops, elements * norm.bytes, UNIT_VECTOR, places->x);
}

/*
 * Operators that work element by element, that copy, and on lists of tensors.
 *
 * One operation for each element of the result, whatever it is. A result has the shape that its operands broadcast to
 * and the type that they promote to, unless the operator writes to its first operand, to one that it is given, or
 * truth values.
 */

/* ---- TraceLens: one operand or two, and perhaps the result behind them ---- */

static struct op_flops unary_tracelens(const struct flops_case *at) {
    bool out = case_input(at, 1).tensor.n_dims || case_input(at, 1).n_members;
    struct operator_input operand = case_input(at, 0);
    if (at->inputs->n_types <= out || at->inputs->n_strides <= out || operand.is_list)
        return flops_unknown("operand type or strides not recorded");
    double n = tensor_elements(&operand.tensor);
    return flops_known(at, n, n * case_bytes(at, 0) + n * case_bytes(at, out), UNIT_VECTOR, 0);
}

/* Takes a tensor into the shape that all of them broadcast to; false: they do not. */
struct broadcast {
    int64_t dims[FLOPS_RANK]; /* the last one first */
    uint32_t n;
};

static bool broadcast_add(struct broadcast *shape, const struct input_tensor *tensor) {
    if (tensor->n_dims > FLOPS_RANK)
        return false;
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        int64_t dim = tensor->dims[tensor->n_dims - 1 - i];
        if (i == shape->n)
            shape->dims[shape->n++] = dim;
        else if (shape->dims[i] == 1)
            shape->dims[i] = dim;
        else if (dim != 1 && dim != shape->dims[i])
            return false;
    }
    return true;
}

static double broadcast_elements(const struct broadcast *shape) {
    double n = 1;
    for (uint32_t i = 0; i < shape->n; i++)
        n *= (double)shape->dims[i];
    return n;
}

/* Bytes of an element of the result. */
static double binary_out_bytes(const struct flops_case *at) {
    struct operator_input a = case_input(at, 0), b = case_input(at, 1), out = case_input(at, 2);
    if (out.tensor.n_dims || out.n_members)
        return case_bytes(at, 2);
    double first = case_bytes(at, 0), second = case_bytes(at, 1);
    if (a.tensor.n_dims && b.tensor.n_dims)
        return first > second || isnan(first) ? first : second;
    return first;
}

static struct op_flops binary_tracelens(const struct flops_case *at) {
    struct broadcast shape = {.n = 0};
    struct operator_input a = case_input(at, 0), b = case_input(at, 1), out = case_input(at, 2);
    uint32_t needed = out.tensor.n_dims || out.n_members ? 3 : 2;
    if (at->inputs->n_shapes < 2 || at->inputs->n_types < needed || at->inputs->n_strides < needed)
        return flops_unknown("operand types or strides not recorded");
    if (a.is_list || b.is_list || !broadcast_add(&shape, &a.tensor) || !broadcast_add(&shape, &b.tensor))
        return flops_unknown("operand shapes do not broadcast");
    double n = broadcast_elements(&shape);
    double bytes = case_read(at, 0) + case_read(at, 1) + n * binary_out_bytes(at);
    return flops_known(at, n, bytes, UNIT_VECTOR, 0);
}

/* ---- Ours ---- */

static bool writes_first(const struct op_kind *kind) {
    return kind->name[strlen(kind->name) - 1] == '_';
}

/* The type that operands promote to: of those with dimensions the widest of the highest kind, unless one without has a
 * kind above that. */
struct promotion {
    const struct data_type *type;
    bool has_dims;
};

static void promotion_add(struct promotion *promotion, const struct data_type *type, bool has_dims) {
    const struct data_type *old = promotion->type;
    bool higher = !old || type->kind > old->kind;
    bool wider = !old || (type->kind == old->kind && type->bytes > old->bytes);
    bool taken =
        has_dims == promotion->has_dims ? higher || wider : (has_dims ? !old || type->kind >= old->kind : higher);
    promotion->has_dims |= has_dims;
    promotion->type = taken ? type : old;
}

/* Operands of the operator, before where it may be given its result. */
static uint32_t operands_of(const struct flops_case *at) {
    uint32_t most = at->formula == FORMULA_UNARY ? 1 : at->formula == FORMULA_BINARY ? 2 : at->inputs->n;
    return most < at->inputs->n ? most : at->inputs->n;
}

/* What is read of the operands, and the result's shape and type. */
struct operand_sums {
    double read;
    uint32_t n_tensors;
    struct broadcast shape;
    struct promotion promotion;
    bool fits;
};

static struct operand_sums operands_read(const struct flops_case *at) {
    struct operand_sums all = {.fits = true};
    uint32_t n = operands_of(at);
    for (uint32_t i = 0; i < n; i++) {
        struct operator_input input = case_input(at, i);
        if (!case_is_tensor(at, i))
            continue;
        all.n_tensors++;
        all.read += case_read(at, i);
        all.fits = all.fits && broadcast_add(&all.shape, &input.tensor);
        if (case_type(at, i))
            promotion_add(&all.promotion, case_type(at, i), input.tensor.n_dims > 0);
    }
    return all;
}

static double result_bytes_flops_elementwise(const struct flops_case *at, const struct operand_sums *operands) {
    uint32_t behind = at->formula == FORMULA_UNARY ? 1 : 2;
    if (writes_first(at->kind))
        return case_bytes(at, 0);
    if (at->formula == FORMULA_COMPARE)
        return 1;
    if ((at->formula == FORMULA_UNARY || at->formula == FORMULA_BINARY) && case_is_tensor(at, behind))
        return case_bytes(at, behind);
    return operands->promotion.type ? operands->promotion.type->bytes : NAN;
}

struct op_flops flops_elementwise(const struct flops_case *at) {
    if (at->tracelens)
        return at->formula == FORMULA_UNARY ? unary_tracelens(at) : binary_tracelens(at);
    struct operand_sums operands = operands_read(at);
    if (!operands.n_tensors)
        return flops_unknown("no tensor among the inputs");
    if (!operands.fits)
        return flops_unknown("operand shapes do not broadcast");
    double n = broadcast_elements(&operands.shape);
    return flops_known(at, n, operands.read + n * result_bytes_flops_elementwise(at, &operands), UNIT_VECTOR, 0);
}

/* ---- Moving without computing ---- */

/* Bytes of an element of a copy, which may be asked to be of another type. */
static double copied_bytes(const struct flops_case *at) {
    int64_t number;
    uint32_t n;
    bool asks = strcmp(at->kind->name, "aten::_to_copy") == 0;
    const struct data_type *type = NULL;
    if (asks && case_numbers(at, 1, &number, 1, &n) && n == 1)
        type = data_type_of_number(number);
    return type ? type->bytes : case_bytes(at, 0);
}

struct op_flops flops_copy(const struct flops_case *at) {
    struct operator_input first = case_input(at, 0);
    bool list = first.is_list;
    if (!list && !case_is_tensor(at, 0))
        return flops_unknown("the first input is not a tensor");
    double n = input_elements(&first);
    if (at->formula == FORMULA_FILL)
        return flops_known(at, 0, n * case_bytes(at, 0), UNIT_VECTOR, 0);
    bool onto = case_is_tensor(at, 1); /* copies the second to the first */
    double read = case_read(at, onto && !list ? 1 : 0);
    return flops_known(at, 0, read + n * copied_bytes(at), UNIT_VECTOR, 0);
}

/* ---- Results of another size than the operand's ---- */

/* Elements of the result where edges are padded, the last dimension's first. */
static double padded_elements(const struct flops_case *at, const struct input_tensor *x) {
    int64_t edges[6];
    uint32_t n = 0;
    double elements = tensor_elements(x);
    if (!case_numbers(at, 1, edges, 6, &n) || n % 2 || n / 2 > x->n_dims)
        return NAN;
    for (uint32_t i = 0; i < n / 2; i++) {
        double dim = (double)x->dims[x->n_dims - 1 - i];
        elements = elements / dim * (dim + (double)(edges[2 * i] + edges[2 * i + 1]));
    }
    return elements;
}

/* Elements of the result where its size in space is told. */
static double resized_elements(const struct flops_case *at, const struct input_tensor *x) {
    int64_t space[FLOPS_RANK];
    uint32_t n = 0;
    if (x->n_dims < 2 || !case_numbers(at, 1, space, FLOPS_RANK, &n))
        return NAN;
    double elements = (double)x->dims[0] * (double)x->dims[1];
    for (uint32_t i = 0; i < n; i++)
        elements *= (double)space[i];
    return elements;
}

/* silu(a) * b, where a and b are the halves of the second input and the first is the result: 5 operations each. */
static struct op_flops gated(const struct flops_case *at) {
    struct input_tensor out = case_input(at, 0).tensor;
    double n = tensor_elements(&out);
    double bytes = 2 * n * case_bytes(at, 1) + n * case_bytes(at, 0);
    if (at->inputs->n_types < 2 || (at->tracelens && at->inputs->n_strides < 2))
        return flops_unknown("operand types or strides not recorded");
    if (at->tracelens && isnan(bytes))
        return flops_unknown("unknown operand types");
    return flops_known(at, 5 * n, bytes, UNIT_VECTOR, 1);
}

struct op_flops flops_resize(const struct flops_case *at) {
    if (at->formula == FORMULA_GATED)
        return gated(at);
    struct input_tensor x = case_input(at, 0).tensor;
    double n = at->formula == FORMULA_PAD ? padded_elements(at, &x) : resized_elements(at, &x);
    double bytes = case_read(at, 0) + n * case_bytes(at, 0);
    if (isnan(n) || (at->tracelens && (isnan(bytes) || !at->inputs->n_strides)))
        return flops_unknown("result size not recorded");
    return flops_known(at, at->tracelens ? n : 0, bytes, UNIT_VECTOR, 0);
}

/* ---- Lists of tensors ---- */

static bool name_has(const struct flops_case *at, const char *word) {
    return strstr(at->kind->name, word) != NULL;
}

/* One operation for each element of the first list. */
struct op_flops flops_foreach(const struct flops_case *at) {
    struct operator_input first = case_input(at, 0);
    bool copies = name_has(at, "_copy_"), fills = name_has(at, "_zero_");
    double read = 0, n = input_elements(&first);
    if (!first.is_list)
        return flops_unknown("the first input is not a list of tensors");
    for (uint32_t i = copies ? 1 : 0; i < at->inputs->n && !fills; i++)
        if (case_input(at, i).is_list)
            read += case_read(at, i);
    return flops_known(at, copies || fills ? 0 : n, read + n * case_bytes(at, 0), UNIT_VECTOR, 0);
}

/* Parameters, gradients and states, a list of each: all are read, all but the gradients are written. A multiplication
 * and an addition for each element of each. */
struct op_flops flops_optimizer(const struct flops_case *at) {
    struct operator_input first = case_input(at, 0);
    double bytes = 0, n = input_elements(&first), lists = 0;
    if (!first.is_list)
        return flops_unknown("the first input is not a list of tensors");
    for (uint32_t i = 0; i < at->inputs->n; i++) {
        struct operator_input input = case_input(at, i);
        if (!input.is_list || input_elements(&input) != n)
            continue;
        lists++;
        bytes += (i == 1 ? 1 : 2) * case_bytes(at, i) * n;
    }
    return flops_known(at, 2 * lists * n, bytes, UNIT_VECTOR, 0);
}
