/*
 * sums.c - implements sums.h: sums of one trace by operator, shapes, kernel and collective, and their join over ranks.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "analyze/collective_matches.h"
#include "analyze/launches/arguments.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "compare/sums.h"
#include "text/names.h"

/* ---- Sums by key, O(1) per GPU activity ---- */

void spread_add(struct spread *spread, double value) {
    double apart = value - spread->mean;
    spread->n++;
    spread->mean += apart / spread->n;
    spread->squares += apart * (value - spread->mean);
}

static void spread_join(struct spread *spread, const struct spread *other) {
    double n = spread->n + other->n, apart = other->mean - spread->mean;
    if (other->n == 0)
        return;
    spread->squares += other->squares + apart * apart * spread->n * other->n / n;
    spread->mean += apart * other->n / n;
    spread->n = n;
}

double spread_error(const struct spread *spread, double n) {
    struct spread all = *spread;
    spread_join(&all, &(struct spread){.n = n - spread->n});
    return n > 1 ? all.squares / (n - 1) / n : (double)NAN;
}

/* The sum of a key, TUPLE_NONE: out of memory. */
static uint32_t ledger_key(struct ledger *ledger, struct tuple key) {
    uint32_t n_known = ledger->keys.n, number = tuples_number(&ledger->keys, key);
    if (number == TUPLE_NONE || !column_grow(&ledger->sums, number, &ledger->capacity, sizeof *ledger->sums))
        return TUPLE_NONE;
    if (number == n_known)
        ledger->sums[number] = (struct ledger_sum){0};
    return number;
}

/* Ends the current sample. */
static void flush(struct ledger_sum *sum) {
    if (sum->sample)
        spread_add(&sum->samples, (double)sum->device_now);
    sum->sample = 0;
    sum->device_now = 0;
}

/* Adds GPU activity of a sample; the activities of one sample are added consecutively. */
static void ledger_add(struct ledger *ledger, uint32_t key, row_t sample, int64_t ns) {
    struct ledger_sum *sum = &ledger->sums[key];
    if (sum->sample != sample + 1)
        flush(sum);
    sum->sample = sample + 1;
    sum->device_now += ns;
    sum->device += ns;
}

/* Adds a sum to the sum of a key. False: out of memory. */
static bool ledger_join(struct ledger *ledger, struct tuple key, const struct ledger_sum *sum) {
    uint32_t number = ledger_key(ledger, key);
    if (number == TUPLE_NONE)
        return false;
    struct ledger_sum *to = &ledger->sums[number];
    to->calls += sum->calls;
    to->device += sum->device;
    to->host += sum->host;
    to->n_met += sum->n_met;
    to->wait += sum->wait;
    spread_join(&to->samples, &sum->samples);
    return true;
}

/*
 * ---- Collectives: name, data type, elements and group size ----
 *
 * The kernels' arguments record these values; a kernel without arguments is identified by its name. O(events).
 */

static uint32_t text_in(struct part_work *work, const struct collective_calls *calls, uint32_t text) {
    return strings_intern(&work->part->texts, strings_text(&calls->strings, text),
                          strings_length(&calls->strings, text));
}

static uint32_t collective_key_of(struct part_work *work, const struct collective_calls *calls,
                                  const struct collective_call *call) {
    uint32_t what = text_in(work, calls, call->what), type = text_in(work, calls, call->type);
    int64_t n = MAX(call->n_in, call->n_out);
    if (what == STRING_NONE || type == STRING_NONE)
        return TUPLE_NONE;
    return ledger_key(&work->side->ledgers[LEDGER_COLLECTIVES],
                      (struct tuple){{what, type, n, calls->groups[call->group].size}});
}

/* Finds the key of each GPU activity that is a collective; TUPLE_NONE for others. */
static enum sutra_status part_collectives_find(struct part_work *work, uint32_t *keys, struct sutra_error *error) {
    const struct device_rows *devices = &work->model.devices;
    struct collective_calls *calls = &work->side->calls;
    row_t *row_of = rows_none(&work->scratch, work->model.events->n);
    calls->keep_unrecorded = true;
    TRY_ALLOC(row_of, error);
    TRY(collective_calls_read(calls, work->context, work->trace, work->options->rank, error));
    for (row_t i = 0; i < devices->n; i++) {
        keys[i] = TUPLE_NONE;
        row_of[devices->event[i]] = i;
    }
    for (uint64_t i = 0; i < calls->n; i++) {
        row_t row = row_of[calls->list[i].event];
        if (row != ROW_NONE && (keys[row] = collective_key_of(work, calls, &calls->list[i])) == TUPLE_NONE)
            return error_memory(error);
    }
    /* Keep the calls in steps whose group is known. */
    uint64_t n = 0;
    for (uint64_t i = 0; i < calls->n; i++) {
        row_t row = row_of[calls->list[i].event];
        if (row != ROW_NONE && work->device_sample[row] != ROW_NONE && calls->groups[calls->list[i].group].size > 1)
            calls->list[n++] = calls->list[i];
    }
    calls->n = n;
    return SUTRA_OK;
}

/*
 * ---- Wait time of ranks in collectives ----
 *
 * The rank that arrives last at a collective does not wait, so its call is the shortest. The excess duration of the
 * other ranks' calls is their wait time, which needs no common clock. Cost: O(n log n) in calls.
 */

static int64_t duration_of(const struct collective_call *call) {
    return moment_minus(call->end_ns, call->start_ns);
}

/* The sum that includes the call, or NULL. */
static struct ledger_sum *sum_of(const struct part *whole, int side, const struct collective_call *call) {
    const struct collective_calls *calls = &whole->sides[side].calls;
    const struct ledger *ledger = &whole->sides[side].ledgers[LEDGER_COLLECTIVES];
    const uint32_t names[] = {call->what, call->type};
    uint32_t texts[2];
    for (int i = 0; i < 2; i++)
        texts[i] = strings_find(&whole->texts, strings_text(&calls->strings, names[i]),
                                strings_length(&calls->strings, names[i]));
    const int64_t n = MAX(call->n_in, call->n_out);
    const uint32_t number =
        tuples_find(&ledger->keys, (struct tuple){{texts[0], texts[1], n, calls->groups[call->group].size}});
    return number == TUPLE_NONE ? NULL : &ledger->sums[number];
}

static void add_waits(const struct part *whole, int side, const struct collective_matches *matches,
                      const struct collective_match *match) {
    const struct collective_calls *calls = &whole->sides[side].calls;
    int64_t shortest = INT64_MAX;
    for (row_t i = 0; i < match->n; i++) {
        const int64_t ns = duration_of(collective_match_call(calls, matches, match, i));
        shortest = MIN(ns, shortest);
    }
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(calls, matches, match, i);
        struct ledger_sum *sum = sum_of(whole, side, call);
        if (!sum)
            continue;
        sum->n_met++;
        sum->wait += moment_minus(duration_of(call), shortest);
    }
}

enum sutra_status collective_waits_find(struct part *whole, int side, struct sutra_error *error) {
    const struct collective_calls *calls = &whole->sides[side].calls;
    struct arena arena = {0};
    struct collective_matches matches;
    enum sutra_status status = calls->n ? collective_matches_find(calls, &arena, &matches, error) : SUTRA_OK;
    for (row_t m = 0; calls->n && !status && m < matches.n; m++)
        if (matches.list[m].n > 1)
            add_waits(whole, side, &matches, &matches.list[m]);
    arena_free(&arena);
    return status;
}

bool part_init(struct part *part) {
    *part = (struct part){0};
    return strings_init(&part->texts) && strings_intern(&part->texts, "", 0) == 0 &&
           collective_calls_init(&part->sides[0].calls) && collective_calls_init(&part->sides[1].calls) &&
           path_fold_init(&part->sides[0].fold) && path_fold_init(&part->sides[1].fold);
}

void part_free(struct part *part) {
    strings_free(&part->texts);
    tuples_free(&part->paths);
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < N_LEDGERS; k++) {
            tuples_free(&part->sides[side].ledgers[k].keys);
            free(part->sides[side].ledgers[k].sums);
            part->sides[side].ledgers[k] = (struct ledger){0};
        }
        path_fold_free(&part->sides[side].fold);
        collective_calls_free(&part->sides[side].calls);
    }
    *part = (struct part){0};
}

/* ---- Texts ---- */

/* The text of a name, renamed on side A if requested. STRING_NONE: out of memory. */
static uint32_t text_of_name(struct part_work *work, const char *name, size_t length) {
    const struct sutra_diff_options *diff = &work->options->diff;
    for (size_t i = 0; i < diff->n_renames && work->options->side == 0; i++)
        if (strlen(diff->renames[i].from) == length && memcmp(diff->renames[i].from, name, length) == 0)
            return strings_intern(&work->part->texts, diff->renames[i].to, strlen(diff->renames[i].to));
    return strings_intern(&work->part->texts, name, length);
}

/* Interns the names of operators, and the short names of kernels. */
static enum sutra_status make_texts(struct part_work *work, struct sutra_error *error) {
    const struct launch_model *model = &work->model;
    uint32_t n = model->strings->n;
    char reduced[KERNEL_NAME_MAX];
    work->host_text = arena_alloc(&work->arena, n, sizeof *work->host_text);
    work->work_text = arena_alloc(&work->arena, n, sizeof *work->work_text);
    TRY(arena_status(&work->arena, error));
    for (uint32_t string = 0; string < n; string++)
        work->host_text[string] = work->work_text[string] = STRING_NONE;
    for (row_t row = 0; row < model->hosts.n; row++) {
        uint32_t string = host_name(model, row);
        if (work->host_text[string] == STRING_NONE)
            work->host_text[string] =
                text_of_name(work, strings_text(model->strings, string), strings_length(model->strings, string));
        TRY_ALLOC(work->host_text[string] != STRING_NONE, error);
    }
    for (row_t i = 0; i < model->devices.n; i++) {
        uint32_t string = model->events->name[model->devices.event[i]];
        if (work->work_text[string] != STRING_NONE)
            continue;
        const char *name = strings_text(model->strings, string);
        if (kernel_name_reduce(name, reduced))
            name = reduced;
        work->work_text[string] = text_of_name(work, name, strlen(name));
        TRY_ALLOC(work->work_text[string] != STRING_NONE, error);
    }
    return SUTRA_OK;
}

/* Texts and keys in the ledgers of attributed rows: operators and calls that GPU activity is attributed to. */
struct attributed {
    uint32_t *dims, *types;
    uint32_t *operators, *shapes;
    uint32_t no_operator[2]; /* keys of unattributed GPU activity */
    uint32_t *collectives;   /* by row of devices */
};

static enum sutra_status make_shapes(struct part_work *work, struct attributed *keys, struct sutra_error *error) {
    const struct attribution_table *attributions = &work->model.attributions;
    struct op_arguments arguments = {0};
    struct strings *to = &work->part->texts;
    keys->dims = arena_alloc(&work->arena, attributions->n, sizeof *keys->dims);
    keys->types = arena_alloc(&work->arena, attributions->n, sizeof *keys->types);
    enum sutra_status status = arena_status(&work->arena, error);
    if (!status)
        status = op_arguments_read(work->context, &work->model, attributions->host, attributions->n, &work->scratch,
                                   &arguments, error);
    uint32_t *joined = status ? NULL : strings_join(to, &arguments.texts);
    for (row_t i = 0; i < attributions->n && joined; i++) {
        keys->dims[i] = joined[op_argument_text(&arguments, ARGUMENT_DIMS, i)];
        keys->types[i] = joined[op_argument_text(&arguments, ARGUMENT_TYPES, i)];
    }
    if (!status && !joined)
        status = error_memory(error);
    free(joined);
    op_arguments_free(&arguments);
    work->shapes_text = keys->dims;
    return status;
}

/* ---- Sums ---- */

static struct tuple operator_key(const struct part_work *work, row_t host) {
    bool is_operator = work->model.hosts.kind[host] == HOST_OPERATOR;
    return (struct tuple){{work->host_text[host_name(&work->model, host)], is_operator ? KIND_OPERATOR : KIND_CALL}};
}

static enum sutra_status find_keys(struct part_work *work, struct attributed *keys, struct sutra_error *error) {
    const struct attribution_table *attributions = &work->model.attributions;
    struct ledger *ledgers = work->side->ledgers;
    uint32_t text = strings_intern(&work->part->texts, "(no operator)", strlen("(no operator)"));
    keys->operators = arena_alloc(&work->scratch, attributions->n, sizeof *keys->operators);
    keys->shapes = arena_alloc(&work->scratch, attributions->n, sizeof *keys->shapes);
    keys->collectives = arena_alloc(&work->scratch, work->model.devices.n, sizeof *keys->collectives);
    TRY_ALLOC(!work->scratch.failed && text != STRING_NONE, error);
    for (row_t i = 0; i < attributions->n; i++) {
        struct tuple key = operator_key(work, attributions->host[i]);
        keys->operators[i] = ledger_key(&ledgers[LEDGER_OPERATORS], key);
        key.part[2] = keys->dims[i];
        key.part[3] = keys->types[i];
        keys->shapes[i] = ledger_key(&ledgers[LEDGER_SHAPES], key);
        TRY_ALLOC(keys->operators[i] != TUPLE_NONE && keys->shapes[i] != TUPLE_NONE, error);
    }
    for (int k = 0; k < 2; k++) {
        keys->no_operator[k] = ledger_key(&ledgers[k], (struct tuple){{text, KIND_UNATTRIBUTED}});
        TRY_ALLOC(keys->no_operator[k] != TUPLE_NONE, error);
    }
    return SUTRA_OK;
}

static bool add_activity(struct part_work *work, const struct attributed *keys, row_t device) {
    const struct device_rows *devices = &work->model.devices;
    struct ledger *ledgers = work->side->ledgers;
    row_t sample = work->device_sample[device];
    row_t launcher = devices->launcher[device];
    row_t attribution = launcher == ROW_NONE ? ROW_NONE : work->model.attributions.of_host[launcher];
    int64_t ns = devices->stop[device] - devices->start[device];
    uint32_t string = work->model.events->name[devices->event[device]];
    uint32_t kernel =
        ledger_key(&ledgers[LEDGER_KERNELS], (struct tuple){{work->work_text[string], devices->class[device]}});
    if (kernel == TUPLE_NONE)
        return false;
    ledger_add(&ledgers[LEDGER_KERNELS], kernel, sample, ns);
    ledgers[LEDGER_KERNELS].sums[kernel].calls++;
    ledger_add(&ledgers[LEDGER_OPERATORS],
               attribution == ROW_NONE ? keys->no_operator[0] : keys->operators[attribution], sample, ns);
    ledger_add(&ledgers[LEDGER_SHAPES], attribution == ROW_NONE ? keys->no_operator[1] : keys->shapes[attribution],
               sample, ns);
    if (keys->collectives[device] != TUPLE_NONE) {
        ledger_add(&ledgers[LEDGER_COLLECTIVES], keys->collectives[device], sample, ns);
        ledgers[LEDGER_COLLECTIVES].sums[keys->collectives[device]].calls++;
    }
    for (int k = 0; k < 2 && attribution == ROW_NONE; k++)
        ledgers[k].sums[keys->no_operator[k]].calls++;
    work->side->device_ns += ns;
    return true;
}

static enum sutra_status add_activities(struct part_work *work, const struct attributed *keys,
                                        struct sutra_error *error) {
    const struct device_rows *devices = &work->model.devices;
    row_t *first = arena_alloc(&work->scratch, (size_t)work->n_windows + 2, sizeof *first);
    row_t *order = arena_alloc(&work->scratch, devices->n, sizeof *order);
    TRY(arena_status(&work->scratch, error));
    rows_by_sample(work->device_sample, NULL, devices->n, work->n_windows, first, order);
    for (row_t sample = 0; sample < work->n_windows; sample++) {
        wide_t before = work->side->device_ns;
        for (row_t i = first[sample]; i < first[sample + 1]; i++)
            TRY_ALLOC(add_activity(work, keys, order[i]), error);
        spread_add(&work->side->device, (double)(work->side->device_ns - before));
    }
    for (row_t i = 0; i < devices->n; i++)
        if (work->device_sample[i] == ROW_NONE)
            work->side->outside_ns += devices->stop[i] - devices->start[i];
    for (int k = 0; k < N_LEDGERS; k++) {
        /* End the last samples. */
        for (uint32_t key = 0; key < work->side->ledgers[k].keys.n; key++)
            flush(&work->side->ledgers[k].sums[key]);
    }
    return SUTRA_OK;
}

/* Counts the calls of operators, and their CPU self time: an operator loses the time during which a nested operator
 * runs. */
static enum sutra_status add_hosts(struct part_work *work, const struct attributed *keys, struct sutra_error *error) {
    const struct launch_model *model = &work->model;
    const struct host_rows *hosts = &model->hosts;
    struct ledger *ledgers = work->side->ledgers;
    uint32_t *key_of = arena_alloc(&work->scratch, hosts->n, sizeof *key_of);
    TRY(arena_status(&work->scratch, error));
    for (row_t row = 0; row < hosts->n; row++) {
        row_t attribution = model->attributions.of_host[row];
        bool is_operator = hosts->kind[row] == HOST_OPERATOR;
        key_of[row] = TUPLE_NONE;
        if (work->host_sample[row] == ROW_NONE || (!is_operator && attribution == ROW_NONE))
            continue;
        key_of[row] = ledger_key(&ledgers[LEDGER_OPERATORS], operator_key(work, row));
        TRY_ALLOC(key_of[row] != TUPLE_NONE, error);
        struct ledger_sum *sum = &ledgers[LEDGER_OPERATORS].sums[key_of[row]];
        sum->calls++;
        if (attribution != ROW_NONE)
            ledgers[LEDGER_SHAPES].sums[keys->shapes[attribution]].calls++;
        if (!is_operator)
            continue;
        sum->host += hosts->stop[row] - hosts->start[row];
        row_t above = hosts->around[row];
        if (above != ROW_NONE && key_of[above] != TUPLE_NONE) {
            int64_t end = MIN(hosts->stop[above], hosts->stop[row]);
            ledgers[LEDGER_OPERATORS].sums[key_of[above]].host -= end - hosts->start[row];
        }
    }
    return SUTRA_OK;
}

static enum sutra_status make_sums(struct part_work *work, struct sutra_error *error) {
    struct attributed keys;
    struct arena_mark mark = arena_mark(&work->scratch);
    TRY(make_shapes(work, &keys, error));
    TRY(find_keys(work, &keys, error));
    TRY(part_collectives_find(work, keys.collectives, error));
    TRY(add_hosts(work, &keys, error));
    TRY(add_activities(work, &keys, error));
    arena_release(&work->scratch, mark);
    return SUTRA_OK;
}

/* ---- Making a part ---- */

static enum sutra_status fill_part(struct part_work *work, struct sutra_error *error) {
    const struct sutra_diff_options *diff = &work->options->diff;
    const struct sutra_restriction restriction = {.size = sizeof restriction,
                                                  .step = diff->step[work->options->side],
                                                  .from_us = diff->from_us,
                                                  .to_us = diff->to_us,
                                                  .name = diff->name,
                                                  .stream = diff->stream,
                                                  .category = diff->category};
    TRY(launch_model_build(work->context, work->trace, 0, &work->arena, &work->scratch, &work->model, error));
    launch_model_warn(work->context, &work->model);
    TRY(restrict_launch_model(work->context, &restriction, &work->model, &work->arena, &work->scratch, error));
    TRY(step_windows_find(work, error));
    TRY(make_texts(work, error));
    TRY(make_sums(work, error));
    return path_steps_make(work, error);
}

enum sutra_status part_make(struct sutra_context *context, const struct sutra_device_trace *trace,
                            const struct part_options *options, struct part *part, struct sutra_error *error) {
    struct part_work work = {
        .context = context, .trace = trace, .options = options, .part = part, .side = &part->sides[options->side]};
    context_choose_engine(context, NO_MATCHING);
    stage_begin(context, "analyze", trace->events.n);
    enum sutra_status status = fill_part(&work, error);
    stage_end(context);
    arena_free(&work.arena);
    arena_free(&work.scratch);
    return status;
}

/* ---- Joining ---- */

const bool ledger_key_texts[N_LEDGERS][4] = {[LEDGER_OPERATORS] = {true},
                                             [LEDGER_SHAPES] = {true, false, true, true},
                                             [LEDGER_KERNELS] = {true},
                                             [LEDGER_COLLECTIVES] = {true, true}};

static bool join_ledger(struct ledger *to, const struct ledger *from, const bool is_text[4], const uint32_t *texts) {
    for (uint32_t number = 0; number < from->keys.n; number++) {
        struct tuple key = from->keys.list[number];
        for (int i = 0; i < 4; i++)
            if (is_text[i])
                key.part[i] = texts[key.part[i]];
        if (!ledger_join(to, key, &from->sums[number]))
            return false;
    }
    return true;
}

/* The numbers of paths in the whole + 1, by number in the part + 1. NULL: out of memory. */
static uint32_t *join_paths(struct part *whole, const struct part *part, const uint32_t *texts) {
    uint32_t *paths = calloc((size_t)part->paths.n + 1, sizeof *paths);
    for (uint32_t i = 0; i < part->paths.n && paths; i++) {
        const struct tuple *path = &part->paths.list[i];
        uint32_t number =
            tuples_number(&whole->paths, (struct tuple){{paths[path->part[0]], texts[path->part[1]], 0, 0}});
        if (number == TUPLE_NONE) {
            free(paths);
            return NULL;
        }
        paths[i + 1] = number + 1;
    }
    return paths;
}

static bool join_tree(struct part *whole, const struct path_fold *fold, int side, const uint32_t *texts,
                      const uint32_t *paths) {
    struct arena scratch = {0};
    struct path_tree tree = path_fold_tree(fold, &scratch);
    for (row_t i = 0; i < tree.n; i++) {
        struct path_node *node = &tree.nodes[i];
        node->name[side] = texts[node->name[side]];
        node->path[side] = paths[node->path[side]];
        if (node->kind != PATH_WORK)
            node->shapes = texts[node->shapes];
    }
    bool ok = !scratch.failed && path_fold_add(&whole->sides[side].fold, &tree, side, &scratch);
    arena_free(&scratch);
    return ok;
}

enum sutra_status part_join(struct part *whole, const struct part *part, int side, struct sutra_error *error) {
    const struct part_side *from = &part->sides[side];
    struct part_side *to = &whole->sides[side];
    uint32_t *texts = strings_join(&whole->texts, &part->texts);
    uint32_t *paths = texts ? join_paths(whole, part, texts) : NULL;
    bool ok = paths;
    for (int k = 0; k < N_LEDGERS && ok; k++)
        ok = join_ledger(&to->ledgers[k], &from->ledgers[k], ledger_key_texts[k], texts);
    ok = ok && join_tree(whole, &from->fold, side, texts, paths) && collective_calls_append(&to->calls, &from->calls);
    to->n_samples += from->n_samples;
    to->has_steps |= from->has_steps;
    to->device_ns += from->device_ns;
    to->outside_ns += from->outside_ns;
    spread_join(&to->device, &from->device);
    for (int part_of = 0; part_of < N_DIFF_PARTS; part_of++) {
        to->parts_ns[part_of] += from->parts_ns[part_of];
        spread_join(&to->parts[part_of], &from->parts[part_of]);
    }
    free(texts);
    free(paths);
    return ok ? SUTRA_OK : error_memory(error);
}
