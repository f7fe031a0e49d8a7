/*
 * selection.c - implements selection.h: one decision for each event, then for flow arrows (launches.c) by the events at
 * which their ends begin.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "facts/kernel_class.h"
#include "facts/launches.h"
#include "facts/names.h"
#include "facts/profiler_steps.h"
#include "facts/selection.h"
#include "facts/times.h"
#include "text/numbers.h"

/* Names on the host, and of annotations on streams, that mean communication. */
#define NAME_COMMUNICATES NAME_OWN

/* In state[]: correlation_partners() distinguishes the sides by it. */
#define ON_DEVICE 1

struct selection_choice {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    const struct sutra_selection *wish;
    const uint8_t *fits; /* by event, or NULL: GPU activity that may be kept */
    struct string_roles *roles;
    struct selection *selection;
    struct arena *arena; /* released at the end */
    struct exact_times times;
    bool in_time;                /* only a time range */
    row_t *decides;              /* by event, if in_time: the event whose start decides, or ROW_NONE: its own */
    struct kernel_kinds kernels; /* for SUTRA_ONLY_COMMUNICATION */
};

enum sutra_status selection_copy_options(const struct sutra_selection *given, struct sutra_selection *taken,
                                         struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_selection, overlap);
    return options_copy(&form, given, taken, error);
}

static enum selected_kind kind_of(const struct selection_choice *choice, row_t event) {
    uint8_t phase = choice->events->phase[event];
    if (phase == 'M')
        return SELECTED_METADATA;
    if (phase == 's' || phase == 't' || phase == 'f')
        return SELECTED_ARROW;
    uint32_t category = category_roles(choice->events, choice->roles, event);
    if (category & (CATEGORY_WORK | CATEGORY_SYNC))
        return SELECTED_WORK;
    if (category & CATEGORY_GPU_ANNOTATION)
        return SELECTED_DEVICE_NOTE;
    if (category & CATEGORY_CPU_OP)
        return SELECTED_OPERATOR;
    if (category & CATEGORY_CALL)
        return SELECTED_CALL;
    if (category & CATEGORY_ANNOTATION)
        return SELECTED_NOTE;
    return category & CATEGORY_PYTHON ? SELECTED_PYTHON : SELECTED_OTHER;
}

/* ---- Time ---- */

static int64_t start_of(const struct selection_choice *choice, row_t event) {
    return exact_start_ns(choice->trace, &choice->times, event);
}

static int64_t end_of(const struct selection_choice *choice, row_t event) {
    return start_of(choice, event) + ns_of_us(number_at(choice->events->usable_dur, event));
}

/* The time range: of the selected steps, narrowed to the times from the first start of the trace. SUTRA_DATA: there is
 * no such step; the message names the steps of the trace. */
static enum sutra_status find_range(struct selection_choice *choice, struct sutra_error *error) {
    const struct device_events *events = choice->events;
    const struct sutra_selection *wish = choice->wish;
    struct time_range *range = &choice->selection->range;
    int64_t trace_start = INT64_MAX;
    bool found = false;
    TRY(exact_times_find(choice->context, choice->trace, NULL, choice->arena, &choice->times, error));
    for (row_t event = 0; event < events->n; event++) {
        enum selected_kind kind = (enum selected_kind)choice->selection->kind[event];
        if ((kind != SELECTED_WORK && (kind < SELECTED_OPERATOR || kind > SELECTED_PYTHON)) ||
            !(events->flags[event] & EVENT_HAS_DUR) || !time_is_usable(events, event) ||
            category_roles(events, choice->roles, event) & CATEGORY_SYNC)
            continue;
        int64_t start = start_of(choice, event);
        trace_start = MIN(start, trace_start);
        if (kind != SELECTED_NOTE || !wish->step)
            continue;
        uint32_t name = events->name[event];
        const char *number = profiler_step_number(strings_text(&choice->trace->strings, name),
                                                  strings_length(&choice->trace->strings, name), STEPS_SELECTION);
        if (!number)
            continue;
        if (profiler_step_is_selected(number, wish->step)) {
            int64_t end = end_of(choice, event);
            range->from = !found || start < range->from ? start : range->from;
            range->to = !found || end > range->to ? end : range->to;
            found = true;
        }
    }
    if (wish->step && !found) {
        char text[200];
        profiler_steps_explain(&choice->trace->strings, wish->step, text, sizeof text);
        return error_set(error, SUTRA_DATA, "%s", text);
    }
    trace_start = trace_start == INT64_MAX ? 0 : trace_start;
    int64_t from = trace_start + (int64_t)wish->from_us * NS_PER_US;
    int64_t to = trace_start + (int64_t)wish->to_us * NS_PER_US;
    if (wish->from_us > 0 && from > range->from)
        range->from = from;
    if (wish->to_us > 0 && to < range->to)
        range->to = to;
    return SUTRA_OK;
}

/* GPU activity is decided by its call, annotations on streams by the annotation on the host. */
static enum sutra_status find_deciders(struct selection_choice *choice, struct sutra_error *error) {
    const struct selection *selection = choice->selection;
    const struct device_events *events = choice->events;
    row_t n = selection->n[SELECTED_WORK] + selection->n[SELECTED_CALL], n_rows = 0;
    choice->decides = rows_none(choice->arena, events->n);
    row_t *rows = arena_alloc(choice->arena, n, sizeof *rows);
    uint8_t *state = arena_zeros(choice->arena, events->n, sizeof *state);
    TRY(arena_status(choice->arena, error));
    for (row_t event = 0; event < events->n; event++) {
        uint8_t kind = selection->kind[event];
        state[event] = kind == SELECTED_WORK ? ON_DEVICE : 0;
        if (kind == SELECTED_WORK || kind == SELECTED_CALL)
            rows[n_rows++] = event;
    }
    TRY(correlation_partners(events, rows, n_rows, state, ON_DEVICE, &choice->context->engine, choice->arena,
                             choice->decides, error));
    for (row_t i = 0; i < n_rows; i++)
        if (!state[rows[i]])
            choice->decides[rows[i]] = ROW_NONE;
    if (selection->n[SELECTED_DEVICE_NOTE] == 0)
        return SUTRA_OK;

    struct pair_table notes;
    bool ok = pair_table_init(&notes);
    for (row_t event = 0; event < events->n && ok; event++)
        if (selection->kind[event] == SELECTED_NOTE)
            ok = pair_table_note(&notes, (uint64_t)events->external[event], events->name[event], event);
    for (row_t event = 0; event < events->n && ok; event++)
        if (selection->kind[event] == SELECTED_DEVICE_NOTE)
            choice->decides[event] = pair_table_find(&notes, (uint64_t)events->external[event], events->name[event]);
    pair_table_free(&notes);
    return ok ? SUTRA_OK : error_memory(error);
}

/* Operators, annotations and Python functions of the host are also kept if they run when the range begins, since they
 * enclose events in it. */
static bool is_in_time(const struct selection_choice *choice, row_t event) {
    const struct device_events *events = choice->events;
    const struct selection *selection = choice->selection;
    bool overlap = choice->wish->overlap;
    row_t decides = overlap || choice->decides[event] == ROW_NONE ? event : choice->decides[event];
    if (!exact_time_is_known(events, decides))
        return !(events->flags[decides] & EVENT_HAS_TS);
    int64_t from = selection->range.from, start = start_of(choice, decides);
    if (start >= from && start < selection->range.to)
        return true;
    if (overlap)
        return start < from && events->flags[event] & EVENT_HAS_DUR && end_of(choice, event) > from;
    return (selected_is_operation(selection, event) || selection->kind[event] == SELECTED_PYTHON) &&
           start_of(choice, event) < from && end_of(choice, event) > from;
}

/* ---- Choice ---- */

static enum sutra_status find_communication(struct selection_choice *choice, struct sutra_error *error) {
    static const char *const prefixes[] = {"nccl:", "gloo:", "ucc:", "mpi:", "c10d::", COMMS_NAME};
    const struct strings *strings = &choice->trace->strings;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        names_mark(strings, choice->roles, TEXT_BEGINS, prefixes[i], NAME_COMMUNICATES);
    choice->kernels = kernel_kinds_begin(choice->events, strings, choice->roles, choice->arena);
    return arena_status(choice->arena, error);
}

static bool is_of_side(struct selection_choice *choice, row_t event) {
    uint8_t kind = choice->selection->kind[event];
    bool on_device = kind == SELECTED_WORK || kind == SELECTED_DEVICE_NOTE;
    uint32_t name = choice->events->name[event];
    switch (choice->wish->only) {
    case SUTRA_ONLY_GPU:
        return on_device;
    case SUTRA_ONLY_CPU:
        return !on_device;
    case SUTRA_ONLY_COMMUNICATION:
        if (kind == SELECTED_WORK)
            return category_roles(choice->events, choice->roles, event) & CATEGORY_KERNEL &&
                   kernel_class_of_event(&choice->kernels, event) == DEVICE_COMMUNICATION;
        return choice->roles[name].name & NAME_COMMUNICATES;
    case SUTRA_ONLY_ALL:
        break;
    }
    return true;
}

/* Whether an event is kept if it is in the time range. */
static bool is_wanted(struct selection_choice *choice, row_t event) {
    const struct sutra_selection *wish = choice->wish;
    uint8_t kind = choice->selection->kind[event];
    if (kind == SELECTED_PYTHON && wish->no_python)
        return false;
    if ((kind == SELECTED_WORK || kind == SELECTED_DEVICE_NOTE) && choice->fits && !choice->fits[event])
        return false;
    if (wish->min_us > 0 && choice->events->flags[event] & EVENT_HAS_DUR &&
        !(number_as_double(number_at(choice->events->dur, event)) >= wish->min_us))
        return false;
    return is_of_side(choice, event);
}

/* Whether an end of a flow arrow at which no event begins is kept. */
static bool lone_end_is_kept(const void *arg, row_t event) {
    const struct selection_choice *choice = arg;
    enum sutra_only only = choice->wish->only;
    return (only == SUTRA_ONLY_ALL || only == SUTRA_ONLY_CPU) && (!choice->in_time || is_in_time(choice, event));
}

static enum sutra_status choose_events(struct selection_choice *choice, struct sutra_error *error) {
    struct selection *selection = choice->selection;
    if (choice->in_time) {
        TRY(find_range(choice, error));
        TRY(find_deciders(choice, error));
    }
    if (choice->wish->only == SUTRA_ONLY_COMMUNICATION)
        TRY(find_communication(choice, error));
    for (row_t event = 0; event < choice->events->n; event++)
        selection->kept[event] = selection->kind[event] == SELECTED_METADATA ||
                                 (selection->kind[event] != SELECTED_ARROW && is_wanted(choice, event) &&
                                  (!choice->in_time || is_in_time(choice, event)));
    /* With a full queue, the call of an activity lies long before the range. */
    for (row_t event = 0; event < choice->events->n && choice->in_time && choice->wish->overlap; event++) {
        row_t call = choice->decides[event];
        if (selection->kind[event] == SELECTED_WORK && selection->kept[event] && call != ROW_NONE)
            selection->kept[call] |= is_wanted(choice, call);
    }
    if (selection->n[SELECTED_ARROW] == 0)
        return SUTRA_OK;
    return arrows_choose(choice->context, choice->trace, selection, lone_end_is_kept, choice, choice->arena, error);
}

enum sutra_status selection_make(struct sutra_context *context, const struct sutra_device_trace *trace,
                                 const struct sutra_selection *wish, const uint8_t *fits, struct arena *arena,
                                 struct selection *selection, struct sutra_error *error) {
    row_t n = trace->events.n;
    *selection = (struct selection){
        .kept = arena_alloc(arena, n, 1), .kind = arena_alloc(arena, n, 1), .range = {INT64_MIN, INT64_MAX}};
    struct arena_mark mark = arena_mark(arena);
    struct selection_choice choice = {.context = context,
                                      .trace = trace,
                                      .events = &trace->events,
                                      .wish = wish,
                                      .fits = fits,
                                      .roles = names_find(&trace->strings, READER_TREE, arena),
                                      .selection = selection,
                                      .arena = arena,
                                      .in_time = wish->step || wish->from_us > 0 || wish->to_us > 0};
    TRY(arena_status(arena, error));
    for (row_t event = 0; event < n; event++) {
        selection->kind[event] = (uint8_t)kind_of(&choice, event);
        selection->n[selection->kind[event]]++;
    }
    memset(selection->kept, 1, n);
    if (choice.in_time || fits || wish->only != SUTRA_ONLY_ALL || wish->no_python || wish->min_us > 0)
        TRY(choose_events(&choice, error));
    const row_t *begin = trace->events.begin;
    for (row_t event = 0; event < n && begin; event++) /* an E event is kept with its B event */
        if (begin[event] != ROW_NONE)
            selection->kept[event] = selection->kept[begin[event]];
    for (row_t event = 0; event < n; event++)
        selection->n_kept[selection->kind[event]] += selection->kept[event];
    arena_release(arena, mark);
    return SUTRA_OK;
}
