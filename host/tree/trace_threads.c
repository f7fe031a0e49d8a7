/*
 * trace_threads.c - which thread of a trace each of autograd's small thread numbers means.
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
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "columns/column.h"
#include "tree/take_trace.h"

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

static int compare_votes(const void *left, const void *right) {
    const struct vote *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    if (a->n_own != b->n_own)
        return a->n_own > b->n_own ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

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
static bool note_starts(const struct election *election, struct pair_table *starts) {
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
    bool ok = pair_table_init(&starts) && pair_table_init(&backwards) && note_starts(election, &starts) &&
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
