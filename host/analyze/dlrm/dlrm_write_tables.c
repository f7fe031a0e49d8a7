/*
 * dlrm_write_tables.c - headline figures, device time, breakdown, dominating operators, charts and streams as JSON, in
 * the form in which the original's results are usually kept (json.dump with indent=1), and the trimmed trace.
 */
#include <stdio.h>

#include "analyze/dlrm/dlrm_operator_times.h"
#include "analyze/dlrm/dlrm_write.h"
#include "read/json_walk.h"

static struct json_out indented(struct text_out *out) {
    return (struct json_out){.text = out, .indent = 1};
}

/* ---- Headline ---- */

static void write_mended(const struct sutra_dlrm *dlrm, struct json_out *json) {
    const struct sutra_dlrm_report *report = &dlrm->report;
    json_name(json, "edit_stats");
    json_open(json, '{');
    if (report->n_loaders != report->n_forwards) {
        json_name(json, "loader_forward_mismatch");
        json_open(json, '[');
        json_integer(json, (int64_t)report->n_loaders);
        json_integer(json, (int64_t)report->n_forwards);
        json_close(json, ']');
    }
    if (report->n_orphans) {
        member_integer(json, "orphan_executor", (int64_t)report->n_orphans);
    }
    json_close(json, '}');
}

void dlrm_write_headline(const struct sutra_dlrm *dlrm, struct text_out *out) {
    const struct sutra_dlrm_report *report = &dlrm->report;
    struct json_out json = indented(out);
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {
        {"num_events", report->n_events}, {"num_roots", report->n_roots},
        {"num_cc", report->n_launches},   {"num_cc_with_executor", report->n_launches_executed},
        {"num_ops", report->n_ops},       {"tree_nodes", report->n_nodes},
    };
    const struct {
        const char *name;
        struct number us;
    } times[] = {
        {"sum_executor_dur", dlrm->stream_times.sum},
        {"sum_skipped_intervals", dlrm->skipped},
        {"corrected_start_time", dlrm->begin},
        {"corrected_end_time", dlrm->end},
        {"host_runtime", dlrm->host},
        {"device_runtime", dlrm->host},
    };
    json_open(&json, '{');
    json_name(&json, "module_marker");
    json_string(&json, report->marker, strlen(report->marker));
    json_name(&json, "compat");
    json_literal(&json, report->compat ? "true" : "false", report->compat ? 4 : 5);
    json_name(&json, "relax");
    json_string(&json, report->tolerant ? "1" : "0", 1);
    member_integer(&json, "iters", (int64_t)report->iters);
    member_integer(&json, "batch", (int64_t)report->batch);
    json_name(&json, "trimmed");
    json_literal(&json, report->trimmed ? "true" : "false", report->trimmed ? 4 : 5);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        member_integer(&json, counts[i].name, (int64_t)counts[i].count);
    }
    json_name(&json, "streams");
    json_open(&json, '[');
    for (uint32_t i = 0; i < dlrm->stream_times.n_names; i++)
        json_text(&json, dlrm, dlrm->stream_times.names[i]);
    json_close(&json, ']');
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        member_number(&json, times[i].name, times[i].us);
    }
    member_double(&json, "QPS", report->qps);
    write_mended(dlrm, &json);
    member_integer(&json, "op_external_ids_colliding_with_cc_keys", (int64_t)report->n_colliding);
    json_close(&json, '}');
}

/* ---- Device time ---- */

static void write_kernels(const struct sutra_dlrm *dlrm, struct json_out *json, const struct dlrm_device_time *time,
                          row_t block) {
    json_text_key(json, dlrm, time->blocks[block].stream);
    json_open(json, '[');
    for (row_t i = time->blocks[block].kernel; i < time->blocks[block + 1].kernel; i++) {
        json_open(json, '[');
        json_text(json, dlrm, time->kernels[i].name);
        json_shape(json, dlrm, time->kernels[i].shape);
        json_integer(json, (int64_t)time->kernels[i].count);
        json_double(json, time->kernels[i].us);
        json_close(json, ']');
    }
    json_close(json, ']');
}

static void write_id_key(const struct sutra_dlrm *dlrm, struct json_out *json, value_key id) {
    char text[40];
    if (key_is_integer(id)) {
        snprintf(text, sizeof text, dlrm->options.compat ? "%lld" : "('op', %lld)", (long long)id);
        json_key(json, text, strlen(text));
    } else if (id < KEY_VALUES) {
        json_name(json, "None");
    } else {
        struct value value = values_at(&dlrm->context->values, id);
        json_key(json, value.text, value.length);
    }
}

void dlrm_write_device_time(const struct sutra_dlrm *dlrm, struct text_out *out) {
    const struct dlrm_device_time *time =
        dlrm->device_time_by_id.group_block ? &dlrm->device_time_by_id : &dlrm->device_time;
    struct json_out json = indented(out);
    json_open(&json, '{');
    for (row_t group = 0; group < time->n_groups; group++) {
        if (time->group_block[group] == time->group_block[group + 1])
            continue;
        write_id_key(dlrm, &json, dlrm->tree.ops.id[group]);
        json_open(&json, '{');
        for (row_t block = time->group_block[group]; block < time->group_block[group + 1]; block++)
            write_kernels(dlrm, &json, time, block);
        json_close(&json, '}');
    }
    json_close(&json, '}');
}

void dlrm_write_device_time_by_name(const struct sutra_dlrm *dlrm, struct text_out *out) {
    struct json_out json = indented(out);
    struct dlrm_operator_time *times = NULL;
    uint32_t n = 0;
    struct arena arena = {0};
    out->out.failed |= !dlrm_operator_times(dlrm, &arena, &times, &n);
    json_open(&json, '{');
    for (uint32_t i = 0; i < n; i++) {
        json_text_key(&json, dlrm, times[i].name);
        json_open(&json, '{');
        member_integer(&json, "calls", (int64_t)times[i].calls);
        member_double(&json, "device_us", times[i].us);
        member_integer(&json, "kernels", (int64_t)times[i].kernels);
        json_close(&json, '}');
    }
    json_close(&json, '}');
    arena_free(&arena);
}

/* An object with a member for each stream. */
static void write_by_stream(const struct sutra_dlrm *dlrm, struct text_out *out,
                            void (*write_value)(const struct sutra_dlrm *dlrm, struct json_out *json,
                                                const struct sutra_dlrm_stream *stream)) {
    struct json_out json = indented(out);
    json_open(&json, '{');
    for (uint64_t i = 0; i < dlrm->report.n_streams; i++) {
        json_text_key(&json, dlrm, dlrm->report.streams[i].name);
        write_value(dlrm, &json, &dlrm->report.streams[i]);
    }
    json_close(&json, '}');
}

/* ---- Breakdown ---- */

/* The rows below one, or of a stream's top level. */
struct json_level {
    row_t next, end;
};

static void open_level(struct json_out *json, double us, struct json_level *level, uint32_t first, uint32_t n) {
    json_open(json, '{');
    member_double(json, "runtime", us);
    json_name(json, "items");
    json_open(json, '[');
    *level = (struct json_level){first, first + n};
}

/* A tree without recursion: a stack of levels. */
static void write_tree(const struct sutra_dlrm *dlrm, struct json_out *json, const struct sutra_dlrm_stream *stream) {
    struct json_level levels[LEVELS_MAX + 4];
    unsigned depth = 1;
    open_level(json, stream->active_us, &levels[0], stream->first_row, stream->n_rows);
    while (depth > 0) {
        struct json_level *level = &levels[depth - 1];
        if (level->next == level->end) {
            json_close(json, ']');
            json_close(json, '}');
            if (--depth > 0)
                json_close(json, '}');
            continue;
        }
        const struct sutra_dlrm_row *row = &dlrm->report.rows[level->next++];
        json_open(json, '{');
        member_text(json, dlrm, "name", row->name);
        member_shape(json, dlrm, "shape", row->shape);
        member_double(json, "runtime", row->us);
        member_integer(json, "count", (int64_t)row->count);
        if (!row->n_occurrences) {
            json_close(json, '}');
            continue;
        }
        member_integer(json, "n_occ", (int64_t)row->n_occurrences);
        json_name(json, "occ0");
        open_level(json, row->first_us, &levels[depth++], row->first_child, row->n_children);
    }
}

static void write_stream(const struct sutra_dlrm *dlrm, struct json_out *json, const struct sutra_dlrm_stream *stream) {
    double host = dlrm->report.host_us;
    json_open(json, '{');
    member_double(json, "active_us", stream->active_us);
    member_double(json, "idle_us", stream->idle_us);
    member_double(json, "active_pct", stream->active_us / host * 100);
    member_double(json, "idle_pct", stream->idle_us / host * 100);
    json_name(json, "tree");
    write_tree(dlrm, json, stream);
    json_close(json, '}');
}

void dlrm_write_breakdown(const struct sutra_dlrm *dlrm, struct text_out *out) {
    write_by_stream(dlrm, out, write_stream);
}

/* ---- Dominating operators ---- */

static void write_key(const struct sutra_dlrm *dlrm, struct json_out *json, uint32_t name, uint32_t shape) {
    if (name == SUTRA_DLRM_NONE) {
        json_string(json, "total", 5);
        return;
    }
    json_open(json, '[');
    json_text(json, dlrm, name);
    json_shape(json, dlrm, shape);
    json_close(json, ']');
}

static void write_dominating(const struct sutra_dlrm *dlrm, struct json_out *json,
                             const struct sutra_dlrm_stream *stream) {
    json_open(json, '[');
    for (uint64_t i = 0; i < stream->n_dominating; i++) {
        const struct sutra_dlrm_dominating *entry = &dlrm->report.dominating[stream->first_dominating + i];
        json_open(json, '{');
        json_name(json, "key");
        write_key(dlrm, json, entry->name, entry->shape);
        member_double(json, "runtime", entry->us);
        json_name(json, "subs");
        json_open(json, '[');
        for (uint64_t k = 0; k < entry->n_parts; k++) {
            const struct sutra_dlrm_part *part = &dlrm->report.parts[entry->first_part + k];
            json_open(json, '[');
            write_key(dlrm, json, part->name, part->shape);
            json_double(json, part->us);
            json_close(json, ']');
        }
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
}

void dlrm_write_dominating(const struct sutra_dlrm *dlrm, struct text_out *out) {
    write_by_stream(dlrm, out, write_dominating);
}

/* ---- Charts ---- */

static void write_bar(const struct sutra_dlrm *dlrm, struct json_out *json, const struct sutra_dlrm_variant *variant) {
    json_open(json, '[');
    for (uint64_t i = 0; i < variant->n_shares; i++) {
        const struct sutra_dlrm_share *share = &dlrm->report.shares[variant->first_share + i];
        json_open(json, '{');
        member_text(json, dlrm, "name", share->name);
        member_shape(json, dlrm, "shape", share->shape);
        member_text(json, dlrm, "legend", share->legend);
        member_double(json, "share", share->share);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void write_chart(const struct sutra_dlrm *dlrm, struct json_out *json, const struct sutra_dlrm_stream *stream) {
    json_open(json, '[');
    for (uint64_t i = 0; i < stream->n_groups; i++) {
        const struct sutra_dlrm_group *group = &dlrm->report.groups[stream->first_group + i];
        json_open(json, '{');
        member_text(json, dlrm, "group", group->name);
        member_double(json, "us", group->us);
        member_integer(json, "n_all_variants", (int64_t)group->n_all_variants);
        json_name(json, "variants");
        json_open(json, '[');
        for (uint64_t k = 0; k < group->n_variants; k++)
            write_bar(dlrm, json, &dlrm->report.variants[group->first_variant + k]);
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
}

void dlrm_write_chart(const struct sutra_dlrm *dlrm, struct text_out *out) {
    write_by_stream(dlrm, out, write_chart);
}

/* A list of numbers as Python's pprint does: in one line if that has at most 80 characters, else one in a line. */
static void write_counts(const struct sutra_dlrm *dlrm, const struct sutra_dlrm_stream *stream, bool all,
                         struct text_out *out) {
    const struct sutra_dlrm_group *groups = dlrm->report.groups + stream->first_group;
    size_t length = stream->n_groups ? 2 * stream->n_groups : 2;
    for (uint64_t i = 0; i < stream->n_groups; i++)
        for (uint64_t count = all ? groups[i].n_all_variants : groups[i].n_variants; count; count /= 10)
            length++;
    out_add(out, "[");
    for (uint64_t i = 0; i < stream->n_groups; i++) {
        if (i)
            out_add(out, length <= 80 ? ", " : ",\n ");
        out_integer(out, (int64_t)(all ? groups[i].n_all_variants : groups[i].n_variants));
        out_step(out);
    }
    out_add(out, "]\n");
}

void dlrm_write_variants(const struct sutra_dlrm *dlrm, const struct sutra_dlrm_stream *stream, struct text_out *out) {
    write_counts(dlrm, stream, true, out);
    write_counts(dlrm, stream, false, out);
}

void dlrm_write_all_variants(const struct sutra_dlrm *dlrm, struct text_out *out) {
    for (uint64_t i = 0; i < dlrm->report.n_streams; i++) {
        uint32_t name = dlrm->report.streams[i].name;
        out_add(out, "Stream: ");
        buffer_append(&out->out, strings_text(&dlrm->texts, name), strings_length(&dlrm->texts, name));
        out_add(out, "\n");
        dlrm_write_variants(dlrm, &dlrm->report.streams[i], out);
    }
}

/* ---- Streams ---- */

static void write_busy(const struct sutra_dlrm *dlrm, struct json_out *json) {
    const struct dlrm_stream_times *times = &dlrm->stream_times;
    for (uint32_t i = 0; i < times->n; i++) {
        json_text_key(json, dlrm, times->list[i].name);
        json_number(json, times->list[i].sum);
    }
}

void dlrm_write_streams(const struct sutra_dlrm *dlrm, struct text_out *out) {
    const struct dlrm_stream_times *times = &dlrm->stream_times;
    struct json_out json = indented(out);
    const struct {
        const char *name;
        struct number us;
    } right[] = {{"span", times->span},
                 {"union_active", times->active},
                 {"idle", times->idle},
                 {"overlapped_with_earlier", times->overlap},
                 {"sum_dur", times->sum}};
    json_open(&json, '{');
    if (dlrm->report.has_streams) {
        json_name(&json, "get_gpu_stream_stats_upstream");
        json_open(&json, '{');
        for (uint32_t i = 0; i < times->n; i++) {
            json_text_key(&json, dlrm, times->list[i].name);
            json_number(&json, times->list[i].original);
            if (i > 0)
                continue;
            member_number(&json, "total", times->original_total);
        }
        json_close(&json, '}');
        member_number(&json, "notebook_idle_time", times->idle);
        member_number(&json, "notebook_overlapped_time", times->original_overlap);
        json_name(&json, "corrected");
        json_open(&json, '{');
        for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
            member_number(&json, right[i].name, right[i].us);
        }
        json_name(&json, "per_stream_sum");
        json_open(&json, '{');
        write_busy(dlrm, &json);
        json_close(&json, '}');
        json_close(&json, '}');
    }
    json_close(&json, '}');
}

/* ---- The trimmed trace ---- */

void dlrm_write_trimmed(const struct sutra_dlrm *dlrm, struct text_out *out) {
    const struct document *document = &dlrm->trace->document;
    out_add(out, "{\"schemaVersion\": null, \"traceEvents\": [");
    for (row_t i = 0; i < dlrm->trimmed.n; i++) {
        size_t begin = dlrm->events->text[dlrm->trimmed.rows[i]];
        struct json_walker walker = walk_from(&document->source, begin);
        walk_value(&walker);
        size_t end = walker.at;
        while (document->source.bytes[end - 1] != '}')
            end--;
        out_add(out, i ? ", " : "");
        buffer_append(&out->out, document->source.bytes + begin, end - begin);
        out_step(out);
    }
    out_add(out, "]}");
}
