/*
 * rules_communication.c - collectives that nothing hides, and those that are slower than the links.
 */
#include "analyze/overview/findings.h"

#include <stdio.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "base/error.h"
#include "facts/collective_kind.h"
#include "facts/device_peaks.h"
#include "text/short_name.h"

/* ---- exposed_comm: >= EXPOSED_PERCENT. Win: that (less the wait for the last rank, where there are several). ---- */

#define EXPOSED_PERCENT    8
#define ALL_OF_IT          0.9995 /* what is shown as 100.0 % */
#define OVERLAP_PERCENT    10     /* less: none of it is hidden */
#define COLLECTIVES_A_STEP 100    /* and half of them short: there is one for each parameter */

/* The kernel that most exposed communication is of. */
static enum sutra_status find_collective(const struct findings_work *work, uint32_t *name, int64_t *ticks,
                                         struct sutra_error *error) {
    const struct device_rows *devices = &work->reading->devices;
    struct arena_mark mark = arena_mark(work->arena);
    int64_t *sums = arena_zeros(work->arena, work->reading->strings->n, sizeof *sums);
    enum sutra_status status = arena_status(work->arena, error);
    *name = STRING_NONE;
    *ticks = 0;
    for (row_t i = 0; i < devices->n && !status; i++) {
        if (work->overview->classes[i] != OVERVIEW_COMMUNICATION)
            continue;
        uint32_t of = work->reading->events->name[devices->event[i]];
        ticks_add(&sums[of], kind_clock_between(&work->measures.exposed, devices->start[i], devices->stop[i]));
        if (sums[of] > *ticks) {
            *ticks = sums[of];
            *name = of;
        }
    }
    arena_release(work->arena, mark);
    return status;
}

static void add_overlap(const struct findings_work *work, double exposed, struct overview_finding *finding) {
    const struct measures *measures = &work->measures;
    double all = (double)work->overview->communication, hidden = all > 0 ? (all - exposed) / all * 100 : 0;
    if (hidden < OVERLAP_PERCENT)
        finding_add(finding, "; almost none overlaps with compute");
    else
        finding_add(finding, "; %.0f%% of %s overlaps with compute", hidden,
                    finding_time(all / measures->n_steps).text);
    finding_number(finding, "exposed_us", exposed / 1000 / measures->n_steps);
    finding_number(finding, "communication_us", all / 1000 / measures->n_steps);
    finding_number(finding, "overlap_percent", hidden);
}

enum sutra_status rule_exposed_comm(struct findings_work *work, struct sutra_error *error) {
    struct measures *measures = &work->measures;
    double exposed = (double)work->overview->ticks[OVERVIEW_COMMUNICATION];
    uint32_t name = STRING_NONE;
    int64_t most;
    if (part_of_window(work, exposed) < EXPOSED_PERCENT)
        return SUTRA_OK;
    enum sutra_status status =
        kind_clock_make(work->overview, KIND(OVERVIEW_COMMUNICATION), work->arena, &measures->exposed, error);
    if (!status)
        status = find_collective(work, &name, &most, error);
    if (status || name == STRING_NONE)
        return status;
    bool all = (double)most >= ALL_OF_IT * exposed;
    struct overview_finding *finding =
        finding_say(work, FINDING_EXPOSED_COMM, exposed, "Exposed communication: %s (%s), %s of it in %s",
                    finding_per_step(work, exposed).text, finding_percent(exposed, measures->window).text,
                    all ? "all" : finding_percent((double)most, exposed).text, finding_name(work, name).text);
    add_overlap(work, exposed, finding);
    double a_step = measures->n_collectives / measures->n_steps;
    bool each = work->overview->window.n_steps && a_step >= COLLECTIVES_A_STEP &&
                2 * (uint64_t)measures->n_short_collectives >= measures->n_collectives;
    finding_number(finding, "collectives", a_step);
    if (each)
        finding_add(finding,
                    ". Bucket the collectives: %.0f per step, half of them below 50 us, about one per parameter.",
                    a_step);
    else
        finding_add(finding, ". Overlap it with compute (DDP buckets, prefetching), or send less or less often "
                             "(gradient accumulation, no_sync).");
    return SUTRA_OK;
}

/* ---- slow_collective: of those of >= SLOW_BYTES the fastest has a bus bandwidth < SLOW_LINK_PERCENT of the link's,
 * and SLOW_ALIKE or more take equally long (within UNEVEN_SPREAD). Win: what they would take less at half of the
 * link's rate. With several ranks, none whose links turn out to be used once all have come (stragglers.c). ---- */

#define SLOW_BYTES       1e6
#define SLOW_ALIKE       3
#define RANKS_OF_MACHINE 8

double large_collective_bandwidth(const struct collective_calls *calls, const struct collective_call *call) {
    enum comm_kind kind = collective_kind_of(strings_text(&calls->strings, call->what));
    int64_t n = calls->groups[call->group].size;
    double seconds = (double)(call->end_ns - call->start_ns) / 1e9;
    bool parts = kind == COMM_ALL_REDUCE || kind == COMM_ALL_GATHER || kind == COMM_REDUCE_SCATTER;
    if (!parts || n < 2 || n > RANKS_OF_MACHINE || call->is_message || !(seconds > 0))
        return 0;
    double bytes = (double)collective_elements(kind, call->n_in, call->n_out, n) *
                   collective_type_bytes(strings_text(&calls->strings, call->type));
    return bytes < SLOW_BYTES ? 0 : bytes * collective_bus_share(kind, n) / seconds;
}

/* Of the large ones. */
struct slow_calls {
    row_t n, n_alike; /* of these, of the same size as the best */
    double bandwidth; /* the best, bytes a second */
    const struct collective_call *best;
    double spread; /* the most that two of equal size differ by, as a factor */
};

struct tuple collective_likeness(const struct collective_call *call) {
    return (struct tuple){{(value_key)((uint64_t)call->what << 32 | call->type), call->n_in, call->n_out, call->group}};
}

static bool is_alike(const struct collective_call *a, const struct collective_call *b) {
    struct tuple of_a = collective_likeness(a), of_b = collective_likeness(b);
    return memcmp(&of_a, &of_b, sizeof of_a) == 0;
}

static struct slow_calls look_at(const struct collective_calls *calls) {
    struct slow_calls slow = {.spread = 1};
    for (uint64_t i = 0; i < calls->n; i++) {
        double bandwidth = large_collective_bandwidth(calls, &calls->list[i]);
        slow.n += bandwidth > 0;
        if (bandwidth <= slow.bandwidth)
            continue;
        slow.bandwidth = bandwidth;
        slow.best = &calls->list[i];
    }
    for (uint64_t i = 0; i < calls->n && slow.best; i++) {
        const struct collective_call *call = &calls->list[i];
        if (!is_alike(call, slow.best))
            continue;
        double factor = (double)(call->end_ns - call->start_ns) / (double)(slow.best->end_ns - slow.best->start_ns);
        slow.spread = fmax(slow.spread, factor);
        slow.n_alike++;
    }
    return slow;
}

static void say_slow(struct findings_work *work, const struct slow_calls *slow, double link) {
    const struct collective_call *best = slow->best;
    double exposed = (double)work->overview->ticks[OVERVIEW_COMMUNICATION];
    double win = exposed * (1 - slow->bandwidth / (link / 2));
    struct overview_finding *finding = finding_say(
        work, FINDING_SLOW_COLLECTIVE, win,
        "Underused links: the fastest large collective, %s of %lld elements, takes %s: %.1f of %.0f GB/s bus bandwidth. "
        "Check the transport with NCCL_DEBUG=INFO (NCCL_P2P_DISABLE, IOMMU, no peer access, too few channels). A "
        "straggler is unlikely: the duration is the same each time.",
        short_text(strings_text(&work->calls->strings, best->what), 24).text, (long long)best->n_in,
        finding_time((double)(best->end_ns - best->start_ns)).text, slow->bandwidth / 1e9, link / 1e9);
    finding_number(finding, "bus_gb_per_s", slow->bandwidth / 1e9);
    finding_number(finding, "link_gb_per_s", link / 1e9);
    finding_number(finding, "large_collectives", slow->n);
}

enum sutra_status rule_slow_collective(struct findings_work *work, struct sutra_error *error) {
    double link = device_link_of(&work->reading->trace->document);
    (void)error;
    if (!work->fired[FINDING_EXPOSED_COMM] || link <= 0)
        return SUTRA_OK;
    struct slow_calls slow = look_at(work->calls);
    if (slow.n_alike >= SLOW_ALIKE && slow.bandwidth < link * SLOW_LINK_PERCENT / 100 && slow.spread < UNEVEN_SPREAD)
        say_slow(work, &slow, link);
    return SUTRA_OK;
}
