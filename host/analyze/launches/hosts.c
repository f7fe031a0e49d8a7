/*
 * hosts.c - the host rows of launches.h: events of each thread as a tree in pre-order. Also the lists of events from
 * which the launch model is built, and the labels of threads.
 *
 *     events in file order --by thread--> sorted by start, longer first --stack--> rows with parent, end, around
 *
 *     thread 7   | linear .............. |            row     0 linear   1 addmm   2 launch   3 relu
 *                |  addmm ...  |  relu | |            parent  -          0         1          0
 *                |   launch    |                      end     4          3         3          4
 *
 * The stack is the chain of parents. Threads are sorted and walked in parallel. TraceLens keeps the file order of
 * events with the same start.
 *
 * Cost: O(n), and a sort of each thread that is not in order.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/launches/launches.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "facts/times.h"
#include "match/steps.h"

/* ---- Lists of events ---- */

/* Lists to which the events of a category belong; all but arrows need a duration. */
enum { LIST_HOST = 1, LIST_CALLS = 2, LIST_DEVICE = 4, LIST_ARROWS = 8 };

enum sutra_status reserve_event_lists(const struct launch_model *model, struct arena *arena, struct event_lists *lists,
                                      struct sutra_error *error) {
    uint32_t n_strings = model->strings->n;
    row_t n = model->events->n;
    *lists = (struct event_lists){.host = arena_alloc(arena, n, sizeof(row_t)),
                                  .call = arena_alloc(arena, n, sizeof(row_t)),
                                  .device = arena_alloc(arena, n, sizeof(row_t)),
                                  .arrow = arena_alloc(arena, n, sizeof(row_t)),
                                  .kind_of = arena_alloc(arena, n_strings, sizeof(uint8_t)),
                                  .lists_of = arena_alloc(arena, n_strings, sizeof(uint8_t))};
    if (arena->failed)
        return error_memory(error);
    bool tracelens = model->rules & LAUNCHES_TRACELENS, frames = !(model->rules & LAUNCHES_NO_FRAMES);
    uint32_t device_roles = tracelens ? CATEGORY_WORK | CATEGORY_SYNC : CATEGORY_WORK;
    for (uint32_t string = 0; string < n_strings; string++) {
        uint32_t roles = model->roles[string].category;
        enum host_kind kind = roles & CATEGORY_CPU_OP                     ? HOST_OPERATOR
                              : roles & CATEGORY_CALL                     ? HOST_CALL
                              : roles & CATEGORY_PYTHON && frames         ? HOST_FRAME
                              : roles & CATEGORY_ANNOTATION && !tracelens ? HOST_ANNOTATION
                                                                          : HOST_NONE;
        lists->kind_of[string] = (uint8_t)kind;
        lists->lists_of[string] =
            (uint8_t)((kind != HOST_NONE ? LIST_HOST : 0) | (kind == HOST_CALL ? LIST_CALLS : 0) |
                      (roles & device_roles ? LIST_DEVICE : 0) | (roles & CATEGORY_LAUNCH_FLOW ? LIST_ARROWS : 0));
    }
    return SUTRA_OK;
}

/* The lists, of `wanted`, to which an event belongs. Without branches, as neighbors rarely belong to the same list. */
static unsigned lists_of_event(const struct device_events *events, const uint8_t *lists_of, row_t event,
                               row_t *n_endless, unsigned wanted) {
    uint32_t category = events->category[event];
    unsigned of = category == STRING_NONE ? 0 : lists_of[category] & wanted;
    bool ends = events->flags[event] & EVENT_HAS_DUR;
    *n_endless += !ends && of & (LIST_HOST | LIST_DEVICE);
    return of & (ends ? ~0U : LIST_ARROWS);
}

void list_host_events(const struct launch_model *model, struct event_lists *lists) {
    row_t n = 0, n_endless = 0;
    for (row_t event = 0; event < model->events->n; event++) {
        lists->host[n] = event;
        n += lists_of_event(model->events, lists->lists_of, event, &n_endless, LIST_HOST) != 0;
    }
    lists->n_host = n;
    lists->n_host_endless = n_endless;
}

void list_device_events(const struct launch_model *model, struct event_lists *lists) {
    row_t n_calls = 0, n_device = 0, n_arrows = 0, n_endless = 0;
    for (row_t event = 0; event < model->events->n; event++) {
        lists->call[n_calls] = lists->device[n_device] = lists->arrow[n_arrows] = event;
        unsigned of = lists_of_event(model->events, lists->lists_of, event, &n_endless, ~(unsigned)LIST_HOST);
        n_calls += (of & LIST_CALLS) != 0;
        n_device += (of & LIST_DEVICE) != 0;
        n_arrows += (of & LIST_ARROWS) != 0;
    }
    lists->n_calls = n_calls;
    lists->n_device = n_device;
    lists->n_arrows = n_arrows;
    lists->n_device_endless = n_endless;
}

/* ---- Marked ancestors ---- */

/* The innermost row that has not ended at a moment, among the ancestors of `row`, and `row` itself if it is marked.
 * Rows that have ended stay so: the paths over them are compressed. */
static row_t innermost(const struct host_rows *rows, row_t *above, row_t row, bool is_marked, int64_t moment) {
    row_t found = is_marked ? row : above[row];
    while (found != ROW_NONE && rows->stop[found] <= moment)
        found = above[found];
    compress_path(above, row, found);
    return found;
}

enum sutra_status find_marked_ancestors(const struct launch_model *model, const uint8_t *marked, struct arena *scratch,
                                        row_t *around, struct sutra_error *error) {
    const struct host_rows *rows = &model->hosts;
    bool tracelens = model->rules & LAUNCHES_TRACELENS;
    struct arena_mark mark = arena_mark(scratch);
    row_t *above = arena_alloc(scratch, rows->n, sizeof *above);
    if (!above)
        return error_memory(error);
    for (row_t row = 0; row < rows->n; row++) {
        row_t parent = rows->parent[row];
        if (parent == ROW_NONE)
            above[row] = ROW_NONE;
        else
            above[row] = innermost(rows, above, parent, marked[parent], tracelens ? INT64_MIN : rows->start[row]);
        around[row] = above[row];
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* ---- Modules ---- */

bool host_is_module(const struct launch_model *model, row_t host) {
    return model->hosts.kind[host] == HOST_FRAME &&
           text_compare(model->strings, host_name(model, host), TEXT_BEGINS, MODULE_PREFIX);
}

void mark_modules(const struct launch_model *model, uint8_t *marked) {
    for (row_t row = 0; row < model->hosts.n; row++)
        marked[row] = host_is_module(model, row);
}

/* ---- Rows ---- */

/* TraceLens takes an event that begins less than this before the end of the previous one, and ends after it, as its
 * successor. */
#define BLEED_US 1.0

/* Events thread by thread, sorted. By our rules, rows share these columns. */
struct host_build {
    struct launch_model *model;
    const uint8_t *kinds; /* by string of a category */
    row_t *first;         /* events of thread t are first[t] .. first[t + 1] - 1 */
    row_t *event;
    uint32_t *name;
    int64_t *start, *stop;
    uint8_t *kind;
    row_t *scratch; /* a column */
};

/* Fills the other columns from events and starts. */
static void fill_columns(struct host_build *build, row_t begin, row_t end) {
    const struct launch_model *model = build->model;
    for (row_t i = begin; i < end; i++) {
        row_t event = build->event[i];
        build->name[i] = model->events->name[event];
        build->stop[i] = end_ticks(model, event, build->start[i]);
        build->kind[i] = build->kinds[model->events->category[event]];
    }
}

/* Sorts events, and the values themselves, ascending and stable. Values that are not negative are sort keys. */
static enum sutra_status sort_events(row_t *event, int64_t *values, row_t n, struct sutra_error *error) {
    uint64_t *keys = (uint64_t *)values;
    int64_t signs = 0;
    for (row_t i = 0; i < n; i++)
        signs |= values[i];
    for (row_t i = 0; i < n && signs < 0; i++)
        keys[i] = integer_sort_key(values[i]);
    enum sutra_status status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, event, n}, error);
    for (row_t i = 0; i < n && signs < 0; i++)
        values[i] = integer_of_sort_key(keys[i]);
    return status;
}

/* Sorts a thread by start, and by our rules events of the same start by length, longest first. Fills its columns. */
static enum sutra_status sort_thread(struct host_build *build, row_t begin, row_t end, struct sutra_error *error) {
    bool ascending = true; /* in most files */
    for (row_t i = begin + 1; i < end && ascending; i++)
        ascending = build->start[i - 1] <= build->start[i];
    enum sutra_status status =
        ascending ? SUTRA_OK : sort_events(build->event + begin, build->start + begin, end - begin, error);
    if (status)
        return status;
    fill_columns(build, begin, end);
    if (build->model->rules & LAUNCHES_TRACELENS)
        return SUTRA_OK;

    for (row_t from = begin, to; from < end && !status; from = to) {
        bool descending = true;
        for (to = from + 1; to < end && build->start[to] == build->start[from]; to++)
            descending = descending && build->stop[to] <= build->stop[to - 1];
        if (descending)
            continue;
        for (row_t i = from; i < to; i++)
            build->stop[i] = build->start[i] - build->stop[i];
        status = sort_events(build->event + from, build->stop + from, to - from, error);
        fill_columns(build, from, to);
    }
    return status;
}

/* Pool task: sorts a thread, and by our rules walks it, where rows have the indices of the sorted events. */
static enum sutra_status make_thread(void *arg, size_t thread, struct sutra_error *error) {
    struct host_build *build = arg;
    row_t begin = build->first[thread], end = build->first[thread + 1];
    enum sutra_status status = sort_thread(build, begin, end, error);
    if (status || build->model->rules & LAUNCHES_TRACELENS)
        return status;
    const struct host_rows *rows = &build->model->hosts;
    row_t top = ROW_NONE, *above = build->scratch;
    for (row_t row = begin; row < end; row++) {
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
        rows->end[top] = end;
    return SUTRA_OK;
}

static void set_row(const struct host_build *build, row_t row, row_t i, row_t parent, uint32_t thread) {
    struct host_rows *rows = &build->model->hosts;
    rows->parent[row] = parent;
    rows->end[row] = row + 1;
    rows->thread[row] = thread;
    rows->event[row] = build->event[i];
    rows->name[row] = build->name[i];
    rows->start[row] = build->start[i];
    rows->stop[row] = build->stop[i];
    rows->kind[row] = build->kind[i];
}

/* Ends the top of the stack before row `next`, and returns its parent. */
static row_t pop(struct host_rows *rows, row_t top, row_t next) {
    rows->end[top] = next;
    return rows->parent[top];
}

/* Walks all threads by TraceLens' rules. It skips an event that ends after its parent, except if the event is a
 * successor of the parent (BLEED_US) and the parent has a parent; that one is not checked. */
static void walk_as_tracelens(const struct host_build *build) {
    struct host_rows *rows = &build->model->hosts;
    row_t next = 0, top = ROW_NONE, *skipped = build->scratch;
    for (uint32_t thread = 0; thread < rows->n_threads; thread++) {
        for (row_t i = build->first[thread]; i < build->first[thread + 1]; i++) {
            while (top != ROW_NONE && rows->stop[top] <= build->start[i])
                top = pop(rows, top, next);
            if (top != ROW_NONE && build->stop[i] > rows->stop[top]) {
                int64_t overlap = rows->stop[top] - build->start[i];
                if ((double)overlap >= BLEED_US * build->model->ticks_per_us || rows->parent[top] == ROW_NONE) {
                    skipped[rows->n_skipped++] = i;
                    continue;
                }
                top = pop(rows, top, next);
            }
            set_row(build, next, i, top, thread);
            top = next++;
        }
        while (top != ROW_NONE)
            top = pop(rows, top, next);
    }
    for (row_t k = 0; k < rows->n_skipped; k++) {
        struct bisection thread = {0, rows->n_threads};
        while (thread.low < thread.high)
            bisect(&thread, build->first[bisect_middle(thread) + 1] <= skipped[k]);
        set_row(build, next++, skipped[k], ROW_NONE, thread.low);
    }
}

enum sutra_status make_host_rows(struct sutra_context *context, struct launch_model *model,
                                 const struct exact_times *times, const struct event_lists *lists, struct arena *arena,
                                 struct arena *scratch, struct sutra_error *error) {
    const struct device_events *events = model->events;
    bool tracelens = model->rules & LAUNCHES_TRACELENS;
    struct arena_mark mark = arena_mark(scratch);

    /* Keep the listed events with known times, and number their threads in file order. */
    row_t *listed = lists->host, n = 0;
    uint32_t *thread = arena_alloc(arena, lists->n_host, sizeof *thread);
    if (!thread)
        return error_memory(error);
    struct event_threads numbers;
    bool ok = event_threads_init(&numbers);
    for (row_t i = 0; i < lists->n_host && ok; i++) {
        row_t event = listed[i];
        if (!(tracelens ? exact_time_is_known(events, event) : time_is_usable(events, event))) {
            model->n_untimed_hosts += !(events->flags[event] & EVENT_UNUSABLE); /* reported with the trace */
            continue;
        }
        listed[n] = event;
        thread[n] = event_thread(&numbers, events, event);
        ok = thread[n++] != PAIR_NONE;
    }
    uint32_t n_threads = numbers.threads.n;
    event_threads_free(&numbers);
    if (!ok)
        return error_memory(error);

    /* Distribute them to their threads. */
    struct arena *columns = tracelens ? scratch : arena;
    struct host_build build = {.model = model,
                               .kinds = lists->kind_of,
                               .first = arena_zeros(scratch, (size_t)n_threads + 2, sizeof *build.first),
                               .event = arena_alloc(columns, n, sizeof *build.event),
                               .name = arena_alloc(columns, n, sizeof *build.name),
                               .start = arena_alloc(columns, n, sizeof *build.start),
                               .stop = arena_alloc(columns, n, sizeof *build.stop),
                               .kind = arena_alloc(columns, n, sizeof *build.kind),
                               .scratch = listed};
    if (arena->failed || scratch->failed)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        build.first[thread[i] + 2]++;
    for (uint32_t t = 0; t < n_threads; t++)
        build.first[t + 2] += build.first[t + 1];
    for (row_t i = 0; i < n; i++) {
        row_t k = build.first[thread[i] + 1]++;
        build.event[k] = listed[i];
        build.start[k] = start_ticks(model, times, listed[i]);
    }

    /* `thread` and `listed` are no longer needed: they become a column of rows, and scratch memory. */
    model->hosts = (struct host_rows){.n = n,
                                      .n_threads = n_threads,
                                      .event = build.event,
                                      .name = build.name,
                                      .parent = arena_alloc(arena, n, sizeof(row_t)),
                                      .end = arena_alloc(arena, n, sizeof(row_t)),
                                      .around = tracelens ? NULL : arena_alloc(arena, n, sizeof(row_t)),
                                      .start = build.start,
                                      .stop = build.stop,
                                      .thread = thread,
                                      .kind = build.kind};
    if (tracelens) {
        model->hosts.event = arena_alloc(arena, n, sizeof(row_t));
        model->hosts.name = arena_alloc(arena, n, sizeof(uint32_t));
        model->hosts.start = arena_alloc(arena, n, sizeof(int64_t));
        model->hosts.stop = arena_alloc(arena, n, sizeof(int64_t));
        model->hosts.kind = arena_alloc(arena, n, sizeof(uint8_t));
    }
    if (arena->failed)
        return error_memory(error);
    enum sutra_status status = pool_try(context->pool, n_threads, make_thread, &build, error);
    if (status)
        return status;
    if (tracelens)
        walk_as_tracelens(&build);
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* ---- Rows at the starts of arrows ---- */

struct arrow_start {
    uint32_t thread;
    int64_t moment;
    row_t device;
};

ORDER_BY(compare_arrow_starts, struct arrow_start, ASCENDING(thread) ASCENDING(moment) ASCENDING(device))

/* Numbers the threads of hosts again, by their first rows; `first` has a row for each, and one more. False: out of
 * memory. */
static bool number_host_threads(const struct launch_model *model, struct event_threads *threads, uint32_t *host_thread,
                                row_t *first) {
    const struct host_rows *hosts = &model->hosts;
    for (row_t row = 0; row < hosts->n; row++) {
        if (row && hosts->thread[row] == hosts->thread[row - 1])
            continue;
        uint32_t number = event_thread(threads, model->events, hosts->event[row]);
        if (number == PAIR_NONE)
            return false;
        host_thread[number] = hosts->thread[row];
        first[hosts->thread[row]] = row;
    }
    first[hosts->n_threads] = hosts->n;
    return true;
}

enum sutra_status find_arrow_rows(struct launch_model *model, const struct exact_times *times, struct arena *scratch,
                                  struct sutra_error *error) {
    const struct host_rows *hosts = &model->hosts;
    struct device_rows *devices = &model->devices;
    struct arena_mark mark = arena_mark(scratch);
    struct arrow_start *starts = arena_alloc(scratch, devices->n, sizeof *starts);
    row_t n = 0, *first = arena_zeros(scratch, (size_t)hosts->n_threads + 1, sizeof *first);
    uint32_t *host_thread = arena_alloc(scratch, hosts->n_threads, sizeof *host_thread);
    row_t *above = arena_alloc(scratch, hosts->n, sizeof *above); /* the nearest operator or call that encloses a row */
    struct event_threads threads = {0};
    bool ok =
        !scratch->failed && event_threads_init(&threads) && number_host_threads(model, &threads, host_thread, first);
    for (row_t i = 0; i < devices->n && ok; i++) {
        row_t arrow = devices->call[i];
        if (arrow == ROW_NONE || model->events->phase[arrow] != 's')
            continue;
        devices->call[i] = ROW_NONE;
        uint32_t thread = event_thread(&threads, model->events, arrow);
        ok = thread != PAIR_NONE;
        if (ok && thread < hosts->n_threads)
            starts[n++] = (struct arrow_start){host_thread[thread], start_ticks(model, times, arrow), i};
    }
    event_threads_free(&threads);
    if (!ok)
        return error_memory(error);
    for (row_t row = 0; row < hosts->n; row++) {
        row_t parent = hosts->parent[row];
        bool counts = parent != ROW_NONE && hosts->kind[parent] <= HOST_CALL;
        above[row] = parent == ROW_NONE || counts ? parent : above[parent];
    }

    /* Moments ascend in each thread, so that a row that has ended never counts again. */
    qsort(starts, n, sizeof *starts, compare_arrow_starts);
    for (row_t k = 0; k < n; k++) {
        row_t begin = first[starts[k].thread];
        row_t n_begun = count_up_to(hosts->start + begin, first[starts[k].thread + 1] - begin, starts[k].moment);
        if (n_begun == 0)
            continue;
        row_t row = begin + n_begun - 1;
        bool counts = hosts->kind[row] <= HOST_CALL && hosts->stop[row] > starts[k].moment;
        row_t found = counts ? row : innermost(hosts, above, row, false, starts[k].moment);
        devices->call[starts[k].device] = found == ROW_NONE ? ROW_NONE : hosts->event[found];
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* ---- Labels of threads ----
 *
 * Metadata events (phase "M") name the process, its label, and the thread; "Unknown" if they do not. O(n).
 */

enum label_kind { LABEL_PROCESS, LABEL_LABEL, LABEL_THREAD, N_LABELS };

struct label_reader {
    const struct launch_model *model;
    struct thread_labels *labels;
    struct thread_numbers processes;
    struct pair_table of[N_LABELS]; /* by tid and process: a text; labels of a process have tid 0 */
};

static uint32_t process_of(struct label_reader *reader, row_t event) {
    return thread_number(&reader->processes, (uint64_t)reader->model->events->pid[event], 0);
}

/* Collects the labels of all metadata events. */
static enum sutra_status collect_labels(struct label_reader *reader, struct sutra_context *context,
                                        struct arena *scratch, struct sutra_error *error) {
    static const struct requested_field fields[] = {{"name", ASK_STRING, false}, {"labels", ASK_STRING, false}};
    static const char *const names[N_LABELS] = {"process_name", "process_labels", "thread_name"};
    const struct launch_model *model = reader->model;
    const struct device_events *events = model->events;
    struct arena_mark mark = arena_mark(scratch);
    row_t *rows = arena_alloc(scratch, events->n, sizeof *rows), n = 0;
    if (!rows)
        return error_memory(error);
    for (row_t event = 0; event < events->n; event++)
        if (events->phase[event] == 'M')
            rows[n++] = event;
    struct requested_column columns[2];
    enum sutra_status status = event_columns_request(context, model->trace, fields, 2, rows, n, columns, error);
    const struct strings *asked = event_columns_strings(model->trace);
    for (row_t i = 0; i < n && !status; i++) {
        row_t event = rows[i];
        for (int kind = 0; kind < N_LABELS; kind++) {
            if (!text_compare(model->strings, events->name[event], TEXT_IS, names[kind]))
                continue;
            uint32_t string = columns[kind == LABEL_LABEL].string[event], process = process_of(reader, event);
            if (string == STRING_NONE)
                continue;
            struct pair_entry *entry =
                process == PAIR_NONE ? NULL
                                     : pair_table_insert(&reader->of[kind], (uint64_t)events->tid[event], process);
            uint32_t text =
                strings_intern(&reader->labels->texts, strings_text(asked, string), strings_length(asked, string));
            if (!entry || text == STRING_NONE)
                return error_memory(error);
            entry->number = text;
        }
    }
    arena_release(scratch, mark);
    return status;
}

/* Assigns its labels to each thread of hosts, which any of its events identifies. False: out of memory. */
static bool assign_labels(struct label_reader *reader) {
    const struct host_rows *hosts = &reader->model->hosts;
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
            uint64_t tid = kind == LABEL_THREAD ? (uint64_t)reader->model->events->tid[event] : 0;
            uint32_t text = pair_table_find(&reader->of[kind], tid, process);
            of[kind][hosts->thread[row]] = text == PAIR_NONE ? unknown : text;
        }
    }
    return unknown != STRING_NONE;
}

enum sutra_status thread_labels_read(struct sutra_context *context, const struct launch_model *model,
                                     struct arena *arena, struct thread_labels *labels, struct sutra_error *error) {
    struct label_reader reader = {.model = model, .labels = labels};
    size_t n_threads = model->hosts.n_threads;
    labels->process = arena_alloc(arena, n_threads, sizeof *labels->process);
    labels->label = arena_alloc(arena, n_threads, sizeof *labels->label);
    labels->thread = arena_alloc(arena, n_threads, sizeof *labels->thread);
    bool ok = !arena->failed && strings_init(&labels->texts) && thread_numbers_init(&reader.processes);
    for (int kind = 0; kind < N_LABELS; kind++)
        ok = ok && pair_table_init(&reader.of[kind]);
    enum sutra_status status = ok ? collect_labels(&reader, context, arena, error) : error_memory(error);
    if (!status && !assign_labels(&reader))
        status = error_memory(error);
    for (int kind = 0; kind < N_LABELS; kind++)
        pair_table_free(&reader.of[kind]);
    thread_numbers_free(&reader.processes);
    return status;
}

void thread_labels_free(struct thread_labels *labels) {
    strings_free(&labels->texts);
}
