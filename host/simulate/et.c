/*
 * et.c - sutra_et_...(): reads and summarizes .et files, and writes them as JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "context/context.h"
#include "read/file_kind.h"
#include "read/source.h"
#include "simulate/et_file.h"
#include "simulate/et_format.h"
#include "simulate/et_graph.h"
#include "write/text.h"

/* ---- Summary: counts, durations, longest chains, communication by type and group ---- */

/* The communication of a node, sorted: sends, receives, collectives by type. */
struct info_call {
    int64_t type;
    uint32_t group; /* id of its name */
    uint64_t bytes;
};

#define SENDS    INT64_MIN
#define RECEIVES (INT64_MIN + 1)

ORDER_BY(compare_calls, struct info_call, ASCENDING(type) ASCENDING(group))

static struct info_call call_of(const struct et_nodes *nodes, row_t row, struct strings *groups) {
    struct et_text name = et_group_name(nodes, row);
    int64_t type = -1, size = 0;
    if (nodes->type[row] == ET_COMM_COLL)
        et_integer(nodes, row, ET_NAME_COMM_TYPE, &type);
    else
        type = nodes->type[row] == ET_COMM_SEND ? SENDS : RECEIVES;
    et_integer(nodes, row, ET_NAME_COMM_SIZE, &size);
    size = MAX(size, 0);
    return (struct info_call){type, strings_intern(groups, name.bytes, name.length), (uint64_t)size};
}

static const char *call_name(int64_t type) {
    const char *name = et_collective_name(type);
    return type == SENDS ? "SEND" : type == RECEIVES ? "RECEIVE" : name ? name : "UNKNOWN";
}

static enum sutra_status find_traffic(const struct et_nodes *nodes, struct arena *arena, struct sutra_et_info *info,
                                      struct sutra_error *error) {
    struct strings groups;
    uint64_t n = 0,
             most = info->n_of_type[ET_COMM_SEND] + info->n_of_type[ET_COMM_RECV] + info->n_of_type[ET_COMM_COLL];
    struct sutra_et_traffic *rows = arena_alloc(arena, most, sizeof *rows);
    struct info_call *calls = arena_alloc(arena, most, sizeof *calls);
    if (arena->failed || !strings_init(&groups))
        return error_memory(error);
    bool is_complete = true;
    for (row_t row = 0; row < nodes->n; row++)
        if (et_is_communication(nodes->type[row])) {
            calls[n] = call_of(nodes, row, &groups);
            is_complete &= calls[n++].group != STRING_NONE;
        }
    if (is_complete) {
        qsort(calls, n, sizeof *calls, compare_calls);
        info->traffic = rows;
        /* Sum up the sorted calls. */
        uint64_t n_rows = 0;
        for (uint64_t k = 0; k < n; k++) {
            if (k == 0 || compare_calls(&calls[k], &calls[k - 1]) != 0)
                rows[n_rows++] =
                    (struct sutra_et_traffic){.type = call_name(calls[k].type),
                                              .group = arena_text(arena, strings_text(&groups, calls[k].group),
                                                                  strings_length(&groups, calls[k].group)),
                                              .bytes_least = calls[k].bytes};
            struct sutra_et_traffic *row = &rows[n_rows - 1];
            row->count++;
            if (__builtin_add_overflow(row->bytes, calls[k].bytes, &row->bytes))
                row->bytes = UINT64_MAX;
            row->bytes_least = MIN(calls[k].bytes, row->bytes_least);
            row->bytes_most = MAX(calls[k].bytes, row->bytes_most);
        }
        info->n_traffic = n_rows;
    }
    strings_free(&groups);
    return is_complete && !arena->failed ? SUTRA_OK : error_memory(error);
}

/* Summarizes the nodes; texts are in the arena `texts`. */
static enum sutra_status summarize(const struct et_nodes *nodes, struct arena *texts, struct arena *scratch,
                                   struct sutra_et_info *info, struct sutra_error *error) {
    struct et_graph graph;
    struct et_lengths lengths;

    /* Counts by type, and durations. */
    for (row_t row = 0; row < nodes->n; row++) {
        int32_t type = nodes->type[row];
        info->n_of_type[type >= 0 && type < SUTRA_ET_OTHER ? type : SUTRA_ET_OTHER]++;
        info->n_gpu += et_is_gpu(nodes, row);
    }
    info->n_nodes = nodes->n;
    info->n_cpu = nodes->n - info->n_gpu;
    info->n_ctrl = nodes->ctrl.first[nodes->n];
    info->n_data = nodes->data.first[nodes->n];
    info->us_least = nodes->n ? UINT64_MAX : 0;
    for (row_t row = 0; row < nodes->n; row++) {
        uint64_t us = nodes->duration_us[row];
        info->us_least = MIN(us, info->us_least);
        info->us_most = MAX(us, info->us_most);
        if (__builtin_add_overflow(info->us_total, us, &info->us_total))
            info->us_total = UINT64_MAX;
    }
    const struct et_text schema = et_metadata_text(nodes, ET_NAME_SCHEMA);
    info->schema = arena_text(texts, schema.bytes, schema.length);
    TRY(find_traffic(nodes, texts, info, error));
    TRY(et_graph_make(nodes, ET_ALL, scratch, &graph, error));
    TRY(et_lengths_find(nodes, &graph, scratch, &lengths, error));
    info->n_absent = graph.n_absent;
    info->n_cyclic = graph.n - graph.n_order;
    info->critical_us = lengths.critical_us;
    info->n_levels = lengths.n_levels;
    info->width = lengths.width;
    return SUTRA_OK;
}

enum sutra_status sutra_et_info(struct sutra_context *context, struct sutra_et *et, struct sutra_et_info *info,
                                struct sutra_error *error) {
    struct sutra_et_info made = {.n_bytes = et->file.source.size};
    struct arena scratch = {0};
    arena_free(&et->info);
    stage_begin(context, "info", et->file.nodes.n);
    enum sutra_status status = summarize(&et->file.nodes, &et->info, &scratch, &made, error);
    stage_end(context);
    arena_free(&scratch);
    TRY(status);
    report_give(info, &made, sizeof made);
    return SUTRA_OK;
}

/* Reads a file, or the bytes if they are not NULL. */
static enum sutra_status read_new(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                  const struct sutra_et_read_options *options, struct sutra_et **et,
                                  struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_et_read_options, damaged);
    struct sutra_et_read_options used_options;
    TRY(options_copy(&form, options, &used_options, error));
    struct sutra_et *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    struct source *source = &made->file.source;
    enum sutra_status status = bytes ? source_copy_any(source, name, bytes, size, error)
                                     : et_open(&made->file, name, context->options.most_input_bytes, error);
    if (!status) {
        stage_begin(context, "read .et", source->size);
        status = et_read(&made->file, used_options.damaged ? ET_TOLERANT : ET_WHOLE, context->pool, error);
        stage_end(context);
    }
    if (status)
        sutra_et_free(made);
    else
        *et = made;
    return status;
}

enum sutra_status sutra_et_read(struct sutra_context *context, const char *path,
                                const struct sutra_et_read_options *options, struct sutra_et **et,
                                struct sutra_error *error) {
    return read_new(context, path, NULL, 0, options, et, error);
}

enum sutra_status sutra_et_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                 const struct sutra_et_read_options *options, struct sutra_et **et,
                                 struct sutra_error *error) {
    return read_new(context, name, bytes ? bytes : "", size, options, et, error);
}

void sutra_et_free(struct sutra_et *et) {
    if (!et)
        return;
    et_file_free(&et->file);
    arena_free(&et->info);
    free(et);
}

enum sutra_status sutra_is_et(struct sutra_context *context, const char *path, bool *known, struct sutra_error *error) {
    struct source source;
    TRY(source_open_format(&source, path, et_may_begin, context->options.most_input_bytes, error));
    const struct file_kind kind = file_kind(path, source.bytes, source.size);
    /* such as UTF-16, whose bytes may parse as a node */
    bool is_other = (kind.format == FILE_OTHER && *kind.remedy) || kind.format == FILE_DUMP;
    *known = !source.is_beginning && !is_other && is_et_file(source.bytes, source.size);
    source_close(&source);
    return SUTRA_OK;
}

static bool write_json(const struct et_nodes *nodes, enum et_json_layout layout, struct text_out *text) {
    et_json_metadata(nodes, layout, text);
    for (row_t row = 0; row < nodes->n; row++) {
        et_json_node(nodes, row, layout, text);
        out_step(text);
    }
    return true;
}

static bool write_lines(const void *nodes, struct text_out *text) {
    return write_json(nodes, ET_JSON_LINES, text);
}

static bool write_chakra(const void *nodes, struct text_out *text) {
    return write_json(nodes, ET_JSON_CHAKRA, text);
}

enum sutra_status sutra_et_write_json(struct sutra_context *context, const struct sutra_et *et,
                                      enum sutra_et_layout layout, const char *path, uint64_t *n_bytes,
                                      struct sutra_error *error) {
    stage_begin(context, "write", et->file.nodes.n);
    enum sutra_status status = text_file_write(context, path, layout == SUTRA_ET_LINES ? write_lines : write_chakra,
                                               &et->file.nodes, n_bytes, error);
    stage_end(context);
    return status;
}
