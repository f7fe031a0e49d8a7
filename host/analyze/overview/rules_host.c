/*
 * rules_host.c - findings about idle time in which the GPU waits for the host itself: a thread that is off its core,
 * CPU work without launches, launches that come too late, and gaps without a known cause.
 *
 * Each section is a rule: the condition under which it fires, and its saving. The rules share the idle time: a moment
 * that an earlier rule explains belongs to no later one.
 */
#include "analyze/overview/findings.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"
#include "facts/op_categories.h"

static void add_frames_note(const struct diagnosis *d, struct overview_finding *finding) {
    if (d->facts & FACT_FRAMES)
        append_finding_text(finding, " (with_stack inflates CPU times.)");
}

/* The union of the intervals of the findings of some rules, in the arena. The list of rules ends with NULL. */
static enum sutra_status spans_of_findings(const struct diagnosis *d, const struct finding_rule *const *rules,
                                           struct spans *spans, struct sutra_error *error) {
    *spans = (struct spans){.n = 0};
    for (; *rules; rules++) {
        const struct overview_finding *finding = finding_of_rule(d->findings->list, d->findings->n_all, *rules);
        struct spans both;
        if (!finding)
            continue;
        TRY(spans_union(spans, &finding->spans, d->arena, &both, error));
        *spans = both;
    }
    return SUTRA_OK;
}

/* ---- host_stall: a launching thread is off its core inside operators that normally take microseconds; idle in at
 * least MIN_STALLS of these intervals >= STALL_PERCENT. Saving: this time. ----
 *
 *     thread   | aten::linear ........................................ |
 *              |  aten::t    aten::view ............................   |      other calls of aten::view take 2 us
 *     edges    |  |      |   |                                     |   |
 *     stall                   <----------------------------------->
 *
 * An interval without edges, of starts and ends of events, is self time of the innermost event. Cost: O(n), and a sort
 * of the calls of names with a long interval. */

#define STALL_THREADS           2 /* the threads with most launches */
#define STALL_NS                1000000
#define STALL_MIN_CALLS         3  /* of the name */
#define STALL_MEDIANS           20 /* of the self time of the name */
#define MIN_STALLS              3
#define MIN_CALLS_PER_LONG_GEMM 10
#define STALL_PERCENT           8

/* An interval of a thread without an edge of an event; `host` is the innermost event. */
struct quiet_interval {
    int64_t begin, end;
    row_t host;
};

ORDER_BY(compare_intervals, struct quiet_interval, ASCENDING(begin) ASCENDING(end))

/* The long intervals of some threads, and the self time of each row of hosts. */
struct quiet_intervals {
    struct quiet_interval *list;
    uint64_t n, capacity;
    int64_t *self;
};

/* Adds the rows first .. last - 1 of a thread. False: out of memory. */
static bool add_quiet_intervals(const struct diagnosis *d, row_t first, row_t last, row_t *below,
                                struct quiet_intervals *quiet) {
    const struct host_rows *hosts = &d->model->hosts;
    row_t top = ROW_NONE; /* innermost event; its ancestors are linked by `below` */
    int64_t moment = INT64_MIN;
    for (row_t row = first; row <= last; row++) {
        const int64_t start = row < last ? hosts->start[row] : INT64_MAX;
        while (top != ROW_NONE) {
            const int64_t end = MIN(hosts->stop[top], start);
            if (end > moment) {
                quiet->self[top] += end - moment;
                if (end - moment >= STALL_NS) {
                    if (!arena_grow(d->arena, &quiet->list, quiet->n, &quiet->capacity, sizeof *quiet->list))
                        return false;
                    quiet->list[quiet->n++] = (struct quiet_interval){moment, end, top};
                }
                moment = end;
            }
            if (hosts->stop[top] > start)
                break;
            top = below[top];
        }
        if (row == last)
            break;
        moment = MAX(moment, start);
        below[row] = top;
        top = row;
    }
    return true;
}

/* Whether the time inside an event depends on other things than the core: waits, memory, sizes, Python code. */
static bool is_slow_by_design(const struct diagnosis *d, row_t row) {
    const struct host_rows *hosts = &d->model->hosts;
    const struct strings *strings = d->model->strings;
    static const char *const words[] = {"synchroniz", "dataloader", "malloc", "free", "memcpy"};
    const uint32_t name = host_name(d->model, row), roles = overview_name(d->overview, row);
    if (hosts->kind[row] == HOST_FRAME || d->overview->blocks[row] ||
        roles & (NAME_BLOCKING | NAME_LOADS_BATCH | NAME_STEP) ||
        (hosts->kind[row] == HOST_CALL && roles & NAME_SETS_UP))
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_compare(strings, name, TEXT_HAS_IN_ANY_CASE, words[i]))
            return true;
    return text_compare(strings, name, TEXT_IS, "aten::item") || text_compare(strings, name, TEXT_IS, "aten::copy_") ||
           text_compare(strings, name, TEXT_HAS, "_local_scalar_dense");
}

/* What is normal for a name: of its calls on the inspected threads. */
struct normal_time {
    row_t n, n_long;     /* calls; calls of at least STALL_NS */
    row_t n_long_self;   /* calls of this self time */
    int64_t median_self; /* of all calls */
    bool is_candidate;   /* a long interval is inside an event of this name */
};

struct self_time {
    uint32_t name;
    int64_t ticks;
};

ORDER_BY(compare_self_times, struct self_time, ASCENDING(name) ASCENDING(ticks))

/* Fills the normal times of candidates. The rows of thread k are thread[k] .. thread_end[k] - 1. */
static enum sutra_status find_normal_times(const struct diagnosis *d, const row_t *thread, const row_t *thread_end,
                                           unsigned n_threads, const int64_t *self, struct normal_time *normal,
                                           struct sutra_error *error) {
    const struct host_rows *hosts = &d->model->hosts;
    struct self_time *times = NULL;
    uint64_t n = 0, capacity = 0;
    for (unsigned k = 0; k < n_threads; k++)
        for (row_t row = thread[k]; row < thread_end[k]; row++) {
            struct normal_time *of = &normal[host_name(d->model, row)];
            if (!of->is_candidate)
                continue;
            of->n++;
            of->n_long += hosts->stop[row] - hosts->start[row] >= STALL_NS;
            of->n_long_self += self[row] >= STALL_NS;
            TRY_ALLOC(arena_grow(d->arena, &times, n, &capacity, sizeof *times), error);
            times[n++] = (struct self_time){host_name(d->model, row), self[row]};
        }
    if (n > 1)
        qsort(times, n, sizeof *times, compare_self_times);
    for (uint64_t i = 0; i < n; i += normal[times[i].name].n)
        normal[times[i].name].median_self = times[i + normal[times[i].name].n / 2].ticks;
    return SUTRA_OK;
}

/* The threads with most launches, at most STALL_THREADS: thread k has the rows thread[k] .. thread_end[k] - 1. */
static enum sutra_status find_launching_threads(const struct diagnosis *d, row_t *thread, row_t *thread_end,
                                                unsigned *n_threads, struct sutra_error *error) {
    const struct host_rows *hosts = &d->model->hosts;
    struct arena_mark mark = arena_mark(d->arena);
    row_t *n_launches = arena_zeros(d->arena, hosts->n_threads, sizeof *n_launches);
    uint32_t best[STALL_THREADS];
    TRY_ALLOC(n_launches, error);
    for (row_t k = 0; k < d->measures.n_launched; k++)
        n_launches[hosts->thread[d->model->devices.call[d->measures.launched[k]]]]++;
    for (*n_threads = 0; *n_threads < STALL_THREADS; ++*n_threads) {
        uint32_t most = 0;
        for (uint32_t i = 1; i < hosts->n_threads; i++)
            most = n_launches[i] > n_launches[most] ? i : most;
        if (hosts->n_threads == 0 || n_launches[most] == 0)
            break;
        best[*n_threads] = most;
        n_launches[most] = 0;
    }
    for (unsigned k = 0; k < *n_threads; k++) {
        BISECT(thread[k], hosts->n, hosts->thread[thread[k]] < best[k]);
        BISECT(thread_end[k], hosts->n, hosts->thread[thread_end[k]] <= best[k]);
    }
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

/* By string, in a trace without steps: the call that launches the first kernel of this name, whose code may be loaded
 * then; ROW_NONE. */
static enum sutra_status find_first_launches(const struct diagnosis *d, row_t **first, struct sutra_error *error) {
    const struct launch_model *model = d->model;
    const uint32_t n_strings = model->strings->n;
    *first = arena_alloc(d->arena, n_strings, sizeof **first);
    TRY_ALLOC(*first, error);
    for (uint32_t name = 0; name < n_strings; name++)
        (*first)[name] = ROW_NONE;
    for (row_t k = d->overview->window.n_steps ? 0 : d->measures.n_launched; k > 0; k--) {
        const row_t device = d->measures.launched[k - 1];
        (*first)[model->events->name[model->devices.event[device]]] = model->devices.call[device];
    }
    return SUTRA_OK;
}

/* Whether a call is one of these. */
static bool loads_code(const struct diagnosis *d, const row_t *first_launches, row_t row) {
    const struct launch_links *links = &d->model->links;
    if (d->model->hosts.kind[row] != HOST_CALL || links->first[row] == links->first[row + 1])
        return false;
    const row_t device = links->device[links->first[row]];
    return first_launches[d->model->events->name[d->model->devices.event[device]]] == row;
}

/* Whether the steps with stalls have one each, at equal distances, and others have none: so come cycles of Python's
 * garbage collector. */
static bool recur_at_equal_steps(const struct diagnosis *d, const struct spans *stalls) {
    const struct overview_window *window = &d->overview->window;
    const struct host_rows *hosts = &d->model->hosts;
    row_t last = ROW_NONE, distance = 0, n = 0;
    for (row_t i = 0; i < stalls->n; i++) {
        row_t step;
        BISECT(step, window->n_steps, hosts->start[window->steps[step]] <= stalls->begin[i]);
        if (last != ROW_NONE && (step == last || (distance && step - last != distance)))
            return false;
        distance = last == ROW_NONE ? 0 : step - last;
        last = step;
        n++;
    }
    return n >= MIN_STALLS && distance > 1;
}

/* Whether the time inside a matrix multiplication depends on sizes: it computes on the CPU, as a call that launches
 * nothing, or as one of several long calls. */
static bool computes_on_cpu(const struct diagnosis *d, row_t row, const struct normal_time *of) {
    const uint32_t name = host_name(d->model, row);
    const row_t *first = d->model->links.first;
    const struct op_kind *kind =
        op_kind_find(strings_text(d->model->strings, name), strings_length(d->model->strings, name), OP_TABLE_ALL);
    return kind && kind->category == OP_GEMM &&
           (first[row] == first[d->model->hosts.end[row]] || of->n_long_self > of->n / MIN_CALLS_PER_LONG_GEMM);
}

static enum sutra_status find_host_stall(struct diagnosis *d, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    const struct host_rows *hosts = &d->model->hosts;
    const struct overview_window *window = &overview->window;
    row_t thread[STALL_THREADS], thread_end[STALL_THREADS], *first_launches;
    unsigned n_threads;
    const int64_t idle_ticks = overview_length(overview) - overview_busy(overview);
    if (d->host_suppressed || (d->alone && percent_of_window(d, (double)idle_ticks) < STALL_PERCENT))
        return SUTRA_OK; /* the ranks of a job compare how long their threads are off their cores */
    struct arena_mark mark = arena_mark(d->arena);
    struct quiet_intervals quiet = {.self = arena_zeros(d->arena, hosts->n, sizeof *quiet.self)};
    row_t *below = arena_alloc(d->arena, hosts->n, sizeof *below);
    struct normal_time *normal = arena_zeros(d->arena, d->model->strings->n, sizeof *normal);
    TRY(arena_status(d->arena, error));
    TRY(find_launching_threads(d, thread, thread_end, &n_threads, error));
    TRY(find_first_launches(d, &first_launches, error));

    /* Long intervals, and the time in which the first thread is off its core. */
    int64_t *off_core = &d->measures.off_core;
    for (unsigned k = 0; k < n_threads; k++) {
        const uint64_t first = quiet.n;
        TRY_ALLOC(add_quiet_intervals(d, thread[k], thread_end[k], below, &quiet), error);
        for (uint64_t i = first; i < quiet.n; i++) {
            const struct quiet_interval *interval = &quiet.list[i];
            const bool waits = overview->blocks[interval->host] || hosts->kind[interval->host] == HOST_FRAME ||
                               overview_name(overview, interval->host) & NAME_BLOCKING;
            *off_core += k > 0 || waits ? 0 : ticks_within(interval->begin, interval->end, window->from, window->to);
            normal[host_name(d->model, interval->host)].is_candidate = true;
        }
    }
    TRY(find_normal_times(d, thread, thread_end, n_threads, quiet.self, normal, error));

    /* The stalls among them. */
    uint64_t n = 0;
    for (uint64_t i = 0; i < quiet.n; i++) {
        const struct quiet_interval interval = quiet.list[i];
        const uint32_t name = host_name(d->model, interval.host);
        const struct normal_time *of = &normal[name];
        if (of->n >= STALL_MIN_CALLS && 2 * of->n_long < of->n && !is_slow_by_design(d, interval.host) &&
            !computes_on_cpu(d, interval.host, of) &&
            (double)(interval.end - interval.begin) >= STALL_MEDIANS * (double)of->median_self &&
            !loads_code(d, first_launches, interval.host))
            quiet.list[n++] = interval;
    }
    if (n > 1)
        qsort(quiet.list, n, sizeof *quiet.list, compare_intervals);
    struct spans stalls, gaps, idle;
    row_t n_stalls = 0;
    int64_t longest = 0;
    TRY(spans_reserve((row_t)n, d->kept, &stalls, error));
    for (uint64_t i = 0; i < n; i++) {
        if (ticks_within(quiet.list[i].begin, quiet.list[i].end, window->from, window->to) == 0)
            continue;
        spans_append(&stalls, quiet.list[i].begin, quiet.list[i].end);
        longest = MAX(longest, quiet.list[i].end - quiet.list[i].begin);
        n_stalls++;
    }
    TRY(spans_of_kinds(overview, KINDS_IDLE, d->arena, &gaps, error));
    TRY(spans_common(&stalls, &gaps, d->kept, &idle, error));
    arena_release(d->arena, mark);
    const double ticks = (double)spans_length(&idle), steps = d->measures.n_steps;
    if (n_stalls < MIN_STALLS || percent_of_window(d, ticks) < STALL_PERCENT)
        return SUTRA_OK;
    struct overview_finding *finding =
        add_finding(d, &rule_host_stall, &idle,
                    "A launching thread is off its CPU core: it stays up to %s inside operators that normally take "
                    "microseconds, %s. The GPU idles meanwhile, %s.",
                    brief_time_text((double)longest).text, counted_text(n_stalls, "time", "times").text,
                    finding_per_step(d, ticks).text);
    TRY(find_host_places(d, KINDS_IDLE, &idle, &finding->where, error));
    finding->facts |= recur_at_equal_steps(d, &stalls) ? FACT_EQUAL_STEPS : 0;
    set_finding_now(finding, "%s", finding_percent(ticks, d->measures.window).text);
    add_finding_number(finding, "idle_us", ticks / 1000 / steps);
    add_finding_number(finding, "stalls", n_stalls);
    add_finding_number(finding, "longest_us", (double)longest / 1000);
    add_finding_number(finding, "off_core_percent", percent_of_window(d, (double)*off_core));
    return SUTRA_OK;
}

#define CPUS_PAGE "slurm.schedmd.com/srun.html"
#define GC_PAGE   "docs.python.org/3/library/gc.html"
#define GIVE_CORES                                                                                                     \
    {                                                                                                                  \
        "Give each rank its own CPU cores: --cpus-per-task (Slurm), a higher CPU limit of the container (cgroup), "    \
        "taskset or numactl.",                                                                                         \
            "taskset", CPUS_PAGE, 0                                                                                    \
    }
#define FEWER_WORKERS                                                                                                  \
    { "Or use fewer DataLoader workers.", "torch.utils.data.DataLoader", TORCH_DOCS "data.html", 0 }

const struct finding_rule rule_host_stall = {
    .name = "host_stall",
    .title = "CPU thread stalls",
    .find = find_host_stall,
    .scope = SCOPE_IDLE,
    .uses_launches = true,
    .cpu = CPU_IS_RELIEVED,
    .waits_for = "for CPU threads that stall",
    .fix = "the CPU thread kept its core",
    .metric = "of the window idle in stalls",
    .after = "must fall",
    .remedies =
        {
            {.situation = "garbage_collection",
             .needs = FACT_EQUAL_STEPS,
             .lines = {{"The stalls recur at equal distances of steps, as Python's garbage collector runs: call "
                        "gc.freeze() before the loop, or gc.disable() in it.",
                        "gc.freeze", GC_PAGE, 0},
                       {"Else give each rank its own CPU cores (--cpus-per-task, taskset or numactl).", "taskset",
                        CPUS_PAGE, 0}}},
            {.situation = "workers", .needs = FACT_WORKERS, .lines = {GIVE_CORES, FEWER_WORKERS}},
            {.situation = "cores", .lines = {GIVE_CORES}},
        },
};

/* ---- cpu_preprocessing: gaps of the host in the same function, each >= LONG_GAP_PERCENT of a step, in total >=
 * LONG_GAP_NS and >= PREPROCESSING_PERCENT. Saving: their sum. ---- */

#define LONG_GAP_NS           5000000
#define SHORT_GAP_NS          1000000 /* shorter gaps are no work of their own */
#define LONG_GAP_PERCENT      10
#define LONG_GAP_HOST_PERCENT 80
#define PREPROCESSING_PERCENT 10

/* The host's time in a long gap that is mostly due to the host, and its longest row; 0: it is no such gap. */
static int64_t long_gap_ticks(const struct diagnosis *d, const struct overview_gap *gap, row_t *longest) {
    const struct overview_row *rows = d->overview->rows;
    const struct measures *measures = &d->measures;
    const struct launch_model *model = d->model;
    int64_t host = 0, launch = gap->begin, length = gap->end - gap->begin;
    if (length < SHORT_GAP_NS || percent_of_window(d, (double)length * measures->n_steps) < LONG_GAP_PERCENT ||
        gap->device == ROW_NONE)
        return 0;
    *longest = ROW_NONE;
    for (row_t i = gap->first; i < gap->last; i++) {
        if (rows[i].kind != OVERVIEW_HOST)
            continue;
        host += rows[i].end - rows[i].begin;
        launch = rows[i].end;
        if (*longest == ROW_NONE || rows[i].end - rows[i].begin > rows[*longest].end - rows[*longest].begin)
            *longest = i;
    }
    if ((double)host * 100 < (double)length * LONG_GAP_HOST_PERCENT)
        return 0;

    /* No activity was launched meanwhile. */
    row_t next = 0;
    BISECT(next, measures->n_launched, model->hosts.start[model->devices.call[measures->launched[next]]] < gap->begin);
    bool is_unknown =
        d->overview->window.n_steps == 0 && gap->begin == d->overview->window.from &&
        rows[*longest].frame == ROW_NONE; /* the time before the first activity of a trace without steps */
    bool has_launch =
        next < measures->n_launched && model->hosts.start[model->devices.call[measures->launched[next]]] < launch;
    return has_launch || is_unknown ? 0 : host;
}

/* "59.3 ms of each 175 ms step"; of all steps if some steps have no such gap. */
static struct figure time_of_gaps(const struct diagnosis *d, double ticks, row_t n_gaps) {
    double n_steps = d->measures.n_steps;
    struct figure figure;
    if (n_gaps >= n_steps)
        return finding_per_step(d, ticks);
    snprintf(figure.text, sizeof figure.text, "%.40s of the %.40s of %.0f steps", brief_time_text(ticks).text,
             brief_time_text(d->measures.window).text, n_steps);
    return figure;
}

/* A gap of the host, and the function that runs in most of it; STRING_NONE: unknown. */
struct long_gap {
    row_t gap;
    uint32_t function;
    int64_t host;
};

/* Lists the gaps in functions that have enough of them, and the function with most time. */
static enum sutra_status find_long_gaps(const struct diagnosis *d, struct long_gap *list, row_t *n, uint32_t *main,
                                        struct sutra_error *error) {
    const struct overview *overview = d->overview;
    const uint32_t n_strings = d->model->strings->n;
    int64_t *of_function = arena_zeros(d->arena, (size_t)n_strings + 1, sizeof *of_function); /* last: unknown */
    row_t n_all = 0;
    TRY(arena_status(d->arena, error));
    for (row_t i = 0; i < overview->n_gaps; i++) {
        row_t longest;
        const int64_t host = long_gap_ticks(d, &overview->gaps[i], &longest);
        if (host == 0)
            continue;
        /* Gaps without a function have nothing in common, and gaps of the optimizer have a rule of their own. */
        const row_t frame = overview->rows[longest].frame;
        const uint32_t function = frame == ROW_NONE ? n_strings : host_name(d->model, frame);
        const bool sums_up = frame != ROW_NONE && !text_compare(d->model->strings, function, TEXT_BEGINS, "Optimizer.");
        if (!sums_up && (host < LONG_GAP_NS || percent_of_window(d, (double)host) < PREPROCESSING_PERCENT))
            continue;
        ticks_add(&of_function[function], host);
        list[n_all++] = (struct long_gap){i, function, host};
    }
    int64_t most = 0;
    *n = 0;
    for (row_t i = 0; i < n_all; i++) {
        const struct long_gap gap = list[i];
        const int64_t ticks = of_function[gap.function];
        if (ticks < LONG_GAP_NS || percent_of_window(d, (double)ticks) < PREPROCESSING_PERCENT)
            continue;
        list[(*n)++] = gap;
        if (ticks > most) {
            most = ticks;
            *main = gap.function == n_strings ? STRING_NONE : gap.function;
        }
    }
    return SUTRA_OK;
}

static enum sutra_status find_cpu_preprocessing(struct diagnosis *d, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    const struct measures *measures = &d->measures;
    struct arena_mark mark = arena_mark(d->arena);
    struct long_gap *gaps = arena_alloc(d->arena, overview->n_gaps, sizeof *gaps);
    uint32_t function = STRING_NONE;
    int64_t max_ticks = 0;
    bool before_first = false;
    row_t n;
    struct spans all, explained, spans;
    static const struct finding_rule *const earlier[] = {&rule_startup, &rule_host_stall, NULL};
    TRY_ALLOC(gaps, error);
    TRY(find_long_gaps(d, gaps, &n, &function, error));
    TRY(spans_reserve(overview->n_rows, d->arena, &all, error));
    for (row_t i = 0; i < n; i++) {
        const struct overview_gap *gap = &overview->gaps[gaps[i].gap];
        for (row_t k = gap->first; k < gap->last; k++)
            if (overview->rows[k].kind == OVERVIEW_HOST)
                spans_append(&all, overview->rows[k].begin, overview->rows[k].end);
        before_first |= overview->window.n_steps == 0 && gap->begin == overview->window.from;
        max_ticks = MAX(max_ticks, gaps[i].host);
    }
    TRY(spans_of_findings(d, earlier, &explained, error));
    TRY(spans_without(&all, &explained, d->kept, &spans, error));
    arena_release(d->arena, mark);
    double sum = (double)spans_length(&spans);
    if (percent_of_window(d, sum) < PREPROCESSING_PERCENT)
        return SUTRA_OK;
    struct overview_finding *finding =
        add_finding(d, &rule_cpu_preprocessing, &spans, "The CPU launches nothing for %s, in %s",
                    time_of_gaps(d, sum, n).text, counted_text(n, "gap", "gaps").text);
    if (n > 1)
        append_finding_text(finding, ", longest %s", brief_time_text((double)max_ticks).text);
    if (before_first)
        append_finding_text(finding, ", before the first GPU activity: ignore if it happens once");
    append_finding_text(finding, ".");
    add_frames_note(d, finding);
    finding->facts |= function == STRING_NONE ? FACT_UNNAMED : FACT_NAMED;
    if (function != STRING_NONE) {
        copy_finding_name(d, function, finding->where.frame, sizeof finding->where.frame);
        memcpy(finding->subject, finding->where.frame, sizeof finding->subject);
    }
    set_finding_now(finding, "%s", brief_time_text(sum / measures->n_steps).text);
    add_finding_number(finding, "gaps", n);
    add_finding_number(finding, "idle_us", sum / 1000 / measures->n_steps);
    add_finding_number(finding, "longest_us", (double)max_ticks / 1000);
    return SUTRA_OK;
}

const struct finding_rule rule_cpu_preprocessing = {
    .name = "cpu_preprocessing",
    .title = "CPU work without launches",
    .find = find_cpu_preprocessing,
    .scope = SCOPE_IDLE,
    .uses_launches = true,
    .cpu = CPU_IS_RELIEVED,
    .waits_for = "for CPU work without launches",
    .fix = "the CPU prepared its work in parallel",
    .metric = "of idle time without launches per step",
    .after = "must go to 0",
    .remedies =
        {
            {.situation = "named",
             .needs = FACT_NAMED,
             .lines = {{"Move %s to worker processes or to the GPU, or do it once.", NULL, TUNING_PAGE, 0}}},
            {.situation = "unnamed",
             .lines = {{"The trace does not record the code: profile with with_stack=True.", "torch.profiler.profile",
                        PROFILER_PAGE, 0},
                       {"Then move this work to worker processes or to the GPU, or do it once.", NULL, TUNING_PAGE,
                        0}}},
        },
};

/* ---- host_bound: gaps of the host and of launches >= HOST_PERCENT, the queue runs empty or the host is always active,
 * and graphs launch less than half of the kernels. Saving: the gaps. ---- */

#define HOST_PERCENT        10
#define EMPTY_PERCENT       30
#define HOST_ACTIVE_PERCENT 95
#define MIN_LAUNCHES        10 /* fewer are no training */

/* The median duration of kernels that start in the window. */
static enum sutra_status median_kernel(const struct diagnosis *d, int64_t *median, struct sutra_error *error) {
    const struct device_rows *devices = &d->model->devices;
    const struct overview_window *window = &d->overview->window;
    struct arena_mark mark = arena_mark(d->arena);
    uint64_t *keys = arena_alloc(d->arena, devices->n, sizeof *keys);
    row_t *rows = arena_alloc(d->arena, devices->n, sizeof *rows), n = 0;
    TRY(arena_status(d->arena, error));
    for (row_t i = 0; i < devices->n; i++)
        if (d->overview->classes[i] == OVERVIEW_COMPUTE && devices->start[i] >= window->from &&
            devices->start[i] < window->to)
            keys[n++] = (uint64_t)(devices->stop[i] - devices->start[i]);
    TRY(median_of_keys(keys, rows, n, median, error));
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

#define UNIT_OF_HALF_PERCENT                                                                                           \
    50 /* the host is a smaller cause than the device, but one, if a unit has this share of it */
#define ONE_SHOT_LAUNCHES 1000 /* fewer launches are one pass of inference */

static enum sutra_status find_host_bound(struct diagnosis *d, struct sutra_error *error) {
    const uint32_t kinds = KIND(OVERVIEW_HOST) | KIND(OVERVIEW_LAUNCH);
    const struct measures *measures = &d->measures;
    static const struct finding_rule *const earlier[] = {&rule_startup, &rule_host_stall, &rule_cpu_preprocessing,
                                                         NULL};
    struct spans gaps, explained;
    struct finding_where where = {.n_units = 0};
    int64_t median;
    struct arena_mark mark = arena_mark(d->arena);
    TRY(spans_of_kinds(d->overview, kinds, d->arena, &gaps, error));
    TRY(spans_of_findings(d, earlier, &explained, error));
    TRY(spans_without(&gaps, &explained, d->kept, &d->host, error));
    arena_release(d->arena, mark);
    double ticks = (double)spans_length(&d->host);
    bool runs_empty = (double)measures->n_empty * 100 >= (double)measures->n_launches * EMPTY_PERCENT;
    bool always_active = percent_of_window(d, (double)measures->host_active) >= HOST_ACTIVE_PERCENT;
    if (d->host_suppressed || measures->n_launches < MIN_LAUNCHES || percent_of_window(d, ticks) < HOST_PERCENT ||
        !(runs_empty || always_active) || 2 * (uint64_t)measures->n_graph >= measures->n_kernels)
        return SUTRA_OK;
    TRY(find_host_places(d, kinds, &d->host, &where, error));
    TRY(median_kernel(d, &median, error));
    if (ticks <= (double)d->device_side && (where.n_units == 0 || where.units[0].percent < UNIT_OF_HALF_PERCENT))
        return SUTRA_OK;
    double busy = (double)overview_busy(d->overview), launches = measures->n_launches / measures->n_steps;
    struct overview_finding *finding = add_finding(
        d, &rule_host_bound, &d->host,
        "%s of %s%s find the queue empty. One launch comes every %s; the median kernel takes %s.",
        finding_percent(measures->n_empty, measures->n_launches).text,
        counted_text((uint64_t)llrint(launches), "launch", "launches").text,
        d->overview->window.n_steps ? " per step" : "", brief_time_text(measures->window / measures->n_launches).text,
        brief_time_text((double)median).text);
    add_frames_note(d, finding);
    finding->where = where;
    finding->facts |= (median > 2 * measures->median_call ? FACT_LONG_KERNELS : 0) |
                      (measures->n_graph_launches ? FACT_GRAPHS : 0) |
                      (measures->n_launches < ONE_SHOT_LAUNCHES ? FACT_FEW_LAUNCHES : 0);
    const bool is_engine = d->facts & FACT_ENGINE && !(d->facts & FACT_BACKWARD); /* which launches graphs */
    set_finding_now(finding, "%s", mean_count_text(is_engine ? (double)measures->n_graph_launches : launches).text);
    add_finding_number(finding, "idle_us", ticks / 1000 / measures->n_steps);
    add_finding_number(finding, "busy_percent", busy / measures->window * 100);
    add_finding_number(finding, "launches", launches);
    add_finding_number(finding, "queue_empty_percent", (double)measures->n_empty / measures->n_launches * 100);
    add_finding_number(finding, "launch_interval_us", measures->window / measures->n_launches / 1000);
    add_finding_number(finding, "median_kernel_us", (double)median / 1000);
    return SUTRA_OK;
}

static struct suspect_percents measure_short_kernels(const struct diagnosis *d) {
    const struct measures *measures = &d->measures;
    const bool is_known = measures->n_launches >= MIN_LAUNCHES && measures->n_kernels;
    return (struct suspect_percents){is_known ? (double)measures->n_short_kernels / measures->n_kernels * 100 : 0,
                                     percent_of_window(d, (double)spans_length(&d->host))};
}

#define GRAPHED_PAGE TORCH_DOCS "generated/torch.cuda.make_graphed_callables.html"
#define VLLM_PAGE    "docs.vllm.ai/en/latest/design/cuda_graphs/"
#define SGLANG_PAGE  "docs.sglang.ai"

const struct finding_rule rule_host_bound = {
    .name = "host_bound",
    .title = "Launch-bound",
    .title_if = {FACT_LONG_KERNELS, "CPU-bound"},
    .find = find_host_bound,
    .scope = SCOPE_IDLE,
    .uses_launches = true,
    .waits_for = "for kernel launches",
    .fix = "the CPU kept up",
    .metric = "launches per step",
    .after = "must fall",
    .remedies =
        {
            {.situation = "other_device",
             .needs = FACT_OTHER_DEVICE,
             .lines = {{"Launch fewer and larger kernels: torch.compile, or a larger batch.", "torch.compile",
                        COMPILE_PAGE, 0}}},
            {.situation = "engine",
             .needs = FACT_ENGINE | FACT_SGLANG,
             .excludes = FACT_BACKWARD,
             .lines = {{"Let the engine capture CUDA graphs: start SGLang without --disable-cuda-graph.",
                        "--disable-cuda-graph", SGLANG_PAGE, FACT_HIP},
                       {"Let the engine capture HIP graphs: start SGLang without --disable-cuda-graph.",
                        "--disable-cuda-graph", SGLANG_PAGE, FACT_CUDA},
                       {"Larger batches also keep the GPU busy.", NULL, SGLANG_PAGE, 0}},
             .metric = "graph launches",
             .after = "must rise"},
            {.situation = "engine",
             .needs = FACT_ENGINE | FACT_VLLM,
             .excludes = FACT_BACKWARD,
             .lines = {{"Let the engine capture CUDA graphs: enforce_eager=False, and "
                        "cudagraph_mode=FULL_AND_PIECEWISE (vLLM 0.11 or later).",
                        "cudagraph_mode", VLLM_PAGE, FACT_HIP},
                       {"Let the engine capture HIP graphs: enforce_eager=False, and "
                        "cudagraph_mode=FULL_AND_PIECEWISE (vLLM 0.11 or later).",
                        "cudagraph_mode", VLLM_PAGE, FACT_CUDA},
                       {"Larger batches also keep the GPU busy.", NULL, VLLM_PAGE, 0}},
             .metric = "graph launches",
             .after = "must rise"},
            {.situation = "engine",
             .needs = FACT_ENGINE,
             .excludes = FACT_BACKWARD,
             .lines = {{"Let the engine compile the model and capture CUDA graphs: "
                        "torch.compile(mode=\"reduce-overhead\").",
                        "torch.compile", COMPILE_PAGE, FACT_HIP},
                       {"Let the engine compile the model and capture HIP graphs: "
                        "torch.compile(mode=\"reduce-overhead\").",
                        "torch.compile", COMPILE_PAGE, FACT_CUDA},
                       {"Larger batches also keep the GPU busy.", NULL, TUNING_PAGE, 0}},
             .metric = "graph launches",
             .after = "must rise"},
            {.situation = "compiled",
             .needs = FACT_COMPILED,
             .excludes = FACT_GRAPHS,
             .lines = {{"The compiled graph runs kernel by kernel: use the Inductor backend, torch.compile(model).",
                        "torch.compile", COMPILE_PAGE, 0},
                       {"Then torch.compile(mode=\"reduce-overhead\"), which uses CUDA graphs (PyTorch 2.0 or later).",
                        "torch.compile", COMPILE_PAGE, FACT_HIP},
                       {"Then torch.compile(mode=\"reduce-overhead\"), which uses HIP graphs (PyTorch 2.0 or later).",
                        "torch.compile", COMPILE_PAGE, FACT_CUDA}}},
            {.situation = "graphs",
             .needs = FACT_GRAPHS,
             .lines = {{"Some kernels already run in graphs: capture the rest of the step, too.",
                        "torch.cuda.make_graphed_callables", GRAPHED_PAGE, 0},
                       {"Or use a larger batch.", NULL, TUNING_PAGE, 0}}},
            {.situation = "one_shot",
             .needs = FACT_FEW_LAUNCHES,
             .excludes = FACT_BACKWARD | FACT_OPTIMIZER,
             .lines = {{"One pass of inference: first use a larger batch, several items per pass.", NULL, TUNING_PAGE,
                        0},
                       {"Then torch.compile(mode=\"reduce-overhead\").", "torch.compile", COMPILE_PAGE, 0}},
             .metric = "launches per item"},
            {.situation = "eager",
             .lines = {{"Launch less often: torch.compile(mode=\"reduce-overhead\") uses CUDA graphs; or a larger "
                        "batch.",
                        "torch.compile", COMPILE_PAGE, FACT_HIP},
                       {"Launch less often: torch.compile(mode=\"reduce-overhead\") uses HIP graphs; or a larger "
                        "batch.",
                        "torch.compile", COMPILE_PAGE, FACT_CUDA},
                       {"Else capture parts of the model with torch.cuda.make_graphed_callables.",
                        "torch.cuda.make_graphed_callables", GRAPHED_PAGE, 0}}},
        },
    .suspect = {.name = "short_kernels",
                .text = "short kernels (%.0f%% take < 10 us, but the GPU waits for launches only %.1f%%)",
                .min_apparent = 40,
                .measure = measure_short_kernels,
                .position = 4},
};

/* ---- host_gaps: gaps of the host and of launches >= GAPS_PERCENT. The rules above, and the rules about the optimizer
 * and memory allocation, explain less than half of them. Saving: the other half, whose cause is unknown. ---- */

#define GAPS_PERCENT 10
#define GAPS_LISTED  3

/* The time of gaps in a function, or before an operator. */
struct gap_function {
    int64_t ticks;
    row_t n, host; /* gaps; a row of hosts of this name, from which callers are read */
};

/* Sums the gaps of the host by function, outside of `explained`: the event that covers most of a gap, else the operator
 * that ends it. `functions`, by string, are zeros. */
static void sum_gaps_by_function(const struct diagnosis *d, uint32_t kinds, const struct spans *explained,
                                 struct gap_function *functions) {
    const struct overview *overview = d->overview;
    const struct host_rows *hosts = &d->model->hosts;
    row_t next = 0, last_gap = ROW_NONE;
    uint32_t last = STRING_NONE;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (!(kinds >> row->kind & 1) || row->gap == ROW_NONE)
            continue;
        int64_t ticks = row->end - row->begin;
        while (next < explained->n && explained->end[next] <= row->begin)
            next++;
        for (row_t k = next; k < explained->n && explained->begin[k] < row->end; k++)
            ticks -= ticks_within(explained->begin[k], explained->end[k], row->begin, row->end);
        const row_t device = overview->gaps[row->gap].device;
        row_t host = row->frame != ROW_NONE ? row->frame
                     : device != ROW_NONE   ? d->model->devices.launcher[device]
                                            : ROW_NONE;
        if (host != ROW_NONE && hosts->kind[host] == HOST_CALL && hosts->around[host] != ROW_NONE)
            host = hosts->around[host]; /* the operator that calls it */
        if (ticks == 0 || host == ROW_NONE)
            continue;
        const uint32_t name = host_name(d->model, host);
        struct gap_function *function = &functions[name];
        function->host = function->n ? function->host : host;
        function->n += row->gap != last_gap || name != last;
        function->ticks += ticks;
        last_gap = row->gap;
        last = name;
    }
}

static enum sutra_status find_host_gaps(struct diagnosis *d, struct sutra_error *error) {
    static const struct finding_rule *const rules[] = {&rule_startup,
                                                       &rule_host_stall,
                                                       &rule_host_bound,
                                                       &rule_cpu_preprocessing,
                                                       &rule_allocation,
                                                       &rule_small_kernels_optimizer,
                                                       NULL};
    const uint32_t kinds = KIND(OVERVIEW_HOST) | KIND(OVERVIEW_LAUNCH), n_strings = d->model->strings->n;
    struct spans gaps, explained, rest;
    struct arena_mark mark = arena_mark(d->arena);
    if (d->host_suppressed)
        return SUTRA_OK;
    TRY(spans_of_kinds(d->overview, kinds, d->arena, &gaps, error));
    TRY(spans_of_findings(d, rules, &explained, error));
    TRY(spans_without(&gaps, &explained, d->kept, &rest, error));
    const double host = (double)spans_length(&gaps), unknown = (double)spans_length(&rest);
    if (percent_of_window(d, host) < GAPS_PERCENT || 2 * unknown <= host)
        return SUTRA_OK;
    struct gap_function *functions = arena_zeros(d->arena, n_strings, sizeof *functions);
    TRY_ALLOC(functions, error);
    sum_gaps_by_function(d, kinds, &explained, functions);
    struct overview_finding *finding =
        add_finding(d, &rule_host_gaps, &rest, "The GPU idles %s for the CPU, and no other finding explains it.",
                    finding_per_step(d, unknown).text);
    TRY(find_host_places(d, kinds, &rest, &finding->where, error));

    /* The functions with most time. */
    for (int i = 0; i < GAPS_LISTED; i++) {
        uint32_t most = STRING_NONE;
        for (uint32_t name = 0; name < n_strings; name++)
            if (functions[name].ticks > (most == STRING_NONE ? 0 : functions[most].ticks))
                most = name;
        if (most == STRING_NONE)
            break;
        const struct gap_function *function = &functions[most];
        const uint32_t frame = user_frame_of(d, function->host);
        append_finding_text(finding, "%s%s in %s (%s)", i ? ", " : " Largest: ",
                            brief_time_text((double)function->ticks / d->measures.n_steps).text,
                            finding_name(d, most).text, counted_text(function->n, "gap", "gaps").text);
        if (i == 0 && frame != STRING_NONE && frame != most)
            copy_finding_name(d, frame, finding->where.frame, sizeof finding->where.frame);
        if (i == 0)
            copy_finding_name(d, most, finding->subject, sizeof finding->subject);
        functions[most].ticks = 0;
    }
    append_finding_text(finding, ".");
    add_frames_note(d, finding);
    set_finding_now(finding, "%s", brief_time_text(unknown / d->measures.n_steps).text);
    add_finding_number(finding, "idle_us", unknown / 1000 / d->measures.n_steps);
    add_finding_number(finding, "host_percent", percent_of_window(d, host));
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

#define SHORTEN_CPU_WORK                                                                                               \
    { "Then shorten or overlap the CPU work before these launches.", NULL, TUNING_PAGE, 0 }

const struct finding_rule rule_host_gaps = {
    .name = "host_gaps",
    .title = "CPU gaps, cause unknown",
    .find = find_host_gaps,
    .uses_launches = true,
    .cause_is_unknown = true,
    .cpu = CPU_IS_RELIEVED,
    .waits_for = "for the CPU",
    .fix = "the other CPU gaps closed",
    .metric = "of idle time in these gaps per step",
    .after = "must fall",
    .remedies =
        {
            {.situation = "no_operators",
             .needs = FACT_NO_OPERATORS,
             .lines = {{"Record the CPU, too: activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA].",
                        "torch.profiler.profile", PROFILER_PAGE, 0},
                       SHORTEN_CPU_WORK}},
            {.situation = "frames",
             .needs = FACT_FRAMES,
             .lines = {{"Open the range of this finding in Perfetto: shorten or overlap the CPU work before these "
                        "launches.",
                        "sutra cut", NULL, 0}}},
            {.situation = "no_frames",
             .lines = {{"Record Python functions to see the code: profile with with_stack=True.",
                        "torch.profiler.profile", PROFILER_PAGE, 0},
                       SHORTEN_CPU_WORK}},
        },
};
