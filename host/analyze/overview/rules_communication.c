/*
 * rules_communication.c - findings about collectives: exposed communication, underused links, and signs of a straggler
 * in the trace of one rank.
 *
 * Each section is a rule: the condition under which it fires, and its saving.
 */
#include <stdio.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "analyze/overview/findings.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "facts/collectives.h"
#include "facts/gpu_peaks.h"
#include "text/names.h"

/* ---- exposed_comm: >= EXPOSED_PERCENT. Saving: this time (without the wait for a straggler, with several ranks).
 * ---- */

#define EXPOSED_PERCENT      8
#define SHOWN_AS_ALL         0.9995 /* a share that would be printed as 100.0 % */
#define OVERLAP_PERCENT      10     /* less is reported as almost none */
#define COLLECTIVES_PER_STEP 100    /* and half of them short: about one per parameter */

enum sutra_status rule_exposed_comm(struct diagnosis *d, struct sutra_error *error) {
    struct measures *measures = &d->measures;
    const struct device_rows *devices = &d->model->devices;
    double exposed = (double)d->overview->ticks[OVERVIEW_COMMUNICATION];
    if (percent_of_window(d, exposed) < EXPOSED_PERCENT)
        return SUTRA_OK;
    enum sutra_status status =
        kind_clock_make(d->overview, KIND(OVERVIEW_COMMUNICATION), d->arena, &measures->exposed, error);
    if (status)
        return status;

    /* The kernel with most exposed communication. */
    struct arena_mark mark = arena_mark(d->arena);
    int64_t *sums = arena_zeros(d->arena, d->model->strings->n, sizeof *sums), max_ticks = 0;
    uint32_t name = STRING_NONE;
    if (!sums)
        return error_memory(error);
    for (row_t i = 0; i < devices->n; i++) {
        if (d->overview->classes[i] != OVERVIEW_COMMUNICATION)
            continue;
        uint32_t of = d->model->events->name[devices->event[i]];
        ticks_add(&sums[of], kind_clock_between(&measures->exposed, devices->start[i], devices->stop[i]));
        if (sums[of] > max_ticks) {
            max_ticks = sums[of];
            name = of;
        }
    }
    arena_release(d->arena, mark);
    if (name == STRING_NONE)
        return SUTRA_OK;

    bool is_all = (double)max_ticks >= SHOWN_AS_ALL * exposed;
    struct overview_finding *finding =
        add_finding(d, FINDING_EXPOSED_COMM, exposed, "Exposed communication: %s (%s), %s of it in %s",
                    finding_per_step(d, exposed).text, finding_percent(exposed, measures->window).text,
                    is_all ? "all" : finding_percent((double)max_ticks, exposed).text, finding_name(d, name).text);
    double total = (double)d->overview->communication;
    double overlap_percent = total > 0 ? (total - exposed) / total * 100 : 0;
    if (overlap_percent < OVERLAP_PERCENT)
        append_finding_text(finding, "; almost none overlaps with compute");
    else
        append_finding_text(finding, "; %.0f%% of %s overlaps with compute", overlap_percent,
                            finding_time(total / measures->n_steps).text);
    add_finding_number(finding, "exposed_us", exposed / 1000 / measures->n_steps);
    add_finding_number(finding, "communication_us", total / 1000 / measures->n_steps);
    add_finding_number(finding, "overlap_percent", overlap_percent);
    double per_step = measures->n_collectives / measures->n_steps;
    add_finding_number(finding, "collectives", per_step);
    if (d->overview->window.n_steps && per_step >= COLLECTIVES_PER_STEP &&
        2 * (uint64_t)measures->n_short_collectives >= measures->n_collectives)
        append_finding_text(
            finding, ". Bucket the collectives: %.0f per step, half of them below 50 us, about one per parameter.",
            per_step);
    else
        append_finding_text(finding, ". Overlap it with compute (DDP buckets, prefetching), or send less or less often "
                                     "(gradient accumulation, no_sync).");
    return SUTRA_OK;
}

/* ---- slow_collective: the fastest collective of >= SLOW_BYTES has a bus bandwidth < SLOW_LINK_PERCENT of the link's,
 * and at least MIN_ALIKE of its size take equally long (within UNEVEN_SPREAD). Saving: their time less the time at
 * half of the link's rate. With several ranks, the rule does not fire if links are used once all ranks have arrived
 * (straggler.c). ---- */

#define SLOW_BYTES       1e6
#define MIN_ALIKE        3
#define UNEVEN_SPREAD    1.5 /* factor to the fastest of equal size from which durations differ */
#define RANKS_OF_MACHINE 8

/* Equal for collectives of the same kind, type, size and group. */
static struct tuple collective_likeness(const struct collective_call *call) {
    return (struct tuple){{(value_key)((uint64_t)call->what << 32 | call->type), call->n_in, call->n_out, call->group}};
}

double large_collective_bandwidth(const struct collective_calls *calls, const struct collective_call *call) {
    enum comm_kind kind = collective_kind_of(strings_text(&calls->strings, call->what));
    int64_t n = calls->groups[call->group].size;
    double seconds = (double)(call->end_ns - call->start_ns) / 1e9;
    bool is_ring = kind == COMM_ALL_REDUCE || kind == COMM_ALL_GATHER || kind == COMM_REDUCE_SCATTER;
    if (!is_ring || n < 2 || n > RANKS_OF_MACHINE || call->is_message || !(seconds > 0))
        return 0;
    double bytes = (double)collective_elements(kind, call->n_in, call->n_out, n) *
                   collective_type_bytes(strings_text(&calls->strings, call->type));
    return bytes < SLOW_BYTES ? 0 : bytes * collective_bus_share(kind, n) / seconds;
}

enum sutra_status rule_slow_collective(struct diagnosis *d, struct sutra_error *error) {
    const struct collective_calls *calls = d->calls;
    double link = device_link_of(&d->model->trace->document), bandwidth = 0, spread = 1;
    const struct collective_call *best = NULL;
    row_t n_large = 0, n_alike = 0;
    (void)error;
    if (!d->fired[FINDING_EXPOSED_COMM] || link <= 0)
        return SUTRA_OK;
    for (uint64_t i = 0; i < calls->n; i++) {
        double of_call = large_collective_bandwidth(calls, &calls->list[i]);
        n_large += of_call > 0;
        if (of_call <= bandwidth)
            continue;
        bandwidth = of_call;
        best = &calls->list[i];
    }
    if (!best || bandwidth >= link * SLOW_LINK_PERCENT / 100)
        return SUTRA_OK;
    double best_ns = (double)(best->end_ns - best->start_ns);
    struct tuple of_best = collective_likeness(best);
    for (uint64_t i = 0; i < calls->n; i++) {
        const struct collective_call *call = &calls->list[i];
        struct tuple of_call = collective_likeness(call);
        if (memcmp(&of_call, &of_best, sizeof of_call) != 0)
            continue;
        spread = fmax(spread, (double)(call->end_ns - call->start_ns) / best_ns);
        n_alike++;
    }
    if (n_alike < MIN_ALIKE || spread >= UNEVEN_SPREAD)
        return SUTRA_OK;
    double saving = (double)d->overview->ticks[OVERVIEW_COMMUNICATION] * (1 - bandwidth / (link / 2));
    struct overview_finding *finding = add_finding(
        d, FINDING_SLOW_COLLECTIVE, saving,
        "Underused links: the fastest large collective, %s of %lld elements, takes %s: %.1f of %.0f GB/s bus bandwidth. "
        "Check the transport with NCCL_DEBUG=INFO (NCCL_P2P_DISABLE, IOMMU, no peer access, too few channels). A "
        "straggler is unlikely: the duration is the same each time.",
        short_text(strings_text(&calls->strings, best->what), 24).text, (long long)best->n_in,
        finding_time(best_ns).text, bandwidth / 1e9, link / 1e9);
    add_finding_number(finding, "bus_gb_per_s", bandwidth / 1e9);
    add_finding_number(finding, "link_gb_per_s", link / 1e9);
    add_finding_number(finding, "large_collectives", n_large);
    return SUTRA_OK;
}

/* ---- straggler, in the trace of one rank: exposed_comm fired, and collectives that take at least UNEVEN_SPREAD times
 * as long as the fastest of their size wait >= LATE_PERCENT. Saving: their exposed time beyond the fastest. Only traces
 * of all ranks name the straggler (straggler.c). ---- */

#define LATE_PERCENT       5
#define MAX_ANCESTOR_DEPTH 16 /* ancestors of a call that are inspected for the kind of collective */

static bool has_size(const struct collective_call *call) {
    return call->n_in >= 0;
}

/* Whether a collective ends on all ranks simultaneously, so that all wait for the last. The kind of a kernel that does
 * not record it, such as send and receive, is the kind of an ancestor of its call. `kind_cache`, by string: kind + 1, 0
 * = not classified yet. */
static bool is_synchronizing(const struct diagnosis *d, const struct collective_call *call, row_t device,
                             uint8_t *kind_cache) {
    const struct launch_model *model = d->model;
    enum comm_kind kind = collective_kind_of(strings_text(&d->calls->strings, call->what));
    if (has_size(call) || (kind != COMM_MESSAGE && kind != COMM_OTHER))
        return collective_ends_at_once(kind);
    row_t row = model->devices.call[device];
    kind = COMM_OTHER;
    for (int i = 0; i < MAX_ANCESTOR_DEPTH && row != ROW_NONE && (kind == COMM_OTHER || kind == COMM_MESSAGE); i++) {
        uint32_t name = host_name(model, row);
        if (!kind_cache[name])
            kind_cache[name] = (uint8_t)(1 + collective_kind_of(strings_text(model->strings, name)));
        kind = (enum comm_kind)(kind_cache[name] - 1);
        row = model->hosts.parent[row];
    }
    return collective_ends_at_once(kind);
}

/* Synchronizing collectives, grouped by size. */
struct sized_calls {
    row_t n;
    row_t *device;
    uint32_t *group; /* of equal size */
    struct tuples sizes;
    int64_t *min_ns; /* by group: the shortest duration */
};

/* Groups collectives by their recorded size, or else by the input shapes and types of the operator that launched
 * them. */
static enum sutra_status group_calls_by_size(struct diagnosis *d, struct sized_calls *sized,
                                             struct sutra_error *error) {
    const struct launch_model *model = d->model;
    const struct device_rows *devices = &model->devices;
    uint64_t n = d->calls->n;
    row_t *device_of_call = arena_alloc(d->arena, n, sizeof *device_of_call);
    row_t *launchers = arena_alloc(d->arena, n, sizeof *launchers), n_launchers = 0, next_launcher = 0;
    uint8_t *kind_cache = arena_zeros(d->arena, model->strings->n, sizeof *kind_cache);
    sized->device = arena_alloc(d->arena, n, sizeof *sized->device);
    sized->group = arena_alloc(d->arena, n, sizeof *sized->group);
    sized->min_ns = arena_alloc(d->arena, n, sizeof *sized->min_ns);
    if (d->arena->failed)
        return error_memory(error);
    for (uint64_t i = 0; i < n; i++) {
        const struct collective_call *call = &d->calls->list[i];
        row_t device = rows_find(devices->event, devices->n, call->event);
        bool counts = device != ROW_NONE && d->overview->classes[device] == OVERVIEW_COMMUNICATION &&
                      is_synchronizing(d, call, device, kind_cache);
        row_t launcher = counts ? devices->launcher[device] : ROW_NONE;
        bool has_operator = launcher != ROW_NONE && model->hosts.kind[launcher] == HOST_OPERATOR;
        device_of_call[i] = counts && (has_size(call) || has_operator) ? device : ROW_NONE;
        if (device_of_call[i] != ROW_NONE && !has_size(call))
            launchers[n_launchers++] = launcher;
    }
    struct op_arguments arguments = {0};
    enum sutra_status status =
        op_arguments_read(d->context, model, launchers, n_launchers, d->arena, &arguments, error);
    for (uint64_t i = 0; i < n && !status; i++) {
        const struct collective_call *call = &d->calls->list[i];
        row_t device = device_of_call[i];
        if (device == ROW_NONE)
            continue;
        struct tuple size = collective_likeness(call);
        if (!has_size(call)) {
            row_t k = next_launcher++;
            uint32_t dims = op_argument_text(&arguments, ARGUMENT_DIMS, k);
            const char *text = strings_text(&arguments.texts, dims);
            value_key name = model->events->name[devices->event[device]];
            if (strncmp(text, "((", 2) != 0 || text[2] < '0' || text[2] > '9')
                continue; /* no shape of a tensor, in Python's format: a list of tensors, which has no size */
            size = (struct tuple){{-1 - name, dims, op_argument_text(&arguments, ARGUMENT_TYPES, k), 0}};
        }
        uint32_t n_groups = sized->sizes.n, group = tuples_number(&sized->sizes, size);
        int64_t duration = devices->stop[device] - devices->start[device];
        if (group == TUPLE_NONE) {
            status = error_memory(error);
            break;
        }
        if (group == n_groups || duration < sized->min_ns[group])
            sized->min_ns[group] = duration;
        sized->device[sized->n] = device;
        sized->group[sized->n++] = group;
    }
    op_arguments_free(&arguments);
    return status;
}

enum sutra_status rule_straggler(struct diagnosis *d, struct sutra_error *error) {
    const struct device_rows *devices = &d->model->devices;
    struct sized_calls sized = {0};
    struct arena_mark mark = arena_mark(d->arena);
    if (!d->alone || !d->fired[FINDING_EXPOSED_COMM])
        return SUTRA_OK;
    enum sutra_status status = group_calls_by_size(d, &sized, error);
    int64_t total_wait = 0, max_wait = 0, longest = 0, min_of_longest = 0;
    row_t n = 0;
    for (row_t i = 0; i < sized.n && !status; i++) {
        int64_t start = devices->start[sized.device[i]], stop = devices->stop[sized.device[i]];
        int64_t min = sized.min_ns[sized.group[i]], wait = stop - start - min;
        int64_t exposed = kind_clock_between(&d->measures.exposed, start, stop);
        wait = MIN(wait, exposed);
        if ((double)(stop - start) < UNEVEN_SPREAD * (double)min || wait <= 0)
            continue;
        ticks_add(&total_wait, wait);
        n++;
        if (wait > max_wait) {
            max_wait = wait;
            longest = stop - start;
            min_of_longest = min;
        }
    }
    tuples_free(&sized.sizes);
    arena_release(d->arena, mark);
    double wait = (double)total_wait;
    if (status || percent_of_window(d, wait) < LATE_PERCENT)
        return status;
    struct overview_finding *finding = add_finding(
        d, FINDING_STRAGGLER, wait, "Straggler on some rank: %s %s %s (%s) longer than the fastest of equal size",
        counted_text(n, "collective", "collectives").text, n == 1 ? "takes" : "take", finding_per_step(d, wait).text,
        finding_percent(wait, d->measures.window).text);
    append_finding_text(finding, ", %s%s instead of %s.", n == 1 ? "" : "one ", finding_time((double)longest).text,
                        finding_time((double)min_of_longest).text);
    append_finding_text(
        finding, " Analyze the traces of all ranks to find the rank (sutra analyze TRACE...). It may be this rank: "
                 "the straggler waits least.");
    add_finding_number(finding, "wait_us", wait / 1000 / d->measures.n_steps);
    add_finding_number(finding, "collectives", n);
    add_finding_number(finding, "longest_us", (double)longest / 1000);
    add_finding_number(finding, "min_us", (double)min_of_longest / 1000);
    return SUTRA_OK;
}
