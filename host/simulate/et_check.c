/*
 * et_check.c - sutra_et_check_...(): files through the rules, and findings out.
 */
#include "simulate/et_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "columns/column.h"

enum sutra_status sutra_et_check_create(struct sutra_context *context, const struct sutra_et_check_options *options,
                                        struct sutra_et_check **check, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_et_check_options, groups);
    struct sutra_et_check *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->context = context;
    enum sutra_status status = options_take(&form, options, &made->options, error);
    if (!status && !strings_init(&made->names))
        status = error_memory(error);
    if (!status && made->options.groups)
        status = et_groups_read(&made->groups, context, made->options.groups, &made->arena, error);
    made->options.groups = NULL; /* the caller's, who may take it away */
    if (status)
        sutra_et_check_free(made);
    else
        *check = made;
    return status;
}

void sutra_et_check_free(struct sutra_et_check *check) {
    if (!check)
        return;
    for (uint64_t i = 0; i < check->n_members; i++)
        free(check->members[i].name);
    for (uint64_t i = 0; i < check->n_found; i++)
        free(check->found[i].file);
    free(check->members);
    free(check->found);
    et_groups_free(&check->groups);
    strings_free(&check->names);
    arena_free(&check->arena);
    free(check);
}

static enum et_severity severity_of(const struct sutra_et_check *check, const struct et_rule *rule) {
    if (rule->roofline && !check->options.roofline)
        return ET_SILENT;
    return check->options.feeder == SUTRA_FEEDER_V1 ? rule->v1 : rule->v3;
}

/* Keeps what a rule found, if it is anything. */
static enum sutra_status keep(struct sutra_et_check *check, struct et_found *found, enum et_severity severity,
                              const char *file, struct sutra_error *error) {
    if (check->arena.failed)
        return error_memory(error);
    if (found->count == 0)
        return SUTRA_OK;
    if (!column_grow(&check->found, check->n_found, &check->found_capacity, sizeof *check->found))
        return error_memory(error);
    found->file = file ? strdup(file) : NULL;
    if (file && !found->file)
        return error_memory(error);
    found->is_error = severity == ET_ERROR;
    check->n_errors += found->is_error;
    check->n_warnings += !found->is_error;
    check->found[check->n_found++] = *found;
    return SUTRA_OK;
}

static void look_at_nodes(const struct et_rule *rule, const struct et_checking *checking, struct et_found *found) {
    for (row_t row = 0; row < checking->nodes->n; row++)
        if (rule->node(checking, row))
            et_found_add(found, checking->nodes->id[row]);
}

static enum sutra_status look_at_file(struct sutra_et_check *check, const struct et_checking *checking,
                                      struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < n_et_rules && !status; i++) {
        const struct et_rule *rule = &et_rules[i];
        enum et_severity severity = severity_of(check, rule);
        struct et_found found = {.rule = rule};
        if (severity == ET_SILENT || rule->job)
            continue;
        if (rule->node)
            look_at_nodes(rule, checking, &found);
        else
            rule->file(checking, &found);
        status = keep(check, &found, severity, checking->file->source.name, error);
    }
    return status;
}

/* The groups that metadata nodes name; the older feeder runs such nodes as computation. */
static enum sutra_status take_groups(struct sutra_et_check *check, struct et_checking *checking,
                                     struct sutra_error *error) {
    const struct et_nodes *nodes = checking->nodes;
    enum sutra_status status = SUTRA_OK;
    for (row_t row = 0; row < nodes->n && !status; row++) {
        bool understood = true;
        if (nodes->type[row] == ET_METADATA)
            status = et_groups_take(&check->groups, et_text_at(nodes->text[ET_INPUT_VALUES], row), &check->arena,
                                    &understood, error);
        if (understood)
            continue;
        if (checking->n_puzzling < FOUND_IDS)
            checking->puzzling[checking->n_puzzling] = nodes->id[row];
        checking->n_puzzling++;
    }
    return status;
}

static enum sutra_status add_member(struct sutra_et_check *check, const struct et_checking *checking,
                                    struct sutra_error *error) {
    struct et_member member = {.rank = checking->rank};
    if (!column_grow(&check->members, check->n_members, &check->members_capacity, sizeof *check->members))
        return error_memory(error);
    enum sutra_status status = et_member_take(check, checking, &member, error);
    if (!status && !(member.name = strdup(checking->file->source.name)))
        status = error_memory(error);
    if (!status)
        check->members[check->n_members++] = member;
    return status;
}

enum sutra_status sutra_et_check_add(struct sutra_et_check *check, const struct sutra_et *et,
                                     struct sutra_error *error) {
    size_t prefix;
    struct arena arena = {0};
    struct et_checking checking = {.file = &et->file,
                                   .nodes = &et->file.nodes,
                                   .groups = &check->groups,
                                   .arena = &arena,
                                   .rank = et_rank_of(et->file.source.name, &prefix)};
    enum et_edges kinds = check->options.feeder == SUTRA_FEEDER_V1 ? ET_DATA : ET_ALL;
    stage_begin(check->context, "check", et->file.nodes.n);
    enum sutra_status status = et_graph_make(checking.nodes, kinds, &arena, &checking.graph, error);
    if (!status)
        status = take_groups(check, &checking, error);
    if (!status)
        status = look_at_file(check, &checking, error);
    if (!status && arena.failed)
        status = error_memory(error);
    if (!status)
        status = add_member(check, &checking, error);
    stage_end(check->context);
    arena_free(&arena);
    return status;
}

enum sutra_status sutra_et_check_finish(struct sutra_et_check *check, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    et_members_sort(check);
    for (size_t i = 0; i < n_et_rules && !status; i++) {
        enum et_severity severity = severity_of(check, &et_rules[i]);
        struct et_found found = {.rule = &et_rules[i]};
        if (severity == ET_SILENT || !et_rules[i].job)
            continue;
        et_rules[i].job(check, &found);
        status = keep(check, &found, severity, NULL, error);
    }
    return status;
}

void sutra_et_check_report(const struct sutra_et_check *check, struct sutra_et_check_report *report) {
    struct sutra_et_check_report ours = {
        .n_files = check->n_members, .n_errors = check->n_errors, .n_warnings = check->n_warnings};
    report_give(report, &ours, sizeof ours);
}

bool sutra_et_check_finding(const struct sutra_et_check *check, uint64_t i, struct sutra_et_finding *finding) {
    if (i >= check->n_found)
        return false;
    const struct et_found *found = &check->found[i];
    *finding = (struct sutra_et_finding){.file = found->file,
                                         .rule = found->rule->id,
                                         .is_error = found->is_error,
                                         .count = found->count,
                                         .unit = found->rule->unit ? found->rule->unit : "nodes",
                                         .ids = found->ids,
                                         .n_ids = found->n_ids,
                                         .what = found->rule->what,
                                         .detail = found->detail,
                                         .why = found->rule->why,
                                         .mend = found->rule->mend};
    return true;
}
