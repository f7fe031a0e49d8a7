/*
 * rates.c - the operators with a model in TraceLens, and the table of their rates.
 *
 *     operators with a model --> variants (name, arguments, transposes), kernels below, gradients --> rates
 *
 * Operators of one name and with equal parameters are one row. FLOPs and bytes are from the first operator in the
 * file, rates are means of the operators' rates. Operators of attention have a second row for their gradient, with the
 * time of the event of autograd that evaluates it. O(n log n).
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/compat/tracelens/tracelens.h"
#include "base/error.h"
#include "columns/column.h"
#include "match/key_index.h"

/* ---- Operators with a model ---- */
static int by_event(const void *left, const void *right, void *arg) {
    const row_t *event = arg;
    row_t a = event[*(const row_t *)left], b = event[*(const row_t *)right];
    return (a > b) - (a < b);
}

const struct op_kind *tracelens_model_kind(const struct tracelens_models *models, row_t perf_model) {
    return op_cost_formula(models->model, models->host[perf_model], FLOPS_TRACELENS);
}

/* ---- Kernels ---- */
struct kernel_key {
    row_t key, link;
};

ORDER_BY(compare_keys, struct kernel_key, ASCENDING(key) ASCENDING(link))

row_t tracelens_kernels_below(const struct tracelens_models *models, row_t host, enum kernel_order order, row_t *list) {
    const struct launch_model *model = models->model;
    const struct launch_links *links = &model->links;
    row_t first = links->first[host], last = links->first[model->hosts.end[host]], n = 0;
    struct kernel_key few[64], *keys = last - first <= 64 ? few : malloc((size_t)(last - first) * sizeof *keys);
    if (!keys)
        return ROW_NONE;
    for (row_t i = first; i < last; i++)
        if (model->devices.class[links->device[i]] != DEVICE_NO_WORK)
            keys[n++] = (struct kernel_key){
                order == KERNELS_BY_START ? models->start_rank[links->device[i]] : models->link_event[i], i};
    if (n)
        qsort(keys, n, sizeof *keys, compare_keys);
    for (row_t i = 0; i < n; i++)
        list[i] = links->device[keys[i].link];
    if (keys != few)
        free(keys);
    return n;
}

/* ---- Variants ---- */

struct variant_search {
    struct tracelens_models *models;
    uint8_t *gemm_name; /* by string of a kernel's name: 0: not parsed yet; 1 + known + 2 * a + 6 * b */
    row_t *gemm_below;  /* by row of hosts: the first kernel below by start with the name of a GEMM, or ROW_NONE */
    struct tuples numbers;
    struct op_inputs_parser parser;
    struct model_params params;
    struct buffer text;
    uint64_t capacity;
};

static struct gemm_transposes transposes_of_name(struct variant_search *search, uint32_t name) {
    const struct strings *strings = search->models->model->strings;
    uint8_t *code = &search->gemm_name[name];
    if (!*code) {
        struct gemm_transposes found = gemm_transposes_of(strings_text(strings, name), strings_length(strings, name));
        *code = (uint8_t)(1 + (int)found.known + 2 * (int)found.a + 6 * (int)found.b);
    }
    struct gemm_transposes known = {0};
    known.known = (*code - 1) % 2;
    known.a = (*code - 1) / 2 % 3;
    known.b = (*code - 1) / 6;
    return known;
}

static uint32_t kernel_name(const struct launch_model *model, row_t device) {
    return model->events->name[model->devices.event[device]];
}

static void keep_first(const struct tracelens_models *models, row_t *first, row_t device) {
    if (*first == ROW_NONE || models->start_rank[device] < models->start_rank[*first])
        *first = device;
}

/* Finds the first GEMM below each row; from the last row to the first, so that a row is complete before its parent. */
static void find_gemms_below(struct variant_search *search) {
    const struct launch_model *model = search->models->model;
    const struct launch_links *links = &model->links;
    for (row_t row = model->hosts.n; row-- > 0;) {
        row_t parent = model->hosts.parent[row];
        for (row_t i = links->first[row]; i < links->first[row + 1]; i++)
            if (transposes_of_name(search, kernel_name(model, links->device[i])).known == TRANSPOSE_KNOWN)
                keep_first(search->models, &search->gemm_below[row], links->device[i]);
        if (parent != ROW_NONE && search->gemm_below[row] != ROW_NONE)
            keep_first(search->models, &search->gemm_below[parent], search->gemm_below[row]);
    }
}

/* Adds a new variant with its dictionary of parameters; false: out of memory. */
static bool make_variant(struct variant_search *search, uint32_t group, struct gemm_transposes transposes,
                         struct arena *arena) {
    struct tracelens_models *models = search->models;
    struct op_inputs inputs;
    const struct op_kind *kind =
        tracelens_model_kind(models, models->costs.groups.member[models->costs.groups.first[group]]);
    if (!arena_grow(arena, &models->variants, models->n_variants, &search->capacity, sizeof *models->variants) ||
        !op_costs_inputs(&models->costs, group, &search->parser, &inputs) ||
        !tracelens_params_find(kind, &inputs, transposes, &search->params))
        return false;
    search->text.length = 0;
    tracelens_params_append(&search->params, &search->text);
    uint32_t params =
        search->text.failed ? STRING_NONE : strings_intern(&models->texts, search->text.bytes, search->text.length);
    models->variants[models->n_variants++] =
        (struct model_variant){group, transposes, params, tracelens_compute_spec(kind, &inputs)};
    return params != STRING_NONE;
}

static enum sutra_status find_variants(struct tracelens_models *models, struct arena *arena,
                                       struct sutra_error *error) {
    struct variant_search search = {.models = models};
    search.gemm_name = arena_zeros(arena, models->model->strings->n, sizeof *search.gemm_name);
    search.gemm_below = rows_none(arena, models->model->hosts.n);
    models->variant_of = arena_alloc(arena, models->costs.n, sizeof *models->variant_of);
    bool ok = !arena->failed && strings_init(&models->texts);
    if (ok)
        find_gemms_below(&search);
    for (row_t perf_model = 0; perf_model < models->costs.n && ok; perf_model++) {
        struct gemm_transposes transposes = {0};
        uint32_t group = models->costs.groups.of[perf_model];
        row_t device = search.gemm_below[models->host[perf_model]];
        if (tracelens_model_kind(models, perf_model)->category == OP_GEMM && device != ROW_NONE)
            transposes = transposes_of_name(&search, kernel_name(models->model, device));
        uint32_t number = tuples_number(
            &search.numbers,
            (struct tuple){{group, (value_key)transposes.known, (value_key)transposes.a, (value_key)transposes.b}});
        models->variant_of[perf_model] = number;
        ok = number != TUPLE_NONE && (number < models->n_variants || make_variant(&search, group, transposes, arena));
    }
    tuples_free(&search.numbers);
    op_inputs_parser_free(&search.parser);
    buffer_free(&search.params.text);
    buffer_free(&search.text);
    return ok ? SUTRA_OK : error_memory(error);
}

/*
 * ---- Operators of autograd that evaluate an operator's gradient, by TraceLens' rules ----
 *
 *     thread 1   aten::linear 7 ... aten::addmm 7                                  the last one on another thread
 *     thread 2                                      evaluate_function: AddmmBackward0 7     the first one
 *
 * Both have the same sequence number. O(operators).
 */

#define EVALUATES "autograd::engine::evaluate_function:"

/* Operators of one sequence number: rows of hosts, or ROW_NONE. */
struct autograd_sequence {
    row_t evaluates, forward;
};

static bool precedes(const struct host_rows *hosts, row_t row, row_t other) {
    return other == ROW_NONE || hosts->event[row] < hosts->event[other];
}

static enum sutra_status find_gradient_events(struct sutra_context *context, const struct launch_model *model,
                                              const row_t *hosts, row_t n, struct arena *arena, row_t *gradient,
                                              struct sutra_error *error) {
    static const struct requested_field field = {"Sequence number", ASK_KEY, false};
    const struct host_rows *rows = &model->hosts;
    uint32_t *number_of = arena_alloc(arena, rows->n, sizeof *number_of); /* by row of hosts, or TUPLE_NONE */
    struct tuples numbers = {0};
    struct requested_column column;
    TRY(arena_status(arena, error));
    enum sutra_status status =
        event_columns_request(context, model->trace, &field, 1, rows->event, rows->n, &column, error);
    for (row_t row = 0; row < rows->n && !status; row++) {
        value_key key = column.key[rows->event[row]];
        bool known = key != KEY_ABSENT && key != KEY_NULL;
        number_of[row] = known ? tuples_number(&numbers, (struct tuple){{key, 0, 0, 0}}) : TUPLE_NONE;
        if (known && number_of[row] == TUPLE_NONE)
            status = error_memory(error);
    }
    uint32_t n_numbers = numbers.n;
    tuples_free(&numbers);
    struct autograd_sequence *list = arena_alloc(arena, n_numbers, sizeof *list);
    if (status)
        return status;
    TRY_ALLOC(list, error);
    for (uint32_t i = 0; i < n_numbers; i++)
        list[i] = (struct autograd_sequence){ROW_NONE, ROW_NONE};

    /* the first operator that evaluates, then the last operator on another thread */
    for (row_t row = 0; row < rows->n; row++) {
        if (number_of[row] == TUPLE_NONE ||
            !text_compare(model->strings, host_name(model, row), TEXT_BEGINS, EVALUATES))
            continue;
        struct autograd_sequence *sequence = &list[number_of[row]];
        if (precedes(rows, row, sequence->evaluates))
            sequence->evaluates = row;
    }
    for (row_t row = 0; row < rows->n; row++) {
        if (number_of[row] == TUPLE_NONE)
            continue;
        struct autograd_sequence *sequence = &list[number_of[row]];
        row_t best = sequence->forward;
        if (sequence->evaluates == ROW_NONE || rows->thread[row] == rows->thread[sequence->evaluates])
            continue;
        bool later = best == ROW_NONE || rows->start[row] > rows->start[best];
        if (later || (rows->start[row] == rows->start[best] && precedes(rows, row, best)))
            sequence->forward = row;
    }
    for (row_t i = 0; i < n; i++) {
        uint32_t number = number_of[hosts[i]];
        bool has_gradient = number != TUPLE_NONE && list[number].forward == hosts[i];
        gradient[i] = has_gradient ? list[number].evaluates : ROW_NONE;
    }
    return SUTRA_OK;
}

static enum sutra_status find_gradients(const struct tracelens_input *input, struct tracelens_models *models,
                                        struct arena *arena, struct sutra_error *error) {
    row_t n = models->costs.n, n_found = 0;
    row_t *found = arena_alloc(arena, n, sizeof *found);
    int64_t *ticks = arena_alloc(arena, n, sizeof *ticks);
    models->gradient = arena_alloc(arena, n, sizeof *models->gradient);
    models->gradient_busy = arena_alloc(arena, n, sizeof *models->gradient_busy);
    models->gradient_flops = arena_alloc(arena, models->costs.groups.n, sizeof *models->gradient_flops);
    TRY(arena_status(arena, error));
    TRY(find_gradient_events(input->context, models->model, models->host, n, arena, models->gradient, error));
    for (row_t perf_model = 0; perf_model < n; perf_model++)
        if (models->gradient[perf_model] != ROW_NONE)
            found[n_found++] = models->gradient[perf_model];
    TRY(launch_model_busy_time(models->model, found, n_found, arena, ticks, error));
    n_found = 0;
    for (row_t perf_model = 0; perf_model < n; perf_model++)
        models->gradient_busy[perf_model] = models->gradient[perf_model] == ROW_NONE ? 0 : ticks[n_found++];

    /* FLOPs of the gradients of each group, if there is a formula */
    struct op_inputs_parser parser = {0};
    bool ok = true;
    for (uint32_t g = 0; ok && g < models->costs.groups.n; g++) {
        struct op_inputs inputs;
        ok = op_costs_inputs(&models->costs, g, &parser, &inputs);
        if (ok)
            models->gradient_flops[g] = op_flops_gradient(
                tracelens_model_kind(models, models->costs.groups.member[models->costs.groups.first[g]]), &inputs);
    }
    op_inputs_parser_free(&parser);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- All models ---- */

enum sutra_status tracelens_models_make(const struct tracelens_input *input, struct arena *arena,
                                        struct tracelens_models *models, struct sutra_error *error) {
    const struct launch_model *model = input->model;
    const struct launch_links *links = &model->links;
    uint8_t *known = arena_zeros(arena, model->strings->n, sizeof *known);
    row_t n = 0;
    models->model = model;
    models->host = arena_alloc(arena, model->hosts.n, sizeof *models->host);
    models->model_of = rows_none(arena, model->hosts.n);
    models->start_rank = arena_alloc(arena, model->devices.n, sizeof *models->start_rank);
    models->link_event = arena_alloc(arena, links->n, sizeof *models->link_event);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < model->devices.n; i++)
        models->start_rank[model->devices.by_start[i]] = i;
    for (row_t row = 0; row < model->hosts.n; row++) {
        for (row_t i = links->first[row]; i < links->first[row + 1]; i++)
            models->link_event[i] = model->hosts.event[row];
        if (op_cost_is_known(model, row, FLOPS_TRACELENS, known))
            models->host[n++] = row;
    }
    if (n) /* in file order */
        qsort_r(models->host, n, sizeof *models->host, by_event, model->hosts.event);
    for (row_t perf_model = 0; perf_model < n; perf_model++)
        models->model_of[models->host[perf_model]] = perf_model;
    models->busy = arena_alloc(arena, n, sizeof *models->busy);
    TRY(arena_status(arena, error));
    TRY(op_costs_read(input->context, model, models->host, n, FLOPS_TRACELENS, arena, &models->costs, error));
    TRY(launch_model_busy_time(model, models->host, n, arena, models->busy, error));
    TRY(find_variants(models, arena, error));
    TRY(find_gradients(input, models, arena, error));
    return thread_labels_read(input->context, model, arena, &models->labels, error);
}

void tracelens_models_free(struct tracelens_models *models) {
    op_costs_free(&models->costs);
    strings_free(&models->texts);
    thread_labels_free(&models->labels);
}

struct model_figures tracelens_figures(const struct op_flops *flops, double busy_us) {
    struct model_figures figures = {.giga_flops = flops->flops / 1e9, .mega_bytes = flops->bytes / (1024 * 1024)};
    figures.flops_per_byte = flops->bytes > 0 ? figures.giga_flops * 1e9 / flops->bytes : (double)NAN;
    figures.tera_flops_per_s = busy_us > 0 ? figures.giga_flops / 1e3 / (busy_us / 1e6) : (double)NAN;
    figures.tera_bytes_per_s = busy_us > 0 ? flops->bytes / 1e12 / (busy_us / 1e6) : (double)NAN;
    return figures;
}

/* ---- The table of rates ---- */

struct rate_sum {
    row_t perf_model; /* of the first operator in the file */
    row_t n;
    double busy_us;
    double tera_bytes_per_s, tera_flops_per_s; /* totals of the operators' rates, */
    row_t n_bytes, n_flops;                    /* and the numbers of known rates */
};

/* Operators with equal names and parameters are one row; without known parameters, operators with equal arguments. */
static enum sutra_status add_rates(const struct tracelens_models *models, bool gradients, struct arena *arena,
                                   struct sutra_table *table, struct sutra_error *error) {
    const struct op_flops *flops_of = gradients ? models->gradient_flops : models->costs.flops;
    const int64_t *busy_of = gradients ? models->gradient_busy : models->busy;
    row_t n = models->costs.n;
    struct tuples keys = {0};
    struct rate_sum *sums = arena_zeros(arena, n, sizeof *sums);
    double *busy = arena_alloc(arena, n, sizeof *busy);
    uint32_t *order = arena_alloc(arena, n, sizeof *order);
    enum sutra_status status = arena_status(arena, error);
    for (row_t perf_model = 0; perf_model < n && !status; perf_model++) {
        const struct op_flops *flops = &flops_of[models->costs.groups.of[perf_model]];
        const struct model_variant *variant = &models->variants[models->variant_of[perf_model]];
        bool known_params = strings_length(&models->texts, variant->params) > 2;
        if (flops->missing || (gradients && models->gradient[perf_model] == ROW_NONE))
            continue;
        struct tuple key = {{host_name(models->model, models->host[perf_model]), variant->params,
                             known_params ? 0 : (value_key)variant->group + 1, 0}};
        uint32_t number = tuples_number(&keys, key);
        if (number == TUPLE_NONE) {
            status = error_memory(error);
            break;
        }
        struct rate_sum *sum = &sums[number];
        double busy_us = launch_model_us(models->model, busy_of[perf_model]);
        struct model_figures figures = tracelens_figures(flops, busy_us);
        if (sum->n++ == 0)
            sum->perf_model = perf_model;
        sum->busy_us += busy_us;
        sum->n_flops += isnan(figures.tera_flops_per_s) ? 0 : 1U;
        sum->n_bytes += isnan(figures.tera_bytes_per_s) ? 0 : 1U;
        sum->tera_flops_per_s += isnan(figures.tera_flops_per_s) ? 0 : figures.tera_flops_per_s;
        sum->tera_bytes_per_s += isnan(figures.tera_bytes_per_s) ? 0 : figures.tera_bytes_per_s;
    }
    for (uint32_t i = 0; i < keys.n && !status; i++)
        busy[i] = sums[i].busy_us;
    if (!status)
        status = row_groups_order(busy, keys.n, arena, order, error);
    for (uint32_t i = 0; i < keys.n && !status; i++) {
        const struct rate_sum *sum = &sums[order[i]];
        row_t host = models->host[sum->perf_model];
        struct model_figures figures = tracelens_figures(&flops_of[models->costs.groups.of[sum->perf_model]], 0);
        table_string(table, models->model->strings, host_name(models->model, host));
        table_integer(table, models->model->hosts.event[host]);
        table_real(table, figures.giga_flops);
        table_real(table, figures.mega_bytes);
        table_real(table, figures.flops_per_byte);
        table_real(table, sum->n_bytes ? sum->tera_bytes_per_s / sum->n_bytes : (double)NAN);
        table_real(table, sum->n_flops ? sum->tera_flops_per_s / sum->n_flops : (double)NAN);
        table_real(table, sum->busy_us);
        table_integer(table, sum->n);
    }
    tuples_free(&keys);
    return status;
}

enum sutra_status tracelens_rates(const struct tracelens_input *input, struct arena *arena,
                                  struct sutra_operators *operators, struct sutra_error *error) {
    const struct tracelens_models *models = input->models;
    struct sutra_table *table = result_table_begin(&operators->result, SUTRA_TRACELENS_RATES);
    struct arena_mark mark = arena_mark(arena);
    TRY(add_rates(models, false, arena, table, error));
    TRY(add_rates(models, true, arena, table, error));
    arena_release(arena, mark);
    return SUTRA_OK;
}
