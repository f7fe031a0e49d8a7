/*
 * flops_reduce.c - sums, means, largest ones and the like, and softmax.
 *
 * One operation for each element that goes in. How many come out follows from "dim", which stands at different places:
 * a list of dimensions in the second or third input, or a number, where "keepdim" follows.
 */
#include "facts/flops_rules.h"

static bool name_is_one_of(const struct flops_case *at, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(at->kind->name, names[i]) == 0)
            return true;
    return false;
}

/* Those that take one dimension, as a number. */
static bool takes_one_dimension(const struct flops_case *at) {
    static const char *const names[] = {"aten::max", "aten::min", "aten::argmax", "aten::argmin",
                                        "aten::all", "aten::any", "aten::prod"};
    return name_is_one_of(at, names, sizeof names / sizeof *names);
}

static bool gives_places(const struct flops_case *at) {
    static const char *const names[] = {"aten::argmax", "aten::argmin"};
    return name_is_one_of(at, names, sizeof names / sizeof *names);
}

static bool gives_truth(const struct flops_case *at) {
    static const char *const names[] = {"aten::all", "aten::any"};
    return name_is_one_of(at, names, sizeof names / sizeof *names);
}

static bool gives_two(const struct flops_case *at) {
    static const char *const names[] = {"aten::var_mean", "aten::std_mean"};
    return name_is_one_of(at, names, sizeof names / sizeof *names);
}

static bool gives_long_sums(const struct flops_case *at) {
    static const char *const names[] = {"aten::sum", "aten::prod", "aten::nansum", "aten::cumsum", "aten::cumsum_"};
    return name_is_one_of(at, names, sizeof names / sizeof *names);
}

static bool is_list_text(struct input_text value) {
    return value.length && *value.at == '[';
}

/* The dimensions that go; none stands for all. */
static uint32_t reduced_dims(const struct flops_case *at, int64_t *dims) {
    uint32_t n = 0;
    for (uint32_t place = 1; place <= 2; place++)
        if (is_list_text(case_input(at, place).value))
            return case_numbers(at, place, dims, FLOPS_RANK, &n) ? n : 0;
    bool keeps = input_is(case_input(at, 2).value, "true") || input_is(case_input(at, 2).value, "false");
    if (takes_one_dimension(at) && keeps && case_numbers(at, 1, dims, 1, &n))
        return n;
    return 0;
}

static double reduced_elements(const struct flops_case *at, const struct input_tensor *x) {
    int64_t dims[FLOPS_RANK];
    uint32_t n = reduced_dims(at, dims);
    double elements = tensor_elements(x);
    bool gone[FLOPS_RANK] = {false};
    if (n == 0 || x->n_dims > FLOPS_RANK || elements == 0)
        return 1;
    for (uint32_t i = 0; i < n; i++) {
        int64_t dim = dims[i] < 0 ? dims[i] + x->n_dims : dims[i];
        if (dim >= 0 && dim < x->n_dims && !gone[dim]) {
            elements /= (double)x->dims[dim];
            gone[dim] = true;
        }
    }
    return elements;
}

static struct op_flops reduce_tracelens(const struct flops_case *at) {
    if (at->inputs->n_shapes == 0)
        return (struct op_flops){.bytes = NAN, .unit = UNIT_VECTOR, .precision = PRECISION_NONE};
    struct operator_input x = case_input(at, 0);
    double n = tensor_elements(&x.tensor), results = at->formula == FORMULA_CUMULATE ? n : 1;
    if (x.is_list)
        return flops_unknown("the first input is a list");
    return flops_known(at, n, case_bytes(at, 0) * n + case_bytes(at, 0) * results, UNIT_VECTOR, 0);
}

/* Bytes of all results of one. */
static double result_bytes(const struct flops_case *at, bool one_dimension) {
    const struct data_type *type = case_type(at, 0);
    double bytes = case_bytes(at, 0);
    bool ordinal = type && type->kind <= ELEMENT_INTEGER;
    if (gives_places(at))
        return 8;
    if (gives_truth(at))
        return 1;
    if (gives_long_sums(at) && ordinal)
        bytes = 8;
    if (one_dimension && (strcmp(at->kind->name, "aten::max") == 0 || strcmp(at->kind->name, "aten::min") == 0))
        return bytes + 8; /* and where they are */
    return gives_two(at) ? 2 * bytes : bytes;
}

/* The larger ones of two tensors are no reduction. */
static struct op_flops larger_of_two(const struct flops_case *at) {
    struct flops_case pair = *at;
    pair.formula = FORMULA_BINARY;
    return flops_elementwise(&pair);
}

struct op_flops flops_reduce(const struct flops_case *at) {
    int64_t dims[FLOPS_RANK];
    if (at->tracelens)
        return reduce_tracelens(at);
    struct operator_input x = case_input(at, 0);
    if (at->inputs->n_shapes == 0 || (!x.is_list && !case_is_tensor(at, 0)))
        return flops_unknown("input shapes not recorded (record_shapes=True)");
    if (case_is_tensor(at, 1) && takes_one_dimension(at))
        return larger_of_two(at);
    double n = input_elements(&x), results = x.is_list ? x.n_members : reduced_elements(at, &x.tensor);
    if (at->formula == FORMULA_CUMULATE)
        results = n;
    return flops_known(at, n, case_read(at, 0) + results * result_bytes(at, reduced_dims(at, dims) > 0), UNIT_VECTOR,
                       0);
}

/* Forward: the largest, the difference, the exponential, the sum, the quotient. Backward: a product, its sum, a
 * difference, a product. */
struct op_flops flops_softmax(const struct flops_case *at) {
    bool backward = at->formula == FORMULA_SOFTMAX_BACKWARD;
    struct operator_input x = case_input(at, 0);
    if (!case_is_tensor(at, 0))
        return flops_unknown("the first input is not a tensor");
    double n = input_elements(&x), read = case_read(at, 0) + (backward ? case_read(at, 1) : 0);
    return flops_known(at, (backward ? 4 : 5) * n, read + n * case_bytes(at, 0), UNIT_VECTOR, 0);
}
