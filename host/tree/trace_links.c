/*
 * trace_links.c - parents of Kineto's events, and threads of autograd's numbers, from the links of a trace.
 *
 * Parents: the start of the event's flow (launch to GPU activity), else the operator with its external id. A flow's
 * halves are bound to events by thread and time; of several events, the one whose correlation is the flow's id. If a
 * trace lacks the flow of a GPU activity, the call with its correlation starts one. Of several starts with one id, as
 * in joined traces, the last one before the end counts. External ids are links only if they differ from correlations
 * somewhere: older traces just repeat the correlation. Flows and links can form cycles in malformed files.
 *
 * Threads: a trace has system tids, and the small number of the forward thread on backward operators. Votes map one
 * number to one thread, most votes first:
 *
 * - operators in the host trace: their small number and their thread;
 * - else the trace's flows from forward to backward: the thread of the start and the number at the end;
 * - else backward operators: threads with an earlier forward operator of the same sequence number. Since each thread
 *   counts from 0, these votes count only if most names match, such as aten::addmm and AddmmBackward0.
 *
 * Cost: O(n), and sorts.
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
#include "facts/launches.h"
#include "match/steps.h"
#include "sutra/profiler.h"
#include "text/quantities.h"
#include "tree/profile.h"

/* ---- Threads of autograd ---- */

/* Maximum number of threads per sequence number. */
#define CANDIDATES_MAX 64

struct vote {
    uint32_t thread;
    int64_t number;
    uint64_t count, n_agreed, n_own; /* all; with matching names; by operators of the thread itself */
    uint32_t order;                  /* of first vote */
};

struct election {
    const struct sutra_profile *profile;
    const struct trace_rows *rows;
    struct pair_table lines; /* (number, thread) -> index of the vote */
    struct vote *votes;
    uint64_t capacity;
    uint32_t n;
    bool failed;
};

static void vote(struct election *election, uint32_t thread, int64_t number, bool agreed, bool own) {
    struct pair_entry *entry = pair_table_insert(&election->lines, (uint64_t)number, thread);
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

/* Votes by the host trace: operators with a known small number. */
static void vote_by_host(struct election *election) {
    const struct sutra_profile *profile = election->profile;
    for (row_t row = 0; row < profile->n; row++)
        if (profile->kind[row] == SUTRA_EVENT_OPERATOR && profile->tid[row] > 0)
            vote(election, profile->thread[row], profile->tid[row], true, false);
}

static bool is_half(const struct election *election, row_t event, uint8_t phase) {
    return election->rows->role[event] == ROLE_AUTOGRAD_FLOW && election->profile->trace->events.phase[event] == phase;
}

/* Votes by flows from forward to backward. */
static void vote_by_flows(struct election *election) {
    const struct sutra_profile *profile = election->profile;
    const struct trace_rows *rows = election->rows;
    row_t n_events = profile->trace->events.n;
    struct pair_table starts = {0},
                      backwards = {0}; /* of flow ids; of the first backward operator by time and thread */
    bool ok = pair_table_init(&starts) && pair_table_init(&backwards);
    for (row_t event = 0; event < n_events && ok; event++)
        if (is_half(election, event, 's')) {
            struct pair_entry *entry = pair_table_insert(&starts, (uint64_t)rows->flow[event], 0);
            ok = entry != NULL;
            if (ok)
                entry->number = event;
        }
    for (row_t row = 0; row < profile->n && ok; row++)
        if (profile->forward_tid[row] > 0)
            ok = pair_table_note(&backwards, (uint64_t)profile->start[row], profile->thread[row], row);
    for (row_t event = 0; event < n_events && ok; event++) {
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

/* Forward operators by sequence number, as chains: the last operator of each thread. */
struct forwards {
    struct pair_table first;  /* sequence number -> row */
    struct pair_table latest; /* (sequence number, thread) -> the row whose name counts */
    row_t *next;
};

static bool add_forward(struct forwards *forwards, const struct sutra_profile *profile, row_t row) {
    uint64_t sequence = (uint64_t)profile->sequence[row];
    struct pair_entry *latest = pair_table_insert(&forwards->latest, sequence, profile->thread[row]);
    if (!latest)
        return false;
    bool is_new = latest->number == PAIR_NONE;
    if (is_new || profile->start[row] >= profile->start[latest->number])
        latest->number = row;
    if (!is_new)
        return true;
    struct pair_entry *first = pair_table_insert(&forwards->first, sequence, 0);
    if (!first)
        return false;
    forwards->next[row] = first->number;
    first->number = row;
    return true;
}

static bool has_sequence(const struct sutra_profile *profile, row_t row, bool backward) {
    const char *name = sutra_profile_name(profile, row);
    return profile->kind[row] == SUTRA_EVENT_OPERATOR && profile->sequence[row] >= 0 &&
           (profile->forward_tid[row] > 0) == backward && !sutra_autograd_evaluates(name, strlen(name));
}

/* Votes by sequence numbers: each backward operator for the threads of earlier forward operators. Keeps the votes of
 * which at least half have matching names. */
static void vote_by_sequences(struct election *election) {
    const struct sutra_profile *profile = election->profile;
    struct arena scratch = {0};
    struct forwards forwards = {.next = arena_alloc(&scratch, profile->n, sizeof *forwards.next)};
    bool ok = forwards.next && pair_table_init(&forwards.first) && pair_table_init(&forwards.latest);
    for (row_t row = 0; row < profile->n && ok; row++)
        if (has_sequence(profile, row, false))
            ok = add_forward(&forwards, profile, row);
    for (row_t backward = 0; backward < profile->n && ok; backward++) {
        if (!has_sequence(profile, backward, true))
            continue;
        uint64_t sequence = (uint64_t)profile->sequence[backward];
        row_t row = pair_table_find(&forwards.first, sequence, 0);
        for (int i = 0; row != ROW_NONE && i < CANDIDATES_MAX; i++, row = forwards.next[row]) {
            row_t forward = pair_table_find(&forwards.latest, sequence, profile->thread[row]);
            if (profile->start[forward] < profile->start[backward])
                vote(election, profile->thread[row], profile->forward_tid[backward],
                     names_agree(sutra_profile_name(profile, forward), sutra_profile_name(profile, backward)),
                     profile->thread[row] == profile->thread[backward]);
        }
    }
    pair_table_free(&forwards.first);
    pair_table_free(&forwards.latest);
    arena_free(&scratch);
    election->failed |= !ok;
    uint32_t n = 0;
    for (uint32_t i = 0; i < election->n; i++)
        if (2 * election->votes[i].n_agreed >= election->votes[i].count)
            election->votes[n++] = election->votes[i];
    election->n = n;
}

/* Assigns numbers to threads by descending votes, then both to the operators. */
static bool assign_numbers(struct election *election, struct sutra_profile *profile) {
    struct arena scratch = {0};
    int64_t *number_of = arena_zeros(&scratch, profile->n_threads, sizeof *number_of);
    struct pair_table threads; /* number -> thread */
    bool ok = pair_table_init(&threads) && number_of;
    qsort(election->votes, election->n, sizeof *election->votes, compare_votes);
    for (uint32_t i = 0; i < election->n && ok; i++) {
        const struct vote *best = &election->votes[i];
        struct pair_entry *entry = pair_table_insert(&threads, (uint64_t)best->number, 0);
        ok = entry != NULL;
        if (!ok || entry->number != PAIR_NONE || number_of[best->thread])
            continue;
        entry->number = best->thread;
        number_of[best->thread] = best->number;
    }
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

enum sutra_status find_autograd_threads(struct sutra_profile *profile, const struct trace_rows *rows, bool by_host,
                                        struct sutra_error *error) {
    struct election election = {.profile = profile, .rows = rows};
    struct sutra_profile_report *report = &profile->report;
    bool has_backward = false, has_flows = false;
    for (row_t row = 0; row < profile->n && !has_backward; row++)
        has_backward = profile->forward_tid[row] > 0;
    if (!has_backward)
        return SUTRA_OK;
    for (row_t event = 0; event < profile->trace->events.n && !has_flows; event++)
        has_flows = rows->role[event] == ROLE_AUTOGRAD_FLOW;
    bool ok =
        pair_table_init(&election.lines) && column_grow(&election.votes, 0, &election.capacity, sizeof *election.votes);
    if (ok && by_host) {
        report->threads = SUTRA_THREADS_HOST;
        vote_by_host(&election);
    }
    if (ok && !election.n && has_flows) {
        report->threads = SUTRA_THREADS_FLOWS;
        vote_by_flows(&election);
    } else if (ok && !election.n) {
        report->threads = SUTRA_THREADS_SEQUENCES;
        vote_by_sequences(&election);
    }
    ok = ok && !election.failed && assign_numbers(&election, profile);
    pair_table_free(&election.lines);
    free(election.votes);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- Parents of plain columns ---- */

enum sutra_status sutra_reassociate(uint64_t n_events, uint64_t n, const int64_t *index, const uint8_t *of_profiler,
                                    uint32_t *event, struct sutra_reassociation *report, struct sutra_error *error) {
    struct sutra_reassociation counts = {0};
    struct arena scratch = {0};
    uint8_t *used = arena_zeros(&scratch, n_events, sizeof *used);
    TRY(arena_status(&scratch, error));
    for (uint64_t i = 0; i < n; i++) {
        event[i] = ROW_NONE;
        if (index[i] < 0 && of_profiler[i]) {
            counts.n_lost++;
        } else if (index[i] < 0) {
            event[i] = (uint32_t)(n_events + counts.n_kineto++);
        } else if ((uint64_t)index[i] >= n_events) {
            counts.n_beyond++;
        } else if (used[index[i]]) {
            counts.n_repeated++;
        } else {
            used[index[i]] = 1;
            event[i] = (uint32_t)index[i];
            counts.n_found++;
        }
    }
    arena_free(&scratch);
    report_give(report, &counts, sizeof counts);
    return SUTRA_OK;
}

static bool in_flow(const struct sutra_kineto_columns *events, uint64_t row, enum sutra_flow_role role) {
    return events->is_kineto[row] && events->flow_role[row] == role;
}

/* Removes cycles, and copies tids from parents to children. Each row's parents are followed to a row of an earlier
 * walk; a row of the same walk closes a cycle, which is cut there. Then the rows of the walk are visited from top to
 * bottom. */
static enum sutra_status cut_cycles(const struct sutra_kineto_columns *events, uint32_t *parent, int64_t *tid,
                                    uint64_t *n_cycles, struct sutra_error *error) {
    struct arena scratch = {0};
    uint32_t *walk_of = arena_zeros(&scratch, events->n, sizeof *walk_of);
    uint32_t *path = arena_alloc(&scratch, events->n, sizeof *path);
    bool ok = !scratch.failed;
    for (uint64_t first = 0; first < events->n && ok; first++) {
        uint64_t n = 0;
        uint32_t row = (uint32_t)first;
        for (; row != ROW_NONE && !walk_of[row]; row = parent[row]) {
            walk_of[row] = (uint32_t)first + 1;
            path[n++] = row;
        }
        if (row != ROW_NONE && n && walk_of[row] == first + 1) {
            parent[path[n - 1]] = ROW_NONE;
            ++*n_cycles;
        }
        while (n--)
            if (events->is_kineto[path[n]] && parent[path[n]] != ROW_NONE)
                tid[path[n]] = tid[parent[path[n]]];
    }
    arena_free(&scratch);
    return ok ? SUTRA_OK : error_memory(error);
}

enum sutra_status sutra_kineto_parents(const struct sutra_kineto_columns *events, uint32_t *parent, int64_t *tid,
                                       struct sutra_kineto_report *report, struct sutra_error *error) {
    struct sutra_kineto_report counts = {0};
    struct pair_table starts; /* flow id -> row */
    if (events->n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u events", ROW_LIMIT);
    TRY_ALLOC(pair_table_init(&starts), error);
    enum sutra_status status = SUTRA_OK;
    for (uint64_t row = 0; row < events->n && !status; row++) {
        if (!in_flow(events, row, SUTRA_FLOW_START))
            continue;
        struct pair_entry *entry = pair_table_insert(&starts, (uint64_t)events->flow_id[row], 0);
        if (!entry)
            status = error_memory(error);
        else if (entry->number == PAIR_NONE)
            entry->number = (uint32_t)row;
        else if (events->rocm)
            counts.n_repeated++;
        else
            status = error_set(error, SUTRA_DATA, "flow %lld starts twice (--rocm uses the first start)",
                               (long long)events->flow_id[row]);
    }

    /* The parent is the start of the flow, else the linked operator. */
    for (uint64_t row = 0; row < events->n && !status; row++) {
        parent[row] = ROW_NONE;
        if (!events->is_kineto[row])
            continue;
        bool ends = in_flow(events, row, SUTRA_FLOW_END);
        if (ends)
            parent[row] = pair_table_find(&starts, (uint64_t)events->flow_id[row], 0);
        if (parent[row] != ROW_NONE) {
            counts.n_by_flow++;
            continue;
        }
        counts.n_ends_alone += ends;
        parent[row] = events->linked[row];
        counts.n_by_link += parent[row] != ROW_NONE;
    }
    if (!status)
        status = cut_cycles(events, parent, tid, &counts.n_in_cycles, error);
    pair_table_free(&starts);
    if (!status)
        report_give(report, &counts, sizeof counts);
    return status;
}

/* ---- Parents of a trace's events ---- */

/* The correlation of a row's event, or a negative number. */
static value_key correlation_of(const struct sutra_profile *profile, row_t row) {
    return profile->trace->events.correlation[profile->event[row]];
}

static bool is_bound(const struct sutra_profile *profile, row_t row) {
    return profile->flow_role[row] != SUTRA_FLOW_NONE;
}

/* Kineto's events by thread and time, to bind flows. */
struct event_moments {
    struct pair_table first; /* (start, thread) -> the first row */
    struct pair_table exact; /* (correlation, first row) -> the first row with the correlation */
    row_t *next;             /* the next row with the same start and thread, or ROW_NONE */
    row_t *unbound;          /* per first row: no row before this one is unbound */
};

static bool event_moments_fill(struct event_moments *moments, const struct sutra_profile *profile) {
    row_t *last = moments->unbound; /* per first row, until all rows are in the chains */
    for (row_t row = 0; row < profile->n; row++) {
        if (profile->kind[row] != SUTRA_EVENT_KINETO)
            continue;
        struct pair_entry *first =
            pair_table_insert(&moments->first, (uint64_t)profile->start[row], profile->thread[row]);
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

/* Binds halves of flows that are not bound yet: to the event at their time and thread that has the flow's id (`exact`),
 * or to any event there. Returns the number of halves without an event. */
static uint64_t bind_halves(struct sutra_profile *profile, const struct trace_rows *rows, struct event_moments *moments,
                            bool exact, uint8_t *done) {
    const struct device_events *events = &profile->trace->events;
    uint64_t n_unbound = 0;
    for (row_t event = 0; event < events->n; event++) {
        if (rows->role[event] != ROLE_LAUNCH_FLOW || done[event])
            continue;
        row_t first = pair_table_find(&moments->first, (uint64_t)rows->start[event], rows->thread[event]);
        row_t row = ROW_NONE;
        if (first != PAIR_NONE && exact) {
            row = pair_table_find(&moments->exact, (uint64_t)rows->flow[event], first);
            row = row != PAIR_NONE && !is_bound(profile, row) ? row : ROW_NONE;
        } else if (first != PAIR_NONE) {
            row = moments->unbound[first];
            while (row != ROW_NONE && is_bound(profile, row))
                row = moments->next[row];
            moments->unbound[first] = row;
        }
        done[event] = row != ROW_NONE;
        n_unbound += row == ROW_NONE;
        if (row == ROW_NONE)
            continue;
        profile->flow_role[row] = events->phase[event] == 's' ? SUTRA_FLOW_START : SUTRA_FLOW_END;
        profile->flow[row] = rows->flow[event];
    }
    return n_unbound;
}

/* Binds the halves of the trace's flows, first to events with the flow's id. */
static enum sutra_status bind_flows(struct sutra_profile *profile, const struct trace_rows *rows, struct arena *arena,
                                    uint64_t *n_unbound, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint8_t *done = arena_zeros(arena, profile->trace->events.n, sizeof *done);
    struct event_moments moments = {.next = arena_alloc(arena, profile->n, sizeof *moments.next),
                                    .unbound = arena_alloc(arena, profile->n, sizeof *moments.unbound)};
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

/* Calls that start flows, by the flow's id or their correlation. */
struct start_list {
    row_t *row;
    row_t n;
    struct launch_index index;
};

/* Lists the host calls with a flow of the trace (`by_flow`), by flow id, or the host calls without one, by correlation.
 * Of several with an id, the first counts with ROCm, else the last before the end. */
static enum sutra_status start_list_make(struct start_list *list, const struct sutra_profile *profile, bool by_flow,
                                         bool rocm, const struct engine *engine, struct arena *arena,
                                         struct sutra_error *error) {
    list->row = arena_alloc(arena, profile->n, sizeof *list->row);
    uint64_t *keys = arena_alloc(arena, profile->n, sizeof *keys);
    value_key *ids = arena_alloc(arena, profile->n, sizeof *ids);
    struct number_column start = numbers_alloc(arena, profile->n);
    TRY(arena_status(arena, error));
    for (row_t row = 0; row < profile->n; row++) {
        bool starts_flow = profile->flow_role[row] == SUTRA_FLOW_START;
        bool call = profile->kind[row] == SUTRA_EVENT_KINETO && !runs_on_device(profile, row);
        if (!call || starts_flow != by_flow || (!by_flow && correlation_of(profile, row) < 0))
            continue;
        keys[list->n] = integer_sort_key(profile->start[row]);
        list->row[list->n++] = row;
    }
    if (!rocm)
        TRY(engine->sort_keys(engine->state, &(struct sort_keys_step){keys, list->row, list->n}, error));
    for (row_t i = 0; i < list->n; i++) {
        row_t row = list->row[i];
        ids[i] = by_flow ? profile->flow[row] : correlation_of(profile, row);
        number_set(start, i, number_integer(profile->start[row]));
    }
    return launch_index_build(&list->index, engine, ids, start, list->n, rocm ? LAUNCH_FIRST : LAUNCH_LAST_BEFORE,
                              arena, error);
}

/* The row that starts the flow with this id that row `end` ends, or ROW_NONE. */
static row_t start_of(const struct start_list *list, value_key id, const struct sutra_profile *profile, row_t end) {
    row_t found = launch_index_find_before(&list->index, id, number_integer(profile->start[end]));
    return found == ROW_NONE ? ROW_NONE : list->row[found];
}

/* Connects GPU activity to its call by the flow's id, or by correlation if the trace lacks the flow. From here on, the
 * id of a flow is the row that starts it, so that no flow starts twice. */
static enum sutra_status bind_correlations(struct sutra_profile *profile, const struct engine *engine, bool rocm,
                                           struct arena *arena, uint64_t *n_repeated, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    struct start_list flows = {0}, calls = {0};
    enum sutra_status status = start_list_make(&flows, profile, true, rocm, engine, arena, error);
    if (!status)
        status = start_list_make(&calls, profile, false, rocm, engine, arena, error);
    if (status)
        goto end;
    *n_repeated = flows.index.n_repeated;
    for (row_t row = 0; row < profile->n; row++)
        if (profile->flow_role[row] == SUTRA_FLOW_START)
            profile->flow[row] = row;
    for (row_t row = 0; row < profile->n; row++) {
        bool ends = profile->flow_role[row] == SUTRA_FLOW_END;
        if (!ends && !runs_on_device(profile, row))
            continue;
        value_key id = ends ? profile->flow[row] : correlation_of(profile, row);
        row_t start = ends || id >= 0 ? start_of(&flows, id, profile, row) : ROW_NONE;
        if (start == ROW_NONE && id >= 0 && runs_on_device(profile, row))
            start = start_of(&calls, id, profile, row);
        if (ends)
            profile->flow[row] = row;
        if (start == ROW_NONE)
            continue;
        profile->flow_role[row] = SUTRA_FLOW_END;
        profile->flow_role[start] = SUTRA_FLOW_START;
        profile->flow[row] = profile->flow[start] = (value_key)start;
    }
end:
    launch_index_free(&flows.index);
    launch_index_free(&calls.index);
    arena_release(arena, mark);
    return status;
}

/* linked[row] = the operator with the row's external id. External ids that only repeat correlations are no links. */
static enum sutra_status find_links(const struct sutra_profile *profile, uint32_t *linked, struct sutra_error *error) {
    const value_key *external = profile->trace->events.external;
    bool differ = false;
    struct pair_table operators;
    bool ok = pair_table_init(&operators);
    for (row_t row = 0; row < profile->n && ok; row++) {
        value_key id = external[profile->event[row]], correlation = correlation_of(profile, row);
        differ |= profile->kind[row] == SUTRA_EVENT_KINETO && id >= 0 && correlation >= 0 && id != correlation;
        if (profile->kind[row] == SUTRA_EVENT_OPERATOR && id > 0)
            ok = pair_table_note(&operators, (uint64_t)id, 0, row);
    }
    for (row_t row = 0; row < profile->n && ok; row++) {
        value_key id = external[profile->event[row]];
        bool is_link =
            profile->kind[row] == SUTRA_EVENT_KINETO && id > 0 && (differ || correlation_of(profile, row) < 0);
        linked[row] = is_link ? pair_table_find(&operators, (uint64_t)id, 0) : ROW_NONE;
    }
    pair_table_free(&operators);
    return ok ? SUTRA_OK : error_memory(error);
}

/* Sets parents and threads; thread numbers replace tids. */
static enum sutra_status set_parents(struct sutra_profile *profile, const uint32_t *linked, bool rocm,
                                     struct arena *arena, struct sutra_kineto_report *report,
                                     struct sutra_error *error) {
    int64_t *tid = arena_alloc(arena, profile->n, sizeof *tid);
    uint8_t *is_kineto = arena_alloc(arena, profile->n, sizeof *is_kineto);
    TRY(arena_status(arena, error));
    for (row_t row = 0; row < profile->n; row++) {
        tid[row] = profile->thread[row];
        is_kineto[row] = profile->kind[row] == SUTRA_EVENT_KINETO;
    }
    const struct sutra_kineto_columns events = {.n = profile->n,
                                                .is_kineto = is_kineto,
                                                .flow_role = profile->flow_role,
                                                .flow_id = profile->flow,
                                                .linked = linked,
                                                .rocm = rocm};
    TRY(sutra_kineto_parents(&events, profile->parent, tid, report, error));
    for (row_t row = 0; row < profile->n; row++)
        profile->thread[row] = (uint32_t)tid[row];
    return SUTRA_OK;
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

enum sutra_status find_kineto_parents(struct sutra_profile *profile, struct sutra_context *context,
                                      const struct trace_rows *rows, bool rocm, struct arena *arena,
                                      struct sutra_error *error) {
    struct sutra_kineto_report report = {.size = sizeof report};
    struct arena_mark mark = arena_mark(arena);
    uint64_t n_unbound = 0, n_repeated = 0;
    uint32_t *linked = arena_alloc(arena, profile->n, sizeof *linked);
    TRY(bind_flows(profile, rows, arena, &n_unbound, error));
    TRY(bind_correlations(profile, &context->engine, rocm, arena, &n_repeated, error));
    TRY(find_links(profile, linked, error));
    TRY(set_parents(profile, linked, rocm, arena, &report, error));
    arena_release(arena, mark);
    profile->report.n_launched = report.n_by_flow;
    profile->report.n_linked = report.n_by_link;
    warn(context, profile, &report, n_unbound, n_repeated, rocm);
    return SUTRA_OK;
}
