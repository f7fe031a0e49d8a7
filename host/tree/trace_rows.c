/*
 * trace_rows.c - the events of a device trace as the profile needs them: roles, exact times, autograd's numbers.
 *
 * The trace's own columns have names, ids and correlations; what they lack is read from the text once more, each thread
 * taking a part of the events. O(bytes).
 */
#include "facts/names.h"
#include "read/fields.h"
#include "text/decimal_ns.h"
#include "tree/take_trace.h"

/* Roles of categories. */
static const struct {
    uint32_t categories;
    enum event_role role;
} known_categories[] = {
    {CATEGORY_CPU_OP, ROLE_OPERATOR},
    {CATEGORY_ANNOTATION, ROLE_ANNOTATION},
    {CATEGORY_PYTHON, ROLE_PYTHON},
    {CATEGORY_INSTANT, ROLE_INSTANT},
    {CATEGORY_CALL | CATEGORY_OVERHEAD, ROLE_CALL},
    {CATEGORY_WORK, ROLE_GPU_OPERATOR},
    {CATEGORY_SYNC | CATEGORY_GPU_ANNOTATION, ROLE_ON_DEVICE},
    {CATEGORY_LAUNCH_FLOW, ROLE_LAUNCH_FLOW},
    {CATEGORY_AUTOGRAD_FLOW, ROLE_AUTOGRAD_FLOW},
};

#define ROWS_A_PART 8192

struct reading {
    const struct sutra_device_trace *trace;
    const uint8_t *roles; /* of each string, as a category */
    struct trace_rows *rows;
    size_t n_parts;
    struct row_part {
        struct field_reader fields;
        uint64_t n_dropped;
        row_t n_untimed;
    } * parts;
};

static struct trace_rows rows_take(row_t n, struct arena *arena) {
    return (struct trace_rows){.role = arena_take(arena, n, sizeof(uint8_t)),
                               .start = arena_take(arena, n, sizeof(int64_t)),
                               .end = arena_take(arena, n, sizeof(int64_t)),
                               .index = arena_take(arena, n, sizeof(int64_t)),
                               .sequence = arena_take(arena, n, sizeof(int64_t)),
                               .forward_tid = arena_zeros(arena, n, sizeof(int64_t)),
                               .bytes = arena_zeros(arena, n, sizeof(int64_t)),
                               .memory = arena_zeros(arena, n, sizeof(uint64_t)),
                               .flow = arena_take(arena, n, sizeof(value_key)),
                               .thread = arena_take(arena, n, sizeof(uint32_t))};
}

/* The role of an event, or none where its phase does not fit. */
static enum event_role role_of(const struct reading *reading, row_t event) {
    const struct device_events *events = &reading->trace->events;
    if (events->category[event] == STRING_NONE)
        return ROLE_NONE;
    enum event_role role = (enum event_role)reading->roles[events->category[event]];
    uint8_t phase = events->phase[event];
    bool fits = role >= ROLE_LAUNCH_FLOW ? phase == 's' || phase == 'f'
                                         : phase == 'X' || (role == ROLE_INSTANT && (phase == 'i' || phase == 'I'));
    return fits ? role : ROLE_NONE;
}

/* A time of microseconds in nanoseconds. */
static bool read_time(const char *text, int64_t *ns) {
    size_t length;
    if (*text == 't' || *text == 'f') {
        *ns = *text == 't' ? 1000 : 0;
        return true;
    }
    return number_scan(text, &length) != NUMBER_FORM_BAD && decimal_ns(text, length, ns);
}

/* Sets start and end; false: the event has no start that we can tell. */
static bool read_times(struct trace_rows *rows, const struct device_events *events, row_t event, const char *bytes,
                       const struct event_places *places) {
    int64_t duration = 0;
    uint8_t flags = events->flags[event];
    enum event_role role = (enum event_role)rows->role[event];
    if (!(flags & EVENT_HAS_TS) || !read_time(bytes + places->field[FIELD_TS].at, &rows->start[event]))
        return false;
    if (flags & EVENT_HAS_DUR && !read_time(bytes + places->field[FIELD_DUR].at, &duration))
        return false;
    bool endless =
        !(flags & EVENT_HAS_DUR) && (role == ROLE_OPERATOR || role == ROLE_ANNOTATION || role == ROLE_PYTHON);
    rows->end[event] = endless ? EVENT_NO_END : rows->start[event] + duration;
    return endless || (rows->end[event] < NUMBER_INTEGER_LIMIT && rows->end[event] > -NUMBER_INTEGER_LIMIT);
}

/* Reads an argument; where it is no integer it counts as absent. */
static void read_argument(struct row_part *part, struct json_place place, int64_t *value) {
    const char *text = part->fields.source->bytes + place.at;
    if (place.at && *text != 'n' && !field_integer(text, value))
        part->n_dropped++;
}

static void read_arguments(struct reading *reading, struct row_part *part, row_t event,
                           const struct event_places *places) {
    struct trace_rows *rows = reading->rows;
    int64_t address = 0;
    rows->index[event] = rows->sequence[event] = -1;
    rows->flow[event] = places->field[FIELD_ID].at ? field_key(&part->fields, places->field[FIELD_ID]) : KEY_ABSENT;
    read_argument(part, places->field[FIELD_EVENT_INDEX], &rows->index[event]);
    if (rows->role[event] > ROLE_INSTANT)
        return;
    read_argument(part, places->field[FIELD_SEQUENCE], &rows->sequence[event]);
    read_argument(part, places->field[FIELD_FORWARD_THREAD], &rows->forward_tid[event]);
    read_argument(part, places->field[FIELD_BYTES], &rows->bytes[event]);
    read_argument(part, places->field[FIELD_ADDRESS], &address);
    rows->memory[event] = (uint64_t)address;
}

static void read_event(struct reading *reading, struct row_part *part, struct event_forms *learned, row_t event) {
    struct trace_rows *rows = reading->rows;
    struct event_places places;
    rows->role[event] = (uint8_t)role_of(reading, event);
    if (rows->role[event] == ROLE_NONE)
        return;
    event_find(reading->trace, event, learned, &places);
    if (!read_times(rows, &reading->trace->events, event, part->fields.source->bytes, &places)) {
        rows->role[event] = ROLE_NONE;
        part->n_untimed++;
        return;
    }
    read_arguments(reading, part, event, &places);
}

static void read_part(void *arg, size_t number) {
    struct reading *reading = arg;
    struct event_forms learned = {0};
    row_t n = reading->trace->events.n;
    row_t begin = (row_t)part_start(n, reading->n_parts, number);
    row_t end = (row_t)part_start(n, reading->n_parts, number + 1);
    for (row_t event = begin; event < end; event++)
        read_event(reading, &reading->parts[number], &learned, event);
    if (begin < end)
        events_passed(reading->trace, begin, end - 1);
    event_forms_free(&learned);
}

/* Numbers threads by process and tid, in the order of events. */
static enum sutra_status number_threads(struct trace_rows *rows, const struct device_events *events,
                                        struct sutra_error *error) {
    struct event_threads threads;
    bool ok = event_threads_init(&threads);
    for (row_t event = 0; event < events->n && ok; event++) {
        if (rows->role[event] == ROLE_NONE)
            continue;
        rows->thread[event] = event_thread(&threads, events, event);
        ok = rows->thread[event] != PAIR_NONE;
    }
    rows->n_threads = threads.threads.n;
    event_threads_free(&threads);
    return ok ? SUTRA_OK : error_memory(error);
}

/* The role of each string as a category. */
static uint8_t *give_roles(const struct strings *strings, struct arena *arena) {
    uint8_t *roles = arena_zeros(arena, strings->n, sizeof *roles);
    struct arena_mark mark = arena_mark(arena);
    const struct string_roles *known = names_find(strings, READER_TREE, arena);
    for (uint32_t string = 0; string < strings->n && known; string++)
        for (size_t i = 0; i < sizeof known_categories / sizeof *known_categories; i++)
            if (known[string].category & known_categories[i].categories)
                roles[string] = (uint8_t)known_categories[i].role;
    arena_release(arena, mark);
    return roles;
}

/* Reads all parts; what they count goes into the rows. */
static bool read_parts(struct reading *reading, struct sutra_context *context) {
    bool ok = true;
    for (size_t i = 0; i < reading->n_parts; i++)
        reading->parts[i].fields =
            (struct field_reader){.source = &reading->trace->document.source, .values = &context->values};
    pool_run(context->pool, reading->n_parts, read_part, reading);
    for (size_t i = 0; i < reading->n_parts; i++) {
        reading->rows->n_dropped += reading->parts[i].n_dropped;
        reading->rows->n_untimed += reading->parts[i].n_untimed;
        ok = ok && !reading->parts[i].fields.failed;
        buffer_free(&reading->parts[i].fields.scratch);
    }
    return ok;
}

enum sutra_status trace_rows_read(struct trace_rows *rows, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, struct arena *arena,
                                  struct sutra_error *error) {
    *rows = rows_take(trace->events.n, arena);
    struct arena_mark mark = arena_mark(arena);
    struct reading reading = {.trace = trace,
                              .roles = give_roles(&trace->strings, arena),
                              .rows = rows,
                              .n_parts = trace->events.n / ROWS_A_PART + 1};
    reading.parts = arena_zeros(arena, reading.n_parts, sizeof *reading.parts);
    bool ok = !arena->failed && read_parts(&reading, context);
    arena_release(arena, mark);
    return ok ? number_threads(rows, &trace->events, error) : error_memory(error);
}
