/*
 * nccl_rows.c - kernels of collectives as TraceLens reads them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collectives/nccl.h"
#include "base/error.h"
#include "columns/column.h"
#include "facts/names.h"

/* The texts first, as in enum nccl_text. */
enum nccl_field { NCCL_SIZE = N_NCCL_TEXTS, NCCL_IN, NCCL_OUT, NCCL_STREAM, N_NCCL_FIELDS };

static const struct asked_field nccl_fields[N_NCCL_FIELDS] = {
    [NCCL_GROUP] = {.name = "Process Group Name", .form = ASK_PLACE},
    [NCCL_MEMBERS] = {.name = "Process Group Ranks", .form = ASK_PLACE},
    [NCCL_WHAT] = {.name = "Collective name", .form = ASK_PLACE},
    [NCCL_TYPE] = {.name = "dtype", .form = ASK_PLACE},
    [NCCL_IN_SPLIT] = {.name = "In split size", .form = ASK_PLACE},
    [NCCL_OUT_SPLIT] = {.name = "Out split size", .form = ASK_PLACE},
    [NCCL_SIZE] = {.name = "Group size", .form = ASK_NUMBER},
    [NCCL_IN] = {.name = "In msg nelems", .form = ASK_NUMBER},
    [NCCL_OUT] = {.name = "Out msg nelems", .form = ASK_NUMBER},
    [NCCL_STREAM] = {.name = "stream", .form = ASK_NUMBER},
};

/* What Python prints of a value: a string's text, "(0, 1)" of an array; null and nothing are not told. */
static bool take_text(struct nccl_rows *rows, const struct sutra_device_trace *trace, struct json_place place,
                      uint32_t *text) {
    const char *bytes = trace->document.source.bytes + place.at;
    size_t length = place.at ? place.end - place.at : 0;
    *text = 0;
    if (length == 0 || (length == 4 && memcmp(bytes, "null", 4) == 0))
        return true;
    char *copy = malloc(2 * length + 4);
    size_t n = 0;
    if (!copy)
        return false;
    bool is_text = *bytes == '"', is_array = *bytes == '['; /* a text ends before its quote */
    for (size_t i = is_text; i < length; i++) {
        if (!is_array || !strchr("[] \t\r\n", bytes[i]))
            copy[n++] = bytes[i];
        else if (bytes[i] == '[')
            copy[n++] = '(';
        else if (bytes[i] == ']') {
            if (!memchr(bytes, ',', length) && n > 1)
                copy[n++] = ',';
            copy[n++] = ')';
        }
        if (is_array && bytes[i] == ',')
            copy[n++] = ' ';
    }
    uint32_t kept = strings_intern(&rows->strings, copy, n);
    free(copy);
    *text = kept + 1;
    return kept != STRING_NONE;
}

/* Kernels of collectives of vLLM have no arguments, but a name that tells. */
static bool infer_kind(struct nccl_rows *rows, const struct sutra_device_trace *trace, row_t event,
                       struct nccl_row *row) {
    uint32_t name = trace->events.name[event];
    if (row->text[NCCL_WHAT] || !text_compare(&trace->strings, name, TEXT_HAS_IN_ANY_CASE, "cross_device_reduce"))
        return true;
    uint32_t kept = strings_intern(&rows->strings, "allreduce", strlen("allreduce"));
    row->text[NCCL_WHAT] = kept + 1;
    return kept != STRING_NONE;
}

static double number_of(const struct asked_column *column, row_t event) {
    return number_as_double(number_at(column->number, event));
}

static bool take_row(struct nccl_rows *rows, const struct sutra_device_trace *trace, const struct asked_column *columns,
                     row_t event) {
    const struct device_events *events = &trace->events;
    struct nccl_row row = {.size = number_of(&columns[NCCL_SIZE], event),
                           .n_in = number_of(&columns[NCCL_IN], event),
                           .n_out = number_of(&columns[NCCL_OUT], event),
                           .stream = number_of(&columns[NCCL_STREAM], event),
                           .ts = number_as_double(number_at(events->ts, event)),
                           .dur = number_as_double(number_at(events->dur, event))};
    for (int i = 0; i < N_NCCL_TEXTS; i++)
        if (!take_text(rows, trace, columns[i].place[event], &row.text[i]))
            return false;
    if (!infer_kind(rows, trace, event, &row) ||
        !column_grow(&rows->list, rows->n, &rows->capacity, sizeof *rows->list))
        return false;
    rows->list[rows->n++] = row;
    return true;
}

/* Whether it has an id at all, as TraceLens wants. */
static bool is_linked(const struct device_events *events, row_t event) {
    return (key_is_value(events->correlation[event]) && (int64_t)events->correlation[event] != -1) ||
           (key_is_value(events->external[event]) && (int64_t)events->external[event] != -1);
}

enum sutra_status nccl_rows_take(struct nccl_rows **rows, struct sutra_context *context,
                                 const struct sutra_device_trace *trace, struct sutra_error *error) {
    struct arena scratch = {0};
    struct asked_column columns[N_NCCL_FIELDS];
    row_t n, *kernels = collective_kernels_find(trace, &scratch, &n);
    struct nccl_rows *made = calloc(1, sizeof *made);
    bool done = kernels && made && strings_init(&made->strings);
    enum sutra_status status = done ? SUTRA_OK : error_memory(error);
    if (!status)
        status = event_columns_ask(context, trace, nccl_fields, N_NCCL_FIELDS, kernels, n, columns, error);
    for (row_t i = 0; i < n && !status; i++)
        if (is_linked(&trace->events, kernels[i]) && !take_row(made, trace, columns, kernels[i]))
            status = error_memory(error);
    arena_free(&scratch);
    if (status)
        nccl_rows_free(made);
    else
        *rows = made;
    return status;
}

void nccl_rows_free(struct nccl_rows *rows) {
    if (!rows)
        return;
    strings_free(&rows->strings);
    free(rows->list);
    free(rows);
}

/* ---- From one process to another ---- */

void nccl_rows_put(const struct nccl_rows *rows, struct buffer *out) {
    spool_put_strings(out, &rows->strings);
    spool_put_rows(out, rows->list, rows->n, sizeof *rows->list);
}

bool nccl_rows_restore(struct nccl_rows **rows, struct spool_reader *reader) {
    struct nccl_rows *made = calloc(1, sizeof *made);
    bool done = made && strings_init(&made->strings) && spool_take_strings(reader, &made->strings);
    if (done)
        made->list = spool_take_rows(reader, &made->n, sizeof *made->list);
    for (uint64_t i = 0; done && i < made->n; i++)
        for (int text = 0; text < N_NCCL_TEXTS; text++)
            reader->failed |= made->list[i].text[text] > made->strings.n;
    done = done && (made->list || reader->failed);
    if (!done || reader->failed)
        nccl_rows_free(made);
    else
        *rows = made;
    return done;
}
