/*
 * flops_matrix.c - attention, products of matrices, and convolutions.
 *
 *     (M, K) x (K, N)      2 M N K, and M N for a bias
 *     linear layers        the same, with weights of (N, K), and any number of dimensions that make up M
 *     convolution          a product for each element of the output, with as many terms as the filter has weights
 *     attention            softmax(Q K^T) V of many heads; the softmax itself is not counted
 *         forward          2 products of every query with every key: Q K^T, P V
 *         backward         5 of them: Q K^T again, and the gradients of V, P, Q and K
 *         causal           half of the pairs, if there are as many queries as keys
 *
 * Sequences of different lengths follow one another in one dimension; a trace records only their number and the longest
 * one. The others are assumed to share the rest evenly, which is a lower bound of the operations.
 */
#include "facts/flops.h"

/* ---- Attention ---- */

enum attention_order { HEADS_FIRST, LENGTH_FIRST, PACKED };

/* Form of "causal": a boolean whose mask begins at the first key or ends at the last one, or a number. */
enum causal_form { CAUSAL_FIRST, CAUSAL_LAST, CAUSAL_NUMBER };

#define NOWHERE UINT32_MAX

/* The positions of an operator's arguments. */
struct attention_places {
    enum op_formula formula;
    enum attention_order order;
    uint32_t query, causal;
    enum causal_form form;
    uint32_t starts, longest; /* of sequences of different lengths: two inputs each; NOWHERE */
    uint32_t bias;            /* or NOWHERE */
    uint32_t lengths;         /* records different lengths in an unsupported form; NOWHERE */
    bool recomputes;          /* TraceLens: backward computes Q K^T again */
    bool strides;             /* TraceLens: strides and "causal" are required */
};

static const struct attention_places attention_table[] = {
    {FORMULA_SDPA_CUDNN, HEADS_FIRST, 0, 6, CAUSAL_FIRST, NOWHERE, NOWHERE, 3, NOWHERE, false, false},
    {FORMULA_SDPA_EFFICIENT, HEADS_FIRST, 0, 6, CAUSAL_FIRST, NOWHERE, NOWHERE, 3, NOWHERE, false, false},
    {FORMULA_SDPA_FLASH, HEADS_FIRST, 0, 4, CAUSAL_FIRST, NOWHERE, NOWHERE, NOWHERE, NOWHERE, true, false},
    {FORMULA_FLASH, LENGTH_FIRST, 0, 5, CAUSAL_LAST, NOWHERE, NOWHERE, NOWHERE, NOWHERE, true, true},
    {FORMULA_FLASH_ATEN, LENGTH_FIRST, 0, 8, CAUSAL_FIRST, 3, 5, NOWHERE, NOWHERE, true, true},
    {FORMULA_EFFICIENT_ATEN, LENGTH_FIRST, 0, 9, CAUSAL_NUMBER, NOWHERE, NOWHERE, 3, 4, false, true},
    {FORMULA_FMHA, LENGTH_FIRST, 0, 5, CAUSAL_LAST, NOWHERE, NOWHERE, NOWHERE, NOWHERE, true, false},
    {FORMULA_FLASH_3, LENGTH_FIRST, 0, 24, CAUSAL_LAST, NOWHERE, NOWHERE, NOWHERE, NOWHERE, true, false},
    {FORMULA_FLASH_VARLEN, PACKED, 0, 9, CAUSAL_LAST, 3, 5, NOWHERE, NOWHERE, true, true},
    {FORMULA_SDPA_CUDNN_BACKWARD, HEADS_FIRST, 1, 14, CAUSAL_FIRST, NOWHERE, NOWHERE, 8, NOWHERE, false, false},
    {FORMULA_SDPA_EFFICIENT_BACKWARD, HEADS_FIRST, 1, 11, CAUSAL_FIRST, NOWHERE, NOWHERE, 4, NOWHERE, false, false},
    {FORMULA_SDPA_FLASH_BACKWARD, HEADS_FIRST, 1, 11, CAUSAL_FIRST, NOWHERE, NOWHERE, NOWHERE, NOWHERE, true, false},
    {FORMULA_FLASH_BACKWARD, LENGTH_FIRST, 1, 10, CAUSAL_LAST, NOWHERE, NOWHERE, NOWHERE, NOWHERE, true, true},
    {FORMULA_FLASH_ATEN_BACKWARD, LENGTH_FIRST, 1, 11, CAUSAL_FIRST, 6, 8, NOWHERE, NOWHERE, true, true},
    {FORMULA_EFFICIENT_ATEN_BACKWARD, LENGTH_FIRST, 1, 14, CAUSAL_NUMBER, NOWHERE, NOWHERE, 4, 6, false, true},
    {FORMULA_FMHA_BACKWARD, LENGTH_FIRST, 1, 8, CAUSAL_LAST, NOWHERE, NOWHERE, NOWHERE, NOWHERE, true, false},
    {FORMULA_FLASH_VARLEN_BACKWARD, PACKED, 1, 15, CAUSAL_LAST, 9, 11, NOWHERE, NOWHERE, true, true},
};

static const struct attention_places *attention_places_of(enum op_formula formula) {
    const struct attention_places *places = attention_table;
    while (places->formula != formula)
        places++;
    return places;
}

/* Lengths, heads and widths. */
struct attention {
    double batch, queries, keys, query_heads, key_heads, width, value_width;
    bool causal;
    enum causal_form mask;
    bool packed; /* sequences of different lengths: */
    double n_sequences, n_key_sequences, longest, longest_keys;
};

/* The number of sequences, and the longest. False: not recorded. */
static bool sequences_read(const struct flops_case *at, const struct attention_places *places,
                           struct attention *attention) {
    struct input_tensor queries = case_input(at, places->starts).tensor;
    struct input_tensor keys = case_input(at, places->starts + 1).tensor;
    int64_t longest, longest_keys;
    uint32_t n, n_keys;
    if (queries.n_dims != 1 || keys.n_dims != 1 || !case_numbers(at, places->longest, &longest, 1, &n) ||
        !case_numbers(at, places->longest + 1, &longest_keys, 1, &n_keys) || n != 1 || n_keys != 1)
        return false;
    attention->n_sequences = (double)queries.dims[0] - 1;
    attention->n_key_sequences = (double)keys.dims[0] - 1;
    attention->longest = (double)longest;
    attention->longest_keys = (double)longest_keys;
    return attention->n_sequences < 2 || attention->n_key_sequences >= 2;
}

/* Whether later keys are masked. False: not recorded, and TraceLens needs it. */
static bool causal_read(const struct flops_case *at, const struct attention_places *places,
                        struct attention *attention) {
    struct input_text value = case_input(at, places->causal).value;
    attention->mask = places->form;
    if (places->form == CAUSAL_NUMBER) {
        attention->causal = input_is(value, "1") || input_is(value, "2");
        attention->mask = input_is(value, "2") ? CAUSAL_LAST : CAUSAL_FIRST;
        return true;
    }
    bool assumed = at->tracelens && at->formula == FORMULA_FLASH_BACKWARD && value.length == 0;
    attention->causal = assumed || input_is(value, "true");
    return !at->tracelens || assumed || (places->strides ? value.length > 0 : value.at != NULL);
}

/* Returns NULL, or why the arguments cannot be read. */
static const char *attention_read(const struct flops_case *at, const struct attention_places *places,
                                  struct attention *attention) {
    static const uint8_t length[] = {2, 1, 0}, heads[] = {1, 2, 1}, width[] = {3, 3, 2}; /* by order */
    struct {
        double batch, length, heads, width;
    } operand[3], *q = operand, *k = operand + 1, *v = operand + 2;
    bool packed =
        places->order == PACKED || (places->starts != NOWHERE && case_input(at, places->starts).tensor.n_dims == 1);
    enum attention_order order = packed ? PACKED : places->order;
    for (uint32_t i = 0; i < 3; i++) {
        struct input_tensor tensor = case_input(at, places->query + i).tensor;
        if (tensor.n_dims != (packed ? 3 : 4))
            return "unknown layout of query, key and value";
        operand[i].batch = packed ? 1 : (double)tensor.dims[0];
        operand[i].length = (double)tensor.dims[length[order]];
        operand[i].heads = (double)tensor.dims[heads[order]];
        operand[i].width = (double)tensor.dims[width[order]];
    }
    if (q->batch != k->batch || q->batch != v->batch || k->heads != v->heads || k->length != v->length ||
        q->width != k->width || k->heads <= 0)
        return "shapes of query, key and value do not match";
    if (places->lengths != NOWHERE && case_is_tensor(at, places->lengths))
        return "sequence lengths not recorded";
    *attention = (struct attention){.batch = q->batch,
                                    .queries = q->length,
                                    .keys = k->length,
                                    .query_heads = q->heads,
                                    .key_heads = k->heads,
                                    .width = q->width,
                                    .value_width = v->width,
                                    .packed = packed};
    if (packed && !sequences_read(at, places, attention))
        return "sequence lengths not recorded";
    if (!causal_read(at, places, attention) ||
        (at->tracelens && places->strides && at->inputs->n_strides <= places->query + 2))
        return "causal flag or strides not recorded";
    return NULL;
}

/* Pairs of a query and an unmasked key. TraceLens has no value (NaN) for causal rectangles. */
static double attention_pairs(const struct flops_case *at, const struct attention *attention, double queries,
                              double keys) {
    if (!attention->causal)
        return queries * keys;
    if (queries == keys)
        return queries * keys / 2;
    if (at->tracelens)
        return NAN;
    if (attention->mask == CAUSAL_FIRST)
        return queries < keys ? queries * queries / 2 : keys * keys / 2 + (queries - keys) * keys;
    return queries < keys ? queries * keys - queries * queries / 2 : keys * keys / 2;
}

/* Pairs of all sequences: of the longest one, and of the others, which share the rest. */
static double all_pairs(const struct flops_case *at, const struct attention *attention) {
    if (!attention->packed)
        return attention_pairs(at, attention, attention->queries, attention->keys);
    double pairs = attention_pairs(at, attention, attention->longest, attention->longest_keys);
    double others = attention->n_sequences - 1;
    if (others <= 0)
        return pairs;
    double queries = floor((attention->queries - attention->longest) / others);
    double keys = floor((attention->keys - attention->longest_keys) / (attention->n_key_sequences - 1));
    return pairs + others * attention_pairs(at, attention, queries, keys);
}

/* Elements of query and output, and of key and value. */
static double query_elements(const struct attention *attention, double width) {
    return attention->batch * attention->queries * attention->query_heads * width;
}

static double key_elements(const struct attention *attention, double width) {
    return attention->batch * attention->keys * attention->key_heads * width;
}

/* Bytes of the bias, if there is one. */
static double bias_read(const struct flops_case *at, const struct attention_places *places) {
    return places->bias != NOWHERE && case_is_tensor(at, places->bias) ? case_read(at, places->bias) : 0;
}

struct op_flops flops_attention(const struct flops_case *at) {
    const struct attention_places *places = attention_places_of(at->formula);
    struct attention attention;
    const char *why = attention_read(at, places, &attention);
    if (why)
        return flops_unknown(why);
    double width = attention.width, value_width = attention.value_width;
    double flops = 2 * attention.batch * attention.query_heads * all_pairs(at, &attention) * (width + value_width);
    double bytes = 2 * (query_elements(&attention, width) + key_elements(&attention, width) +
                        key_elements(&attention, value_width) + query_elements(&attention, value_width));
    if (!at->tracelens)
        bytes = case_read(at, 0) + case_read(at, 1) + case_read(at, 2) + bias_read(at, places) +
                case_bytes(at, 0) * query_elements(&attention, value_width);
    return flops_known(at, flops, bytes, UNIT_MATRIX, 0);
}

/* Additions of the gradients of keys and values over the heads that share them, in one sequence. */
static double shared_heads(const struct attention *attention, double keys) {
    double sums = floor(attention->query_heads / attention->key_heads) - 1;
    return attention->batch * keys * sums * (attention->width + attention->value_width);
}

/* The gradient; `places` are the positions of the operator's own arguments. */
static struct op_flops gradient_known(const struct flops_case *at, const struct attention_places *places,
                                      const struct attention *attention) {
    bool recomputes = !at->tracelens || places->recomputes;
    double width = attention->width, value_width = attention->value_width;
    double products = (recomputes ? 3 : 2) * width + 2 * value_width;

    /* TraceLens halves these sums for causal attention, too. */
    double share = at->tracelens && attention->causal ? 0.5 : 1, sums, others = attention->n_sequences - 1;
    if (!attention->packed || !at->tracelens) {
        sums = share * shared_heads(attention, attention->keys);
    } else {
        double rest =
            others > 0 ? floor((attention->keys - attention->longest_keys) / (attention->n_key_sequences - 1)) : 0;
        sums = share *
               (shared_heads(attention, attention->longest_keys) + fmax(others, 0) * shared_heads(attention, rest));
    }
    double flops = 2 * attention->batch * attention->query_heads * all_pairs(at, attention) * products + sums;

    double written =
        query_elements(attention, width) + key_elements(attention, width) + key_elements(attention, value_width);
    double outputs = query_elements(attention, value_width), bytes;
    if (at->tracelens) {
        bytes = (at->formula == FORMULA_FLASH_BACKWARD ? case_bytes(at, 0) : 2) * (written + written + outputs);
        if (isnan(bytes))
            return flops_unknown("unknown operand type");
    } else {
        uint32_t query = places->query;
        double query_bytes = case_bytes(at, query);
        bytes = case_read(at, query) + case_read(at, query + 1) + case_read(at, query + 2) +
                2 * query_bytes * outputs /* and its gradient */ + bias_read(at, places) + query_bytes * written;
    }
    return flops_known(at, flops, bytes, UNIT_MATRIX, at->tracelens ? 0 : places->query);
}

struct op_flops flops_attention_backward(const struct flops_case *at) {
    const struct attention_places *places = attention_places_of(at->formula);
    struct attention attention;
    const char *why = attention_read(at, places, &attention);
    return why ? flops_unknown(why) : gradient_known(at, places, &attention);
}

/* TraceLens treats sequences of different lengths as one. */
struct op_flops flops_attention_gradient(const struct flops_case *at) {
    const struct attention_places *places = attention_places_of(at->formula);
    struct attention attention;
    const char *why = attention_read(at, places, &attention);
    if (why)
        return flops_unknown(why);
    attention.packed = false;
    return gradient_known(at, places, &attention);
}

/* ---- Products ---- */

/* The positions of a product's operands. */
struct gemm_places {
    uint32_t a, bias, out, rank;
    bool has_bias;
};

static const struct gemm_places gemm_table[N_FORMULAS] = {
    [FORMULA_MM] = {.out = 2, .rank = 2},
    [FORMULA_ADDMM] = {.a = 1, .bias = 0, .out = 5, .rank = 2, .has_bias = true},
    [FORMULA_BMM] = {.out = 2, .rank = 3},
    [FORMULA_BADDBMM] = {.a = 1, .bias = 0, .out = 5, .rank = 3, .has_bias = true},
    [FORMULA_SCALED_MM] = {.bias = 4, .out = 8, .rank = 2},
};

struct gemm {
    double batch, m, n, k;
};

static struct op_flops gemm_tracelens(const struct flops_case *at, struct gemm_places places, struct gemm gemm) {
    bool bias = at->formula == FORMULA_SCALED_MM ? at->inputs->n_shapes == 3 : places.has_bias;
    double bytes = case_bytes(at, places.a), out = bytes;
    if (at->inputs->n_types <= places.a + 1 || (at->inputs->has_strides && at->inputs->n_strides <= places.a + 1))
        return flops_unknown("operand types or strides not recorded");
    if (at->formula == FORMULA_SCALED_MM) {
        if (isnan(bytes) || isnan(case_bytes(at, places.a + 1)))
            return flops_unknown("unknown operand types");
        out = bytes == 1 ? 2 : bytes > 4 ? NAN : bytes;
    }
    double flops = 2 * gemm.m * gemm.n * gemm.k + (bias ? gemm.m * gemm.n : 0);
    double moved = bytes * (gemm.m * gemm.k + gemm.k * gemm.n + (bias ? gemm.n : 0)) + out * gemm.m * gemm.n;
    return flops_known(at, gemm.batch * flops, gemm.batch * moved, UNIT_MATRIX, places.a);
}

struct op_flops flops_gemm(const struct flops_case *at) {
    const struct gemm_places places = gemm_table[at->formula];
    struct input_tensor a = case_input(at, places.a).tensor, b = case_input(at, places.a + 1).tensor;
    uint32_t rank = places.rank, n;
    bool fits = rank == 3 ? a.n_dims == 3 && b.n_dims == 3 : a.n_dims >= 2 && b.n_dims >= 2;
    if (!fits)
        return flops_unknown("operands are not matrices");
    struct gemm gemm = {.batch = rank == 3 ? (double)a.dims[0] : 1,
                        .m = (double)a.dims[rank - 2],
                        .n = (double)b.dims[rank - 1],
                        .k = (double)a.dims[rank - 1]};
    if (at->tracelens)
        return gemm_tracelens(at, places, gemm);
    if (a.n_dims != rank || b.n_dims != rank || gemm.k != (double)b.dims[rank - 2])
        return flops_unknown("matrix shapes do not match");

    /* With beta = 0 the bias is not read. */
    int64_t beta = 1, number;
    bool scaled = at->formula == FORMULA_SCALED_MM;
    bool bias = scaled ? case_is_tensor(at, places.bias)
                       : places.has_bias && !(case_numbers(at, 3, &beta, 1, &n) && n == 1 && beta == 0);

    /* Bytes of an element of the result: of the output tensor, of the requested type, as wide as sums of small
     * integers, or else of the operands. */
    const struct data_type *type = case_type(at, places.a);
    double out_bytes = case_bytes(at, places.a);
    if (case_is_tensor(at, places.out)) {
        out_bytes = case_bytes(at, places.out);
    } else if (scaled && case_numbers(at, 6, &number, 1, &n) && n == 1) {
        const struct data_type *requested = data_type_of_number(number);
        out_bytes = requested ? requested->bytes : out_bytes;
    } else if (scaled && type && type->kind == ELEMENT_FLOAT && type->bytes == 1) {
        out_bytes = 2;
    } else if (type && type->kind == ELEMENT_INTEGER && type->bytes == 1) {
        out_bytes = 4;
    }
    double results = gemm.batch * gemm.m * gemm.n, terms = gemm.k * (type ? type->packed : 1);
    double bytes = case_read(at, places.a) + case_read(at, places.a + 1) + (bias ? case_read(at, places.bias) : 0) +
                   results * out_bytes;
    return flops_known(at, 2 * results * terms + (bias ? results : 0), bytes, UNIT_MATRIX, places.a);
}

/* ---- Linear layers of inference libraries ---- */

/* Bytes of an element of the result. */
static double linear_out_bytes(const struct flops_case *at, bool bias) {
    switch (at->formula) {
    case FORMULA_LINEAR_SCALED:
        return 2;
    case FORMULA_LINEAR_OUT:
        return isnan(case_bytes(at, 2)) ? case_bytes(at, 0) : case_bytes(at, 2);
    case FORMULA_LINEAR_INTO:
        if (at->tracelens)
            return at->inputs->n_types > 3 ? case_bytes(at, 3) : 2;
        return case_is_tensor(at, 3) ? case_bytes(at, 3) : case_bytes(at, 0);
    default:
        return case_bytes(at, !at->tracelens ? 0 : bias ? 2 : 1);
    }
}

struct op_flops flops_linear(const struct flops_case *at) {
    struct input_tensor x = case_input(at, 0).tensor, w = case_input(at, 1).tensor;
    if (x.n_dims < 2 || w.n_dims < (at->tracelens ? 1 : 2))
        return flops_unknown("operands are not matrices");
    if (at->tracelens && at->formula != FORMULA_LINEAR_SCALED && at->inputs->n_types < 2)
        return flops_unknown("operand types not recorded");
    bool bias = at->formula == FORMULA_LINEAR && case_input(at, 2).tensor.n_dims > 0;
    double k = (double)x.dims[at->tracelens ? 1 : x.n_dims - 1], n = (double)w.dims[0];
    double m = at->tracelens ? (double)x.dims[0] : k > 0 ? tensor_elements(&x) / k : 0;
    if (!at->tracelens && (double)w.dims[w.n_dims - 1] != k)
        return flops_unknown("operand shapes do not match");
    double results = m * n, out = linear_out_bytes(at, bias);
    double bytes = case_read(at, 0) + case_read(at, 1) + (bias ? case_read(at, 2) : 0) + out * results;
    if (at->tracelens)
        bytes = case_bytes(at, 0) * m * k + case_bytes(at, 1) * n * k + out * (results + (bias ? n : 0));
    return flops_known(at, 2 * results * k + (bias ? results : 0), bytes, UNIT_MATRIX, 0);
}

/* ---- Convolutions ---- */

#define CONV_DIMS 3

struct conv {
    const struct input_tensor *x, *w;
    uint32_t n_dims; /* in space */
    bool transposed;
    double groups;
    double window[CONV_DIMS];           /* elements in space of the output */
    double n_x, n_w, n_out, n_channels; /* elements */
};

/* The positions of a convolution's arguments. */
struct conv_places {
    uint32_t x, stride, padding, dilation, transposed, output_padding, groups;
    bool can_transpose;
};

static struct conv_places conv_places_of(enum op_formula formula) {
    switch (formula) {
    case FORMULA_CONV_CUDNN:
        return (struct conv_places){.padding = 2, .stride = 3, .dilation = 4, .groups = 5};
    case FORMULA_CONV_MIOPEN:
        return (struct conv_places){.padding = 3, .stride = 4, .dilation = 5, .groups = 6};
    case FORMULA_CONV_BACKWARD:
        return (struct conv_places){1, 4, 5, 6, 7, 8, 9, true};
    default:
        return (struct conv_places){0, 3, 4, 5, 6, 7, 8, true};
    }
}

/* A number for each dimension: a single number applies to all, an empty text means `otherwise`. */
static bool conv_numbers(const struct flops_case *at, uint32_t place, uint32_t n_dims, int64_t otherwise,
                         int64_t *numbers) {
    uint32_t n = 0;
    struct input_text value = case_input(at, place).value;
    if (!value.at || (at->tracelens && place >= at->inputs->n_values))
        return false;
    for (uint32_t i = 0; i < n_dims; i++)
        numbers[i] = otherwise;
    if (value.length == 0)
        return true;
    if (!case_numbers(at, place, numbers, CONV_DIMS, &n) || n == 0)
        return false;
    for (uint32_t i = n; n == 1 && i < n_dims; i++)
        numbers[i] = numbers[0];
    return n == 1 || n >= n_dims;
}

/* Reads shapes and arguments. Returns NULL, or why it cannot. */
static const char *conv_read(const struct flops_case *at, struct conv_places places, const struct input_tensor *x,
                             const struct input_tensor *w, struct conv *conv) {
    static const char mismatch[] = "stride, padding or dilation does not match the input";
    int64_t groups = 1, stride[CONV_DIMS], padding[CONV_DIMS], dilation[CONV_DIMS], extra[CONV_DIMS] = {0};
    uint32_t n = 0, n_dims = x->n_dims - 2;
    *conv = (struct conv){.x = x, .w = w, .n_dims = n_dims};
    if (x->n_dims < 3 || x->n_dims > 2 + CONV_DIMS || w->n_dims != x->n_dims)
        return "input and weights are not 1-D to 3-D images";
    if (!case_numbers(at, places.groups, &groups, 1, &n) || n != 1)
        return "number of groups not recorded";
    conv->groups = (double)groups;
    conv->transposed = places.can_transpose && case_is_true(at, places.transposed);
    if (!conv_numbers(at, places.stride, n_dims, 1, stride) || !conv_numbers(at, places.padding, n_dims, 0, padding) ||
        !conv_numbers(at, places.dilation, n_dims, 1, dilation) ||
        (places.can_transpose && !conv_numbers(at, places.output_padding, n_dims, 0, extra)))
        return mismatch;
    for (uint32_t i = 0; i < n_dims; i++) {
        double in = (double)x->dims[2 + i], pad = 2 * (double)padding[i], step = (double)stride[i];
        double reach = (double)dilation[i] * ((double)w->dims[2 + i] - 1);
        if (step <= 0)
            return mismatch;
        conv->window[i] = conv->transposed ? (in - 1) * step - pad + reach + (double)extra[i] + 1
                                           : trunc((in + pad - reach - 1) / step + 1);
    }
    conv->n_x = tensor_elements(x);
    conv->n_w = tensor_elements(w);
    conv->n_channels = (double)w->dims[conv->transposed ? 1 : 0];
    if (conv->transposed && !at->tracelens)
        conv->n_channels *= conv->groups;
    conv->n_out = (double)x->dims[0] * conv->n_channels;
    for (uint32_t i = 0; i < n_dims; i++)
        conv->n_out *= conv->window[i];
    return NULL;
}

/* A multiplication and an addition for each weight of a filter at each element of the output, or of the input if the
 * convolution is transposed. */
static double conv_products(const struct conv *conv) {
    double weights = conv->w->dims[0] ? conv->n_w / (double)conv->w->dims[0] : 0;
    return 2 * weights * (conv->transposed ? conv->n_x : conv->n_out);
}

/* TraceLens requires equal types, and a list of strides that is long enough, or none. */
static bool conv_fits_tracelens(const struct flops_case *at, uint32_t x) {
    struct operator_input a = case_input(at, x), b = case_input(at, x + 1);
    bool equal =
        a.type.at && b.type.at && a.type.length == b.type.length && memcmp(a.type.at, b.type.at, a.type.length) == 0;
    return equal && (!at->inputs->has_strides || at->inputs->n_strides > x + 1);
}

struct op_flops flops_convolution(const struct flops_case *at) {
    struct conv conv;
    struct input_tensor x = case_input(at, 0).tensor, w = case_input(at, 1).tensor;
    const char *why = conv_read(at, conv_places_of(at->formula), &x, &w, &conv);
    if (why)
        return flops_unknown(why);
    if (at->tracelens && !conv_fits_tracelens(at, 0))
        return flops_unknown("input and weights have different types");
    bool bias = at->tracelens ? at->inputs->n_shapes == 3 : at->formula != FORMULA_CONV_CUDNN && case_is_tensor(at, 2);
    double flops = conv_products(&conv) + (bias ? conv.n_out : 0);
    double bytes =
        case_read(at, 0) + case_read(at, 1) + case_bytes(at, 0) * (conv.n_out + (bias ? conv.n_channels : 0));
    return flops_known(at, flops, bytes, UNIT_MATRIX, 0);
}

/* The gradient of the weights: a product of each weight with each element of the smaller side's space in each image. */
static double conv_weight_products(const struct conv *conv) {
    double space = (double)conv->x->dims[0];
    for (uint32_t i = 0; i < conv->n_dims; i++)
        space *= conv->transposed ? (double)conv->x->dims[2 + i] : conv->window[i];
    return 2 * space * conv->n_w;
}

struct op_flops flops_convolution_backward(const struct flops_case *at) {
    struct conv conv;
    int64_t mask[3] = {1, 1, 0};
    uint32_t n = 0;
    struct input_tensor x = case_input(at, 1).tensor, w = case_input(at, 2).tensor;
    const char *why = conv_read(at, conv_places_of(at->formula), &x, &w, &conv);
    if (why)
        return flops_unknown(why);
    if (at->tracelens) {
        struct operator_input sizes = case_input(at, 3);
        bool bias = sizes.tensor.n_dims || sizes.n_members; /* traces do not record the sizes there */
        if (!conv_fits_tracelens(at, 1))
            return flops_unknown("input and weights have different types");
        double moved =
            2 * case_bytes(at, 1) * (conv.n_out + conv.n_w + conv.n_x) + (bias ? conv.n_out + conv.n_channels : 0);
        return flops_known(at, conv_products(&conv) + conv_weight_products(&conv) + (bias ? conv.n_out : 0), moved,
                           UNIT_MATRIX, 1);
    }
    case_numbers(at, 10, mask, 3, &n);
    double gradient = case_read(at, 0), weights = case_read(at, 2), input = case_read(at, 1), flops = 0, bytes = 0;
    if (mask[0]) {
        flops += conv_products(&conv);
        bytes += gradient + weights + case_bytes(at, 1) * conv.n_x;
    }
    if (mask[1]) {
        flops += conv_weight_products(&conv);
        bytes += gradient + input + case_bytes(at, 2) * conv.n_w;
    }
    if (mask[2]) {
        flops += conv.n_out;
        bytes += gradient + case_bytes(at, 0) * conv.n_channels;
    }
    return flops_known(at, flops, bytes, UNIT_MATRIX, 1);
}
