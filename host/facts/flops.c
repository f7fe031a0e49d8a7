/*
 * flops.c - from an operator's formula to its family's rule, and what the families share.
 */
#include "facts/flops.h"

#include "facts/flops_rules.h"

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

double tensor_stored(const struct input_tensor *tensor) {
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

double input_stored(const struct operator_input *input) {
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
