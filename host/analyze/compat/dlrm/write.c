/*
 * write.c - writes the files of an analysis, each atomically through a sink.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/compat/dlrm/overheads.h"
#include "analyze/compat/dlrm/write.h"
#include "base/error.h"
#include "base/shared.h"
#include "read/json.h"
#include "text/strings.h"
#include "write/text.h"

/*
 * ---- JSON ----
 *
 * Headline figures, device time, breakdown, dominating operators, charts and streams in the format of the notebook's
 * results (json.dump with indent=1), and the trimmed trace.
 */

static struct json_out indented(struct text_out *out) {
    return (struct json_out){.text = out, .indent = 1};
}

/* ---- Headline ---- */

static void dlrm_write_headline(const struct sutra_dlrm *dlrm, struct text_out *out) {
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
    json_add_string(&json, "module_marker", report->marker);
    json_name(&json, "compat");
    json_literal(&json, report->compat ? "true" : "false", report->compat ? 4 : 5);
    json_add_string(&json, "relax", report->tolerant ? "1" : "0");
    json_add_integer(&json, "iters", (int64_t)report->iters);
    json_add_integer(&json, "batch", (int64_t)report->batch);
    json_name(&json, "trimmed");
    json_literal(&json, report->trimmed ? "true" : "false", report->trimmed ? 4 : 5);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        json_add_integer(&json, counts[i].name, (int64_t)counts[i].count);
    json_add_open(&json, "streams", '[');
    for (uint32_t i = 0; i < dlrm->stream_times.n_names; i++)
        json_text(&json, dlrm, dlrm->stream_times.names[i]);
    json_close(&json, ']');
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        member_number(&json, times[i].name, times[i].us);
    json_add_double(&json, "QPS", report->qps);
    json_add_open(&json, "edit_stats", '{');
    if (report->n_loaders != report->n_forwards) {
        json_add_open(&json, "loader_forward_mismatch", '[');
        json_integer(&json, (int64_t)report->n_loaders);
        json_integer(&json, (int64_t)report->n_forwards);
        json_close(&json, ']');
    }
    if (report->n_orphans)
        json_add_integer(&json, "orphan_executor", (int64_t)report->n_orphans);
    json_close(&json, '}');
    json_add_integer(&json, "op_external_ids_colliding_with_cc_keys", (int64_t)report->n_colliding);
    json_close(&json, '}');
}

/* ---- Device time ---- */

static void dlrm_write_device_time(const struct sutra_dlrm *dlrm, struct text_out *out) {
    const struct dlrm_device_time *time =
        dlrm->device_time_by_id.group_block ? &dlrm->device_time_by_id : &dlrm->device_time;
    struct json_out json = indented(out);
    json_open(&json, '{');
    for (row_t group = 0; group < time->n_groups; group++) {
        if (time->group_block[group] == time->group_block[group + 1])
            continue;
        value_key id = dlrm->tree.ops.id[group];
        char text[40];
        if (key_is_integer(id)) {
            snprintf(text, sizeof text, dlrm->options.compat ? "%lld" : "('op', %lld)", (long long)id);
            json_key(&json, text, strlen(text));
        } else if (id < KEY_VALUES) {
            json_name(&json, "None");
        } else {
            struct value value = values_at(&dlrm->context->values, id);
            json_key(&json, value.text, value.length);
        }
        json_open(&json, '{');
        for (row_t block = time->group_block[group]; block < time->group_block[group + 1]; block++) {
            json_text_key(&json, dlrm, time->blocks[block].stream);
            json_open(&json, '[');
            for (row_t i = time->blocks[block].kernel; i < time->blocks[block + 1].kernel; i++) {
                json_open(&json, '[');
                json_text(&json, dlrm, time->kernels[i].name);
                json_shape(&json, dlrm, time->kernels[i].shape);
                json_integer(&json, (int64_t)time->kernels[i].count);
                json_double(&json, time->kernels[i].us);
                json_close(&json, ']');
            }
            json_close(&json, ']');
        }
        json_close(&json, '}');
    }
    json_close(&json, '}');
}

static void dlrm_write_device_time_by_name(const struct sutra_dlrm *dlrm, struct text_out *out) {
    struct json_out json = indented(out);
    struct dlrm_operator_time *times = NULL;
    uint32_t n = 0;
    struct arena arena = {0};
    out->out.failed |= !dlrm_operator_times(dlrm, &arena, &times, &n);
    json_open(&json, '{');
    for (uint32_t i = 0; i < n; i++) {
        json_text_key(&json, dlrm, times[i].name);
        json_open(&json, '{');
        json_add_integer(&json, "calls", (int64_t)times[i].calls);
        json_add_double(&json, "device_us", times[i].us);
        json_add_integer(&json, "kernels", (int64_t)times[i].kernels);
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

/* The rows below one row, or of a stream's top level. */
struct json_level {
    row_t next, end;
};

static void open_level(struct json_out *json, double us, struct json_level *level, uint32_t first, uint32_t n) {
    json_open(json, '{');
    json_add_double(json, "runtime", us);
    json_add_open(json, "items", '[');
    *level = (struct json_level){first, first + n};
}

static void write_stream_tree(const struct sutra_dlrm *dlrm, struct json_out *json,
                              const struct sutra_dlrm_stream *stream) {
    double host = dlrm->report.host_us;
    json_open(json, '{');
    json_add_double(json, "active_us", stream->active_us);
    json_add_double(json, "idle_us", stream->idle_us);
    json_add_double(json, "active_pct", stream->active_us / host * 100);
    json_add_double(json, "idle_pct", stream->idle_us / host * 100);
    json_name(json, "tree");
    /* Write the tree without recursion, with a stack of levels. */
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
        json_add_double(json, "runtime", row->us);
        json_add_integer(json, "count", (int64_t)row->count);
        if (!row->n_occurrences) {
            json_close(json, '}');
            continue;
        }
        json_add_integer(json, "n_occ", (int64_t)row->n_occurrences);
        json_name(json, "occ0");
        open_level(json, row->first_us, &levels[depth++], row->first_child, row->n_children);
    }
    json_close(json, '}');
}

static void dlrm_write_breakdown(const struct sutra_dlrm *dlrm, struct text_out *out) {
    write_by_stream(dlrm, out, write_stream_tree);
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
        json_add_double(json, "runtime", entry->us);
        json_add_open(json, "subs", '[');
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

static void dlrm_write_dominating(const struct sutra_dlrm *dlrm, struct text_out *out) {
    write_by_stream(dlrm, out, write_dominating);
}

/* ---- Charts ---- */

static void write_chart(const struct sutra_dlrm *dlrm, struct json_out *json, const struct sutra_dlrm_stream *stream) {
    json_open(json, '[');
    for (uint64_t i = 0; i < stream->n_groups; i++) {
        const struct sutra_dlrm_group *group = &dlrm->report.groups[stream->first_group + i];
        json_open(json, '{');
        member_text(json, dlrm, "group", group->name);
        json_add_double(json, "us", group->us);
        json_add_integer(json, "n_all_variants", (int64_t)group->n_all_variants);
        json_add_open(json, "variants", '[');
        for (uint64_t k = 0; k < group->n_variants; k++) {
            const struct sutra_dlrm_variant *variant = &dlrm->report.variants[group->first_variant + k];
            json_open(json, '[');
            for (uint64_t m = 0; m < variant->n_shares; m++) {
                const struct sutra_dlrm_share *share = &dlrm->report.shares[variant->first_share + m];
                json_open(json, '{');
                member_text(json, dlrm, "name", share->name);
                member_shape(json, dlrm, "shape", share->shape);
                member_text(json, dlrm, "legend", share->legend);
                json_add_double(json, "share", share->share);
                json_close(json, '}');
            }
            json_close(json, ']');
        }
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void dlrm_write_chart(const struct sutra_dlrm *dlrm, struct text_out *out) {
    write_by_stream(dlrm, out, write_chart);
}

/* A list of numbers as Python's pprint writes it: in one line of at most 80 characters, or one number in a line. */
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

/* The number of bars of each group of a stream, with and without equal bars. */
static void dlrm_write_variants(const struct sutra_dlrm *dlrm, const struct sutra_dlrm_stream *stream,
                                struct text_out *out) {
    write_counts(dlrm, stream, true, out);
    write_counts(dlrm, stream, false, out);
}

/* The same for all streams, each after a line with its name. */
static void dlrm_write_all_variants(const struct sutra_dlrm *dlrm, struct text_out *out) {
    for (uint64_t i = 0; i < dlrm->report.n_streams; i++) {
        uint32_t name = dlrm->report.streams[i].name;
        out_add(out, "Stream: ");
        buffer_append(&out->out, strings_text(&dlrm->texts, name), strings_length(&dlrm->texts, name));
        out_add(out, "\n");
        dlrm_write_variants(dlrm, &dlrm->report.streams[i], out);
    }
}

/* ---- Streams ---- */

static void dlrm_write_streams(const struct sutra_dlrm *dlrm, struct text_out *out) {
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
        json_add_open(&json, "get_gpu_stream_stats_upstream", '{');
        for (uint32_t i = 0; i < times->n; i++) {
            json_text_key(&json, dlrm, times->list[i].name);
            json_number(&json, times->list[i].original);
            if (i == 0)
                member_number(&json, "total", times->original_total);
        }
        json_close(&json, '}');
        member_number(&json, "notebook_idle_time", times->idle);
        member_number(&json, "notebook_overlapped_time", times->original_overlap);
        json_add_open(&json, "corrected", '{');
        for (size_t i = 0; i < sizeof right / sizeof *right; i++)
            member_number(&json, right[i].name, right[i].us);
        json_add_open(&json, "per_stream_sum", '{');
        for (uint32_t i = 0; i < times->n; i++) {
            json_text_key(&json, dlrm, times->list[i].name);
            json_number(&json, times->list[i].sum);
        }
        json_close(&json, '}');
        json_close(&json, '}');
    }
    json_close(&json, '}');
}

/* ---- The trimmed trace ---- */

static void dlrm_write_trimmed(const struct sutra_dlrm *dlrm, struct text_out *out) {
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

/* ---- The breakdown of each stream as text, ten rows a level, with the notebook's columns ---- */

#define ROWS_MAX   10
#define SMALL_REST 1e-4

struct text_level {
    row_t first, n, next; /* rows by time */
    double us;
};

static size_t count_characters(const char *text, size_t length) {
    size_t n = 0;
    for (size_t i = 0; i < length; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static void add_spaces(struct text_out *out, size_t n) {
    while (n-- > 0)
        buffer_append_text(&out->out, " ");
}

static void add_right(struct text_out *out, const char *text, size_t length, size_t width) {
    size_t n = count_characters(text, length);
    add_spaces(out, n < width ? width - n : 0);
    buffer_append(&out->out, text, length);
}

/* "name:" in its column, at its depth. */
static void add_name(struct text_out *out, unsigned depth, const char *name, size_t length) {
    size_t n = count_characters(name, length) + 1;
    add_spaces(out, (depth + 1) * 2 + 4);
    buffer_append(&out->out, name, length);
    out_add(out, ":");
    add_spaces(out, (n < 52 ? 52 - n : 0) + 1);
}

static void add_row(const struct sutra_dlrm *dlrm, struct text_out *out, unsigned depth,
                    const struct sutra_dlrm_row *row, double whole, struct buffer *scratch) {
    char text[NUMBER_TEXT_MAX + 1] = "(";
    size_t length = 1 + double_format(row->us, text + 1);
    add_name(out, depth, strings_text(&dlrm->texts, row->name), strings_length(&dlrm->texts, row->name));
    add_right(out, text, length, (depth + 2) * 3);
    out_format(out, ", %.2f%%, %llu)", row->us / whole * 100, (unsigned long long)row->count);
    scratch->length = 0;
    shape_append_tuple(scratch, strings_text(&dlrm->texts, row->shape));
    out->out.failed |= scratch->failed;
    if (!scratch->failed) {
        out_add(out, " ");
        add_right(out, scratch->bytes, scratch->length, 60);
    }
    out_add(out, "\n");
    out_step(out);
}

static void write_stream_text(const struct sutra_dlrm *dlrm, struct text_out *out,
                              const struct sutra_dlrm_stream *stream, struct buffer *scratch) {
    struct text_level levels[LEVELS_MAX + 4] = {{stream->first_row, stream->n_rows, 0, stream->active_us}};
    unsigned depth = 1;
    double host = dlrm->report.host_us;
    out_add(out, "Stream: ");
    out_add(out, strings_text(&dlrm->texts, stream->name));
    out_add(out, "\n    Total device time: ");
    if (number_is_double(dlrm->host))
        out_number(out, host);
    else
        out_integer(out, (int64_t)dlrm->host.bits);
    out_add(out, " (in us, same below)\n    Device idle time: ");
    out_number(out, stream->idle_us);
    out_format(out, " (%.2f%%)\n    Device active time: ", stream->idle_us / host * 100);
    out_number(out, stream->active_us);
    out_format(out, " (%.2f%%)\n", stream->active_us / host * 100);
    if (stream->active_us == 0)
        return;
    while (depth > 0) {
        struct text_level *level = &levels[depth - 1];
        if (level->next == level->n || level->next == ROWS_MAX) {
            depth--;
            /* The time of the rows after the first ten, if it is not negligible. */
            double rest = 0;
            char text[400];
            for (row_t i = ROWS_MAX; i < level->n; i++)
                rest += dlrm->report.rows[dlrm->report.by_time[level->first + i]].us;
            if (rest / level->us > SMALL_REST) {
                int length = snprintf(text, sizeof text, "(%.1f", rest);
                add_name(out, depth, "Others", 6);
                add_right(out, text, (size_t)length, (depth + 2) * 5);
                out_format(out, ", %.2f%%)\n", rest / level->us * 100);
            }
            continue;
        }
        const struct sutra_dlrm_row *row = &dlrm->report.rows[dlrm->report.by_time[level->first + level->next++]];
        add_row(dlrm, out, depth - 1, row, level->us, scratch);
        if (row->n_occurrences && row->first_us != 0)
            levels[depth++] = (struct text_level){row->first_child, row->n_children, 0, row->first_us};
    }
}

static void dlrm_write_text(const struct sutra_dlrm *dlrm, struct text_out *out) {
    struct buffer scratch = {0};
    for (uint64_t i = 0; i < dlrm->report.n_streams; i++)
        write_stream_text(dlrm, out, &dlrm->report.streams[i], &scratch);
    buffer_free(&scratch);
}

/*
 * ---- Headline numbers as text, as the notebook words them ----
 *
 * Shares are relative to the time of the iterations as the user measured it without the profiler, or else to the CPU
 * time, and at most 100 %. A stream's time is the sum of its GPU activity, some of which the notebook counts twice.
 */

struct summary {
    const struct sutra_dlrm *dlrm;
    struct text_out *out;
    double iters, whole_us; /* of all iterations */
};

/* As Python writes it, which never writes "-nan". */
static void add_decimals(struct text_out *out, double value) {
    if (isnan(value))
        out_add(out, "nan");
    else
        out_format(out, "%.2f", value);
}

static double share_of(const struct summary *summary, double us) {
    return fmin(us, summary->whole_us) / summary->whole_us;
}

static void add_average(const struct summary *summary, double us) {
    add_decimals(summary->out, us / summary->iters);
    out_add(summary->out, " us");
}

static void add_percentage(const struct summary *summary, double share) {
    add_decimals(summary->out, share * 100);
    out_add(summary->out, "%");
}

static void add_stream(const struct summary *summary, uint32_t name, double us) {
    struct text_out *out = summary->out;
    const struct strings *texts = &summary->dlrm->texts;
    out_add(out, "\n    Stream ");
    buffer_append(&out->out, strings_text(texts, name), strings_length(texts, name));
    out_add(out, ": average per-batch time: ");
    add_average(summary, fmin(us, summary->whole_us));
    out_add(out, ", active perc ");
    add_percentage(summary, share_of(summary, us));
    out_add(out, ", idle perc ");
    add_percentage(summary, 1 - share_of(summary, us));
    out_step(out);
}

void dlrm_write_summary(const struct sutra_dlrm *dlrm, struct text_out *out) {
    const struct sutra_dlrm_report *report = &dlrm->report;
    struct summary summary = {.dlrm = dlrm, .out = out, .iters = (double)report->iters, .whole_us = report->host_us};
    if (dlrm->options.iteration_us > 0)
        summary.whole_us = dlrm->options.iteration_us * summary.iters;
    double total = number_as_double(report->compat ? dlrm->stream_times.original_total : dlrm->stream_times.active);
    out_format(out, "Number of iterations: %llu\n", (unsigned long long)report->iters);
    out_format(out, "Num of events: %llu, num of root events: %llu, ", (unsigned long long)report->n_events,
               (unsigned long long)report->n_roots);
    out_format(out, "num of caller/callee pairs: %llu\n", (unsigned long long)report->n_launches);
    out_add(out, "Average per-batch dataloading time: ");
    add_average(&summary, report->skipped_us);
    out_add(out, "\nAverage per-batch host runtime: ");
    add_average(&summary, report->host_us);
    out_add(out, "\nQPS: ");
    add_decimals(out, report->qps);
    out_format(out, "\n%u GPU stream(s) in total.", summary.dlrm->stream_times.n_names);
    /* Adds every stream of the trace, also a stream without a known launch. */
    const struct dlrm_stream_times *times = &dlrm->stream_times;
    struct arena arena = {0};
    row_t *position =
        arena_zeros(&arena, dlrm->texts.n, sizeof *position); /* per text: index in the list of times + 1 */
    summary.out->out.failed |= !position;
    for (uint32_t i = 0; position && i < times->n; i++)
        position[times->list[i].name] = i + 1;
    for (uint32_t i = 0; position && i < times->n_names; i++) {
        row_t at = position[times->names[i]];
        struct number us = at == 0               ? number_integer(0)
                           : dlrm->report.compat ? times->list[at - 1].original
                                                 : times->list[at - 1].sum;
        add_stream(&summary, times->names[i], number_as_double(us));
    }
    arena_free(&arena);
    out_add(out, "\nTotal per-batch GPU time and percentage: ");
    add_average(&summary, fmin(total, summary.whole_us));
    out_add(out, " (");
    add_percentage(&summary, share_of(&summary, total));
    out_add(out, ")\n");
}

static const struct {
    const char *name;
    void (*write)(const struct sutra_dlrm *dlrm, struct text_out *out);
} files[] = {
    {"op_device_runtime.json", dlrm_write_device_time},
    {"op_device_time_by_name.json", dlrm_write_device_time_by_name},
    {"breakdown.json", dlrm_write_breakdown},
    {"flatten.json", dlrm_write_dominating},
    {"major_device_results.txt", dlrm_write_text},
    {"chart.json", dlrm_write_chart},
    {"overheads.json", dlrm_write_overheads},
    {"overheads_raw.json", dlrm_write_overheads_raw},
    {"overheads_by_shape_v2.json", dlrm_write_overheads_by_shape},
    {"launches.json", dlrm_write_launches},
    {"multistream.json", dlrm_write_streams},
    {"qps.json", dlrm_write_headline},
    {"summary.log", dlrm_write_summary},
};

struct target {
    struct sutra_context *context;
    const struct sutra_dlrm *dlrm;
    const char *folder;
    uint64_t *n_bytes;
    struct sutra_error *error;
};

/* More streams share one file. */
#define MAX_STREAM_FILES 100

/* The text of a file: by `write`, or the bars of a stream if `write` is NULL. */
struct file_source {
    const struct sutra_dlrm *dlrm;
    void (*write)(const struct sutra_dlrm *, struct text_out *);
    const struct sutra_dlrm_stream *stream;
};

static bool append_file(const void *of, struct text_out *out) {
    const struct file_source *source = of;
    if (source->write)
        source->write(source->dlrm, out);
    else
        dlrm_write_variants(source->dlrm, source->stream, out);
    return true;
}

static enum sutra_status write_file(const struct target *target, const char *name,
                                    void (*write)(const struct sutra_dlrm *, struct text_out *),
                                    const struct sutra_dlrm_stream *stream) {
    return text_file_write_in(target->context, target->folder, name, append_file,
                              &(struct file_source){target->dlrm, write, stream}, target->n_bytes, target->error);
}

/* Joins a prefix, a word of the user or the trace, and a suffix; replaces characters invalid in file names. */
static char *file_name(const char *prefix, const char *word, size_t length, const char *suffix) {
    char *name = NULL;
    if (asprintf(&name, "%s%.*s%s", prefix, (int)MIN(length, 200), word, suffix) < 0)
        return NULL;
    for (char *c = name; *c; c++)
        if (*c == '/' || (unsigned char)*c < ' ')
            *c = '_';
    return name;
}

const char *dlrm_model_of(const char *path, size_t *length) {
    const char *name = path_file_name(path);
    *length = strcspn(name, ".");
    if (*length == 0 || strcmp(path, "standard input") == 0) {
        *length = strlen("trace");
        return "trace";
    }
    return name;
}

static enum sutra_status write_with_model(const struct target *target, const char *model) {
    size_t length = model ? strlen(model) : 0;
    if (length == 0)
        model = dlrm_model_of(target->dlrm->trace->document.source.name, &length);
    char *name = file_name("overheads_", model, length, ".json");
    if (!name)
        return error_memory(target->error);
    enum sutra_status status = write_file(target, name, dlrm_write_overheads_file, NULL);
    free(name);
    if (status)
        return status;
    const struct sutra_dlrm *dlrm = target->dlrm;
    struct dlrm_raw raw;
    const struct dlrm_raw_part part = {&raw, model, length, dlrm->report.batch};
    status = dlrm_raw_make(dlrm, &raw, target->error);
    if (!status)
        status = text_file_write_in(target->context, target->folder, "overheads_by_shape_raw.csv", dlrm_raw_write,
                                    &(struct dlrm_raw_table){&part, 1}, target->n_bytes, target->error);
    dlrm_raw_free(&raw);
    return status;
}

static enum sutra_status write_variants(const struct target *target) {
    const struct sutra_dlrm *dlrm = target->dlrm;
    enum sutra_status status = SUTRA_OK;
    if (dlrm->report.n_streams > MAX_STREAM_FILES)
        return write_file(target, "streams.chart_variants.txt", dlrm_write_all_variants, NULL);
    for (uint64_t i = 0; i < dlrm->report.n_streams && !status; i++) {
        uint32_t text = dlrm->report.streams[i].name;
        char *name = file_name("stream", strings_text(&dlrm->texts, text), strings_length(&dlrm->texts, text),
                               ".chart_variants.txt");
        status = name ? write_file(target, name, NULL, &dlrm->report.streams[i]) : error_memory(target->error);
        free(name);
    }
    return status;
}

enum sutra_status sutra_dlrm_write(struct sutra_context *context, const struct sutra_dlrm *dlrm, const char *folder,
                                   const char *model, uint64_t *n_bytes, struct sutra_error *error) {
    uint64_t n_written = 0;
    const struct target target = {context, dlrm, folder, &n_written, error};
    enum sutra_status status = SUTRA_OK;
    stage_begin(context, "write", 0);
    if (dlrm->report.trimmed)
        status = write_file(&target, "trimmed_trace.json", dlrm_write_trimmed, NULL);
    if (!status)
        status = write_with_model(&target, model);
    if (!status)
        status = write_variants(&target);
    for (size_t i = 0; i < sizeof files / sizeof *files && !status; i++)
        status = write_file(&target, files[i].name, files[i].write, NULL);
    stage_end(context);
    if (!status && n_bytes)
        *n_bytes = n_written;
    return status;
}
