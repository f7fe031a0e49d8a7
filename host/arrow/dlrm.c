/*
 * dlrm.c - what the DLRM notebook's analysis found as columns: its arrays of structs become one column for each member.
 */
#include "analyze/dlrm/dlrm.h"

#include <stdlib.h>
#include <string.h>

#include "arrow/members.h"
#include "columns/column.h"

/* One of its arrays; texts are numbers there. */
struct dlrm_array {
    const struct sutra_dlrm *dlrm;
    struct member_array of;
};

static void add_text(const struct dlrm_array *array, const char *name, size_t offset) {
    struct text_list texts = {0};
    struct valid_rows valid = valid_new(array->of.batch->n_rows);
    for (uint64_t i = 0; i < array->of.batch->n_rows && !valid.failed; i++) {
        uint32_t number = *(const uint32_t *)member_at(&array->of, i, offset);
        const char *text = number == SUTRA_DLRM_NONE ? "" : sutra_dlrm_text(array->dlrm, number);
        valid_put(&valid, i, number != SUTRA_DLRM_NONE);
        text_list_add(&texts, text, strlen(text));
    }
    batch_texts(array->of.batch, name, &texts, valid);
}

#define TEXT(type, member)  add_text(&array, #member, offsetof(struct type, member))
#define REAL(type, member)  MEMBER_REAL(&array.of, type, member, "us")
#define COUNT(type, member) MEMBER_COUNT(&array.of, type, member, NULL)

static void add_streams(struct dlrm_array array) {
    add_text(&array, "stream", offsetof(struct sutra_dlrm_stream, name));
    REAL(sutra_dlrm_stream, active_us);
    REAL(sutra_dlrm_stream, idle_us);
}

/* Rows of the top level are those of a stream. */
static void add_stream_of_rows(const struct dlrm_array *array, const struct sutra_dlrm_report *report) {
    struct text_list texts = {0};
    struct valid_rows valid = valid_new(report->n_rows);
    uint32_t *of = column_new(report->n_rows, sizeof *of); /* + 1 */
    for (uint64_t i = 0; i < report->n_streams && of; i++)
        for (uint32_t j = 0; j < report->streams[i].n_rows; j++)
            of[report->streams[i].first_row + j] = report->streams[i].name + 1;
    for (uint64_t i = 0; i < report->n_rows && of && !valid.failed; i++) {
        const char *text = of[i] ? sutra_dlrm_text(array->dlrm, of[i] - 1) : "";
        valid_put(&valid, i, of[i] != 0);
        text_list_add(&texts, text, strlen(text));
    }
    array->of.batch->failed |= !of;
    free(of);
    batch_texts(array->of.batch, "stream", &texts, valid);
}

static void add_rows(struct dlrm_array array, const struct sutra_dlrm_report *report) {
    add_stream_of_rows(&array, report);
    TEXT(sutra_dlrm_row, name);
    TEXT(sutra_dlrm_row, shape);
    COUNT(sutra_dlrm_row, count);
    COUNT(sutra_dlrm_row, n_occurrences);
    REAL(sutra_dlrm_row, us);
    REAL(sutra_dlrm_row, first_us);
    COUNT(sutra_dlrm_row, first_child);
    COUNT(sutra_dlrm_row, n_children);
}

static void add_overheads(struct dlrm_array array, bool by_shape) {
    static const char *const words[SUTRA_N_OVERHEADS] = {"T1", "T2", "T3", "T4", "T5"};
    member_word(&array.of, "kind", offsetof(struct sutra_dlrm_overhead, kind), words, SUTRA_N_OVERHEADS);
    TEXT(sutra_dlrm_overhead, name);
    if (by_shape)
        TEXT(sutra_dlrm_overhead, shapes);
    COUNT(sutra_dlrm_overhead, n);
    REAL(sutra_dlrm_overhead, mean_us);
    REAL(sutra_dlrm_overhead, std_us);
}

enum sutra_status sutra_dlrm_arrow(const struct sutra_dlrm *dlrm, enum sutra_dlrm_columns which,
                                   struct ArrowArrayStream *stream, struct sutra_error *error) {
    struct sutra_dlrm_report report = {.size = sizeof report};
    struct batch batch = {0};
    struct dlrm_array array = {.dlrm = dlrm, .of = {.batch = &batch}};
    sutra_dlrm_report(dlrm, &report);
    if (which == SUTRA_DLRM_STREAMS) {
        batch.n_rows = report.n_streams;
        array.of.first = report.streams;
        array.of.stride = sizeof *report.streams;
        add_streams(array);
    } else if (which == SUTRA_DLRM_ROWS) {
        batch.n_rows = report.n_rows;
        array.of.first = report.rows;
        array.of.stride = sizeof *report.rows;
        add_rows(array, &report);
    } else {
        bool by_shape = which == SUTRA_DLRM_OVERHEADS_BY_SHAPE;
        batch.n_rows = by_shape ? report.n_overheads_by_shape : report.n_overheads;
        array.of.first = by_shape ? report.overheads_by_shape : report.overheads;
        array.of.stride = sizeof *report.overheads;
        add_overheads(array, by_shape);
    }
    return batch_stream(&batch, stream, error);
}
