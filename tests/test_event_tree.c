/*
 * test_event_tree.c - tests parents of events: drawn corner cases, and random lists against two direct implementations:
 * PyTorch's replay with a heap of end times, and the search for open events as match/call_tree.h defines it.
 */
#include <inttypes.h>

#include "generate/random.h"
#include "match/steps.h"
#include "unit.h"

#define EVENTS_MAX 64
#define NEVER      EVENT_NO_END
#define ALONE      THREAD_NONE

struct list {
    row_t n;
    uint32_t n_threads;
    int64_t start[EVENTS_MAX], end[EVENTS_MAX];
    uint32_t thread[EVENTS_MAX], forward[EVENTS_MAX];
    uint8_t placed[EVENTS_MAX];
};

struct answer {
    row_t parent[EVENTS_MAX];
    bool finished[EVENTS_MAX];
};

static void find(const struct list *list, struct answer *answer) {
    int64_t closing[EVENTS_MAX];
    struct sutra_error error;
    const struct tree_events events = {list->n,      list->n_threads, list->start, list->end,
                                       list->thread, list->forward,   list->placed};
    struct event_parents_step step = {&events, answer->parent, closing};
    for (row_t i = 0; i < list->n; i++) {
        answer->parent[i] = ROW_NONE;
        closing[i] = list->end[i];
    }
    assert_int_equal(cpu_event_parents(NULL, &step, &error), SUTRA_OK);
    for (row_t i = 0; i < list->n; i++)
        answer->finished[i] = closing[i] != EVENT_OPEN;
}

/* ---- Corner cases ---- */

struct drawn {
    const char *name;
    struct {
        int64_t start, end;
        uint32_t thread, forward;
        int parent; /* -1: none, -2: placed */
    } events[8];    /* ends where start and end are 0 */
};

static const struct drawn cases[] = {
    {"event_is_below_the_running_event", {{1, 9, 0, ALONE, -1}, {2, 5, 0, ALONE, 0}, {3, 4, 0, ALONE, 1}}},
    {"event_that_starts_at_an_end_is_below", {{1, 5, 0, ALONE, -1}, {5, 9, 0, ALONE, 0}}},
    {"event_that_starts_after_an_end_is_not_below", {{1, 5, 0, ALONE, -1}, {6, 9, 0, ALONE, -1}}},
    {"threads_are_independent", {{1, 9, 0, ALONE, -1}, {2, 5, 1, ALONE, -1}}},
    {"end_of_an_event_ends_its_children",
     {{1, 5, 0, ALONE, -1}, {2, 9, 0, ALONE, 0}, {6, 7, 0, ALONE, -1}, {8, 9, 0, ALONE, -1}}},
    {"event_of_length_0_has_no_children", {{1, 9, 0, ALONE, -1}, {2, 2, 0, ALONE, 0}, {2, 3, 0, ALONE, 0}}},
    {"event_that_ends_before_its_start_has_no_children",
     {{1, 9, 0, ALONE, -1}, {4, 2, 0, ALONE, 0}, {5, 6, 0, ALONE, 0}}},
    {"event_without_an_end_ends_with_its_parent",
     {{1, 5, 0, ALONE, -1}, {2, NEVER, 0, ALONE, 0}, {3, 4, 0, ALONE, 1}, {6, 7, 0, ALONE, -1}}},
    {"root_without_an_end_never_ends", {{1, NEVER, 0, ALONE, -1}, {100, 101, 0, ALONE, 0}}},
    {"backward_thread_uses_events_of_its_forward_thread", {{1, 9, 0, ALONE, -1}, {2, 3, 1, 0, 0}, {5, 6, 1, 0, 0}}},
    {"event_of_the_own_thread_has_priority", {{1, 9, 0, ALONE, -1}, {2, 8, 1, ALONE, -1}, {3, 4, 1, 0, 1}}},
    {"thread_keeps_the_parent_of_its_first_event",
     {{1, 5, 0, ALONE, -1}, {2, 3, 1, 0, 0}, {7, 8, 1, ALONE, 0}, {10, 11, 1, ALONE, 0}}},
    {"event_of_length_0_sets_no_parent_of_its_thread", {{1, 5, 0, ALONE, -1}, {2, 2, 1, 0, 0}, {3, 4, 1, ALONE, -1}}},
    {"forward_thread_may_have_a_parent_of_another_thread",
     {{1, 3, 0, ALONE, -1}, {2, 3, 1, 0, 0}, {7, 8, 2, 1, 0}, {9, 10, 2, ALONE, 0}}},
    {"event_with_a_known_parent_is_ignored", {{1, 9, 0, ALONE, -1}, {2, 8, 0, ALONE, -2}, {3, 4, 0, ALONE, 0}}},
};

static void finds_the_drawn_parents(void **state) {
    const struct drawn *drawn = *state;
    struct list list = {.n_threads = 3};
    struct answer answer;
    for (; list.n < 8 && (drawn->events[list.n].start || drawn->events[list.n].end); list.n++) {
        list.start[list.n] = drawn->events[list.n].start;
        list.end[list.n] = drawn->events[list.n].end;
        list.thread[list.n] = drawn->events[list.n].thread;
        list.forward[list.n] = drawn->events[list.n].forward;
        list.placed[list.n] = drawn->events[list.n].parent == -2;
    }
    find(&list, &answer);
    for (row_t i = 0; i < list.n; i++)
        assert_int_equal(answer.parent[i], drawn->events[i].parent < 0 ? ROW_NONE : (row_t)drawn->events[i].parent);
}

/* ---- Random lists ---- */

static void make_list(struct list *list, struct random *random) {
    int64_t now = 0;
    uint32_t step = 1 + random_below(random, 4), endless = random_below(random, 4);
    *list = (struct list){.n = random_below(random, EVENTS_MAX), .n_threads = 1 + random_below(random, 5)};
    for (row_t i = 0; i < list->n; i++) {
        now += random_below(random, step);
        list->start[i] = now;
        list->end[i] = now + random_below(random, random_below(random, 5) ? 8 : 60) - 1;
        if (random_below(random, 8) < endless)
            list->end[i] = NEVER;
        list->thread[i] = random_below(random, list->n_threads);
        list->forward[i] = random_below(random, 3) ? ALONE : random_below(random, list->n_threads);
        list->placed[i] = random_below(random, 10) == 0;
    }
}

/* The replay: before each event, those are popped that have ended, the earliest end first; of equal ends the `last` or
 * the first. A pop takes along what is above. */
struct replay {
    const struct list *list;
    struct answer *answer;
    row_t top[EVENTS_MAX];
    bool waits[EVENTS_MAX]; /* its end is waited for */
};

static void pop(struct replay *replay, row_t event) {
    struct answer *answer = replay->answer;
    replay->waits[event] = false;
    if (answer->finished[event])
        return;
    row_t *top = &replay->top[replay->list->thread[event]];
    for (row_t frame = *top; frame != event; frame = answer->parent[frame])
        answer->finished[frame] = true;
    answer->finished[event] = true;
    *top = answer->parent[event];
}

static void pop_until(struct replay *replay, int64_t time, bool all, bool last) {
    const struct list *list = replay->list;
    for (;;) {
        row_t next = ROW_NONE;
        for (row_t i = 0; i < list->n; i++)
            if (replay->waits[i] &&
                (next == ROW_NONE || list->end[i] < list->end[next] || (last && list->end[i] == list->end[next])))
                next = i;
        if (next == ROW_NONE || (!all && list->end[next] >= time))
            return;
        pop(replay, next);
    }
}

static void replay_list(const struct list *list, struct answer *answer, bool last) {
    struct replay replay = {.list = list, .answer = answer};
    for (row_t i = 0; i < EVENTS_MAX; i++) {
        replay.top[i] = answer->parent[i] = ROW_NONE;
        answer->finished[i] = list->placed[i];
    }
    for (row_t i = 0; i < list->n; i++) {
        pop_until(&replay, list->start[i], false, last);
        if (list->placed[i])
            continue;
        row_t above = replay.top[list->thread[i]];
        if (above == ROW_NONE && list->forward[i] != ALONE)
            above = replay.top[list->forward[i]];
        answer->parent[i] = above;
        replay.waits[i] = list->end[i] > list->start[i];
        answer->finished[i] = !replay.waits[i] && list->end[i] != NEVER;
        if (!answer->finished[i])
            replay.top[list->thread[i]] = i;
    }
    pop_until(&replay, 0, true, last);
}

/* The search, without any order but that of the list. */
struct search {
    const struct list *list;
    int64_t closing[EVENTS_MAX];
    row_t adopter[EVENTS_MAX];    /* of each thread, ROW_NONE: none */
    row_t adopted_by[EVENTS_MAX]; /* the event that found it */
};

static bool enters(const struct list *list, row_t i) {
    return !list->placed[i] && event_enters(list->start[i], list->end[i]);
}

/* The last event of a thread before another that is open when that begins. */
static row_t last_open(const struct search *search, uint32_t thread, row_t before) {
    const struct list *list = search->list;
    for (row_t i = before; i-- > 0;)
        if (list->thread[i] == thread && enters(list, i) && search->closing[i] >= list->start[before])
            return i;
    return ROW_NONE;
}

static void settle_closings(struct search *search) {
    const struct list *list = search->list;
    for (row_t i = 0; i < list->n; i++)
        search->closing[i] = event_closing(list->end[i], EVENT_OPEN);
    for (bool changed = true; changed;) {
        int64_t next[EVENTS_MAX];
        changed = false;
        for (row_t i = 0; i < list->n; i++) {
            row_t below = last_open(search, list->thread[i], i);
            next[i] = event_closing(list->end[i], below == ROW_NONE ? EVENT_OPEN : search->closing[below]);
            changed |= next[i] != search->closing[i];
        }
        for (row_t i = 0; i < list->n; i++)
            search->closing[i] = next[i];
    }
}

/* The parent of an event at the bottom of its thread's stack. */
static row_t fall_back(const struct search *search, row_t i) {
    const struct list *list = search->list;
    if (search->adopter[list->thread[i]] != ROW_NONE && search->adopted_by[list->thread[i]] < i)
        return search->adopter[list->thread[i]];
    uint32_t forward = list->forward[i];
    if (forward == ALONE)
        return ROW_NONE;
    row_t open = last_open(search, forward, i);
    bool adopted = search->adopter[forward] != ROW_NONE && search->adopted_by[forward] < i;
    return open != ROW_NONE ? open : adopted ? search->adopter[forward] : ROW_NONE;
}

static void search_list(const struct list *list, struct answer *answer) {
    struct search search = {.list = list};
    settle_closings(&search);
    for (row_t i = 0; i < EVENTS_MAX; i++)
        search.adopter[i] = ROW_NONE;
    for (row_t i = 0; i < list->n; i++) { /* moments of adoption, in order of time */
        uint32_t thread = list->thread[i];
        if (!enters(list, i) || search.adopter[thread] != ROW_NONE || last_open(&search, thread, i) != ROW_NONE)
            continue;
        search.adopter[thread] = fall_back(&search, i);
        search.adopted_by[thread] = i;
    }
    for (row_t i = 0; i < list->n; i++) {
        row_t open = last_open(&search, list->thread[i], i);
        answer->parent[i] = list->placed[i] ? ROW_NONE : open != ROW_NONE ? open : fall_back(&search, i);
        answer->finished[i] = list->placed[i] || !enters(list, i) || search.closing[i] != EVENT_OPEN;
    }
}

static void print_list(const struct list *list) {
    for (row_t i = 0; i < list->n; i++)
        print_message("%u: %" PRId64 " to %" PRId64 ", thread %u, forward %d%s\n", i, list->start[i], list->end[i],
                      list->thread[i], (int)list->forward[i], list->placed[i] ? ", placed" : "");
}

static void compare(const struct list *list, const struct answer *found, const struct answer *expected,
                    const char *way) {
    for (row_t i = 0; i < list->n; i++)
        if (found->parent[i] != expected->parent[i] ||
            (!list->placed[i] && found->finished[i] != expected->finished[i])) {
            print_list(list);
            fail_msg("%s: event %u: parent %d for %d, finished %d for %d", way, i, (int)found->parent[i],
                     (int)expected->parent[i], found->finished[i], expected->finished[i]);
        }
}

static void event_tree_equals_a_direct_implementation_on_random_input(void **state) {
    struct random random = {20261121};
    print_message("seed %" PRIu64 "\n", random.state);
    for (int round = 0; round < 20000; round++) {
        struct list list;
        struct answer found, expected;
        make_list(&list, &random);
        find(&list, &found);
        replay_list(&list, &expected, false);
        compare(&list, &found, &expected, "replay, the first of equal ends first");
        replay_list(&list, &expected, true);
        compare(&list, &found, &expected, "replay, the last of equal ends first");
        search_list(&list, &expected);
        compare(&list, &found, &expected, "search");
    }
}

#define N_CASES (sizeof cases / sizeof *cases)

int main(void) {
    struct CMUnitTest tests[N_CASES + 1];
    for (size_t i = 0; i < N_CASES; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, finds_the_drawn_parents, NULL, NULL, (void *)&cases[i]};
    tests[N_CASES] = (struct CMUnitTest)cmocka_unit_test(event_tree_equals_a_direct_implementation_on_random_input);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
