/*
 * flops_attention.c - attention: softmax(Q K^T) V of many heads, forward and backward.
 *
 *     forward     2 products of every query with every key: Q K^T, P V
 *     backward    5 of them: Q K^T again, and the gradients of V, P, Q and K
 *     causal      half of the pairs, where there are as many queries as keys
 *
 * The softmax itself is not counted. Sequences of different lengths lie behind one another in one dimension; a trace
 * tells how many there are and the longest one, so that the others are taken to share the rest evenly: at least so much
 * is computed.
 */
#include "facts/flops_rules.h"

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
