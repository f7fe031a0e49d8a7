/*
 * flops.c - functions that the rules of all families share; the rules of norms, element-wise operators, copies,
 * lists of tensors and reductions; and the dispatch of an operator to its family's rule.
 */
#include "facts/flops.h"

/* ---- Shared by the rules of all families: results, and the types, elements and numbers of inputs ---- */

struct op_flops flops_unknown(const char *why) {
    return (struct op_flops){.missing = why, .bytes = NAN, .precision = PRECISION_NONE};
}

struct op_flops flops_known(const struct flops_case *at, double flops, double bytes, enum flops_unit unit,
                            uint32_t position) {
    const struct data_type *type = case_type(at, position);
    if (!isfinite(flops) || flops < 0 || bytes < 0 || isinf(bytes))
        return flops_unknown("the FLOPs do not follow from its shapes");
    return (struct op_flops){
        .flops = flops, .bytes = bytes, .unit = unit, .precision = type ? type->precision : PRECISION_NONE};
}

const struct data_type *case_type(const struct flops_case *at, uint32_t position) {
    struct input_text type = case_input(at, position).type;
    return type.at ? data_type_find(type.at, type.length) : NULL;
}

double case_bytes(const struct flops_case *at, uint32_t position) {
    struct input_text type = case_input(at, position).type;
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

/* Elements of a tensor, or of all tensors in a list. */
static double input_elements(const struct operator_input *input) {
    return input_sum(input, tensor_elements);
}

double case_read(const struct flops_case *at, uint32_t position) {
    struct operator_input input = case_input(at, position);
    return case_bytes(at, position) * (at->tracelens ? input_elements(&input) : input_sum(&input, tensor_stored));
}

bool case_is_true(const struct flops_case *at, uint32_t place) {
    return input_is(case_input(at, place).value, "true");
}

bool case_numbers(const struct flops_case *at, uint32_t place, int64_t *numbers, uint32_t most, uint32_t *n) {
    return input_numbers(case_input(at, place).value, numbers, most, n);
}

/* ---- Norms: batch, layer, group, instance and root mean square, forward and backward ----
 *
 *     forward     3 n for mean and variance, if they are not given; 2 n to scale and shift
 *     backward    4 n for the gradient's sums, 5 n for the input's gradient
 *
 * and a few for each channel. TraceLens reads any value of "train" as true, and weight and bias as given.
 */

#define NOWHERE UINT32_MAX

/* The positions of an operator's arguments. */
struct norm_places {
    enum op_formula formula;
    uint32_t x, weight, bias;
    uint32_t shape;        /* value: the normalized shape; NOWHERE: channels are the second dim */
    uint32_t train;        /* value; NOWHERE: always */
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
    double statistics; /* number of means */
    bool train, affine, bias;
    bool mask[3]; /* requested gradients: of input, weight and bias */
    double bytes; /* of an element */
};

/* The arguments as TraceLens reads them: an argument at a position counts as given, any text as true. */
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

/* Returns NULL, or why the arguments cannot be read. */
static const char *norm_read(const struct flops_case *at, const struct norm_places *places, struct norm *norm) {
    struct operator_input x = case_input(at, places->x);
    int64_t mask[3] = {1, 1, 1}, shape[FLOPS_RANK], groups;
    uint32_t n = 3;
    *norm = (struct norm){.n = tensor_elements(&x.tensor), .bytes = case_bytes(at, places->x)};
    bool has_mask = places->mask == NOWHERE || case_numbers(at, places->mask, mask, 3, &n);
    for (uint32_t i = 0; i < 3; i++)
        norm->mask[i] = i < n && mask[i];
    if (x.is_list || !x.tensor.n_dims)
        return "number of channels not recorded";

    /* Channels: the second dimension, or the product of the normalized shape. */
    norm->channels = x.tensor.n_dims > 1 ? (double)x.tensor.dims[1] : 0;
    if (places->shape != NOWHERE) {
        if (!case_numbers(at, places->shape, shape, FLOPS_RANK, &n))
            return "number of channels not recorded";
        norm->channels = 1;
        for (uint32_t i = 0; i < n; i++)
            norm->channels *= (double)shape[i];
    }
    if (!(norm->channels > 0))
        return "number of channels not recorded";
    if (at->tracelens)
        return (has_mask || at->formula == FORMULA_BATCH_NORM_BACKWARD) && tracelens_read(at, places, norm)
                   ? NULL
                   : "types, strides or arguments not recorded";
    norm->train = places->train == NOWHERE || case_is_true(at, places->train);
    norm->affine = case_is_tensor(at, places->weight);
    norm->bias = places->bias != NOWHERE && case_is_tensor(at, places->bias);

    /* Means: one for each row, for each group of each image, or for each channel. */
    double images = (double)x.tensor.dims[0];
    norm->statistics = norm->channels;
    if (places->shape != NOWHERE)
        norm->statistics = norm->n / norm->channels;
    else if (places->groups != NOWHERE && case_numbers(at, places->groups, &groups, 1, &n) && n == 1)
        norm->statistics = images * (double)groups;
    else if (at->formula == FORMULA_INSTANCE_NORM)
        norm->statistics = images * norm->channels;
    return NULL;
}

static double if_set(bool condition, double value) {
    return condition ? value : 0;
}

static struct op_flops flops_norm(const struct flops_case *at) {
    const struct norm_places *places = norm_places_of(at->formula);
    struct norm norm;
    const char *why = norm_read(at, places, &norm);
    if (why)
        return flops_unknown(why);
    double n = norm.n, c = norm.channels, statistics = at->tracelens ? c : norm.statistics, bytes = norm.bytes;
    if (at->formula == FORMULA_RMS_NORM)
        return flops_known(at, n / c * (2 * c + 2) + n * (norm.affine ? 2 : 1),
                           2 * n * bytes + if_set(norm.affine, c * bytes), UNIT_VECTOR, 0);
    bool running = at->formula == FORMULA_BATCH_NORM || at->tracelens; /* running means are written again */
    double parameters = c * (if_set(norm.affine, 1) + if_set(norm.affine && norm.bias, 1)) +
                        statistics * (2 + if_set(norm.train && running, 2));
    return flops_known(at, 6 * statistics + if_set(norm.train, 3 * n) + 2 * n, (2 * n + parameters) * bytes,
                       UNIT_VECTOR, 0);
}

static struct op_flops flops_norm_backward(const struct flops_case *at) {
    const struct norm_places *places = norm_places_of(at->formula);
    struct norm norm;
    const char *why = norm_read(at, places, &norm);
    if (why)
        return flops_unknown(why);
    double n = norm.n, c = norm.channels, flops, elements;
    if (at->formula == FORMULA_RMS_NORM_BACKWARD) {
        flops = n + if_set(norm.affine, n) + if_set(norm.mask[0], 6 * n) +
                if_set(norm.mask[1] && norm.affine, n + if_set(n / c > 1, n));
        double written = at->tracelens || norm.mask[0] ? n : 0;
        double weights = if_set(norm.affine, c * (at->tracelens || norm.mask[1] ? 2 : 1));
        return flops_known(at, flops, norm.bytes * (2 * n + written + weights), UNIT_VECTOR, places->x);
    }
    if (!at->tracelens) {
        flops = 4 * n + if_set(norm.mask[0], norm.train ? 5 * n : 2 * n) + if_set(!norm.train, 3 * norm.statistics);
        elements = 2 * n + if_set(norm.mask[0], n) + 2 * norm.statistics + if_set(norm.affine && norm.mask[0], c) +
                   if_set(norm.affine && norm.mask[1], c) + if_set(norm.affine && norm.mask[2], c);
        return flops_known(at, flops, elements * norm.bytes, UNIT_VECTOR, places->x);
    }
    /* TraceLens swaps the operations with and without a gradient of the input. */
    if (at->formula == FORMULA_GROUP_NORM_BACKWARD) {
        int64_t groups = 1;
        uint32_t n_groups;
        if (!case_numbers(at, places->groups, &groups, 1, &n_groups) || n_groups != 1 || groups <= 0)
            return flops_unknown("number of groups not recorded");
        c /= (double)groups;
    }
    double input = norm.mask[0] ? if_set(norm.train, 5 * n) : 2 * n;
    flops = if_set(!norm.train, 3 * c) + 4 * n + input;
    elements = n + n * (norm.mask[0] && norm.train ? 2 : 1) + if_set(norm.train, c) +
               if_set(norm.affine, c + if_set(norm.train, c * (norm.bias ? 2 : 1)));
    return flops_known(at, flops, elements * norm.bytes, UNIT_VECTOR, places->x);
}

/* ---- Element-wise operators ----
 *
 * One operation per element of the result. A result has the shape that its operands broadcast to and the type that they
 * promote to, unless the operator writes to its first operand, to a given output, or truth values.
 */

/* The shape that several tensors broadcast to. */
struct broadcast {
    int64_t dims[FLOPS_RANK]; /* the last one first */
    uint32_t n;
};

/* False: the tensor does not fit. */
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

/* TraceLens reads one operand or two, and perhaps the result after them. */
static struct op_flops elementwise_tracelens(const struct flops_case *at) {
    struct operator_input a = case_input(at, 0), b = case_input(at, 1), out = case_input(at, 2);
    if (at->formula == FORMULA_UNARY) {
        bool has_out = b.tensor.n_dims || b.n_members;
        if (at->inputs->n_types <= has_out || at->inputs->n_strides <= has_out || a.is_list)
            return flops_unknown("operand type or strides not recorded");
        double n = tensor_elements(&a.tensor);
        return flops_known(at, n, n * case_bytes(at, 0) + n * case_bytes(at, has_out), UNIT_VECTOR, 0);
    }
    struct broadcast shape = {.n = 0};
    bool has_out = out.tensor.n_dims || out.n_members;
    uint32_t needed = has_out ? 3 : 2;
    if (at->inputs->n_shapes < 2 || at->inputs->n_types < needed || at->inputs->n_strides < needed)
        return flops_unknown("operand types or strides not recorded");
    if (a.is_list || b.is_list || !broadcast_add(&shape, &a.tensor) || !broadcast_add(&shape, &b.tensor))
        return flops_unknown("operand shapes do not broadcast");
    double n = broadcast_elements(&shape), first = case_bytes(at, 0), second = case_bytes(at, 1), out_bytes = first;
    if (has_out)
        out_bytes = case_bytes(at, 2);
    else if (a.tensor.n_dims && b.tensor.n_dims)
        out_bytes = first > second || isnan(first) ? first : second;
    return flops_known(at, n, case_read(at, 0) + case_read(at, 1) + n * out_bytes, UNIT_VECTOR, 0);
}

static struct op_flops flops_elementwise(const struct flops_case *at) {
    if (at->tracelens)
        return elementwise_tracelens(at);
    bool fixed = at->formula == FORMULA_UNARY || at->formula == FORMULA_BINARY;
    uint32_t n_operands = at->formula == FORMULA_UNARY ? 1 : at->formula == FORMULA_BINARY ? 2 : at->inputs->n;
    uint32_t out = at->formula == FORMULA_UNARY ? 1 : 2, n_tensors = 0;
    double read = 0;
    struct broadcast shape = {.n = 0};
    bool fits = true, promoted_dims = false;
    const struct data_type *promoted = NULL;
    for (uint32_t i = 0; i < n_operands && i < at->inputs->n; i++) {
        struct operator_input input = case_input(at, i);
        if (!case_is_tensor(at, i))
            continue;
        n_tensors++;
        read += case_read(at, i);
        fits = fits && broadcast_add(&shape, &input.tensor);

        /* The promoted type is the widest of the highest kind among operands with dimensions, unless one without
         * dimensions has a higher kind. */
        const struct data_type *type = case_type(at, i), *old = promoted;
        bool has_dims = input.tensor.n_dims > 0;
        if (!type)
            continue;
        bool same_kind = old && type->kind == old->kind;
        if (!old || type->kind > old->kind ||
            (same_kind && (has_dims == promoted_dims ? type->bytes > old->bytes : has_dims)))
            promoted = type;
        promoted_dims |= has_dims;
    }
    if (!n_tensors)
        return flops_unknown("no tensor among the inputs");
    if (!fits)
        return flops_unknown("operand shapes do not broadcast");
    double n = broadcast_elements(&shape), bytes = promoted ? promoted->bytes : (double)NAN;
    if (at->kind->name[strlen(at->kind->name) - 1] == '_') /* in place */
        bytes = case_bytes(at, 0);
    else if (at->formula == FORMULA_COMPARE)
        bytes = 1;
    else if (fixed && case_is_tensor(at, out))
        bytes = case_bytes(at, out);
    return flops_known(at, n, read + n * bytes, UNIT_VECTOR, 0);
}

/* ---- Copies, fills, resizes ---- */

static struct op_flops flops_copy(const struct flops_case *at) {
    struct operator_input first = case_input(at, 0);
    bool list = first.is_list;
    if (!list && !case_is_tensor(at, 0))
        return flops_unknown("the first input is not a tensor");
    double n = input_elements(&first);
    if (at->formula == FORMULA_FILL)
        return flops_known(at, 0, n * case_bytes(at, 0), UNIT_VECTOR, 0);
    double read = case_read(at, case_is_tensor(at, 1) && !list ? 1 : 0); /* may copy the second to the first */
    int64_t number;
    uint32_t n_numbers;
    const struct data_type *type = NULL; /* requested */
    if (strcmp(at->kind->name, "aten::_to_copy") == 0 && case_numbers(at, 1, &number, 1, &n_numbers) && n_numbers == 1)
        type = data_type_of_number(number);
    return flops_known(at, 0, read + n * (type ? type->bytes : case_bytes(at, 0)), UNIT_VECTOR, 0);
}

/* Results of another size than the operand's: gated products, padding, and resizing in space. */
static struct op_flops flops_resize(const struct flops_case *at) {
    struct input_tensor x = case_input(at, 0).tensor;
    double n = tensor_elements(&x);
    if (at->formula == FORMULA_GATED) {
        /* silu(a) * b: a and b are the halves of the second input, the first is the result; 5 operations each. */
        double bytes = 2 * n * case_bytes(at, 1) + n * case_bytes(at, 0);
        if (at->inputs->n_types < 2 || (at->tracelens && at->inputs->n_strides < 2))
            return flops_unknown("operand types or strides not recorded");
        if (at->tracelens && isnan(bytes))
            return flops_unknown("unknown operand types");
        return flops_known(at, 5 * n, bytes, UNIT_VECTOR, 1);
    }
    int64_t sizes[FLOPS_RANK];
    uint32_t n_sizes = 0;
    if (at->formula == FORMULA_PAD) { /* two edges per dimension, the last dimension first */
        bool ok = case_numbers(at, 1, sizes, 6, &n_sizes) && n_sizes % 2 == 0 && n_sizes / 2 <= x.n_dims;
        for (uint32_t i = 0; ok && i < n_sizes / 2; i++) {
            double dim = (double)x.dims[x.n_dims - 1 - i];
            n = n / dim * (dim + (double)(sizes[2 * i] + sizes[2 * i + 1]));
        }
        n = ok ? n : (double)NAN;
    } else { /* batch and channels stay, the size in space is given */
        bool ok = x.n_dims >= 2 && case_numbers(at, 1, sizes, FLOPS_RANK, &n_sizes);
        n = ok ? (double)x.dims[0] * (double)x.dims[1] : (double)NAN;
        for (uint32_t i = 0; ok && i < n_sizes; i++)
            n *= (double)sizes[i];
    }
    double bytes = case_read(at, 0) + n * case_bytes(at, 0);
    if (isnan(n) || (at->tracelens && (isnan(bytes) || !at->inputs->n_strides)))
        return flops_unknown("result size not recorded");
    return flops_known(at, at->tracelens ? n : 0, bytes, UNIT_VECTOR, 0);
}

/* ---- Lists of tensors ---- */

/* One operation for each element of the first list. */
static struct op_flops flops_foreach(const struct flops_case *at) {
    struct operator_input first = case_input(at, 0);
    bool copies = strstr(at->kind->name, "_copy_"), fills = strstr(at->kind->name, "_zero_");
    double read = 0, n = input_elements(&first);
    if (!first.is_list)
        return flops_unknown("the first input is not a list of tensors");
    for (uint32_t i = copies ? 1 : 0; i < at->inputs->n && !fills; i++)
        if (case_input(at, i).is_list)
            read += case_read(at, i);
    return flops_known(at, copies || fills ? 0 : n, read + n * case_bytes(at, 0), UNIT_VECTOR, 0);
}

/* Lists of parameters, gradients and states: all are read, all except the gradients are written. A multiplication and
 * an addition for each element of each list. */
static struct op_flops flops_optimizer(const struct flops_case *at) {
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

/* ---- Reductions and softmax ---- */

/* Properties of reductions by name: the argument "dim" is one number; the results are indices, truth values or two
 * values; integers are summed as int64; the result for one dimension also has the index. */
enum { ONE_DIM = 1, INDEX = 2, TRUTH = 4, TWO_VALUES = 8, LONG_SUM = 16, WITH_INDEX = 32 };

static const struct {
    const char *name;
    unsigned traits;
} reductions[] = {
    {"aten::max", ONE_DIM | WITH_INDEX}, {"aten::min", ONE_DIM | WITH_INDEX},
    {"aten::argmax", ONE_DIM | INDEX},   {"aten::argmin", ONE_DIM | INDEX},
    {"aten::all", ONE_DIM | TRUTH},      {"aten::any", ONE_DIM | TRUTH},
    {"aten::prod", ONE_DIM | LONG_SUM},  {"aten::sum", LONG_SUM},
    {"aten::nansum", LONG_SUM},          {"aten::cumsum", LONG_SUM},
    {"aten::cumsum_", LONG_SUM},         {"aten::var_mean", TWO_VALUES},
    {"aten::std_mean", TWO_VALUES},
};

/* The dimensions that are reduced; none means all. They are a list in the second or third input, or a number before
 * "keepdim". */
static uint32_t reduced_dims(const struct flops_case *at, unsigned traits, int64_t *dims) {
    uint32_t n = 0;
    for (uint32_t position = 1; position <= 2; position++) {
        struct input_text value = case_input(at, position).value;
        if (value.length && *value.at == '[')
            return case_numbers(at, position, dims, FLOPS_RANK, &n) ? n : 0;
    }
    struct input_text keepdim = case_input(at, 2).value;
    bool keeps = input_is(keepdim, "true") || input_is(keepdim, "false");
    return traits & ONE_DIM && keeps && case_numbers(at, 1, dims, 1, &n) ? n : 0;
}

/* One operation per input element. */
static struct op_flops flops_reduce(const struct flops_case *at) {
    struct operator_input x = case_input(at, 0);
    if (at->tracelens) {
        if (at->inputs->n_shapes == 0)
            return (struct op_flops){.bytes = NAN, .unit = UNIT_VECTOR, .precision = PRECISION_NONE};
        if (x.is_list)
            return flops_unknown("the first input is a list");
        double n = tensor_elements(&x.tensor), results = at->formula == FORMULA_CUMULATE ? n : 1;
        return flops_known(at, n, case_bytes(at, 0) * n + case_bytes(at, 0) * results, UNIT_VECTOR, 0);
    }
    if (at->inputs->n_shapes == 0 || (!x.is_list && !case_is_tensor(at, 0)))
        return flops_unknown("input shapes not recorded (record_shapes=True)");
    unsigned traits = 0;
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (strcmp(at->kind->name, reductions[i].name) == 0)
            traits = reductions[i].traits;
    if (case_is_tensor(at, 1) && traits & ONE_DIM) { /* the larger elements of two tensors */
        struct flops_case pair = *at;
        pair.formula = FORMULA_BINARY;
        return flops_elementwise(&pair);
    }

    /* The number of results. */
    int64_t dims[FLOPS_RANK];
    uint32_t n_dims = reduced_dims(at, traits, dims), rank = x.tensor.n_dims;
    double n = input_elements(&x), results = 1;
    if (at->formula == FORMULA_CUMULATE)
        results = n;
    else if (x.is_list)
        results = x.n_members;
    else if (n_dims > 0 && rank <= FLOPS_RANK && n != 0) {
        bool reduced[FLOPS_RANK] = {false};
        results = n;
        for (uint32_t i = 0; i < n_dims; i++) {
            int64_t dim = dims[i] < 0 ? dims[i] + rank : dims[i];
            if (dim >= 0 && dim < rank && !reduced[dim]) {
                results /= (double)x.tensor.dims[dim];
                reduced[dim] = true;
            }
        }
    }

    /* Bytes of all values of one result. */
    const struct data_type *type = case_type(at, 0);
    double bytes = case_bytes(at, 0);
    bool is_long = traits & LONG_SUM && type && type->kind <= ELEMENT_INTEGER;
    if (traits & INDEX || (is_long && !(traits & TRUTH)))
        bytes = 8;
    else if (traits & TRUTH)
        bytes = 1;
    else if (traits & WITH_INDEX && n_dims > 0)
        bytes += 8;
    else if (traits & TWO_VALUES)
        bytes *= 2;
    return flops_known(at, n, case_read(at, 0) + results * bytes, UNIT_VECTOR, 0);
}

/* Forward: the largest, the difference, the exponential, the sum, the quotient. Backward: a product, its sum, a
 * difference, a product. */
static struct op_flops flops_softmax(const struct flops_case *at) {
    bool backward = at->formula == FORMULA_SOFTMAX_BACKWARD;
    struct operator_input x = case_input(at, 0);
    if (!case_is_tensor(at, 0))
        return flops_unknown("the first input is not a tensor");
    double n = input_elements(&x), read = case_read(at, 0) + (backward ? case_read(at, 1) : 0);
    return flops_known(at, (backward ? 4 : 5) * n, read + n * case_bytes(at, 0), UNIT_VECTOR, 0);
}

/* ---- Dispatch ---- */

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
    [FORMULA_TRITON] = flops_triton,
    [FORMULA_PAGED_ATTENTION] = flops_paged_attention,
    [FORMULA_MOE] = flops_moe,
    [FORMULA_MOE_INTO] = flops_moe,
    [FORMULA_GROUPED_GEMM] = flops_grouped_gemm,
};

struct op_flops op_flops_find(const struct op_kind *kind, const struct op_inputs *inputs, enum flops_rules rules) {
    struct flops_case at = {kind, inputs, FORMULA_NONE, rules == FLOPS_TRACELENS};
    if (kind)
        at.formula = at.tracelens ? kind->tracelens : kind->formula;
    flops_rule *rule = rules_of[at.formula];
    if (!rule)
        return flops_unknown("no formula for this operator");
    if (inputs->n_shapes == 0 && rule != flops_reduce && rule != flops_triton)
        return flops_unknown("input shapes not recorded (record_shapes=True)");
    // cppcheck-suppress returnDanglingLifetime ; struct op_flops has no pointer to `at`
    return rule(&at);
}

struct op_flops op_flops_gradient(const struct op_kind *kind, const struct op_inputs *inputs) {
    const struct flops_case at = {kind, inputs, kind->tracelens, true};
    if (rules_of[kind->tracelens] != flops_attention)
        return flops_unknown("no formula for its gradient");
    return flops_attention_gradient(&at);
}
