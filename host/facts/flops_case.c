/*
 * flops_case.c - what the rules of all families share: results, and the types, elements and numbers of inputs.
 */
#include "facts/flops.h"

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

double input_elements(const struct operator_input *input) {
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
