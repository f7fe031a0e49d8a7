/*
 * flops_norm.c - normalisation by batch, layer, group, instance and root mean square, forward and backward.
 *
 *     forward     3 n for mean and variance, where they are not given; 2 n to scale and shift
 *     backward    4 n for the gradient's sums, 5 n for the input's gradient
 *
 * and a few for each channel. TraceLens takes whatever stands for "train" as true, and weight and bias as given.
 */
#include "facts/flops_rules.h"

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
