/*
 * correlation.c - sutra_correlation_...(): pairs of forward and backward operators; GPU operators with their launches
 * and with the operators that these ran in.
 *
 * The operator of a launch is the nearest one above it in the call tree. O(n) but for sorting.
 */
#include "tree/correlation.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/options.h"
#include "text/counted.h"
#include "tree/tree.h"

void sutra_correlation_free(struct sutra_correlation *correlation) {
    if (!correlation)
        return;
    arena_free(&correlation->arena);
    free(correlation);
}

static enum sutra_status find_fwdbwd(struct sutra_correlation *correlation, struct sutra_context *context,
                                     enum sutra_torch_version torch_version, struct sutra_error *error) {
    const struct sutra_profile *profile = correlation->profile;
    const struct sutra_sequence_columns operators = {.n = profile->n,
                                                     .tid = profile->tid,
                                                     .forward_tid = profile->forward_tid,
                                                     .sequence = profile->sequence,
                                                     .start_ns = profile->start,
                                                     .end_ns = profile->end};
    correlation->fwdbwd = arena_take(&correlation->arena, profile->n, sizeof *correlation->fwdbwd);
    if (!correlation->fwdbwd)
        return error_memory(error);
    enum sutra_status status = sutra_forward_backward(context, &operators, torch_version, correlation->fwdbwd,
                                                      &correlation->n_fwdbwd, &correlation->report, error);
    return profile->trace ? error_name_file(error, status, profile->trace->document.source.name) : status;
}

static bool is_operator(const struct sutra_profile *profile, row_t row) {
    return profile->kind[row] != SUTRA_EVENT_KINETO;
}

/* The nearest operator above a position, or ROW_NONE; `nearest` remembers it for each position on the way. */
static void note_operators(const struct sutra_tree *tree, row_t *nearest) {
    const struct sutra_profile *profile = tree->profile;
    for (row_t k = 0; k < profile->n; k++) {
        row_t i = tree->preorder[k], parent = tree->parent[i];
        if (parent == ROW_NONE)
            nearest[i] = ROW_NONE;
        else
            nearest[i] = is_operator(profile, tree->sorted.order[parent]) ? parent : nearest[parent];
    }
}

static void pair_launches(struct sutra_correlation *correlation, const struct sutra_tree *tree, const row_t *nearest) {
    const struct sutra_profile *profile = tree->profile;
    for (row_t i = 0; i < profile->n; i++) {
        row_t row = tree->sorted.order[i], launch = profile->parent[row];
        if (profile->gpu[row] != EVENT_GPU_OPERATOR)
            continue;
        if (launch != ROW_NONE && profile->kind[launch] == SUTRA_EVENT_KINETO)
            correlation->launches.list[correlation->launches.n++] = (struct launch_pair){launch, row};
        if (nearest[i] != ROW_NONE)
            correlation->operators.list[correlation->operators.n++] =
                (struct launch_pair){tree->sorted.order[nearest[i]], row};
    }
}

static enum sutra_status find_launches(struct sutra_correlation *correlation, struct sutra_context *context,
                                       enum sutra_torch_version torch_version, struct sutra_error *error) {
    const struct sutra_profile *profile = correlation->profile;
    struct arena *arena = &correlation->arena;
    struct sutra_tree *tree = NULL;
    correlation->launches.list = arena_take(arena, profile->n, sizeof *correlation->launches.list);
    correlation->operators.list = arena_take(arena, profile->n, sizeof *correlation->operators.list);
    struct arena_mark mark = arena_mark(arena);
    row_t *nearest = arena_take(arena, profile->n, sizeof *nearest);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = sutra_tree_build(context, profile, torch_version, &tree, error);
    if (!status) {
        note_operators(tree, nearest);
        pair_launches(correlation, tree, nearest);
    }
    sutra_tree_free(tree);
    arena_release(arena, mark);
    return status;
}

static void warn(struct sutra_context *context, const struct sutra_correlation *correlation) {
    if (correlation->report.n_wrapped)
        context_warn(context, "%s more than 48 bits: using the low 48 bits",
                     counted_text(correlation->report.n_wrapped, "sequence number has", "sequence numbers have").text);
    if (correlation->profile->n && correlation->n_fwdbwd + correlation->launches.n + correlation->operators.n == 0)
        context_warn(
            context,
            correlation->kind == SUTRA_CORRELATION_FWDBWD
                ? "no pairs: no backward operator has the sequence number of a forward operator; select --kind ac2g to "
                  "pair GPU activities with their launches"
                : "no pairs: no GPU activity has a launch");
}

enum sutra_status sutra_correlation_find(struct sutra_context *context, const struct sutra_profile *profile,
                                         const struct sutra_correlation_options *options,
                                         struct sutra_correlation **correlation, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_correlation_options, kind);
    struct sutra_correlation_options taken;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    struct sutra_correlation *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->profile = profile;
    made->report.size = sizeof made->report;
    made->kind = taken.kind;
    context_expect(context, profile->n);
    stage_begin(context, "correlate", profile->n);
    if (made->kind != SUTRA_CORRELATION_AC2G)
        status = find_fwdbwd(made, context, taken.torch_version, error);
    if (!status && made->kind != SUTRA_CORRELATION_FWDBWD)
        status = find_launches(made, context, taken.torch_version, error);
    stage_end(context);
    if (status) {
        sutra_correlation_free(made);
        return status;
    }
    warn(context, made);
    *correlation = made;
    return SUTRA_OK;
}

void sutra_correlation_report(const struct sutra_correlation *correlation, struct sutra_correlation_report *report) {
    const struct sutra_correlation_report ours = {.n_fwdbwd = correlation->n_fwdbwd,
                                                  .n_launches = correlation->launches.n,
                                                  .n_operators = correlation->operators.n,
                                                  .pairs = &correlation->report};
    report_give(report, &ours, sizeof ours);
}

enum sutra_status sutra_correlation_write(struct sutra_context *context, const struct sutra_correlation *correlation,
                                          enum sutra_correlation_format format, const char *path, uint64_t *n_bytes,
                                          struct sutra_error *error) {
    static bool (*const writers[])(const void *, struct text_out *) = {
        [SUTRA_CORRELATION_JSON] = write_correlation_json,
        [SUTRA_CORRELATION_CSV] = write_correlation_csv,
        [SUTRA_CORRELATION_CHROME] = write_correlation_chrome,
    };
    if (!correlation->profile->trace)
        return error_set(error, SUTRA_USAGE, "only correlations of a trace can be written");
    stage_begin(context, "write", correlation->profile->n);
    enum sutra_status status = text_file_write(context, path, writers[format], correlation, n_bytes, error);
    stage_end(context);
    return status;
}
