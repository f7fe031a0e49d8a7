/*
 * results.c - the tables of the analysis, and its results as JSON. Lists of ranks are ranges, "0-3,8", in tables, and
 * lists of numbers in JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/hang/hang.h"
#include "base/error.h"
#include "text/quantities.h"
#include "write/json.h"

const struct table_spec hang_table_specs[SUTRA_HANG_N_TABLES] = {
    [SUTRA_HANG_CAUSES] = {"hang_causes", OF_JOB,
                           .columns = {TEXT("cause"),         TEXT("confidence"), TEXT("group"),
                                       TEXT("description"),   TEXT("members"),    INTEGER("seq"),
                                       INTEGER("p2p"),        TEXT("type"),       TEXT("ranks"),
                                       TEXT("arrived"),       TEXT("missing"),    TEXT("no_dump"),
                                       INTEGER("from_rank"),  INTEGER("to_rank"), INTEGER("timed_out"),
                                       INTEGER("timeout_ms"), INTEGER("stale"),   INTEGER("n_waiting_ranks"),
                                       TEXT("waiting_ranks"), TEXT("frame"),      TEXT("ranks_frames"),
                                       TEXT("also")}},
    [SUTRA_HANG_GROUPS] = {"hang_groups", OF_JOB,
                           .columns = {TEXT("group"), TEXT("description"), TEXT("members"), INTEGER("members_known"),
                                       INTEGER("common_seq"), INTEGER("passed_seq"), INTEGER("stuck_seq"),
                                       TEXT("behind"), TEXT("arrived"), TEXT("missing")}},
    [SUTRA_HANG_WAITS] = {"hang_waits", OF_JOB,
                          .columns = {TEXT("group"), INTEGER("seq"), TEXT("for_group"), INTEGER("for_seq"),
                                      INTEGER("rank"), TEXT("reason")}},
    [SUTRA_HANG_MISMATCHES] = {"hang_mismatches", OF_JOB,
                               .columns = {TEXT("group"), INTEGER("seq"), TEXT("kind"), TEXT("ranks")}},
    [SUTRA_HANG_RANKS] = {"hang_ranks", OF_JOB,
                          .columns = {INTEGER("rank"), INTEGER("entries"), INTEGER("pending"),
                                      INTEGER("lost_beginning"), TEXT("last_group"), INTEGER("last_seq"),
                                      TEXT("last_type"), TEXT("frame")}},
    [SUTRA_HANG_OPERATIONS] = {"hang_operations", OF_JOB,
                               .columns = {INTEGER("rank"), INTEGER("record_id"), TEXT("group"), TEXT("description"),
                                           INTEGER("seq"), INTEGER("p2p"), TEXT("type"), INTEGER("peer"),
                                           INTEGER("elements_in"), INTEGER("elements_out"), TEXT("dtype"),
                                           TEXT("state"), INTEGER("passed"), INTEGER("timed_out"),
                                           INTEGER("created_ns"), INTEGER("timeout_ms"), TEXT("frame")}},
};

static const char *const reasons[] = {"waits in", "earlier on the rank"}; /* by is_queued */

/* The last operation of a rank, or NULL. */
static const struct flight_entry *last_operation(const struct hang_rank *rank) {
    for (uint32_t i = rank->n_entries; i-- > 0;)
        if (rank->entries[i].whole == i)
            return &rank->entries[i];
    return NULL;
}

/* ---- Tables ---- */

void hang_ranges_append(struct buffer *to, struct hang_ranks ranks, size_t n_most) {
    size_t n_ranges = 0;
    for (size_t i = 0, end; i < ranks.n; i = end, n_ranges++) {
        for (end = i + 1; end < ranks.n && ranks.list[end] == ranks.list[end - 1] + 1; end++)
            ;
        if (n_ranges == n_most) {
            buffer_format(to, " ... %s more", count_text(ranks.n - i).text);
            return;
        }
        buffer_format(to, "%s%" PRId64, n_ranges ? "," : "", ranks.list[i]);
        if (end > i + 1)
            buffer_format(to, "-%" PRId64, ranks.list[end - 1]);
    }
}

static void add_ranks(struct sutra_table *table, struct hang_ranks ranks) {
    struct buffer text = {0};
    hang_ranges_append(&text, ranks, SIZE_MAX);
    table->failed |= text.failed;
    table_text(table, text.length ? text.bytes : "", text.length);
    buffer_free(&text);
}

static void add_causes(struct sutra_hang *hang) {
    struct sutra_table *table = result_table_begin(&hang->result, SUTRA_HANG_CAUSES);
    const struct strings *strings = &hang->strings;
    for (uint32_t i = 0; i < hang->n_roots; i++) {
        const struct hang_root *root = &hang->roots[i];
        const struct hang_node *node = &hang->nodes[root->node];
        const struct hang_group *group = &hang->groups[node->group];
        struct buffer frames = {0}, also = {0};
        table_words(table, hang_cause_names[root->cause]);
        table_words(table, hang_confidence_names[root->confidence]);
        table_string(table, strings, group->name);
        table_string(table, strings, group->description);
        add_ranks(table, group->members);
        TABLE_INTEGERS(table, root->seq, node->is_p2p);
        table_string(table, strings, node->type);
        add_ranks(table, root->ranks);
        add_ranks(table, node->arrived);
        add_ranks(table, node->missing);
        add_ranks(table, node->no_dump);
        TABLE_INTEGERS(table, node->from, node->to, root->has_timed_out, root->timeout_ms, root->is_stale,
                       (int64_t)root->waiting.n);
        add_ranks(table, root->waiting);
        table_string(table, strings, root->frame);
        for (size_t r = 0; r < root->ranks.n; r++)
            buffer_format(&frames, "%s%s", r ? "; " : "",
                          root->ranks_frames[r] == STRING_NONE ? "" : strings_text(strings, root->ranks_frames[r]));
        table_text(table, frames.length ? frames.bytes : "", frames.length);
        for (size_t a = 0; a < root->n_also; a++)
            buffer_format(&also, "%s%s %s#%" PRId64, a ? "; " : "",
                          strings_text(strings, hang->groups[root->also[a].group].name),
                          root->also[a].is_p2p ? "p2p " : "", root->also[a].seq);
        table_text(table, also.length ? also.bytes : "", also.length);
        table->failed |= frames.failed || also.failed;
        buffer_free(&frames);
        buffer_free(&also);
    }
}

static void add_operations(struct sutra_hang *hang) {
    static const char *const states[] = {"scheduled", "started", "completed"};
    struct sutra_table *table = result_table_begin(&hang->result, SUTRA_HANG_OPERATIONS);
    const struct strings *strings = &hang->strings;
    for (uint32_t r = 0; r < hang->n_ranks; r++)
        for (uint32_t i = 0; i < hang->ranks[r].n_entries; i++) {
            const struct flight_entry *e = &hang->ranks[r].entries[i], *whole = &hang->ranks[r].entries[e->whole];
            const struct flight_name *name = &hang->names[e->name];
            const struct flight_shape *shape = &hang->shapes[e->shape];
            const struct hang_group *group = &hang->groups[e->group];
            TABLE_INTEGERS(table, hang->ranks[r].rank, e->id);
            table_string(table, strings, group->name);
            table_string(table, strings, group->description);
            TABLE_INTEGERS(table, e->seq, e->is_p2p);
            table_string(table, strings, name->recorded);
            TABLE_INTEGERS(table, hang_peer(group, name->is_send ? name->to : name->from), shape->n_in, shape->n_out);
            table_string(table, strings, strings_length(strings, shape->in_types) ? shape->in_types : shape->out_types);
            table_words(table, states[e->state]);
            TABLE_INTEGERS(table, whole->passed, whole->timed_out && !whole->passed, e->created_ns, e->timeout_ms);
            table_string(table, strings, e->frame);
        }
}

enum sutra_status hang_make_tables(struct sutra_hang *hang, bool operations, struct sutra_error *error) {
    add_causes(hang);
    struct sutra_table *table = result_table_begin(&hang->result, SUTRA_HANG_GROUPS);
    const struct hang_node none = {.group = 0};
    for (uint32_t g = 0; g < hang->n_groups; g++) {
        const struct hang_group *group = &hang->groups[g];
        const struct hang_node *node = group->node == HANG_NO_NODE ? &none : &hang->nodes[group->node];
        table_string(table, &hang->strings, group->name);
        table_string(table, &hang->strings, group->description);
        add_ranks(table, group->members);
        TABLE_INTEGERS(table, group->has_known_members, group->common_seq, group->passed_seq,
                       group->is_stuck ? group->stuck_seq : -1);
        add_ranks(table, group->behind);
        add_ranks(table, node->arrived);
        add_ranks(table, node->missing);
    }

    table = result_table_begin(&hang->result, SUTRA_HANG_WAITS);
    for (uint32_t e = 0; e < hang->n_edges; e++) {
        const struct hang_edge *edge = &hang->edges[e];
        const struct hang_node *from = &hang->nodes[edge->from], *to = &hang->nodes[edge->to];
        table_string(table, &hang->strings, hang->groups[from->group].name);
        table_integer(table, from->seq);
        table_string(table, &hang->strings, hang->groups[to->group].name);
        table_integer(table, to->seq);
        table_integer(table, edge->rank);
        table_words(table, reasons[edge->is_queued]);
    }

    table = result_table_begin(&hang->result, SUTRA_HANG_MISMATCHES);
    for (uint32_t g = 0; g < hang->n_groups; g++) {
        const struct hang_mismatch *mismatch = &hang->groups[g].mismatch;
        if (mismatch->kind == HANG_NONE)
            continue;
        table_string(table, &hang->strings, hang->groups[g].name);
        table_integer(table, mismatch->seq);
        table_words(table, hang_cause_names[mismatch->kind]);
        add_ranks(table, mismatch->ranks);
    }

    table = result_table_begin(&hang->result, SUTRA_HANG_RANKS);
    for (uint32_t r = 0; r < hang->n_ranks; r++) {
        const struct hang_rank *rank = &hang->ranks[r];
        const struct flight_entry *last = last_operation(rank);
        TABLE_INTEGERS(table, rank->rank, rank->n_entries, rank->n_pending, hang_lost_beginning(rank));
        table_string(table, &hang->strings, last ? hang->groups[last->group].name : STRING_NONE);
        table_integer(table, last ? last->seq : -1);
        table_string(table, &hang->strings, last ? hang->names[last->name].recorded : STRING_NONE);
        table_string(table, &hang->strings, hang_last_frame(rank));
    }
    if (operations)
        add_operations(hang);
    return result_status(&hang->result, error);
}

/* ---- JSON ---- */

static void json_add_ranks(struct json_out *json, const char *name, struct hang_ranks ranks) {
    json_add_open(json, name, '[');
    for (size_t i = 0; i < ranks.n; i++)
        json_integer(json, ranks.list[i]);
    json_close(json, ']');
}

static void json_add_bool(struct json_out *json, const char *name, bool value) {
    json_cstring_key(json, name);
    json_literal(json, value ? "true" : "false", value ? 4 : 5);
}

/* An integer, or null. */
static void json_add_integer_or_null(struct json_out *json, const char *name, bool is_known, int64_t value) {
    json_cstring_key(json, name);
    if (is_known)
        json_integer(json, value);
    else
        json_literal(json, "null", 4);
}

static void json_value_of(struct json_out *json, const struct strings *strings, uint32_t string) {
    if (string == STRING_NONE)
        json_literal(json, "null", 4);
    else
        json_string(json, strings_text(strings, string), strings_length(strings, string));
}

static void json_add_interned(struct json_out *json, const char *name, const struct strings *strings, uint32_t string) {
    json_cstring_key(json, name);
    json_value_of(json, strings, string);
}

static void json_add_root(struct json_out *json, const struct sutra_hang *hang, const struct hang_root *root) {
    const struct hang_node *node = &hang->nodes[root->node];
    const struct hang_group *group = &hang->groups[node->group];
    const struct strings *strings = &hang->strings;
    json_open_line(json);
    json_add_string(json, "cause", hang_cause_names[root->cause]);
    json_add_string(json, "confidence", hang_confidence_names[root->confidence]);
    json_add_interned(json, "group", strings, group->name);
    json_add_interned(json, "description", strings, group->description);
    json_add_ranks(json, "members", group->members);
    json_add_integer(json, "seq", root->seq);
    json_add_bool(json, "p2p", node->is_p2p);
    json_add_interned(json, "type", strings, node->type);
    json_add_ranks(json, "ranks", root->ranks);
    json_add_ranks(json, "arrived", node->arrived);
    json_add_ranks(json, "missing", node->missing);
    json_add_ranks(json, "no_dump", node->no_dump);
    json_add_integer_or_null(json, "from_rank", node->is_p2p && node->from != FLIGHT_ANY, node->from);
    json_add_integer_or_null(json, "to_rank", node->is_p2p && node->to != FLIGHT_ANY, node->to);
    json_add_bool(json, "timed_out", root->has_timed_out);
    json_add_integer(json, "timeout_ms", root->timeout_ms);
    json_add_bool(json, "stale", root->is_stale);
    json_add_count(json, "n_waiting_ranks", root->waiting.n);
    json_add_ranks(json, "waiting_ranks", root->waiting);
    json_add_interned(json, "frame", strings, root->frame);
    json_add_open(json, "ranks_frames", '[');
    for (size_t i = 0; i < root->ranks.n; i++)
        json_value_of(json, strings, root->ranks_frames[i]);
    json_close(json, ']');
    json_add_open(json, "also", '[');
    for (size_t i = 0; i < root->n_also; i++) {
        json_open(json, '{');
        json_add_interned(json, "group", strings, hang->groups[root->also[i].group].name);
        json_add_integer(json, "seq", root->also[i].seq);
        json_add_bool(json, "p2p", root->also[i].is_p2p);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close_line(json);
}

static bool write_json(const void *of, struct text_out *text) {
    const struct sutra_hang *hang = of;
    struct json_out out = {.text = text, .indent = 1}, *json = &out;
    json_open(json, '{');
    json_add_open(json, "hang", '{');
    json_add_bool(json, "stuck", hang->n_roots > 0);
    json_add_string(json, "cause", hang_cause_names[hang->cause]);
    json_add_ranks(json, "ranks", hang->culprits);
    json_add_string(json, "confidence", hang_confidence_names[hang->confidence]);
    json_add_string(json, "why", hang->why);
    json_add_count(json, "n_ranks", hang->n_ranks);
    json_add_count(json, "world_size", hang->world.n);
    json_add_ranks(json, "missing_dumps", hang->missing_dumps);
    json_add_ranks(json, "stale_ranks", hang->stale);
    json_add_count(json, "skipped_files", hang->n_skipped);
    json_add_open(json, "versions", '[');
    for (size_t i = 0; i < hang->n_versions; i++)
        json_string(json, hang->versions[i], strlen(hang->versions[i]));
    json_close(json, ']');
    json_add_count(json, "n_entries", hang->n_entries);
    json_add_count(json, "n_pending", hang->n_pending);
    json_close(json, '}');
    json_add_open(json, "roots", '[');
    for (uint32_t i = 0; i < hang->n_roots; i++) {
        json_add_root(json, hang, &hang->roots[i]);
        out_step(text);
    }
    json_close(json, ']');
    json_add_open(json, "groups", '[');
    for (uint32_t g = 0; g < hang->n_groups; g++) {
        const struct hang_group *group = &hang->groups[g];
        const struct hang_node none = {.group = 0};
        const struct hang_node *node = group->node == HANG_NO_NODE ? &none : &hang->nodes[group->node];
        json_open_line(json);
        json_add_interned(json, "group", &hang->strings, group->name);
        json_add_interned(json, "description", &hang->strings, group->description);
        json_add_ranks(json, "members", group->members);
        json_add_bool(json, "members_known", group->has_known_members);
        json_add_integer(json, "common_seq", group->common_seq);
        json_add_integer(json, "passed_seq", group->passed_seq);
        json_add_integer_or_null(json, "stuck_seq", group->is_stuck, group->stuck_seq);
        json_add_ranks(json, "behind", group->behind);
        json_add_ranks(json, "arrived", node->arrived);
        json_add_ranks(json, "missing", node->missing);
        json_close_line(json);
        out_step(text);
    }
    json_close(json, ']');
    json_add_open(json, "waits", '[');
    for (uint32_t e = 0; e < hang->n_edges; e++) {
        const struct hang_edge *edge = &hang->edges[e];
        const struct hang_node *from = &hang->nodes[edge->from], *to = &hang->nodes[edge->to];
        json_open_line(json);
        json_add_interned(json, "group", &hang->strings, hang->groups[from->group].name);
        json_add_integer(json, "seq", from->seq);
        json_add_interned(json, "for_group", &hang->strings, hang->groups[to->group].name);
        json_add_integer(json, "for_seq", to->seq);
        json_add_integer(json, "rank", edge->rank);
        json_add_string(json, "reason", reasons[edge->is_queued]);
        json_close_line(json);
        out_step(text);
    }
    json_close(json, ']');
    json_add_open(json, "mismatches", '[');
    for (uint32_t g = 0; g < hang->n_groups; g++) {
        const struct hang_mismatch *mismatch = &hang->groups[g].mismatch;
        if (mismatch->kind == HANG_NONE)
            continue;
        json_open_line(json);
        json_add_interned(json, "group", &hang->strings, hang->groups[g].name);
        json_add_integer(json, "seq", mismatch->seq);
        json_add_string(json, "kind", hang_cause_names[mismatch->kind]);
        json_add_ranks(json, "ranks", mismatch->ranks);
        json_close_line(json);
        out_step(text);
    }
    json_close(json, ']');
    json_add_open(json, "ranks", '[');
    for (uint32_t r = 0; r < hang->n_ranks; r++) {
        const struct hang_rank *rank = &hang->ranks[r];
        const struct flight_entry *last = last_operation(rank);
        json_open_line(json);
        json_add_integer(json, "rank", rank->rank);
        json_add_count(json, "entries", rank->n_entries);
        json_add_count(json, "pending", rank->n_pending);
        json_add_bool(json, "lost_beginning", hang_lost_beginning(rank));
        json_add_interned(json, "last_group", &hang->strings, last ? hang->groups[last->group].name : STRING_NONE);
        json_add_integer_or_null(json, "last_seq", last != NULL, last ? last->seq : 0);
        json_add_interned(json, "last_type", &hang->strings, last ? hang->names[last->name].recorded : STRING_NONE);
        json_add_interned(json, "frame", &hang->strings, hang_last_frame(rank));
        json_close_line(json);
        out_step(text);
    }
    json_close(json, ']');
    json_close(json, '}');
    out_add(text, "\n");
    return !text->out.failed;
}

enum sutra_status sutra_hang_write_json(struct sutra_context *context, const struct sutra_hang *hang, const char *path,
                                        uint64_t *n_bytes, struct sutra_error *error) {
    return text_file_write(context, path, write_json, hang, n_bytes, error);
}
