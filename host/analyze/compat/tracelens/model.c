/*
 * model.c - fills a launch model (analyze/launches/launches.h) by TraceLens' rules; and the labels of threads.
 *
 *     rule                    sutra                                   TraceLens
 *     parent of a host event  the last event of its thread that       the same, but an event that ends after its parent
 *                             began and has not ended                 is skipped
 *     call of an activity     same correlation (a runtime's call      an ac2g arrow
 *                             before a driver's), else an arrow
 *     class of an activity    facts/kernel_class.h                    facts/names.h
 *     launcher                innermost operator that runs at the     innermost enclosing operator; none for
 *                             call, else the call                     communication
 *
 * Activities include synchronization, which takes no time here. TraceLens adds doubles of microseconds. It rounds the
 * ends of its intervals, but differences of neighbouring times and their sums then are multiples of one small power of
 * two, and so exact. With ticks of such a power, as small as TICK_BITS allow, integers give the sums of its doubles.
 *
 * Cost: O(n) in expectation, and sorts of the events.
 */
#include <math.h>
#include <string.h>

#include "analyze/compat/tracelens/tracelens.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "facts/launches.h"
#include "facts/times.h"
#include "match/steps.h"

/* Bits of a time in ticks, so that differences of two times fit 64 bits. */
#define TICK_BITS 61

static double us_of(struct number_column column, row_t event) {
    return number_as_double(number_at(column, event));
}

static void select_ticks(struct launch_model *model) {
    const struct device_events *events = model->events;
    double max_us = 0;
    for (row_t event = 0; event < events->n; event++) {
        if (!category_roles(events, model->roles, event))
            continue;
        double us = us_of(events->ts, event), dur = us_of(events->dur, event);
        if (us_are_sound(us) && us_are_sound(dur))
            max_us = fmax(max_us, fabs(us) + fabs(dur));
    }
    int exponent;
    frexp(max_us, &exponent);
    model->ticks_per_us = ldexp(1, TICK_BITS - MAX(exponent, 0));
}

static int64_t start_ticks(const struct launch_model *model, row_t event) {
    return llrint(us_of(model->events->ts, event) * model->ticks_per_us);
}

static int64_t end_ticks_of(const struct launch_model *model, row_t event) {
    return llrint((us_of(model->events->ts, event) + us_of(model->events->dur, event)) * model->ticks_per_us);
}

/* ---- Host events ---- */

/* TraceLens takes an event that begins less than this before the end of the previous one, and ends after it, as its
 * successor. */
#define BLEED_US 1.0

static void set_row(struct launch_model *model, const uint8_t *kind_of, row_t row, row_t event, row_t parent,
                    uint32_t thread) {
    struct host_rows *rows = &model->hosts;
    rows->event[row] = event;
    rows->name[row] = model->events->name[event];
    rows->parent[row] = parent;
    rows->end[row] = row + 1;
    rows->start[row] = start_ticks(model, event);
    rows->stop[row] = end_ticks_of(model, event);
    rows->thread[row] = thread;
    rows->kind[row] = kind_of[model->events->category[event]];
}

/* Ends the top of the stack before row `next`, and returns its parent. */
static row_t pop(struct host_rows *rows, row_t top, row_t next) {
    rows->end[top] = next;
    return rows->parent[top];
}

/* Walks all threads, whose events are in the order of their starts, equal ones in file order. It skips an event that
 * ends after its parent, except if the event is a successor of the parent (BLEED_US) and the parent has a parent; that
 * one is not checked. Skipped events are the last rows, each a tree of its own. */
static enum sutra_status make_hosts(struct launch_model *model, const struct event_lists *lists, struct arena *arena,
                                    struct arena *scratch, row_t *n_skipped, struct sutra_error *error) {
    const struct device_events *events = model->events;
    struct host_rows *rows = &model->hosts;
    row_t *event = lists->host, n = 0;
    for (row_t i = 0; i < lists->n_host; i++)
        if (exact_time_is_known(events, event[i]))
            event[n++] = event[i];
        else
            model->n_untimed_hosts += !(events->flags[event[i]] & EVENT_UNUSABLE); /* reported with the trace */
    *rows = (struct host_rows){.n = n,
                               .event = arena_alloc(arena, n, sizeof(row_t)),
                               .name = arena_alloc(arena, n, sizeof(uint32_t)),
                               .parent = arena_alloc(arena, n, sizeof(row_t)),
                               .end = arena_alloc(arena, n, sizeof(row_t)),
                               .start = arena_alloc(arena, n, sizeof(int64_t)),
                               .stop = arena_alloc(arena, n, sizeof(int64_t)),
                               .thread = arena_alloc(arena, n, sizeof(uint32_t)),
                               .kind = arena_alloc(arena, n, sizeof(uint8_t))};
    uint64_t *keys = arena_alloc(scratch, n, sizeof *keys);
    uint32_t *thread = arena_alloc(scratch, n, sizeof *thread);
    row_t *by_start = arena_alloc(scratch, n, sizeof *by_start), *sorted = arena_alloc(scratch, n, sizeof *sorted);
    row_t *skipped = arena_alloc(scratch, n, sizeof *skipped);
    if (arena->failed || scratch->failed || !number_threads(events, event, n, thread, &rows->n_threads))
        return error_memory(error);
    row_t *first = arena_alloc(scratch, (size_t)rows->n_threads + 1, sizeof *first);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < n; i++) {
        keys[i] = integer_sort_key(start_ticks(model, event[i]));
        by_start[i] = i;
    }
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, by_start, n}, error));
    rows_bucket(by_start, n, thread, rows->n_threads, first, sorted);

    row_t next = 0, top = ROW_NONE;
    *n_skipped = 0;
    for (uint32_t t = 0; t < rows->n_threads; t++) {
        for (row_t k = first[t]; k < first[t + 1]; k++) {
            row_t i = sorted[k];
            int64_t start = start_ticks(model, event[i]);
            while (top != ROW_NONE && rows->stop[top] <= start)
                top = pop(rows, top, next);
            if (top != ROW_NONE && end_ticks_of(model, event[i]) > rows->stop[top]) {
                int64_t overlap = rows->stop[top] - start;
                if ((double)overlap >= BLEED_US * model->ticks_per_us || rows->parent[top] == ROW_NONE) {
                    skipped[(*n_skipped)++] = i;
                    continue;
                }
                top = pop(rows, top, next);
            }
            set_row(model, lists->kind_of, next, event[i], top, t);
            top = next++;
        }
        while (top != ROW_NONE)
            top = pop(rows, top, next);
    }
    for (row_t k = 0; k < *n_skipped; k++)
        set_row(model, lists->kind_of, next++, event[skipped[k]], ROW_NONE, thread[skipped[k]]);
    return SUTRA_OK;
}

void find_enclosing(const struct launch_model *model, const uint8_t *marked, row_t *enclosing) {
    for (row_t row = 0; row < model->hosts.n; row++) {
        row_t parent = model->hosts.parent[row];
        enclosing[row] = parent == ROW_NONE || marked[parent] ? parent : enclosing[parent];
    }
}

/* ---- GPU activities ---- */

/* The class of an event. `cache` has, by string of the name, of memsets and then of kernels: class + 1, or 0. */
static uint8_t class_of(const struct launch_model *model, uint8_t *cache, row_t event) {
    uint32_t roles = category_roles(model->events, model->roles, event), name = model->events->name[event];
    uint8_t uncached = 0, *class = &uncached;
    if (roles & (CATEGORY_KERNEL | CATEGORY_SET))
        class = &cache[(roles & CATEGORY_KERNEL ? model->strings->n : 0) + (size_t)name];
    if (*class == 0)
        *class = (uint8_t)(1 + device_class_of(roles, strings_text(model->strings, name),
                                               strings_length(model->strings, name)));
    return (uint8_t)(*class - 1);
}

static enum sutra_status make_devices(struct launch_model *model, const struct event_lists *lists,
                                      struct arena *scratch, struct sutra_error *error) {
    struct device_rows *rows = &model->devices;
    uint8_t *cache = arena_zeros(scratch, (size_t)model->strings->n * 2, sizeof *cache);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < lists->n_device; i++) {
        row_t event = lists->device[i];
        if (!exact_time_is_known(model->events, event))
            continue;
        rows->event[rows->n] = event;
        rows->class[rows->n] = class_of(model, cache, event);
        rows->start[rows->n] = start_ticks(model, event);
        rows->stop[rows->n] =
            rows->class[rows->n] == DEVICE_NO_WORK ? rows->start[rows->n] : end_ticks_of(model, event);
        rows->call[rows->n] = rows->launcher[rows->n] = ROW_NONE;
        rows->n++;
    }
    return sort_devices(rows, scratch, error);
}

/*
 * ---- Calls and their activities ----
 *
 * A number links calls with GPU activity: the correlation, or the external id if the first launch of the trace has no
 * correlation. Each call is linked once, in file order. A call of a graph is linked with all activity with its number.
 * Any other call is linked with one event: the last one on the thread where the last arrow with this number ends, if
 * an arrow with this number also begins. If the trace has no arrows, numbers alone decide. A later call takes activity
 * from an earlier one, but the activity still counts as below the earlier call, too.
 */

struct link_search {
    struct sutra_context *context;
    struct launch_model *model;
    const struct event_lists *lists;
    struct arena *scratch;
    row_t n, *call, *device; /* links, in the order in which they are found */
    uint64_t capacity;
    struct event_threads threads;
};

static enum sutra_status add_link(struct link_search *search, row_t call, row_t device, struct sutra_error *error) {
    uint64_t capacity = search->capacity;
    if (search->n == ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u launches", ROW_LIMIT);
    TRY_ALLOC(arena_grow(search->scratch, &search->call, search->n, &capacity, sizeof *search->call) &&
                  arena_grow(search->scratch, &search->device, search->n, &search->capacity, sizeof *search->device),
              error);
    search->call[search->n] = call;
    search->device[search->n++] = device;
    search->model->devices.call[device] = call;
    return SUTRA_OK;
}

/* Numbers, and the arrows by number. */
struct number_links {
    const value_key *of;    /* by event: its number */
    bool arrows;            /* the trace has some */
    struct pair_table ends; /* by number: the thread at which its last arrow ends */
    struct pair_table begins;
    struct pair_table work;  /* by number and thread: the last row of devices */
    struct pair_table first; /* by number: the first row of devices, */
    row_t *next;             /* and the next one after each */
};

static const value_key *choose_number(const struct launch_model *model) {
    const struct device_events *events = model->events;
    for (row_t event = 0; event < events->n; event++)
        if (category_roles(events, model->roles, event) & CATEGORY_CALL &&
            text_compare(model->strings, events->name[event], TEXT_HAS_IN_ANY_CASE, "launch"))
            return is_correlation(events->correlation[event]) ? events->correlation : events->external;
    return events->external;
}

static bool index_arrows(struct link_search *search, struct number_links *links, const row_t *arrows, row_t n,
                         const value_key *ids) {
    const uint8_t *phase = search->model->events->phase;
    bool ok = true;
    for (row_t i = 0; i < n && ok; i++) {
        bool begins = phase[arrows[i]] == 's', ends = phase[arrows[i]] == 'f';
        if (!begins && !ends)
            continue;
        struct pair_entry *entry =
            pair_table_insert(begins ? &links->begins : &links->ends, (uint64_t)ids[arrows[i]], 0);
        uint32_t thread = event_thread(&search->threads, search->model->events, arrows[i]);
        ok = entry && thread != PAIR_NONE;
        if (ok)
            entry->number = thread;
    }
    return ok;
}

/* Indexes activity by number, and by number and thread; from last to first, so that chains are in file order. */
static bool index_devices(struct link_search *search, struct number_links *links) {
    const struct device_rows *devices = &search->model->devices;
    for (row_t i = devices->n; i-- > 0;) {
        value_key number = links->of[devices->event[i]];
        uint32_t thread = event_thread(&search->threads, search->model->events, devices->event[i]);
        struct pair_entry *first = pair_table_insert(&links->first, (uint64_t)number, 0);
        if (thread == PAIR_NONE || !first ||
            !pair_table_note(&links->work, (uint64_t)number, links->arrows ? thread : 0, i))
            return false;
        links->next[i] = first->number;
        first->number = i;
    }
    return true;
}

static enum sutra_status link_call(struct link_search *search, const struct number_links *links, row_t call,
                                   struct sutra_error *error) {
    const struct launch_model *model = search->model;
    row_t event = model->hosts.event[call];
    uint32_t name = model->events->name[event], thread = 0;
    value_key number = links->of[event];
    if (!is_correlation(number))
        return SUTRA_OK;
    if (text_compare(model->strings, name, TEXT_IS, "cudaGraphLaunch") ||
        text_compare(model->strings, name, TEXT_IS, "hipGraphLaunch")) {
        row_t i = pair_table_find(&links->first, (uint64_t)number, 0);
        for (; i != PAIR_NONE; i = links->next[i])
            if (model->devices.class[i] != DEVICE_NO_WORK)
                TRY(add_link(search, call, i, error));
        return SUTRA_OK;
    }
    if (links->arrows) {
        thread = pair_table_find(&links->ends, (uint64_t)number, 0);
        if (thread == PAIR_NONE || pair_table_find(&links->begins, (uint64_t)number, 0) == PAIR_NONE)
            return SUTRA_OK;
    }
    row_t device = pair_table_find(&links->work, (uint64_t)number, thread);
    return device == PAIR_NONE ? SUTRA_OK : add_link(search, call, device, error);
}

static enum sutra_status link_all(struct link_search *search, struct sutra_error *error) {
    const struct event_lists *lists = search->lists;
    struct number_links links = {.of = choose_number(search->model),
                                 .next = rows_none(search->scratch, search->model->devices.n)};
    row_t *calls = arena_alloc(search->scratch, lists->n_calls, sizeof *calls), n_calls = 0;
    const row_t *arrows = lists->arrow;
    row_t n = lists->n_arrows;
    const value_key *ids = NULL;
    bool ok = calls && links.next && pair_table_init(&links.ends) && pair_table_init(&links.begins) &&
              pair_table_init(&links.work) && pair_table_init(&links.first);
    enum sutra_status status = ok ? SUTRA_OK : error_memory(error);
    links.arrows = n > 0;
    if (!status && n)
        status = read_arrow_ids(search->context, search->model->trace, arrows, n, &ids, error);
    if (!status && !(index_arrows(search, &links, arrows, n, ids) && index_devices(search, &links)))
        status = error_memory(error);
    for (row_t i = 0; i < lists->n_calls && !status; i++)
        if (exact_time_is_known(search->model->events, lists->call[i]))
            calls[n_calls++] = lists->call[i];
    if (!status)
        status = find_call_rows(search->model, calls, n_calls, search->scratch, error);
    for (row_t i = 0; i < n_calls && !status; i++)
        status = link_call(search, &links, calls[i], error);
    pair_table_free(&links.ends);
    pair_table_free(&links.begins);
    pair_table_free(&links.work);
    pair_table_free(&links.first);
    return status;
}

static enum sutra_status find_links(struct sutra_context *context, struct launch_model *model,
                                    const struct event_lists *lists, struct arena *arena, struct arena *scratch,
                                    struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct link_search search = {.context = context, .model = model, .lists = lists, .scratch = scratch};
    enum sutra_status status = event_threads_init(&search.threads) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = link_all(&search, error);
    if (!status)
        status = order_launch_links(model, search.call, search.device, search.n, arena, error);
    event_threads_free(&search.threads);
    arena_release(scratch, mark);
    return status;
}

/* Sets the launcher of each activity except communication: the innermost enclosing operator of its call, unless another
 * call encloses the call or the operator is named "execute"; else the call. */
static enum sutra_status find_launchers(struct launch_model *model, struct arena *scratch, struct sutra_error *error) {
    const struct host_rows *hosts = &model->hosts;
    struct device_rows *devices = &model->devices;
    struct arena_mark mark = arena_mark(scratch);
    uint32_t ignored = strings_find(model->strings, "execute", strlen("execute"));
    uint8_t *marked = arena_alloc(scratch, hosts->n, sizeof *marked);
    row_t *enclosing = arena_alloc(scratch, hosts->n, sizeof *enclosing);
    TRY(arena_status(scratch, error));
    for (row_t row = 0; row < hosts->n; row++) {
        bool is_ignored = ignored != STRING_NONE && hosts->name[row] == ignored;
        marked[row] = hosts->kind[row] == HOST_CALL || (hosts->kind[row] == HOST_OPERATOR && !is_ignored);
    }
    find_enclosing(model, marked, enclosing);
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (call == ROW_NONE || devices->class[i] == DEVICE_NO_WORK || devices->class[i] == DEVICE_COMMUNICATION)
            continue;
        row_t op = hosts->kind[call] == HOST_OPERATOR ? call : enclosing[call];
        devices->launcher[i] = op != ROW_NONE && hosts->kind[op] == HOST_OPERATOR ? op : call;
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* ---- The model ---- */

enum sutra_status tracelens_model_build(struct sutra_context *context, const struct sutra_device_trace *trace,
                                        bool has_frames, struct arena *arena, struct arena *scratch,
                                        struct launch_model *model, row_t *n_skipped, struct sutra_error *error) {
    const unsigned kinds = 1u << HOST_OPERATOR | 1u << HOST_CALL | (has_frames ? 1u << HOST_FRAME : 0);
    struct arena_mark mark = arena_mark(scratch);
    struct event_lists lists;
    *model = launch_model_begin(trace, READER_OPERATORS, arena);
    TRY(arena_status(arena, error));
    select_ticks(model);
    TRY(reserve_event_lists(model, kinds, CATEGORY_WORK | CATEGORY_SYNC, scratch, &lists, error));
    list_host_events(model, &lists);
    list_device_events(model, &lists);
    TRY(make_hosts(model, &lists, arena, scratch, n_skipped, error));
    TRY(make_devices(model, &lists, scratch, error));
    TRY(find_links(context, model, &lists, arena, scratch, error));
    count_untimed(model, &lists);
    arena_release(scratch, mark);
    TRY(find_launchers(model, scratch, error));
    return attribute_to_launchers(model, arena, scratch, error);
}

enum op_category tracelens_category(const struct launch_model *model, const struct strings *strings, uint32_t name,
                                    row_t host) {
    const struct attribution_table *attributions = &model->attributions;
    row_t attribution = host == ROW_NONE ? ROW_NONE : attributions->of_host[host];
    const char *kernel = NULL;
    size_t length = 0;
    if (attribution != ROW_NONE) {
        row_t device = attributions->device[attributions->first[attribution]];
        uint32_t string = model->events->name[model->devices.event[device]];
        kernel = strings_text(model->strings, string);
        length = strings_length(model->strings, string);
    }
    return op_category_find(strings_text(strings, name), strings_length(strings, name), kernel, length,
                            OP_TABLE_TRACELENS);
}

uint8_t *tracelens_categories(const struct launch_model *model, struct arena *arena) {
    const struct attribution_table *attributions = &model->attributions;
    uint8_t *made = arena_alloc(arena, attributions->n, sizeof *made);
    for (row_t i = 0; i < attributions->n && made; i++) {
        row_t host = attributions->host[i];
        made[i] = (uint8_t)tracelens_category(model, model->strings, host_name(model, host), host);
    }
    return made;
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
    TRY(arena_status(scratch, error));
    for (row_t event = 0; event < events->n; event++)
        if (events->phase[event] == 'M')
            rows[n++] = event;
    struct requested_column columns[2];
    TRY(event_columns_request(context, model->trace, fields, 2, rows, n, columns, error));
    const struct strings *asked = event_columns_strings(model->trace);
    for (row_t i = 0; i < n; i++) {
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
            TRY_ALLOC(entry && text != STRING_NONE, error);
            entry->number = text;
        }
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
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
