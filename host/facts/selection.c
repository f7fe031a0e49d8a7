/*
 * selection.c - one decision for each event; then arrows, by the events at which their ends begin (arrow_choice.c).
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "facts/launches.h"
#include "facts/names.h"
#include "facts/selection.h"
#include "facts/times.h"
#include "text/numbers.h"

/*
 * Steps by their numbers, and the borders in time.
 */

/* Whether a number stands between two, "3-5"; one alone is compared as text. */
static bool is_among(const char *number, const char *steps) {
    int64_t n, first, last;
    const char *dash = strchr(steps, '-');
    if (!dash || !integer_parse(steps, (size_t)(dash - steps), &first) ||
        !integer_parse(dash + 1, strlen(dash + 1), &last))
        return strcmp(number, steps) == 0;
    return integer_parse(number, strlen(number), &n) && first <= n && n <= last;
}

/* Whether a name is that of a step which is wanted: it contains "ProfilerStep#", and its number is behind that. Of
 * those that are not, the stretch notes the numbers. */
static bool stretch_is_step(struct time_stretch *stretch, const struct strings *strings, uint32_t name,
                            const struct stretch_wish *wish) {
    const char *found = strstr(strings_text(strings, name), STEP_NAME "#");
    const char *number = found ? found + strlen(STEP_NAME "#") : NULL;
    int64_t n;
    if (!number || is_among(number, wish->steps))
        return number != NULL;
    if (integer_parse(number, strlen(number), &n)) {
        stretch->n_steps++;
        stretch->first_step = n < stretch->first_step ? n : stretch->first_step;
        stretch->last_step = n > stretch->last_step ? n : stretch->last_step;
    }
    return false;
}

/* Widens the stretch to hold a step. */
static void stretch_add_step(struct time_stretch *stretch, int64_t start, int64_t stop) {
    stretch->from = !stretch->found || start < stretch->from ? start : stretch->from;
    stretch->to = !stretch->found || stop > stretch->to ? stop : stretch->to;
    stretch->found = true;
}

static enum sutra_status no_step(const struct time_stretch *stretch, const struct stretch_wish *wish,
                                 struct sutra_error *error) {
    if (stretch->n_steps == 0)
        return error_set(error, SUTRA_DATA, "no annotation " STEP_NAME "#%.100s: the trace has no steps", wish->steps);
    return error_set(error, SUTRA_DATA,
                     "no annotation " STEP_NAME "#%.100s: the trace has steps %" PRId64 " to %" PRId64, wish->steps,
                     stretch->first_step, stretch->last_step);
}

/* Narrows it to the times that are wanted, when all steps were added; `first` is the first start of the trace.
 * SUTRA_DATA: there is no such step; the message says which there are. */
static enum sutra_status stretch_settle(struct time_stretch *stretch, const struct stretch_wish *wish, int64_t first,
                                        struct sutra_error *error) {
    if (wish->steps && !stretch->found)
        return no_step(stretch, wish, error);
    int64_t from = first + (int64_t)wish->from_us * NS_PER_US, to = first + (int64_t)wish->to_us * NS_PER_US;
    if (wish->from_us > 0 && from > stretch->from)
        stretch->from = from;
    if (wish->to_us > 0 && to < stretch->to)
        stretch->to = to;
    return SUTRA_OK;
}

/* Names of the host, and of annotations on streams, that stand for communication. */
#define NAME_COMMUNICATES NAME_OWN

/* In state[]: correlation_partners() tells the sides apart by it. */
#define ON_DEVICE 1

struct selecting {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    const struct sutra_selection *wish;
    const uint8_t *fits; /* by event, or NULL: of events on devices, those that may stay */
    struct string_roles *roles;
    struct selection *selection;
    struct arena *arena; /* given back at the end */
    struct exact_times times;
    bool in_time;       /* only a stretch */
    row_t *decides;     /* by event, if in_time: whose moment counts, or ROW_NONE: its own */
    bool *communicates; /* by name: as a kernel; if that is asked for */
};

enum sutra_status selection_take(const struct sutra_selection *given, struct sutra_selection *taken,
                                 struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_selection, no_python);
    return options_take(&form, given, taken, error);
}

/* ---- Kinds ---- */

static enum selected_kind kind_by_category(uint32_t category) {
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

static enum selected_kind kind_of(const struct selecting *work, row_t event) {
    uint8_t phase = work->events->phase[event];
    if (phase == 'M')
        return SELECTED_METADATA;
    if (phase == 's' || phase == 't' || phase == 'f')
        return SELECTED_ARROW;
    return kind_by_category(category_roles(work->events, work->roles, event));
}

/* ---- Time ---- */

static int64_t start_of(const struct selecting *work, row_t event) {
    return exact_start_ns(work->trace, &work->times, event);
}

static int64_t stop_of(const struct selecting *work, row_t event) {
    return start_of(work, event) + ns_of_us(number_at(work->events->dur, event));
}

/* Whether the trace's first start is among those of such events. */
static bool counts_as_first(const struct selecting *work, row_t event) {
    enum selected_kind kind = (enum selected_kind)work->selection->kind[event];
    return (kind == SELECTED_WORK || (kind >= SELECTED_OPERATOR && kind <= SELECTED_PYTHON)) &&
           work->events->flags[event] & EVENT_HAS_DUR && exact_time_is_known(work->events, event) &&
           !(category_roles(work->events, work->roles, event) & CATEGORY_SYNC);
}

static enum sutra_status find_stretch(struct selecting *work, struct sutra_error *error) {
    const struct stretch_wish wish = {work->wish->step, work->wish->from_us, work->wish->to_us};
    const struct device_events *events = work->events;
    int64_t first = INT64_MAX;
    struct time_stretch *stretch = &work->selection->stretch;
    enum sutra_status status = exact_times_find(work->context, work->trace, NULL, work->arena, &work->times, error);
    for (row_t event = 0; event < events->n && !status; event++) {
        if (!counts_as_first(work, event))
            continue;
        int64_t start = start_of(work, event);
        first = start < first ? start : first;
        if (work->selection->kind[event] == SELECTED_NOTE && wish.steps &&
            stretch_is_step(stretch, &work->trace->strings, events->name[event], &wish))
            stretch_add_step(stretch, start, stop_of(work, event));
    }
    return status ? status : stretch_settle(stretch, &wish, first == INT64_MAX ? 0 : first, error);
}

/* Work is decided about by its call. */
static enum sutra_status find_calls(struct selecting *work, struct sutra_error *error) {
    const struct selection *selection = work->selection;
    row_t n = selection->n[SELECTED_WORK] + selection->n[SELECTED_CALL], n_rows = 0;
    row_t *rows = arena_take(work->arena, n, sizeof *rows);
    uint8_t *state = arena_zeros(work->arena, work->events->n, sizeof *state);
    enum sutra_status status = arena_status(work->arena, error);
    for (row_t event = 0; event < work->events->n && !status; event++) {
        uint8_t kind = selection->kind[event];
        state[event] = kind == SELECTED_WORK ? ON_DEVICE : 0;
        if (kind == SELECTED_WORK || kind == SELECTED_CALL)
            rows[n_rows++] = event;
    }
    if (!status)
        status = correlation_partners(work->events, rows, n_rows, state, ON_DEVICE, &work->context->engine, work->arena,
                                      work->decides, error);
    for (row_t i = 0; i < n_rows && !status; i++)
        if (!state[rows[i]])
            work->decides[rows[i]] = ROW_NONE;
    return status;
}

/* Annotations on streams are decided about by those of the host. */
static bool find_notes(struct selecting *work) {
    struct pair_table notes;
    const struct device_events *events = work->events;
    const uint8_t *kind = work->selection->kind;
    bool ok = pair_table_init(&notes);
    for (row_t event = 0; event < events->n && ok; event++)
        if (kind[event] == SELECTED_NOTE)
            ok = pair_table_note(&notes, (uint64_t)events->external[event], events->name[event], event);
    for (row_t event = 0; event < events->n && ok; event++)
        if (kind[event] == SELECTED_DEVICE_NOTE)
            work->decides[event] = pair_table_find(&notes, (uint64_t)events->external[event], events->name[event]);
    pair_table_free(&notes);
    return ok;
}

static enum sutra_status find_moments(struct selecting *work, struct sutra_error *error) {
    work->decides = rows_none(work->arena, work->events->n);
    enum sutra_status status = arena_status(work->arena, error);
    if (!status)
        status = find_stretch(work, error);
    if (!status)
        status = find_calls(work, error);
    if (!status && work->selection->n[SELECTED_DEVICE_NOTE] && !find_notes(work))
        status = error_memory(error);
    return status;
}

/* Whether what runs when the stretch begins is kept, for the sake of what it does in it. */
static bool is_around(const struct selection *selection, row_t event) {
    return selected_is_operation(selection, event) || selection->kind[event] == SELECTED_PYTHON;
}

static bool is_in_time(const struct selecting *work, row_t event) {
    const struct device_events *events = work->events;
    row_t decides = work->decides[event] == ROW_NONE ? event : work->decides[event];
    if (!exact_time_is_known(events, decides))
        return !(events->flags[decides] & EVENT_HAS_TS);
    if (stretch_has(&work->selection->stretch, start_of(work, decides)))
        return true;
    int64_t from = work->selection->stretch.from;
    return is_around(work->selection, event) && start_of(work, event) < from && stop_of(work, event) > from;
}

/* ---- Sides ---- */

static bool is_on_device(uint8_t kind) {
    return kind == SELECTED_WORK || kind == SELECTED_DEVICE_NOTE;
}

static enum sutra_status find_communication(struct selecting *work, struct sutra_error *error) {
    static const char *const beginnings[] = {"nccl:", "gloo:", "ucc:", "mpi:", "c10d::", "record_param_comms"};
    const struct strings *strings = &work->trace->strings;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        names_mark(strings, work->roles, TEXT_BEGINS, beginnings[i], NAME_COMMUNICATES);
    work->communicates = arena_take(work->arena, strings->n, sizeof *work->communicates);
    if (!work->communicates)
        return error_memory(error);
    for (uint32_t name = 0; name < strings->n; name++)
        work->communicates[name] = device_class_of(CATEGORY_KERNEL, strings_text(strings, name),
                                                   strings_length(strings, name)) == DEVICE_COMMUNICATION;
    return SUTRA_OK;
}

static bool communicates(const struct selecting *work, row_t event) {
    uint32_t name = work->events->name[event];
    if (work->selection->kind[event] == SELECTED_WORK)
        return work->communicates[name] && category_roles(work->events, work->roles, event) & CATEGORY_KERNEL;
    return work->roles[name].name & NAME_COMMUNICATES;
}

static bool is_of_side(const struct selecting *work, row_t event) {
    switch (work->wish->only) {
    case SUTRA_ONLY_GPU:
        return is_on_device(work->selection->kind[event]);
    case SUTRA_ONLY_CPU:
        return !is_on_device(work->selection->kind[event]);
    case SUTRA_ONLY_COMMUNICATION:
        return communicates(work, event);
    case SUTRA_ONLY_ALL:
        break;
    }
    return true;
}

static bool is_long_enough(const struct selecting *work, row_t event) {
    return !(work->wish->min_us > 0) || !(work->events->flags[event] & EVENT_HAS_DUR) ||
           number_as_double(number_at(work->events->dur, event)) >= work->wish->min_us;
}

static bool is_kept(const struct selecting *work, row_t event) {
    uint8_t kind = work->selection->kind[event];
    return kind == SELECTED_METADATA ||
           (!(kind == SELECTED_PYTHON && work->wish->no_python) &&
            !(is_on_device(kind) && work->fits && !work->fits[event]) && is_long_enough(work, event) &&
            is_of_side(work, event) && (!work->in_time || is_in_time(work, event)));
}

/* An end of an arrow that begins at no event. */
static bool lone_end_is_kept(const void *arg, row_t event) {
    const struct selecting *work = arg;
    enum sutra_only only = work->wish->only;
    return (only == SUTRA_ONLY_ALL || only == SUTRA_ONLY_CPU) && (!work->in_time || is_in_time(work, event));
}

/* ---- All of them ---- */

static void count_kinds(struct selecting *work) {
    for (row_t event = 0; event < work->events->n; event++) {
        work->selection->kind[event] = (uint8_t)kind_of(work, event);
        work->selection->n[work->selection->kind[event]]++;
    }
}

static enum sutra_status choose_some(struct selecting *work, struct sutra_error *error) {
    struct selection *selection = work->selection;
    enum sutra_status status = work->in_time ? find_moments(work, error) : SUTRA_OK;
    if (!status && work->wish->only == SUTRA_ONLY_COMMUNICATION)
        status = find_communication(work, error);
    for (row_t event = 0; event < work->events->n && !status; event++)
        selection->kept[event] = selection->kind[event] != SELECTED_ARROW && is_kept(work, event);
    if (!status && selection->n[SELECTED_ARROW])
        status = arrows_choose(work->context, work->trace, selection, lone_end_is_kept, work, work->arena, error);
    return status;
}

enum sutra_status selection_make(struct sutra_context *context, const struct sutra_device_trace *trace,
                                 const struct sutra_selection *wish, const uint8_t *fits, struct arena *arena,
                                 struct selection *selection, struct sutra_error *error) {
    const struct stretch_wish times = {wish->step, wish->from_us, wish->to_us};
    row_t n = trace->events.n;
    *selection = (struct selection){
        .kept = arena_take(arena, n, 1), .kind = arena_take(arena, n, 1), .stretch = stretch_of_all()};
    struct arena_mark mark = arena_mark(arena);
    struct selecting work = {.context = context,
                             .trace = trace,
                             .events = &trace->events,
                             .wish = wish,
                             .fits = fits,
                             .roles = names_find(&trace->strings, READER_TREE, arena),
                             .selection = selection,
                             .arena = arena,
                             .in_time = stretch_is_wanted(&times)};
    enum sutra_status status = arena_status(arena, error);
    if (status)
        return status;
    count_kinds(&work);
    memset(selection->kept, 1, n);
    if (work.in_time || fits || wish->only != SUTRA_ONLY_ALL || wish->no_python || wish->min_us > 0)
        status = choose_some(&work, error);
    for (row_t event = 0; event < n && !status; event++)
        selection->n_kept[selection->kind[event]] += selection->kept[event];
    arena_release(arena, mark);
    return status;
}
