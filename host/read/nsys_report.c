/*
 * nsys_report.c - reads a report (nsys.h): tables to events, then ranks, order, launches, forward operators, steps.
 *
 *     kernel --correlation--> call of its process that launched it
 *     autograd::engine::evaluate_function --sequence number--> operator of the forward pass
 *
 * O(n log n) for n events.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/fold_tree.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "match/key_index.h"
#include "read/file_kind.h"
#include "read/nsys.h"
#include "text/numbers.h"
#include "text/strings.h"
#ifdef SUTRA_SQLITE
#include "read/database.h"
#endif

const char *const nsys_category_names[NSYS_N_CATEGORIES] = {
    "cuda_runtime", "cuda_driver", "kernel", "gpu_memcpy",      "gpu_memset",  "cuda_sync",
    "os_runtime",   "overhead",    "cpu_op", "user_annotation", "hip_runtime", "hip_driver"};

const char *const nsys_skip_names[NSYS_N_SKIPS] = {
    [SKIP_NO_TIME] = "no valid start and end",
    [SKIP_MARK] = "NVTX mark",
    [SKIP_NO_END] = "NVTX range without end: ends with the last range",
    [SKIP_OTHER_THREAD] = "NVTX range ends on another thread: no parent and no projection",
    [SKIP_NO_LAUNCH] = "GPU activity without a launch",
    [SKIP_BARRIER] = "barrier of a queue: no GPU activity",
};

/* ---- Ranks ---- */

struct process_device {
    int64_t process, device;
};

ORDER_BY(compare_process_devices, struct process_device, ASCENDING(process) ASCENDING(device))

/* A process with GPU activity. */
struct gpu_process {
    int64_t process, first_device;
    const int64_t *devices;
    uint32_t n_devices;
    int64_t n_nccl_ranks, nccl_rank; /* of the largest communicator; NSYS_NONE: not recorded */
};

ORDER_BY(compare_gpu_processes, struct gpu_process, ASCENDING(first_device) ASCENDING(process))
ORDER_BY(compare_ranks, struct nsys_rank, ASCENDING(rank) ASCENDING(process))
ORDER_BY(compare_rank_processes, struct nsys_rank, ASCENDING(process))

/* Lists the pairs of process and device of GPU activity, ascending; returns their number. */
static uint64_t list_devices(const struct nsys_report *report, struct process_device *pairs) {
    const struct nsys_events *events = &report->events;
    uint64_t n = 0, n_kept = 0;
    for (uint64_t i = 0; i < events->n; i++) {
        if (!nsys_is_gpu(events->category[i]))
            continue;
        struct process_device pair = {events->process[i], report->gpus[events->detail[i]].device};
        if (n == 0 || compare_process_devices(&pairs[n - 1], &pair) != 0)
            pairs[n++] = pair;
    }
    qsort(pairs, n, sizeof *pairs, compare_process_devices);
    for (uint64_t i = 0; i < n; i++)
        if (n_kept == 0 || compare_process_devices(&pairs[n_kept - 1], &pairs[i]) != 0)
            pairs[n_kept++] = pairs[i];
    return n_kept;
}

/* NCCL's rank in the largest communicator of each process; `list` ascends by process. */
static void find_nccl_ranks(const struct nsys_report *report, struct gpu_process *list, uint32_t n) {
    for (uint64_t i = 0; i < report->n_ranges; i++) {
        const struct nsys_range *range = &report->ranges[i];
        const unsigned both = 1u << NCCL_N_RANKS | 1u << NCCL_RANK;
        const struct nccl_payload *payload = nsys_payload_of(report, range);
        if (!range->is_nested || (payload->has & both) != both)
            continue;
        int64_t process = range->thread & ~(int64_t)0xffffff;
        uint32_t at = 0;
        BISECT(at, n, list[at].process < process);
        if (at == n || list[at].process != process)
            continue;
        int64_t n_ranks = payload->field[NCCL_N_RANKS], rank = payload->field[NCCL_RANK];
        struct gpu_process *p = &list[at];
        if (p->n_nccl_ranks < n_ranks || (p->n_nccl_ranks == n_ranks && p->nccl_rank < rank)) {
            p->n_nccl_ranks = n_ranks;
            p->nccl_rank = rank;
        }
    }
}

/* Copies the ranks, whose lists of devices must live as long as the report, or be empty. */
static enum sutra_status keep_ranks(struct nsys_report *report, const struct nsys_rank *ranks, uint32_t n,
                                    struct sutra_error *error) {
    struct nsys_rank *by_rank = arena_alloc(&report->arena, n, sizeof *by_rank);
    report->by_process = arena_alloc(&report->arena, n, sizeof *by_rank);
    TRY(arena_status(&report->arena, error));
    if (n) {
        memcpy(by_rank, ranks, n * sizeof *by_rank);
        memcpy(report->by_process, ranks, n * sizeof *by_rank);
        qsort(report->by_process, n, sizeof *by_rank, compare_rank_processes);
    }
    report->ranks = by_rank;
    report->n_ranks = n;
    return SUTRA_OK;
}

static enum sutra_status number_ranks(struct nsys_report *report, struct sutra_error *error) {
    struct arena *arena = &report->arena;
    struct process_device *pairs = arena_alloc(arena, report->events.n, sizeof *pairs);
    TRY(arena_status(arena, error));
    uint64_t n_pairs = list_devices(report, pairs);
    struct gpu_process *list = arena_alloc(arena, n_pairs, sizeof *list);
    int64_t *devices = arena_alloc(arena, n_pairs, sizeof *devices);
    report->ranks = arena_alloc(arena, n_pairs, sizeof *report->ranks);
    TRY(arena_status(arena, error));
    uint32_t n = 0;
    for (uint64_t i = 0; i < n_pairs; i++) {
        devices[i] = pairs[i].device;
        if (n == 0 || list[n - 1].process != pairs[i].process)
            list[n++] = (struct gpu_process){pairs[i].process, pairs[i].device, &devices[i], 0, NSYS_NONE, NSYS_NONE};
        list[n - 1].n_devices++;
    }
    find_nccl_ranks(report, list, n);
    qsort(list, n, sizeof *list, compare_gpu_processes);

    /* NCCL's ranks, if all are known and different; else the order of the devices. */
    bool has_nccl = true;
    for (uint32_t i = 0; i < n; i++) {
        has_nccl &= list[i].nccl_rank != NSYS_NONE;
        report->ranks[i] = (struct nsys_rank){list[i].nccl_rank, list[i].process, list[i].process >> 24 & 0xffffff,
                                              list[i].devices, list[i].n_devices};
    }
    qsort(report->ranks, n, sizeof *report->ranks, compare_ranks);
    for (uint32_t i = 1; i < n; i++)
        has_nccl &= report->ranks[i].rank != report->ranks[i - 1].rank;
    for (uint32_t i = 0; i < n && !has_nccl; i++)
        report->ranks[i] = (struct nsys_rank){i, list[i].process, list[i].process >> 24 & 0xffffff, list[i].devices,
                                              list[i].n_devices};
    return keep_ranks(report, report->ranks, n, error);
}

/* Sets the devices of the only rank that was read. */
static enum sutra_status set_devices(struct nsys_report *report, int64_t process, struct sutra_error *error) {
    struct process_device *pairs = arena_alloc(&report->arena, report->events.n, sizeof *pairs);
    uint64_t n = pairs ? list_devices(report, pairs) : 0;
    int64_t *devices = arena_alloc(&report->arena, n, sizeof *devices);
    TRY(arena_status(&report->arena, error));
    for (uint64_t i = 0; i < n; i++)
        devices[i] = pairs[i].device;
    for (uint32_t i = 0; i < report->n_ranks; i++)
        if (report->ranks[i].process == process) {
            report->ranks[i].devices = devices;
            report->ranks[i].n_devices = (uint32_t)n;
        }
    return SUTRA_OK;
}

uint32_t nsys_find_rank(const struct nsys_report *report, int64_t rank) {
    uint32_t at = 0;
    BISECT(at, report->n_ranks, report->ranks[at].rank < rank);
    return at < report->n_ranks && report->ranks[at].rank == rank ? at : report->n_ranks;
}

int64_t nsys_rank_of(const struct nsys_report *report, int64_t process) {
    uint32_t at = 0;
    BISECT(at, report->n_ranks, report->by_process[at].process < process);
    bool is_rank = at < report->n_ranks && report->by_process[at].process == process;
    return is_rank ? report->by_process[at].rank : NSYS_NONE;
}

/* ---- Order ---- */

static int compare_names(const struct strings *names, uint32_t a, uint32_t b) {
    size_t n_a = strings_length(names, a), n_b = strings_length(names, b);
    int order = a == b ? 0 : memcmp(strings_text(names, a), strings_text(names, b), MIN(n_a, n_b));
    return order ? order : (n_a > n_b) - (n_a < n_b);
}

/* Events that start together: the longest first, then by category, name, thread and table. */
static int compare_events(const void *left, const void *right, void *arg) {
    const struct nsys_report *report = arg;
    const struct nsys_events *events = &report->events;
    row_t a = *(const row_t *)left, b = *(const row_t *)right;
    if (events->dur[a] != events->dur[b])
        return events->dur[a] > events->dur[b] ? -1 : 1;
    int order = strcmp(nsys_category_names[events->category[a]], nsys_category_names[events->category[b]]);
    if (!order)
        order = compare_names(&report->names, events->name[a], events->name[b]);
    if (!order)
        order = (events->tid[a] > events->tid[b]) - (events->tid[a] < events->tid[b]);
    return order ? order : (a > b) - (a < b);
}

static enum sutra_status sort_events(struct nsys_report *report, const struct engine *engine,
                                     struct sutra_error *error) {
    const row_t n = (row_t)report->events.n;
    report->order = arena_alloc(&report->arena, n, sizeof *report->order);
    struct arena_mark mark = arena_mark(&report->arena);
    uint64_t *keys = arena_alloc(&report->arena, n, sizeof *keys);
    TRY(arena_status(&report->arena, error));
    for (row_t i = 0; i < n; i++) {
        report->order[i] = i;
        keys[i] = (uint64_t)report->events.start[i] ^ (uint64_t)1 << 63;
    }
    TRY(engine->sort_keys(engine->state, &(struct sort_keys_step){keys, report->order, n}, error));
    for (row_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && keys[end] == keys[i];)
            end++;
        if (end - i > 1)
            qsort_r(report->order + i, end - i, sizeof *report->order, compare_events, report);
    }
    arena_release(&report->arena, mark);
    return SUTRA_OK;
}

/* ---- Launches, and forward operators ---- */

/* Numbers the processes of calls and GPU activity, for rows of events; other rows have number 0. Neighbouring rows
 * mostly have the same process. */
static enum sutra_status number_processes(const struct nsys_report *report, uint32_t *numbers, uint32_t *n,
                                          struct sutra_error *error) {
    const struct nsys_events *events = &report->events;
    struct pair_table table;
    uint32_t last = 0;
    bool ok = pair_table_init(&table);
    *n = 1;
    for (uint64_t i = 0; i < events->n && ok; i++) {
        uint8_t category = events->category[i];
        numbers[i] = 0;
        if (!nsys_is_gpu(category) && !nsys_is_call(category) && category != NSYS_CPU_OP)
            continue;
        if (last == 0 || events->process[i] != (int64_t)table.entries[last - 1].first) {
            struct pair_entry *entry = pair_table_insert(&table, (uint64_t)events->process[i], 0);
            ok = entry;
            if (ok && entry->number == PAIR_NONE)
                entry->number = (*n)++;
            last = ok ? entry->number : 0;
        }
        numbers[i] = last;
    }
    pair_table_free(&table);
    return ok ? SUTRA_OK : error_memory(error);
}

/* Finds the launch of each GPU activity: the first call of its process with its correlation. */
static enum sutra_status find_launches(struct nsys_report *report, const struct engine *engine, const uint32_t *process,
                                       uint32_t n_processes, struct sutra_error *error) {
    const struct nsys_events *events = &report->events;
    struct arena *arena = &report->arena;
    row_t n_calls = 0, n_gpus = 0, n = (row_t)events->n;
    report->launch = arena_alloc(arena, report->n_gpus, sizeof *report->launch);
    struct arena_mark mark = arena_mark(arena);
    row_t *rows = arena_alloc(arena, n, sizeof *rows), *sorted = arena_alloc(arena, n, sizeof *sorted);
    row_t *first = arena_alloc(arena, n_processes + 1, sizeof *first),
          *activities = arena_alloc(arena, n, sizeof *rows);
    row_t *first_gpu = arena_alloc(arena, n_processes + 1, sizeof *first);
    value_key *keys = arena_alloc(arena, n, sizeof *keys);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++)
        if (nsys_is_call(events->category[i]))
            rows[n_calls++] = i;
    rows_bucket(rows, n_calls, process, n_processes, first, sorted);
    for (row_t i = 0; i < n; i++)
        if (nsys_is_gpu(events->category[i]))
            rows[n_gpus++] = i;
    rows_bucket(rows, n_gpus, process, n_processes, first_gpu, activities);
    for (uint32_t p = 0; p < n_processes; p++) {
        struct key_index index = {0};
        for (row_t i = first[p]; i < first[p + 1]; i++)
            keys[i] = events->correlation[sorted[i]];
        if (first_gpu[p] == first_gpu[p + 1])
            continue;
        TRY(key_index_build(&index, engine, keys + first[p], first[p + 1] - first[p], KEY_FIRST, NULL, error));
        for (row_t i = first_gpu[p]; i < first_gpu[p + 1]; i++) {
            row_t found = key_index_find(&index, events->correlation[activities[i]]);
            row_t *launch = &report->launch[events->detail[activities[i]]];
            *launch = found == ROW_NONE ? ROW_NONE : sorted[first[p] + found];
            report->skipped[SKIP_NO_LAUNCH] += found == ROW_NONE;
        }
        key_index_free(&index);
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* An operator of the forward pass. */
struct forward_op {
    int64_t sequence;
    uint32_t process;
    row_t position; /* in the order of the report */
    row_t event;
};

ORDER_BY(compare_forward_ops, struct forward_op, ASCENDING(process) ASCENDING(sequence) ASCENDING(position))

/* Connects each backward node with its forward operator: the last operator with its sequence number that begins before
 * the node. Operators inside of the node share its number and begin after it. */
static enum sutra_status find_forward_ops(struct nsys_report *report, const uint32_t *process,
                                          struct sutra_error *error) {
    static const char backward[] = "autograd::engine::evaluate_function: ";
    const struct nsys_events *events = &report->events;
    report->forward = rows_none(&report->arena, report->n_ranges);
    struct arena_mark mark = arena_mark(&report->arena);
    struct forward_op *list = arena_alloc(&report->arena, report->n_ranges, sizeof *list);
    TRY(arena_status(&report->arena, error));
    uint64_t n = 0;
    bool is_sorted = true;
    for (int backwards = 0; backwards < 2; backwards++) {
        for (row_t i = 0; i < events->n; i++) {
            row_t event = report->order[i];
            if (events->category[event] != NSYS_CPU_OP)
                continue;
            const struct nsys_range *range = &report->ranges[events->detail[event]];
            const char *name = strings_text(&report->names, events->name[event]);
            if (range->sequence == NVTX_NONE || (strncmp(name, backward, sizeof backward - 1) == 0) != backwards)
                continue;
            if (!backwards) {
                list[n++] = (struct forward_op){range->sequence, process[event], i, event};
                continue;
            }
            uint64_t at = 0;
            BISECT(at, n,
                   list[at].process != process[event]     ? list[at].process < process[event]
                   : list[at].sequence != range->sequence ? list[at].sequence < range->sequence
                                                          : events->start[list[at].event] < range->start);
            if (at == 0 || list[at - 1].process != process[event] || list[at - 1].sequence != range->sequence)
                continue;
            report->forward[events->detail[event]] = list[at - 1].event;
            report->n_pairs++;
        }
        for (uint64_t i = 1; i < n && !backwards; i++)
            is_sorted &= compare_forward_ops(&list[i - 1], &list[i]) < 0;
        if (!backwards && !is_sorted)
            qsort(list, n, sizeof *list, compare_forward_ops);
    }
    arena_release(&report->arena, mark);
    return SUTRA_OK;
}

/* ---- Ranges by time ---- */

int nsys_compare_ranges(const void *left, const void *right, void *arg) {
    const struct nsys_report *report = arg;
    const struct nsys_range *a = &report->ranges[*(const row_t *)left], *b = &report->ranges[*(const row_t *)right];
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    int order = compare_names(&report->names, a->domain, b->domain);
    if (!order)
        order = compare_names(&report->names, a->label, b->label);
    if (!order)
        order = (int)a->is_start_end - (int)b->is_start_end;
    return order ? order : compare_uint32s(left, right);
}

/* ---- Steps ---- */

static enum sutra_status find_steps(struct nsys_report *report, const char *annotation, struct sutra_error *error) {
    struct arena *arena = &report->arena;
    struct pair_table counts; /* of steps, by thread */
    row_t *rows = arena_alloc(arena, report->n_ranges, sizeof *rows);
    bool ok = pair_table_init(&counts) && rows;
    uint64_t n = 0;
    int64_t step = 0;
    for (row_t i = 0; i < report->n_ranges && ok; i++) {
        const struct nsys_range *range = &report->ranges[i];
        const char *text = strings_text(&report->names, range->label);
        size_t length = strings_length(&report->names, range->label);
        bool is_step = annotation ? strcmp(text, annotation) == 0 : nvtx_step_read(text, length, &step);
        if (is_step && range->is_nested && !range->is_emitted &&
            nsys_rank_of(report, range->thread & ~(int64_t)0xffffff) != NSYS_NONE)
            rows[n++] = i;
    }
    report->steps = ok ? arena_alloc(arena, n, sizeof *report->steps) : NULL;
    ok = report->steps;
    if (ok)
        qsort_r(rows, n, sizeof *rows, nsys_compare_ranges, report);
    for (uint64_t i = 0; i < n && ok; i++) {
        const struct nsys_range *range = &report->ranges[rows[i]];
        if (annotation) {
            struct pair_entry *count = pair_table_insert(&counts, (uint64_t)range->thread, 0);
            ok = count;
            step = ok ? (int64_t)++count->number : 0; /* PAIR_NONE + 1 is 0 */
        } else {
            nvtx_step_read(strings_text(&report->names, range->label), strings_length(&report->names, range->label),
                           &step);
        }
        report->steps[report->n_steps++] =
            (struct nsys_step){.rank = nsys_rank_of(report, range->thread & ~(int64_t)0xffffff),
                               .step = step,
                               .tid = range->thread & 0xffffff,
                               .start = range->start,
                               .dur = (int64_t)((uint64_t)range->end - (uint64_t)range->start)};
    }
    pair_table_free(&counts);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- Events and steps of each rank ---- */

static enum sutra_status list_by_rank(struct nsys_report *report, struct sutra_error *error) {
    const struct nsys_events *events = &report->events;
    struct arena *arena = &report->arena;
    const row_t n_events = (row_t)events->n, n_steps = (row_t)report->n_steps;
    const uint32_t n_ranks = report->n_ranks;
    report->rank_first = arena_alloc(arena, (size_t)n_ranks + 2, sizeof *report->rank_first);
    report->step_first = arena_alloc(arena, (size_t)n_ranks + 2, sizeof *report->step_first);
    report->rank_events = arena_alloc(arena, n_events, sizeof *report->rank_events);
    report->rank_steps = arena_alloc(arena, n_steps, sizeof *report->rank_steps);
    struct arena_mark mark = arena_mark(arena);
    uint32_t *number = arena_alloc(arena, MAX(n_events, n_steps), sizeof *number); /* n_ranks: no rank */
    row_t *steps = arena_alloc(arena, n_steps, sizeof *steps);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n_events; i++) { /* neighbouring rows mostly have the same process */
        bool is_same = i && events->process[i] == events->process[i - 1];
        number[i] = is_same ? number[i - 1] : nsys_find_rank(report, nsys_rank_of(report, events->process[i]));
    }
    rows_bucket(report->order, n_events, number, n_ranks + 1, report->rank_first, report->rank_events);
    for (row_t i = 0; i < n_steps; i++) {
        steps[i] = i;
        number[i] = nsys_find_rank(report, report->steps[i].rank);
    }
    rows_bucket(steps, n_steps, number, n_ranks + 1, report->step_first, report->rank_steps);
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* ---- Reports ---- */

/* Connects the events of a report. */
static enum sutra_status connect_events(struct nsys_report *report, struct sutra_context *context,
                                        const char *annotation, struct sutra_error *error) {
    const struct engine *engine = &context->choice.cpu;
    TRY(sort_events(report, engine, error));
    uint32_t *process = column_new(report->events.n, sizeof *process), n_processes = 0;
    TRY_ALLOC(process, error);
    enum sutra_status status = number_processes(report, process, &n_processes, error);
    if (!status)
        status = find_launches(report, engine, process, n_processes, error);
    if (!status)
        status = find_forward_ops(report, process, error);
    free(process);
    TRY(status);
    TRY(nsys_match_collectives(report, error));
    TRY(find_steps(report, annotation, error));
    return list_by_rank(report, error);
}

#ifdef SUTRA_SQLITE

/* The names of some tables, for an error. */
static void list_tables(const struct database_table *tables, size_t n, char *text, size_t size) {
    size_t length = 0;
    *text = 0;
    for (size_t i = 0; i < n && length + strlen(tables[i].name) + 8 < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : "", tables[i].name);
    if (!n)
        snprintf(text, size, "none");
}

/* Reads the tables of the rows that the options select; `process`: NSYS_NONE, or the only process to read. */
static enum sutra_status read_tables(struct nsys_report *report, struct sutra_context *context,
                                     const struct source *source, const struct nsys_options *options, int64_t process,
                                     struct sutra_error *error) {
    struct database_file *file = &(struct database_file){.name = source->name,
                                                         .path = source->mapping ? source->path : NULL,
                                                         .bytes = source->mapping ? source->mapping : source->memory,
                                                         .size = source->size};
    struct database database;
    struct database_table *tables = NULL;
    size_t n = 0;
    report->first_start = report->utc_offset = NSYS_NONE;
    TRY_ALLOC(strings_init(&report->names), error);
    enum sutra_status status = database_open(&database, file, context, error);
    if (!status)
        status = database_list(&database, &report->arena, &tables, &n, error);
    database_close(&database);
    TRY(status);
    if (database_find(tables, n, "rocpd_op") || database_find(tables, n, "rocpd_api"))
        report->format = NSYS_RPD;
    else if (database_find(tables, n, "rocpd_string"))
        report->format = NSYS_ROCPD;
    if (report->format != NSYS_SYSTEMS)
        return rocpd_read_tables(report, context, file, tables, n, process, error);
    if (database_find(tables, n, "StringIds"))
        return nsys_read_tables(report, context, file, tables, n, options, process, error);
    char text[240];
    list_tables(tables, n, text, sizeof text);
    return error_file(error, SUTRA_DATA, file->name,
                      "this SQLite database is neither an nsys export nor a rocpd database (no table StringIds, "
                      "rocpd_string or rocpd_op; tables: %s)",
                      text);
}

#else

static enum sutra_status read_tables(struct nsys_report *report, struct sutra_context *context,
                                     const struct source *source, const struct nsys_options *options, int64_t process,
                                     struct sutra_error *error) {
    (void)report, (void)context, (void)options, (void)process;
    return error_file(error, SUTRA_UNAVAILABLE, source->name,
                      "this sutra reads no SQLite databases: install libsqlite3-dev and build it again");
}

#endif

enum sutra_status nsys_report_read(struct nsys_report *report, struct sutra_context *context,
                                   const struct source *source, const struct nsys_options *options,
                                   struct sutra_error *error) {
    static const char *const empty[NSYS_N_FORMATS] = {
        [NSYS_SYSTEMS] = "no CUDA activity and no NVTX ranges in the report (record with 'nsys profile "
                         "--trace=cuda,nvtx')",
        [NSYS_ROCPD] = "rocprofv3 report without activities: no rows with valid times (record with 'rocprofv3 "
                       "--runtime-trace --output-format rocpd')",
        [NSYS_RPD] = "rocmProfileData report without activities: no rows with valid times in rocpd_op and rocpd_api "
                     "(record with 'runTracer.sh -o FILE.rpd COMMAND')",
    };
    int64_t process = NSYS_NONE;
    *report = (struct nsys_report){0};
    /* SQLite opens no database in memory whose header names a write-ahead log; a copied log is not there anyway. A file
     * on standard input has no path, and its private mapping is the database in memory. */
    char *header = source->mapping ? source->mapping : source->memory;
    if (header && (source->memory || !source->path) && source->size > 20 && header[18] == 2) {
        if (source->mapping && mprotect(source->mapping, 20, PROT_READ | PROT_WRITE))
            return error_memory(error);
        header[18] = header[19] = 1;
    }
    if (options->rank != NSYS_ALL_RANKS) {
        /* A first pass numbers the ranks, so that the second pass keeps only rows of one process. */
        struct nsys_report numbered;
        const struct nsys_options first = {.rank = NSYS_ALL_RANKS, .ranks_only = true};
        enum sutra_status status = nsys_report_read(&numbered, context, source, &first, error);
        if (!status)
            status = keep_ranks(report, numbered.ranks, numbered.n_ranks, error);
        nsys_report_free(&numbered);
        TRY(status);
        for (uint32_t i = 0; i < report->n_ranks; i++) {
            report->ranks[i].n_devices = 0;
            if (report->ranks[i].rank == options->rank)
                process = report->ranks[i].process;
        }
        if (process == NSYS_NONE)
            return error_file(error, SUTRA_USAGE, source->name, "no rank %lld in the report: it has %u ranks",
                              (long long)options->rank, report->n_ranks);
        if (report->n_ranks == 1)
            process = NSYS_NONE;
    }
    TRY(error_name_file(error, read_tables(report, context, source, options, process, error), source->name));
    if (report->events.n == 0 && !options->ranks_only)
        return error_file(error, SUTRA_DATA, source->name, "%s", empty[report->format]);
    TRY(process == NSYS_NONE ? number_ranks(report, error) : set_devices(report, process, error));
    if (!options->ranks_only)
        TRY(connect_events(report, context, options->annotation, error));
    return context_check_cancelled(context, error);
}

enum sutra_status nsys_source_convert(struct source *source, struct sutra_context *context,
                                      const struct nsys_options *options, struct sutra_error *error) {
    struct nsys_report report;
    struct buffer text = {0};
    enum sutra_status status = nsys_report_read(&report, context, source, options, error);
    if (!status && options->rank == NSYS_ALL_RANKS && report.n_ranks != 1) {
        if (report.n_ranks == 0)
            status = error_file(error, SUTRA_USAGE, source->name, "no GPU activity in the report, so it has no ranks");
        else
            status =
                error_file(error, SUTRA_USAGE, source->name, "%u ranks in the report: select one, such as %s/rank0",
                           report.n_ranks, source->mapping ? path_file_name(source->name) : "REPORT.sqlite");
    }
    if (!status)
        status = nsys_write_kineto(
            &report, context, options->rank == NSYS_ALL_RANKS ? report.ranks[0].rank : options->rank, &text, error);
    nsys_report_free(&report);
    if (!status)
        status = source_replace(source, &text, error);
    buffer_free(&text);
    return status;
}

/* ---- Shared reports ---- */

struct nsys_shared {
    pthread_mutex_t mutex;
    size_t n_left; /* tasks that have not read their rank */
    bool is_read, is_report;
    enum sutra_status status;
    struct sutra_error error;
    struct nsys_report report;
};

struct nsys_shared *nsys_shared_new(size_t n_tasks) {
    struct nsys_shared *shared = calloc(1, sizeof *shared);
    if (shared) {
        shared->n_left = n_tasks;
        pthread_mutex_init(&shared->mutex, NULL);
    }
    return shared;
}

void nsys_shared_free(struct nsys_shared *shared) {
    if (!shared)
        return;
    nsys_report_free(&shared->report);
    pthread_mutex_destroy(&shared->mutex);
    free(shared);
}

enum sutra_status nsys_shared_read(struct nsys_shared *shared, struct source *source, struct sutra_context *context,
                                   const char *stage, const struct source_input *input, struct sutra_error *error) {
    struct buffer text = {0};
    *source = (struct source){.pool = context->pool};
    pthread_mutex_lock(&shared->mutex);
    if (!shared->is_read) {
        struct source opened;
        const struct nsys_options options = {.rank = NSYS_ALL_RANKS};
        shared->is_read = true;
        shared->status = source_read(&opened, context, stage, input, &shared->error);
        shared->is_report = shared->status || is_sqlite(opened.bytes, opened.size);
        if (!shared->status && shared->is_report)
            shared->status = nsys_report_read(&shared->report, context, &opened, &options, &shared->error);
        if (opened.name)
            source_close(&opened);
    }
    pthread_mutex_unlock(&shared->mutex);
    if (!shared->is_report)
        return source_read(source, context, stage, input, error);
    enum sutra_status status = error_copy(error, shared->status, &shared->error);
    if (!status)
        status = source_set_names(source, input->name, error);
    if (!status && nsys_find_rank(&shared->report, source->rank) == shared->report.n_ranks)
        status = error_file(error, SUTRA_USAGE, source->name, "no rank %lld in the report: it has %u ranks",
                            (long long)source->rank, shared->report.n_ranks);
    if (!status)
        status = nsys_write_kineto(&shared->report, context, source->rank, &text, error);
    pthread_mutex_lock(&shared->mutex);
    if (--shared->n_left == 0)
        nsys_report_free(&shared->report);
    pthread_mutex_unlock(&shared->mutex);
    if (!status)
        status = source_replace(source, &text, error);
    buffer_free(&text);
    return status;
}
