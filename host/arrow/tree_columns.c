/*
 * tree_columns.c - call trees and correlations as columns. Arrays of the tree are not copied; their columns hold a
 * reference.
 */
#include "tree/tree.h"

#include <stdlib.h>
#include <string.h>

#include "arrow/makers.h"
#include "columns/column.h"

static void leave_tree(void *tree) {
    sutra_tree_free(tree);
}

struct tree_source {
    const struct sutra_tree *tree;
    struct column_owner owner;
    const row_t *row; /* of the profile, by position */
};

/* ---- Columns of the tree ---- */

enum tree_time { TREE_START, TREE_END, TREE_HOST, TREE_HOST_SELF, TREE_DEVICE, TREE_DEVICE_SELF };

static void make_times(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct tree_source *source = of;
    const int64_t *by_column[] = {
        [TREE_END] = source->tree->end,
        [TREE_HOST] = source->tree->host,
        [TREE_HOST_SELF] = source->tree->host_self,
        [TREE_DEVICE] = source->tree->device,
        [TREE_DEVICE_SELF] = source->tree->device_self,
    };
    const int64_t *times = by_column[maker->which];
    struct batch_values values = values_held(times, &source->owner);
    if (maker->which == TREE_END)
        values.valid = valid_new(batch->n_rows);
    for (uint64_t i = 0; i < batch->n_rows && maker->which == TREE_END && !values.valid.failed; i++)
        valid_append(&values.valid, i, times[i] != SUTRA_NO_END);
    batch_values(batch, maker->name, "l", "ns", values);
}

static void make_depth(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct tree_source *source = of;
    batch_values(batch, maker->name, "I", NULL, values_held(source->tree->depth, &source->owner));
}

static void make_parent(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct tree_source *source = of;
    struct batch_values values = values_held(source->tree->parent, &source->owner);
    values.valid = valid_new(batch->n_rows);
    for (uint64_t i = 0; i < batch->n_rows && !values.valid.failed; i++)
        valid_append(&values.valid, i, source->tree->parent[i] != ROW_NONE);
    batch_values(batch, maker->name, "I", NULL, values);
}

/* ---- Columns of the profile, by position ---- */

enum tree_number { TREE_EVENT, TREE_THREAD };

static void make_numbers(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct tree_source *source = of;
    const struct sutra_profile *profile = source->tree->profile;
    uint32_t *made = column_new(batch->n_rows, sizeof *made);
    for (uint64_t i = 0; i < batch->n_rows && made; i++)
        made[i] = maker->which == TREE_EVENT ? profile->event[source->row[i]] : profile->thread[source->row[i]];
    batch_values(batch, maker->name, "I", NULL, (struct batch_values){.data = made});
}

static void make_start(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct tree_source *source = of;
    int64_t *made = column_new(batch->n_rows, sizeof *made);
    for (uint64_t i = 0; i < batch->n_rows && made; i++)
        made[i] = source->tree->profile->start[source->row[i]];
    batch_values(batch, maker->name, "l", "ns", (struct batch_values){.data = made});
}

static void make_names(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct tree_source *source = of;
    const struct sutra_profile *profile = source->tree->profile;
    uint32_t *names = column_new(batch->n_rows, sizeof *names);
    for (uint64_t i = 0; i < batch->n_rows && names; i++)
        names[i] = profile->name[source->row[i]];
    batch_strings(batch, maker->name, names, profile->strings);
    free(names);
}

static void make_kinds(const void *of, const struct column_maker *maker, struct batch *batch) {
    static const char *const words[] = {
        [SUTRA_EVENT_OPERATOR] = "operator",       [SUTRA_EVENT_BACKEND] = "backend",
        [SUTRA_EVENT_ALLOCATION] = "allocation",   [SUTRA_EVENT_OUT_OF_MEMORY] = "out_of_memory",
        [SUTRA_EVENT_PYTHON_CALL] = "python_call", [SUTRA_EVENT_PYTHON_C_CALL] = "python_c_call",
        [SUTRA_EVENT_KINETO] = "kineto",
    };
    const struct tree_source *source = of;
    uint8_t *numbers = column_new(batch->n_rows, sizeof *numbers);
    for (uint64_t i = 0; i < batch->n_rows && numbers; i++)
        numbers[i] = source->tree->profile->kind[source->row[i]];
    batch_words(batch, maker->name, numbers, words, sizeof words / sizeof *words);
    free(numbers);
}

static const struct column_maker tree_makers[] = {
    {"event", make_numbers, TREE_EVENT, false},
    {"name", make_names, 0, false},
    {"kind", make_kinds, 0, false},
    {"parent", make_parent, 0, false},
    {"depth", make_depth, 0, false},
    {"start_ns", make_start, 0, false},
    {"end_ns", make_times, TREE_END, false},
    {"host_ns", make_times, TREE_HOST, false},
    {"host_self_ns", make_times, TREE_HOST_SELF, false},
    {"device_ns", make_times, TREE_DEVICE, false},
    {"device_self_ns", make_times, TREE_DEVICE_SELF, false},
    {"thread", make_numbers, TREE_THREAD, false},
};

enum sutra_status sutra_tree_arrow(struct sutra_context *context, const struct sutra_tree *tree,
                                   const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                   struct sutra_error *error) {
    static const struct column_set set = COLUMN_SET(tree_makers, NULL);
    struct sutra_tree_columns columns = {.size = sizeof columns};
    sutra_tree_columns(tree, &columns);
    struct batch batch = {.n_rows = columns.n};
    struct sutra_tree *owner = (struct sutra_tree *)tree;
    struct tree_source source = {tree, {owner, &owner->holders, leave_tree}, columns.row};
    stage_begin(context, "columns", batch.n_rows);
    enum sutra_status status = columns_stream(NULL, &set, &source, options, &batch, stream, error);
    stage_end(context);
    return status;
}

/* ---- Correlations ---- */

enum pair_sort { PAIR_FWDBWD, PAIR_LAUNCH, PAIR_OPERATOR };

struct event_pair {
    row_t from, to; /* rows of the profile */
    uint64_t flow;
    uint8_t kind; /* enum pair_sort */
};

struct pair_source {
    const struct sutra_profile *profile;
    struct event_pair *pairs;
};

static uint64_t n_pairs_of(const struct sutra_correlation *correlation) {
    return correlation->n_fwdbwd + correlation->launches.n + correlation->operators.n;
}

static struct event_pair *list_pairs(const struct sutra_correlation *correlation) {
    struct event_pair *made = column_new(n_pairs_of(correlation), sizeof *made), *at = made;
    for (uint64_t i = 0; i < correlation->n_fwdbwd && made; i++) {
        const struct sutra_flow_pair *pair = &correlation->fwdbwd[i];
        *at++ = (struct event_pair){pair->forward, pair->backward, pair->flow_id, PAIR_FWDBWD};
    }
    for (row_t i = 0; i < correlation->launches.n && made; i++)
        *at++ =
            (struct event_pair){correlation->launches.list[i].from, correlation->launches.list[i].to, 0, PAIR_LAUNCH};
    for (row_t i = 0; i < correlation->operators.n && made; i++)
        *at++ = (struct event_pair){correlation->operators.list[i].from, correlation->operators.list[i].to, 0,
                                    PAIR_OPERATOR};
    return made;
}

static void make_pair_kinds(const void *of, const struct column_maker *maker, struct batch *batch) {
    static const char *const words[] = {"fwdbwd", "launch", "operator"};
    const struct pair_source *source = of;
    uint8_t *numbers = column_new(batch->n_rows, sizeof *numbers);
    for (uint64_t i = 0; i < batch->n_rows && numbers; i++)
        numbers[i] = source->pairs[i].kind;
    batch_words(batch, maker->name, numbers, words, sizeof words / sizeof *words);
    free(numbers);
}

enum pair_end { PAIR_FROM, PAIR_TO };

static void make_pair_events(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct pair_source *source = of;
    uint32_t *made = column_new(batch->n_rows, sizeof *made);
    for (uint64_t i = 0; i < batch->n_rows && made; i++)
        made[i] = source->profile->event[maker->which == PAIR_FROM ? source->pairs[i].from : source->pairs[i].to];
    batch_values(batch, maker->name, "I", NULL, (struct batch_values){.data = made});
}

static void make_flows(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct pair_source *source = of;
    uint64_t *made = column_new(batch->n_rows, sizeof *made);
    struct batch_values values = {.data = made, .valid = valid_new(batch->n_rows)};
    for (uint64_t i = 0; i < batch->n_rows && made && !values.valid.failed; i++) {
        made[i] = source->pairs[i].flow;
        valid_append(&values.valid, i, source->pairs[i].kind == PAIR_FWDBWD);
    }
    batch_values(batch, maker->name, "l", NULL, values);
}

static const struct column_maker pair_makers[] = {
    {"kind", make_pair_kinds, 0, false},
    {"from_event", make_pair_events, PAIR_FROM, false},
    {"to_event", make_pair_events, PAIR_TO, false},
    {"flow_id", make_flows, 0, false},
};

enum sutra_status sutra_correlation_arrow(struct sutra_context *context, const struct sutra_correlation *correlation,
                                          const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                          struct sutra_error *error) {
    static const struct column_set set = COLUMN_SET(pair_makers, NULL);
    struct batch batch = {.n_rows = n_pairs_of(correlation)};
    stage_begin(context, "columns", batch.n_rows);
    struct pair_source source = {correlation->profile, list_pairs(correlation)};
    batch.failed = !source.pairs;
    enum sutra_status status = columns_stream(NULL, &set, &source, options, &batch, stream, error);
    stage_end(context);
    free(source.pairs);
    return status;
}
