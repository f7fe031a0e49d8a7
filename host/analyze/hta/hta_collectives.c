/*
 * hta_collectives.c - what stragglers are found by when all ranks are there: of each rank its communication kernels,
 * and from when until when rows of each profiler step are, on the trace's own clock; nothing of a rank that is alone.
 * O(n).
 */
#include <string.h>

#include "analyze/hta/hta_stragglers.h"
#include "base/error.h"
#include "columns/tuples.h"

void hta_collectives_init(struct sutra_hta *hta) {
    static const struct column_spec collectives[] = {
        [COLLECTIVE_STREAM] = {"stream", SUTRA_COLUMN_INTEGER}, [COLLECTIVE_STEP] = {"step", SUTRA_COLUMN_INTEGER},
        [COLLECTIVE_NAME] = {"name", SUTRA_COLUMN_TEXT},        [COLLECTIVE_GROUP] = {"group", SUTRA_COLUMN_TEXT},
        [COLLECTIVE_INDEX] = {"index", SUTRA_COLUMN_INTEGER},   [COLLECTIVE_START] = {"start", SUTRA_COLUMN_INTEGER},
        [COLLECTIVE_DUR] = {"dur", SUTRA_COLUMN_INTEGER}};
    static const struct column_spec spans[] = {[SPAN_STEP] = {"step", SUTRA_COLUMN_INTEGER},
                                               [SPAN_NAMED] = {"named", SUTRA_COLUMN_INTEGER},
                                               [SPAN_FIRST] = {"first", SUTRA_COLUMN_INTEGER},
                                               [SPAN_LAST] = {"last", SUTRA_COLUMN_INTEGER}};
    table_init(&hta->collectives, "collectives", collectives, sizeof collectives / sizeof *collectives);
    table_init(&hta->spans, "spans", spans, sizeof spans / sizeof *spans);
}

/* ---- Steps ---- */

struct step_span {
    bool named; /* a row is named so */
    bool any;   /* rows are in the step: */
    int64_t first, last;
};

struct step_spans {
    struct tuples numbers;
    struct step_span *list;
    uint64_t capacity;
    struct arena *arena;
    uint32_t last; /* that was found, which rows in turn mostly share; TUPLE_NONE at first */
};

/* NULL: out of memory. */
static struct step_span *span_of(struct step_spans *spans, int64_t number) {
    if (spans->last != TUPLE_NONE && spans->numbers.list[spans->last].part[0] == number)
        return &spans->list[spans->last];
    uint32_t n = spans->numbers.n, span = tuples_number(&spans->numbers, (struct tuple){{number}});
    if (span == TUPLE_NONE || !arena_grow(spans->arena, &spans->list, span, &spans->capacity, sizeof *spans->list))
        return NULL;
    if (span == n)
        spans->list[span] = (struct step_span){.first = INT64_MAX, .last = INT64_MIN};
    spans->last = span;
    return &spans->list[span];
}

static bool take_row(struct step_spans *spans, const struct hta_input *input, row_t event) {
    const struct hta_rows *rows = &input->rows;
    int64_t number = input->iterations.of_event[event];
    if (number < 0)
        return true;
    struct step_span *span = span_of(spans, number);
    if (!span)
        return false;
    int64_t end = rows->start[event] + rows->dur[event];
    span->any = true;
    span->first = rows->start[event] < span->first ? rows->start[event] : span->first;
    span->last = end > span->last ? end : span->last;
    return true;
}

static bool take_name(struct step_spans *spans, const struct hta_input *input, row_t event) {
    const struct hta_rows *rows = &input->rows;
    int64_t number = input->iterations.of_name[rows->events->name[event]];
    bool counts = input->options.compat || category_roles(rows->events, rows->roles, event) & CATEGORY_ANNOTATION;
    if (number == ITERATION_NONE || !(rows->state[event] & HTA_KEPT) || !counts)
        return true;
    struct step_span *span = span_of(spans, number);
    if (span)
        span->named = true;
    return span != NULL;
}

enum sutra_status hta_spans(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                            struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    struct step_spans spans = {.arena = arena, .last = TUPLE_NONE};
    bool ok = true;
    if (input->alone)
        return SUTRA_OK;
    for (row_t i = 0; i < rows->n_steps && ok; i++)
        ok = take_name(&spans, input, rows->steps[i]);
    for (row_t i = 0; i < rows->n && ok && input->iterations.of_event; i++)
        ok = take_row(&spans, input, rows->list[i]);
    for (uint32_t i = 0; i < spans.numbers.n && ok; i++) {
        table_integer(&hta->spans, spans.numbers.list[i].part[0]);
        table_integer(&hta->spans, spans.list[i].named);
        table_integer(&hta->spans, spans.list[i].any ? rows->base + spans.list[i].first : INT64_MAX);
        table_integer(&hta->spans, spans.list[i].any ? rows->base + spans.list[i].last : INT64_MIN);
    }
    tuples_free(&spans.numbers);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- Kernels ---- */

static bool is_collective(const struct hta_input *input, row_t event) {
    const struct hta_rows *rows = &input->rows;
    const char *name = strings_text(rows->strings, rows->events->name[event]);
    if (rows->stream[event] < 0)
        return false;
    if (input->options.compat)
        return strncmp(name, "ncclKernel", strlen("ncclKernel")) == 0;
    return rows->state[event] & HTA_STREAM &&
           input->kernels.of_name[rows->events->name[event]] == KERNEL_COMMUNICATION + 1;
}

static void add_collective(const struct hta_input *input, row_t event, const uint32_t *groups,
                           struct sutra_table *table) {
    const struct hta_rows *rows = &input->rows;
    table_integer(table, rows->stream[event]);
    table_integer(table, hta_iteration(input, event));
    table_string(table, rows->strings, rows->events->name[event]);
    table_string(table, event_columns_strings(rows->trace), groups[event]);
    table_integer(table, event);
    table_integer(table, rows->base + rows->start[event]);
    table_integer(table, rows->dur[event]);
}

enum sutra_status hta_collectives(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                  struct sutra_error *error) {
    static const struct asked_field field = {"Process Group Ranks", ASK_STRING, false};
    const struct hta_rows *rows = &input->rows;
    if (input->alone)
        return SUTRA_OK;
    row_t *events = arena_take(arena, rows->n, sizeof *events), n = 0;
    struct asked_column groups = {0};
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < rows->n && !status; i++)
        if (is_collective(input, rows->list[i]))
            events[n++] = rows->list[i];
    if (!status && n)
        status = event_columns_ask(input->context, rows->trace, &field, 1, events, n, &groups, error);
    for (row_t i = 0; i < n && !status; i++)
        add_collective(input, events[i], groups.string, &hta->collectives);
    return status;
}
