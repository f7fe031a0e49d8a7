/*
 * hosts.c - the host's events as trees: in come events, out go rows in pre-order with their parents.
 *
 * Events are dealt out to their threads, sorted there by start (of equal starts the longer first; the reference keeps
 * the order of the file), and each thread is walked with a stack, which is the chain of parents; threads of the host
 * beside each other, on those of the pool. O(n) beside the sorts.
 */
#include <string.h>

#include "analyze/launches/launches.h"
#include "analyze/operators/operators.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "facts/times.h"
#include "match/steps.h"

/*
 * Which events of a trace are of the host, of the device, and arrows: told in two walks over their
 * categories, one for each side, which may go beside each other. What a category is is found once. O(events).
 */

/* Of which lists the events of a category are; all but arrows need a duration. */
enum { OF_HOST = 1, OF_CALLS = 2, OF_DEVICE = 4, OF_ARROWS = 8 };

static uint8_t kind_of_roles(uint32_t roles, unsigned rules) {
    if (roles & CATEGORY_CPU_OP)
        return HOST_OPERATOR;
    if (roles & CATEGORY_CALL)
        return HOST_CALL;
    if (roles & CATEGORY_PYTHON && !(rules & READING_NO_FRAMES))
        return HOST_FRAME;
    return roles & CATEGORY_ANNOTATION && !(rules & READING_REFERENCE) ? HOST_ANNOTATION : HOST_NONE;
}

static uint8_t lists_of_roles(uint32_t roles, unsigned rules) {
    uint32_t wanted = rules & READING_REFERENCE ? CATEGORY_WORK | CATEGORY_SYNC : CATEGORY_WORK;
    uint8_t kind = kind_of_roles(roles, rules);
    return (uint8_t)((kind != HOST_NONE ? OF_HOST : 0) | (kind == HOST_CALL ? OF_CALLS : 0) |
                     (roles & wanted ? OF_DEVICE : 0) | (roles & CATEGORY_LAUNCH_FLOW ? OF_ARROWS : 0));
}

/* What the lists are told by, of one event: without branches, as neighbours are seldom of one list. */
static unsigned lists_of_event(const struct device_events *events, const uint8_t *lists_of, row_t event,
                               row_t *n_endless, unsigned ours) {
    uint32_t category = events->category[event];
    unsigned of = category == STRING_NONE ? 0 : lists_of[category] & ours;
    bool ends = events->flags[event] & EVENT_HAS_DUR;
    *n_endless += !ends && of & (OF_HOST | OF_DEVICE);
    return of & (ends ? ~0U : OF_ARROWS);
}

void event_lists_host(const struct op_reading *reading, struct event_lists *lists) {
    row_t n = 0, n_endless = 0;
    for (row_t event = 0; event < reading->events->n; event++) {
        lists->host[n] = event;
        n += lists_of_event(reading->events, lists->lists_of, event, &n_endless, OF_HOST) != 0;
    }
    lists->n_host = n;
    lists->n_host_endless = n_endless;
}

void event_lists_device(const struct op_reading *reading, struct event_lists *lists) {
    row_t n_calls = 0, n_device = 0, n_arrows = 0, n_endless = 0;
    for (row_t event = 0; event < reading->events->n; event++) {
        lists->call[n_calls] = lists->device[n_device] = lists->arrow[n_arrows] = event;
        unsigned of = lists_of_event(reading->events, lists->lists_of, event, &n_endless, ~(unsigned)OF_HOST);
        n_calls += (of & OF_CALLS) != 0;
        n_device += (of & OF_DEVICE) != 0;
        n_arrows += (of & OF_ARROWS) != 0;
    }
    lists->n_calls = n_calls;
    lists->n_device = n_device;
    lists->n_arrows = n_arrows;
    lists->n_device_endless = n_endless;
}

enum sutra_status event_lists_take(const struct op_reading *reading, struct arena *arena, struct event_lists *lists,
                                   struct sutra_error *error) {
    uint32_t n_strings = reading->strings->n;
    row_t n = reading->events->n;
    *lists = (struct event_lists){.host = arena_take(arena, n, sizeof(row_t)),
                                  .call = arena_take(arena, n, sizeof(row_t)),
                                  .device = arena_take(arena, n, sizeof(row_t)),
                                  .arrow = arena_take(arena, n, sizeof(row_t)),
                                  .kind_of = arena_take(arena, n_strings, sizeof(uint8_t)),
                                  .lists_of = arena_take(arena, n_strings, sizeof(uint8_t))};
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t string = 0; string < n_strings && !status; string++) {
        uint32_t roles = reading->roles[string].category;
        lists->kind_of[string] = kind_of_roles(roles, reading->rules);
        lists->lists_of[string] = lists_of_roles(roles, reading->rules);
    }
    return status;
}

/*
 * Names of processes and threads, from the trace's metadata: events of phase "M" tell them of a thread of a
 * process, those of a process on thread 0. "Unknown" where nothing is told. O(n).
 */

enum label_kind { LABEL_PROCESS, LABEL_LABEL, LABEL_THREAD, N_LABELS };

static const char *const label_events[N_LABELS] = {"process_name", "process_labels", "thread_name"};

struct label_reader {
    const struct op_reading *reading;
    struct thread_labels *labels;
    struct thread_numbers processes;
    struct pair_table of[N_LABELS]; /* by tid and process: a text */
};

static uint32_t process_of(struct label_reader *reader, row_t event) {
    return thread_number(&reader->processes, (uint64_t)reader->reading->events->pid[event], 0);
}

static bool note_label(struct label_reader *reader, enum label_kind kind, row_t event, const struct strings *asked,
                       uint32_t string) {
    uint32_t process = process_of(reader, event);
    if (string == STRING_NONE)
        return true;
    struct pair_entry *entry =
        process == PAIR_NONE
            ? NULL
            : pair_table_take(&reader->of[kind], (uint64_t)reader->reading->events->tid[event], process);
    uint32_t text = strings_intern(&reader->labels->texts, strings_text(asked, string), strings_length(asked, string));
    if (entry)
        entry->number = text;
    return entry && text != STRING_NONE;
}

static enum sutra_status note_labels(struct label_reader *reader, struct sutra_context *context, const row_t *rows,
                                     row_t n, struct sutra_error *error) {
    static const struct asked_field fields[] = {{"name", ASK_STRING, false}, {"labels", ASK_STRING, false}};
    const struct op_reading *reading = reader->reading;
    struct asked_column columns[2];
    enum sutra_status status = event_columns_ask(context, reading->trace, fields, 2, rows, n, columns, error);
    for (row_t i = 0; i < n && !status; i++)
        for (int kind = 0; kind < N_LABELS && !status; kind++)
            if (text_compare(reading->strings, reading->events->name[rows[i]], TEXT_IS, label_events[kind]) &&
                !note_label(reader, (enum label_kind)kind, rows[i], event_columns_strings(reading->trace),
                            columns[kind == LABEL_LABEL].string[rows[i]]))
                status = error_memory(error);
    return status;
}

/* Labels of each thread of hosts, from any event of it. */
static bool give_labels(struct label_reader *reader) {
    const struct host_rows *hosts = &reader->reading->hosts;
    uint32_t *const of[N_LABELS] = {reader->labels->process, reader->labels->label, reader->labels->thread};
    uint32_t unknown = strings_intern(&reader->labels->texts, "Unknown", 7);
    for (row_t row = 0; row < hosts->n && unknown != STRING_NONE; row++) {
        row_t event = hosts->event[row];
        if (row && hosts->thread[row] == hosts->thread[row - 1])
            continue;
        uint32_t process = process_of(reader, event);
        if (process == PAIR_NONE)
            return false;
        for (int kind = 0; kind < N_LABELS; kind++) {
            uint64_t tid = kind == LABEL_THREAD ? (uint64_t)reader->reading->events->tid[event] : 0;
            uint32_t text = pair_table_find(&reader->of[kind], tid, process);
            of[kind][hosts->thread[row]] = text == PAIR_NONE ? unknown : text;
        }
    }
    return unknown != STRING_NONE;
}

static enum sutra_status read_all(struct label_reader *reader, struct sutra_context *context, struct arena *arena,
                                  struct sutra_error *error) {
    const struct device_events *events = reader->reading->events;
    struct arena_mark mark = arena_mark(arena);
    row_t *rows = arena_take(arena, events->n, sizeof *rows), n = 0;
    enum sutra_status status = arena_status(arena, error);
    for (row_t event = 0; event < events->n && !status; event++)
        if (events->phase[event] == 'M')
            rows[n++] = event;
    if (!status)
        status = note_labels(reader, context, rows, n, error);
    arena_release(arena, mark);
    return status || give_labels(reader) ? status : error_memory(error);
}

enum sutra_status thread_labels_read(struct sutra_context *context, const struct op_reading *reading,
                                     struct arena *arena, struct thread_labels *labels, struct sutra_error *error) {
    struct label_reader reader = {.reading = reading, .labels = labels};
    size_t n_threads = reading->hosts.n_threads;
    labels->process = arena_take(arena, n_threads, sizeof *labels->process);
    labels->label = arena_take(arena, n_threads, sizeof *labels->label);
    labels->thread = arena_take(arena, n_threads, sizeof *labels->thread);
    bool ok = !arena->failed && strings_init(&labels->texts) && thread_numbers_init(&reader.processes);
    for (int kind = 0; kind < N_LABELS; kind++)
        ok = ok && pair_table_init(&reader.of[kind]);
    enum sutra_status status = ok ? read_all(&reader, context, arena, error) : error_memory(error);
    for (int kind = 0; kind < N_LABELS; kind++)
        pair_table_free(&reader.of[kind]);
    thread_numbers_free(&reader.processes);
    return status;
}

void thread_labels_free(struct thread_labels *labels) {
    strings_free(&labels->texts);
}

/* An event that the reference takes for one behind the last, though it begins before that ends: by less than this. */
#define BLEED_US 1.0

/* Events with known times in the order of the file, in the place of the list of all, and their threads, in the place of
 * those of rows: both are used anew once these are dealt out. */
struct host_events {
    row_t n;
    row_t *event;
    uint32_t *thread;
};

/* Events in the order of the walk: thread by thread, each as it is sorted. By our rules these are columns of the
 * rows. */
struct host_list {
    row_t n;
    uint32_t n_threads;
    row_t *end; /* of each thread */
    row_t *event;
    uint32_t *name;
    int64_t *start, *stop;
    uint8_t *kind;
};

/* By the reference's rules. */
struct host_walk {
    const struct host_list *list;
    struct op_reading *reading;
    struct host_rows *rows;
    uint32_t thread;
    row_t next;      /* row */
    row_t top;       /* of the stack, a row; ROW_NONE: it is empty */
    row_t *left_out; /* places in the list */
};

/* ---- Which events ---- */

/* Lists those with known times, and numbers their threads by process and tid, in the order of events. */
static enum sutra_status list_events(struct op_reading *reading, const struct event_lists *lists,
                                     struct host_events *list, uint32_t *n_threads, struct sutra_error *error) {
    const struct device_events *events = reading->events;
    struct event_threads threads;
    bool ok = event_threads_init(&threads);
    for (row_t i = 0; i < lists->n_host && ok; i++) {
        row_t event = lists->host[i];
        if (!exact_time_is_known(reading->events, event))
            continue;
        uint32_t thread = event_thread(&threads, events, event);
        ok = thread != PAIR_NONE;
        list->event[list->n] = event;
        list->thread[list->n++] = thread;
    }
    *n_threads = threads.threads.n;
    event_threads_free(&threads);
    return ok ? SUTRA_OK : error_memory(error);
}

static struct host_list list_take(row_t n, struct arena *arena) {
    return (struct host_list){.n = n,
                              .event = arena_take(arena, n, sizeof(row_t)),
                              .name = arena_take(arena, n, sizeof(uint32_t)),
                              .start = arena_take(arena, n, sizeof(int64_t)),
                              .stop = arena_take(arena, n, sizeof(int64_t)),
                              .kind = arena_take(arena, n, sizeof(uint8_t))};
}

/* Deals them out to their threads with their starts, in the order of the file; end[] comes in as zeros, of n_threads +
 * 1. */
static void deal_out(const struct op_reading *reading, const struct exact_times *times,
                     const struct host_events *events, struct host_list *list) {
    for (row_t i = 0; i < events->n; i++)
        list->end[events->thread[i] + 1]++;
    for (uint32_t thread = 0; thread < list->n_threads; thread++)
        list->end[thread + 1] += list->end[thread];
    for (row_t i = 0; i < events->n; i++) {
        row_t place = list->end[events->thread[i]]++;
        list->event[place] = events->event[i];
        list->start[place] = op_start_read(reading, times, events->event[i]);
    }
}

/* The other columns. */
static void fill_list(const struct op_reading *reading, const uint8_t *kinds, struct host_list *list, row_t begin,
                      row_t end) {
    for (row_t place = begin; place < end; place++) {
        row_t event = list->event[place];
        list->name[place] = reading->events->name[event];
        list->stop[place] = op_stop_read(reading, event, list->start[place]);
        list->kind[place] = kinds[reading->events->category[event]];
    }
}

/* ---- Their order ---- */

static bool any_negative(const int64_t *values, row_t n) {
    int64_t all = 0;
    for (row_t i = 0; i < n; i++)
        all |= values[i];
    return all < 0;
}

/* Sorts events by a column that is filled, which becomes sorted, too: by rising values, equal ones as they stand.
 * Values that are not negative are sort keys as they are. */
static enum sutra_status sort_events(row_t *event, int64_t *values, row_t n, struct sutra_error *error) {
    uint64_t *keys = (uint64_t *)values;
    bool negative = any_negative(values, n);
    for (row_t i = 0; i < n && negative; i++)
        keys[i] = integer_sort_key(values[i]);
    enum sutra_status status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, event, n}, error);
    for (row_t i = 0; i < n && negative; i++)
        values[i] = integer_of_sort_key(keys[i]);
    return status;
}

/* Sorts those of a thread by start; in most files they stand so. */
static enum sutra_status sort_starts(struct host_list *list, row_t begin, row_t end, struct sutra_error *error) {
    bool rising = true;
    for (row_t i = begin + 1; i < end && rising; i++)
        rising = list->start[i - 1] <= list->start[i];
    return rising ? SUTRA_OK : sort_events(list->event + begin, list->start + begin, end - begin, error);
}

/* Those of one start by falling length. These are few where events have times of their own. */
static enum sutra_status sort_equal(const struct op_reading *reading, const uint8_t *kinds, struct host_list *list,
                                    row_t from, row_t to, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (row_t begin = from, end; begin < to && !status; begin = end) {
        bool falling = true;
        for (end = begin + 1; end < to && list->start[end] == list->start[begin]; end++)
            falling = falling && list->stop[end] <= list->stop[end - 1];
        if (falling)
            continue;
        for (row_t i = begin; i < end; i++)
            list->stop[i] = list->start[i] - list->stop[i];
        status = sort_events(list->event + begin, list->stop + begin, end - begin, error);
        fill_list(reading, kinds, list, begin, end);
    }
    return status;
}

/* Where the places of a thread begin. */
static row_t thread_begin(const struct host_list *list, size_t thread) {
    return thread ? list->end[thread - 1] : 0;
}

/* By start, and (by our rules) falling length; then with all columns. */
static enum sutra_status sort_thread(const struct op_reading *reading, const uint8_t *kinds, struct host_list *list,
                                     size_t thread, struct sutra_error *error) {
    row_t begin = thread_begin(list, thread), end = list->end[thread];
    enum sutra_status status = sort_starts(list, begin, end, error);
    if (status)
        return status;
    fill_list(reading, kinds, list, begin, end);
    bool reference = reading->rules & READING_REFERENCE;
    return reference ? SUTRA_OK : sort_equal(reading, kinds, list, begin, end, error);
}

/* ---- What is around ---- */

/* The innermost marked row among `row`, which `is_marked` or not, and those above it that has not ended at a moment.
 * What has ended stays so, so the ways to it are cut short for those who look later. */
static row_t innermost(const struct host_rows *rows, row_t *above, row_t row, bool is_marked, int64_t at) {
    row_t found = is_marked ? row : above[row];
    while (found != ROW_NONE && rows->stop[found] <= at)
        found = above[found];
    op_way_cut(above, row, found);
    return found;
}

enum sutra_status op_reading_around(const struct op_reading *reading, const uint8_t *marked, struct arena *scratch,
                                    row_t *around, struct sutra_error *error) {
    const struct host_rows *rows = &reading->hosts;
    bool reference = reading->rules & READING_REFERENCE;
    struct arena_mark mark = arena_mark(scratch);
    row_t *above = arena_take(scratch, rows->n, sizeof *above);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t row = 0; row < rows->n && !status; row++) {
        row_t parent = rows->parent[row];
        if (parent == ROW_NONE)
            above[row] = ROW_NONE;
        else
            above[row] = innermost(rows, above, parent, marked[parent], reference ? INT64_MIN : rows->start[row]);
        around[row] = above[row];
    }
    arena_release(scratch, mark);
    return status;
}

/* ---- The walk ---- */

static void pop(struct host_walk *walk) {
    struct host_rows *rows = walk->rows;
    rows->end[walk->top] = walk->next;
    walk->top = rows->parent[walk->top];
}

static row_t put(struct host_walk *walk, row_t place, row_t parent) {
    const struct host_list *list = walk->list;
    struct host_rows *rows = walk->rows;
    row_t row = walk->next++;
    rows->parent[row] = parent;
    rows->end[row] = row + 1;
    rows->thread[row] = walk->thread;
    rows->event[row] = list->event[place];
    rows->name[row] = list->name[place];
    rows->start[row] = list->start[place];
    rows->stop[row] = list->stop[place];
    rows->kind[row] = list->kind[place];
    return row;
}

/* What the reference does with an event that ends behind the one around it: it looks once whether it rather stands
 * behind that. False: it leaves the event out. */
static bool settle_crossing(struct host_walk *walk, row_t place) {
    struct host_rows *rows = walk->rows;
    int64_t left = rows->stop[walk->top] - walk->list->start[place];
    if (walk->list->stop[place] <= rows->stop[walk->top])
        return true;
    if (!((double)left < BLEED_US * walk->reading->ticks_per_us) || rows->parent[walk->top] == ROW_NONE)
        return false;
    pop(walk);
    return true;
}

static void take(struct host_walk *walk, row_t place) {
    struct host_rows *rows = walk->rows;
    while (walk->top != ROW_NONE && rows->stop[walk->top] <= walk->list->start[place])
        pop(walk);
    if (walk->top != ROW_NONE && !settle_crossing(walk, place))
        walk->left_out[rows->n_skipped++] = place;
    else
        walk->top = put(walk, place, walk->top);
}

/* The thread of a place in the list. */
static uint32_t thread_at(const struct host_list *list, row_t place) {
    struct bisection at = {0, list->n_threads};
    while (at.low < at.high)
        bisect(&at, list->end[bisect_middle(at)] <= place);
    return (uint32_t)at.low;
}

/* By the reference's rules, where rows depend on what was left out before. */
static void walk_reference(struct host_walk *walk) {
    const struct host_list *list = walk->list;
    for (uint32_t thread = 0; thread < list->n_threads; thread++) {
        walk->thread = thread;
        for (row_t place = thread_begin(list, thread); place < list->end[thread]; place++)
            take(walk, place);
        while (walk->top != ROW_NONE)
            pop(walk);
    }
    for (row_t i = 0; i < walk->rows->n_skipped; i++) {
        walk->thread = thread_at(list, walk->left_out[i]);
        put(walk, walk->left_out[i], ROW_NONE);
    }
}

/* By ours, where rows stand in the places that the list has them in. `above` is as around[], cut short. */
static void walk_thread(const struct host_list *list, const struct host_rows *rows, row_t *above, size_t thread) {
    row_t top = ROW_NONE, row = thread_begin(list, thread);
    for (; row < list->end[thread]; row++) {
        for (; top != ROW_NONE && rows->stop[top] <= rows->start[row]; top = rows->parent[top])
            rows->end[top] = row;
        bool below_operator = top != ROW_NONE && rows->kind[top] == HOST_OPERATOR;
        above[row] = top == ROW_NONE || below_operator ? top : innermost(rows, above, top, false, rows->start[row]);
        rows->around[row] = above[row];
        rows->parent[row] = top;
        rows->thread[row] = (uint32_t)thread;
        top = row;
    }
    for (; top != ROW_NONE; top = rows->parent[top])
        rows->end[top] = row;
}

/* What the threads of the host share while their rows are made. */
struct thread_making {
    const struct op_reading *reading;
    struct host_list *list;
    const uint8_t *kinds; /* by string of a category */
    row_t *above;
};

/* Sorts a thread, and by our rules walks it. */
static enum sutra_status make_thread(void *arg, size_t thread, struct sutra_error *error) {
    const struct thread_making *making = arg;
    enum sutra_status status = sort_thread(making->reading, making->kinds, making->list, thread, error);
    if (!status && !(making->reading->rules & READING_REFERENCE))
        walk_thread(making->list, &making->reading->hosts, making->above, thread);
    return status;
}

/* By our rules nothing is left out, so that rows stand where the list has them. */
static enum sutra_status make_rows(struct sutra_context *context, struct op_reading *reading, const uint8_t *kinds,
                                   struct host_list *list, const struct host_events *events, struct arena *arena,
                                   struct sutra_error *error) {
    struct host_rows *rows = &reading->hosts;
    bool reference = reading->rules & READING_REFERENCE;
    struct host_list columns = reference ? list_take(list->n, arena) : *list;
    *rows = (struct host_rows){.n = list->n,
                               .n_threads = list->n_threads,
                               .event = columns.event,
                               .name = columns.name,
                               .parent = arena_take(arena, list->n, sizeof(row_t)),
                               .end = arena_take(arena, list->n, sizeof(row_t)),
                               .start = columns.start,
                               .stop = columns.stop,
                               .around = reference ? NULL : arena_take(arena, list->n, sizeof(row_t)),
                               .thread = events->thread,
                               .kind = columns.kind};
    struct thread_making making = {reading, list, kinds, events->event};
    struct host_walk walk = {
        .list = list, .reading = reading, .rows = rows, .top = ROW_NONE, .left_out = events->event};
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = pool_try(context->pool, list->n_threads, make_thread, &making, error);
    if (!status && reference)
        walk_reference(&walk);
    return status;
}

enum sutra_status host_rows_make(struct sutra_context *context, struct op_reading *reading,
                                 const struct exact_times *times, const struct event_lists *lists, struct arena *arena,
                                 struct arena *scratch, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct host_events events = {.event = lists->host,
                                 .thread = arena_take(arena, lists->n_host, sizeof *events.thread)};
    struct host_list list = {0};
    uint32_t n_threads = 0;
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = list_events(reading, lists, &events, &n_threads, error);
    if (!status) {
        list = list_take(events.n, reading->rules & READING_REFERENCE ? scratch : arena);
        list.n_threads = n_threads;
        list.end = arena_zeros(scratch, (size_t)n_threads + 1, sizeof *list.end);
        status = arena->failed ? error_memory(error) : arena_status(scratch, error);
    }
    if (!status) {
        deal_out(reading, times, &events, &list);
        status = make_rows(context, reading, lists->kind_of, &list, &events, arena, error);
    }
    arena_release(scratch, mark);
    return status;
}
