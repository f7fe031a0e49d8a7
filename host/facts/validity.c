/*
 * validity.c - implements validity.h, and reads device traces for all callers, so that each of them is checked.
 *
 *     events --list--> GPU activities, calls --times, launches--> usable activities --by stream and start--> overlaps,
 *                                                                                                            duplicates
 *
 * Activities of a stream mostly ascend by start in the file; otherwise they are sorted. Launches are found through an
 * index of the calls' correlations. Cost: O(n), a sort if necessary, and the text of events that are reported.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "facts/launches.h"
#include "facts/names.h"
#include "facts/processes.h"
#include "facts/profiler_steps.h"
#include "facts/times.h"
#include "facts/validity.h"
#include "match/key_index.h"
#include "text/names.h"
#include "text/numbers.h"
#include "text/quantities.h"

#define SOUND_US_MAX_BITS 0x432550f7dca70000 /* the double SOUND_US_MAX (times.h) */
#define ZERO_DISTANCE     100.0              /* spans of the trace from 0 to its first event: 0 is no time */
#define FAR_US            86400e6            /* a day before or after the middle half of the CPU events: */
#define FAR_DISTANCE      100.0              /* no time, if it is also this many times the length of this half */
#define FAR_EVENTS_MIN    4                  /* CPU events that have a middle half */
#define LATE_US           60e6               /* no queue delays nearly all activities by so much: another clock */
#define EARLY_US          1.0                /* starts that precede their launch by less are rounding */
#define EARLY_MAX_US      1000.0             /* from here on an early activity is unusable, */
#define CLOCK_SHARE       0.9                /* unless so many are early */
#define OVERLAP_US        10.0               /* programmatic dependent launch: up to this, */
#define OVERLAP_SHARE     0.2                /* or up to this share of the shorter activity */
#define DAMAGED_SHARE     0.05
#define EXAMPLE_COLUMNS   40

/* Causes of invalid times. */
static const char in_ns_text[] = "times are in ns, expected us";
static const char far_text[] = "more than a day from most CPU events";

const char *const defect_names[N_DEFECTS] = {
#define DEFECT_NAME(id, name, noun, one, several, effect) name,
    TRACE_DEFECTS(DEFECT_NAME)
#undef DEFECT_NAME
};

static const char *const defect_effects[N_DEFECTS] = {
#define DEFECT_EFFECT(id, name, noun, one, several, effect) effect,
    TRACE_DEFECTS(DEFECT_EFFECT)
#undef DEFECT_EFFECT
};

/* ---- The check ---- */

/* Categories of CPU events. */
#define CATEGORY_HOST (CATEGORY_CPU_OP | CATEGORY_ANNOTATION | CATEGORY_PYTHON | CATEGORY_CALL)

enum event_side { SIDE_OTHER, SIDE_GPU, SIDE_CALL, SIDE_HOST };

struct check {
    struct sutra_context *context;
    struct sutra_device_trace *trace;
    struct device_events *events;
    struct trace_validity *validity;
    struct arena arena;
    struct string_roles *roles;
    row_t n_gpu, n_calls;
    bool has_processes; /* calls have several pids */
    row_t *gpu, *call;
    double *start, *end;               /* microseconds, by activity of `gpu`; steps of a quarter suffice */
    struct us_range host;              /* of the CPU events */
    double earliest_start, latest_end; /* that can be true; see find_limits() */
};

void defect_note(struct trace_defect *defect, const struct sutra_device_trace *trace, row_t event, double us,
                 double gpu_us) {
    if (defect->count++ == 0) {
        const char *name = strings_text(&trace->strings, trace->events.name[event]);
        defect->largest_us = us;
        snprintf(defect->example, sizeof defect->example, "'%.160s', event %u", short_name(name, EXAMPLE_COLUMNS).text,
                 event);
    }
    defect->largest_us = fmax(defect->largest_us, us);
    defect->gpu_us += gpu_us;
}

static void note_defect(struct check *check, enum trace_defect_kind kind, row_t event, double us, double gpu_us) {
    defect_note(&check->validity->defects[kind], check->trace, event, us, gpu_us);
}

static void mark_unusable(struct check *check, enum trace_defect_kind kind, row_t event, double us, double gpu_us) {
    check->events->flags[event] |= EVENT_UNUSABLE;
    note_defect(check, kind, event, us, gpu_us);
}

static inline double start_us(const struct device_events *events, row_t event) {
    return number_as_double(number_at(events->ts, event));
}

static inline double dur_us(const struct device_events *events, row_t event) {
    return number_as_double(number_at(events->dur, event));
}

/* Whether an event has a duration and a start after 0: sound positive numbers, which have ascending bits. */
static inline bool is_surely_timed(const struct device_events *events, row_t event) {
    static const uint64_t most[] = {
        [NUMBER_INTEGER] = (uint64_t)SOUND_US_MAX, [NUMBER_DOUBLE] = SOUND_US_MAX_BITS, [NUMBER_BOOLEAN] = 1};
    const uint16_t both = EVENT_HAS_TS | EVENT_HAS_DUR;
    return (events->flags[event] & both) == both && events->ts.bits[event] - 1 < most[events->ts.kind[event]] &&
           events->dur.bits[event] <= most[events->dur.kind[event]];
}

/* The median operator starts after 0: so do all events. O(n). */
static bool zero_is_no_start(const struct check *check) {
    const struct device_events *events = check->events;
    row_t n = 0, n_after = 0;
    for (row_t event = 0; event < events->n; event++) {
        if (!(category_roles(events, check->roles, event) & CATEGORY_CPU_OP))
            continue;
        n++;
        n_after += start_us(events, event) > 0;
    }
    return n_after * 2 > n;
}

/* The range of usable events that start after 0. O(n). */
static struct us_range measure_span(const struct check *check) {
    const struct device_events *events = check->events;
    struct us_range span = {0};
    for (row_t event = 0; event < events->n; event++)
        if (category_roles(events, check->roles, event) && events->flags[event] & EVENT_HAS_DUR &&
            time_is_usable(events, event) && start_us(events, event) > 0)
            us_range_add(&span, events, event);
    return span;
}

/* Marks CPU events that start at 0 or before, if all other events are far from 0. Else times may count from the first
 * event. */
static void check_host_times(struct check *check) {
    const struct device_events *events = check->events;
    const struct us_range span = measure_span(check);
    if (!(span.end > span.begin && span.begin > ZERO_DISTANCE * (span.end - span.begin)))
        return;
    for (row_t event = 0; event < events->n; event++)
        if (category_roles(events, check->roles, event) & CATEGORY_HOST && start_us(events, event) <= 0)
            mark_unusable(check, DEFECT_HOST_NO_TIME, event, NAN, 0);
}

/* Marks an event whose times cannot be true. The cause of the first one is kept. */
static void mark_untimed(struct check *check, enum trace_defect_kind kind, row_t event, const char *cause) {
    struct trace_defect *defect = &check->validity->defects[kind];
    if (defect->count == 0)
        snprintf(defect->cause, sizeof defect->cause, "%s", cause);
    mark_unusable(check, kind, event, NAN, 0);
}

/* Finds the limits of times that can be true: FAR_US, and FAR_DISTANCE times the length of the middle half of the CPU
 * events by start, before and after this half. Without enough CPU events there are none. O(n log n). */
static enum sutra_status find_limits(struct check *check, struct sutra_error *error) {
    const struct device_events *events = check->events;
    struct arena_mark mark = arena_mark(&check->arena);
    uint64_t *keys = arena_alloc(&check->arena, events->n, sizeof *keys);
    row_t *order = arena_alloc(&check->arena, events->n, sizeof *order), n = 0;
    TRY(arena_status(&check->arena, error));
    for (row_t event = 0; event < events->n; event++) {
        if (!(category_roles(events, check->roles, event) & CATEGORY_HOST) || !time_is_usable(events, event))
            continue;
        order[n] = event;
        keys[n++] = double_sort_key(start_us(events, event));
    }
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, order, n}, error));
    if (n >= FAR_EVENTS_MIN) {
        const double begin = start_us(events, order[n / 4]), end = start_us(events, order[n - 1 - n / 4]);
        const double distance = fmax(FAR_US, FAR_DISTANCE * (end - begin));
        check->earliest_start = begin - distance;
        check->latest_end = end + distance;
    }
    arena_release(&check->arena, mark);
    return SUTRA_OK;
}

/* Marks CPU events whose times cannot be true. */
static enum sutra_status check_far_host_times(struct check *check, struct sutra_error *error) {
    const struct device_events *events = check->events;
    TRY(find_limits(check, error));
    check->host = (struct us_range){0};
    for (row_t event = 0; event < events->n; event++) {
        if (!(category_roles(events, check->roles, event) & CATEGORY_HOST) || !time_is_usable(events, event))
            continue;
        const double start = start_us(events, event), end = start + dur_us(events, event);
        if (start < check->earliest_start || end > check->latest_end)
            mark_untimed(check, DEFECT_HOST_NO_TIME, event, far_text);
        else
            us_range_add(&check->host, events, event);
    }
    return SUTRA_OK;
}

/* Lists GPU activities and calls, and marks activities without a time. */
static enum sutra_status check_times(struct check *check, struct sutra_error *error) {
    const struct device_events *events = check->events;
    uint32_t n_strings = check->trace->strings.n;
    check->roles = names_find(&check->trace->strings, READER_TREE, &check->arena);
    uint8_t *side_of = arena_zeros(&check->arena, n_strings, sizeof *side_of);
    check->gpu = arena_alloc(&check->arena, events->n, sizeof *check->gpu);
    check->call = arena_alloc(&check->arena, events->n, sizeof *check->call);
    TRY(arena_status(&check->arena, error));
    for (uint32_t string = 0; string < n_strings; string++) {
        uint32_t roles = check->roles[string].category;
        side_of[string] = (uint8_t)(roles & CATEGORY_WORK   ? SIDE_GPU
                                    : roles & CATEGORY_CALL ? SIDE_CALL
                                    : roles & CATEGORY_HOST ? SIDE_HOST
                                                            : SIDE_OTHER);
    }
    const struct device_events columns = *events; /* a copy, whose pointers stay in registers */
    row_t *gpu = check->gpu, *call = check->call, n_gpu = 0, n_calls = 0;
    struct us_range host = {0};
    uint64_t host_signs = 0; /* the highest bit is set if a CPU event starts at 0 (or -0) or before */
    bool all_timed = true;
    for (row_t event = 0; event < columns.n; event++) {
        uint32_t category = columns.category[event];
        uint8_t side = category == STRING_NONE ? SIDE_OTHER : side_of[category];
        if (side == SIDE_OTHER)
            continue;
        if (side == SIDE_GPU) {
            gpu[n_gpu++] = event;
            all_timed = all_timed && is_surely_timed(&columns, event);
            continue;
        }
        host_signs |= columns.ts.bits[event] | (columns.ts.bits[event] - 1); /* of an integer or a double */
        us_range_add(&host, &columns, event);
        if (side == SIDE_CALL)
            call[n_calls++] = event;
    }
    check->n_gpu = n_gpu;
    check->n_calls = n_calls;
    check->host = host;
    check->earliest_start = -INFINITY;
    check->latest_end = INFINITY;
    check->validity->defects[DEFECT_NO_TIME].of = n_gpu;
    check->validity->defects[DEFECT_HOST_NO_TIME].of = host.n;
    bool needs_start = !all_timed && zero_is_no_start(check);
    row_t n_in_ns = 0;
    for (row_t i = 0; i < n_gpu && !all_timed; i++) {
        row_t event = gpu[i];
        if (is_surely_timed(events, event) ||
            (!needs_start && events->flags[event] & EVENT_HAS_DUR && exact_time_is_known(events, event)))
            continue;
        double us = dur_us(events, event), start = start_us(events, event);
        mark_unusable(check, DEFECT_NO_TIME, event, NAN, us > 0 && us_are_sound(us) ? us : 0);
        n_in_ns += start > SOUND_US_MAX && us_are_sound(start / 1e3);
    }
    struct trace_defect *no_time = &check->validity->defects[DEFECT_NO_TIME];
    if (2 * (uint64_t)n_in_ns > no_time->count)
        snprintf(no_time->cause, sizeof no_time->cause, "%s", in_ns_text);
    if (host_signs >> 63)
        check_host_times(check);
    return host.end - host.begin > FAR_US ? check_far_host_times(check, error) : SUTRA_OK;
}

static inline bool is_usable(const struct check *check, row_t event) {
    return !(check->events->flags[event] & EVENT_UNUSABLE);
}

/* Starts of GPU activities, compared with their launch calls. */
struct launch_delays {
    double *us;                           /* per activity of `gpu`, from its call; 0: without a call */
    row_t n;                              /* activities with a call, */
    row_t n_early, n_late;                /* of these, early ones, and ones that no queue delays so long */
    double smallest_us, smallest_late_us; /* at most 0; of the late ones */
    row_t n_in_ns;                        /* of all activities */
    struct us_range all;                  /* of the CPU events and usable activities */
};

/* Fills the columns of times, and the delays. */
static enum sutra_status measure_delays(struct check *check, struct launch_delays *delays, struct sutra_error *error) {
    const struct device_events *events = check->events;
    struct trace_validity *validity = check->validity;
    struct arena *arena = &check->arena;
    value_key *ids = arena_alloc(arena, check->n_calls, sizeof *ids);
    double *call_start = arena_alloc(arena, check->n_calls, sizeof *call_start); /* the first start of each id */
    *delays = (struct launch_delays){
        .us = arena_zeros(arena, check->n_gpu, sizeof *delays->us), .smallest_late_us = INFINITY, .all = check->host};
    check->start = arena_alloc(arena, check->n_gpu, sizeof *check->start);
    check->end = arena_alloc(arena, check->n_gpu, sizeof *check->end);
    TRY(arena_status(arena, error));
    row_t n_calls = 0;
    value_key pid = check->n_calls ? events->pid[check->call[0]] : KEY_ABSENT;
    for (row_t i = 0; i < check->n_calls; i++) {
        row_t call = check->call[i];
        check->has_processes |= events->pid[call] != pid;
        ids[n_calls] = events->correlation[call];
        call_start[n_calls] = start_us(events, call);
        n_calls += is_correlation(ids[n_calls]) && time_is_usable(events, call);
    }
    struct key_index index;
    row_t repeated;
    TRY(key_index_build(&index, &check->context->choice.cpu, ids, n_calls, KEY_FIRST, &repeated, error));
    for (row_t i = repeated; i < n_calls; i++) {
        row_t first = key_index_find(&index, ids[i]);
        call_start[first] = fmin(call_start[first], call_start[i]);
    }
    const struct us_range *host = &check->host;
    const double length = host->end - host->begin;
    const double ns_begin = host->begin > length ? host->begin - length : INFINITY; /* times may count from 0 */
    for (row_t i = 0; i < check->n_gpu; i++) {
        row_t event = check->gpu[i];
        row_t call =
            is_correlation(events->correlation[event]) ? key_index_find(&index, events->correlation[event]) : ROW_NONE;
        validity->n_launched +=
            call != ROW_NONE && check->roles[events->category[event]].category & CATEGORY_LINKED_WORK;
        if (!is_usable(check, event))
            continue;
        const double dur = dur_us(events, event), start = start_us(events, event);
        check->start[i] = start;
        check->end[i] = start + dur;
        validity->gpu_us += dur;
        us_range_add(&delays->all, events, event);
        delays->n_in_ns += start > host->end + LATE_US && start / 1e3 > ns_begin && start / 1e3 < host->end + length;
        if (call == ROW_NONE)
            continue;
        const double us = start - call_start[call];
        delays->us[i] = us;
        delays->n++;
        delays->n_early += us < -EARLY_US;
        delays->smallest_us = us < delays->smallest_us ? us : delays->smallest_us;
        if (us > LATE_US) {
            delays->n_late++;
            delays->smallest_late_us = fmin(delays->smallest_late_us, us);
        }
    }
    key_index_free(&index);
    return SUTRA_OK;
}

/* Marks GPU activities outside the limits, if their clock is `clock_us` ahead; early ones with a launch are left to
 * check_launches(). With `in_ns`, marks the ones after the CPU events instead. */
static void check_far_times(struct check *check, const struct launch_delays *delays, double clock_us, bool in_ns) {
    const struct device_events *events = check->events;
    check->validity->gpu_us = 0;
    for (row_t i = 0; i < check->n_gpu; i++) {
        if (!is_usable(check, check->gpu[i]))
            continue;
        const double start = check->start[i] - clock_us, end = check->end[i] - clock_us;
        if (in_ns && start > check->host.end + LATE_US)
            mark_untimed(check, DEFECT_NO_TIME, check->gpu[i], in_ns_text);
        else if (end > check->latest_end || (start < check->earliest_start && delays->us[i] >= 0))
            mark_untimed(check, DEFECT_NO_TIME, check->gpu[i], far_text);
        else
            check->validity->gpu_us += dur_us(events, check->gpu[i]);
    }
}

/* Fills the columns of times, and compares activities with their launch calls. */
static enum sutra_status check_launches(struct check *check, struct sutra_error *error) {
    struct launch_delays delays;
    struct trace_validity *validity = check->validity;
    TRY(measure_delays(check, &delays, error));
    const bool in_ns = 2 * (uint64_t)delays.n_in_ns > delays.all.n - check->host.n;
    const bool is_late = !in_ns && delays.n_late > 0 && delays.n_late >= CLOCK_SHARE * delays.n;
    const bool is_early = delays.n_early > 0 && delays.n_early >= CLOCK_SHARE * delays.n;
    const bool clocks_differ = is_late || is_early, is_far = delays.all.end - delays.all.begin > FAR_US;
    if (clocks_differ)
        validity->clock_difference_us = is_late ? delays.smallest_late_us : delays.smallest_us;
    if (is_far && isinf(check->latest_end))
        TRY(find_limits(check, error));
    if (is_far || in_ns)
        check_far_times(check, &delays, validity->clock_difference_us, in_ns);

    enum trace_defect_kind kind = clocks_differ ? DEFECT_DEVICE_CLOCK : DEFECT_BEFORE_LAUNCH;
    for (row_t i = 0; i < check->n_gpu && (delays.n_early || is_late); i++) {
        const row_t event = check->gpu[i];
        const double us = delays.us[i], dur = dur_us(check->events, event);
        if (!is_usable(check, event) || (is_late ? us <= LATE_US : us >= -EARLY_US))
            continue;
        if (!clocks_differ && us < -EARLY_MAX_US)
            mark_unusable(check, kind, event, -us, dur);
        else
            note_defect(check, kind, event, fabs(us), clocks_differ ? dur : 0);
    }
    validity->defects[kind].of = check->n_gpu;
    return SUTRA_OK;
}

/* Whether the activity is a node of a CUDA graph. O(length of the event). */
static bool is_graph_node(const struct check *check, row_t event) {
    static const char *const members[] = {"graph node id", "graph id"};
    const struct document *document = &check->trace->document;
    struct json_span args = document_member_of(document, check->events->text[event], "args");
    for (size_t i = 0; i < sizeof members / sizeof *members && args.at; i++) {
        struct json_span place = document_member_of(document, args.at, members[i]);
        struct number number;
        if (place.at && field_number(document->source.bytes + place.at, &number) && number_as_double(number) > 0)
            return true;
    }
    return false;
}

/* A stream of a device of a process. */
struct gpu_queue {
    double start;   /* of the last activity, */
    row_t previous; /* its index in `gpu` */
    row_t last;     /* the last activity that is no node of a graph, as an index of `gpu`; ROW_NONE */
    bool is_queue;  /* runs activities one after another */
};

struct gpu_queues {
    struct tuples keys; /* pid, stream, device */
    struct gpu_queue *list;
    uint32_t *of; /* by activity */
    row_t *order; /* usable activities, ascending by start in each queue */
    row_t n;      /* of them */
};

/* Numbers the streams and orders their activities: a sort, unless all ascend in the file. */
static enum sutra_status number_streams(struct check *check, struct gpu_queues *queues, struct sutra_error *error) {
    const struct device_events *events = check->events;
    struct arena *arena = &check->arena;
    queues->of = arena_alloc(arena, check->n_gpu, sizeof *queues->of);
    queues->order = arena_alloc(arena, check->n_gpu, sizeof *queues->order);
    queues->list = arena_alloc(arena, check->n_gpu, sizeof *queues->list);
    TRY(arena_status(arena, error));
    bool ascending = true;
    struct tuple key = {{0}};
    uint32_t queue = TUPLE_NONE;
    for (row_t i = 0; i < check->n_gpu; i++) {
        row_t event = check->gpu[i];
        if (!is_usable(check, event))
            continue;
        value_key pid = events->pid[event], stream = events->stream[event], device = events->device[event];
        if (queue == TUPLE_NONE || key.part[0] != pid || key.part[1] != stream || key.part[2] != device) {
            const uint32_t n = queues->keys.n;
            key = (struct tuple){{pid, stream, device}};
            queue = tuples_number(&queues->keys, key);
            TRY_ALLOC(queue != TUPLE_NONE, error);
            if (queue == n) {
                uint32_t roles = check->roles[events->category[event]].category;
                queues->list[queue] = (struct gpu_queue){
                    .start = -INFINITY,
                    .last = ROW_NONE,
                    .is_queue = key_is_integer(stream) && stream >= 0 &&
                                !(roles & (CATEGORY_NPU | CATEGORY_MTIA | CATEGORY_COMMUNICATION)),
                };
            }
        }
        queues->of[i] = queue;
        queues->order[queues->n++] = i;
        ascending = ascending && queues->list[queue].start <= check->start[i];
        queues->list[queue].start = check->start[i];
    }
    for (uint32_t l = 0; l < queues->keys.n; l++)
        queues->list[l].start = -INFINITY;
    if (ascending)
        return SUTRA_OK;
    uint64_t *keys = arena_alloc(arena, queues->n, sizeof *keys);
    TRY(arena_status(arena, error));
    for (row_t k = 0; k < queues->n; k++)
        keys[k] = double_sort_key(check->start[queues->order[k]]);
    return cpu_sort_keys(NULL, &(struct sort_keys_step){keys, queues->order, queues->n}, error);
}

/* The end of activity `last` becomes the start of the next one, at which it is exact. */
static enum sutra_status correct_end(struct check *check, row_t last, row_t next, const struct exact_times *times,
                                     struct sutra_error *error) {
    struct device_events *events = check->events;
    row_t event = check->gpu[last], successor = check->gpu[next];
    if (events->usable_dur.bits == events->dur.bits) {
        struct number_column own = {malloc((size_t)events->n * sizeof *own.bits), malloc(events->n)};
        if (!own.bits || !own.kind) {
            free(own.bits);
            free(own.kind);
            return error_memory(error);
        }
        memcpy(own.bits, events->dur.bits, (size_t)events->n * sizeof *own.bits);
        memcpy(own.kind, events->dur.kind, events->n);
        events->usable_dur = own;
    }
    int64_t ns = exact_start_ns(check->trace, times, successor) - exact_start_ns(check->trace, times, event);
    number_set(events->usable_dur, event,
               ns % NS_PER_US ? number_double((double)ns / NS_PER_US) : number_integer(ns / NS_PER_US));
    check->end[last] = check->start[next];
    return SUTRA_OK;
}

/* Whether an activity equals an earlier one with its start. `same_starts` has activities whose start occurs again. */
static enum sutra_status find_duplicate(const struct check *check, const struct gpu_queues *queues,
                                        struct tuples *same_starts, row_t previous, row_t i, bool *is_duplicate,
                                        struct sutra_error *error) {
    const struct device_events *events = check->events;
    const row_t both[] = {previous, i};
    for (int k = 0; k < 2; k++) {
        row_t event = check->gpu[both[k]];
        uint32_t n = same_starts->n;
        struct tuple key = {{(value_key)((uint64_t)events->name[event] << 32 | queues->of[both[k]]),
                             (value_key)events->ts.bits[event], (value_key)events->dur.bits[event],
                             events->correlation[event]}};
        uint32_t number = tuples_number(same_starts, key);
        TRY_ALLOC(number != TUPLE_NONE, error);
        *is_duplicate = number < n;
    }
    return SUTRA_OK;
}

/* Finds duplicates, and activities that run over the next one of their stream. */
static enum sutra_status check_streams(struct check *check, struct gpu_queues *queues, struct tuples *same_starts,
                                       struct sutra_error *error) {
    struct exact_times times = {0};
    bool has_times = false, is_duplicate;
    TRY(number_streams(check, queues, error));
    for (row_t k = 0; k < queues->n; k++) {
        row_t i = queues->order[k], event = check->gpu[i];
        struct gpu_queue *queue = &queues->list[queues->of[i]];
        if (check->start[i] == queue->start) {
            TRY(find_duplicate(check, queues, same_starts, queue->previous, i, &is_duplicate, error));
            if (is_duplicate) {
                mark_unusable(check, DEFECT_DUPLICATE, event, NAN, dur_us(check->events, event));
                continue;
            }
        }
        queue->start = check->start[i];
        queue->previous = i;
        if (!queue->is_queue)
            continue;
        row_t last = queue->last;
        queue->last = i;
        double excess = last == ROW_NONE ? 0 : check->end[last] - check->start[i];
        if (excess <= OVERLAP_US)
            continue;
        double shorter = fmin(check->end[last] - check->start[last], check->end[i] - check->start[i]);
        if (excess <= OVERLAP_SHARE * shorter || is_graph_node(check, check->gpu[last]))
            continue;
        if (is_graph_node(check, event)) {
            queue->last = last;
            continue;
        }
        note_defect(check, DEFECT_RUNS_OVER, check->gpu[last], excess, excess);
        if (!has_times)
            TRY(exact_times_find(check->context, check->trace, check->roles, &check->arena, &times, error));
        has_times = true;
        TRY(correct_end(check, last, i, &times, error));
    }
    check->validity->defects[DEFECT_DUPLICATE].of = check->validity->defects[DEFECT_RUNS_OVER].of = check->n_gpu;
    return SUTRA_OK;
}

/* Finds the steps that end before the last GPU activity does. */
static enum sutra_status check_end(struct check *check, struct sutra_error *error) {
    const struct device_events *events = check->events;
    const struct strings *strings = &check->trace->strings;
    struct trace_validity *validity = check->validity;
    struct trace_defect *defect = &validity->defects[DEFECT_TRUNCATED];
    double *step_end = arena_alloc(&check->arena, strings->n, sizeof *step_end); /* by string, NaN: no step */
    double first = INFINITY, last = -INFINITY;
    TRY_ALLOC(step_end, error);
    for (uint32_t string = 0; string < strings->n; string++)
        step_end[string] = (double)NAN;
    for (row_t event = 0; event < events->n; event++) {
        uint32_t roles = category_roles(events, check->roles, event);
        if (!roles || !(events->flags[event] & EVENT_HAS_DUR) || !time_is_usable(events, event))
            continue;
        double start = start_us(events, event) - (roles & CATEGORY_WORK ? validity->clock_difference_us : 0);
        double end = start + number_as_double(number_at(events->usable_dur, event));
        uint32_t name = events->name[event];
        first = fmin(first, start);
        last = roles & CATEGORY_WORK ? fmax(last, end) : last;
        if (roles & CATEGORY_ANNOTATION &&
            profiler_step_number(strings_text(strings, name), strings_length(strings, name), STEPS_SELECTION))
            step_end[name] = fmax(step_end[name], end); /* fmax() ignores NaN */
    }
    validity->complete_us = last > first ? last - first : 0;
    for (uint32_t string = 0; string < strings->n; string++) {
        int64_t number;
        if (isnan(step_end[string]))
            continue;
        defect->of++;
        const char *text =
            profiler_step_number(strings_text(strings, string), strings_length(strings, string), STEPS_SELECTION);
        if (step_end[string] > last || !integer_parse(text, strlen(text), &number))
            continue;
        bool is_first = validity->n_complete_steps++ == 0;
        validity->complete_steps[0] = is_first ? number : MIN(validity->complete_steps[0], number);
        validity->complete_steps[1] = is_first ? number : MAX(validity->complete_steps[1], number);
    }
    defect->count = defect->of ? defect->of - validity->n_complete_steps : 1;
    defect->count = MAX(defect->count, 1); /* also if only the metadata after the last step is missing */
    defect->largest_us = (double)NAN;
    if (check->trace->document.truncated_at)
        snprintf(defect->example, sizeof defect->example, "byte %" PRIu64, check->trace->document.truncated_at);
    return SUTRA_OK;
}

static enum sutra_status check_trace(struct sutra_context *context, struct sutra_device_trace *trace,
                                     bool *has_processes, struct sutra_error *error) {
    struct check check = {.context = context, .trace = trace, .events = &trace->events};
    struct gpu_queues queues = {0};
    struct tuples same_starts = {0};
    check.validity = trace->validity = calloc(1, sizeof *trace->validity);
    TRY_ALLOC(check.validity, error);
    enum sutra_status status = check_times(&check, error);
    check.validity->n_activities = check.n_gpu;
    if (!status && check.n_gpu)
        status = check_launches(&check, error);
    if (!status && check.n_gpu)
        status = check_streams(&check, &queues, &same_starts, error);
    if (!status && trace->validity->defects[DEFECT_NO_TIME].count) {
        const struct us_range span = measure_span(&check);
        trace->validity->span_us = span.end - span.begin;
    }
    if (!status && trace->document.truncated)
        status = check_end(&check, error);
    *has_processes = check.has_processes;
    tuples_free(&queues.keys);
    tuples_free(&same_starts);
    arena_free(&check.arena);
    return status;
}

/* ---- Reports ---- */

static const struct {
    const char *noun, *one, *several;
} defect_words[N_DEFECTS] = {
#define DEFECT_WORDS(id, name, noun, one, several, effect) {noun, one, several},
    TRACE_DEFECTS(DEFECT_WORDS)
#undef DEFECT_WORDS
};

bool validity_has_damaged_times(const struct trace_validity *validity) {
    static const enum trace_defect_kind damages[] = {DEFECT_NO_TIME, DEFECT_BEFORE_LAUNCH, DEFECT_DUPLICATE,
                                                     DEFECT_RUNS_OVER};
    uint64_t n = 0;
    double us = 0;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        n += validity->defects[damages[i]].count;
        us += validity->defects[damages[i]].gpu_us;
    }
    return (double)n > DAMAGED_SHARE * (double)validity->n_activities || us > DAMAGED_SHARE * validity->gpu_us;
}

void validity_add(struct trace_validity *sum, const struct trace_validity *rank) {
    sum->n_activities += rank->n_activities;
    sum->gpu_us += rank->gpu_us;
    sum->span_us = fmax(sum->span_us, rank->span_us);
    sum->n_complete_steps += rank->n_complete_steps;
    sum->complete_us = fmax(sum->complete_us, rank->complete_us);
    if (fabs(rank->clock_difference_us) > fabs(sum->clock_difference_us))
        sum->clock_difference_us = rank->clock_difference_us;
    sum->lacks_thread |= rank->lacks_thread;
    for (int kind = 0; kind < N_DEFECTS; kind++) {
        struct trace_defect *to = &sum->defects[kind];
        const struct trace_defect *from = &rank->defects[kind];
        if (!to->count && from->count) {
            memcpy(to->example, from->example, sizeof to->example);
            memcpy(to->cause, from->cause, sizeof to->cause);
            to->largest_us = from->largest_us;
        } else if (from->count) {
            static const char first[] = "on the first rank, ";
            to->largest_us = fmax(to->largest_us, from->largest_us);
            if (*to->cause && strncmp(to->cause, first, sizeof first - 1) != 0) {
                char cause[sizeof to->cause];
                memcpy(cause, to->cause, sizeof cause);
                snprintf(to->cause, sizeof to->cause, "%s%.*s", first, (int)(sizeof cause - sizeof first), cause);
            }
        }
        bool is_of_file = kind == DEFECT_NO_RANK; /* each rank of the file counts the same events */
        to->count = is_of_file ? MAX(to->count, from->count) : to->count + from->count;
        to->of = is_of_file ? MAX(to->of, from->of) : to->of + from->of;
        to->gpu_us += from->gpu_us;
    }
}

/* A length of time with one decimal: "4.0 ms". */
static struct figure span_text(double us) {
    struct figure text;
    if (us < 1e6)
        snprintf(text.text, sizeof text.text, "%.1f ms", us / 1e3);
    else
        snprintf(text.text, sizeof text.text, "%.1f s", us / 1e6);
    return text;
}

__attribute__((format(printf, 2, 3))) static void append(struct defect_text *text, const char *format, ...) {
    size_t length = strlen(text->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text->text + length, sizeof text->text - length, format, arguments);
    va_end(arguments);
}

/* What one event, or several ones, do. */
static const char *defect_verb(const struct trace_validity *validity, enum trace_defect_kind kind, bool is_one) {
    if (kind == DEFECT_DEVICE_CLOCK && validity->clock_difference_us > 0)
        return is_one ? "starts more than a minute after its launch call"
                      : "start more than a minute after their launch call";
    return is_one ? defect_words[kind].one : defect_words[kind].several;
}

struct defect_text defect_message(const struct trace_validity *validity, enum trace_defect_kind kind,
                                  const char *ranks) {
    const struct trace_defect *defect = &validity->defects[kind];
    struct defect_text text = {""};
    append(&text, "%s%s", ranks, *ranks ? ": " : "");
    if (kind == DEFECT_TRUNCATED) {
        append(&text, "the file is truncated%s%s: ", *defect->example ? " at " : "", defect->example);
        if (validity->n_activities == 0)
            append(&text, "it ends before its first GPU activity");
        else if (defect->of)
            append(&text, "%s of %s complete, and own analyses use only these",
                   count_text(validity->n_complete_steps).text, counted_text(defect->of, "step is", "steps are").text);
        else
            append(&text, "own analyses use only the first %s, up to the last GPU activity",
                   span_text(validity->complete_us).text);
        return text;
    }
    append(&text, "%s of %s %s", count_text(defect->count).text, count_text(defect->of).text, defect_words[kind].noun);
    if (kind == DEFECT_UNKNOWN_LAUNCH && validity->gpu_us > 0)
        append(&text, ", %.1f %% of the GPU time,", 100 * defect->gpu_us / validity->gpu_us);
    append(&text, " %s", defect_verb(validity, kind, defect->count == 1));
    if (kind == DEFECT_RUNS_OVER)
        append(&text, ", by %s in total", time_text(defect->gpu_us).text);
    else if (!isnan(defect->largest_us))
        append(&text, ", by at most %s", time_text(defect->largest_us).text);
    else if (*defect->cause)
        append(&text, ": %s", defect->cause);
    append(&text, " (the first: %s): %s", defect->example, defect_effects[kind]);
    if (kind == DEFECT_NO_TIME && validity->span_us > 0)
        append(&text, "; the other events span %s", span_text(validity->span_us).text);
    return text;
}

struct defect_text defect_row(const struct trace_validity *validity, enum trace_defect_kind kind) {
    const struct trace_defect *defect = &validity->defects[kind];
    struct defect_text text = {""};
    append(&text, "%s that %s%s%s", defect_words[kind].noun, defect_verb(validity, kind, false),
           *defect->cause ? ": " : "", defect->cause);
    return text;
}

struct sutra_trace_defect defect_publish(const struct trace_defect *defect, enum trace_defect_kind kind,
                                         const char *message) {
    struct sutra_trace_defect published = {
        .size = sizeof published,
        .name = defect_names[kind],
        .count = defect->count,
        .of = defect->of,
        .largest_us = defect->largest_us,
        .example = defect->example,
        .cause = defect->cause,
        .effect = defect_effects[kind],
    };
    snprintf(published.message, sizeof published.message, "%s", message);
    return published;
}

enum sutra_status validity_report(struct sutra_context *context, const struct trace_validity *validity,
                                  const char *name, struct sutra_error *error) {
    for (int kind = 0; kind < N_DEFECTS; kind++) {
        if (!validity->defects[kind].count)
            continue;
        const struct defect_text text = defect_message(validity, (enum trace_defect_kind)kind, "");
        if (context->options.strict)
            return name ? error_file(error, SUTRA_STRICT, name, "%s", text.text)
                        : error_set(error, SUTRA_STRICT, "%s", text.text);
        if (name)
            context_warn(context, "%s: %s", name, text.text);
        else
            context_warn(context, "%s", text.text);
    }
    return SUTRA_OK;
}

static bool find_defect(const struct trace_validity *validity, size_t index, struct sutra_trace_defect *defect) {
    for (int kind = 0; kind < N_DEFECTS; kind++) {
        const struct trace_defect *found = &validity->defects[kind];
        if (!found->count || index-- > 0)
            continue;
        const struct defect_text text = defect_message(validity, (enum trace_defect_kind)kind, "");
        const struct sutra_trace_defect given = defect_publish(found, (enum trace_defect_kind)kind, text.text);
        report_give(defect, &given, sizeof given);
        return true;
    }
    return false;
}

bool sutra_host_trace_defect(const struct sutra_host_trace *trace, size_t index, struct sutra_trace_defect *defect) {
    return find_defect(trace->validity, index, defect);
}

bool sutra_device_trace_defect(const struct sutra_device_trace *trace, size_t index,
                               struct sutra_trace_defect *defect) {
    return find_defect(trace->validity, index, defect);
}

/* ---- Reading ---- */

/* Checks a trace that was read, and reports its defects. `dropped`: of a selected rank, else NULL. Frees the trace on
 * failure. */
static enum sutra_status check_read(struct sutra_context *context, struct sutra_device_trace *made,
                                    const struct trace_defect *dropped, struct sutra_device_trace **trace,
                                    struct sutra_error *error) {
    static const enum trace_defect_kind of_rank[] = {
        DEFECT_DEVICE_CLOCK, DEFECT_BEFORE_LAUNCH, DEFECT_DUPLICATE,
        DEFECT_RUNS_OVER}; /* not across ranks, whose correlations repeat */
    bool has_processes = false;
    enum sutra_status status = check_trace(context, made, &has_processes, error);
    if (!status && dropped)
        made->validity->defects[DEFECT_NO_RANK] = *dropped;
    if (!status && has_processes && !dropped)
        status = processes_find(context, made, &made->processes, error);
    const bool has_ranks = processes_are_ranks(made->processes);
    for (size_t i = 0; has_ranks && i < sizeof of_rank / sizeof *of_rank; i++)
        made->validity->defects[of_rank[i]].count = 0;
    if (!status && has_ranks && !context->keeps_processes)
        status = processes_refuse(made->processes, &made->document.source, error);
    if (!status && !has_ranks && !context->holds_defects) /* else of each rank */
        status = validity_report(context, made->validity, context->warns_of ? NULL : made->document.source.name, error);
    if (status)
        sutra_device_trace_free(made);
    else
        *trace = made;
    return status;
}

enum sutra_status validity_read_rank(struct sutra_context *context, const char *name, const struct rank_texts *texts,
                                     size_t i, struct sutra_device_trace **trace, struct sutra_error *error) {
    struct sutra_device_trace *made;
    TRY(rank_text_read(context, name, texts, i, &made, error));
    return check_read(context, made, &texts->dropped, trace, error);
}

static enum sutra_status read_and_check(struct sutra_context *context, const struct source_input *input,
                                        struct sutra_device_trace **trace, struct sutra_error *error) {
    struct sutra_device_trace *made;
    struct rank_texts *texts;
    TRY(device_trace_read(context, input, &made, error));
    const int64_t rank = made->document.source.rank;
    if (rank == SOURCE_ALL_RANKS)
        return check_read(context, made, NULL, trace, error);
    enum sutra_status status = processes_split(context, made, rank, &texts, error);
    if (!status && texts->n == 0) { /* it is the trace of this rank */
        status = check_read(context, made, &texts->dropped, trace, error);
    } else {
        sutra_device_trace_free(made);
        if (!status)
            status = validity_read_rank(context, input->name, texts, 0, trace, error);
    }
    rank_texts_free(texts);
    return status;
}

enum sutra_status sutra_device_trace_read(struct sutra_context *context, const char *path,
                                          struct sutra_device_trace **trace, struct sutra_error *error) {
    return read_and_check(context, &(struct source_input){.name = path, .selects_rank = true}, trace, error);
}

enum sutra_status sutra_device_trace_parse(struct sutra_context *context, const char *name, const void *bytes,
                                           size_t size, struct sutra_device_trace **trace, struct sutra_error *error) {
    return read_and_check(
        context, &(struct source_input){.name = name, .in_memory = true, .bytes = bytes, .size = size}, trace, error);
}
