/*
 * measures.c - what several rules look at, taken once. O(n log n) for the order of launches, else O(n).
 */
#include "analyze/overview/findings.h"
#include "base/error.h"
#include "match/cpu_steps.h"

/* A launch that takes this long, and as many medians, waited for room in a queue. */
#define LONG_LAUNCH_NS      50000
#define LONG_LAUNCH_MEDIANS 10
#define SHORT_COLLECTIVE_NS 50000

static int64_t within_window(const struct overview *overview, row_t device) {
    const struct device_rows *devices = &overview->reading->devices;
    const struct overview_window *window = &overview->window;
    int64_t from = devices->start[device] > window->from ? devices->start[device] : window->from;
    int64_t to = devices->stop[device] < window->to ? devices->stop[device] : window->to;
    return to > from ? to - from : 0;
}

static void sum_names(struct findings_work *work) {
    const struct op_reading *reading = work->reading;
    const struct device_rows *devices = &reading->devices;
    struct measures *measures = &work->measures;
    for (row_t i = 0; i < devices->n; i++) {
        int64_t ticks = within_window(work->overview, i);
        if (ticks == 0)
            continue;
        row_t launcher = devices->launcher[i];
        ticks_add(&measures->device_time, ticks);
        ticks_add(&measures->of_kernel[reading->events->name[devices->event[i]]], ticks);
        if (launcher != ROW_NONE)
            ticks_add(&measures->of_operator[host_name(reading, launcher)], ticks);
        if (work->overview->classes[i] == OVERVIEW_COMMUNICATION) {
            measures->n_collectives++;
            measures->n_short_collectives += devices->stop[i] - devices->start[i] < SHORT_COLLECTIVE_NS;
        }
    }
}

/* ---- Launches ---- */

/* By the start of the call, work of one call by its own start. */
static enum sutra_status order_launches(struct findings_work *work, struct sutra_error *error) {
    const struct device_rows *devices = &work->reading->devices;
    struct measures *measures = &work->measures;
    measures->launched = arena_take(work->arena, devices->n, sizeof *measures->launched);
    struct arena_mark mark = arena_mark(work->arena);
    uint64_t *keys = arena_take(work->arena, devices->n, sizeof *keys);
    enum sutra_status status = arena_status(work->arena, error);
    for (row_t k = 0; k < devices->n && !status; k++) {
        row_t i = devices->by_start[k], call = devices->call[i];
        if (call == ROW_NONE)
            continue;
        keys[measures->n_launched] = integer_sort_key(work->reading->hosts.start[call]);
        measures->launched[measures->n_launched++] = i;
    }
    if (!status)
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, measures->launched, measures->n_launched}, error);
    arena_release(work->arena, mark);
    return status;
}

static void count_launches(struct findings_work *work) {
    const struct op_reading *reading = work->reading;
    const struct device_rows *devices = &reading->devices;
    const struct overview_window *window = &work->overview->window;
    struct measures *measures = &work->measures;
    int64_t last_end = INT64_MIN;
    for (row_t k = 0; k < measures->n_launched; k++) {
        row_t i = measures->launched[k], call = devices->call[i];
        int64_t start = reading->hosts.start[call];
        bool graph = overview_name(work->overview, call) & NAME_LAUNCH_GRAPH;
        if (start >= window->from && start < window->to) {
            measures->n_launches++;
            measures->n_empty += last_end <= start;
            measures->n_kernels += work->overview->classes[i] != OVERVIEW_COPY;
            measures->n_graph += graph && work->overview->classes[i] != OVERVIEW_COPY;
            measures->n_graph_launches += graph && (k == 0 || devices->call[measures->launched[k - 1]] != call);
        }
        last_end = devices->stop[i] > last_end ? devices->stop[i] : last_end;
    }
}

/* ---- The host ---- */

/* The middle one of the lengths of calls that launched something. */
static enum sutra_status median_call(const struct findings_work *work, int64_t *median, struct sutra_error *error) {
    const struct host_rows *hosts = &work->reading->hosts;
    const row_t *first = work->reading->links.first;
    struct arena_mark mark = arena_mark(work->arena);
    uint64_t *keys = arena_take(work->arena, hosts->n, sizeof *keys);
    row_t *rows = arena_take(work->arena, hosts->n, sizeof *rows), n = 0;
    enum sutra_status status = arena_status(work->arena, error);
    for (row_t row = 0; row < hosts->n && !status; row++)
        if (hosts->kind[row] == HOST_CALL && first[row] < first[row + 1]) {
            keys[n] = (uint64_t)(hosts->stop[row] - hosts->start[row]);
            rows[n++] = row;
        }
    if (!status)
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n}, error);
    *median = status || n == 0 ? 0 : (int64_t)keys[n / 2];
    arena_release(work->arena, mark);
    return status;
}

/* Marks what blocks or loads on threads that launch, then what blocks on any, and launches that wait for room. */
static void mark_waits(const struct findings_work *work, int64_t long_call, uint8_t *launching, uint8_t *inactive,
                       uint8_t *blocked) {
    const struct overview *overview = work->overview;
    const struct host_rows *hosts = &work->reading->hosts;
    const row_t *first = work->reading->links.first;
    for (row_t row = 0; row < hosts->n; row++)
        launching[hosts->thread[row]] |= first[row] < first[row + 1];
    for (row_t row = 0; row < hosts->n; row++) {
        bool call = hosts->kind[row] == HOST_CALL;
        bool loads = !call && overview_name(overview, row) & NAME_LOADS_BATCH;
        bool waits = call && first[row] < first[row + 1] && hosts->stop[row] - hosts->start[row] > long_call;
        inactive[row] = launching[hosts->thread[row]] && (overview->blocks[row] || loads);
        blocked[row] = overview->blocks[row] || waits;
    }
}

static enum sutra_status measure_host(struct findings_work *work, struct sutra_error *error) {
    const struct host_rows *hosts = &work->reading->hosts;
    struct arena *arena = work->arena;
    struct measures *measures = &work->measures;
    struct arena_mark mark = arena_mark(arena);
    uint8_t *launching = arena_zeros(arena, hosts->n_threads, 1);
    uint8_t *inactive = arena_take(arena, hosts->n, 1), *blocked = arena_take(arena, hosts->n, 1);
    struct spans spans = {0}, waits = {0};
    struct kind_clock busy = {0};
    int64_t median = 0;
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = median_call(work, &median, error);
    if (!status) {
        int64_t most = median < INT64_MAX / LONG_LAUNCH_MEDIANS ? median * LONG_LAUNCH_MEDIANS : INT64_MAX;
        mark_waits(work, most > LONG_LAUNCH_NS ? most : LONG_LAUNCH_NS, launching, inactive, blocked);
        status = spans_of_hosts(work->overview, inactive, arena, &spans, error);
    }
    if (!status)
        status = spans_of_hosts(work->overview, blocked, arena, &waits, error);
    if (!status)
        status = kind_clock_make(work->overview, KINDS_BUSY, arena, &busy, error);
    measures->host_active = overview_length(work->overview) - spans_length(&spans);
    measures->blocked_on_device = kind_clock_in(&busy, &waits);
    arena_release(arena, mark);
    return status;
}

static bool has_frames(const struct host_rows *hosts) {
    for (row_t row = 0; row < hosts->n; row++)
        if (hosts->kind[row] == HOST_FRAME)
            return true;
    return false;
}

/* Steps that a cut window still has. */
static row_t count_steps(const struct findings_work *work) {
    const struct overview_window *window = &work->overview->window;
    row_t n = 0;
    for (row_t i = 0; i < window->n_steps; i++)
        n += work->reading->hosts.stop[window->steps[i]] > window->from;
    return n;
}

enum sutra_status measures_take(struct findings_work *work, struct sutra_error *error) {
    struct measures *measures = &work->measures;
    uint32_t n_strings = work->reading->strings->n;
    row_t n_steps = count_steps(work);
    int64_t window = overview_length(work->overview);
    *measures = (struct measures){.window = window > 0 ? (double)window : 1,
                                  .n_steps = n_steps ? n_steps : 1,
                                  .of_kernel = arena_zeros(work->arena, n_strings, sizeof(int64_t)),
                                  .of_operator = arena_zeros(work->arena, n_strings, sizeof(int64_t)),
                                  .has_frames = has_frames(&work->reading->hosts)};
    enum sutra_status status = arena_status(work->arena, error);
    if (!status) {
        sum_names(work);
        status = order_launches(work, error);
    }
    if (!status) {
        count_launches(work);
        status = measure_host(work, error);
    }
    return status ? status : kind_clock_make(work->overview, KINDS_IDLE, work->arena, &measures->idle, error);
}
