/*
 * tracelens_rates.c - the reference's rates: every operator that it has a formula for, whether it stands inside of
 * another one or not, with the time of all that was launched below it. Operators of one name are joined where those of
 * their arguments are equal that its formulas look at. Numbers of a row are those of the first operator in the file,
 * rates are means of the operators' rates.
 *
 * Operators of attention whose gradient is in the trace stand a second time, with its FLOPs and its time: of the
 * operators with a sequence number of autograd's, the first that evaluates it, and of those on other threads the one
 * that began last.
 */
#include <math.h>
#include <string.h>

#include "analyze/operators/operators.h"
#include "analyze/operators/works.h"
#include "base/error.h"

/* ---- What operators are joined by ---- */

#define AT(place) (1u << (place))

/* Places of the arguments that a formula looks at. */
struct rate_key {
    uint32_t dims, types, strides, values;
    uint32_t truths; /* values of which counts whether there is any */
    uint32_t out;    /* place of a result that may be given: its type and strides count */
    uint32_t trues;  /* values of which counts whether they are True */
    bool count;      /* of the first shape only the number of elements counts */
};

#define LIST_0_1   AT(0) | AT(1)
#define LIST_1_2   AT(1) | AT(2)
#define LIST_0_1_2 AT(0) | AT(1) | AT(2)
#define LIST_1_2_3 AT(1) | AT(2) | AT(3)

static const struct rate_key rate_keys[N_FORMULAS] = {
    [FORMULA_MM] = {LIST_0_1, LIST_0_1, LIST_0_1, 0, 0, 0, 0, false},
    [FORMULA_BMM] = {LIST_0_1, LIST_0_1, LIST_0_1, 0, 0, 0, 0, false},
    [FORMULA_SCALED_MM] = {LIST_0_1, LIST_0_1, LIST_0_1, 0, 0, 0, 0, false},
    [FORMULA_LINEAR] = {LIST_0_1_2, LIST_0_1_2, 0, 0, 0, 0, 0, false},
    [FORMULA_LINEAR_OUT] = {LIST_0_1, LIST_0_1_2, 0, 0, 0, 0, 0, false},
    [FORMULA_LINEAR_INTO] = {LIST_0_1, LIST_0_1 | AT(3), 0, 0, 0, 0, 0, false},
    [FORMULA_LINEAR_SCALED] = {LIST_0_1_2 | AT(3), LIST_0_1_2, 0, 0, 0, 0, 0, false},
    [FORMULA_ADDMM] = {LIST_1_2, LIST_1_2, LIST_1_2, 0, 0, 0, 0, false},
    [FORMULA_BADDBMM] = {LIST_1_2, LIST_1_2, LIST_1_2, 0, 0, 0, 0, false},
    [FORMULA_CONV] = {LIST_0_1, LIST_0_1, LIST_0_1, AT(3) | AT(4) | AT(5) | AT(6) | AT(7) | AT(8), 0, 0, 0, false},
    [FORMULA_CONV_BACKWARD] = {LIST_1_2, LIST_1_2, LIST_1_2, AT(4) | AT(5) | AT(6) | AT(7) | AT(8) | AT(9), 0, 0, 0,
                               false},
    [FORMULA_SDPA_CUDNN] = {LIST_0_1_2, LIST_0_1, 0, AT(5) | AT(6), 0, 0, 0, false},
    [FORMULA_SDPA_EFFICIENT] = {LIST_0_1_2, LIST_0_1, 0, AT(5) | AT(6), 0, 0, 0, false},
    [FORMULA_SDPA_FLASH] = {LIST_0_1_2, LIST_0_1, 0, AT(3) | AT(4), 0, 0, 0, false},
    [FORMULA_FLASH] = {LIST_0_1_2, LIST_0_1, LIST_0_1_2, AT(3) | AT(5), 0, 0, 0, false},
    [FORMULA_FLASH_BACKWARD] = {LIST_1_2_3, LIST_0_1, LIST_1_2_3, AT(8) | AT(10), 0, 0, 0, false},
    [FORMULA_FMHA] = {LIST_0_1_2, LIST_0_1, 0, AT(3), 0, 0, AT(5), false},
    [FORMULA_FMHA_BACKWARD] = {LIST_1_2_3, LIST_0_1, 0, AT(6), 0, 0, AT(8), false},
    [FORMULA_FLASH_3] = {LIST_0_1_2, LIST_0_1, 0, 0, 0, 0, AT(24), false},
    [FORMULA_FLASH_VARLEN] = {LIST_0_1_2 | AT(3) | AT(4), LIST_0_1, LIST_0_1_2, AT(5) | AT(6) | AT(7) | AT(9), 0, 0, 0,
                              false},
    [FORMULA_FLASH_VARLEN_BACKWARD] = {LIST_1_2_3 | AT(9) | AT(10), LIST_0_1, LIST_1_2_3,
                                       AT(11) | AT(12) | AT(13) | AT(15), 0, 0, 0, false},
    [FORMULA_UNARY] = {AT(0), AT(0), AT(0), 0, 0, 1, 0, false},
    [FORMULA_BINARY] = {LIST_0_1, LIST_0_1, LIST_0_1, 0, 0, 2, 0, false},
    [FORMULA_RESIZE] = {AT(0), AT(0), AT(0), AT(1), 0, 0, 0, false},
    [FORMULA_PAD] = {AT(0), AT(0), AT(0), AT(1), 0, 0, 0, false},
    [FORMULA_GATED] = {AT(0), LIST_0_1, LIST_0_1, 0, 0, 0, 0, false},
    [FORMULA_REDUCE] = {0, AT(0), 0, 0, 0, 0, 0, true},
    [FORMULA_CUMULATE] = {0, AT(0), 0, 0, 0, 0, 0, true},
    [FORMULA_BATCH_NORM] = {AT(0), AT(0), AT(0), 0, AT(5), 0, 0, false},
    [FORMULA_INSTANCE_NORM] = {AT(0), AT(0), AT(0), 0, AT(5), 0, 0, false},
    [FORMULA_LAYER_NORM] = {AT(0), AT(0), AT(0), AT(1), 0, 0, 0, false},
    [FORMULA_GROUP_NORM] = {AT(0), AT(0), AT(0), 0, 0, 0, 0, false},
    [FORMULA_RMS_NORM] = {AT(0), AT(0), AT(0), AT(1), 0, 0, 0, false},
    [FORMULA_BATCH_NORM_BACKWARD] = {AT(1), AT(1), AT(1), 0, AT(7), 0, 0, false},
    [FORMULA_VENDOR_BATCH_NORM_BACKWARD] = {AT(0), AT(0), AT(0), 0, 0, 0, 0, false},
    [FORMULA_LAYER_NORM_BACKWARD] = {AT(1), AT(1), AT(1), AT(2) | AT(7), 0, 0, 0, false},
    [FORMULA_GROUP_NORM_BACKWARD] = {AT(1), AT(1), AT(1), AT(8) | AT(9), 0, 0, 0, false},
    [FORMULA_RMS_NORM_BACKWARD] = {AT(1), AT(1), AT(1), AT(2) | AT(5), 0, 0, 0, false},
};

static void append_text(struct buffer *text, const char *begin, struct input_text of) {
    buffer_append(text, begin, strlen(begin));
    if (of.length)
        buffer_append(text, of.at, of.length);
}

static void append_numbers(struct buffer *text, const char *begin, const int64_t *numbers, uint32_t n) {
    buffer_append(text, begin, strlen(begin));
    if (n && numbers)
        buffer_append(text, numbers, n * sizeof *numbers);
}

/* One place of the arguments, as far as it counts. */
static void append_place(struct buffer *text, const struct rate_key *key, const struct op_inputs *inputs,
                         uint32_t place) {
    struct operator_input input = op_input_at(inputs, place);
    uint32_t bit = AT(place);
    bool out = key->out == place && key->out && (input.tensor.n_dims || input.n_members);
    if (key->dims & bit)
        append_numbers(text, "|d", input.tensor.dims, input.tensor.n_dims);
    if (key->types & bit || out)
        append_text(text, "|t", input.type);
    if (key->strides & bit || out)
        append_numbers(text, "|s", input.tensor.strides, input.tensor.n_dims);
    if (key->values & bit)
        append_text(text, "|v", input.value);
    if (key->truths & bit)
        append_text(text, input.value.length ? "|1" : "|0", (struct input_text){NULL, 0});
    if (key->trues & bit)
        append_text(text, input_is(input.value, "true") ? "|T" : "|F", (struct input_text){NULL, 0});
}

/* ---- Groups of groups ---- */

struct rates {
    const struct op_reading *reading;
    struct op_works works;
    const struct op_flops *flops; /* by group of works: theirs, or of their gradients */
    uint32_t *key;                /* by group of works: the number of its key, or STRING_NONE where nothing is known */
    int64_t *busy;                /* ticks, by place in the list of works; below 0: it does not stand here */
    struct strings keys;
};

/* The number of a group's key; names stand in it. STRING_NONE: out of memory. */
static uint32_t find_key(struct rates *rates, uint32_t group, struct op_inputs_parser *parser, struct buffer *text) {
    struct op_inputs inputs;
    row_t host = rates->works.host[rates->works.groups.member[rates->works.groups.first[group]]];
    const struct op_kind *kind = op_work_kind(rates->reading, host, FLOPS_TRACELENS);
    const struct rate_key *key = &rate_keys[kind->tracelens];
    if (!op_works_inputs(&rates->works, group, parser, &inputs))
        return STRING_NONE;
    text->length = 0;
    buffer_append(text, kind->name, strlen(kind->name));
    if (key->count)
        buffer_append(text, &rates->flops[group].flops, sizeof(double));
    for (uint32_t place = 0; place < inputs.n && place < 32; place++)
        append_place(text, key, &inputs, place);
    return text->failed ? STRING_NONE : strings_intern(&rates->keys, text->bytes, text->length);
}

static enum sutra_status find_keys(struct rates *rates, struct arena *arena, struct sutra_error *error) {
    struct op_inputs_parser parser = {0};
    struct buffer text = {0};
    rates->key = arena_take(arena, rates->works.groups.n, sizeof *rates->key);
    strings_free(&rates->keys);
    bool ok = rates->key && strings_init(&rates->keys);
    for (uint32_t g = 0; ok && g < rates->works.groups.n; g++) {
        rates->key[g] = STRING_NONE;
        if (rates->flops[g].missing)
            continue;
        rates->key[g] = find_key(rates, g, &parser, &text);
        ok = rates->key[g] != STRING_NONE;
    }
    op_inputs_parser_free(&parser);
    buffer_free(&text);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- Rows ---- */

struct rate_sum {
    row_t event; /* of the first operator in the file */
    uint32_t group;
    row_t n;
    double busy_us;
    double tera_bytes_per_s, tera_flops_per_s; /* sums of the operators' rates, */
    row_t n_bytes, n_flops;                    /* of so many */
};

static void add_work(const struct rates *rates, row_t place, struct rate_sum *sum) {
    const struct op_reading *reading = rates->reading;
    uint32_t group = rates->works.groups.of[place];
    row_t event = reading->hosts.event[rates->works.host[place]];
    const struct op_flops *flops = &rates->flops[group];
    double busy_us = op_us(reading, rates->busy[place]);
    if (sum->n++ == 0 || event < sum->event) {
        sum->event = event;
        sum->group = group;
    }
    sum->busy_us += busy_us;
    if (busy_us <= 0)
        return;
    sum->tera_flops_per_s += flops->flops / 1e9 / 1e3 / (busy_us / 1e6);
    sum->n_flops++;
    if (isnan(flops->bytes))
        return;
    sum->tera_bytes_per_s += flops->bytes / 1e12 / (busy_us / 1e6);
    sum->n_bytes++;
}

static void put_rates(const struct rates *rates, const struct rate_sum *sum, struct sutra_table *table) {
    const struct op_flops *flops = &rates->flops[sum->group];
    double giga_flops = flops->flops / 1e9, none = NAN;
    row_t host = rates->works.host[rates->works.groups.member[rates->works.groups.first[sum->group]]];
    table_string(table, rates->reading->strings, host_name(rates->reading, host));
    table_integer(table, sum->event);
    table_real(table, giga_flops);
    table_real(table, flops->bytes / (1024 * 1024));
    table_real(table, flops->bytes > 0 ? giga_flops * 1e9 / flops->bytes : none);
    table_real(table, sum->n_bytes ? sum->tera_bytes_per_s / sum->n_bytes : none);
    table_real(table, sum->n_flops ? sum->tera_flops_per_s / sum->n_flops : none);
    table_real(table, sum->busy_us);
    table_integer(table, sum->n);
}

static enum sutra_status write_rates(const struct rates *rates, struct arena *arena, struct sutra_table *table,
                                     struct sutra_error *error) {
    uint32_t n = rates->keys.n, *order = arena_take(arena, n, sizeof *order);
    struct rate_sum *sums = arena_zeros(arena, n, sizeof *sums);
    double *busy = arena_take(arena, n, sizeof *busy);
    enum sutra_status status = arena_status(arena, error);
    for (row_t place = 0; place < rates->works.n && !status; place++) {
        uint32_t key = rates->key[rates->works.groups.of[place]];
        if (key != STRING_NONE && rates->busy[place] >= 0)
            add_work(rates, place, &sums[key]);
    }
    for (uint32_t i = 0; i < n && !status; i++)
        busy[i] = sums[i].busy_us;
    if (!status)
        status = op_groups_order(busy, n, arena, order, error);
    for (uint32_t i = 0; i < n && !status; i++)
        if (sums[order[i]].n)
            put_rates(rates, &sums[order[i]], table);
    return status;
}

/* Rows of all operators with a formula. */
static enum sutra_status list_hosts(const struct op_reading *reading, struct arena *arena, row_t **hosts, row_t *n,
                                    struct sutra_error *error) {
    uint8_t *known = arena_zeros(arena, reading->strings->n, sizeof *known);
    *hosts = arena_take(arena, reading->hosts.n, sizeof **hosts);
    *n = 0;
    enum sutra_status status = arena_status(arena, error);
    for (row_t row = 0; row < reading->hosts.n && !status; row++)
        if (op_work_is_known(reading, row, FLOPS_TRACELENS, known))
            (*hosts)[(*n)++] = row;
    return status;
}

/* ---- Gradients ---- */

/* FLOPs of the gradients of each group, where there is a formula. */
static enum sutra_status find_gradient_flops(struct rates *rates, struct arena *arena, struct sutra_error *error) {
    struct op_inputs_parser parser = {0};
    struct op_flops *flops = arena_take(arena, rates->works.groups.n, sizeof *flops);
    bool ok = flops != NULL;
    for (uint32_t g = 0; ok && g < rates->works.groups.n; g++) {
        struct op_inputs inputs;
        row_t host = rates->works.host[rates->works.groups.member[rates->works.groups.first[g]]];
        ok = op_works_inputs(&rates->works, g, &parser, &inputs);
        if (ok)
            flops[g] = op_flops_gradient(op_work_kind(rates->reading, host, FLOPS_TRACELENS), &inputs);
    }
    rates->flops = flops;
    op_inputs_parser_free(&parser);
    return ok ? SUTRA_OK : error_memory(error);
}

/* Times of the gradients that are in the trace. */
static enum sutra_status find_gradient_times(const struct op_input *input, struct rates *rates, struct arena *arena,
                                             struct sutra_error *error) {
    row_t n = rates->works.n, n_found = 0;
    row_t *gradient = arena_take(arena, n, sizeof *gradient), *found = arena_take(arena, n, sizeof *found);
    int64_t *ticks = arena_take(arena, n, sizeof *ticks);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = tracelens_gradients(input->context, rates->reading, rates->works.host, n, arena, gradient, error);
    for (row_t place = 0; place < n && !status; place++)
        if (gradient[place] != ROW_NONE)
            found[n_found++] = gradient[place];
    if (!status)
        status = op_reading_busy(rates->reading, found, n_found, arena, ticks, error);
    n_found = 0;
    for (row_t place = 0; place < n && !status; place++)
        rates->busy[place] = gradient[place] == ROW_NONE ? -1 : ticks[n_found++];
    return status;
}

static enum sutra_status write_gradients(const struct op_input *input, struct rates *rates, struct arena *arena,
                                         struct sutra_table *table, struct sutra_error *error) {
    enum sutra_status status = find_gradient_flops(rates, arena, error);
    if (!status)
        status = find_gradient_times(input, rates, arena, error);
    if (!status)
        status = find_keys(rates, arena, error);
    return status ? status : write_rates(rates, arena, table, error);
}

enum sutra_status tracelens_rates(const struct op_input *input, struct arena *arena, struct sutra_operators *operators,
                                  struct sutra_error *error) {
    struct rates rates = {.reading = input->reading};
    struct arena_mark mark = arena_mark(arena);
    row_t *hosts, n;
    enum sutra_status status = list_hosts(input->reading, arena, &hosts, &n, error);
    if (!status)
        status = op_works_read(input->context, input->reading, hosts, n, FLOPS_TRACELENS, arena, &rates.works, error);
    if (!status)
        rates.busy = arena_take(arena, n, sizeof *rates.busy);
    if (!status)
        status = arena_status(arena, error);
    if (!status)
        status = op_reading_busy(input->reading, hosts, n, arena, rates.busy, error);
    rates.flops = rates.works.flops;
    if (!status)
        status = find_keys(&rates, arena, error);
    if (status == SUTRA_OK) {
        struct sutra_table *table = op_table_begin(operators, SUTRA_TRACELENS_RATES);
        status = write_rates(&rates, arena, table, error);
        if (!status)
            status = write_gradients(input, &rates, arena, table, error);
    }
    strings_free(&rates.keys);
    op_works_free(&rates.works);
    arena_release(arena, mark);
    return status;
}
