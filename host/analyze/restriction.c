/*
 * restriction.c - the restriction of ranks.h.
 *
 *     time, step           -> facts/selection.h
 *     name, category       -> launch model: the operator to which a GPU activity is attributed
 *     stream               -> the activity itself
 *
 * A value that nothing matches is an error, which lists the values that exist. O(events), and the launch model.
 */
#include "analyze/ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/codec.h"
#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/column.h"
#include "facts/op_categories.h"
#include "facts/times.h"
#include "facts/validity.h"

/* Streams in a message at most, and bytes of a list in a message. */
#define MAX_STREAMS 16
#define LIST_SIZE   300

enum sutra_status restriction_copy(const struct sutra_restriction *given, struct sutra_restriction *taken,
                                   struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_restriction, category);
    return options_copy(&form, given, taken, error);
}

bool restriction_has_rank(const struct sutra_restriction *restriction, int64_t rank) {
    for (size_t i = 0; i < restriction->n_ranks; i++)
        if (restriction->ranks[i].first <= rank && rank <= restriction->ranks[i].last)
            return true;
    return restriction->n_ranks == 0;
}

void restriction_encode(const void *options, struct buffer *out) {
    const struct sutra_restriction *restriction = options;
    const char *const texts[] = {restriction->step, restriction->name, restriction->stream, restriction->category};
    encode_value(out, restriction->n_ranks);
    for (size_t i = 0; i < restriction->n_ranks; i++)
        encode_value(out, restriction->ranks[i]);
    encode_value(out, restriction->from_us);
    encode_value(out, restriction->to_us);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        encode_text(out, texts[i]);
}

/* ---- Filter for GPU activities ---- */

struct filter {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct sutra_restriction *restriction;
    const struct launch_model *model; /* or NULL */
    const struct string_roles *roles;
    const uint8_t *categories; /* by launcher of the model: enum op_category; with a restricted category */
    struct arena *arena;       /* scratch */
    row_t *device;             /* by event: row of devices, or ROW_NONE */
    uint8_t *names;            /* by string: contains the restricted name */
    uint8_t *fits;             /* by event; NULL: all */
};

/* Compares an id with a text. */
static bool key_is_text(const struct filter *f, value_key key, const char *text) {
    char number[NUMBER_TEXT_MAX];
    size_t length;
    if (!key_is_value(key))
        return false;
    const char *key_text = values_text(&f->context->values, key, number, &length);
    return length == strlen(text) && memcmp(key_text, text, length) == 0;
}

/* The operator or call to which an event's activity is attributed, or ROW_NONE. */
static row_t launcher_of(const struct filter *f, row_t event) {
    row_t device = f->device[event];
    return device == ROW_NONE ? ROW_NONE : f->model->devices.launcher[device];
}

static bool name_fits(const struct filter *f, row_t event) {
    row_t launcher = launcher_of(f, event);
    return f->names[f->trace->events.name[event]] || (launcher != ROW_NONE && f->names[host_name(f->model, launcher)]);
}

static bool category_fits(const struct filter *f, row_t event) {
    row_t launcher = launcher_of(f, event);
    if (launcher == ROW_NONE)
        return false;
    const char *category = op_category_names[f->categories[f->model->attributions.of_host[launcher]]];
    return strcasecmp(category, f->restriction->category) == 0;
}

static bool is_activity(const struct filter *f, row_t event) {
    return category_roles(&f->trace->events, f->roles, event) & (CATEGORY_WORK | CATEGORY_SYNC);
}

/* ---- Errors ---- */

/* Lists the streams with activities, "7, 20, 24". */
static void list_streams(const struct filter *f, char *list, size_t size) {
    value_key found[MAX_STREAMS] = {0};
    size_t n = 0, length = 0, text_length;
    bool more = false;
    char number[NUMBER_TEXT_MAX];
    for (row_t event = 0; event < f->trace->events.n && !more; event++) {
        value_key stream = f->trace->events.stream[event];
        size_t i = 0;
        if (!(category_roles(&f->trace->events, f->roles, event) & CATEGORY_WORK) || !key_is_value(stream))
            continue;
        while (i < n && found[i] != stream)
            i++;
        more = i == MAX_STREAMS;
        if (i == n && !more)
            found[n++] = stream;
    }
    qsort(found, n, sizeof *found, compare_int64s);
    *list = '\0';
    for (size_t i = 0; i < n && length + 40 < size; i++) {
        const char *text = values_text(&f->context->values, found[i], number, &text_length);
        length +=
            (size_t)snprintf(list + length, size - length, "%s%.*s", i ? ", " : "", (int)MIN(text_length, 30), text);
    }
    snprintf(list + length, size - length, "%s", more ? ", ..." : n == 0 ? "none" : "");
}

/* Lists the categories of operators that launched activities; `f` NULL: all categories. */
static void list_categories(const struct filter *f, char *list, size_t size) {
    bool occurs[OP_N_CATEGORIES] = {false};
    size_t length = 0;
    for (row_t i = 0; f && i < f->model->attributions.n; i++)
        occurs[f->categories[i]] = true;
    *list = '\0';
    int category = 0;
    for (; category < OP_N_CATEGORIES && length + 40 < size; category++)
        if (!f || occurs[category])
            length +=
                (size_t)snprintf(list + length, size - length, "%s%s", length ? ", " : "", op_category_names[category]);
    snprintf(list + length, size - length, "%s", category < OP_N_CATEGORIES ? ", ..." : length == 0 ? "none" : "");
}

/* The error that no activity matches: about the first value that matches none by itself. */
static enum sutra_status report_mismatch(const struct filter *f, struct sutra_error *error) {
    const struct sutra_restriction *restriction = f->restriction;
    const struct device_events *events = &f->trace->events;
    bool name = false, stream = false, category = false;
    char list[LIST_SIZE];
    for (row_t event = 0; event < events->n; event++) {
        if (!is_activity(f, event))
            continue;
        name |= restriction->name && name_fits(f, event);
        stream |= restriction->stream && key_is_text(f, events->stream[event], restriction->stream);
        category |= restriction->category && category_fits(f, event);
    }
    if (restriction->stream && !stream) {
        list_streams(f, list, sizeof list);
        return error_set(error, SUTRA_DATA, "no GPU activity on stream '%.60s'; streams with activity: %s",
                         restriction->stream, list);
    }
    if (restriction->category && !category) {
        list_categories(f, list, sizeof list);
        return error_set(error, SUTRA_DATA,
                         "no operator of category %.60s launched GPU activity; categories that did: %s",
                         restriction->category, list);
    }
    if (restriction->name && !name)
        return error_set(error, SUTRA_DATA, "no GPU activity and no launching operator has '%.100s' in its name",
                         restriction->name);
    return error_set(error, SUTRA_DATA, "no GPU activity matches the name, stream and category together");
}

/* Sets f->fits; an error if no activity fits. */
static enum sutra_status apply_filter(struct filter *f, struct sutra_error *error) {
    const struct device_events *events = &f->trace->events;
    const struct strings *strings = &f->trace->strings;
    const struct sutra_restriction *restriction = f->restriction;
    f->roles = names_find(strings, READER_TREE, f->arena);
    f->fits = arena_alloc(f->arena, events->n, 1);
    f->names = arena_zeros(f->arena, strings->n, 1);
    f->device = rows_none(f->arena, events->n);
    TRY(arena_status(f->arena, error));
    for (uint32_t name = 0; name < strings->n && restriction->name; name++)
        f->names[name] = text_compare(strings, name, TEXT_HAS, restriction->name);
    for (row_t i = 0; f->model && i < f->model->devices.n; i++)
        f->device[f->model->devices.event[i]] = i;
    if (restriction->category) {
        uint8_t *categories = NULL;
        struct arena scratch = {0};
        enum sutra_status status = categorize_launchers(f->model, f->arena, &scratch, &categories, error);
        arena_free(&scratch);
        TRY(status);
        f->categories = categories;
    }
    row_t n_fits = 0;
    for (row_t event = 0; event < events->n; event++) {
        const char *stream = restriction->stream;
        if (is_activity(f, event)) {
            f->fits[event] = (!restriction->name || name_fits(f, event)) &&
                             (!stream || key_is_text(f, events->stream[event], stream)) &&
                             (!restriction->category || category_fits(f, event));
            n_fits += f->fits[event];
        } else { /* annotations on streams have the stream as their thread */
            f->fits[event] =
                !stream || key_is_text(f, events->tid[event], stream) || key_is_text(f, events->stream[event], stream);
        }
    }
    return n_fits > 0 ? SUTRA_OK : report_mismatch(f, error);
}

/* ---- Selection ---- */

/* The time from the first start to the last end. */
static double trace_us(const struct device_events *events) {
    double first = INFINITY, last = -INFINITY;
    for (row_t event = 0; event < events->n; event++) {
        double ts = number_as_double(number_at(events->ts, event));
        if (events->phase[event] == 'M' || !(events->flags[event] & EVENT_HAS_DUR) || !time_is_usable(events, event))
            continue;
        first = fmin(first, ts);
        last = fmax(last, ts + number_as_double(number_at(events->usable_dur, event)));
    }
    return first < last ? last - first : 0;
}

/* Selects events of a trace; `model` is its launch model, or NULL without a name and a category. Warns if no GPU
 * activity is selected. */
static enum sutra_status select_events(struct sutra_context *context, const struct sutra_device_trace *trace,
                                       const struct sutra_restriction *restriction, const struct launch_model *model,
                                       struct arena *arena, struct selection *selection, struct sutra_error *error) {
    const struct sutra_selection wanted = {
        .size = sizeof wanted, .step = restriction->step, .from_us = restriction->from_us, .to_us = restriction->to_us};
    struct arena scratch = {0};
    struct filter filter = {
        .context = context, .trace = trace, .restriction = restriction, .model = model, .arena = &scratch};
    bool is_category = !restriction->category;
    for (int category = 0; category < OP_N_CATEGORIES && !is_category; category++)
        is_category = strcasecmp(op_category_names[category], restriction->category) == 0;
    if (!is_category) {
        char list[LIST_SIZE];
        list_categories(NULL, list, sizeof list);
        return error_set(error, SUTRA_USAGE, "unknown operator category %.60s; categories: %s", restriction->category,
                         list);
    }
    enum sutra_status status = SUTRA_OK;
    if (restriction->name || restriction->stream || restriction->category)
        status = apply_filter(&filter, error);
    if (!status)
        status = selection_make(context, trace, &wanted, filter.fits, arena, selection, error);
    arena_free(&scratch);
    TRY(status);

    /* An empty selection is an error, a selection without activities a warning. */
    uint64_t n = 0, n_kept = 0;
    for (int kind = SELECTED_WORK; kind < SELECTED_OTHER; kind++) {
        n += selection->n[kind];
        n_kept += selection->n_kept[kind];
    }
    if (n > 0 && n_kept == 0)
        return error_set(error, SUTRA_DATA, "no events in the time range; the trace is %.0f us long",
                         trace_us(&trace->events));
    if (selection->n[SELECTED_WORK] > 0 && selection->n_kept[SELECTED_WORK] == 0)
        context_warn(context, "no GPU activity matches the selection");
    return SUTRA_OK;
}

enum sutra_status restrict_launch_model(struct sutra_context *context, const struct sutra_restriction *restriction,
                                        struct launch_model *model, struct arena *arena, struct arena *scratch,
                                        struct sutra_error *error) {
    struct selection selection;
    struct arena_mark mark = arena_mark(scratch);
    if (!restriction_is_part(restriction))
        return SUTRA_OK;
    TRY(select_events(context, model->trace, restriction, model, scratch, &selection, error));
    model->from = selection.range.from;
    model->to = selection.range.to;
    TRY(launch_model_keep(model, selection.kept, arena, scratch, error));
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* The time from the first event to the first one that is kept, of those from which time ranges count. */
static int64_t skipped_time(const struct device_events *events, const struct selection *selection) {
    double first = INFINITY, first_kept = INFINITY;
    for (row_t event = 0; event < events->n; event++) {
        const uint8_t kind = selection->kind[event];
        if ((kind != SELECTED_WORK && (kind < SELECTED_OPERATOR || kind > SELECTED_PYTHON)) ||
            !(events->flags[event] & EVENT_HAS_DUR) || !time_is_usable(events, event))
            continue;
        const double ts = number_as_double(number_at(events->ts, event));
        first = fmin(first, ts);
        first_kept = selection->kept[event] ? fmin(first_kept, ts) : first_kept;
    }
    return first < first_kept && isfinite(first_kept) ? llrint((first_kept - first) * NS_PER_US) : 0;
}

enum sutra_status sutra_device_trace_restrict(struct sutra_context *context, struct sutra_device_trace *trace,
                                              const struct sutra_restriction *restriction, struct sutra_error *error) {
    struct sutra_restriction own;
    struct selection selection;
    struct launch_model model;
    struct arena arena = {0}, of_model = {0}, scratch = {0};
    enum sutra_status status = restriction_copy(restriction, &own, error);
    if (status || !restriction_is_part(&own))
        return status;
    bool needs_model = own.name || own.category;
    if (needs_model)
        status = launch_model_build(context, trace, 0, &of_model, &scratch, &model, error);
    if (!status)
        status = select_events(context, trace, &own, needs_model ? &model : NULL, &arena, &selection, error);
    if (!status) {
        trace->skipped_ns += skipped_time(&trace->events, &selection);
        device_events_keep(&trace->events, selection.kept);
        event_columns_forget(trace->columns);
    }
    arena_free(&of_model);
    arena_free(&scratch);
    arena_free(&arena);
    return status;
}

enum sutra_status restrict_to_complete_part(struct sutra_context *context, struct sutra_device_trace *trace,
                                            struct sutra_error *error) {
    const struct trace_validity *validity = trace->validity;
    const uint64_t n_steps = validity->defects[DEFECT_TRUNCATED].of;
    struct sutra_restriction part = {.size = sizeof part, .to_us = ceil(validity->complete_us)};
    char steps[64];
    if (!trace->document.truncated || validity->n_activities == 0)
        return SUTRA_OK;
    if (n_steps && !validity->n_complete_steps)
        return error_file(error, SUTRA_DATA, trace->document.source.name,
                          "the file is truncated in its first step: record again, or copy the file again");
    if (n_steps) {
        snprintf(steps, sizeof steps, "%" PRId64 "-%" PRId64, validity->complete_steps[0], validity->complete_steps[1]);
        part.step = steps;
        part.to_us = 0;
    }
    return sutra_device_trace_restrict(context, trace, &part, error);
}
