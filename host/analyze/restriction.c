/*
 * restriction.c - which events of a trace stay: of time what `sutra cut` keeps (facts/selection.h); of the device's
 * work what fits, for which all of the trace is read and charged. What is asked for and is not there is an error that
 * says what there is. O(events), beside reading and charging.
 */
#include "analyze/restriction.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/codec.h"
#include "analyze/operators/operators.h"
#include "base/error.h"
#include "base/options.h"
#include "columns/column.h"
#include "facts/op_categories.h"
#include "facts/times.h"

/* Streams that a message names at most, and bytes of a list in one. */
#define STREAMS_TOLD 16
#define LIST_SIZE    300

enum sutra_status restriction_take(const struct sutra_restriction *given, struct sutra_restriction *taken,
                                   struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_restriction, category);
    return options_take(&form, given, taken, error);
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

/* ---- What fits ---- */

struct restricting {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct sutra_restriction *restriction;
    const struct op_reading *reading; /* or NULL */
    const struct string_roles *roles;
    const uint8_t *categories; /* of each charge of it: enum op_category; if one is asked for */
    struct arena *arena;       /* given back at the end */
    row_t *device;             /* by event: the row of the reading's devices, if there is one, or ROW_NONE */
    uint8_t *names;            /* by string: it has the text */
    uint8_t *fits;             /* by event; NULL: all */
};

/* The text of an id as a person would write it. */
static bool key_text_is(const struct restricting *work, value_key key, const char *text) {
    char room[NUMBER_TEXT_MAX];
    size_t length;
    if (!key_is_value(key))
        return false;
    const char *is = values_text(&work->context->values, key, room, &length);
    return length == strlen(text) && memcmp(is, text, length) == 0;
}

/* The operator or call that an event's work is charged to, or ROW_NONE. */
static row_t launcher_of(const struct restricting *work, row_t event) {
    row_t device = work->device[event];
    return device == ROW_NONE ? ROW_NONE : work->reading->devices.launcher[device];
}

static bool name_fits(const struct restricting *work, row_t event) {
    row_t launcher = launcher_of(work, event);
    return work->names[work->trace->events.name[event]] ||
           (launcher != ROW_NONE && work->names[host_name(work->reading, launcher)]);
}

static bool category_fits(const struct restricting *work, row_t event) {
    row_t launcher = launcher_of(work, event);
    if (launcher == ROW_NONE)
        return false;
    const char *is = op_category_names[work->categories[work->reading->charges.of_host[launcher]]];
    return strcasecmp(is, work->restriction->category) == 0;
}

static bool is_work(const struct restricting *work, row_t event) {
    return category_roles(&work->trace->events, work->roles, event) & (CATEGORY_WORK | CATEGORY_SYNC);
}

static bool work_fits(const struct restricting *work, row_t event) {
    const struct sutra_restriction *restriction = work->restriction;
    return (!restriction->name || name_fits(work, event)) &&
           (!restriction->stream || key_text_is(work, work->trace->events.stream[event], restriction->stream)) &&
           (!restriction->category || category_fits(work, event));
}

/* Annotations on streams, whose thread the stream is. */
static bool note_fits(const struct restricting *work, row_t event) {
    const char *stream = work->restriction->stream;
    return !stream || key_text_is(work, work->trace->events.tid[event], stream) ||
           key_text_is(work, work->trace->events.stream[event], stream);
}

static enum sutra_status prepare(struct restricting *work, struct sutra_error *error) {
    const struct strings *strings = &work->trace->strings;
    const struct op_reading *reading = work->reading;
    const struct sutra_restriction *restriction = work->restriction;
    uint8_t *categories = NULL;
    work->roles = names_find(strings, READER_TREE, work->arena);
    work->fits = arena_take(work->arena, work->trace->events.n, 1);
    work->names = arena_zeros(work->arena, strings->n, 1);
    work->device = rows_none(work->arena, work->trace->events.n);
    enum sutra_status status = arena_status(work->arena, error);
    for (uint32_t name = 0; name < strings->n && !status && restriction->name; name++)
        work->names[name] = text_compare(strings, name, TEXT_HAS, restriction->name);
    for (row_t i = 0; reading && i < reading->devices.n && !status; i++)
        work->device[reading->devices.event[i]] = i;
    if (!status && restriction->category) {
        struct arena scratch = {0};
        status = op_charges_categorize(reading, work->arena, &scratch, &categories, error);
        arena_free(&scratch);
    }
    work->categories = categories;
    return status;
}

/* ---- What there is ---- */

static int compare_keys(const void *left, const void *right) {
    const value_key *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The streams that work runs on, "7, 20, 24". */
static void list_streams(const struct restricting *work, char *list, size_t size) {
    value_key found[STREAMS_TOLD] = {0};
    size_t n = 0, length = 0, text_length;
    bool more = false;
    char room[NUMBER_TEXT_MAX];
    for (row_t event = 0; event < work->trace->events.n && !more; event++) {
        value_key stream = work->trace->events.stream[event];
        size_t i = 0;
        if (!(category_roles(&work->trace->events, work->roles, event) & CATEGORY_WORK) || !key_is_value(stream))
            continue;
        while (i < n && found[i] != stream)
            i++;
        more = i == STREAMS_TOLD;
        if (i == n && !more)
            found[n++] = stream;
    }
    qsort(found, n, sizeof *found, compare_keys);
    *list = '\0';
    for (size_t i = 0; i < n && length + 40 < size; i++) {
        const char *text = values_text(&work->context->values, found[i], room, &text_length);
        length += (size_t)snprintf(list + length, size - length, "%s%.*s", i ? ", " : "",
                                   (int)(text_length < 30 ? text_length : 30), text);
    }
    snprintf(list + length, size - length, "%s", more ? ", ..." : n == 0 ? "none" : "");
}

/* Categories of operators: those that have launched something, or, without any work, all. */
static void list_categories(const struct restricting *work, char *list, size_t size) {
    bool there[OP_N_CATEGORIES] = {false};
    size_t length = 0;
    for (row_t i = 0; work && i < work->reading->charges.n; i++)
        there[work->categories[i]] = true;
    *list = '\0';
    int category = 0;
    for (; category < OP_N_CATEGORIES && length + 40 < size; category++)
        if (!work || there[category])
            length +=
                (size_t)snprintf(list + length, size - length, "%s%s", length ? ", " : "", op_category_names[category]);
    snprintf(list + length, size - length, "%s", category < OP_N_CATEGORIES ? ", ..." : length == 0 ? "none" : "");
}

static bool is_category(const char *name) {
    for (int category = 0; category < OP_N_CATEGORIES; category++)
        if (strcasecmp(op_category_names[category], name) == 0)
            return true;
    return false;
}

/* Each wish is looked at alone first, so that the message is about the one that nothing fits. */
static enum sutra_status tell_why(const struct restricting *work, struct sutra_error *error) {
    const struct sutra_restriction *restriction = work->restriction;
    const struct device_events *events = &work->trace->events;
    bool name = false, stream = false, category = false;
    char list[LIST_SIZE];
    for (row_t event = 0; event < events->n; event++) {
        if (!is_work(work, event))
            continue;
        name |= restriction->name && name_fits(work, event);
        stream |= restriction->stream && key_text_is(work, events->stream[event], restriction->stream);
        category |= restriction->category && category_fits(work, event);
    }
    if (restriction->stream && !stream) {
        list_streams(work, list, sizeof list);
        return error_set(error, SUTRA_DATA, "no GPU activity on stream '%.60s'; streams with activity: %s",
                         restriction->stream, list);
    }
    if (restriction->category && !category) {
        list_categories(work, list, sizeof list);
        return error_set(error, SUTRA_DATA,
                         "no operator of category %.60s launched GPU activity; categories that did: %s",
                         restriction->category, list);
    }
    if (restriction->name && !name)
        return error_set(error, SUTRA_DATA, "no GPU activity and no launching operator has '%.100s' in its name",
                         restriction->name);
    return error_set(error, SUTRA_DATA, "no GPU activity matches the name, stream and category together");
}

static enum sutra_status find_fits(struct restricting *work, struct sutra_error *error) {
    row_t n_fits = 0;
    enum sutra_status status = prepare(work, error);
    for (row_t event = 0; event < work->trace->events.n && !status; event++) {
        bool is_of_device = is_work(work, event);
        work->fits[event] = is_of_device ? work_fits(work, event) : note_fits(work, event);
        n_fits += is_of_device && work->fits[event];
    }
    return status || n_fits > 0 ? status : tell_why(work, error);
}

/* ---- The choice ---- */

static enum sutra_status check_category(const struct sutra_restriction *restriction, struct sutra_error *error) {
    char list[LIST_SIZE];
    if (!restriction->category || is_category(restriction->category))
        return SUTRA_OK;
    list_categories(NULL, list, sizeof list);
    return error_set(error, SUTRA_USAGE, "unknown operator category %.60s; categories: %s", restriction->category,
                     list);
}

/* How long the host and the devices are busy with something, from the first start on. */
static double trace_us(const struct device_events *events) {
    double first = INFINITY, last = -INFINITY;
    for (row_t event = 0; event < events->n; event++) {
        double ts = number_as_double(number_at(events->ts, event));
        if (events->phase[event] == 'M' || !(events->flags[event] & EVENT_HAS_DUR) ||
            !exact_time_is_known(events, event))
            continue;
        first = fmin(first, ts);
        last = fmax(last, ts + number_as_double(number_at(events->dur, event)));
    }
    return first < last ? last - first : 0;
}

/* Nothing at all is an error, no work a warning. */
static enum sutra_status check_rest(struct sutra_context *context, const struct sutra_device_trace *trace,
                                    const struct selection *selection, struct sutra_error *error) {
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

enum sutra_status restriction_choose(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const struct sutra_restriction *restriction, const struct op_reading *reading,
                                     struct arena *arena, struct selection *selection, struct sutra_error *error) {
    const struct sutra_selection wish = {
        .size = sizeof wish, .step = restriction->step, .from_us = restriction->from_us, .to_us = restriction->to_us};
    struct arena scratch = {0};
    struct restricting work = {
        .context = context, .trace = trace, .restriction = restriction, .reading = reading, .arena = &scratch};
    enum sutra_status status = check_category(restriction, error);
    if (!status && (restriction->name || restriction->stream || restriction->category))
        status = find_fits(&work, error);
    if (!status)
        status = selection_make(context, trace, &wish, work.fits, arena, selection, error);
    if (!status)
        status = check_rest(context, trace, selection, error);
    arena_free(&scratch);
    return status;
}

/* ---- Traces ---- */

static enum sutra_status read_and_choose(struct sutra_context *context, const struct sutra_device_trace *trace,
                                         const struct sutra_restriction *restriction, struct arena *arena,
                                         struct selection *selection, struct sutra_error *error) {
    struct arena of_reading = {0}, scratch = {0};
    struct op_reading reading;
    bool is_read = restriction->name || restriction->category;
    enum sutra_status status =
        is_read ? op_reading_make(context, trace, 0, &of_reading, &scratch, &reading, error) : SUTRA_OK;
    if (!status)
        status = restriction_choose(context, trace, restriction, is_read ? &reading : NULL, arena, selection, error);
    arena_free(&of_reading);
    arena_free(&scratch);
    return status;
}

enum sutra_status sutra_device_trace_restrict(struct sutra_context *context, struct sutra_device_trace *trace,
                                              const struct sutra_restriction *restriction, struct sutra_error *error) {
    struct sutra_restriction taken;
    struct selection selection;
    struct arena arena = {0};
    enum sutra_status status = restriction_take(restriction, &taken, error);
    if (status || !restriction_is_part(&taken))
        return status;
    status = read_and_choose(context, trace, &taken, &arena, &selection, error);
    if (!status) {
        device_events_keep(&trace->events, selection.kept);
        event_columns_forget(trace->columns);
    }
    arena_free(&arena);
    return status;
}
