/*
 * flops_elementwise.c - operators that work element by element, that copy, and on lists of tensors.
 *
 * One operation for each element of the result, whatever it is. A result has the shape that its operands broadcast to
 * and the type that they promote to, unless the operator writes to its first operand, to one that it is given, or
 * truth values.
 */
#include "facts/flops_rules.h"

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

static double result_bytes(const struct flops_case *at, const struct operand_sums *operands) {
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
    return flops_known(at, n, operands.read + n * result_bytes(at, &operands), UNIT_VECTOR, 0);
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
