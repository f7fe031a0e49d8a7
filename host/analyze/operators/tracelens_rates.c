/*
 * tracelens_rates.c - the rates of every operator that TraceLens has a model for, in one table.
 *
 * Operators of one name and with equal parameters are one row. FLOPs and bytes are from the first operator in the
 * file, rates are means of the operators' rates. Operators of attention have a second row for their gradient, with the
 * time of the event of autograd that evaluates it. O(n log n).
 */
#include <math.h>

#include "analyze/operators/tracelens_models.h"
#include "base/error.h"

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
