/*
 * trace_rows.c - the events of a device trace as the profile needs them: roles, exact times, autograd's numbers.
 *
 * The trace's own columns have names, ids and correlations; what they lack is read from the text once more, each thread
 * taking a part of the events. O(bytes).
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "read/fields.h"
#include "text/decimal_ns.h"
#include "tree/take_trace.h"

static const struct {
    const char *category;
    enum event_role role;
} categories[] = {
    {"cpu_op", ROLE_OPERATOR},
    {"user_annotation", ROLE_ANNOTATION},
    {"python_function", ROLE_PYTHON},
    {"cpu_instant_event", ROLE_INSTANT},
    {"cuda_runtime", ROLE_CALL},
    {"cuda_driver", ROLE_CALL},
    {"hip_runtime", ROLE_CALL},
    {"hip_driver", ROLE_CALL},
    {"overhead", ROLE_CALL},
    {"kernel", ROLE_GPU_OPERATOR},
    {"gpu_memcpy", ROLE_GPU_OPERATOR},
    {"gpu_memset", ROLE_GPU_OPERATOR},
    {"cuda_sync", ROLE_ON_DEVICE},
    {"gpu_user_annotation", ROLE_ON_DEVICE},
    {"ac2g", ROLE_LAUNCH_FLOW},
    {"fwdbwd", ROLE_AUTOGRAD_FLOW},
    {"forward_backward", ROLE_AUTOGRAD_FLOW},
};

#define ROWS_A_PART 8192

struct reading {
    struct taking *taking;
    uint8_t *roles; /* of each string */
    size_t n_parts;
    struct row_part {
        struct field_reader fields;
        uint64_t n_dropped;
        row_t n_untimed;
    } * parts;
};

static bool alloc_rows(struct trace_rows *rows, size_t n) {
    rows->role = column_new(n, sizeof *rows->role);
    rows->start = column_new(n, sizeof *rows->start);
    rows->end = column_new(n, sizeof *rows->end);
    rows->index = column_new(n, sizeof *rows->index);
    rows->sequence = column_new(n, sizeof *rows->sequence);
    rows->forward_tid = column_new(n, sizeof *rows->forward_tid);
    rows->bytes = column_new(n, sizeof *rows->bytes);
    rows->memory = column_new(n, sizeof *rows->memory);
    rows->flow = column_new(n, sizeof *rows->flow);
    rows->thread = column_new(n, sizeof *rows->thread);
    return rows->role && rows->start && rows->end && rows->index && rows->sequence && rows->forward_tid &&
           rows->bytes && rows->memory && rows->flow && rows->thread;
}

void trace_rows_free(struct trace_rows *rows) {
    free(rows->role);
    free(rows->start);
    free(rows->end);
    free(rows->index);
    free(rows->sequence);
    free(rows->forward_tid);
    free(rows->bytes);
    free(rows->memory);
    free(rows->flow);
    free(rows->thread);
}

/* The role of an event, or none where its phase does not fit. */
static enum event_role role_of(const struct reading *reading, row_t event) {
    const struct device_events *events = &reading->taking->trace->events;
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
    struct trace_rows *rows = &reading->taking->rows;
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

static void read_event(struct reading *reading, struct row_part *part, struct events_learned *learned, row_t event) {
    struct taking *taking = reading->taking;
    struct event_places places;
    taking->rows.role[event] = (uint8_t)role_of(reading, event);
    if (taking->rows.role[event] == ROLE_NONE)
        return;
    event_find(taking->trace, event, learned, &places);
    if (!read_times(&taking->rows, &taking->trace->events, event, part->fields.source->bytes, &places)) {
        taking->rows.role[event] = ROLE_NONE;
        part->n_untimed++;
        return;
    }
    read_arguments(reading, part, event, &places);
}

static void read_part(void *arg, size_t number) {
    struct reading *reading = arg;
    struct events_learned learned = {0};
    row_t n = reading->taking->trace->events.n;
    row_t end = (row_t)part_start(n, reading->n_parts, number + 1);
    for (row_t event = (row_t)part_start(n, reading->n_parts, number); event < end; event++)
        read_event(reading, &reading->parts[number], &learned, event);
    event_forms_free(&learned.forms);
}

/* Numbers threads by process and tid, in the order of events. */
static enum sutra_status number_threads(struct taking *taking) {
    const struct device_events *events = &taking->trace->events;
    struct thread_numbers processes, threads = {0};
    bool ok = thread_numbers_init(&processes) && thread_numbers_init(&threads);
    for (row_t event = 0; event < events->n && ok; event++) {
        if (taking->rows.role[event] == ROLE_NONE)
            continue;
        uint32_t process = thread_number(&processes, (uint64_t)events->pid[event], 0);
        uint32_t thread =
            process == PAIR_NONE ? PAIR_NONE : thread_number(&threads, (uint64_t)events->tid[event], process);
        ok = (taking->rows.thread[event] = thread) != PAIR_NONE;
    }
    taking->profile->n_threads = threads.n;
    thread_numbers_free(&processes);
    thread_numbers_free(&threads);
    return ok ? SUTRA_OK : error_memory(taking->error);
}

static uint8_t *give_roles(const struct strings *strings) {
    uint8_t *roles = column_new(strings->n, sizeof *roles);
    for (size_t i = 0; i < sizeof categories / sizeof *categories && roles; i++) {
        uint32_t string = strings_find(strings, categories[i].category, strlen(categories[i].category));
        if (string != STRING_NONE)
            roles[string] = (uint8_t)categories[i].role;
    }
    return roles;
}

enum sutra_status trace_rows_read(struct taking *taking) {
    struct reading reading = {.taking = taking, .n_parts = taking->trace->events.n / ROWS_A_PART + 1};
    reading.roles = give_roles(&taking->trace->strings);
    reading.parts = calloc(reading.n_parts, sizeof *reading.parts);
    enum sutra_status status = SUTRA_OK;
    if (!reading.roles || !reading.parts || !alloc_rows(&taking->rows, taking->trace->events.n)) {
        status = error_memory(taking->error);
    } else {
        for (size_t i = 0; i < reading.n_parts; i++)
            reading.parts[i].fields =
                (struct field_reader){.source = &taking->trace->document.source, .values = &taking->context->values};
        pool_run(taking->context->pool, reading.n_parts, read_part, &reading);
    }
    for (size_t i = 0; i < reading.n_parts && !status; i++) {
        taking->n_dropped += reading.parts[i].n_dropped;
        taking->n_untimed += reading.parts[i].n_untimed;
        if (reading.parts[i].fields.failed)
            status = error_memory(taking->error);
    }
    for (size_t i = 0; i < reading.n_parts && reading.parts; i++)
        buffer_free(&reading.parts[i].fields.scratch);
    free(reading.parts);
    free(reading.roles);
    return status ? status : number_threads(taking);
}
