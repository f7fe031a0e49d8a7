/*
 * validity.c - implements validity.h, and reads device traces for all callers, so that each of them is checked.
 *
 *     events --list--> GPU activities, calls --times, launches--> usable activities --by stream and start--> overlaps,
 *                                                                                                            duplicates
 *
 * Activities of a stream mostly ascend by start in the file; otherwise they are sorted. Launches are found through an
 * index of the calls' correlations. Cost: O(n), a sort if necessary, and the text of events that are reported.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "facts/launches.h"
#include "facts/names.h"
#include "facts/times.h"
#include "facts/validity.h"
#include "match/key_index.h"
#include "text/names.h"
#include "text/quantities.h"

#define SOUND_US_MAX_BITS 0x432550f7dca70000 /* the double SOUND_US_MAX (times.h) */
#define EARLY_US          1.0                /* starts that precede their launch by less are rounding */
#define EARLY_MAX_US      1000.0             /* from here on an early activity is unusable, */
#define CLOCK_SHARE       0.9                /* unless so many are early */
#define OVERLAP_US        10.0               /* programmatic dependent launch: up to this, */
#define OVERLAP_SHARE     0.2                /* or up to this share of the shorter activity */
#define DAMAGED_SHARE     0.05
#define EXAMPLE_COLUMNS   40

const char *const defect_names[N_DEFECTS] = {
#define DEFECT_NAME(id, name, noun, one, several, effect) name,
    TRACE_DEFECTS(DEFECT_NAME)
#undef DEFECT_NAME
};

const char *const defect_effects[N_DEFECTS] = {
#define DEFECT_EFFECT(id, name, noun, one, several, effect) effect,
    TRACE_DEFECTS(DEFECT_EFFECT)
#undef DEFECT_EFFECT
};

/* ---- The check ---- */

enum event_side { SIDE_NEITHER, SIDE_GPU, SIDE_CALL, SIDE_OPERATOR, SIDE_OTHER_CPU, N_SIDES };

struct check {
    struct sutra_context *context;
    struct sutra_device_trace *trace;
    struct device_events *events;
    struct trace_validity *validity;
    struct arena arena;
    struct string_roles *roles;
    uint8_t *side_of; /* by string of a category: enum event_side */
    row_t n_gpu, n_calls;
    row_t *gpu, *call;
    double *start, *end; /* microseconds, by activity of `gpu`; steps of a quarter suffice */
};

/* Counts an event; the first one becomes the example. */
static void note_defect(struct check *check, enum trace_defect_kind kind, row_t event, double us, double gpu_us) {
    struct trace_defect *defect = &check->validity->defects[kind];
    if (defect->count++ == 0) {
        const struct strings *strings = &check->trace->strings;
        const char *name = strings_text(strings, check->events->name[event]);
        defect->largest_us = us;
        snprintf(defect->example, sizeof defect->example, "'%.160s', event %u", short_name(name, EXAMPLE_COLUMNS).text,
                 event);
    }
    defect->largest_us = fmax(defect->largest_us, us);
    defect->gpu_us += gpu_us;
}

static inline uint8_t side_of_event(const struct check *check, row_t event) {
    uint32_t category = check->events->category[event];
    return category == STRING_NONE ? SIDE_NEITHER : check->side_of[category];
}

/* Whether an event has a duration and a start after 0: sound positive numbers, which have ascending bits. */
static inline bool is_surely_timed(const struct device_events *events, row_t event) {
    static const uint64_t most[] = {
        [NUMBER_INTEGER] = (uint64_t)SOUND_US_MAX, [NUMBER_DOUBLE] = SOUND_US_MAX_BITS, [NUMBER_BOOLEAN] = 1};
    const uint16_t both = EVENT_HAS_TS | EVENT_HAS_DUR;
    return (events->flags[event] & both) == both && events->ts.bits[event] - 1 < most[events->ts.kind[event]] &&
           events->dur.bits[event] <= most[events->dur.kind[event]];
}

/* Lists GPU activities and calls, and marks events without a time. */
static enum sutra_status check_times(struct check *check, struct sutra_error *error) {
    const struct device_events *events = check->events;
    uint32_t n_strings = check->trace->strings.n;
    check->roles = names_find(&check->trace->strings, READER_TREE, &check->arena);
    check->side_of = arena_zeros(&check->arena, n_strings, sizeof *check->side_of);
    check->gpu = arena_alloc(&check->arena, events->n, sizeof *check->gpu);
    check->call = arena_alloc(&check->arena, events->n, sizeof *check->call);
    if (check->arena.failed)
        return error_memory(error);
    for (uint32_t string = 0; string < n_strings; string++) {
        uint32_t roles = check->roles[string].category;
        check->side_of[string] = (uint8_t)(roles & CATEGORY_WORK                             ? SIDE_GPU
                                           : roles & CATEGORY_CALL                           ? SIDE_CALL
                                           : roles & CATEGORY_CPU_OP                         ? SIDE_OPERATOR
                                           : roles & (CATEGORY_ANNOTATION | CATEGORY_PYTHON) ? SIDE_OTHER_CPU
                                                                                             : SIDE_NEITHER);
    }
    row_t n_of[N_SIDES] = {0}, n_calls = 0;
    row_t n_unstarted = 0; /* operators that start at 0 or before */
    row_t *gpu = check->gpu, *call = check->call;
    bool all_timed = true;
    const struct device_events columns = *events; /* a copy, so that the loop does not load its pointers again */
    for (row_t event = 0; event < columns.n; event++) {
        uint32_t category = columns.category[event];
        if (category == STRING_NONE || check->side_of[category] == SIDE_NEITHER)
            continue;
        uint8_t side = check->side_of[category];
        if (!is_surely_timed(&columns, event)) {
            all_timed = false;
            n_unstarted += side == SIDE_OPERATOR && !(number_as_double(number_at(columns.ts, event)) > 0);
        }
        if (side == SIDE_GPU)
            gpu[n_of[SIDE_GPU]] = event;
        else if (side == SIDE_CALL)
            call[n_calls++] = event;
        n_of[side]++;
    }
    check->n_gpu = n_of[SIDE_GPU];
    check->n_calls = n_calls;
    /* If the median operator starts at 0 or before, so may all events. */
    bool zero_is_plausible = n_unstarted * 2 >= n_of[SIDE_OPERATOR];
    struct trace_defect *defects = check->validity->defects;
    for (row_t event = 0; event < events->n && !all_timed; event++) {
        uint8_t side = side_of_event(check, event);
        bool is_timed = is_surely_timed(events, event) || (zero_is_plausible && events->flags[event] & EVENT_HAS_DUR &&
                                                           exact_time_is_known(events, event));
        if (side == SIDE_NEITHER || is_timed)
            continue;
        check->events->flags[event] |= EVENT_UNUSABLE;
        double us = number_as_double(number_at(events->dur, event));
        note_defect(check, side == SIDE_GPU ? DEFECT_NO_TIME : DEFECT_HOST_NO_TIME, event, NAN,
                    side == SIDE_GPU && us > 0 && us_are_sound(us) ? us : 0);
    }
    defects[DEFECT_NO_TIME].of = check->n_gpu;
    defects[DEFECT_HOST_NO_TIME].of = n_of[SIDE_CALL] + n_of[SIDE_OPERATOR] + n_of[SIDE_OTHER_CPU];
    return SUTRA_OK;
}

static inline bool is_usable(const struct check *check, row_t event) {
    return !(check->events->flags[event] & EVENT_UNUSABLE);
}

/* Fills the columns of times, and compares activities with their launch calls. */
static enum sutra_status check_launches(struct check *check, struct sutra_error *error) {
    const struct device_events *events = check->events;
    struct trace_validity *validity = check->validity;
    struct arena *arena = &check->arena;
    row_t n_gpu = check->n_gpu;
    value_key *ids = arena_alloc(arena, check->n_calls, sizeof *ids);
    double *call_start = arena_alloc(arena, check->n_calls, sizeof *call_start); /* the first start of each id */
    double *after_launch = arena_alloc(arena, n_gpu, sizeof *after_launch);
    check->start = arena_alloc(arena, n_gpu, sizeof *check->start);
    check->end = arena_alloc(arena, n_gpu, sizeof *check->end);
    if (arena->failed)
        return error_memory(error);
    row_t n_calls = 0;
    for (row_t i = 0; i < check->n_calls; i++) {
        row_t call = check->call[i];
        ids[n_calls] = events->correlation[call];
        call_start[n_calls] = number_as_double(number_at(events->ts, call));
        n_calls += is_usable(check, call) && is_correlation(ids[n_calls]);
    }
    struct key_index index;
    row_t repeated;
    enum sutra_status status =
        key_index_build(&index, &check->context->choice.cpu, ids, n_calls, KEY_FIRST, &repeated, error);
    if (status)
        return status;
    for (row_t i = repeated; i < n_calls; i++) {
        row_t first = key_index_find(&index, ids[i]);
        call_start[first] = fmin(call_start[first], call_start[i]);
    }
    row_t n_launched = 0, n_early = 0;
    double earliest = 0;
    for (row_t i = 0; i < n_gpu; i++) {
        row_t event = check->gpu[i];
        after_launch[i] = 0;
        if (!is_usable(check, event))
            continue;
        double dur = number_as_double(number_at(events->dur, event));
        check->start[i] = number_as_double(number_at(events->ts, event));
        check->end[i] = check->start[i] + dur;
        validity->gpu_us += dur;
        row_t call =
            is_correlation(events->correlation[event]) ? key_index_find(&index, events->correlation[event]) : ROW_NONE;
        if (call == ROW_NONE)
            continue;
        after_launch[i] = check->start[i] - call_start[call];
        n_launched++;
        n_early += after_launch[i] < -EARLY_US;
        earliest = after_launch[i] < earliest ? after_launch[i] : earliest;
    }
    key_index_free(&index);
    bool clocks_differ = n_early > 0 && n_early >= CLOCK_SHARE * n_launched;
    enum trace_defect_kind kind = clocks_differ ? DEFECT_DEVICE_CLOCK : DEFECT_BEFORE_LAUNCH;
    for (row_t i = 0; i < n_gpu && n_early; i++) {
        if (after_launch[i] >= -EARLY_US)
            continue;
        bool is_unusable = !clocks_differ && after_launch[i] < -EARLY_MAX_US;
        double us = number_as_double(number_at(events->dur, check->gpu[i]));
        note_defect(check, kind, check->gpu[i], -after_launch[i], is_unusable || clocks_differ ? us : 0);
        if (is_unusable)
            check->events->flags[check->gpu[i]] |= EVENT_UNUSABLE;
    }
    if (clocks_differ)
        validity->clock_difference_us = earliest;
    validity->defects[kind].of = n_gpu;
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
struct lane {
    double start;   /* of the last activity, */
    row_t previous; /* its index in `gpu` */
    row_t last;     /* the last activity that is no node of a graph, as an index of `gpu`; ROW_NONE */
    bool is_queue;  /* runs activities one after another */
};

struct lanes {
    struct tuples keys; /* pid, stream, device */
    struct lane *list;
    uint32_t *of; /* by activity */
    row_t *order; /* usable activities, ascending by start in each lane */
    row_t n;      /* of them */
};

/* Numbers the streams and orders their activities: a sort, unless all ascend in the file. */
static enum sutra_status number_lanes(struct check *check, struct lanes *lanes, struct sutra_error *error) {
    const struct device_events *events = check->events;
    struct arena *arena = &check->arena;
    lanes->of = arena_alloc(arena, check->n_gpu, sizeof *lanes->of);
    lanes->order = arena_alloc(arena, check->n_gpu, sizeof *lanes->order);
    lanes->list = arena_alloc(arena, check->n_gpu, sizeof *lanes->list);
    if (arena->failed)
        return error_memory(error);
    bool ascending = true;
    struct tuple key = {{0}};
    uint32_t lane = TUPLE_NONE;
    for (row_t i = 0; i < check->n_gpu; i++) {
        row_t event = check->gpu[i];
        if (!is_usable(check, event))
            continue;
        value_key pid = events->pid[event], stream = events->stream[event], device = events->device[event];
        if (lane == TUPLE_NONE || key.part[0] != pid || key.part[1] != stream || key.part[2] != device) {
            const uint32_t n = lanes->keys.n;
            key = (struct tuple){{pid, stream, device}};
            lane = tuples_number(&lanes->keys, key);
            if (lane == TUPLE_NONE)
                return error_memory(error);
            if (lane == n) {
                uint32_t roles = check->roles[events->category[event]].category;
                lanes->list[lane] = (struct lane){
                    .start = -INFINITY,
                    .last = ROW_NONE,
                    .is_queue = key_is_integer(stream) && stream >= 0 &&
                                !(roles & (CATEGORY_NPU | CATEGORY_MTIA | CATEGORY_COMMUNICATION)),
                };
            }
        }
        lanes->of[i] = lane;
        lanes->order[lanes->n++] = i;
        ascending = ascending && lanes->list[lane].start <= check->start[i];
        lanes->list[lane].start = check->start[i];
    }
    for (uint32_t l = 0; l < lanes->keys.n; l++)
        lanes->list[l].start = -INFINITY;
    if (ascending)
        return SUTRA_OK;
    uint64_t *keys = arena_alloc(arena, lanes->n, sizeof *keys);
    if (arena->failed)
        return error_memory(error);
    for (row_t k = 0; k < lanes->n; k++)
        keys[k] = double_sort_key(check->start[lanes->order[k]]);
    return cpu_sort_keys(NULL, &(struct sort_keys_step){keys, lanes->order, lanes->n}, error);
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

/* Whether an activity equals an earlier one with its start. `seen` has the activities whose start occurs again. */
static enum sutra_status find_duplicate(const struct check *check, const struct lanes *lanes, struct tuples *seen,
                                        row_t previous, row_t i, bool *is_duplicate, struct sutra_error *error) {
    const struct device_events *events = check->events;
    const row_t both[] = {previous, i};
    for (int k = 0; k < 2; k++) {
        row_t event = check->gpu[both[k]];
        uint32_t n = seen->n;
        struct tuple key = {{(value_key)((uint64_t)events->name[event] << 32 | lanes->of[both[k]]),
                             (value_key)events->ts.bits[event], (value_key)events->dur.bits[event],
                             events->correlation[event]}};
        uint32_t number = tuples_number(seen, key);
        if (number == TUPLE_NONE)
            return error_memory(error);
        *is_duplicate = number < n;
    }
    return SUTRA_OK;
}

/* Finds duplicates, and activities that run over the next one of their stream. */
static enum sutra_status check_streams(struct check *check, struct lanes *lanes, struct tuples *seen,
                                       struct sutra_error *error) {
    struct exact_times times = {0};
    bool has_times = false, is_duplicate;
    enum sutra_status status = number_lanes(check, lanes, error);
    for (row_t k = 0; k < lanes->n && !status; k++) {
        row_t i = lanes->order[k], event = check->gpu[i];
        struct lane *lane = &lanes->list[lanes->of[i]];
        if (check->start[i] == lane->start) {
            status = find_duplicate(check, lanes, seen, lane->previous, i, &is_duplicate, error);
            if (!status && is_duplicate) {
                note_defect(check, DEFECT_DUPLICATE, event, NAN,
                            number_as_double(number_at(check->events->dur, event)));
                check->events->flags[event] |= EVENT_UNUSABLE;
            }
            if (status || is_duplicate)
                continue;
        }
        lane->start = check->start[i];
        lane->previous = i;
        if (!lane->is_queue)
            continue;
        row_t last = lane->last;
        lane->last = i;
        double excess = last == ROW_NONE ? 0 : check->end[last] - check->start[i];
        if (excess <= OVERLAP_US)
            continue;
        double shorter = fmin(check->end[last] - check->start[last], check->end[i] - check->start[i]);
        if (excess <= OVERLAP_SHARE * shorter || is_graph_node(check, check->gpu[last]))
            continue;
        if (is_graph_node(check, event)) {
            lane->last = last;
            continue;
        }
        note_defect(check, DEFECT_RUNS_OVER, check->gpu[last], excess, excess);
        if (!has_times)
            status = exact_times_find(check->context, check->trace, check->roles, &check->arena, &times, error);
        has_times = true;
        if (!status)
            status = correct_end(check, last, i, &times, error);
    }
    check->validity->defects[DEFECT_DUPLICATE].of = check->validity->defects[DEFECT_RUNS_OVER].of = check->n_gpu;
    return status;
}

static enum sutra_status check_trace(struct sutra_context *context, struct sutra_device_trace *trace,
                                     struct sutra_error *error) {
    struct check check = {.context = context, .trace = trace, .events = &trace->events};
    struct lanes lanes = {0};
    struct tuples seen = {0};
    check.validity = trace->validity = calloc(1, sizeof *trace->validity);
    if (!check.validity)
        return error_memory(error);
    enum sutra_status status = check_times(&check, error);
    check.validity->n_activities = check.n_gpu;
    if (!status && check.n_gpu)
        status = check_launches(&check, error);
    if (!status && check.n_gpu)
        status = check_streams(&check, &lanes, &seen, error);
    tuples_free(&lanes.keys);
    tuples_free(&seen);
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

bool validity_is_damaged(const struct trace_validity *validity) {
    uint64_t n = 0;
    double us = 0;
    for (int kind = 0; kind < N_DEFECTS; kind++) {
        if (kind == DEFECT_HOST_NO_TIME || strcmp(defect_words[kind].noun, "nodes") == 0)
            continue;
        n += validity->defects[kind].count;
        us += validity->defects[kind].gpu_us;
    }
    return (double)n > DAMAGED_SHARE * (double)validity->n_activities || us > DAMAGED_SHARE * validity->gpu_us;
}

void validity_add(struct trace_validity *sum, const struct trace_validity *rank) {
    sum->n_activities += rank->n_activities;
    sum->gpu_us += rank->gpu_us;
    sum->clock_difference_us = fmin(sum->clock_difference_us, rank->clock_difference_us);
    sum->lacks_thread |= rank->lacks_thread;
    for (int kind = 0; kind < N_DEFECTS; kind++) {
        struct trace_defect *to = &sum->defects[kind];
        const struct trace_defect *from = &rank->defects[kind];
        if (!to->count && from->count) {
            memcpy(to->example, from->example, sizeof to->example);
            memcpy(to->cause, from->cause, sizeof to->cause);
            to->largest_us = from->largest_us;
        } else if (from->count) {
            to->largest_us = fmax(to->largest_us, from->largest_us);
        }
        to->count += from->count;
        to->of += from->of;
        to->gpu_us += from->gpu_us;
    }
}

struct defect_text defect_message(const struct trace_validity *validity, enum trace_defect_kind kind,
                                  const char *ranks) {
    const struct trace_defect *defect = &validity->defects[kind];
    struct defect_text text;
    char amount[160] = "";
    if (kind == DEFECT_RUNS_OVER)
        snprintf(amount, sizeof amount, ", by %s in total", time_text(defect->gpu_us).text);
    else if (!isnan(defect->largest_us))
        snprintf(amount, sizeof amount, ", by at most %s", time_text(defect->largest_us).text);
    else if (*defect->cause)
        snprintf(amount, sizeof amount, ": %s", defect->cause);
    if (snprintf(text.text, sizeof text.text, "%s%s%s of %s %s %s%s (the first: %s): %s", ranks, *ranks ? ": " : "",
                 count_text(defect->count).text, count_text(defect->of).text, defect_words[kind].noun,
                 defect->count == 1 ? defect_words[kind].one : defect_words[kind].several, amount, defect->example,
                 defect_effects[kind]) < 0)
        *text.text = 0;
    return text;
}

struct defect_text defect_row(const struct trace_validity *validity, enum trace_defect_kind kind) {
    const struct trace_defect *defect = &validity->defects[kind];
    struct defect_text text;
    snprintf(text.text, sizeof text.text, "%s that %s%s%.95s", defect_words[kind].noun, defect_words[kind].several,
             *defect->cause ? ": " : "", defect->cause);
    return text;
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

static bool give_defect(const struct trace_validity *validity, size_t index, struct sutra_trace_defect *defect) {
    for (int kind = 0; kind < N_DEFECTS; kind++) {
        const struct trace_defect *found = &validity->defects[kind];
        if (!found->count || index-- > 0)
            continue;
        struct sutra_trace_defect given = {.name = defect_names[kind],
                                           .count = found->count,
                                           .of = found->of,
                                           .largest_us = found->largest_us,
                                           .example = found->example,
                                           .cause = found->cause,
                                           .effect = defect_effects[kind]};
        const struct defect_text text = defect_message(validity, (enum trace_defect_kind)kind, "");
        _Static_assert(sizeof given.message == sizeof text.text, "the text fits");
        memcpy(given.message, text.text, sizeof given.message);
        report_give(defect, &given, sizeof given);
        return true;
    }
    return false;
}

bool sutra_host_trace_defect(const struct sutra_host_trace *trace, size_t index, struct sutra_trace_defect *defect) {
    return give_defect(trace->validity, index, defect);
}

bool sutra_device_trace_defect(const struct sutra_device_trace *trace, size_t index,
                               struct sutra_trace_defect *defect) {
    return give_defect(trace->validity, index, defect);
}

/* ---- Reading ---- */

static enum sutra_status read_and_check(struct sutra_context *context, const struct source_input *input,
                                        struct sutra_device_trace **trace, struct sutra_error *error) {
    struct sutra_device_trace *made;
    enum sutra_status status = device_trace_read(context, input, &made, error);
    if (status)
        return status;
    status = check_trace(context, made, error);
    if (!status && !context->holds_defects)
        status = validity_report(context, made->validity, context->warns_of ? NULL : made->document.source.name, error);
    if (status)
        sutra_device_trace_free(made);
    else
        *trace = made;
    return status;
}

enum sutra_status sutra_device_trace_read(struct sutra_context *context, const char *path,
                                          struct sutra_device_trace **trace, struct sutra_error *error) {
    return read_and_check(context, &(struct source_input){.name = path}, trace, error);
}

enum sutra_status sutra_device_trace_parse(struct sutra_context *context, const char *name, const void *bytes,
                                           size_t size, struct sutra_device_trace **trace, struct sutra_error *error) {
    return read_and_check(context, &(struct source_input){name, true, bytes, size}, trace, error);
}
