/*
 * profile.c - making room in a profile's columns, and showing them.
 */
#include "tree/profile.h"

#include <stdlib.h>

#include "base/options.h"
#include "columns/column.h"
#include "write/trace_copy.h"

struct sutra_profile *profile_new(void) {
    struct sutra_profile *profile = calloc(1, sizeof *profile);
    if (!profile || !strings_init(&profile->own_strings) || !profile_reserve(profile, 1)) {
        sutra_profile_free(profile);
        return NULL;
    }
    profile->strings = &profile->own_strings;
    return profile;
}

bool profile_reserve(struct sutra_profile *profile, row_t n) {
    if (n <= profile->capacity)
        return true;
#define X(type, name)                                                                                                  \
    if (!column_resize(&profile->name, n, sizeof *profile->name))                                                      \
        return false;
    PROFILE_COLUMNS(X)
#undef X
    profile->capacity = n;
    return true;
}

void sutra_profile_free(struct sutra_profile *profile) {
    if (!profile)
        return;
#define X(type, name) free(profile->name);
    PROFILE_COLUMNS(X)
#undef X
    strings_free(&profile->own_strings);
    sutra_inputs_free(profile->inputs);
    free(profile);
}

row_t profile_append(struct sutra_profile *profile, enum sutra_event_kind kind, row_t event) {
    row_t row = profile->n++;
#define X(type, name) profile->name[row] = 0;
    PROFILE_COLUMNS(X)
#undef X
    profile->kind[row] = (uint8_t)kind;
    profile->event[row] = event;
    profile->index[row] = event;
    profile->forward[row] = THREAD_NONE;
    profile->sequence[row] = -1;
    profile->parent[row] = ROW_NONE;
    return row;
}

void profile_count(struct sutra_profile *profile) {
    struct sutra_profile_report *report = &profile->report;
    report->n_events = profile->n;
    report->n_threads = profile->n_threads;
    for (row_t row = 0; row < profile->n; row++) {
        uint8_t kind = profile->kind[row];
        report->n_operators += kind == SUTRA_EVENT_OPERATOR || kind == SUTRA_EVENT_BACKEND;
        report->n_memory += event_is_memory(kind);
        report->n_python += kind == SUTRA_EVENT_PYTHON_CALL || kind == SUTRA_EVENT_PYTHON_C_CALL;
        report->n_kineto += kind == SUTRA_EVENT_KINETO;
        profile->n_allocations += kind == SUTRA_EVENT_ALLOCATION;
    }
}

void sutra_profile_columns(const struct sutra_profile *profile, struct sutra_profile_columns *columns) {
    const struct sutra_profile_columns ours = {.n = profile->n,
                                               .kind = profile->kind,
                                               .start_ns = profile->start,
                                               .end_ns = profile->end,
                                               .thread = profile->thread,
                                               .forward_thread = profile->forward,
                                               .sequence = profile->sequence,
                                               .parent = profile->parent,
                                               .event = profile->event};
    report_give(columns, &ours, sizeof ours);
}

const char *sutra_profile_name(const struct sutra_profile *profile, uint64_t row) {
    return strings_text(profile->strings, profile->name[row]);
}

void sutra_profile_report(const struct sutra_profile *profile, struct sutra_profile_report *report) {
    report_give(report, &profile->report, sizeof profile->report);
}

void write_thread_name(const struct sutra_profile *profile, row_t row, struct text_out *text) {
    struct event_places places;
    if (!profile->trace) {
        out_integer(text, profile->tid[row]);
        return;
    }
    event_find(profile->trace, profile->event[row], NULL, &places);
    struct text_out plain = {0};
    trace_copy_value(profile->trace, &plain, places.field[FIELD_TID]);
    out_name(text, plain.out.bytes, plain.out.length);
    text->out.failed |= plain.out.failed;
    buffer_free(&plain.out);
}
