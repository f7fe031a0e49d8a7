/*
 * rank_meetings.c - numbering meetings, rank by rank; see rank_meetings.h.
 */
#include "simulate/rank_meetings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/pair_table.h"

struct meeting_numbers {
    struct strings groups;     /* of collectives: their names; of pairs of ranks: "from>to#tag" */
    struct pair_table counts;  /* (rank, group) -> how many so far */
    struct pair_table numbers; /* (order, group) -> meeting; (number that a file tells, 0) where they tell meetings */
    bool told;                 /* files tell them */
    uint32_t n_meetings;
};

/* The pair of ranks of a message, interned; STRING_NONE: out of memory. */
static uint32_t pair_group(struct meeting_numbers *numbers, const struct contact *contact, uint64_t rank) {
    char text[96];
    uint64_t peer = (uint64_t)contact->peer;
    uint64_t from = contact->sends ? rank : peer, to = contact->sends ? peer : rank;
    int length = snprintf(text, sizeof text, "%llu>%llu#%lld", (unsigned long long)from, (unsigned long long)to,
                          (long long)contact->tag);
    return strings_intern(&numbers->groups, text, (size_t)length);
}

/* The meeting of a key, new if it has none. False: out of memory. */
static bool number_of(struct meeting_numbers *numbers, uint64_t first, uint32_t second, uint32_t *meeting) {
    struct pair_entry *entry = pair_table_take(&numbers->numbers, first, second);
    if (!entry)
        return false;
    if (entry->number == PAIR_NONE)
        entry->number = numbers->n_meetings++;
    *meeting = entry->number;
    return true;
}

/* The meeting of the rank's next node of the group. False: out of memory. */
static bool number_next(struct meeting_numbers *numbers, uint32_t rank, uint32_t group, uint32_t *meeting) {
    struct pair_entry *count = group == STRING_NONE ? NULL : pair_table_take(&numbers->counts, rank, group);
    if (!count)
        return false;
    uint32_t order = count->number == PAIR_NONE ? 0 : count->number;
    count->number = order + 1;
    return number_of(numbers, order, group, meeting);
}

/* A node meets where the file says so; one of files that do not, by its order; one that tells no peer, nobody. */
static bool number_contact(struct meeting_numbers *numbers, uint32_t number, uint64_t rank,
                           const struct contact *contact, const uint32_t *groups, uint32_t *meeting) {
    if (numbers->told)
        return !contact->is_told || number_of(numbers, (uint64_t)contact->told, 0, meeting);
    if (contact->is_message && contact->peer < 0)
        return true;
    return number_next(numbers, number,
                       contact->is_message ? pair_group(numbers, contact, rank) : groups[contact->group], meeting);
}

static bool number_rank(struct meeting_numbers *numbers, struct rank_graph *graph, uint32_t number, uint64_t rank,
                        const struct strings *names) {
    uint32_t *groups = strings_join(&numbers->groups, names);
    bool done = groups;
    memset(graph->meeting, 0xff, graph->n * sizeof *graph->meeting); /* NO_MEETING */
    for (row_t c = 0; c < graph->n_contacts && done; c++) {
        const struct contact *contact = &graph->contacts[c];
        done = number_contact(numbers, number, rank, contact, groups, &graph->meeting[contact->node]);
    }
    free(groups);
    return done;
}

enum sutra_status rank_graphs_meet(struct rank_graph *graphs, const uint64_t *ranks, const struct rank_names *names,
                                   uint32_t n, struct arena *arena, uint32_t *n_meetings, struct sutra_error *error) {
    struct meeting_numbers numbers = {0};
    for (uint32_t r = 0; r < n; r++)
        numbers.told |= graphs[r].tells;
    bool done = strings_init(&numbers.groups) && pair_table_init(&numbers.counts) && pair_table_init(&numbers.numbers);
    for (uint32_t r = 0; r < n && done; r++) {
        graphs[r].meeting = arena_take(arena, graphs[r].n, sizeof *graphs[r].meeting);
        done = graphs[r].meeting && number_rank(&numbers, &graphs[r], r, ranks[r], &names[r].groups);
    }
    *n_meetings = numbers.n_meetings;
    pair_table_free(&numbers.numbers);
    pair_table_free(&numbers.counts);
    strings_free(&numbers.groups);
    return done ? SUTRA_OK : error_memory(error);
}
