/*
 * flops_matrix.c - products of matrices, and convolutions.
 *
 *     (M, K) x (K, N)      2 M N K, and M N for a bias
 *     linear layers        the same, with weights of (N, K), and any number of dimensions that make up M
 *     convolution          a product for each element of the output, with as many terms as the filter has weights
 */
#include "facts/flops.h"

/*
 * Attention: softmax(Q K^T) V of many heads, forward and backward.
 *
 *     forward     2 products of every query with every key: Q K^T, P V
 *     backward    5 of them: Q K^T again, and the gradients of V, P, Q and K
 *     causal      half of the pairs, where there are as many queries as keys
 *
 * The softmax itself is not counted. Sequences of different lengths lie behind one another in one dimension; a trace
 * tells how many there are and the longest one, so that the others are taken to share the rest evenly: at least so much
 * is computed.
 */

enum attention_order { HEADS_FIRST, LENGTH_FIRST, PACKED };

/* How "causal" is told: as a boolean whose mask begins at the first key or ends at the last one, or as a number. */
enum causal_form { CAUSAL_FIRST, CAUSAL_LAST, CAUSAL_NUMBER };

#define NOWHERE UINT32_MAX

/* Where an operator's arguments are. */
struct attention_places {
    enum op_formula formula;
    enum attention_order order;
    uint32_t query, causal;
    enum causal_form form;
    uint32_t starts, longest; /* of sequences of different lengths: two inputs each; NOWHERE */
    uint32_t bias;            /* or NOWHERE */
    uint32_t lengths;         /* what tells of different lengths in a way that is not known; NOWHERE */
    bool recomputes;          /* to TraceLens: backward makes Q K^T again */
    bool strides;             /* to TraceLens: they must be there, and "causal" must say something */
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
    bool packed; /* sequences of different lengths, of which is known: */
    double n_sequences, n_key_sequences, longest, longest_keys;
};

/* Sizes of one of the three operands. */
struct operand_sizes {
    double batch, length, heads, width;
};

static bool operand_read(const struct input_tensor *tensor, enum attention_order order, struct operand_sizes *sizes) {
    static const uint8_t length[] = {2, 1, 0}, heads[] = {1, 2, 1}, width[] = {3, 3, 2};
    if (tensor->n_dims != (order == PACKED ? 3 : 4))
        return false;
    *sizes = (struct operand_sizes){.batch = order == PACKED ? 1 : (double)tensor->dims[0],
                                    .length = (double)tensor->dims[length[order]],
                                    .heads = (double)tensor->dims[heads[order]],
                                    .width = (double)tensor->dims[width[order]]};
    return true;
}

static bool operands_fit(struct operand_sizes q, struct operand_sizes k, struct operand_sizes v) {
    return q.batch == k.batch && q.batch == v.batch && k.heads == v.heads && k.length == v.length &&
           q.width == k.width && k.heads > 0;
}

static bool is_packed(const struct flops_case *at, const struct attention_places *places) {
    return places->order == PACKED || (places->starts != NOWHERE && case_input(at, places->starts).tensor.n_dims == 1);
}

/* How many sequences there are, and the longest. False: not told. */
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

/* Whether later keys are masked. False: the trace does not say, where TraceLens must be told. */
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

/* Strides that TraceLens takes from the list, or fails. */
static bool strides_there(const struct flops_case *at, const struct attention_places *places) {
    return !places->strides || at->inputs->n_strides > places->query + 2;
}

/* Why it cannot be read, or NULL. */
static const char *attention_read(const struct flops_case *at, const struct attention_places *places,
                                  struct attention *attention) {
    struct operand_sizes operand[3];
    bool packed = is_packed(at, places);
    for (uint32_t i = 0; i < 3; i++) {
        struct input_tensor tensor = case_input(at, places->query + i).tensor;
        if (!operand_read(&tensor, packed ? PACKED : places->order, &operand[i]))
            return "unknown layout of query, key and value";
    }
    struct operand_sizes q = operand[0], k = operand[1], v = operand[2];
    if (!operands_fit(q, k, v))
        return "shapes of query, key and value do not match";
    if (places->lengths != NOWHERE && case_is_tensor(at, places->lengths))
        return "sequence lengths not recorded";
    *attention = (struct attention){.batch = q.batch,
                                    .queries = q.length,
                                    .keys = k.length,
                                    .query_heads = q.heads,
                                    .key_heads = k.heads,
                                    .width = q.width,
                                    .value_width = v.width,
                                    .packed = packed};
    if (packed && !sequences_read(at, places, attention))
        return "sequence lengths not recorded";
    if (!causal_read(at, places, attention) || (at->tracelens && !strides_there(at, places)))
        return "causal flag or strides not recorded";
    return NULL;
}

/* Pairs of a query and a key that meet. NaN to TraceLens where it halves no rectangle. */
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

/* Pairs of all sequences: of the longest one, and of those that share the rest. */
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

/* Bytes that reading the bias takes, where there is one. */
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

/* What sums the gradients of keys and values over the heads that share them, in one sequence. */
static double shared_heads(const struct attention *attention, double keys) {
    double sums = floor(attention->query_heads / attention->key_heads) - 1;
    return attention->batch * keys * sums * (attention->width + attention->value_width);
}

/* TraceLens halves these, too. */
static double shared_sums(const struct flops_case *at, const struct attention *attention) {
    double share = at->tracelens && attention->causal ? 0.5 : 1, others = attention->n_sequences - 1;
    if (!attention->packed || !at->tracelens)
        return share * shared_heads(attention, attention->keys);
    double rest =
        others > 0 ? floor((attention->keys - attention->longest_keys) / (attention->n_key_sequences - 1)) : 0;
    return share * (shared_heads(attention, attention->longest_keys) + fmax(others, 0) * shared_heads(attention, rest));
}

static double backward_bytes(const struct flops_case *at, const struct attention_places *places,
                             const struct attention *attention) {
    double width = attention->width, value_width = attention->value_width;
    double query_bytes = case_bytes(at, places->query);
    double written =
               query_elements(attention, width) + key_elements(attention, width) + key_elements(attention, value_width),
           read = written;
    if (at->tracelens) {
        double bytes = at->formula == FORMULA_FLASH_BACKWARD ? case_bytes(at, 0) : 2;
        return bytes * (read + written + query_elements(attention, value_width));
    }
    double inputs = case_read(at, places->query) + case_read(at, places->query + 1) + case_read(at, places->query + 2);
    double outputs = 2 * query_bytes * query_elements(attention, value_width); /* and its gradient */
    return inputs + outputs + bias_read(at, places) + query_bytes * written;
}

/* What is known of a gradient, from the places of the operator's own arguments. */
static struct op_flops gradient_known(const struct flops_case *at, const struct attention_places *places,
                                      const struct attention *attention) {
    bool recomputes = !at->tracelens || places->recomputes;
    double products = (recomputes ? 3 : 2) * attention->width + 2 * attention->value_width;
    double flops = 2 * attention->batch * attention->query_heads * all_pairs(at, attention) * products +
                   shared_sums(at, attention);
    double bytes = backward_bytes(at, places, attention);
    if (at->tracelens && isnan(bytes))
        return flops_unknown("unknown operand type");
    return flops_known(at, flops, bytes, UNIT_MATRIX, at->tracelens ? 0 : places->query);
}

struct op_flops flops_attention_backward(const struct flops_case *at) {
    const struct attention_places *places = attention_places_of(at->formula);
    struct attention attention;
    const char *why = attention_read(at, places, &attention);
    return why ? flops_unknown(why) : gradient_known(at, places, &attention);
}

/* TraceLens takes sequences of different lengths for one. */
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

/* Where a product's operands are. */
struct gemm_places {
    uint32_t a, bias, out, rank;
    bool has_bias;
};

static struct gemm_places gemm_places_of(enum op_formula formula) {
    switch (formula) {
    case FORMULA_ADDMM:
        return (struct gemm_places){.a = 1, .bias = 0, .out = 5, .rank = 2, .has_bias = true};
    case FORMULA_BADDBMM:
        return (struct gemm_places){.a = 1, .bias = 0, .out = 5, .rank = 3, .has_bias = true};
    case FORMULA_BMM:
        return (struct gemm_places){.out = 2, .rank = 3};
    case FORMULA_SCALED_MM:
        return (struct gemm_places){.bias = 4, .out = 8, .rank = 2};
    default:
        return (struct gemm_places){.out = 2, .rank = 2};
    }
}

struct gemm {
    double batch, m, n, k;
};

static struct gemm gemm_of(const struct input_tensor *a, const struct input_tensor *b, uint32_t rank) {
    return (struct gemm){.batch = rank == 3 ? (double)a->dims[0] : 1,
                         .m = (double)a->dims[rank - 2],
                         .n = (double)b->dims[rank - 1],
                         .k = (double)a->dims[rank - 1]};
}

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

/* Bytes of an element of the result: of the tensor that it is written to, of the type that is asked for, as wide as
 * sums of small integers are, or else the operands'. */
static double gemm_out_bytes(const struct flops_case *at, struct gemm_places places) {
    int64_t number;
    uint32_t n;
    const struct data_type *type = case_type(at, places.a);
    if (case_is_tensor(at, places.out))
        return case_bytes(at, places.out);
    if (at->formula == FORMULA_SCALED_MM && case_numbers(at, 6, &number, 1, &n) && n == 1) {
        const struct data_type *asked = data_type_of_number(number);
        return asked ? asked->bytes : case_bytes(at, places.a);
    }
    if (type && type->kind == ELEMENT_INTEGER && type->bytes == 1)
        return 4;
    return case_bytes(at, places.a);
}

/* With beta = 0 what would be added is not read. */
static bool gemm_has_bias(const struct flops_case *at, struct gemm_places places) {
    int64_t beta;
    uint32_t n;
    if (at->formula == FORMULA_SCALED_MM)
        return case_is_tensor(at, places.bias);
    return places.has_bias && !(case_numbers(at, 3, &beta, 1, &n) && n == 1 && beta == 0);
}

struct op_flops flops_gemm(const struct flops_case *at) {
    struct gemm_places places = gemm_places_of(at->formula);
    struct input_tensor a = case_input(at, places.a).tensor, b = case_input(at, places.a + 1).tensor;
    bool fits = places.rank == 3 ? a.n_dims == 3 && b.n_dims == 3 : a.n_dims >= 2 && b.n_dims >= 2;
    if (!fits)
        return flops_unknown("operands are not matrices");
    struct gemm gemm = gemm_of(&a, &b, places.rank);
    if (at->tracelens)
        return gemm_tracelens(at, places, gemm);
    if (a.n_dims != places.rank || b.n_dims != places.rank || gemm.k != (double)b.dims[places.rank - 2])
        return flops_unknown("matrix shapes do not match");
    bool bias = gemm_has_bias(at, places);
    const struct data_type *type = case_type(at, places.a);
    double results = gemm.batch * gemm.m * gemm.n, terms = gemm.k * (type ? type->packed : 1);
    double bytes = case_read(at, places.a) + case_read(at, places.a + 1) + (bias ? case_read(at, places.bias) : 0) +
                   results * gemm_out_bytes(at, places);
    return flops_known(at, 2 * results * terms + (bias ? results : 0), bytes, UNIT_MATRIX, places.a);
}

/* ---- Linear layers of inference libraries ---- */

static struct gemm linear_of(const struct flops_case *at, const struct input_tensor *x, const struct input_tensor *w) {
    double k = (double)x->dims[at->tracelens ? 1 : x->n_dims - 1];
    double m = at->tracelens ? (double)x->dims[0] : k > 0 ? tensor_elements(x) / k : 0;
    return (struct gemm){.batch = 1, .m = m, .n = (double)w->dims[0], .k = k};
}

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
    struct gemm gemm = linear_of(at, &x, &w);
    if (!at->tracelens && (double)w.dims[w.n_dims - 1] != gemm.k)
        return flops_unknown("operand shapes do not match");
    double results = gemm.m * gemm.n, out = linear_out_bytes(at, bias);
    double bytes = case_read(at, 0) + case_read(at, 1) + (bias ? case_read(at, 2) : 0) + out * results;
    if (at->tracelens)
        bytes = case_bytes(at, 0) * gemm.m * gemm.k + case_bytes(at, 1) * gemm.n * gemm.k +
                out * (results + (bias ? gemm.n : 0));
    return flops_known(at, 2 * results * gemm.k + (bias ? results : 0), bytes, UNIT_MATRIX, 0);
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

/* Where a convolution's arguments are. */
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

/* A number for each dimension: one for all stands for each, nothing for `otherwise`. */
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

/* Elements in space of the output. False: arguments are absent or make none. */
static bool conv_window(const struct flops_case *at, struct conv_places places, struct conv *conv) {
    int64_t stride[CONV_DIMS], padding[CONV_DIMS], dilation[CONV_DIMS], extra[CONV_DIMS] = {0};
    if (!conv_numbers(at, places.stride, conv->n_dims, 1, stride) ||
        !conv_numbers(at, places.padding, conv->n_dims, 0, padding) ||
        !conv_numbers(at, places.dilation, conv->n_dims, 1, dilation) ||
        (places.can_transpose && !conv_numbers(at, places.output_padding, conv->n_dims, 0, extra)))
        return false;
    for (uint32_t i = 0; i < conv->n_dims; i++) {
        double in = (double)conv->x->dims[2 + i], pad = 2 * (double)padding[i], step = (double)stride[i];
        double reach = (double)dilation[i] * ((double)conv->w->dims[2 + i] - 1);
        if (step <= 0)
            return false;
        conv->window[i] = conv->transposed ? (in - 1) * step - pad + reach + (double)extra[i] + 1
                                           : trunc((in + pad - reach - 1) / step + 1);
    }
    return true;
}

/* Reads shapes and arguments. Why it cannot, or NULL. */
static const char *conv_read(const struct flops_case *at, struct conv_places places, const struct input_tensor *x,
                             const struct input_tensor *w, struct conv *conv) {
    int64_t groups = 1;
    uint32_t n = 0;
    *conv = (struct conv){.x = x, .w = w, .n_dims = x->n_dims - 2};
    if (x->n_dims < 3 || x->n_dims > 2 + CONV_DIMS || w->n_dims != x->n_dims)
        return "input and weights are not 1-D to 3-D images";
    if (!case_numbers(at, places.groups, &groups, 1, &n) || n != 1)
        return "number of groups not recorded";
    conv->groups = (double)groups;
    conv->transposed = places.can_transpose && case_is_true(at, places.transposed);
    if (!conv_window(at, places, conv))
        return "stride, padding or dilation does not match the input";
    conv->n_x = tensor_elements(x);
    conv->n_w = tensor_elements(w);
    conv->n_channels = (double)w->dims[conv->transposed ? 1 : 0];
    if (conv->transposed && !at->tracelens)
        conv->n_channels *= conv->groups;
    conv->n_out = (double)x->dims[0] * conv->n_channels;
    for (uint32_t i = 0; i < conv->n_dims; i++)
        conv->n_out *= conv->window[i];
    return NULL;
}

/* Operations that bring input and output together: a multiplication and an addition for each weight of a filter at
 * each element of the output, or where the convolution is transposed at each of the input. */
static double conv_products(const struct conv *conv) {
    double weights = conv->w->dims[0] ? conv->n_w / (double)conv->w->dims[0] : 0;
    return 2 * weights * (conv->transposed ? conv->n_x : conv->n_out);
}

/* What TraceLens needs besides: types that are equal, and a list of strides that is long enough, or none. */
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

/* The gradient of the weights: each weight meets each element of the smaller side's space in each image. */
static double conv_weight_products(const struct conv *conv) {
    double space = (double)conv->x->dims[0];
    for (uint32_t i = 0; i < conv->n_dims; i++)
        space *= conv->transposed ? (double)conv->x->dims[2 + i] : conv->window[i];
    return 2 * space * conv->n_w;
}

static struct op_flops conv_backward_tracelens(const struct flops_case *at, const struct conv *conv) {
    double bytes = case_bytes(at, 1);
    struct operator_input sizes = case_input(at, 3);
    bool bias = sizes.tensor.n_dims || sizes.n_members; /* which a trace does not tell there */
    if (!conv_fits_tracelens(at, 1))
        return flops_unknown("input and weights have different types");
    double flops = conv_products(conv) + conv_weight_products(conv) + (bias ? conv->n_out : 0);
    double moved = 2 * bytes * (conv->n_out + conv->n_w + conv->n_x) + (bias ? conv->n_out + conv->n_channels : 0);
    return flops_known(at, flops, moved, UNIT_MATRIX, 1);
}

struct op_flops flops_convolution_backward(const struct flops_case *at) {
    struct conv conv;
    int64_t mask[3] = {1, 1, 0};
    uint32_t n = 0;
    struct input_tensor x = case_input(at, 1).tensor, w = case_input(at, 2).tensor;
    const char *why = conv_read(at, conv_places_of(at->formula), &x, &w, &conv);
    if (why)
        return flops_unknown(why);
    if (at->tracelens)
        return conv_backward_tracelens(at, &conv);
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
