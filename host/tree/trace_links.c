/*
 * trace_links.c - what Kineto's events of a trace stand below: where their flow starts, the call of their correlation,
 * the operator of their external id.
 *
 * A flow's halves are bound to events by thread and time; of several there, the one with the flow's id as correlation
 * is meant. Where a trace lacks a flow for work on the device, the call of the same correlation starts one; of several
 * starts with one id, as where traces were joined, the last one before the end is meant. An external
 * id is a link only if ids differ from correlations somewhere: older traces just repeat the correlation there. O(n) but
 * for sorts.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "columns/numbers.h"
#include "columns/row.h"
#include "match/steps.h"
#include "sutra/profiler.h"
#include "text/quantities.h"
#include "tree/profile_from_trace.h"

/*
 * Which thread of a trace each of autograd's small thread numbers means.
 *
 * A trace has the system's tids, and on backward operators the small number of the forward thread. Votes bring the two
 * together, one number for a thread and one thread for a number, the most votes first:
 *
 * - operators that the host trace knows: their small number and their thread;
 * - else the trace's own flows from forward to backward: the thread where a flow starts and the number where it ends;
 * - else backward operators: a thread with an earlier forward operator of the same sequence number. As any thread
 * counts from 0, these only count where most names agree, such as aten::addmm and AddmmBackward0.
 *
 * O(n), in expectation.
 */

/* Threads that one sequence number is looked for on. */
#define CANDIDATES_MAX 64

struct vote {
    uint32_t thread;
    int64_t number;
    uint64_t count, n_agreed, n_own; /* all; where names agree; by operators of the thread itself */
    uint32_t order;                  /* of first sight */
};

struct election {
    const struct sutra_profile *profile;
    const struct trace_rows *rows;
    struct pair_table lines; /* of (number, thread): the vote in the list */
    struct vote *votes;
    uint64_t capacity;
    uint32_t n;
    bool failed;
};

static void vote(struct election *election, uint32_t thread, int64_t number, bool agreed, bool own) {
    struct pair_entry *entry = pair_table_take(&election->lines, (uint64_t)number, thread);
    if (entry && entry->number == PAIR_NONE &&
        column_grow(&election->votes, election->n, &election->capacity, sizeof *election->votes)) {
        entry->number = election->n;
        election->votes[election->n++] = (struct vote){thread, number, 0, 0, 0, entry->number};
    }
    if (!entry || entry->number == PAIR_NONE) {
        election->failed = true;
        return;
    }
    election->votes[entry->number].count++;
    election->votes[entry->number].n_agreed += agreed;
    election->votes[entry->number].n_own += own;
}

ORDER_BY(compare_votes, struct vote, DESCENDING(count) DESCENDING(n_own) ASCENDING(order))

/* ---- The host trace ---- */

static void vote_by_host(struct election *election) {
    const struct sutra_profile *profile = election->profile;
    for (row_t row = 0; row < profile->n; row++)
        if (profile->kind[row] == SUTRA_EVENT_OPERATOR && profile->tid[row] > 0)
            vote(election, profile->thread[row], profile->tid[row], true, false);
}

/* ---- Flows from forward to backward ---- */

static bool is_half(const struct election *election, row_t event, uint8_t phase) {
    return election->rows->role[event] == ROLE_AUTOGRAD_FLOW && election->profile->trace->events.phase[event] == phase;
}

/* Where flows start, by id. */
static bool note_starts_trace_threads(const struct election *election, struct pair_table *starts) {
    for (row_t event = 0; event < election->profile->trace->events.n; event++) {
        if (!is_half(election, event, 's'))
            continue;
        struct pair_entry *entry = pair_table_take(starts, (uint64_t)election->rows->flow[event], 0);
        if (!entry)
            return false;
        entry->number = event;
    }
    return true;
}

/* Backward operators by thread and time, the first of each. */
static bool note_backwards(const struct sutra_profile *profile, struct pair_table *backwards) {
    bool ok = true;
    for (row_t row = 0; row < profile->n && ok; row++)
        if (profile->forward_tid[row] > 0)
            ok = pair_table_note(backwards, (uint64_t)profile->start[row], profile->thread[row], row);
    return ok;
}

static void vote_by_flows(struct election *election) {
    const struct sutra_profile *profile = election->profile;
    const struct trace_rows *rows = election->rows;
    struct pair_table starts = {0}, backwards = {0};
    bool ok = pair_table_init(&starts) && pair_table_init(&backwards) && note_starts_trace_threads(election, &starts) &&
              note_backwards(profile, &backwards);
    for (row_t event = 0; event < profile->trace->events.n && ok; event++) {
        if (!is_half(election, event, 'f'))
            continue;
        uint32_t start = pair_table_find(&starts, (uint64_t)rows->flow[event], 0);
        row_t row = pair_table_find(&backwards, (uint64_t)rows->start[event], rows->thread[event]);
        if (row != PAIR_NONE && start != PAIR_NONE)
            vote(election, rows->thread[start], profile->forward_tid[row], true, false);
    }
    pair_table_free(&starts);
    pair_table_free(&backwards);
    election->failed |= !ok;
}

/* ---- Sequence numbers ---- */

/* The next letter or digit of a name, in lower case; 0 at the end. */
static char next_letter(const char **name, const char *end) {
    while (*name < end && !isalnum((unsigned char)**name))
        ++*name;
    return *name < end ? (char)tolower((unsigned char)*(*name)++) : 0;
}

/* Whether a backward operator is named after a forward operator: "AddmmBackward0" after "aten::addmm". */
static bool names_agree(const char *forward, const char *backward) {
    const char *end = strstr(backward, "Backward"), *forward_end = forward + strlen(forward);
    const char *scope = strstr(forward, "::");
    if (!end || end == backward)
        return false;
    if (scope)
        forward = scope + 2;
    for (char wanted; (wanted = next_letter(&backward, end));)
        if (next_letter(&forward, forward_end) != wanted)
            return false;
    return true;
}

/* The forward operators of each sequence number, the last of each thread, as chains. */
struct forwards {
    struct pair_table first;  /* of a sequence number: a row */
    struct pair_table latest; /* of (sequence number, thread): the row whose name counts */
    row_t *next;
};

static bool note_forward(struct forwards *forwards, const struct sutra_profile *profile, row_t row) {
    uint64_t sequence = (uint64_t)profile->sequence[row];
    struct pair_entry *latest = pair_table_take(&forwards->latest, sequence, profile->thread[row]);
    if (!latest)
        return false;
    bool is_new = latest->number == PAIR_NONE;
    if (is_new || profile->start[row] >= profile->start[latest->number])
        latest->number = row;
    if (!is_new)
        return true;
    struct pair_entry *first = pair_table_take(&forwards->first, sequence, 0);
    if (!first)
        return false;
    forwards->next[row] = first->number;
    first->number = row;
    return true;
}

static void vote_on(struct election *election, const struct forwards *forwards, row_t backward) {
    const struct sutra_profile *profile = election->profile;
    uint64_t sequence = (uint64_t)profile->sequence[backward];
    row_t row = pair_table_find(&forwards->first, sequence, 0);
    for (int i = 0; row != ROW_NONE && i < CANDIDATES_MAX; i++, row = forwards->next[row]) {
        row_t forward = pair_table_find(&forwards->latest, sequence, profile->thread[row]);
        if (profile->start[forward] < profile->start[backward])
            vote(election, profile->thread[row], profile->forward_tid[backward],
                 names_agree(sutra_profile_name(profile, forward), sutra_profile_name(profile, backward)),
                 profile->thread[row] == profile->thread[backward]);
    }
}

static bool counts_as(const struct sutra_profile *profile, row_t row, bool backward) {
    const char *name = sutra_profile_name(profile, row);
    return profile->kind[row] == SUTRA_EVENT_OPERATOR && profile->sequence[row] >= 0 &&
           (profile->forward_tid[row] > 0) == backward && !sutra_autograd_evaluates(name, strlen(name));
}

/* Leaves the votes where most names agree. */
static void drop_disagreed(struct election *election) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < election->n; i++)
        if (2 * election->votes[i].n_agreed >= election->votes[i].count)
            election->votes[n++] = election->votes[i];
    election->n = n;
}

static void vote_by_sequences(struct election *election) {
    const struct sutra_profile *profile = election->profile;
    struct arena scratch = {0};
    struct forwards forwards = {.next = arena_take(&scratch, profile->n, sizeof *forwards.next)};
    bool ok = forwards.next && pair_table_init(&forwards.first) && pair_table_init(&forwards.latest);
    for (row_t row = 0; row < profile->n && ok; row++)
        if (counts_as(profile, row, false))
            ok = note_forward(&forwards, profile, row);
    for (row_t row = 0; row < profile->n && ok; row++)
        if (counts_as(profile, row, true))
            vote_on(election, &forwards, row);
    pair_table_free(&forwards.first);
    pair_table_free(&forwards.latest);
    arena_free(&scratch);
    election->failed |= !ok;
    drop_disagreed(election);
}

/* ---- The result ---- */

/* Gives numbers to threads, and threads to numbers, by falling votes. */
static bool elect(struct election *election, int64_t *number_of, struct pair_table *threads) {
    qsort(election->votes, election->n, sizeof *election->votes, compare_votes);
    for (uint32_t i = 0; i < election->n; i++) {
        const struct vote *best = &election->votes[i];
        struct pair_entry *entry = pair_table_take(threads, (uint64_t)best->number, 0);
        if (!entry)
            return false;
        if (entry->number != PAIR_NONE || number_of[best->thread])
            continue;
        entry->number = best->thread;
        number_of[best->thread] = best->number;
    }
    return true;
}

/* Hands the numbers to the operators. */
static bool settle(struct election *election, struct sutra_profile *profile) {
    struct arena scratch = {0};
    int64_t *number_of = arena_zeros(&scratch, profile->n_threads, sizeof *number_of);
    struct pair_table threads; /* of a number */
    bool ok = pair_table_init(&threads) && number_of && elect(election, number_of, &threads);
    for (row_t row = 0; row < profile->n && ok; row++) {
        if (profile->kind[row] != SUTRA_EVENT_OPERATOR)
            continue;
        if (!profile->tid[row])
            profile->tid[row] = number_of[profile->thread[row]];
        if (profile->forward_tid[row] > 0)
            profile->forward[row] = pair_table_find(&threads, (uint64_t)profile->forward_tid[row], 0);
    }
    pair_table_free(&threads);
    arena_free(&scratch);
    return ok;
}

static bool has_backward(const struct sutra_profile *profile) {
    for (row_t row = 0; row < profile->n; row++)
        if (profile->forward_tid[row] > 0)
            return true;
    return false;
}

static bool has_flows(const struct sutra_profile *profile, const struct trace_rows *rows) {
    for (row_t event = 0; event < profile->trace->events.n; event++)
        if (rows->role[event] == ROLE_AUTOGRAD_FLOW)
            return true;
    return false;
}

enum sutra_status take_threads(struct sutra_profile *profile, const struct trace_rows *rows, bool by_host,
                               struct sutra_error *error) {
    struct election election = {.profile = profile, .rows = rows};
    struct sutra_profile_report *report = &profile->report;
    if (!has_backward(profile))
        return SUTRA_OK;
    bool ok =
        pair_table_init(&election.lines) && column_grow(&election.votes, 0, &election.capacity, sizeof *election.votes);
    if (ok && by_host) {
        report->threads = SUTRA_THREADS_HOST;
        vote_by_host(&election);
    }
    if (ok && !election.n && has_flows(profile, rows)) {
        report->threads = SUTRA_THREADS_FLOWS;
        vote_by_flows(&election);
    } else if (ok && !election.n) {
        report->threads = SUTRA_THREADS_SEQUENCES;
        vote_by_sequences(&election);
    }
    ok = ok && !election.failed && settle(&election, profile);
    pair_table_free(&election.lines);
    free(election.votes);
    return ok ? SUTRA_OK : error_memory(error);
}

/*
 * Which event an activity belongs to, and the parents of Kineto's events by flow and by link.
 *
 * A flow leads from the launch to what it started and goes before the link, which leads to the operator that ran then.
 * Links may form cycles in a broken file; they are found by walking up from each event, marking what was seen.
 */

enum sutra_status sutra_reassociate(uint64_t n_events, uint64_t n, const int64_t *index, const uint8_t *of_profiler,
                                    uint32_t *event, struct sutra_reassociation *report, struct sutra_error *error) {
    struct sutra_reassociation counts = {0};
    struct arena scratch = {0};
    uint8_t *taken = arena_zeros(&scratch, n_events, sizeof *taken);
    enum sutra_status status = arena_status(&scratch, error);
    for (uint64_t i = 0; i < n && !status; i++) {
        event[i] = ROW_NONE;
        if (index[i] < 0 && of_profiler[i]) {
            counts.n_lost++;
        } else if (index[i] < 0) {
            event[i] = (uint32_t)(n_events + counts.n_kineto++);
        } else if ((uint64_t)index[i] >= n_events) {
            counts.n_beyond++;
        } else if (taken[index[i]]) {
            counts.n_repeated++;
        } else {
            taken[index[i]] = 1;
            event[i] = (uint32_t)index[i];
            counts.n_found++;
        }
    }
    arena_free(&scratch);
    if (!status)
        report_give(report, &counts, sizeof counts);
    return status;
}

struct lineage {
    const struct sutra_kineto_columns *events;
    uint32_t *parent;
    struct sutra_kineto_report report;
};

static bool in_flow(const struct sutra_kineto_columns *events, uint64_t row, enum sutra_flow_role role) {
    return events->is_kineto[row] && events->flow_role[row] == role;
}

static enum sutra_status note_starts_kineto(struct lineage *lineage, struct pair_table *starts,
                                            struct sutra_error *error) {
    const struct sutra_kineto_columns *events = lineage->events;
    for (uint64_t row = 0; row < events->n; row++) {
        if (!in_flow(events, row, SUTRA_FLOW_START))
            continue;
        struct pair_entry *entry = pair_table_take(starts, (uint64_t)events->flow_id[row], 0);
        if (!entry)
            return error_memory(error);
        if (entry->number == PAIR_NONE)
            entry->number = (uint32_t)row;
        else if (events->rocm)
            lineage->report.n_repeated++;
        else
            return error_set(error, SUTRA_DATA, "flow %lld starts twice (--rocm uses the first start)",
                             (long long)events->flow_id[row]);
    }
    return SUTRA_OK;
}

static void set_parents_kineto(struct lineage *lineage, const struct pair_table *starts) {
    const struct sutra_kineto_columns *events = lineage->events;
    for (uint64_t row = 0; row < events->n; row++) {
        lineage->parent[row] = ROW_NONE;
        if (!events->is_kineto[row])
            continue;
        if (in_flow(events, row, SUTRA_FLOW_END))
            lineage->parent[row] = pair_table_find(starts, (uint64_t)events->flow_id[row], 0);
        if (lineage->parent[row] != ROW_NONE) {
            lineage->report.n_by_flow++;
            continue;
        }
        lineage->report.n_ends_alone += in_flow(events, row, SUTRA_FLOW_END);
        lineage->parent[row] = events->linked[row];
        lineage->report.n_by_link += lineage->parent[row] != ROW_NONE;
    }
}

/* Walks up from each row to one whose line is known; a row of the same walk closes a cycle, which is cut there. Behind
 * each walk its rows are visited once more, from top to bottom, to hand the tid down. */
static enum sutra_status settle_lines(struct lineage *lineage, int64_t *tid, struct sutra_error *error) {
    const struct sutra_kineto_columns *events = lineage->events;
    struct arena scratch = {0};
    uint32_t *walk_of = arena_zeros(&scratch, events->n, sizeof *walk_of);
    uint32_t *path = arena_take(&scratch, events->n, sizeof *path);
    bool ok = !scratch.failed;
    for (uint64_t first = 0; first < events->n && ok; first++) {
        uint64_t n = 0;
        uint32_t row = (uint32_t)first;
        for (; row != ROW_NONE && !walk_of[row]; row = lineage->parent[row]) {
            walk_of[row] = (uint32_t)first + 1;
            path[n++] = row;
        }
        if (row != ROW_NONE && n && walk_of[row] == first + 1) {
            lineage->parent[path[n - 1]] = ROW_NONE;
            lineage->report.n_in_cycles++;
        }
        while (n--)
            if (events->is_kineto[path[n]] && lineage->parent[path[n]] != ROW_NONE)
                tid[path[n]] = tid[lineage->parent[path[n]]];
    }
    arena_free(&scratch);
    return ok ? SUTRA_OK : error_memory(error);
}

enum sutra_status sutra_kineto_parents(const struct sutra_kineto_columns *events, uint32_t *parent, int64_t *tid,
                                       struct sutra_kineto_report *report, struct sutra_error *error) {
    struct lineage lineage = {.events = events, .parent = parent};
    struct pair_table starts;
    if (events->n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u events", ROW_LIMIT);
    enum sutra_status status = pair_table_init(&starts) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = note_starts_kineto(&lineage, &starts, error);
    if (!status) {
        set_parents_kineto(&lineage, &starts);
        status = settle_lines(&lineage, tid, error);
    }
    pair_table_free(&starts);
    if (!status)
        report_give(report, &lineage.report, sizeof lineage.report);
    return status;
}

/* The trace's column of correlations; ids that are none are below 0. */
static value_key correlation_of(const struct sutra_profile *profile, row_t row) {
    return profile->trace->events.correlation[profile->event[row]];
}

static bool is_bound(const struct sutra_profile *profile, row_t row) {
    return profile->flow_role[row] != SUTRA_FLOW_NONE;
}

/* Kineto's events by thread and time, to find what a flow is bound to. */
struct event_moments {
    struct pair_table first; /* of (start, thread): the first row there */
    struct pair_table exact; /* of (correlation, the first row there): the first row with that correlation */
    row_t *next;             /* the next row there, or ROW_NONE */
    row_t *unbound;          /* of a first row: where those begin that may be unbound */
};

static bool event_moments_fill(struct event_moments *moments, const struct sutra_profile *profile) {
    row_t *last = moments->unbound; /* of a first row, until all are there */
    for (row_t row = 0; row < profile->n; row++) {
        if (profile->kind[row] != SUTRA_EVENT_KINETO)
            continue;
        struct pair_entry *first =
            pair_table_take(&moments->first, (uint64_t)profile->start[row], profile->thread[row]);
        if (!first)
            return false;
        moments->next[row] = ROW_NONE;
        if (first->number == PAIR_NONE)
            first->number = row;
        else
            moments->next[last[first->number]] = row;
        last[first->number] = row;
        if (!pair_table_note(&moments->exact, (uint64_t)correlation_of(profile, row), first->number, row))
            return false;
    }
    for (row_t row = 0; row < profile->n; row++)
        moments->unbound[row] = row;
    return true;
}

/* The event of a flow's id at its moment, or else any that is there; ROW_NONE if all are bound. */
static row_t event_moments_find(struct event_moments *moments, const struct sutra_profile *profile,
                                const struct trace_rows *rows, row_t event, bool exact) {
    row_t first = pair_table_find(&moments->first, (uint64_t)rows->start[event], rows->thread[event]);
    if (first == PAIR_NONE)
        return ROW_NONE;
    if (exact) {
        row_t row = pair_table_find(&moments->exact, (uint64_t)rows->flow[event], first);
        return row != PAIR_NONE && !is_bound(profile, row) ? row : ROW_NONE;
    }
    row_t row = moments->unbound[first];
    while (row != ROW_NONE && is_bound(profile, row))
        row = moments->next[row];
    return moments->unbound[first] = row;
}

/* Binds halves of flows that are not done, by id or by moment alone; returns how many find no event. */
static uint64_t bind_halves(struct sutra_profile *profile, const struct trace_rows *rows, struct event_moments *moments,
                            bool exact, uint8_t *done) {
    const struct device_events *events = &profile->trace->events;
    uint64_t n_unbound = 0;
    for (row_t event = 0; event < events->n; event++) {
        if (rows->role[event] != ROLE_LAUNCH_FLOW || done[event])
            continue;
        row_t row = event_moments_find(moments, profile, rows, event, exact);
        done[event] = row != ROW_NONE;
        n_unbound += row == ROW_NONE;
        if (row == ROW_NONE)
            continue;
        profile->flow_role[row] = events->phase[event] == 's' ? SUTRA_FLOW_START : SUTRA_FLOW_END;
        profile->flow[row] = rows->flow[event];
    }
    return n_unbound;
}

/* Binds the halves of the trace's flows, first those whose event has their id. Those of which nothing stands at their
 * moment are counted. */
static enum sutra_status bind_flows(struct sutra_profile *profile, const struct trace_rows *rows, struct arena *arena,
                                    uint64_t *n_unbound, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint8_t *done = arena_zeros(arena, profile->trace->events.n, sizeof *done);
    struct event_moments moments = {.next = arena_take(arena, profile->n, sizeof *moments.next),
                                    .unbound = arena_take(arena, profile->n, sizeof *moments.unbound)};
    bool ok = !arena->failed && pair_table_init(&moments.first) && pair_table_init(&moments.exact) &&
              event_moments_fill(&moments, profile);
    if (ok) {
        bind_halves(profile, rows, &moments, true, done);
        *n_unbound = bind_halves(profile, rows, &moments, false, done);
    }
    pair_table_free(&moments.first);
    pair_table_free(&moments.exact);
    arena_release(arena, mark);
    return ok ? SUTRA_OK : error_memory(error);
}

static bool runs_on_device(const struct sutra_profile *profile, row_t row) {
    return profile->gpu[row] != EVENT_ON_HOST;
}

/* What may start flows, by rising (id, start). */
struct start_list {
    const struct sutra_profile *profile;
    uint64_t *id;
    row_t *row;
    row_t n;
    bool first_counts; /* of several with an id, whatever their times */
};

/* Calls of the host: those that start a flow of the trace, with its id, or those that start none, with their
 * correlation. */
static void list_starts(struct start_list *list, bool by_flow) {
    const struct sutra_profile *profile = list->profile;
    for (row_t row = 0; row < profile->n; row++) {
        bool starts_flow = profile->flow_role[row] == SUTRA_FLOW_START;
        bool call = profile->kind[row] == SUTRA_EVENT_KINETO && !runs_on_device(profile, row);
        if (call && starts_flow == by_flow && (by_flow || correlation_of(profile, row) >= 0))
            list->row[list->n++] = row;
    }
}

static value_key start_id(const struct start_list *list, row_t row, bool by_flow) {
    return by_flow ? list->profile->flow[row] : correlation_of(list->profile, row);
}

/* Sorts by start and then, which leaves equal ones as they are, by id. */
static enum sutra_status sort_starts(struct start_list *list, const struct engine *engine, bool by_flow,
                                     struct sutra_error *error) {
    struct sort_keys_step sort = {list->id, list->row, list->n};
    enum sutra_status status = SUTRA_OK;
    for (row_t i = 0; i < list->n; i++)
        list->id[i] = integer_sort_key(list->profile->start[list->row[i]]);
    if (!list->first_counts)
        status = engine->sort_keys(engine->state, &sort, error);
    for (row_t i = 0; i < list->n; i++)
        list->id[i] = integer_sort_key(start_id(list, list->row[i], by_flow));
    return status ? status : engine->sort_keys(engine->state, &sort, error);
}

static enum sutra_status start_list_make(struct start_list *list, const struct engine *engine, bool by_flow,
                                         struct arena *arena, struct sutra_error *error) {
    list->id = arena_take(arena, list->profile->n, sizeof *list->id);
    list->row = arena_take(arena, list->profile->n, sizeof *list->row);
    if (arena->failed)
        return error_memory(error);
    list_starts(list, by_flow);
    return sort_starts(list, engine, by_flow, error);
}

/* What starts the flow that a row ends: of those with the id the last one before the row, or else the first. */
static row_t start_of(const struct start_list *list, value_key id, row_t end) {
    uint64_t key = integer_sort_key(id);
    struct bisection first = {0, list->n};
    while (first.low < first.high)
        bisect(&first, list->id[bisect_middle(first)] < key);
    if (first.low == list->n || list->id[first.low] != key)
        return ROW_NONE;
    struct bisection after = {first.low + 1, list->first_counts ? first.low + 1 : list->n};
    while (after.low < after.high) {
        row_t middle = bisect_middle(after);
        bisect(&after, list->id[middle] == key && list->profile->start[list->row[middle]] <= list->profile->start[end]);
    }
    return list->row[after.low - 1];
}

static uint64_t count_repeated(const struct start_list *list) {
    uint64_t n = 0;
    for (row_t i = 1; i < list->n; i++)
        n += list->id[i] == list->id[i - 1];
    return n;
}

/* Ties work on the device to what started it, by the flow's id or the correlation. From here on the id of a flow is the
 * row that starts it, so that none starts twice. */
static void tie_flows(struct sutra_profile *profile, const struct start_list *flows, const struct start_list *calls) {
    for (row_t row = 0; row < profile->n; row++)
        if (profile->flow_role[row] == SUTRA_FLOW_START)
            profile->flow[row] = row;
    for (row_t row = 0; row < profile->n; row++) {
        bool ends = profile->flow_role[row] == SUTRA_FLOW_END;
        if (!ends && !runs_on_device(profile, row))
            continue;
        value_key id = ends ? profile->flow[row] : correlation_of(profile, row);
        row_t start = ends || id >= 0 ? start_of(flows, id, row) : ROW_NONE;
        if (start == ROW_NONE && id >= 0 && runs_on_device(profile, row))
            start = start_of(calls, id, row);
        if (ends)
            profile->flow[row] = row;
        if (start == ROW_NONE)
            continue;
        profile->flow_role[row] = SUTRA_FLOW_END;
        profile->flow_role[start] = SUTRA_FLOW_START;
        profile->flow[row] = profile->flow[start] = (value_key)start;
    }
}

/* Lets calls start flows that the trace lacks, for work on the device whose correlation they have. */
static enum sutra_status bind_correlations(struct sutra_profile *profile, const struct engine *engine, bool rocm,
                                           struct arena *arena, uint64_t *n_repeated, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    struct start_list flows = {.profile = profile, .first_counts = rocm}, calls = flows;
    enum sutra_status status = start_list_make(&flows, engine, true, arena, error);
    if (!status)
        status = start_list_make(&calls, engine, false, arena, error);
    if (!status) {
        *n_repeated = count_repeated(&flows);
        tie_flows(profile, &flows, &calls);
    }
    arena_release(arena, mark);
    return status;
}

/* Whether external ids of Kineto's events are more than their correlations once more. */
static bool links_count(const struct sutra_profile *profile) {
    const struct device_events *events = &profile->trace->events;
    for (row_t row = 0; row < profile->n; row++) {
        row_t event = profile->event[row];
        if (profile->kind[row] == SUTRA_EVENT_KINETO && events->external[event] >= 0 &&
            events->correlation[event] >= 0 && events->external[event] != events->correlation[event])
            return true;
    }
    return false;
}

/* linked[row] = the operator with the row's external id. */
static enum sutra_status find_links(const struct sutra_profile *profile, uint32_t *linked, struct sutra_error *error) {
    const value_key *external = profile->trace->events.external;
    bool all = links_count(profile);
    struct pair_table operators;
    bool ok = pair_table_init(&operators);
    for (row_t row = 0; row < profile->n && ok; row++) {
        value_key id = external[profile->event[row]];
        if (profile->kind[row] == SUTRA_EVENT_OPERATOR && id > 0)
            ok = pair_table_note(&operators, (uint64_t)id, 0, row);
    }
    for (row_t row = 0; row < profile->n && ok; row++) {
        value_key id = external[profile->event[row]];
        bool is_link = profile->kind[row] == SUTRA_EVENT_KINETO && id > 0 && (all || correlation_of(profile, row) < 0);
        linked[row] = is_link ? pair_table_find(&operators, (uint64_t)id, 0) : ROW_NONE;
    }
    pair_table_free(&operators);
    return ok ? SUTRA_OK : error_memory(error);
}

/* Threads take the place of tids: they are numbers of those. */
static enum sutra_status set_parents_trace_links(struct sutra_profile *profile, const uint32_t *linked, bool rocm,
                                                 struct arena *arena, struct sutra_kineto_report *report,
                                                 struct sutra_error *error) {
    int64_t *tid = arena_take(arena, profile->n, sizeof *tid);
    uint8_t *is_kineto = arena_take(arena, profile->n, sizeof *is_kineto);
    enum sutra_status status = arena_status(arena, error);
    for (row_t row = 0; row < profile->n && !status; row++) {
        tid[row] = profile->thread[row];
        is_kineto[row] = profile->kind[row] == SUTRA_EVENT_KINETO;
    }
    const struct sutra_kineto_columns events = {.n = profile->n,
                                                .is_kineto = is_kineto,
                                                .flow_role = profile->flow_role,
                                                .flow_id = profile->flow,
                                                .linked = linked,
                                                .rocm = rocm};
    if (!status)
        status = sutra_kineto_parents(&events, profile->parent, tid, report, error);
    for (row_t row = 0; row < profile->n && !status; row++)
        profile->thread[row] = (uint32_t)tid[row];
    return status;
}

static void warn(struct sutra_context *context, const struct sutra_profile *profile,
                 const struct sutra_kineto_report *report, uint64_t n_unbound, uint64_t n_repeated, bool rocm) {
    uint64_t n_alone = 0;
    for (row_t row = 0; row < profile->n; row++)
        n_alone += profile->gpu[row] == EVENT_GPU_OPERATOR && profile->parent[row] == ROW_NONE;
    const struct {
        uint64_t n;
        const char *one, *several;
    } lines[] = {
        {n_unbound, "end of a launch-to-kernel flow has no event at its position",
         "ends of launch-to-kernel flows have no event at their position"},
        {n_alone, "GPU activity has no launch: it becomes a root", "GPU activities have no launch: they become roots"},
        {n_repeated,
         rocm ? "flow starts twice: using the first start" : "flow starts twice: using the last start before its end",
         rocm ? "flows start twice: using the first start" : "flows start twice: using the last start before the end"},
        {report->n_in_cycles, "cycle of flows and links was removed", "cycles of flows and links were removed"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i].n)
            context_warn(context, "%s", counted_text(lines[i].n, lines[i].one, lines[i].several).text);
}

enum sutra_status take_parents(struct sutra_profile *profile, struct sutra_context *context,
                               const struct trace_rows *rows, bool rocm, struct sutra_error *error) {
    struct sutra_kineto_report report = {.size = sizeof report};
    struct arena scratch = {0};
    uint64_t n_unbound = 0, n_repeated = 0;
    uint32_t *linked = arena_take(&scratch, profile->n, sizeof *linked);
    enum sutra_status status = bind_flows(profile, rows, &scratch, &n_unbound, error);
    if (!status)
        status = bind_correlations(profile, &context->engine, rocm, &scratch, &n_repeated, error);
    if (!status)
        status = find_links(profile, linked, error);
    if (!status)
        status = set_parents_trace_links(profile, linked, rocm, &scratch, &report, error);
    arena_free(&scratch);
    if (status)
        return error_name_file(error, status, profile->trace->document.source.name);
    profile->report.n_launched = report.n_by_flow;
    profile->report.n_linked = report.n_by_link;
    warn(context, profile, &report, n_unbound, n_repeated, rocm);
    return SUTRA_OK;
}
