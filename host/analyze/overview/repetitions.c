/*
 * repetitions.c - where the work of the device begins anew, in traces that tell no steps.
 *
 *     launched    a b c c d   a b c c d   a b c c d   e
 *                 ^           ^           ^               a: {b c c d} twice, all the same
 *                     ^ ^         ^ ^         ^ ^         c: {}, {d a b}, {}, ...: they differ
 *
 * Work is taken in order of launch. A name is a mark if it comes three times or more, over at least half of the window,
 * and what stands between two in turn is the same work, in any order, but for one in ten of them. Marks that come as
 * often as each other belong together; a layer of a model repeats, too, but more often than the step, so it is the
 * fewest times that count which three marks have, or a quarter of all names if that is less. The first of these marks
 * begins the repetitions.
 *
 * What stands between is compared by a sum of hashed names. O(n log n).
 */
#include <stdlib.h>

#include "analyze/overview/steps.h"
#include "base/error.h"

#define OCCURRENCES_LEAST 3
#define MARKS_LEAST       3

/* Work, and when it was launched. */
struct launched_work {
    int64_t at;
    row_t device;
    uint32_t name;
};

/* What is known of a name: the sum of what most stretches between its occurrences hold, by Boyer's and Moore's vote. */
struct marking {
    uint32_t n, n_same;
    row_t first, last; /* places */
    uint64_t sum;
    uint32_t votes;
    uint32_t name;
};

struct repetition_search {
    row_t n;
    struct launched_work *work;
    uint64_t *sums;    /* of all work before a place */
    uint32_t *of_name; /* string to marking, or none */
    struct marking *markings;
    uint32_t n_names;
};

#define NO_MARKING UINT32_MAX

static uint64_t hash_of(uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

static int by_launch(const void *left, const void *right) {
    const struct launched_work *a = left, *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return (a->device > b->device) - (a->device < b->device);
}

static bool take_work(const struct overview *overview, struct arena *scratch, struct repetition_search *search) {
    const struct op_reading *reading = overview->reading;
    const struct device_rows *devices = &reading->devices;
    search->work = arena_take(scratch, devices->n, sizeof *search->work);
    search->sums = arena_take(scratch, (size_t)devices->n + 1, sizeof *search->sums);
    search->of_name = arena_take(scratch, reading->strings->n, sizeof *search->of_name);
    search->markings = arena_take(scratch, reading->strings->n, sizeof *search->markings);
    if (scratch->failed)
        return false;
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (devices->class[i] == DEVICE_NO_WORK)
            continue;
        search->work[search->n++] =
            (struct launched_work){.at = call == ROW_NONE ? devices->start[i] : reading->hosts.start[call],
                                   .device = i,
                                   .name = reading->events->name[devices->event[i]]};
    }
    qsort(search->work, search->n, sizeof *search->work, by_launch);
    search->sums[0] = 0;
    for (row_t i = 0; i < search->n; i++)
        search->sums[i + 1] = search->sums[i] + hash_of((uint64_t)search->work[i].name + 1);
    for (uint32_t string = 0; string < reading->strings->n; string++)
        search->of_name[string] = NO_MARKING;
    return true;
}

static void vote(struct marking *marking, uint64_t sum) {
    if (marking->votes == 0)
        marking->sum = sum;
    if (marking->sum == sum)
        marking->votes++;
    else
        marking->votes--;
}

static struct marking *marking_of(struct repetition_search *search, row_t place) {
    uint32_t name = search->work[place].name;
    if (search->of_name[name] == NO_MARKING) {
        search->of_name[name] = search->n_names;
        search->markings[search->n_names++] = (struct marking){.first = place, .last = place, .name = name};
    }
    return &search->markings[search->of_name[name]];
}

/* Once to vote, once to count. */
static void compare_stretches(struct repetition_search *search) {
    for (row_t place = 0; place < search->n; place++) {
        struct marking *marking = marking_of(search, place);
        if (marking->n++ > 0)
            vote(marking, search->sums[place] - search->sums[marking->last]);
        marking->last = place;
    }
    for (uint32_t i = 0; i < search->n_names; i++)
        search->markings[i].last = ROW_NONE;
    for (row_t place = 0; place < search->n; place++) {
        struct marking *marking = marking_of(search, place);
        if (marking->last != ROW_NONE)
            marking->n_same += search->sums[place] - search->sums[marking->last] == marking->sum;
        marking->last = place;
    }
}

static bool is_mark(const struct overview *overview, const struct repetition_search *search,
                    const struct marking *marking) {
    int64_t covers = search->work[marking->last].at - search->work[marking->first].at;
    return marking->n >= OCCURRENCES_LEAST && (uint64_t)marking->n_same * 10 >= ((uint64_t)marking->n - 1) * 9 &&
           covers >= overview_length(overview) / 2;
}

static int by_count(const void *left, const void *right) {
    const struct marking *a = left, *b = right;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* The mark that begins repetitions; NULL: there is none. The markings are in no order of names any more. */
static const struct marking *choose(const struct overview *overview, struct repetition_search *search) {
    uint32_t n = 0, least = (search->n_names + 3) / 4;
    least = least < MARKS_LEAST ? least : MARKS_LEAST;
    for (uint32_t i = 0; i < search->n_names; i++)
        if (is_mark(overview, search, &search->markings[i]))
            search->markings[n++] = search->markings[i];
    if (n > 1)
        qsort(search->markings, n, sizeof *search->markings, by_count);
    for (uint32_t first = 0, last; first < n; first = last) {
        for (last = first; last < n && search->markings[last].n == search->markings[first].n;)
            last++;
        if (last - first >= least)
            return &search->markings[first];
    }
    return NULL;
}

enum sutra_status repetitions_find(const struct overview *overview, struct arena *arena, struct arena *scratch,
                                   struct repetitions *repetitions, struct sutra_error *error) {
    struct repetition_search search = {0};
    *repetitions = (struct repetitions){0};
    if (!take_work(overview, scratch, &search))
        return error_memory(error);
    compare_stretches(&search);
    const struct marking *mark = choose(overview, &search);
    if (!mark)
        return SUTRA_OK;
    repetitions->begin = arena_take(arena, mark->n, sizeof *repetitions->begin);
    if (!repetitions->begin)
        return error_memory(error);
    for (row_t place = 0; place < search.n; place++)
        if (search.work[place].name == mark->name)
            repetitions->begin[repetitions->n++] = search.work[place].at;
    return SUTRA_OK;
}
