/*
 * dlrm_write.c - the files of an analysis, each through a sink: it appears whole or not at all.
 */
#include "analyze/dlrm/dlrm_write.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyze/dlrm/dlrm_raw.h"
#include "base/error.h"
#include "write/text_file.h"

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

/* More streams than that have a file together. */
#define STREAM_FILES_MOST 100

/* Writes one file with `write`, or, where that is NULL, the bars of a stream. */
static enum sutra_status write_file(const struct target *target, const char *name,
                                    void (*write)(const struct sutra_dlrm *, struct text_out *),
                                    const struct sutra_dlrm_stream *stream) {
    struct text_out out = {0};
    uint64_t n_bytes = 0;
    char *path = NULL;
    if (asprintf(&path, "%s/%s", target->folder, name) < 0)
        return error_memory(target->error);
    enum sutra_status status = sink_open(&out.sink, target->context, path, target->error);
    if (!status) {
        if (write)
            write(target->dlrm, &out);
        else
            dlrm_write_variants(target->dlrm, stream, &out);
        bool whole = !out.out.failed;
        out_flush(&out);
        status = sink_close(out.sink, whole, &n_bytes, target->error);
        if (!status && !whole)
            status = error_memory(target->error);
    }
    *target->n_bytes += n_bytes;
    buffer_free(&out.out);
    free(path);
    return status;
}

/* "overheads_" or the like, a word of the user or the trace, ".json" or the like; without what no file name has. */
static char *file_name(const char *before, const char *word, size_t length, const char *after) {
    char *name = NULL;
    if (asprintf(&name, "%s%.*s%s", before, (int)(length < 200 ? length : 200), word, after) < 0)
        return NULL;
    for (char *c = name; *c; c++)
        if (*c == '/' || (unsigned char)*c < ' ')
            *c = '_';
    return name;
}

const char *dlrm_model_of(const char *path, size_t *length) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    *length = strcspn(name, ".");
    if (*length == 0 || strcmp(path, "standard input") == 0) {
        *length = strlen("trace");
        return "trace";
    }
    return name;
}

static enum sutra_status write_overheads_file(const struct target *target, const char *model, size_t length) {
    char *name = file_name("overheads_", model, length, ".json");
    if (!name)
        return error_memory(target->error);
    enum sutra_status status = write_file(target, name, dlrm_write_overheads_file, NULL);
    free(name);
    return status;
}

static enum sutra_status write_raw(const struct target *target, const char *model, size_t length) {
    const struct sutra_dlrm *dlrm = target->dlrm;
    struct dlrm_raw raw;
    const struct dlrm_raw_part part = {&raw, model, length, dlrm->report.batch};
    enum sutra_status status = dlrm_raw_take(dlrm, &raw, target->error);
    if (!status)
        status = text_file_write_in(target->context, target->folder, "overheads_by_shape_raw.csv", dlrm_raw_write,
                                    &(struct dlrm_raw_table){&part, 1}, target->n_bytes, target->error);
    dlrm_raw_free(&raw);
    return status;
}

static enum sutra_status write_with_model(const struct target *target, const char *model) {
    size_t length = model ? strlen(model) : 0;
    if (length == 0)
        model = dlrm_model_of(target->dlrm->trace->document.source.name, &length);
    enum sutra_status status = write_overheads_file(target, model, length);
    return status ? status : write_raw(target, model, length);
}

static enum sutra_status write_variants(const struct target *target) {
    const struct sutra_dlrm *dlrm = target->dlrm;
    enum sutra_status status = SUTRA_OK;
    if (dlrm->report.n_streams > STREAM_FILES_MOST)
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
