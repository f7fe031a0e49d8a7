/*
 * stragglers.c - see stragglers.h. O(n log n) in collectives.
 *
 * Straggler: matched collectives whose ends agree within ENDS_AGREE_NS by the ranks' clocks; one rank has most of the
 * time by which the last is behind the first; that is >= LATE_PERCENT of the window of the rank that waits longest. Win:
 * that.
 */
#include "analyze/overview/stragglers.h"

#include "analyze/collective_matches.h"
#include "analyze/rank_clocks.h"
#include "base/bisect.h"
#include "base/error.h"
#include "read/fields.h"

#define ENDS_AGREE_NS 100000
#define LATE_PERCENT  5
#define LATE_MOSTLY   50 /* percent of all lateness that one rank must have */

/* ---- Of one rank ---- */

static int64_t base_ns(const struct document *document) {
    const struct document_member *base = document_find(document, "baseTimeNanoseconds");
    int64_t ns;
    return base && field_integer(document->source.bytes + base->value, &ns) ? ns : 0;
}

/* What a kernel is called where the trace does not tell: of which kind it is. */
static const char *kind_of_kernel(const char *name) {
    static const struct {
        const char *word, *kind;
    } kinds[] = {{"AllReduce", "allreduce"}, {"AllGather", "allgather"}, {"ReduceScatter", "reduce_scatter"},
                 {"Broadcast", "broadcast"}, {"Reduce", "reduce"},       {"SendRecv", "all_to_all"},
                 {"AllToAll", "all_to_all"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(name, kinds[i].word))
            return kinds[i].kind;
    return "collective";
}

/* Collectives by their kernels' names, all of one group and without a number. */
static bool take_untold(const struct overview *overview, struct rank_collectives *collectives, int64_t base) {
    const struct op_reading *reading = overview->reading;
    struct collective_calls *calls = &collectives->calls;
    uint32_t group = collective_group_take(calls, "", 0, "", 0, CALL_UNKNOWN);
    bool ok = group != UINT32_MAX;
    for (row_t k = 0; k < reading->devices.n && ok; k++) {
        row_t i = reading->devices.by_start[k];
        if (overview->classes[i] != OVERVIEW_COMMUNICATION)
            continue;
        const char *kind =
            kind_of_kernel(strings_text(reading->strings, reading->events->name[reading->devices.event[i]]));
        uint32_t what = strings_intern(&calls->strings, kind, strlen(kind)),
                 type = strings_intern(&calls->strings, "", 0);
        ok = what != STRING_NONE && type != STRING_NONE;
        const struct collective_call call = {.rank = collectives->rank,
                                             .group = group,
                                             .what = what,
                                             .type = type,
                                             .n_in = CALL_UNKNOWN,
                                             .n_out = CALL_UNKNOWN,
                                             .seq = CALL_UNKNOWN,
                                             .peer = CALL_UNKNOWN,
                                             .start_ns = reading->devices.start[i] + base,
                                             .end_ns = reading->devices.stop[i] + base};
        ok = ok && collective_call_add(calls, &call);
    }
    return ok;
}

enum sutra_status rank_collectives_take(struct sutra_context *context, const struct overview *overview, int64_t rank,
                                        struct rank_collectives *collectives, struct sutra_error *error) {
    const struct sutra_device_trace *trace = overview->reading->trace;
    int64_t base = base_ns(&trace->document);
    collectives->rank = rank;
    collectives->from_ns = overview->window.from + base;
    collectives->window_ns = overview_length(overview);
    collectives->n_steps = overview->window.n_steps;
    if (!collective_calls_init(&collectives->calls))
        return error_memory(error);
    enum sutra_status status = collective_calls_take(&collectives->calls, context, trace, rank, error);
    if (!status && collectives->calls.n == 0 && !take_untold(overview, collectives, base))
        status = error_memory(error);
    return status;
}

/* ---- Of all ---- */

/* Adds a rank's collectives to those of all. */
static bool join(const struct collective_calls *from, struct collective_calls *to) {
    bool ok = true;
    for (uint64_t i = 0; i < from->n && ok; i++) {
        struct collective_call call = from->list[i];
        const struct collective_group *group = &from->groups[call.group];
        call.group = collective_group_take(
            to, strings_text(&from->strings, group->name), strings_length(&from->strings, group->name),
            strings_text(&from->strings, group->members), strings_length(&from->strings, group->members), group->size);
        call.what = strings_intern(&to->strings, strings_text(&from->strings, call.what),
                                   strings_length(&from->strings, call.what));
        call.type = strings_intern(&to->strings, strings_text(&from->strings, call.type),
                                   strings_length(&from->strings, call.type));
        ok = call.group != UINT32_MAX && call.what != STRING_NONE && call.type != STRING_NONE &&
             collective_call_add(to, &call);
    }
    return ok;
}

struct late_search {
    struct rank_collectives *const *ranks;
    size_t n;
    const struct collective_calls *calls;
    const struct collective_matches *matches;
    const struct rank_clock *clocks;
    row_t n_clocks;
    int64_t *late, *waits; /* ns, by rank: how far it was behind the first, and waited for the last */
    int64_t all;
    row_t n_late; /* collectives for which the one that is blamed was last */
    row_t first;  /* the match of its first one */
};

/* The place of a call's rank among those of the job, which rise; n: it is none of them. */
static size_t place_of(const struct late_search *search, const struct collective_call *call) {
    struct bisection at = {0, (uint32_t)search->n};
    while (at.low < at.high)
        bisect(&at, search->ranks[bisect_middle(at)]->rank < call->rank);
    return at.low < search->n && search->ranks[at.low]->rank == call->rank ? at.low : search->n;
}

struct call_times {
    int64_t start, end;
};

static struct call_times times_of(const struct late_search *search, const struct collective_call *call) {
    const struct rank_clock *clock = &search->clocks[rank_clock_place(search->clocks, search->n_clocks, call->rank)];
    if (clock->n == 0 || !rank_clock_is_off(clock))
        return (struct call_times){call->start_ns, call->end_ns};
    return (struct call_times){rank_clock_time(clock, call->start_ns), rank_clock_time(clock, call->end_ns)};
}

/* Who came first and last to a collective, where all ended at once; false: they did not. */
struct arrivals {
    int64_t first, last;
    row_t last_place; /* of the match */
};

static bool look_at_match(const struct late_search *search, const struct collective_match *match,
                          struct arrivals *arrivals) {
    int64_t first_end = INT64_MAX, last_end = INT64_MIN;
    *arrivals = (struct arrivals){INT64_MAX, INT64_MIN, 0};
    if (match->is_message || match->n < 2)
        return false;
    for (row_t i = 0; i < match->n; i++) {
        struct call_times times = times_of(search, collective_match_call(search->calls, search->matches, match, i));
        if (times.start > arrivals->last) {
            arrivals->last = times.start;
            arrivals->last_place = i;
        }
        arrivals->first = times.start < arrivals->first ? times.start : arrivals->first;
        first_end = times.end < first_end ? times.end : first_end;
        last_end = times.end > last_end ? times.end : last_end;
    }
    return last_end - first_end <= ENDS_AGREE_NS;
}

static void sum_late(struct late_search *search) {
    for (row_t m = 0; m < search->matches->n; m++) {
        const struct collective_match *match = &search->matches->list[m];
        struct arrivals arrivals;
        if (!look_at_match(search, match, &arrivals))
            continue;
        size_t last =
            place_of(search, collective_match_call(search->calls, search->matches, match, arrivals.last_place));
        if (last < search->n)
            ticks_add(&search->late[last], arrivals.last - arrivals.first);
        ticks_add(&search->all, arrivals.last - arrivals.first);
    }
}

/* How long the others wait for the one that is blamed. */
static void sum_waits(struct late_search *search, size_t blamed) {
    search->first = ROW_NONE;
    for (row_t m = 0; m < search->matches->n; m++) {
        const struct collective_match *match = &search->matches->list[m];
        struct arrivals arrivals;
        if (!look_at_match(search, match, &arrivals) ||
            place_of(search, collective_match_call(search->calls, search->matches, match, arrivals.last_place)) !=
                blamed)
            continue;
        search->n_late++;
        search->first = search->first == ROW_NONE ? m : search->first;
        for (row_t i = 0; i < match->n; i++) {
            const struct collective_call *call = collective_match_call(search->calls, search->matches, match, i);
            size_t place = place_of(search, call);
            if (place < search->n)
                ticks_add(&search->waits[place], arrivals.last - times_of(search, call).start);
        }
    }
}

/* By how much later than the rank that waits longest the blamed one had begun its window, seen from their first
 * collective: the part of its lateness there that it did not make in the window. */
static int64_t late_before(const struct late_search *search, size_t blamed, size_t waiting) {
    const struct collective_match *match = &search->matches->list[search->first];
    int64_t start[2] = {0, 0}, own[2] = {0, 0};
    const size_t of[2] = {blamed, waiting};
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(search->calls, search->matches, match, i);
        for (int k = 0; k < 2; k++)
            if (place_of(search, call) == of[k]) {
                start[k] = times_of(search, call).start;
                own[k] = call->start_ns - search->ranks[of[k]]->from_ns;
            }
    }
    int64_t late = start[0] - start[1], in_window = own[0] - own[1];
    return in_window <= 0 ? late : late - in_window;
}

static void say_late(struct late_search *search, size_t blamed, size_t waiting, struct overview_finding *finding) {
    const struct rank_collectives *rank = search->ranks[blamed], *other = search->ranks[waiting];
    double steps = other->n_steps ? other->n_steps : 1, waits = (double)search->waits[waiting];
    int64_t before = late_before(search, blamed, waiting);
    *finding = (struct overview_finding){.rule = FINDING_STRAGGLER, .win = waits / (double)other->window_ns * 100};
    finding_add(finding,
                "Rank %lld holds the others up: it comes last to %s, all leave at once, and rank %lld waits %s of %s"
                "%s%s for it (%.1f%%).",
                (long long)rank->rank, counted_text(search->n_late, "collective", "collectives").text,
                (long long)other->rank, finding_time(waits / steps).text, steps > 1 ? "each " : "",
                finding_time((double)other->window_ns / steps).text, other->n_steps ? " step" : "", finding->win);
    if ((double)before >= 0.8 * waits)
        finding_add(finding,
                    " It begins the step %s late already: look at what only this rank does before it (logging, "
                    "evaluation, its data).",
                    finding_time((double)before).text);
    else
        finding_add(finding,
                    " Compare what its host and device do before them with rank %lld: more data, a slower "
                    "device, work that only it has.",
                    (long long)other->rank);
    finding_number(finding, "rank", (double)rank->rank);
    finding_number(finding, "waiting_rank", (double)other->rank);
    finding_number(finding, "wait_us", waits / 1000 / steps);
    finding_number(finding, "late_before_us", (double)before / 1000);
    finding_number(finding, "collectives", search->n_late);
}

static size_t most_of(const int64_t *values, size_t n) {
    size_t most = 0;
    for (size_t i = 1; i < n; i++)
        most = values[i] > values[most] ? i : most;
    return most;
}

static bool search_late(struct late_search *search, struct overview_finding *finding) {
    sum_late(search);
    size_t blamed = most_of(search->late, search->n);
    if (search->all <= 0 || (double)search->late[blamed] * 100 < (double)search->all * LATE_MOSTLY)
        return false;
    sum_waits(search, blamed);
    size_t waiting = most_of(search->waits, search->n);
    int64_t window = search->ranks[waiting]->window_ns;
    if (waiting == blamed || window <= 0 || (double)search->waits[waiting] * 100 < (double)window * LATE_PERCENT)
        return false;
    say_late(search, blamed, waiting, finding);
    for (size_t i = 0; i < search->n; i++)
        search->ranks[i]->wait_percent =
            search->ranks[i]->window_ns > 0 ? (double)search->waits[i] / (double)search->ranks[i]->window_ns * 100 : 0;
    return true;
}

enum sutra_status stragglers_find(struct rank_collectives *const *ranks, size_t n, struct arena *scratch,
                                  struct overview_finding *finding, bool *found, struct sutra_error *error) {
    struct collective_calls calls;
    struct collective_matches matches;
    struct rank_clock *clocks = NULL;
    struct arena_mark mark = arena_mark(scratch);
    row_t n_clocks = 0;
    bool ok = collective_calls_init(&calls);
    for (size_t i = 0; i < n && ok; i++)
        ok = join(&ranks[i]->calls, &calls);
    struct late_search search = {.ranks = ranks,
                                 .n = n,
                                 .calls = &calls,
                                 .matches = &matches,
                                 .late = arena_zeros(scratch, n, sizeof(int64_t)),
                                 .waits = arena_zeros(scratch, n, sizeof(int64_t))};
    enum sutra_status status = ok ? arena_status(scratch, error) : error_memory(error);
    *found = false;
    if (!status && n > 1 && calls.n > 0) {
        status = collective_matches_find(&calls, scratch, &matches, error);
        if (!status)
            status = rank_clocks_find(&calls, &matches, scratch, &clocks, &n_clocks, error);
        search.clocks = clocks;
        search.n_clocks = n_clocks;
        *found = !status && search_late(&search, finding);
    }
    collective_calls_free(&calls);
    arena_release(scratch, mark);
    return status;
}
