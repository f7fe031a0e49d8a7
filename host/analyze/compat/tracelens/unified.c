/*
 * unified.c - TraceLens' unified_perf_summary: the operators that represent the GPU activity of a trace, with
 * their kernel time, FLOPs and bytes, joined if names and arguments are equal.
 *
 *     outermost operators --> walk down to the operators that represent their activity --> groups --> rows
 *
 * The walk stops at an operator that has a model, is the only backward operator of an attention operator, or launches
 * kernels itself. GPU activity that no such operator launched becomes an entry of its own, "operator->kernel (Synthetic
 * Op)". Cost: O(n log n) for n operators and kernels.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/tracelens/tracelens.h"
#include "analyze/table.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "match/key_index.h"

/* ---- The walk: operators that represent the GPU activity ---- */
enum collected_kind { COLLECTED_MODEL, COLLECTED_GRADIENT, COLLECTED_LAUNCHER, COLLECTED_SYNTHETIC };

struct collected_op {
    row_t host;       /* a row of hosts */
    row_t perf_model; /* of the operator, or of the forward operator of a gradient */
    row_t device;     /* of a synthetic entry */
    uint8_t kind;     /* enum collected_kind */
};

/* TraceLens searches this many ancestors of an event for the event that evaluates a gradient. */
#define MAX_ANCESTORS 5

struct collector {
    const struct launch_model *model;
    const struct tracelens_models *models;
    row_t n;              /* rows of hosts that are in trees */
    uint8_t *below_model; /* by row: an operator below has a model and launches; only operators are between */
    uint8_t *launches;    /* by row: launches kernels by a call of the runtime */
    uint8_t *sole;        /* by model: whether a gradient has one backward operator; 0: not determined yet */
    row_t *forward;       /* by row: the model of the forward operator whose gradient the row evaluates */
    uint8_t *covered;     /* by row of devices */
    row_t *outermost;     /* by row: the outermost operator from which only operators lead to it */
    struct named_op *named;
    row_t n_named;
    struct collected_op *list; /* collected so far */
    row_t n_list;
};

static bool is_operator(const struct collector *of, row_t row) {
    return of->model->hosts.kind[row] == HOST_OPERATOR;
}

static bool has_work(const struct collector *of, row_t row) {
    const struct launch_links *links = &of->model->links;
    return links->first[of->model->hosts.end[row]] > links->first[row];
}

/* Marks operators above a model, and rows that launch kernels; from the last row to the first, so that a row is
 * complete before its parent. */
static void mark_ancestors(struct collector *of) {
    const struct launch_model *model = of->model;
    const struct launch_links *links = &model->links;
    for (row_t row = of->n; row-- > 0;) {
        row_t parent = model->hosts.parent[row];
        bool is_runtime_call =
            model->hosts.kind[row] == HOST_CALL &&
            text_compare(model->strings, model->events->category[model->hosts.event[row]], TEXT_IS, "cuda_runtime");
        if (is_runtime_call) {
            for (row_t i = links->first[row]; i < links->first[row + 1]; i++)
                of->launches[row] |= model->devices.class[links->device[i]] != DEVICE_NO_WORK;
            if (parent != ROW_NONE)
                of->launches[parent] |= of->launches[row];
        } else if (is_operator(of, row) && parent != ROW_NONE) {
            of->below_model[parent] |=
                of->below_model[row] | (of->models->model_of[row] != ROW_NONE && has_work(of, row));
        }
    }
}

/* ---- Gradients ---- */

/* An operator that launches GPU activity, by name and the outermost operator from which only operators lead to it. */
struct named_op {
    row_t outermost;
    uint32_t name;
    row_t row;
};

ORDER_BY(compare_named, struct named_op, ASCENDING(outermost) ASCENDING(name) ASCENDING(row))

/* Operators in the list before a name and a row. */
static row_t count_before(const struct collector *of, struct named_op key) {
    struct bisection at = {0, of->n_named};
    while (at.low < at.high)
        bisect(&at, compare_named(&of->named[bisect_middle(at)], &key) < 0);
    return (row_t)at.low;
}

/* Counts operators below an event of autograd that launch GPU activity and have the name that the event evaluates: the
 * text after ": ". */
static row_t count_backward(const struct collector *of, row_t evaluates) {
    const struct launch_model *model = of->model;
    const char *found = strstr(strings_text(model->strings, host_name(model, evaluates)), ": ");
    uint32_t name = found ? strings_find(model->strings, found + 2, strlen(found + 2)) : STRING_NONE;
    row_t outermost = of->outermost[evaluates];
    if (name == STRING_NONE)
        return 0;
    return count_before(of, (struct named_op){outermost, name, model->hosts.end[evaluates]}) -
           count_before(of, (struct named_op){outermost, name, evaluates + 1});
}

/* The model of the forward operator whose gradient a row alone computes, or ROW_NONE. */
static row_t gradient_of(struct collector *of, row_t row) {
    enum { UNKNOWN, NO, YES };
    row_t perf_model = ROW_NONE;
    for (int i = 0; i < MAX_ANCESTORS && perf_model == ROW_NONE; i++) {
        row = of->model->hosts.parent[row];
        if (row == ROW_NONE)
            return ROW_NONE;
        perf_model = of->forward[row];
    }
    if (perf_model == ROW_NONE)
        return ROW_NONE;
    if (of->sole[perf_model] == UNKNOWN)
        of->sole[perf_model] =
            !of->models->gradient_flops[of->models->costs.groups.of[perf_model]].missing && count_backward(of, row) == 1
                ? YES
                : NO;
    return of->sole[perf_model] == YES ? perf_model : ROW_NONE;
}

static void collect(struct collector *of, row_t row, enum collected_kind kind, row_t perf_model) {
    of->list[of->n_list++] = (struct collected_op){row, perf_model, ROW_NONE, (uint8_t)kind};
    const struct launch_links *links = &of->model->links;
    for (row_t i = links->first[row]; i < links->first[of->model->hosts.end[row]]; i++)
        of->covered[links->device[i]] = true;
}

/* Collects an operator if it represents its GPU activity; true: the walk continues below it. */
static bool visit(struct collector *of, row_t row) {
    if (!has_work(of, row))
        return false;
    const struct launch_links *links = &of->model->links;
    bool communicates = false;
    if (of->models->model_of[row] != ROW_NONE) {
        collect(of, row, COLLECTED_MODEL, of->models->model_of[row]);
        return false;
    }
    if (of->below_model[row])
        return true;
    row_t perf_model = gradient_of(of, row);
    if (perf_model != ROW_NONE) {
        collect(of, row, COLLECTED_GRADIENT, perf_model);
        return false;
    }
    if (!of->launches[row])
        return true;
    for (row_t i = links->first[row]; i < links->first[of->model->hosts.end[row]]; i++)
        communicates |= of->model->devices.class[links->device[i]] == DEVICE_COMMUNICATION;
    if (!communicates)
        collect(of, row, COLLECTED_LAUNCHER, ROW_NONE);
    return false;
}

static int by_start(const void *left, const void *right, void *arg) {
    const struct host_rows *hosts = *(const struct host_rows *const *)arg;
    row_t a = *(const row_t *)left, b = *(const row_t *)right;
    if (hosts->start[a] != hosts->start[b])
        return hosts->start[a] < hosts->start[b] ? -1 : 1;
    return (hosts->event[a] > hosts->event[b]) - (hosts->event[a] < hosts->event[b]);
}

/* ---- GPU activity that the walk has not collected ---- */

static row_t operator_above(const struct collector *of, const row_t *enclosing, row_t call) {
    return is_operator(of, call) ? call : enclosing[call];
}

static void add_synthetic(struct collector *of, row_t host, row_t device) {
    of->list[of->n_list++] = (struct collected_op){host, ROW_NONE, device, COLLECTED_SYNTHETIC};
}

/* Adds activity without an operator, call by call in the order of their first activity; then all other activity. */
static enum sutra_status add_synthetic_ops(struct collector *of, struct arena *arena, struct sutra_error *error) {
    const struct device_rows *devices = &of->model->devices;
    row_t n_hosts = of->model->hosts.n, n_orphans = 0, n_others = 0;
    uint8_t *marked = arena_alloc(arena, n_hosts, sizeof *marked);
    row_t *enclosing = arena_alloc(arena, n_hosts, sizeof *enclosing);
    row_t *orphan = arena_alloc(arena, devices->n, sizeof *orphan),
          *other = arena_alloc(arena, devices->n, sizeof *other);
    uint32_t *call = arena_alloc(arena, devices->n, sizeof *call);
    struct row_groups groups = {0};
    TRY(arena_status(arena, error));
    for (row_t row = 0; row < n_hosts; row++)
        marked[row] = is_operator(of, row);
    find_enclosing(of->model, marked, enclosing);
    for (row_t i = 0; i < devices->n; i++) {
        if (devices->class[i] == DEVICE_NO_WORK || devices->class[i] == DEVICE_COMMUNICATION || of->covered[i] ||
            devices->call[i] == ROW_NONE)
            continue;
        if (operator_above(of, enclosing, devices->call[i]) != ROW_NONE) {
            other[n_others++] = i;
            continue;
        }
        call[n_orphans] = devices->call[i];
        orphan[n_orphans++] = i;
    }
    TRY(row_groups_number(call, n_orphans, n_hosts, arena, &groups, error));
    for (row_t i = 0; i < n_orphans; i++)
        add_synthetic(of, call[groups.member[i]], orphan[groups.member[i]]);
    for (row_t i = 0; i < n_others; i++)
        add_synthetic(of, operator_above(of, enclosing, devices->call[other[i]]), other[i]);
    return SUTRA_OK;
}

static enum sutra_status collect_ops(const struct tracelens_input *input, struct arena *arena,
                                     struct collected_op **list, row_t *n_list, struct sutra_error *error) {
    const struct tracelens_models *models = input->models;
    const struct launch_model *model = input->model;
    const struct host_rows *hosts = &model->hosts;
    row_t n = hosts->n;
    struct collector of = {.model = model,
                           .models = models,
                           .n = n - input->n_skipped,
                           .below_model = arena_zeros(arena, n, sizeof *of.below_model),
                           .launches = arena_zeros(arena, n, sizeof *of.launches),
                           .sole = arena_zeros(arena, models->costs.n, sizeof *of.sole),
                           .forward = rows_none(arena, n),
                           .covered = arena_zeros(arena, model->devices.n, sizeof *of.covered),
                           .outermost = rows_none(arena, n),
                           .list = arena_alloc(arena, (size_t)n + model->devices.n, sizeof *of.list)};
    of.named = arena_alloc(arena, of.n, sizeof *of.named);
    row_t *roots = arena_alloc(arena, n, sizeof *roots), n_roots = 0;
    uint8_t *inside = arena_alloc(arena, n, sizeof *inside); /* by row: an operator encloses it */
    TRY(arena_status(arena, error));
    for (row_t perf_model = 0; perf_model < models->costs.n; perf_model++)
        if (models->gradient[perf_model] != ROW_NONE)
            of.forward[models->gradient[perf_model]] = perf_model;
    mark_ancestors(&of);
    for (row_t row = 0; row < of.n; row++) {
        row_t parent = hosts->parent[row];
        bool below_operator = parent != ROW_NONE && is_operator(&of, parent);
        inside[row] = below_operator || (parent != ROW_NONE && inside[parent]);
        if (!is_operator(&of, row))
            continue;
        of.outermost[row] = below_operator ? of.outermost[parent] : row;
        if (has_work(&of, row))
            of.named[of.n_named++] = (struct named_op){of.outermost[row], host_name(model, row), row};
        if (!inside[row])
            roots[n_roots++] = row;
    }
    if (of.n_named)
        qsort(of.named, of.n_named, sizeof *of.named, compare_named);
    if (n_roots)
        qsort_r(roots, n_roots, sizeof *roots, by_start, &hosts);
    for (row_t i = 0; i < n_roots; i++)
        for (row_t row = roots[i]; row < hosts->end[roots[i]];)
            row = is_operator(&of, row) && visit(&of, row) ? row + 1 : hosts->end[row];
    enum sutra_status status = add_synthetic_ops(&of, arena, error);
    *list = of.list;
    *n_list = of.n_list;
    return status;
}

/* ---- The table ---- */

struct unified {
    const struct tracelens_input *input;
    const struct launch_model *model;
    const struct tracelens_models *models;
    struct collected_op *list; /* entries */
    row_t n;
    struct op_arguments arguments;
    struct strings names; /* of synthetic entries */
    uint32_t *name;       /* by entry: a string, of `names` for synthetic entries */
    uint8_t *category;    /* by entry: enum op_category */
    row_t n_real;         /* entries before the synthetic ones */
    double *busy_us;      /* by entry */
    struct model_figures *figures;
    bool has_figures;      /* any entry has */
    row_t *first, *device; /* kernels of entries */
    struct row_groups groups;
    struct value_stats *busy; /* by group */
    enum group_order order;   /* of the groups of entries, */
    bool has_unknown_rates;   /* a rate of FLOPs or of bytes is NaN */
    bool has_unknown_bytes;
    double *scratch; /* two numbers of each entry */
};

/* The name of a synthetic entry, "operator->kernel (Synthetic Op)"; STRING_NONE: out of memory. */
static uint32_t synthetic_name(struct unified *of, const struct collected_op *op, struct buffer *text) {
    static const char ending[] = " (Synthetic Op)";
    const struct strings *strings = of->model->strings;
    uint32_t parent = host_name(of->model, op->host);
    uint32_t kernel = of->model->events->name[of->model->devices.event[op->device]];
    text->length = 0;
    buffer_append(text, strings_text(strings, parent), strings_length(strings, parent));
    buffer_append_text(text, "->");
    buffer_append(text, strings_text(strings, kernel), strings_length(strings, kernel));
    buffer_append(text, ending, sizeof ending - 1);
    return text->failed ? STRING_NONE : strings_intern(&of->names, text->bytes, text->length);
}

/* Numbers names, categories, threads and arguments. */
static enum sutra_status find_keys(struct unified *of, struct tuple *keys, struct arena *arena,
                                   struct sutra_error *error) {
    const struct thread_labels *labels = &of->models->labels;
    struct tuples threads = {0};
    struct buffer text = {0};
    of->name = arena_alloc(arena, of->n, sizeof *of->name);
    of->category = arena_alloc(arena, of->n, sizeof *of->category);
    bool ok = !arena->failed && strings_init(&of->names);
    for (row_t i = 0; i < of->n && ok; i++) {
        const struct collected_op *op = &of->list[i];
        bool synthetic = op->kind == COLLECTED_SYNTHETIC;
        const struct strings *strings = synthetic ? &of->names : of->model->strings;
        uint32_t name = synthetic ? synthetic_name(of, op, &text) : host_name(of->model, op->host);
        uint32_t thread = of->model->hosts.thread[op->host];
        uint32_t where = tuples_number(
            &threads, (struct tuple){{labels->process[thread], labels->label[thread], labels->thread[thread], 0}});
        ok = name != STRING_NONE && where != TUPLE_NONE;
        of->name[i] = name;
        of->n_real += synthetic ? 0 : 1U;
        of->category[i] = OP_SDPA_BWD;
        if (ok && op->kind != COLLECTED_GRADIENT)
            of->category[i] = (uint8_t)tracelens_category(of->model, strings, name, op->host);
        keys[i] = (struct tuple){{(value_key)name * 2 + synthetic, of->category[i], where, of->arguments.of[i]}};
    }
    tuples_free(&threads);
    buffer_free(&text);
    return ok ? SUTRA_OK : error_memory(error);
}

static bool has_model(const struct collected_op *op) {
    return op->kind == COLLECTED_MODEL || op->kind == COLLECTED_GRADIENT;
}

static const struct op_flops *flops_of(const struct unified *of, const struct collected_op *op) {
    if (!has_model(op))
        return NULL;
    const struct op_flops *flops = op->kind == COLLECTED_MODEL ? of->models->costs.flops : of->models->gradient_flops;
    flops += of->models->costs.groups.of[op->perf_model];
    return flops->missing ? NULL : flops;
}

/* Finds busy times and figures of the entries, and their kernels in the order of their calls in the file. */
static enum sutra_status find_figures(struct unified *of, struct arena *arena, struct sutra_error *error) {
    const struct device_rows *devices = &of->model->devices;
    row_t n = of->n, n_devices = 0, *hosts = arena_alloc(arena, n, sizeof *hosts);
    int64_t *ticks = arena_alloc(arena, n, sizeof *ticks);
    of->busy_us = arena_alloc(arena, n, sizeof *of->busy_us);
    of->figures = arena_alloc(arena, n, sizeof *of->figures);
    of->first = arena_alloc(arena, (size_t)n + 1, sizeof *of->first);
    of->device = arena_alloc(arena, (size_t)of->model->links.n + n, sizeof *of->device);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++)
        hosts[i] = of->list[i].host;
    TRY(launch_model_busy_time(of->model, hosts, n, arena, ticks, error));
    for (row_t i = 0; i < n; i++) {
        const struct collected_op *op = &of->list[i];
        const struct op_flops *flops = flops_of(of, op);
        if (op->kind == COLLECTED_SYNTHETIC)
            ticks[i] = devices->stop[op->device] - devices->start[op->device];
        if (op->kind == COLLECTED_GRADIENT)
            ticks[i] = of->models->gradient_busy[op->perf_model];
        of->busy_us[i] = launch_model_us(of->model, ticks[i]);
        of->figures[i] = flops
                             ? tracelens_figures(flops, of->busy_us[i])
                             : (struct model_figures){(double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
        of->has_figures |= flops != NULL;
        of->has_unknown_rates |= isnan(of->figures[i].tera_flops_per_s);
        of->has_unknown_bytes |= isnan(of->figures[i].tera_bytes_per_s);
        row_t n_below = 1;
        of->first[i] = n_devices;
        if (op->kind == COLLECTED_SYNTHETIC)
            of->device[n_devices] = op->device;
        else
            n_below = tracelens_kernels_below(of->models, op->host, KERNELS_BY_CALL, of->device + n_devices);
        TRY_ALLOC(n_below != ROW_NONE, error);
        n_devices += n_below;
    }
    of->first[n] = n_devices;
    return SUTRA_OK;
}

/* ---- Columns ---- */

/* `figures`: the column exists only if an operator has a model with known figures. */
static const struct {
    struct column_spec spec;
    bool figures;
} columns[] = {
    {TEXT("name"), false},
    {TEXT("op category"), false},
    {TEXT("process_name"), false},
    {TEXT("process_label"), false},
    {TEXT("thread_name"), false},
    {TEXT("Input Dims"), false},
    {TEXT("Input type"), false},
    {TEXT("Input Strides"), false},
    {TEXT("Concrete Inputs"), false},
    {INTEGER("ex_UID"), false},
    {INTEGER("operation_count"), false},
    {REAL("total_duration_us"), false},
    {REAL("mean_duration_us"), false},
    {REAL("std_duration_us"), false},
    {REAL("GFLOPS"), true},
    {REAL("Data Moved (MB)"), true},
    {REAL("FLOPS/Byte"), true},
    {TEXT("Compute Spec"), true},
    {REAL("TB/s_mean"), true},
    {REAL("TB/s_std"), true},
    {REAL("TFLOPS/s_mean"), true},
    {REAL("TFLOPS/s_std"), true},
    {REAL("Kernel Time (µs)_mean"), false},
    {REAL("Kernel Time (µs)_std"), false},
    {REAL("Kernel Time (µs)_sum"), false},
    {REAL("duration_us_median"), false},
    {REAL("duration_us_min"), false},
    {REAL("duration_us_max"), false},
    {REAL("TB/s_median"), true},
    {REAL("TB/s_min"), true},
    {REAL("TB/s_max"), true},
    {REAL("TFLOPS/s_median"), true},
    {REAL("TFLOPS/s_min"), true},
    {REAL("TFLOPS/s_max"), true},
    {REAL("Kernel Time (µs)_median"), false},
    {REAL("Kernel Time (µs)_min"), false},
    {REAL("Kernel Time (µs)_max"), false},
    {TEXT("kernel_details_summary"), false},
    {TEXT("trunc_kernel_details"), false},
    {TEXT("perf_params"), false},
    {TEXT("has_perf_model"), false},
    {REAL("Percentage (%)"), false},
    {REAL("Cumulative Percentage (%)"), false},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

/* ---- Rows ---- */

/* Synthetic entries are numbered after all events. */
static row_t uid_of(const struct unified *of, row_t entry) {
    return entry < of->n_real ? of->model->hosts.event[of->list[entry].host]
                              : of->model->events->n + (entry - of->n_real);
}

/* A column of the members of a group; `field` is an offset in struct model_figures. */
static struct value_stats figure_stats(const struct unified *of, const row_t *members, row_t n, size_t field) {
    for (row_t i = 0; i < n; i++)
        memcpy(&of->scratch[i], (const char *)&of->figures[members[i]] + field, sizeof(double));
    bool unknown =
        field == offsetof(struct model_figures, tera_bytes_per_s) ? of->has_unknown_bytes : of->has_unknown_rates;
    return pandas_stats(of->scratch, n, unknown ? GROUPS_MIXED : of->order, of->scratch + n);
}

static const struct model_variant *variant_of(const struct unified *of, row_t entry) {
    const struct collected_op *op = &of->list[entry];
    return flops_of(of, op) ? &of->models->variants[of->models->variant_of[op->perf_model]] : NULL;
}

static void add_quantiles(const struct value_stats *stats, struct sutra_table *table) {
    table_real(table, stats->median);
    table_number(table, stats->min);
    table_number(table, stats->max);
}

static void add_group(const struct unified *of, uint32_t group, struct arena *arena, struct sutra_table *table) {
    const struct launch_model *model = of->model;
    const row_t *members = of->groups.member + of->groups.first[group];
    row_t n = of->groups.first[group + 1] - of->groups.first[group], entry = members[0], known = entry;
    const struct collected_op *op = &of->list[entry];
    const struct value_stats *busy = &of->busy[group];
    struct value_stats bytes = figure_stats(of, members, n, offsetof(struct model_figures, tera_bytes_per_s));
    struct value_stats flops = figure_stats(of, members, n, offsetof(struct model_figures, tera_flops_per_s));
    for (row_t i = 0; i < n; i++)
        of->scratch[i] = number_as_double(number_at(model->events->dur, model->hosts.event[of->list[members[i]].host]));
    struct value_stats durations = pandas_stats(of->scratch, n, of->order, of->scratch + n);
    for (row_t i = n; i-- > 0;) /* the first member with figures, or the first member */
        known = flops_of(of, &of->list[members[i]]) ? members[i] : known;
    const struct model_variant *variant = variant_of(of, known);
    const struct kernel_lists lists = {of->first, of->device};
    const struct thread_labels *labels = &of->models->labels;
    uint32_t thread = model->hosts.thread[op->host];
    table_string(table, op->kind == COLLECTED_SYNTHETIC ? &of->names : model->strings, of->name[entry]);
    table_words(table, op_category_names[of->category[entry]]);
    table_string(table, &labels->texts, labels->process[thread]);
    table_string(table, &labels->texts, labels->label[thread]);
    table_string(table, &labels->texts, labels->thread[thread]);
    for (int argument = 0; argument < N_ARGUMENTS; argument++)
        table_string(table, &of->arguments.texts, op_argument_text(&of->arguments, (enum op_argument)argument, entry));
    table_integer(table, uid_of(of, entry));
    table_integer(table, n);
    table_number(table, durations.sum);
    table_real(table, durations.mean);
    table_real(table, durations.std);
    if (of->has_figures) {
        table_real(table, of->figures[known].giga_flops);
        table_real(table, of->figures[known].mega_bytes);
        table_real(table, of->figures[known].flops_per_byte);
        table_words(table, variant ? variant->spec : "");
        table_real(table, bytes.mean);
        table_real(table, bytes.std);
        table_real(table, flops.mean);
        table_real(table, flops.std);
    }
    table_real(table, busy->mean);
    table_real(table, busy->std);
    table_number(table, busy->sum);
    add_quantiles(&durations, table);
    if (of->has_figures) {
        add_quantiles(&bytes, table);
        add_quantiles(&flops, table);
    }
    add_quantiles(busy, table);
    tracelens_details_write(of->input, &lists, members, n, arena, table);
    table_string(table, &of->models->texts, variant ? variant->params : STRING_NONE);
    table_words(table, has_model(op) ? "True" : "False");
}

static int by_time_and_uid(const void *left, const void *right, void *arg) {
    const struct unified *of = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (of->busy[a].sum != of->busy[b].sum)
        return of->busy[a].sum > of->busy[b].sum ? -1 : 1;
    row_t entry_a = of->groups.member[of->groups.first[a]], entry_b = of->groups.member[of->groups.first[b]];
    row_t uid_a = uid_of(of, entry_a), uid_b = uid_of(of, entry_b);
    return (uid_a > uid_b) - (uid_a < uid_b);
}

static enum sutra_status make_table(struct unified *of, struct arena *arena, struct sutra_operators *operators,
                                    struct sutra_error *error) {
    static const char *const durations[] = {"total_duration_us", "duration_us_min", "duration_us_max", NULL};
    static const char *const times[] = {"Kernel Time (µs)_sum", "Kernel Time (µs)_min", "Kernel Time (µs)_max", NULL};
    const struct launch_model *model = of->model;
    uint32_t n = of->groups.n, *order = arena_alloc(arena, n, sizeof *order);
    double *sums = arena_alloc(arena, n, sizeof *sums), so_far = 0;
    of->busy = arena_alloc(arena, n, sizeof *of->busy);
    of->scratch = arena_alloc(arena, (size_t)of->n * 2, sizeof *of->scratch);
    TRY(arena_status(arena, error));
    of->order = pandas_group_order(of->groups.of, of->n, NULL);
    for (uint32_t g = 0; g < n; g++) {
        row_t first = of->groups.first[g], n_members = of->groups.first[g + 1] - first;
        for (row_t i = 0; i < n_members; i++)
            of->scratch[i] = of->busy_us[of->groups.member[first + i]];
        of->busy[g] = pandas_stats(of->scratch, n_members, of->order, of->scratch + n_members);
        order[g] = g;
    }
    if (n)
        qsort_r(order, n, sizeof *order, by_time_and_uid, of);
    for (uint32_t i = 0; i < n; i++)
        sums[i] = of->busy[order[i]].sum;
    double all = numpy_sum(sums, n);
    struct column_spec specs[N_COLUMNS];
    uint32_t n_columns = 0;
    for (int i = 0; i < N_COLUMNS; i++)
        if (of->has_figures || !columns[i].figures)
            specs[n_columns++] = columns[i].spec;
    struct sutra_table *table = result_table_begin_with(&operators->result, SUTRA_TRACELENS_UNIFIED, specs, n_columns);
    bool integers = true;
    for (row_t i = 0; i < of->n; i++)
        integers &= !number_is_double(number_at(model->events->dur, model->hosts.event[of->list[i].host]));
    if (integers)
        tracelens_retype_integers(table, durations);
    if (of->input->integer_times)
        tracelens_retype_integers(table, times);
    for (uint32_t i = 0; i < n; i++) {
        double share = sums[i] / all * 100;
        add_group(of, order[i], arena, table);
        table_real(table, share);
        table_real(table, so_far += share);
    }
    return SUTRA_OK;
}

enum sutra_status tracelens_unified(const struct tracelens_input *input, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    struct unified of = {.input = input, .model = input->model, .models = input->models};
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status = collect_ops(input, arena, &of.list, &of.n, error);
    row_t *hosts = status ? NULL : arena_alloc(arena, of.n, sizeof *hosts);
    struct tuple *keys = status ? NULL : arena_alloc(arena, of.n, sizeof *keys);
    if (!status)
        status = arena_status(arena, error);
    for (row_t i = 0; i < of.n && !status; i++)
        hosts[i] = of.list[i].host;
    if (!status)
        status = op_arguments_read(input->context, of.model, hosts, of.n, arena, &of.arguments, error);
    if (!status)
        status = find_keys(&of, keys, arena, error);
    if (!status)
        status = row_groups_make(keys, of.n, arena, &of.groups, error);
    if (!status)
        status = find_figures(&of, arena, error);
    if (!status)
        status = make_table(&of, arena, operators, error);
    op_arguments_free(&of.arguments);
    strings_free(&of.names);
    arena_release(arena, mark);
    return status;
}
