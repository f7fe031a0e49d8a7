/*
 * kineto.c - the devices of a Kineto trace that was recorded with profile_memory=True.
 *
 * Input: instants "[memory]" (Bytes, below 0 for frees; Addr; totals of the allocator) and "[OutOfMemory]"; ranges of
 * CPU operators, Python functions and annotations. A memory event belongs to the ranges of its thread that enclose it:
 *
 *     thread    |-- Optimizer.step#Adam.step --------------|
 *                  |-- aten::zeros_like --|
 *     memory             ^ Bytes: 4096        operator aten::zeros_like, optimizer state
 *
 * Ranges of a thread are swept once with a stack. Each range on the stack knows what encloses it, so that an event
 * reads the top only. Cost: O(events), and sorting ranges.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory/memory.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "facts/profiler_steps.h"
#include "facts/times.h"
#include "read/device_trace.h"
#include "read/file_kind.h"

#define BYTES_MAX ((int64_t)1 << 60)

enum name_flag {
    NAME_KNOWN = 1,
    NAME_USER = 2,   /* "model.py(12): forward" outside of torch and the standard library */
    NAME_MODULE = 4, /* "nn.Module: Linear_0" */
    NAME_BACKWARD = 8,
    NAME_OPTIMIZER = 16,
    NAME_HAS_COLONS = 32,
};

enum range_kind { RANGE_OPERATOR, RANGE_ANNOTATION, RANGE_PYTHON, RANGE_NONE };

/* What encloses an event, as rows of the ranges; ROW_NONE: nothing of this kind. */
struct enclosing {
    row_t outermost_operator, innermost_operator, user, module, optimizer;
    bool is_backward;
};

struct kineto_ranges {
    row_t *event;
    int64_t *start_ns, *end_ns;
    uint8_t *kind;
    row_t n;
};

struct kineto {
    struct sutra_context *context;
    struct sutra_memory *memory;
    struct sutra_device_trace *trace;
    struct arena *arena;
    struct exact_times times;
    uint8_t *name_flags; /* by string of the trace */
    uint32_t *copied;    /* result's name of a string, plus 1 */
    struct kineto_ranges ranges;
    struct requested_column bytes, address, device_type, device_id, allocated, reserved;
    row_t *memory_events, *oom_events;
    row_t n_memory, n_ooms;
    struct enclosing *enclosing;             /* by position in memory_events */
    int64_t *backward, *optimizer, *modules; /* starts, ascending */
    struct profiler_steps steps;             /* rows of ranges */
    row_t n_backward, n_optimizer, n_modules;
    int64_t *optimizer_ends; /* of the starts */
    uint32_t n_skipped;
    uint32_t empty, no_frames, before, categories[8];
};

enum category {
    CATEGORY_BEFORE,
    CATEGORY_TEMPORARY,
    CATEGORY_OPTIMIZER,
    CATEGORY_GRADIENT,
    CATEGORY_AUTOGRAD,
    CATEGORY_INPUT,
    CATEGORY_ACTIVATION,
    CATEGORY_OTHER,
};
static const char *const category_names[] = {"preexisting",     "temporary", "optimizer_state", "gradient",
                                             "autograd_detail", "input",     "activation",      "other"};

/* ---- Names ---- */

static bool starts_with(const char *text, const char *part) {
    return strncmp(text, part, strlen(part)) == 0;
}

static uint8_t classify(struct kineto *k, uint32_t string) {
    if (k->name_flags[string])
        return k->name_flags[string];
    const char *text = strings_text(&k->trace->strings, string);
    unsigned flags = NAME_KNOWN;

    /* "PATH.py(LINE): FUNCTION" */
    size_t path = strcspn(text, "("), n_digits = text[path] ? strspn(text + path + 1, "0123456789") : 0;
    bool is_function = path >= 3 && memcmp(text + path - 3, ".py", 3) == 0 && n_digits &&
                       starts_with(text + path + 1 + n_digits, "): ");
    if (is_function && !starts_with(text, "<built-in") && !memory_is_library_path(text, strlen(text)))
        flags |= NAME_USER;
    flags |= starts_with(text, "nn.Module: ") ? NAME_MODULE : 0;
    flags |= starts_with(text, "autograd::engine::evaluate_function") ? NAME_BACKWARD : 0;
    flags |= starts_with(text, "Optimizer.step#") ? NAME_OPTIMIZER : 0;
    flags |= strstr(text, "::") ? NAME_HAS_COLONS : 0;
    return k->name_flags[string] = (uint8_t)flags;
}

static uint32_t copy_name(struct kineto *k, row_t range) {
    return memory_copy_name(k->memory, &k->trace->strings, k->trace->events.name[k->ranges.event[range]], k->copied);
}

/* ---- Events and ranges ---- */

/* Finds memory events, out-of-memory events and ranges. */
static enum sutra_status list_events(struct kineto *k, struct sutra_error *error) {
    const struct device_events *events = &k->trace->events;
    struct strings *strings = &k->trace->strings;
    const uint32_t operator_category = strings_find(strings, "cpu_op", 6),
                   annotation_category = strings_find(strings, "user_annotation", 15),
                   python_category = strings_find(strings, "python_function", 15),
                   memory_name_id = strings_find(strings, "[memory]", 8),
                   oom_name = strings_find(strings, "[OutOfMemory]", 13);
    struct kineto_ranges *ranges = &k->ranges;
    k->memory_events = arena_alloc(k->arena, events->n, sizeof(row_t));
    k->oom_events = arena_alloc(k->arena, events->n, sizeof(row_t));
    ranges->event = arena_alloc(k->arena, events->n, sizeof(row_t));
    ranges->start_ns = arena_alloc(k->arena, events->n, sizeof(int64_t));
    ranges->end_ns = arena_alloc(k->arena, events->n, sizeof(int64_t));
    ranges->kind = arena_alloc(k->arena, events->n, 1);
    TRY(arena_status(k->arena, error));
    for (row_t i = 0; i < events->n; i++) {
        uint32_t category = events->category[i];
        if (events->phase[i] == 'i') {
            if (events->name[i] != memory_name_id && events->name[i] != oom_name)
                continue;
            if (!(events->flags[i] & EVENT_HAS_TS) || !us_are_sound(number_as_double(number_at(events->ts, i))))
                k->n_skipped++;
            else if (events->name[i] == memory_name_id)
                k->memory_events[k->n_memory++] = i;
            else
                k->oom_events[k->n_ooms++] = i;
            continue;
        }
        if (events->phase[i] != 'X' || category == STRING_NONE ||
            (category != operator_category && category != annotation_category && category != python_category) ||
            (events->flags[i] & (EVENT_HAS_TS | EVENT_HAS_DUR)) != (EVENT_HAS_TS | EVENT_HAS_DUR))
            continue;
        struct number dur = number_at(events->dur, i);
        if (!us_are_sound(number_as_double(number_at(events->ts, i))) || !us_are_sound(number_as_double(dur)))
            continue;
        row_t row = ranges->n++;
        int64_t dur_ns = ns_of_us(dur);
        ranges->event[row] = i;
        ranges->kind[row] = category == operator_category     ? RANGE_OPERATOR
                            : category == annotation_category ? RANGE_ANNOTATION
                                                              : RANGE_PYTHON;
        ranges->start_ns[row] = exact_start_ns(k->trace, &k->times, i);
        ranges->end_ns[row] = ranges->start_ns[row] + MAX(dur_ns, 0);
    }
    return SUTRA_OK;
}

/* Reads the arguments of the memory events; drops those without Bytes and Addr. */
static enum sutra_status read_arguments(struct kineto *k, struct sutra_error *error) {
    static const struct requested_field fields[] = {
        {"Bytes", ASK_KEY, false},           {"Addr", ASK_KEY, false},
        {"Device Type", ASK_KEY, false},     {"Device Id", ASK_KEY, false},
        {"Total Allocated", ASK_KEY, false}, {"Total Reserved", ASK_KEY, false}};
    struct requested_column columns[6];
    row_t n = k->n_memory + k->n_ooms, *events = arena_alloc(k->arena, n, sizeof *events);
    TRY(arena_status(k->arena, error));
    memcpy(events, k->memory_events, k->n_memory * sizeof *events);
    memcpy(events + k->n_memory, k->oom_events, k->n_ooms * sizeof *events);
    TRY(event_columns_request(k->context, k->trace, fields, 6, events, n, columns, error));
    k->bytes = columns[0];
    k->address = columns[1];
    k->device_type = columns[2];
    k->device_id = columns[3];
    k->allocated = columns[4];
    k->reserved = columns[5];
    row_t *lists[] = {k->memory_events, k->oom_events}, *counts[] = {&k->n_memory, &k->n_ooms};
    int64_t total = 0;
    for (size_t list = 0; list < 2; list++) {
        row_t kept = 0;
        for (row_t i = 0; i < *counts[list]; i++) {
            row_t event = lists[list][i];
            value_key bytes = k->bytes.key[event], type = k->device_type.key[event], id = k->device_id.key[event];
            bool is_valid = key_is_integer(bytes) && k->address.key[event] != KEY_NULL &&
                            k->address.key[event] != KEY_UNHASHABLE && (type == KEY_ABSENT || key_is_integer(type)) &&
                            (id == KEY_ABSENT || key_is_integer(id));
            if (!is_valid || bytes > BYTES_MAX || bytes < -BYTES_MAX) {
                k->n_skipped++;
                continue;
            }
            if (__builtin_add_overflow(total, bytes < 0 ? -bytes : bytes, &total) || total > BYTES_MAX)
                return event_error(k->trace, event, "Bytes", "at most 2^60 bytes in all events", error);
            lists[list][kept++] = event;
        }
        *counts[list] = kept;
    }
    return SUTRA_OK;
}

static int64_t integer_of(value_key key, int64_t absent) {
    return key_is_integer(key) ? key : absent;
}

/* Sorts rows by thread, start, descending end. `order` has the rows in file order. */
static enum sutra_status sort_by(struct kineto *k, row_t *order, row_t n, uint64_t *keys, const int64_t *by,
                                 bool descends, struct sutra_error *error) {
    struct engine *engine = &k->context->engine;
    for (row_t i = 0; i < n; i++)
        keys[i] = descends ? ~integer_sort_key(by[order[i]]) : integer_sort_key(by[order[i]]);
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, n}, error);
}

/* Numbers of the threads of ranges and of memory events, by pid and tid. */
static int64_t memory_thread_number(struct pair_table *pids, struct pair_table *threads, value_key pid, value_key tid,
                                    uint32_t *n) {
    struct pair_entry *entry = pair_table_insert(pids, (uint64_t)pid, 0);
    if (!entry)
        return -1;
    if (entry->number == PAIR_NONE)
        entry->number = (*n)++;
    entry = pair_table_insert(threads, (uint64_t)tid, entry->number);
    if (!entry)
        return -1;
    if (entry->number == PAIR_NONE)
        entry->number = (*n)++;
    return entry->number;
}

/* What encloses events in a range: what encloses the range, and the range itself. */
static struct enclosing enter_range(struct kineto *k, struct enclosing outer, row_t range) {
    uint8_t flags = classify(k, k->trace->events.name[k->ranges.event[range]]);
    switch (k->ranges.kind[range]) {
    case RANGE_OPERATOR:
        if (outer.outermost_operator == ROW_NONE && flags & NAME_HAS_COLONS)
            outer.outermost_operator = range;
        outer.innermost_operator = range;
        outer.is_backward |= (flags & NAME_BACKWARD) != 0;
        break;
    case RANGE_ANNOTATION:
        if (outer.optimizer == ROW_NONE && flags & NAME_OPTIMIZER)
            outer.optimizer = range;
        break;
    default:
        outer.user = flags & NAME_USER ? range : outer.user;
        outer.module = flags & NAME_MODULE ? range : outer.module;
    }
    return outer;
}

/* What encloses each memory event. */
static enum sutra_status sweep_threads(struct kineto *k, struct sutra_error *error) {
    const struct device_events *events = &k->trace->events;
    const struct kineto_ranges *ranges = &k->ranges;
    row_t n = ranges->n, n_memory = k->n_memory;
    int64_t *threads = arena_alloc(k->arena, n, sizeof *threads),
            *memory_threads = arena_alloc(k->arena, n_memory, sizeof *threads);
    int64_t *memory_ns = arena_alloc(k->arena, n_memory, sizeof *memory_ns);
    row_t *order = arena_alloc(k->arena, n, sizeof *order),
          *memory_order = arena_alloc(k->arena, n_memory, sizeof *order);
    uint64_t *keys = arena_alloc(k->arena, MAX(n, n_memory), sizeof *keys);
    struct enclosing *stack = arena_alloc(k->arena, n, sizeof *stack);
    int64_t *stack_end_ns = arena_alloc(k->arena, n, sizeof *stack_end_ns);
    k->enclosing = arena_alloc(k->arena, n_memory, sizeof *k->enclosing);
    struct pair_table pids = {0}, tids = {0};
    uint32_t n_threads = 0;
    bool ok = threads && memory_threads && memory_ns && order && memory_order && keys && stack && stack_end_ns &&
              k->enclosing && pair_table_init(&pids) && pair_table_init(&tids);
    for (row_t i = 0; ok && i < n; i++) {
        order[i] = i;
        threads[i] = memory_thread_number(&pids, &tids, events->pid[ranges->event[i]], events->tid[ranges->event[i]],
                                          &n_threads);
        ok = threads[i] >= 0;
    }
    for (row_t i = 0; ok && i < n_memory; i++) {
        row_t event = k->memory_events[i];
        memory_order[i] = i;
        memory_ns[i] = exact_start_ns(k->trace, &k->times, event);
        memory_threads[i] = memory_thread_number(&pids, &tids, events->pid[event], events->tid[event], &n_threads);
        ok = memory_threads[i] >= 0;
    }
    pair_table_free(&pids);
    pair_table_free(&tids);
    TRY_ALLOC(ok, error);
    TRY(sort_by(k, order, n, keys, ranges->end_ns, true, error));
    TRY(sort_by(k, order, n, keys, ranges->start_ns, false, error));
    TRY(sort_by(k, order, n, keys, threads, false, error));
    TRY(sort_by(k, memory_order, n_memory, keys, memory_ns, false, error));
    TRY(sort_by(k, memory_order, n_memory, keys, memory_threads, false, error));

    static const struct enclosing nothing = {ROW_NONE, ROW_NONE, ROW_NONE, ROW_NONE, ROW_NONE, false};
    row_t next = 0, depth = 0;
    int64_t thread = -1;
    for (row_t i = 0; i < n_memory; i++) {
        row_t position = memory_order[i];
        if (memory_threads[position] != thread) {
            thread = memory_threads[position];
            depth = 0;
            while (next < n && threads[order[next]] < thread)
                next++;
        }
        for (; next < n && threads[order[next]] == thread && ranges->start_ns[order[next]] <= memory_ns[position];
             next++) {
            row_t range = order[next];
            while (depth && stack_end_ns[depth - 1] <= ranges->start_ns[range])
                depth--;
            stack[depth] = enter_range(k, depth ? stack[depth - 1] : nothing, range);
            stack_end_ns[depth++] = ranges->end_ns[range];
        }
        while (depth && stack_end_ns[depth - 1] < memory_ns[position])
            depth--;
        k->enclosing[position] = depth ? stack[depth - 1] : nothing;
    }
    return SUTRA_OK;
}

struct optimizer_step {
    int64_t start, end;
};

ORDER_BY(compare_steps, struct optimizer_step, ASCENDING(start) ASCENDING(end))

/* Starts of backward functions, modules and optimizer steps, and the profiler's steps. */
static enum sutra_status list_phases(struct kineto *k, struct sutra_error *error) {
    row_t n = k->ranges.n;
    const struct step_rows rows = {.strings = &k->trace->strings,
                                   .events = &k->trace->events,
                                   .event = k->ranges.event,
                                   .start = k->ranges.start_ns,
                                   .end = k->ranges.end_ns,
                                   .kind = k->ranges.kind,
                                   .n = n,
                                   .kinds = 1u << RANGE_ANNOTATION};
    k->backward = arena_alloc(k->arena, n, sizeof *k->backward);
    k->modules = arena_alloc(k->arena, n, sizeof *k->modules);
    k->optimizer = arena_alloc(k->arena, n, sizeof *k->optimizer);
    k->optimizer_ends = arena_alloc(k->arena, n, sizeof *k->optimizer_ends);
    struct optimizer_step *steps = arena_alloc(k->arena, n, sizeof *steps);
    TRY_ALLOC(k->backward && k->modules && k->optimizer && k->optimizer_ends && steps &&
                  profiler_steps_find(&rows, STEPS_MEMORY, k->arena, &k->steps),
              error);
    for (row_t i = 0; i < n; i++) {
        uint32_t name = k->trace->events.name[k->ranges.event[i]];
        uint8_t flags = classify(k, name), kind = k->ranges.kind[i];
        int64_t start = k->ranges.start_ns[i], end = k->ranges.end_ns[i];
        if (kind == RANGE_OPERATOR && flags & NAME_BACKWARD)
            k->backward[k->n_backward++] = start;
        if (kind == RANGE_PYTHON && flags & NAME_MODULE)
            k->modules[k->n_modules++] = start;
        if (kind == RANGE_ANNOTATION && flags & NAME_OPTIMIZER)
            steps[k->n_optimizer++] = (struct optimizer_step){start, end};
    }
    if (k->n_backward)
        qsort(k->backward, k->n_backward, sizeof *k->backward, compare_int64s);
    if (k->n_modules)
        qsort(k->modules, k->n_modules, sizeof *k->modules, compare_int64s);
    if (k->n_optimizer)
        qsort(steps, k->n_optimizer, sizeof *steps, compare_steps);
    for (row_t i = 0; i < k->n_optimizer; i++) {
        k->optimizer[i] = steps[i].start;
        k->optimizer_ends[i] = steps[i].end;
    }
    return SUTRA_OK;
}

/* ---- Devices ---- */

/* Category of an allocation, from its enclosing ranges and its lifetime. `end_ns` only if it is freed. */
static enum category categorize(const struct kineto *k, const struct enclosing *e, int64_t start_ns, bool is_freed,
                                int64_t end_ns) {
    if (is_freed && e->outermost_operator != ROW_NONE && end_ns <= k->ranges.end_ns[e->outermost_operator])
        return CATEGORY_TEMPORARY;
    if (e->optimizer != ROW_NONE)
        return !is_freed || end_ns > k->ranges.end_ns[e->optimizer] ? CATEGORY_OPTIMIZER : CATEGORY_TEMPORARY;
    if (e->is_backward) {
        row_t next = count_up_to(k->optimizer, k->n_optimizer, start_ns);
        return !is_freed || (next < k->n_optimizer && end_ns > k->optimizer[next]) ? CATEGORY_GRADIENT
                                                                                   : CATEGORY_AUTOGRAD;
    }
    row_t backward = count_up_to(k->backward, k->n_backward, start_ns);
    if (e->module == ROW_NONE && k->n_modules) { /* before the model runs, and used by it */
        row_t module = count_up_to(k->modules, k->n_modules, start_ns);
        if (module < k->n_modules && (backward == k->n_backward || k->modules[module] < k->backward[backward]) &&
            (!is_freed || end_ns >= k->modules[module]))
            return CATEGORY_INPUT;
    }
    return backward < k->n_backward && (!is_freed || end_ns >= k->backward[backward]) ? CATEGORY_ACTIVATION
                                                                                      : CATEGORY_OTHER;
}

static enum sutra_status stack_name(void *arg, uint32_t alloc, uint32_t *name, struct sutra_error *error) {
    (void)error;
    *name = ((const struct memory_allocs *)arg)->frame[alloc];
    return SUTRA_OK;
}

/* Allocations of the events positions[0..n), ascending by time; positions are indices of memory_events. */
static enum sutra_status match_events(struct kineto *k, const row_t *positions, uint32_t n, struct memory_allocs *a,
                                      struct memory_device *device, struct sutra_error *error) {
#define COLUMN(name) !(a->name = arena_alloc(k->arena, n, sizeof *a->name))
    if (COLUMN(size) || COLUMN(begin) || COLUMN(end) || COLUMN(frame) || COLUMN(operator_name) || COLUMN(category) ||
        COLUMN(before))
        return error_memory(error);
#undef COLUMN
    struct pair_table live = {0};
    row_t *of = arena_alloc(k->arena, n, sizeof *of); /* position of each allocation */
    TRY_ALLOC(of && pair_table_init(&live), error);
    enum sutra_status status = SUTRA_OK;
    for (uint32_t i = 0; i < n && !status; i++) {
        row_t event = k->memory_events[positions[i]];
        int64_t bytes = k->bytes.key[event];
        value_key address = k->address.key[event];
        struct pair_entry *entry = pair_table_insert(&live, (uint64_t)(address == KEY_ABSENT ? 0 : address), 0);
        if (!entry) {
            status = error_memory(error);
            break;
        }
        uint32_t row = entry->number;
        if (bytes > 0) {
            const struct enclosing *e = &k->enclosing[positions[i]];
            if (row != PAIR_NONE) { /* its free was not recorded */
                a->end[row] = i;
                device->n_lost_frees++;
            }
            entry->number = row = a->n++;
            row_t frame = e->user != ROW_NONE ? e->user : e->module != ROW_NONE ? e->module : e->innermost_operator;
            a->size[row] = bytes;
            a->begin[row] = i + 1;
            a->end[row] = EVENT_NONE;
            a->frame[row] = frame == ROW_NONE ? k->no_frames : copy_name(k, frame);
            a->operator_name[row] = e->outermost_operator == ROW_NONE ? k->empty : copy_name(k, e->outermost_operator);
            a->before[row] = 0;
            of[row] = positions[i];
            if (a->frame[row] == STRING_NONE || a->operator_name[row] == STRING_NONE)
                status = memory_name_error(k->memory, error);
        } else if (bytes < 0) {
            if (row == PAIR_NONE) {
                row = a->n++;
                a->size[row] = -bytes;
                a->begin[row] = 0;
                a->frame[row] = k->before;
                a->operator_name[row] = k->empty;
                a->category[row] = k->categories[CATEGORY_BEFORE];
                a->before[row] = 1;
            } else if (a->size[row] != -bytes) {
                device->n_lost_frees++;
            }
            a->end[row] = i;
            entry->number = PAIR_NONE;
        }
    }
    pair_table_free(&live);
    for (uint32_t i = 0; i < a->n && !status; i++) {
        if (a->before[i])
            continue;
        bool is_freed = a->end[i] != EVENT_NONE;
        enum category category = categorize(k, &k->enclosing[of[i]], device->time_ns[a->begin[i]], is_freed,
                                            is_freed ? device->time_ns[a->end[i] + 1] : 0);
        a->category[i] = k->categories[category];
    }
    return status;
}

/* Allocated bytes of the events: sums of allocations, or the allocator's totals if these differ from the sums. */
static enum sutra_status make_points(struct kineto *k, const row_t *positions, const struct memory_allocs *a,
                                     int64_t type, struct memory_device *device, struct memory_facts *facts,
                                     struct sutra_error *error) {
    struct arena *arena = &k->memory->arena;
    uint32_t n = device->n_events, *segment_allocs = arena_alloc(k->arena, n, sizeof *segment_allocs);
    device->active = device->allocated = arena_zeros(arena, (size_t)n + 1, sizeof *device->allocated);
    device->reserved = arena_zeros(arena, (size_t)n + 1, sizeof *device->reserved);
    TRY_ALLOC(segment_allocs && device->allocated && device->reserved, error);
    bool has_totals = type != 0;
    for (uint32_t i = 0; i < n; i++) {
        row_t event = k->memory_events[positions[i]];
        value_key total = k->allocated.key[event], reserved = k->reserved.key[event];
        has_totals &= key_is_integer(total);
        if ((key_is_integer(total) && (total > BYTES_MAX || total < -BYTES_MAX)) ||
            (key_is_integer(reserved) && (reserved > BYTES_MAX || reserved < -BYTES_MAX)))
            return event_error(k->trace, event, "Total Allocated", "at most 2^60 bytes", error);
    }
    for (uint32_t i = 0; i < a->n; i++) {
        device->allocated[a->begin[i]] += a->size[i];
        if (a->end[i] != EVENT_NONE)
            device->allocated[a->end[i] + 1] -= a->size[i];
    }
    int64_t last_total = 0, last_reserved = 0;
    for (uint32_t i = 0; i < n; i++) {
        row_t event = k->memory_events[positions[i]];
        int64_t total = integer_of(k->allocated.key[event], 0), reserved = integer_of(k->reserved.key[event], 0);
        if (i == 0 && has_totals)
            device->untracked = total - k->bytes.key[event] - device->allocated[0];
        device->n_total_mismatches += has_totals && i && total - last_total != k->bytes.key[event];
        device->reserved[i + 1] = type ? reserved : 0;
        if (i && reserved > last_reserved)
            segment_allocs[facts->n_segment_allocs++] = i;
        last_total = total;
        last_reserved = reserved;
    }
    facts->segment_allocs = segment_allocs;
    device->reserved[0] = n ? device->reserved[1] : 0;
    int64_t sum = device->untracked;
    for (uint32_t i = 0; i <= n; i++)
        device->allocated[i] = sum += device->allocated[i];
    for (uint32_t i = 0; i < n && device->n_total_mismatches; i++) {
        row_t event = k->memory_events[positions[i]];
        device->allocated[i + 1] = integer_of(k->allocated.key[event], 0);
        if (i == 0)
            device->allocated[0] = device->allocated[1] - k->bytes.key[event];
    }
    return SUTRA_OK;
}

/* The out-of-memory events of a device, ascending by time. */
static enum sutra_status copy_ooms(struct kineto *k, int64_t type, int64_t id, struct memory_device *device,
                                   struct sutra_error *error) {
    row_t n = 0, *order = arena_alloc(k->arena, k->n_ooms, sizeof *order);
    uint64_t *keys = arena_alloc(k->arena, k->n_ooms, sizeof *keys);
    device->ooms = arena_zeros(&k->memory->arena, k->n_ooms, sizeof *device->ooms);
    TRY_ALLOC(order && keys && device->ooms, error);
    for (row_t i = 0; i < k->n_ooms; i++) {
        row_t event = k->oom_events[i];
        if (integer_of(k->device_type.key[event], 0) != type || integer_of(k->device_id.key[event], -1) != id)
            continue;
        keys[n] = integer_sort_key(exact_start_ns(k->trace, &k->times, event));
        order[n++] = event;
    }
    struct engine *engine = &k->context->engine;
    TRY(engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, n}, error));
    for (row_t i = 0; i < n; i++) {
        struct memory_oom *oom = &device->ooms[i];
        *oom = (struct memory_oom){.event = EVENT_NONE,
                                   .time_ns = integer_of_sort_key(keys[i]),
                                   .requested = k->bytes.key[order[i]],
                                   .active = integer_of(k->allocated.key[order[i]], 0),
                                   .reserved = integer_of(k->reserved.key[order[i]], 0),
                                   .largest_free_block = -1};
    }
    device->n_ooms = n;
    return SUTRA_OK;
}

/* The device of the events positions[0..n). */
static enum sutra_status read_device(struct kineto *k, const row_t *positions, uint32_t n, const int64_t *times,
                                     struct memory_device *device, struct sutra_error *error) {
    static const struct {
        int64_t type;
        const char *name;
    } types[] = {{0, "cpu"}, {1, "cuda"}, {6, "hip"}, {12, "xpu"}, {20, "privateuse"}};
    row_t event = k->memory_events[positions[0]];
    int64_t type = integer_of(k->device_type.key[event], 0), id = integer_of(k->device_id.key[event], -1);
    int length = snprintf(device->name, sizeof device->name, "device%" PRId64, type);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            length = snprintf(device->name, sizeof device->name, "%s", types[i].name);
    if (id >= 0)
        snprintf(device->name + length, sizeof device->name - (size_t)length, ":%" PRId64, id);
    device->is_cpu = strcmp(device->name, "cpu") == 0;
    device->n_events = n;
    device->n_skipped = k->n_skipped;
    device->has_time = true;
    device->time_ns = arena_alloc(&k->memory->arena, (size_t)n + 1, sizeof *device->time_ns);
    TRY(arena_status(&k->memory->arena, error));
    for (uint32_t i = 0; i < n; i++)
        device->time_ns[i + 1] = times[positions[i]];
    device->time_ns[0] = device->time_ns[1];
    struct memory_allocs allocs = {0};
    struct memory_facts facts = {.allocs = &allocs, .stack_name = stack_name, .arg = &allocs};
    TRY(match_events(k, positions, n, &allocs, device, error));
    TRY(make_points(k, positions, &allocs, type, device, &facts, error));

    /* Steps: of the profiler, else from one optimizer step to the next. */
    row_t n_steps = k->steps.n ? k->steps.n : k->n_optimizer;
    device->step_source = STRING_NONE;
    if (n_steps) {
        device->step_source =
            k->steps.n ? memory_name(k->memory, "ProfilerStep", 12) : memory_name(k->memory, "Optimizer.step", 14);
        device->steps = arena_zeros(&k->memory->arena, n_steps, sizeof *device->steps);
        TRY_ALLOC(device->steps && device->step_source != STRING_NONE, error);
        device->n_steps = n_steps;
    }
    for (row_t i = 0; i < k->steps.n; i++) {
        row_t range = k->steps.row[i];
        device->steps[i] = (struct memory_step){
            .number = k->steps.number[i], .start_ns = k->ranges.start_ns[range], .end_ns = k->ranges.end_ns[range]};
    }
    for (row_t i = 0; i < n_steps && !k->steps.n; i++) {
        device->steps[i].number = i;
        device->steps[i].start_ns = i ? k->optimizer_ends[i - 1] : device->time_ns[1];
        device->steps[i].end_ns = k->optimizer_ends[i];
    }
    TRY(copy_ooms(k, type, id, device, error));
    return memory_summarize(k->memory, device, &facts, k->arena, error);
}

/* Sorts the memory events by device and time, and reads each device. */
static enum sutra_status read_devices(struct kineto *k, struct memory_input *input, struct sutra_error *error) {
    row_t n = k->n_memory, *order = arena_alloc(k->arena, n, sizeof *order);
    int64_t *times = arena_alloc(k->arena, n, sizeof *times), *types = arena_alloc(k->arena, n, sizeof *types),
            *ids = arena_alloc(k->arena, n, sizeof *ids);
    uint64_t *keys = arena_alloc(k->arena, n, sizeof *keys);
    TRY(arena_status(k->arena, error));
    for (row_t i = 0; i < n; i++) {
        row_t event = k->memory_events[i];
        order[i] = i;
        times[i] = exact_start_ns(k->trace, &k->times, event);
        types[i] = integer_of(k->device_type.key[event], 0);
        ids[i] = integer_of(k->device_id.key[event], -1);
    }
    TRY(sort_by(k, order, n, keys, times, false, error));
    TRY(sort_by(k, order, n, keys, ids, false, error));
    TRY(sort_by(k, order, n, keys, types, false, error));
    uint32_t n_devices = 0;
    for (row_t i = 0; i < n; i++)
        n_devices += !i || types[order[i]] != types[order[i - 1]] || ids[order[i]] != ids[order[i - 1]];
    input->devices = arena_zeros(&k->memory->arena, n_devices, sizeof *input->devices);
    TRY(arena_status(&k->memory->arena, error));
    for (row_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && types[order[end]] == types[order[i]] && ids[order[end]] == ids[order[i]];)
            end++;
        struct arena_mark mark = arena_mark(k->arena);
        TRY(read_device(k, order + i, end - i, times, &input->devices[input->n_devices++], error));
        arena_release(k->arena, mark);
    }
    return SUTRA_OK;
}

static enum sutra_status read_trace(struct kineto *k, struct memory_input *input, struct sutra_error *error) {
    k->name_flags = arena_zeros(k->arena, k->trace->strings.n, 1);
    k->copied = arena_zeros(k->arena, k->trace->strings.n, sizeof *k->copied);
    k->empty = memory_name(k->memory, "", 0);
    k->no_frames = memory_name(k->memory, "<no frames>", 11);
    k->before = memory_name(k->memory, "<before recording>", 18);
    for (size_t i = 0; i < sizeof category_names / sizeof *category_names; i++)
        k->categories[i] = memory_name(k->memory, category_names[i], strlen(category_names[i]));
    TRY_ALLOC(k->categories[7] != STRING_NONE, error);
    TRY(arena_status(k->arena, error));
    TRY(exact_times_find(k->context, k->trace, NULL, k->arena, &k->times, error));
    TRY(list_events(k, error));
    TRY(read_arguments(k, error));
    if (!k->n_memory)
        return error_set(error, SUTRA_DATA, "no memory events in this trace: record it with profile_memory=True");
    TRY(sweep_threads(k, error));
    TRY(list_phases(k, error));
    return read_devices(k, input, error);
}

enum sutra_status memory_read_kineto(struct sutra_context *context, struct sutra_memory *memory,
                                     struct memory_input *input, struct source *source, struct sutra_error *error) {
    struct arena arena = {0};
    struct kineto k = {.context = context, .memory = memory, .arena = &arena};
    enum sutra_status status;
    if (source->mapping)
        status = sutra_device_trace_read(context, input->path, &k.trace, error);
    else
        status = sutra_device_trace_parse(context, source->name, source->bytes, source->size, &k.trace, error);
    if (!status && device_trace_is_empty(k.trace))
        status = device_trace_check_events(k.trace, error);
    if (status) {
        sutra_device_trace_free(k.trace);
        return status;
    }
    enum sutra_rank_source rank_source;
    int64_t rank = rank_number(k.trace, input->path, 0, &rank_source);
    input->rank = rank_source == SUTRA_RANK_INFO ? rank : -1;
    memory->names_limit = UINT64_MAX;
    stage_begin(context, "analyze memory", 0);
    status = error_name_file(error, read_trace(&k, input, error), source->name);
    sutra_device_trace_free(k.trace);
    arena_free(&arena);
    stage_end(context);
    return status;
}
