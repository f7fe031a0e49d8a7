/*
 * fuzz_op_inputs.c - fuzzes FLOPs formulas: the input is lines with an operator's name and the texts of its shapes,
 * types, strides and values. All formulas accept them; results are valid counts.
 */
#include <math.h>

#include "facts/flops.h"
#include "fuzz.h"

/* The line at *at, in an exact allocation, so that AddressSanitizer detects reads beyond the end; advances to the
 * next line. */
static struct input_text take_line(const char **at, const char *end, char **kept) {
    const char *stop = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;
    size_t length = (size_t)((stop ? stop : end) - *at);
    *kept = new_bytes(length);
    memcpy(*kept, *at, length);
    *at = stop ? stop + 1 : end;
    return (struct input_text){length ? *kept : NULL, length};
}

static void check_inputs(const struct op_inputs *inputs) {
    check(inputs->n_shapes <= inputs->n && inputs->n_types <= inputs->n, "no list is longer than the longest");
    for (uint32_t i = 0; i < inputs->n; i++) {
        const struct operator_input *input = &inputs->input[i];
        check(!input->is_list || !input->tensor.n_dims, "a list of tensors is no tensor");
        for (uint32_t j = 0; j < input->n_members; j++)
            check(input->members[j].n_dims == 0 || input->members[j].dims, "a member has its dimensions");
    }
}

static void check_flops(const struct op_kind *kind, const struct op_inputs *inputs, enum flops_rules rules) {
    struct op_flops found = op_flops_find(kind, inputs, rules);
    if (found.missing)
        return;
    check(isfinite(found.flops) && found.flops >= 0, "a count is a number");
    check(isnan(found.bytes) || (isfinite(found.bytes) && found.bytes >= 0), "bytes are a number, or unknown");
}

/* Every formula processes the inputs, also formulas of other operators. */
static void check_formulas(const char *name, const struct op_inputs *inputs) {
    for (int formula = 0; formula < N_FORMULAS; formula++) {
        struct op_kind kind = {name, OP_OTHER, (enum op_formula)formula, (enum op_formula)formula};
        check_flops(&kind, inputs, FLOPS_OURS);
        const struct op_kind *known = op_kind_find(name, strlen(name), OP_TABLE_TRACELENS);
        if (known)
            check_flops(known, inputs, FLOPS_TRACELENS);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *at = (const char *)data, *end = at + size;
    char *kept[5];
    struct input_text line[5];
    struct op_inputs_parser parser = {0};
    struct op_inputs inputs;
    for (int i = 0; i < 5; i++)
        line[i] = take_line(&at, end, &kept[i]);
    struct op_input_texts texts = {line[1], line[2], line[3], line[4]};
    check(op_inputs_parse(&parser, &texts, &inputs), "memory");
    check_inputs(&inputs);
    char *name = padded_copy(line[0].length ? line[0].at : "x", line[0].length ? line[0].length : 1);
    check_formulas(*name ? name : "x", &inputs);
    free(name);
    op_inputs_parser_free(&parser);
    for (int i = 0; i < 5; i++)
        free(kept[i]);
    return 0;
}
