/*
 * rules_communication.c - collectives that nothing hides, and those that are slower than the links.
 */
#include <stdio.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "analyze/overview/findings.h"
#include "base/error.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "facts/collectives.h"
#include "facts/gpu_peaks.h"
#include "text/names.h"

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

static struct tuple collective_likeness(const struct collective_call *call) {
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

/*
 * That a rank is late, as far as the trace of one other tells: collectives of equal size that take
 * unequally long. Who it is only the traces of all ranks tell (stragglers.c).
 */

/* ---- straggler, of a trace alone: exposed_comm speaks, and collectives that take UNEVEN_SPREAD times as long as the
 * quickest of their size, or longer, wait >= LATE_PERCENT. Win: what they take longer than that, where nothing hides
 * it. ---- */

#define LATE_PERCENT 5
#define LATE_DEPTH   16 /* events around a call that are looked at for what it is */

/* A collective whose size is known. */
struct sized_call {
    row_t device;
    uint32_t size; /* which one */
};

struct sized_calls {
    row_t n;
    struct sized_call *list;
    struct tuples sizes; /* what is equal where the size is */
    int64_t *least;      /* by size: the duration of the quickest */
};

/* What they come to. Times are ticks. */
struct late_sum {
    int64_t waited;
    row_t n;           /* that wait */
    int64_t least, at; /* of the one that waits most: the quickest of its size, and it */
    int64_t most;      /* what it waits */
};

/* What kernels do that do not tell it themselves, as those that send and receive: by what is around their call. `seen`
 * has of each name of the host what it tells, and 1; 0: nobody has looked. */
static enum comm_kind kind_around(const struct op_reading *reading, row_t call, uint8_t *seen) {
    enum comm_kind kind = COMM_OTHER;
    for (int i = 0; i < LATE_DEPTH && call != ROW_NONE && (kind == COMM_OTHER || kind == COMM_MESSAGE); i++) {
        uint32_t name = host_name(reading, call);
        if (!seen[name])
            seen[name] = (uint8_t)(1 + collective_kind_of(strings_text(reading->strings, name)));
        kind = (enum comm_kind)(seen[name] - 1);
        call = reading->hosts.parent[call];
    }
    return kind;
}

static bool tells_size(const struct collective_call *call) {
    return call->n_in >= 0;
}

/* Whether one that is not there yet holds all others up. */
static bool all_wait(const struct findings_work *work, const struct collective_call *call, row_t device,
                     uint8_t *seen) {
    enum comm_kind kind = collective_kind_of(strings_text(&work->calls->strings, call->what));
    if (!tells_size(call) && (kind == COMM_MESSAGE || kind == COMM_OTHER))
        kind = kind_around(work->reading, work->reading->devices.call[device], seen);
    return collective_ends_at_once(kind);
}

/* What those have in common that do not tell their size, by the shapes and types of the operator that launched them;
 * false: these tell nothing, as of lists of tensors. */
static bool launched_size(const struct findings_work *work, const struct op_arguments *arguments, row_t place,
                          row_t device, struct tuple *size) {
    uint32_t dims = op_argument_text(arguments, ARGUMENT_DIMS, place);
    const char *text = strings_text(&arguments->texts, dims);
    uint32_t name = work->reading->events->name[work->reading->devices.event[device]];
    *size = (struct tuple){{-1 - (value_key)name, dims, op_argument_text(arguments, ARGUMENT_TYPES, place), 0}};
    return strncmp(text, "((", 2) == 0 && text[2] >= '0' && text[2] <= '9'; /* as Python has them */
}

/* Adds one, and keeps the least time of its size; false: out of memory. */
static bool add_call(const struct findings_work *work, struct sized_calls *sized, struct tuple size, row_t device) {
    const struct device_rows *devices = &work->reading->devices;
    uint32_t n_known = sized->sizes.n, number = tuples_number(&sized->sizes, size);
    int64_t took = devices->stop[device] - devices->start[device];
    if (number == TUPLE_NONE)
        return false;
    if (number == n_known || took < sized->least[number])
        sized->least[number] = took;
    sized->list[sized->n++] = (struct sized_call){device, number};
    return true;
}

/* The devices' rows of calls that all ranks wait for and whose size can be known, ROW_NONE for others; lists the
 * operators that launched those that do not tell it, and returns how many. */
static row_t choose_calls(const struct findings_work *work, uint8_t *seen, row_t *device_of_call, row_t *launchers) {
    const struct op_reading *reading = work->reading;
    row_t n = 0;
    for (uint64_t i = 0; i < work->calls->n; i++) {
        const struct collective_call *call = &work->calls->list[i];
        row_t device = rows_place(reading->devices.event, reading->devices.n, call->event);
        bool counts = device != ROW_NONE && work->overview->classes[device] == OVERVIEW_COMMUNICATION &&
                      all_wait(work, call, device, seen);
        row_t launcher = counts ? reading->devices.launcher[device] : ROW_NONE;
        bool has_operator = launcher != ROW_NONE && reading->hosts.kind[launcher] == HOST_OPERATOR;
        device_of_call[i] = counts && (tells_size(call) || has_operator) ? device : ROW_NONE;
        if (device_of_call[i] != ROW_NONE && !tells_size(call))
            launchers[n++] = launcher;
    }
    return n;
}

static enum sutra_status size_calls(struct findings_work *work, struct sized_calls *sized, struct sutra_error *error) {
    uint64_t n = work->calls->n;
    row_t *devices = arena_take(work->arena, n, sizeof *devices),
          *launchers = arena_take(work->arena, n, sizeof *launchers);
    uint8_t *seen = arena_zeros(work->arena, work->reading->strings->n, sizeof *seen);
    struct op_arguments arguments = {0};
    sized->list = arena_take(work->arena, n, sizeof *sized->list);
    sized->least = arena_take(work->arena, n, sizeof *sized->least);
    enum sutra_status status = arena_status(work->arena, error);
    if (status)
        return status;
    row_t n_launchers = choose_calls(work, seen, devices, launchers), place = 0;
    status = op_arguments_read(work->context, work->reading, launchers, n_launchers, work->arena, &arguments, error);
    for (uint64_t i = 0; i < n && !status; i++) {
        const struct collective_call *call = &work->calls->list[i];
        struct tuple size = collective_likeness(call);
        if (devices[i] == ROW_NONE ||
            (!tells_size(call) && !launched_size(work, &arguments, place++, devices[i], &size)))
            continue;
        status = add_call(work, sized, size, devices[i]) ? SUTRA_OK : error_memory(error);
    }
    op_arguments_free(&arguments);
    return status;
}

static struct late_sum add_up(const struct findings_work *work, const struct sized_calls *sized) {
    const struct device_rows *devices = &work->reading->devices;
    struct late_sum sum = {0};
    for (row_t i = 0; i < sized->n; i++) {
        row_t device = sized->list[i].device;
        int64_t start = devices->start[device], stop = devices->stop[device], least = sized->least[sized->list[i].size];
        int64_t exposed = kind_clock_between(&work->measures.exposed, start, stop), waits = stop - start - least;
        waits = waits < exposed ? waits : exposed;
        if ((double)(stop - start) < UNEVEN_SPREAD * (double)least || waits <= 0)
            continue;
        ticks_add(&sum.waited, waits);
        sum.n++;
        if (waits > sum.most)
            sum = (struct late_sum){sum.waited, sum.n, least, stop - start, waits};
    }
    return sum;
}

static void say_late(struct findings_work *work, const struct late_sum *sum) {
    double waited = (double)sum->waited;
    struct overview_finding *finding = finding_say(
        work, FINDING_STRAGGLER, waited, "Straggler on some rank: %s %s %s (%s) longer than the fastest of equal size",
        counted_text(sum->n, "collective", "collectives").text, sum->n == 1 ? "takes" : "take",
        finding_per_step(work, waited).text, finding_percent(waited, work->measures.window).text);
    finding_add(finding, ", %s%s instead of %s.", sum->n == 1 ? "" : "one ", finding_time((double)sum->at).text,
                finding_time((double)sum->least).text);
    finding_add(finding,
                " Analyze the traces of all ranks to find the rank (sutra analyze TRACE...). It may be this rank: "
                "the straggler waits least.");
    finding_number(finding, "wait_us", waited / 1000 / work->measures.n_steps);
    finding_number(finding, "collectives", sum->n);
    finding_number(finding, "longest_us", (double)sum->at / 1000);
    finding_number(finding, "min_us", (double)sum->least / 1000);
}

enum sutra_status rule_straggler(struct findings_work *work, struct sutra_error *error) {
    struct sized_calls sized = {0};
    struct arena_mark mark = arena_mark(work->arena);
    if (!work->alone || !work->fired[FINDING_EXPOSED_COMM])
        return SUTRA_OK;
    enum sutra_status status = size_calls(work, &sized, error);
    struct late_sum sum = {0};
    if (!status)
        sum = add_up(work, &sized);
    if (part_of_window(work, (double)sum.waited) >= LATE_PERCENT)
        say_late(work, &sum);
    tuples_free(&sized.sizes);
    arena_release(work->arena, mark);
    return status;
}
