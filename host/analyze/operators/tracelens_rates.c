/*
 * tracelens_rates.c - the rates of every operator that TraceLens has a model for, in one table.
 *
 * Operators of one name and with equal parameters are one row. FLOPs and bytes are from the first operator in the
 * file, rates are means of the operators' rates. Operators of attention have a second row for their gradient, with the
 * time of the event of autograd that evaluates it. O(n log n).
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/operators/tracelens_rates.h"
#include "base/error.h"
#include "columns/column.h"

/*
 * The operators with a model, their variants, their gradients.
 */

/* ---- Operators ---- */

static int by_event(const void *left, const void *right, void *arg) {
    const row_t *event = arg;
    row_t a = event[*(const row_t *)left], b = event[*(const row_t *)right];
    return (a > b) - (a < b);
}

/* Lists the operators with a model in the order of the file. */
static enum sutra_status list_operators(const struct op_reading *reading, struct arena *arena,
                                        struct tracelens_models *models, row_t *n, struct sutra_error *error) {
    uint8_t *known = arena_zeros(arena, reading->strings->n, sizeof *known);
    models->host = arena_take(arena, reading->hosts.n, sizeof *models->host);
    models->place_of = rows_none(arena, reading->hosts.n);
    *n = 0;
    enum sutra_status status = arena_status(arena, error);
    for (row_t row = 0; row < reading->hosts.n && !status; row++)
        if (op_work_is_known(reading, row, FLOPS_TRACELENS, known))
            models->host[(*n)++] = row;
    if (*n && !status)
        qsort_r(models->host, *n, sizeof *models->host, by_event, reading->hosts.event);
    for (row_t place = 0; place < *n && !status; place++)
        models->place_of[models->host[place]] = place;
    return status;
}

const struct op_kind *tracelens_model_kind(const struct tracelens_models *models, row_t place) {
    return op_work_kind(models->reading, models->host[place], FLOPS_TRACELENS);
}

/* ---- Kernels ---- */

static enum sutra_status index_kernels(const struct op_reading *reading, struct arena *arena,
                                       struct tracelens_models *models, struct sutra_error *error) {
    const struct device_rows *devices = &reading->devices;
    const struct call_links *links = &reading->links;
    models->start_rank = arena_take(arena, devices->n, sizeof *models->start_rank);
    models->link_event = arena_take(arena, links->n, sizeof *models->link_event);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < devices->n && !status; i++)
        models->start_rank[devices->by_start[i]] = i;
    for (row_t row = 0; row < reading->hosts.n && !status; row++)
        for (row_t i = links->first[row]; i < links->first[row + 1]; i++)
            models->link_event[i] = reading->hosts.event[row];
    return status;
}

struct kernel_key {
    row_t key, link;
};

static int compare_keys(const void *left, const void *right) {
    const struct kernel_key *a = left, *b = right;
    return a->key != b->key ? (a->key > b->key) - (a->key < b->key) : (a->link > b->link) - (a->link < b->link);
}

row_t tracelens_kernels_below(const struct tracelens_models *models, row_t host, enum kernel_order order, row_t *list) {
    const struct op_reading *reading = models->reading;
    const struct call_links *links = &reading->links;
    row_t first = links->first[host], last = links->first[reading->hosts.end[host]], n = 0;
    struct kernel_key few[64], *keys = last - first <= 64 ? few : malloc((size_t)(last - first) * sizeof *keys);
    if (!keys)
        return ROW_NONE;
    for (row_t i = first; i < last; i++)
        if (reading->devices.class[links->device[i]] != DEVICE_NO_WORK)
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
    uint8_t *gemm_name; /* by string of a kernel's name: 0: not yet read; 1 + known + 2 * a + 6 * b */
    row_t *gemm_below;  /* by row of hosts: the first kernel below by start with the name of a GEMM, or ROW_NONE */
    struct tuples numbers;
    struct op_inputs_parser parser;
    struct model_params params;
    struct buffer text;
    uint64_t capacity;
};

static struct gemm_transposes transposes_of_name(struct variant_search *search, uint32_t name) {
    const struct strings *strings = search->models->reading->strings;
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

static uint32_t kernel_name(const struct op_reading *reading, row_t device) {
    return reading->events->name[reading->devices.event[device]];
}

static void keep_first(const struct tracelens_models *models, row_t *first, row_t device) {
    if (*first == ROW_NONE || models->start_rank[device] < models->start_rank[*first])
        *first = device;
}

/* From the last row to the first, so that a row is complete before its parent. */
static void find_gemms_below(struct variant_search *search) {
    const struct op_reading *reading = search->models->reading;
    const struct call_links *links = &reading->links;
    for (row_t row = reading->hosts.n; row-- > 0;) {
        row_t parent = reading->hosts.parent[row];
        for (row_t i = links->first[row]; i < links->first[row + 1]; i++)
            if (transposes_of_name(search, kernel_name(reading, links->device[i])).known == TRANSPOSE_KNOWN)
                keep_first(search->models, &search->gemm_below[row], links->device[i]);
        if (parent != ROW_NONE && search->gemm_below[row] != ROW_NONE)
            keep_first(search->models, &search->gemm_below[parent], search->gemm_below[row]);
    }
}

/* The transposes in the name of the first kernel that has the name of a GEMM. */
static struct gemm_transposes transposes_below(struct variant_search *search, row_t host) {
    row_t device = search->gemm_below[host];
    if (device == ROW_NONE)
        return (struct gemm_transposes){0};
    return transposes_of_name(search, kernel_name(search->models->reading, device));
}

/* The dictionary of a new variant; false: out of memory. */
static bool make_variant(struct variant_search *search, uint32_t group, struct gemm_transposes transposes,
                         struct arena *arena) {
    struct tracelens_models *models = search->models;
    struct op_inputs inputs;
    const struct op_kind *kind =
        tracelens_model_kind(models, models->works.groups.member[models->works.groups.first[group]]);
    if (!arena_grow(arena, &models->variants, models->n_variants, &search->capacity, sizeof *models->variants) ||
        !op_works_inputs(&models->works, group, &search->parser, &inputs) ||
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

static bool find_variant(struct variant_search *search, row_t place, struct arena *arena) {
    struct tracelens_models *models = search->models;
    struct gemm_transposes transposes = {0};
    uint32_t group = models->works.groups.of[place];
    if (tracelens_model_kind(models, place)->category == OP_GEMM)
        transposes = transposes_below(search, models->host[place]);
    uint32_t number = tuples_number(
        &search->numbers,
        (struct tuple){{group, (value_key)transposes.known, (value_key)transposes.a, (value_key)transposes.b}});
    models->variant_of[place] = number;
    return number != TUPLE_NONE && (number < models->n_variants || make_variant(search, group, transposes, arena));
}

static enum sutra_status find_variants(struct tracelens_models *models, struct arena *arena,
                                       struct sutra_error *error) {
    struct variant_search search = {.models = models};
    search.gemm_name = arena_zeros(arena, models->reading->strings->n, sizeof *search.gemm_name);
    search.gemm_below = rows_none(arena, models->reading->hosts.n);
    models->variant_of = arena_take(arena, models->works.n, sizeof *models->variant_of);
    bool ok = !arena->failed && strings_init(&models->texts);
    if (ok)
        find_gemms_below(&search);
    for (row_t place = 0; place < models->works.n && ok; place++)
        ok = find_variant(&search, place, arena);
    tuples_free(&search.numbers);
    op_inputs_parser_free(&search.parser);
    buffer_free(&search.params.text);
    buffer_free(&search.text);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- Gradients ---- */

/* FLOPs of the gradients of each group, where there is a formula. */
static enum sutra_status find_gradient_flops(struct tracelens_models *models, struct arena *arena,
                                             struct sutra_error *error) {
    struct op_inputs_parser parser = {0};
    models->gradient_flops = arena_take(arena, models->works.groups.n, sizeof *models->gradient_flops);
    bool ok = !arena->failed;
    for (uint32_t g = 0; ok && g < models->works.groups.n; g++) {
        struct op_inputs inputs;
        ok = op_works_inputs(&models->works, g, &parser, &inputs);
        if (ok)
            models->gradient_flops[g] = op_flops_gradient(
                tracelens_model_kind(models, models->works.groups.member[models->works.groups.first[g]]), &inputs);
    }
    op_inputs_parser_free(&parser);
    return ok ? SUTRA_OK : error_memory(error);
}

static enum sutra_status find_gradients(const struct op_input *input, struct tracelens_models *models,
                                        struct arena *arena, struct sutra_error *error) {
    row_t n = models->works.n, n_found = 0;
    row_t *found = arena_take(arena, n, sizeof *found);
    int64_t *ticks = arena_take(arena, n, sizeof *ticks);
    models->gradient = arena_take(arena, n, sizeof *models->gradient);
    models->gradient_busy = arena_take(arena, n, sizeof *models->gradient_busy);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = tracelens_gradients(input->context, models->reading, models->host, n, arena, models->gradient, error);
    for (row_t place = 0; place < n && !status; place++)
        if (models->gradient[place] != ROW_NONE)
            found[n_found++] = models->gradient[place];
    if (!status)
        status = op_reading_busy(models->reading, found, n_found, arena, ticks, error);
    n_found = 0;
    for (row_t place = 0; place < n && !status; place++)
        models->gradient_busy[place] = models->gradient[place] == ROW_NONE ? 0 : ticks[n_found++];
    return status ? status : find_gradient_flops(models, arena, error);
}

/* ---- All ---- */

enum sutra_status tracelens_models_make(const struct op_input *input, struct arena *arena,
                                        struct tracelens_models *models, struct sutra_error *error) {
    const struct op_reading *reading = input->reading;
    row_t n = 0;
    models->reading = reading;
    enum sutra_status status = list_operators(reading, arena, models, &n, error);
    if (!status)
        status = op_works_read(input->context, reading, models->host, n, FLOPS_TRACELENS, arena, &models->works, error);
    if (!status)
        models->busy = arena_take(arena, n, sizeof *models->busy);
    if (!status)
        status = arena_status(arena, error);
    if (!status)
        status = op_reading_busy(reading, models->host, n, arena, models->busy, error);
    if (!status)
        status = index_kernels(reading, arena, models, error);
    if (!status)
        status = find_variants(models, arena, error);
    if (!status)
        status = find_gradients(input, models, arena, error);
    return status ? status : thread_labels_read(input->context, reading, arena, &models->labels, error);
}

void tracelens_models_free(struct tracelens_models *models) {
    op_works_free(&models->works);
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

struct rate_sum {
    row_t place; /* of the first operator in the file */
    row_t n;
    double busy_us;
    double tera_bytes_per_s, tera_flops_per_s; /* sums of the operators' rates, */
    row_t n_bytes, n_flops;                    /* of as many operators */
};

/* What rows are made of: operators or their gradients. */
struct rate_source {
    const struct tracelens_models *models;
    const struct op_flops *flops; /* by group of works */
    const int64_t *busy;          /* by model */
    bool gradients;
};

static bool has_rates(const struct rate_source *source, row_t place) {
    const struct tracelens_models *models = source->models;
    return !source->flops[models->works.groups.of[place]].missing &&
           (!source->gradients || models->gradient[place] != ROW_NONE);
}

/* All arguments distinguish operators of a model without known parameters. */
static struct tuple rate_key(const struct tracelens_models *models, row_t place) {
    const struct model_variant *variant = &models->variants[models->variant_of[place]];
    bool known = strings_length(&models->texts, variant->params) > 2;
    return (struct tuple){{host_name(models->reading, models->host[place]), variant->params,
                           known ? 0 : (value_key)variant->group + 1, 0}};
}

static void add_rates(const struct rate_source *source, row_t place, struct rate_sum *sum) {
    const struct tracelens_models *models = source->models;
    double busy_us = op_us(models->reading, source->busy[place]);
    struct model_figures figures = tracelens_figures(&source->flops[models->works.groups.of[place]], busy_us);
    if (sum->n++ == 0)
        sum->place = place;
    sum->busy_us += busy_us;
    sum->n_flops += isnan(figures.tera_flops_per_s) ? 0 : 1U;
    sum->n_bytes += isnan(figures.tera_bytes_per_s) ? 0 : 1U;
    sum->tera_flops_per_s += isnan(figures.tera_flops_per_s) ? 0 : figures.tera_flops_per_s;
    sum->tera_bytes_per_s += isnan(figures.tera_bytes_per_s) ? 0 : figures.tera_bytes_per_s;
}

static void write_rate_row(const struct rate_source *source, const struct rate_sum *sum, struct sutra_table *table) {
    const struct tracelens_models *models = source->models;
    struct model_figures figures = tracelens_figures(&source->flops[models->works.groups.of[sum->place]], 0);
    table_string(table, models->reading->strings, host_name(models->reading, models->host[sum->place]));
    table_integer(table, models->reading->hosts.event[models->host[sum->place]]);
    table_real(table, figures.giga_flops);
    table_real(table, figures.mega_bytes);
    table_real(table, figures.flops_per_byte);
    table_real(table, sum->n_bytes ? sum->tera_bytes_per_s / sum->n_bytes : (double)NAN);
    table_real(table, sum->n_flops ? sum->tera_flops_per_s / sum->n_flops : (double)NAN);
    table_real(table, sum->busy_us);
    table_integer(table, sum->n);
}

static enum sutra_status write_rates(const struct rate_source *source, struct arena *arena, struct sutra_table *table,
                                     struct sutra_error *error) {
    row_t n = source->models->works.n;
    struct tuples keys = {0};
    struct rate_sum *sums = arena_zeros(arena, n, sizeof *sums);
    double *busy = arena_take(arena, n, sizeof *busy);
    uint32_t *order = arena_take(arena, n, sizeof *order);
    enum sutra_status status = arena_status(arena, error);
    for (row_t place = 0; place < n && !status; place++) {
        if (!has_rates(source, place))
            continue;
        uint32_t number = tuples_number(&keys, rate_key(source->models, place));
        if (number == TUPLE_NONE)
            status = error_memory(error);
        else
            add_rates(source, place, &sums[number]);
    }
    for (uint32_t i = 0; i < keys.n && !status; i++)
        busy[i] = sums[i].busy_us;
    if (!status)
        status = op_groups_order(busy, keys.n, arena, order, error);
    for (uint32_t i = 0; i < keys.n && !status; i++)
        write_rate_row(source, &sums[order[i]], table);
    tuples_free(&keys);
    return status;
}

enum sutra_status tracelens_rates(const struct op_input *input, struct arena *arena, struct sutra_operators *operators,
                                  struct sutra_error *error) {
    const struct tracelens_models *models = input->models;
    const struct rate_source sources[] = {{models, models->works.flops, models->busy, false},
                                          {models, models->gradient_flops, models->gradient_busy, true}};
    struct sutra_table *table = op_table_begin(operators, SUTRA_TRACELENS_RATES);
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status = write_rates(&sources[0], arena, table, error);
    if (!status)
        status = write_rates(&sources[1], arena, table, error);
    arena_release(arena, mark);
    return status;
}
