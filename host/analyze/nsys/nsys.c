/*
 * nsys.c - implements sutra/nsys.h: reads a report, and makes its tables as `nsys stats` defines them.
 *
 *     cuda_gpu_kern_sum, cuda_api_sum, cuda_gpu_mem_*_sum     values grouped by name
 *     nvtx_gpu_proj_sum     range -> calls inside of it on its thread -> their GPU activity: first start to last end
 *     gpu_gaps, exposed     merged intervals of each GPU of a rank
 *
 * Source of the definitions: NVIDIA Nsight Systems User Guide, "Available report scripts". O(n log n) for n events.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/statistics.h"
#include "analyze/table.h"
#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/fold_tree.h"
#include "columns/rows.h"
#include "match/intervals.h"
#include "read/file_kind.h"
#include "read/nsys.h"
#include "sutra/nsys.h"
#include "write/sink.h"

#define MIN_GAP_NS 1000000

struct sutra_nsys {
    struct sutra_result result;
    struct nsys_report report;
    int64_t rank; /* the only one that was read, or NSYS_ALL_RANKS */
    int64_t min_gap_ns;
};

static const struct table_spec specs[SUTRA_NSYS_N_TABLES] = {
#define DURATIONS                                                                                                      \
    {                                                                                                                  \
        TEXT("name"), INTEGER("total_ns"), INTEGER("instances"), REAL("avg_ns"), REAL("med_ns"), INTEGER("min_ns"),    \
            INTEGER("max_ns"), REAL("stddev_ns"), REAL("time_percent")                                                 \
    }
    [SUTRA_NSYS_KERNELS] = {.name = "cuda_gpu_kern_sum", .columns = DURATIONS},
    [SUTRA_NSYS_API] = {.name = "cuda_api_sum", .columns = DURATIONS},
    [SUTRA_NSYS_NVTX_PROJECTION] = {.name = "nvtx_gpu_proj_sum",
                                    .columns = {TEXT("range"), TEXT("style"), INTEGER("total_proj_ns"),
                                                INTEGER("total_range_ns"), INTEGER("instances"), INTEGER("gpu_ops"),
                                                REAL("proj_avg_ns"), REAL("proj_med_ns"), INTEGER("proj_min_ns"),
                                                INTEGER("proj_max_ns"), REAL("proj_stddev_ns")}},
    [SUTRA_NSYS_MEMORY_TIMES] = {.name = "cuda_gpu_mem_time_sum", .columns = DURATIONS},
    [SUTRA_NSYS_MEMORY_SIZES] = {.name = "cuda_gpu_mem_size_sum",
                                 .columns = {TEXT("name"), INTEGER("total_bytes"), INTEGER("instances"),
                                             REAL("avg_bytes"), REAL("med_bytes"), INTEGER("min_bytes"),
                                             INTEGER("max_bytes"), REAL("stddev_bytes")}},
    [SUTRA_NSYS_GPU_GAPS] = {.name = "gpu_gaps",
                             .columns = {INTEGER("rank"), INTEGER("device"), INTEGER("start_ns"), INTEGER("dur_ns")}},
    [SUTRA_NSYS_STREAM_GAPS] = {.name = "stream_gaps",
                                .columns = {INTEGER("rank"), INTEGER("device"), INTEGER("stream"), INTEGER("start_ns"),
                                            INTEGER("gap_ns")}},
    [SUTRA_NSYS_EXPOSED] = {.name = "exposed",
                            .columns = {INTEGER("rank"), INTEGER("device"), INTEGER("span_ns"), INTEGER("compute_ns"),
                                        INTEGER("communication_ns"), INTEGER("exposed_communication_ns"),
                                        INTEGER("memory_ns"), INTEGER("exposed_memory_ns"), INTEGER("idle_ns")}},
    [SUTRA_NSYS_STEPS] = {.name = "steps",
                          .columns = {INTEGER("rank"), INTEGER("step"), INTEGER("tid"), INTEGER("start_ns"),
                                      INTEGER("dur_ns")}},
};

/* ---- Values by group ---- */

/* Values, and the groups that they are of. */
struct grouped {
    int64_t *values;
    uint32_t *groups;
    row_t n;
    uint32_t n_groups;
};

/* A group with its sum, for sorting: descending by sum, then ascending by instances and text. */
struct group {
    int64_t total;
    uint64_t n;
    const char *text;
    uint32_t number;
};

ORDER_BY(compare_groups, struct group, DESCENDING(total) ASCENDING(n) ASCENDING_TEXT(text) ASCENDING(number))

/* Tables have averages with one decimal, as `nsys stats` prints them. */
static double round_to_tenth(double value) {
    char text[340];
    snprintf(text, sizeof text, "%.1f", value);
    return strtod(text, NULL);
}

/* Average, median, minimum, maximum and standard deviation. */
static void add_description(struct sutra_table *table, const struct description *of) {
    table_real(table, round_to_tenth(of->mean));
    table_real(table, round_to_tenth(of->q50));
    table_integer(table, (int64_t)of->min);
    table_integer(table, (int64_t)of->max);
    table_real(table, of->count > 1 ? round_to_tenth(of->std) : 0);
}

/* Sums of the values of each group. */
static int64_t *sum_groups(const struct grouped *grouped, struct arena *arena) {
    int64_t *sums = arena_zeros(arena, grouped->n_groups + 1, sizeof *sums);
    for (row_t i = 0; i < grouped->n && sums; i++)
        sums[grouped->groups[i]] += grouped->values[i];
    return sums;
}

/* Adds a summary: a row for each group, whose name is names[group]. */
static enum sutra_status add_summary(struct sutra_nsys *nsys, const struct engine *engine, enum sutra_nsys_table id,
                                     const struct grouped *grouped, const char *const *names, struct arena *arena,
                                     struct sutra_error *error) {
    struct sutra_table *table = result_table_begin(&nsys->result, id);
    struct description *all = arena_alloc(arena, grouped->n_groups, sizeof *all);
    struct group *list = arena_alloc(arena, grouped->n_groups, sizeof *list);
    int64_t *sums = sum_groups(grouped, arena), total = 0;
    TRY(arena_status(arena, error));
    TRY(describe_integers(engine, arena, grouped->groups, grouped->values, grouped->n, grouped->n_groups, 1, all,
                          error));
    for (uint32_t g = 0; g < grouped->n_groups; g++) {
        list[g] = (struct group){sums[g], (uint64_t)all[g].count, names[g], g};
        total += sums[g];
    }
    qsort(list, grouped->n_groups, sizeof *list, compare_groups);
    for (uint32_t i = 0; i < grouped->n_groups; i++) {
        const struct description *of = &all[list[i].number];
        table_words(table, list[i].text);
        table_integer(table, list[i].total);
        table_integer(table, (int64_t)list[i].n);
        add_description(table, of);
        if (id != SUTRA_NSYS_MEMORY_SIZES)
            table_real(table, total ? round_to_tenth(100.0 * (double)list[i].total / (double)total) : 0);
    }
    return SUTRA_OK;
}

static bool is_kernel(const struct nsys_report *report, row_t event) {
    return report->events.category[event] == NSYS_KERNEL &&
           report->gpus[report->events.detail[event]].form != NSYS_GRAPH;
}

/* The summary of the durations of kernels, or of calls, by name. */
static enum sutra_status add_durations(struct sutra_nsys *nsys, const struct engine *engine, enum sutra_nsys_table id,
                                       struct arena *arena, struct sutra_error *error) {
    const struct nsys_report *report = &nsys->report;
    const struct nsys_events *events = &report->events;
    struct arena_mark mark = arena_mark(arena);
    struct grouped grouped = {.values = arena_alloc(arena, events->n, sizeof *grouped.values),
                              .groups = arena_alloc(arena, events->n, sizeof *grouped.groups)};
    uint32_t *group_of = arena_zeros(arena, report->names.n, sizeof *group_of); /* of a name, + 1 */
    const char **names = arena_alloc(arena, report->names.n, sizeof *names);
    for (row_t i = 0; i < events->n && !arena->failed; i++) {
        if (id == SUTRA_NSYS_KERNELS ? !is_kernel(report, i) : !nsys_is_call(events->category[i]))
            continue;
        uint32_t *group = &group_of[events->name[i]];
        if (!*group) {
            names[grouped.n_groups] = strings_text(&report->names, events->name[i]);
            *group = ++grouped.n_groups;
        }
        grouped.values[grouped.n] = events->dur[i];
        grouped.groups[grouped.n++] = *group - 1;
    }
    TRY(arena_status(arena, error));
    TRY(add_summary(nsys, engine, id, &grouped, names, arena, error));
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* ---- Memory ---- */

/* The operation of an event in the words of `nsys stats`: "Memcpy HtoD (Pinned -> Device)" is
 * "[CUDA memcpy Host-to-Device]". */
static void write_operation(char *text, size_t size, const char *name) {
    static const struct {
        const char *letters, *words;
    } kinds[] = {{"HtoD", "Host-to-Device"},  {"DtoH", "Device-to-Host"},  {"DtoD", "Device-to-Device"},
                 {"HtoA", "Host-to-Array"},   {"AtoH", "Array-to-Host"},   {"AtoA", "Array-to-Array"},
                 {"AtoD", "Array-to-Device"}, {"DtoA", "Device-to-Array"}, {"HtoH", "Host-to-Host"},
                 {"PtoP", "Peer-to-Peer"},    {"Unknown", "Unknown"}};
    snprintf(text, size, "%s", strncmp(name, "Memset", 6) == 0 ? "[CUDA memset]" : name);
    if (strncmp(name, "Memcpy ", 7) != 0)
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(name + 7, kinds[i].letters, strlen(kinds[i].letters)) == 0)
            snprintf(text, size, "[CUDA memcpy %s]", kinds[i].words);
}

static enum sutra_status add_memory(struct sutra_nsys *nsys, const struct engine *engine, struct arena *arena,
                                    struct sutra_error *error) {
    const struct nsys_report *report = &nsys->report;
    const struct nsys_events *events = &report->events;
    struct strings operations;
    bool ok = strings_init(&operations);
    struct grouped times = {.values = arena_alloc(arena, report->n_gpus, sizeof *times.values),
                            .groups = arena_alloc(arena, report->n_gpus, sizeof *times.groups)};
    int64_t *sizes = arena_alloc(arena, report->n_gpus, sizeof *sizes);
    for (row_t i = 0; i < events->n && ok && !arena->failed; i++) {
        char text[80];
        if (events->category[i] != NSYS_MEMCPY && events->category[i] != NSYS_MEMSET)
            continue;
        write_operation(text, sizeof text, strings_text(&report->names, events->name[i]));
        int64_t bytes = report->gpus[events->detail[i]].bytes;
        times.groups[times.n] = strings_intern(&operations, text, strlen(text));
        ok = times.groups[times.n] != STRING_NONE;
        sizes[times.n] = bytes == NSYS_NONE ? 0 : bytes;
        times.values[times.n++] = events->dur[i];
    }
    times.n_groups = operations.n;
    const char **names = arena_alloc(arena, times.n_groups, sizeof *names);
    ok = ok && names;
    for (uint32_t g = 0; g < times.n_groups && ok; g++)
        names[g] = strings_text(&operations, g);
    const struct grouped of_sizes = {sizes, times.groups, times.n, times.n_groups};
    enum sutra_status status = ok ? arena_status(arena, error) : error_memory(error);
    if (!status)
        status = add_summary(nsys, engine, SUTRA_NSYS_MEMORY_TIMES, &times, names, arena, error);
    if (!status)
        status = add_summary(nsys, engine, SUTRA_NSYS_MEMORY_SIZES, &of_sizes, names, arena, error);
    strings_free(&operations);
    return status;
}

/* ---- Projection of NVTX ranges onto GPUs ---- */

/* A call with GPU activity: from the first start to the last end. */
struct gpu_call {
    int64_t thread, start, end; /* of the call */
    int64_t gpu_start, gpu_end;
    row_t position; /* by end, within the thread */
};

ORDER_BY(compare_gpu_calls, struct gpu_call, ASCENDING(thread) ASCENDING(start))

/* An end of a call, by its index. */
struct call_end {
    int64_t end;
    row_t index;
};

ORDER_BY(compare_call_ends, struct call_end, ASCENDING(end) ASCENDING(index))

struct thread_range {
    int64_t thread, start;
    row_t range;
};

ORDER_BY(compare_thread_ranges, struct thread_range, ASCENDING(thread) DESCENDING(start) ASCENDING(range))

struct projection {
    struct sutra_nsys *nsys;
    struct arena *arena;
    struct gpu_call *calls;
    row_t n_calls;
    struct thread_range *ranges;
    row_t n_ranges;
    /* Instances of projected ranges. */
    struct strings texts; /* "domain:text", and after it the style */
    struct grouped instances;
    int64_t *range_ns, *n_ops; /* by group */
    uint64_t capacity;
};

/* Lists calls with GPU activity, and ranges that may enclose calls. */
static bool list_projection(struct projection *p) {
    const struct nsys_report *report = &p->nsys->report;
    const struct nsys_events *events = &report->events;
    row_t *call_of = rows_none(p->arena, events->n); /* index in p->calls, by event */
    p->calls = arena_alloc(p->arena, report->n_gpus, sizeof *p->calls);
    p->ranges = arena_alloc(p->arena, report->n_ranges, sizeof *p->ranges);
    if (p->arena->failed)
        return false;
    for (row_t i = 0; i < events->n; i++) {
        row_t launch = nsys_is_gpu(events->category[i]) ? report->launch[events->detail[i]] : ROW_NONE;
        if (launch == ROW_NONE || report->gpus[events->detail[i]].form == NSYS_GRAPH)
            continue;
        int64_t start = events->start[i], end = start + events->dur[i];
        if (call_of[launch] == ROW_NONE) {
            call_of[launch] = p->n_calls;
            p->calls[p->n_calls++] = (struct gpu_call){events->process[launch] | events->tid[launch],
                                                       events->start[launch],
                                                       events->start[launch] + events->dur[launch],
                                                       start,
                                                       end,
                                                       0};
        }
        struct gpu_call *call = &p->calls[call_of[launch]];
        call->gpu_start = MIN(call->gpu_start, start);
        call->gpu_end = MAX(call->gpu_end, end);
    }
    for (row_t i = 0; i < report->n_ranges; i++)
        if (report->ranges[i].is_nested)
            p->ranges[p->n_ranges++] = (struct thread_range){report->ranges[i].thread, report->ranges[i].start, i};
    qsort(p->calls, p->n_calls, sizeof *p->calls, compare_gpu_calls);
    qsort(p->ranges, p->n_ranges, sizeof *p->ranges, compare_thread_ranges);
    return true;
}

/* Adds the projection of a range: an instance of its text and style. False: out of memory. */
static bool add_instance(struct projection *p, const struct nsys_range *range, struct fold calls) {
    const struct strings *names = &p->nsys->report.names;
    struct buffer text = {0};
    buffer_append(&text, strings_text(names, range->domain), strings_length(names, range->domain));
    buffer_append_text(&text, ":");
    buffer_append(&text, strings_text(names, range->label), strings_length(names, range->label));
    const char *style = range->is_start_end ? "StartEnd" : "PushPop";
    buffer_append(&text, "", 1);
    buffer_append_text(&text, style);
    uint32_t n_groups = p->texts.n;
    uint32_t group = text.failed ? STRING_NONE : strings_intern(&p->texts, text.bytes, text.length);
    buffer_free(&text);
    if (group == STRING_NONE)
        return false;
    if (group == n_groups)
        p->range_ns[group] = p->n_ops[group] = 0;
    p->range_ns[group] += range->end - range->start;
    p->n_ops[group] += calls.sum;
    p->instances.values[p->instances.n] = calls.max - calls.min;
    p->instances.groups[p->instances.n++] = group;
    return true;
}

/*
 * Projects the ranges of a thread. A call is inside of a range if it starts and ends in it: calls are set in the tree,
 * by their ends, when the sweep over the ranges, from the last start to the first, has passed their starts.
 */
static bool project_thread(struct projection *p, const struct thread_range *ranges, row_t n_ranges,
                           struct gpu_call *calls, row_t n) {
    struct arena_mark mark = arena_mark(p->arena);
    struct call_end *ends = arena_alloc(p->arena, n, sizeof *ends);
    struct fold_tree tree = fold_tree_alloc(p->arena, n);
    bool ok = !p->arena->failed;
    for (row_t i = 0; i < n && ok; i++)
        ends[i] = (struct call_end){calls[i].end, i};
    if (ok)
        qsort(ends, n, sizeof *ends, compare_call_ends);
    for (row_t i = 0; i < n && ok; i++)
        calls[ends[i].index].position = i;
    row_t left = n;
    for (row_t i = 0; i < n_ranges && ok; i++) {
        const struct nsys_range *range = &p->nsys->report.ranges[ranges[i].range];
        for (; left > 0 && calls[left - 1].start >= range->start; left--)
            fold_tree_set(&tree, calls[left - 1].position,
                          (struct fold){1, calls[left - 1].gpu_start, calls[left - 1].gpu_end, 0, 0});
        row_t high = 0;
        BISECT(high, n, ends[high].end <= range->end);
        struct fold inside = fold_tree_fold(&tree, 0, high);
        inside.max = MAX(inside.max, inside.min); /* of no calls: ignored below */
        if (inside.sum)
            ok = add_instance(p, range, inside);
    }
    arena_release(p->arena, mark);
    return ok;
}

static enum sutra_status add_projection(struct sutra_nsys *nsys, const struct engine *engine, struct arena *arena,
                                        struct sutra_error *error) {
    struct sutra_table *table = result_table_begin(&nsys->result, SUTRA_NSYS_NVTX_PROJECTION);
    struct projection p = {.nsys = nsys, .arena = arena};
    bool ok = strings_init(&p.texts) && list_projection(&p);
    p.range_ns = arena_alloc(arena, p.n_ranges, sizeof *p.range_ns);
    p.n_ops = arena_alloc(arena, p.n_ranges, sizeof *p.n_ops);
    p.instances.values = arena_alloc(arena, p.n_ranges, sizeof *p.instances.values);
    p.instances.groups = arena_alloc(arena, p.n_ranges, sizeof *p.instances.groups);
    ok &= !arena->failed;
    row_t call = 0;
    for (row_t first = 0, end; first < p.n_ranges && ok; first = end) {
        int64_t thread = p.ranges[first].thread;
        for (end = first + 1; end < p.n_ranges && p.ranges[end].thread == thread;)
            end++;
        while (call < p.n_calls && p.calls[call].thread < thread)
            call++;
        row_t first_call = call;
        while (call < p.n_calls && p.calls[call].thread == thread)
            call++;
        if (call > first_call)
            ok = project_thread(&p, p.ranges + first, end - first, p.calls + first_call, call - first_call);
    }
    p.instances.n_groups = p.texts.n;
    struct description *all = arena_alloc(arena, p.texts.n, sizeof *all);
    struct group *list = arena_alloc(arena, p.texts.n, sizeof *list);
    int64_t *sums = ok ? sum_groups(&p.instances, arena) : NULL;
    enum sutra_status status = ok && !arena->failed ? SUTRA_OK : error_memory(error);
    if (!status)
        status = describe_integers(engine, arena, p.instances.groups, p.instances.values, p.instances.n,
                                   p.instances.n_groups, 1, all, error);
    for (uint32_t g = 0; g < p.texts.n && !status; g++)
        list[g] = (struct group){sums[g], 0, strings_text(&p.texts, g), g};
    if (!status)
        qsort(list, p.texts.n, sizeof *list, compare_groups);
    for (uint32_t i = 0; i < p.texts.n && !status; i++) {
        uint32_t g = list[i].number;
        size_t length = strlen(list[i].text);
        table_text(table, list[i].text, length);
        table_words(table, list[i].text + length + 1);
        TABLE_INTEGERS(table, list[i].total, p.range_ns[g], (int64_t)all[g].count, p.n_ops[g]);
        add_description(table, &all[g]);
    }
    strings_free(&p.texts);
    return status;
}

/* ---- GPUs of ranks ---- */

/* Numbers the GPUs of the ranks in ascending order: devices[first + i] of a rank. */
struct rank_gpu {
    int64_t rank, device;
};

/* A kernel on a stream. */
struct stream_kernel {
    int64_t stream, start, correlation, end;
};

ORDER_BY(compare_stream_kernels, struct stream_kernel,
         ASCENDING(stream) ASCENDING(start) ASCENDING(correlation) ASCENDING(end))

static void add_stream_gaps(struct sutra_nsys *nsys, const struct rank_gpu *gpu, struct stream_kernel *list, row_t n) {
    struct sutra_table *table = &nsys->result.tables[SUTRA_NSYS_STREAM_GAPS];
    qsort(list, n, sizeof *list, compare_stream_kernels);
    for (row_t i = 1; i < n; i++) {
        int64_t gap = list[i].start - list[i - 1].end;
        if (list[i].stream != list[i - 1].stream || gap <= nsys->min_gap_ns)
            continue;
        TABLE_INTEGERS(table, gpu->rank, gpu->device, list[i].stream, list[i - 1].end, gap);
    }
}

/* Adds the rows of one GPU, whose events ascend by start. */
static enum sutra_status add_gpu(struct sutra_nsys *nsys, const struct engine *engine, const struct rank_gpu *gpu,
                                 const row_t *rows, row_t n, struct arena *arena, struct sutra_error *error) {
    enum { COMPUTE, COMMUNICATION, MEMORY, N_SETS };
    const struct nsys_report *report = &nsys->report;
    const struct nsys_events *events = &report->events;
    int64_t *start = arena_alloc(arena, n, sizeof *start), *end = arena_alloc(arena, n, sizeof *end);
    uint32_t *set = arena_alloc(arena, n, sizeof *set);
    struct stream_kernel *kernels = arena_alloc(arena, n, sizeof *kernels);
    int64_t first_start = events->start[rows[0]], last_end = INT64_MIN;
    row_t n_timed = 0, n_kernels = 0;
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++) {
        row_t event = rows[i];
        int64_t event_end = events->start[event] + events->dur[event];
        uint32_t name = events->name[event];
        bool is_memory = events->category[event] != NSYS_KERNEL;
        last_end = MAX(last_end, event_end);
        if (!is_memory)
            kernels[n_kernels++] = (struct stream_kernel){
                events->tid[event], events->start[event],
                events->correlation[event] == NSYS_NONE ? 0 : events->correlation[event], event_end};
        if (events->dur[event] == 0)
            continue;
        start[n_timed] = events->start[event];
        end[n_timed] = event_end;
        set[n_timed++] =
            is_memory ? MEMORY
            : nsys_kernel_communicates(strings_text(&report->names, name), strings_length(&report->names, name))
                ? COMMUNICATION
                : COMPUTE;
    }
    add_stream_gaps(nsys, gpu, kernels, n_kernels);

    struct merged merged = {0}, all = {0};
    struct interval_states states = {0};
    enum sutra_status status = engine->merge_intervals(
        engine->state, &(struct merge_intervals_step){start, end, set, n_timed, N_SETS, &merged}, error);
    if (!status)
        status =
            engine->interval_states(engine->state, &(struct interval_states_step){&merged, N_SETS, 1, &states}, error);
    if (!status)
        status = engine->merge_intervals(engine->state,
                                         &(struct merge_intervals_step){start, end, NULL, n_timed, 1, &all}, error);
    struct sutra_table *gaps = &nsys->result.tables[SUTRA_NSYS_GPU_GAPS];
    for (row_t i = 1; i < all.n && !status; i++) {
        if (all.start[i] - all.end[i - 1] < nsys->min_gap_ns)
            continue;
        TABLE_INTEGERS(gaps, gpu->rank, gpu->device, all.end[i - 1], all.start[i] - all.end[i - 1]);
    }
    if (!status) {
        struct sutra_table *table = &nsys->result.tables[SUTRA_NSYS_EXPOSED];
        int64_t of_set[N_SETS] = {0}, busy = 0;
        for (int state = 1; state < N_STATES; state++) {
            busy += (int64_t)states.length[state];
            for (int k = 0; k < N_SETS; k++)
                of_set[k] += state >> k & 1 ? (int64_t)states.length[state] : 0;
        }
        const int64_t exposed =
            (int64_t)(states.length[1 << COMMUNICATION] + states.length[1 << COMMUNICATION | 1 << MEMORY]);
        TABLE_INTEGERS(table, gpu->rank, gpu->device, last_end - first_start, of_set[COMPUTE], of_set[COMMUNICATION],
                       exposed, of_set[MEMORY], (int64_t)states.length[1 << MEMORY], last_end - first_start - busy);
    }
    merged_free(&merged);
    merged_free(&all);
    return status;
}

/* Adds the tables of gaps and of exposed times. */
static enum sutra_status add_gpus(struct sutra_nsys *nsys, const struct engine *engine, struct arena *arena,
                                  struct sutra_error *error) {
    const struct nsys_report *report = &nsys->report;
    const struct nsys_events *events = &report->events;
    for (int id = SUTRA_NSYS_GPU_GAPS; id <= SUTRA_NSYS_EXPOSED; id++)
        result_table_begin(&nsys->result, (uint32_t)id);
    uint32_t n_gpus = 0, *first_of_rank = arena_alloc(arena, report->n_ranks + 1, sizeof *first_of_rank);
    TRY(arena_status(arena, error));
    for (uint32_t i = 0; i < report->n_ranks; i++) {
        first_of_rank[i] = n_gpus;
        n_gpus += report->ranks[i].n_devices;
    }
    struct rank_gpu *gpus = arena_alloc(arena, n_gpus, sizeof *gpus);
    uint32_t *number = arena_alloc(arena, events->n, sizeof *number);
    row_t *rows = arena_alloc(arena, report->n_gpus, sizeof *rows),
          *sorted = arena_alloc(arena, events->n, sizeof *rows);
    row_t *first = arena_alloc(arena, n_gpus + 1, sizeof *first), n = 0;
    TRY(arena_status(arena, error));
    for (uint32_t i = 0; i < report->n_ranks; i++)
        for (uint32_t k = 0; k < report->ranks[i].n_devices; k++)
            gpus[first_of_rank[i] + k] = (struct rank_gpu){report->ranks[i].rank, report->ranks[i].devices[k]};
    for (row_t i = 0; i < events->n; i++) {
        row_t event = report->order[i];
        if (!nsys_is_gpu(events->category[event]))
            continue;
        int64_t rank = nsys_rank_of(report, events->process[event]),
                device = report->gpus[events->detail[event]].device;
        uint32_t at = 0;
        BISECT(at, n_gpus, gpus[at].rank < rank || (gpus[at].rank == rank && gpus[at].device < device));
        number[event] = at;
        rows[n++] = event;
    }
    rows_bucket(rows, n, number, n_gpus, first, sorted);
    for (uint32_t i = 0; i < n_gpus; i++) {
        struct arena_mark mark = arena_mark(arena);
        TRY(add_gpu(nsys, engine, &gpus[i], sorted + first[i], first[i + 1] - first[i], arena, error));
        arena_release(arena, mark);
    }
    return SUTRA_OK;
}

static void add_steps(struct sutra_nsys *nsys) {
    struct sutra_table *table = result_table_begin(&nsys->result, SUTRA_NSYS_STEPS);
    for (uint64_t i = 0; i < nsys->report.n_steps; i++) {
        const struct nsys_step *step = &nsys->report.steps[i];
        TABLE_INTEGERS(table, step->rank, step->step, step->tid, step->start, step->dur);
    }
}

/* ---- The report ---- */

static enum sutra_status make_tables(struct sutra_nsys *nsys, const struct engine *engine, struct arena *arena,
                                     struct sutra_error *error) {
    TRY(add_durations(nsys, engine, SUTRA_NSYS_KERNELS, arena, error));
    TRY(add_durations(nsys, engine, SUTRA_NSYS_API, arena, error));
    TRY(add_projection(nsys, engine, arena, error));
    TRY(add_memory(nsys, engine, arena, error));
    TRY(add_gpus(nsys, engine, arena, error));
    add_steps(nsys);
    return result_status(&nsys->result, error);
}

/* Opens and reads a report; a rank in the path replaces the rank of the options. */
static enum sutra_status open_report(struct nsys_report *report, struct sutra_context *context,
                                     const struct source_input *input, struct nsys_options *options,
                                     struct sutra_error *error) {
    struct source source;
    *report = (struct nsys_report){0};
    TRY(source_read(&source, context, "read report", input, error));
    options->rank = source.rank;
    enum sutra_status status;
    if (is_sqlite(source.bytes, source.size))
        status = nsys_report_read(report, context, &source, options, error);
    else
        status = source_refuse(&source, 0, "the SQLite database of a report", ": " NSYS_EXPORT " writes one", error);
    source_close(&source);
    return status;
}

enum sutra_status sutra_is_nsys(const char *path, bool *is_nsys, struct sutra_error *error) {
    struct source source;
    TRY(source_open_format(&source, path, is_sqlite, 0, error));
    *is_nsys = is_sqlite(source.bytes, source.size);
    source_close(&source);
    return SUTRA_OK;
}

static enum sutra_status read_report(struct sutra_context *context, const struct source_input *input,
                                     const struct sutra_nsys_options *options, struct sutra_nsys **nsys,
                                     struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_nsys_options, no_tables);
    struct sutra_nsys_options chosen;
    TRY(options_copy(&form, options, &chosen, error));
    struct sutra_nsys *made = calloc(1, sizeof *made);
    if (!made || !result_init(&made->result, specs, SUTRA_NSYS_N_TABLES)) {
        sutra_nsys_free(made);
        return error_memory(error);
    }
    made->min_gap_ns = chosen.min_gap_ns ? chosen.min_gap_ns : MIN_GAP_NS;
    struct nsys_options model = {.rank = NSYS_ALL_RANKS, .annotation = chosen.annotation, .labels = !chosen.no_tables};
    stage_begin(context, "read report", 0);
    enum sutra_status status = open_report(&made->report, context, input, &model, error);
    made->rank = model.rank;
    stage_begin(context, "make tables", 0);
    struct arena arena = {0};
    if (!status && !chosen.no_tables)
        status = make_tables(made, &context->choice.cpu, &arena, error);
    arena_free(&arena);
    stage_end(context);
    if (!status)
        status = context_check_cancelled(context, error);
    if (status)
        sutra_nsys_free(made);
    else
        *nsys = made;
    return status;
}

enum sutra_status sutra_nsys_read(struct sutra_context *context, const char *path,
                                  const struct sutra_nsys_options *options, struct sutra_nsys **nsys,
                                  struct sutra_error *error) {
    return read_report(context, &(struct source_input){.name = path}, options, nsys, error);
}

enum sutra_status sutra_nsys_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                   const struct sutra_nsys_options *options, struct sutra_nsys **nsys,
                                   struct sutra_error *error) {
    return read_report(context, &(struct source_input){.name = name, .in_memory = true, .bytes = bytes, .size = size},
                       options, nsys, error);
}

void sutra_nsys_free(struct sutra_nsys *nsys) {
    if (!nsys)
        return;
    result_free(&nsys->result);
    nsys_report_free(&nsys->report);
    free(nsys);
}

void sutra_nsys_info(const struct sutra_nsys *nsys, struct sutra_nsys_info *info) {
    static const char *const kinds[NSYS_N_FORMATS] = {
        [NSYS_SYSTEMS] = "nsys", [NSYS_ROCPD] = "rocpd", [NSYS_RPD] = "rpd"};
    const struct nsys_report *report = &nsys->report;
    struct sutra_nsys_info made = {.kind = kinds[report->format],
                                   .has_utc = report->utc_offset != NSYS_NONE,
                                   .n_ranks = report->n_ranks,
                                   .rank = nsys->rank,
                                   .n_events = report->events.n,
                                   .n_ranges = report->n_ranges,
                                   .n_steps = report->n_steps,
                                   .n_forward_backward = report->n_pairs};
    made.utc_offset_ns = made.has_utc ? report->utc_offset : 0;
    for (uint64_t i = 0; i < report->events.n; i++) {
        made.n_kernels += report->events.category[i] == NSYS_KERNEL;
        made.n_calls += nsys_is_call(report->events.category[i]);
    }
    report_give(info, &made, sizeof made);
}

int sutra_nsys_rank(const struct sutra_nsys *nsys, uint32_t i, struct sutra_nsys_rank *rank) {
    if (i >= nsys->report.n_ranks)
        return 0;
    const struct nsys_rank *found = &nsys->report.ranks[i];
    *rank = (struct sutra_nsys_rank){found->rank, found->pid, found->devices, found->n_devices};
    return 1;
}

int sutra_nsys_skipped(const struct sutra_nsys *nsys, uint32_t i, const char **reason, uint64_t *count) {
    if (i >= NSYS_N_SKIPS)
        return 0;
    *reason = nsys_skip_names[i];
    *count = nsys->report.skipped[i];
    return 1;
}

enum sutra_status sutra_nsys_list_ranks(struct sutra_context *context, const char *path, int64_t **ranks, size_t *n,
                                        struct sutra_error *error) {
    struct nsys_report report;
    struct nsys_options options = {.rank = NSYS_ALL_RANKS, .ranks_only = true};
    enum sutra_status status = open_report(&report, context, &(struct source_input){.name = path}, &options, error);
    int64_t *list = status ? NULL : malloc((report.n_ranks + (size_t)1) * sizeof *list);
    if (!status && !list)
        status = error_memory(error);
    if (!status) {
        for (uint32_t i = 0; i < report.n_ranks; i++)
            list[i] = report.ranks[i].rank;
        *ranks = list;
        *n = report.n_ranks;
    }
    nsys_report_free(&report);
    return status;
}

/* A piece of the text of a trace. */
static void fill_text(const void *arg, size_t number, struct buffer *out) {
    const struct buffer *text = arg;
    size_t begin = MIN(number * PIECE_BYTES, text->length), end = MIN(begin + PIECE_BYTES, text->length);
    buffer_append(out, text->bytes + begin, end - begin);
}

enum sutra_status sutra_nsys_write_trace(struct sutra_context *context, const struct sutra_nsys *nsys, int64_t rank,
                                         const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    bool is_rank = nsys_find_rank(&nsys->report, rank) < nsys->report.n_ranks;
    if (!is_rank || (nsys->rank != NSYS_ALL_RANKS && nsys->rank != rank))
        return error_set(error, SUTRA_USAGE, "no rank %" PRId64 " in the report: it has %u ranks", rank,
                         nsys->report.n_ranks);
    struct buffer text = {0};
    stage_begin(context, "write", 0);
    enum sutra_status status = nsys_write_kineto(&nsys->report, context, rank, &text, error);
    if (!status)
        status = pieces_write(context, path, text.length / PIECE_BYTES + 1, fill_text, &text, n_bytes, error);
    stage_end(context);
    buffer_free(&text);
    return status;
}
