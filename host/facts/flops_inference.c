/*
 * flops_inference.c - FLOPs and bytes of operators of inference engines: attention over paged keys and values, fused
 * layers of experts, and products of matrices grouped by expert.
 *
 *     attention   lengths of sequences are not among the arguments; engines name them in the annotation of the iteration
 *
 *         execute_64_context_0(sq0sk0sqsq0sqsk0)_generation_64(sq64sk131072sqsq64sqsk131072)           vLLM
 *         step[DECODE bs=64 g_sq=64 g_sk=131072 g_sqsq=64 g_sqsk=131072]                               SGLang
 *
 *         sq, sk: sums of the numbers of queries and keys; sqsq, sqsk: sums of their products, for each of the requests
 *         in prefill (context, c) and decode (generation, g)
 *         FLOPs   heads (d + dv) (2 c_sqsk - c_sqsq + 2 g_sqsk): causal within the new tokens of a request
 *         bytes   new tokens' queries, keys, values and results; cached keys and values
 *
 *     experts     M tokens of width K, each for topk of E experts with inner width N
 *         FLOPs   2 M K N topk (3 if gated, else 2), and M K (2 topk - 1) for the weighted sum
 *         bytes   inputs and results once; the weights of the experts that M tokens are expected to choose:
 *                 E (1 - ((E - topk) / E)^M)
 *
 * Source: TraceLens, commit 171dd747 (attention_ and moe_perf_model_extensions.py).
 */
#include <stdlib.h>
#include <string.h>

#include "facts/flops.h"

/* ---- Attention over paged keys and values ---- */

/* Sums over the requests of an iteration: prefill, decode. */
struct iteration {
    double sq[2], sk[2], sqsq[2], sqsk[2];
};

/* Reads a text, then a number; moves *at. */
static bool read_field(const char **at, const char *text, double *number) {
    size_t length = strlen(text);
    if (strncmp(*at, text, length) != 0 || (*at)[length] < '0' || (*at)[length] > '9')
        return false;
    *at += length;
    *number = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        *number = *number * 10 + (**at - '0');
    return true;
}

static bool read_vllm(const char *at, struct iteration *of) {
    static const char *const phases[] = {"_context_", ")_generation_"};
    double n;
    if (!read_field(&at, "execute_", &n))
        return false;
    for (int p = 0; p < 2; p++)
        if (!read_field(&at, phases[p], &n) || !read_field(&at, "(sq", &of->sq[p]) ||
            !read_field(&at, "sk", &of->sk[p]) || !read_field(&at, "sqsq", &of->sqsq[p]) ||
            !read_field(&at, "sqsk", &of->sqsk[p]))
            return false;
    return *at == ')';
}

static bool read_sglang(const char *at, struct iteration *of) {
    bool any = false;
    if (strncmp(at, "step[", 5) != 0)
        return false;
    for (at += 5; (at = strchr(at, ' ')) != NULL;) {
        at++;
        const char *field = at + 2;
        int p = strncmp(at, "c_", 2) == 0 ? 0 : strncmp(at, "g_", 2) == 0 ? 1 : -1;
        if (p < 0)
            continue;
        any |= read_field(&field, "sqsq=", &of->sqsq[p]);
        if (!read_field(&field, "sq=", &of->sq[p]) && !read_field(&field, "sk=", &of->sk[p]))
            read_field(&field, "sqsk=", &of->sqsk[p]);
    }
    return any;
}

static bool read_iteration(const char *annotation, struct iteration *of) {
    memset(of, 0, sizeof *of);
    return annotation && (read_vllm(annotation, of) || read_sglang(annotation, of));
}

bool flops_iteration_is_known(const char *annotation) {
    struct iteration iteration;
    return read_iteration(annotation, &iteration);
}

struct op_flops flops_paged_attention(const struct flops_case *at) {
    struct iteration of;
    if (!read_iteration(at->inputs->annotation, &of))
        return flops_unknown("needs the iteration annotation");

    /* Queries, and keys or their cache, whose last two dimensions count; SGLang's ragged attention has results and a
     * workspace first. */
    uint32_t query = 0, key = 1;
    if (case_input(at, 1).tensor.n_dims < 2 && case_input(at, 2).tensor.n_dims == 3) {
        query = 2;
        key = 3;
    }
    struct input_tensor q = case_input(at, query).tensor, k = case_input(at, key).tensor;
    if (q.n_dims != 3 || k.n_dims < 3)
        return flops_unknown("unknown layout of query, key and value");
    double heads = (double)q.dims[1], width = (double)q.dims[2];
    double key_heads = (double)k.dims[k.n_dims - 2], widths = width + (double)k.dims[k.n_dims - 1];
    double new_tokens = of.sq[0] + of.sq[1], cached = of.sk[0] - of.sq[0] + of.sk[1] - of.sq[1];
    double bytes_new = case_bytes(at, query), bytes_cached = case_bytes(at, key);
    double flops = heads * widths * (2 * of.sqsk[0] - of.sqsq[0] + 2 * of.sqsk[1]);
    double bytes = new_tokens * (heads + key_heads) * widths * bytes_new +
                   cached * key_heads * widths * (isnan(bytes_cached) ? bytes_new : bytes_cached);
    if (!(new_tokens > 0))
        return flops_unknown("the iteration annotation has no tokens");
    return flops_known(at, flops, bytes, UNIT_MATRIX, query);
}

/* ---- Experts ---- */

/* The number of experts that `tokens` tokens choose, if all experts are equally likely. */
static double active_experts(double experts, double topk, double tokens) {
    return experts > 0 ? experts * (1 - pow((experts - topk) / experts, tokens)) : 0;
}

struct op_flops flops_moe(const struct flops_case *at) {
    /* Positions of the tokens, the weights of both layers, and the results. */
    bool into = at->formula == FORMULA_MOE_INTO;
    uint32_t x = into ? 1 : 0, w1 = into ? 2 : 1, w2 = into ? 3 : 2, y = 0;
    struct input_tensor tokens = case_input(at, x).tensor, first = case_input(at, w1).tensor;
    struct input_tensor second = case_input(at, w2).tensor, chosen = case_input(at, 3).tensor;
    int64_t number;
    uint32_t n;
    double topk;
    if (tokens.n_dims != 2 || first.n_dims != 3 || second.n_dims != 3)
        return flops_unknown("unknown layout of tokens and weights");
    if (into && (!case_numbers(at, 8, &number, 1, &n) || n != 1))
        return flops_unknown("number of experts per token not recorded");
    if (!into && chosen.n_dims != 2)
        return flops_unknown("number of experts per token not recorded");
    topk = into ? (double)number : (double)chosen.dims[1];

    /* Weights of 4 bits are packed: the first layer's rows are shorter than the tokens. */
    double m = (double)tokens.dims[0], k = (double)second.dims[1], experts = (double)first.dims[0];
    int64_t packed = first.dims[2] > 0 ? second.dims[1] / first.dims[2] : 1;
    double inner = (double)second.dims[2] * (double)(packed > 1 ? packed : 1);
    bool gated = (double)first.dims[1] == 2 * inner;
    double bytes_in = case_bytes(at, x), bytes_weight = case_bytes(at, w1), bytes_out = case_bytes(at, y);
    double flops = 2 * m * k * inner * topk * (gated ? 3 : 2) + m * k * (2 * topk - 1);
    double bytes = m * k * bytes_in + active_experts(experts, topk, m) * inner * k * bytes_weight * (gated ? 3 : 2) +
                   m * k * bytes_out;
    return flops_known(at, flops, bytes, UNIT_MATRIX, x);
}

struct op_flops flops_grouped_gemm(const struct flops_case *at) {
    struct input_tensor weights = case_input(at, 1).tensor, chosen = case_input(at, 8).tensor;
    if (weights.n_dims != 3 || chosen.n_dims != 2)
        return flops_unknown("unknown layout of weights and chosen experts");
    double experts = (double)weights.dims[0], n = (double)weights.dims[1], k = (double)weights.dims[2];
    double tokens = (double)chosen.dims[0], topk = (double)chosen.dims[1], rows = tokens * topk;
    double bytes_in = case_bytes(at, 0), bytes_weight = case_bytes(at, 1), bytes_out = case_bytes(at, 3);
    double bytes = rows * k * bytes_in + active_experts(experts, topk, tokens) * n * k * bytes_weight +
                   rows * n * (isnan(bytes_out) ? bytes_in : bytes_out);
    return flops_known(at, 2 * rows * n * k, bytes, UNIT_MATRIX, 1);
}
