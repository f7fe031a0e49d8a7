/*
 * test_replay.c - tests the simulation of nodes in time: small jobs with known times, and random jobs against a direct
 * implementation without a heap.
 */
#include <inttypes.h>

#include "generate/random.h"
#include "simulate/replay.h"
#include "unit.h"

#define RANKS_MAX    3
#define NODES_MAX    24
#define WAITS_MAX    4
#define MEETINGS_MAX 8

/* A rank as a table: duration, resource and dependencies of each node (rows; ends with -1). */
struct drawn_node {
    uint64_t dur;
    uint32_t resource;
    uint32_t matched_collective; /* number + 1, or 0; of messages SENT() or RECEIVED() of it */
    int after[WAITS_MAX + 1];
};

#define SENT(match)     ((match) | 256 * ROLE_SENDS)
#define RECEIVED(match) ((match) | 256 * ROLE_RECEIVES)

static uint32_t match_of(const struct drawn_node *node) {
    return node->matched_collective % 256;
}

static enum node_role role_of(const struct drawn_node *node) {
    return (enum node_role)(node->matched_collective / 256);
}

struct drawn_rank {
    row_t n;
    struct drawn_node nodes[NODES_MAX];
};

/* The same rank as input of replay(). */
struct made_rank {
    uint64_t dur[NODES_MAX], first_waiter[NODES_MAX + 1];
    uint32_t resource[NODES_MAX], matched_collective[NODES_MAX];
    uint8_t role[NODES_MAX];
    row_t n_waits[NODES_MAX], waiters[NODES_MAX * WAITS_MAX];
    uint64_t start[NODES_MAX], run[NODES_MAX], end[NODES_MAX];
    struct replay_node cause[NODES_MAX];
};

static struct replay_graph graph_make(const struct drawn_rank *drawn, struct made_rank *made) {
    uint64_t n_waiters = 0;
    for (row_t i = 0; i < drawn->n; i++) {
        made->dur[i] = drawn->nodes[i].dur;
        made->resource[i] = drawn->nodes[i].resource;
        made->matched_collective[i] = match_of(&drawn->nodes[i]) - 1;
        made->role[i] = (uint8_t)role_of(&drawn->nodes[i]);
        made->n_waits[i] = 0;
        while (drawn->nodes[i].after[made->n_waits[i]] >= 0)
            made->n_waits[i]++;
        made->first_waiter[i] = n_waiters;
        for (row_t k = 0; k < drawn->n; k++)
            for (const int *after = drawn->nodes[k].after; *after >= 0; after++)
                if ((row_t)*after == i)
                    made->waiters[n_waiters++] = k;
    }
    made->first_waiter[drawn->n] = n_waiters;
    return (struct replay_graph){.n = drawn->n,
                                 .dur_ns = made->dur,
                                 .resource = made->resource,
                                 .n_resources = 4,
                                 .n_waits = made->n_waits,
                                 .first_waiter = made->first_waiter,
                                 .waiters = made->waiters,
                                 .matched_collective = made->matched_collective,
                                 .role = made->role};
}

static void run(const struct drawn_rank *drawn, uint32_t n_ranks, struct made_rank *made, struct replay_times *times) {
    struct replay_graph graphs[RANKS_MAX];
    struct sutra_error error;
    for (uint32_t r = 0; r < n_ranks; r++) {
        graphs[r] = graph_make(&drawn[r], &made[r]);
        times[r] = (struct replay_times){
            .start_ns = made[r].start, .run_ns = made[r].run, .end_ns = made[r].end, .cause = made[r].cause};
    }
    const struct replay_job job = {n_ranks, graphs, MEETINGS_MAX, NULL};
    assert_int_equal(replay(&job, times, &error), SUTRA_OK);
}

/* ---- Hand-made jobs ---- */

enum { CPU, GPU, LINK };

static void nodes_of_one_resource_run_one_after_the_other(void **state) {
    const struct drawn_rank drawn = {3, {{5, CPU, 0, {-1}}, {7, CPU, 0, {-1}}, {3, GPU, 0, {-1}}}};
    struct made_rank made;
    struct replay_times times;
    run(&drawn, 1, &made, &times);
    assert_int_equal(made.end[0], 5);
    assert_int_equal(made.start[1], 5);
    assert_int_equal(made.cause[1].row, 0);
    assert_int_equal(made.end[2], 3);
    assert_int_equal(made.cause[2].row, ROW_NONE);
    assert_int_equal(times.finish_ns, 12);
}

static void node_waits_for_all_dependencies(void **state) {
    const struct drawn_rank drawn = {
        4, {{5, CPU, 0, {-1}}, {9, GPU, 0, {-1}}, {1, LINK, 0, {0, 1, -1}}, {0, CPU, 0, {2, -1}}}};
    struct made_rank made;
    struct replay_times times;
    run(&drawn, 1, &made, &times);
    assert_int_equal(made.start[2], 9);
    assert_int_equal(made.cause[2].row, 1);
    assert_int_equal(made.end[3], 11); /* a node without duration takes 1 ns */
}

static void ready_node_with_the_lowest_row_runs_first(void **state) {
    const struct drawn_rank drawn = {3, {{4, CPU, 0, {-1}}, {4, CPU, 0, {2, -1}}, {4, CPU, 0, {-1}}}};
    struct made_rank made;
    struct replay_times times;
    run(&drawn, 1, &made, &times);
    assert_int_equal(made.start[0], 0);
    assert_int_equal(made.start[2], 4);
    assert_int_equal(made.start[1], 8);
}

static void collective_members_wait_for_the_last_arrival(void **state) {
    const struct drawn_rank drawn[2] = {{2, {{3, LINK, 1, {-1}}, {2, LINK, 0, {-1}}}},
                                        {2, {{10, CPU, 0, {-1}}, {5, LINK, 1, {0, -1}}}}};
    struct made_rank made[2];
    struct replay_times times[2];
    run(drawn, 2, made, times);
    assert_int_equal(made[0].start[0], 0);
    assert_int_equal(made[0].run[0], 10);
    assert_int_equal(made[0].end[0], 13);
    assert_int_equal(made[0].cause[0].rank, 1);
    assert_int_equal(made[0].cause[0].row, 1);
    assert_int_equal(made[0].start[1], 13); /* the link was held while it waited */
    assert_int_equal(made[1].run[1], 10);
    assert_int_equal(made[1].end[1], 15);
    assert_int_equal(times[1].finish_ns, 15);
}

static void sends_end_without_their_receivers(void **state) {
    const struct drawn_rank drawn[2] = {
        {2, {{3, LINK, SENT(1), {-1}}, {2, LINK, SENT(2), {-1}}}},
        {3, {{9, GPU, RECEIVED(2), {-1}}, {10, CPU, 0, {-1}}, {9, LINK, RECEIVED(1), {1, -1}}}}};
    struct made_rank made[2];
    struct replay_times times[2];
    run(drawn, 2, made, times);
    assert_int_equal(made[0].end[0], 3);
    assert_int_equal(made[0].end[1], 5);
    assert_int_equal(made[1].end[0], 5); /* with the delivery */
    assert_int_equal(made[1].cause[0].rank, 0);
    assert_int_equal(made[1].cause[0].row, 1);
    assert_int_equal(made[1].end[2], 10); /* delivered before */
    assert_int_equal(made[1].cause[2].rank, 1);
    assert_int_equal(times[1].finish_ns, 10);
}

static void nodes_in_or_after_a_cycle_never_run(void **state) {
    const struct drawn_rank drawn = {
        4, {{1, CPU, 0, {1, -1}}, {1, CPU, 0, {0, -1}}, {1, CPU, 0, {1, -1}}, {6, CPU, 0, {-1}}}};
    struct made_rank made;
    struct replay_times times;
    run(&drawn, 1, &made, &times);
    assert_int_equal(times.n_ran, 1);
    assert_int_equal(times.finish_ns, 6);
    assert_true(made.end[2] == TIME_NEVER);
}

static void ranks_with_different_collective_orders_deadlock(void **state) {
    const struct drawn_rank drawn[2] = {{2, {{3, LINK, 1, {-1}}, {3, LINK, 2, {-1}}}},
                                        {2, {{3, LINK, 2, {-1}}, {3, LINK, 1, {-1}}}}};
    struct made_rank made[2];
    struct replay_times times[2];
    run(drawn, 2, made, times);
    assert_int_equal(times[0].n_ran + times[1].n_ran, 0);
    assert_int_equal(made[0].start[0], 0); /* it waits */
    assert_true(made[0].run[0] == TIME_NEVER);
}

/* ---- Random jobs ---- */

/* The rank r of a job in which the matches above `n_collectives` are messages: each from one rank to all others. */
static void draw_rank(struct drawn_rank *rank, uint32_t r, uint32_t n_collectives, struct random *random) {
    rank->n = 1 + (row_t)random_below(random, NODES_MAX);
    uint32_t order[NODES_MAX], next_match = 1;
    for (row_t i = 0; i < rank->n; i++)
        order[i] = i;
    for (row_t i = rank->n; i > 1; i--) {
        row_t k = (row_t)random_below(random, i);
        uint32_t swap = order[k];
        order[k] = order[i - 1];
        order[i - 1] = swap;
    }
    for (row_t i = 0; i < rank->n; i++) {
        struct drawn_node *node = &rank->nodes[order[i]];
        *node = (struct drawn_node){random_below(random, 6), (uint32_t)random_below(random, 4), 0, {-1}};
        int n_after = i ? (int)random_below(random, WAITS_MAX + 1) : 0;
        for (int k = 0; k < n_after; k++)
            node->after[k] = (int)order[random_below(random, i)];
        node->after[n_after] = -1;
        if (node->resource == LINK && next_match <= MEETINGS_MAX && random_below(random, 2))
            node->matched_collective = next_match++;
        if (node->matched_collective > n_collectives)
            node->matched_collective = node->matched_collective % RANKS_MAX == r ? SENT(node->matched_collective)
                                                                                 : RECEIVED(node->matched_collective);
    }
}

/* The states of a node, in this order. */
enum node_phase { BLOCKED, STARTED, RUNNING, ENDED };

struct plain_node {
    enum node_phase phase;
    uint64_t start, end, order;
};

struct plain {
    const struct drawn_rank *ranks;
    uint32_t n_ranks;
    struct plain_node nodes[RANKS_MAX][NODES_MAX];
    uint64_t n_started;
    bool is_delivered[MEETINGS_MAX + 1]; /* by number + 1 */
};

static bool plain_may_start(const struct plain *plain, uint32_t r, row_t i) {
    const struct drawn_rank *rank = &plain->ranks[r];
    for (const int *after = rank->nodes[i].after; *after >= 0; after++)
        if (plain->nodes[r][*after].phase != ENDED)
            return false;
    for (row_t k = 0; k < rank->n; k++) {
        enum node_phase phase = plain->nodes[r][k].phase;
        if (rank->nodes[k].resource == rank->nodes[i].resource && (phase == STARTED || phase == RUNNING))
            return false;
    }
    return plain->nodes[r][i].phase == BLOCKED;
}

static void plain_run(struct plain *plain, uint32_t r, row_t i, uint64_t now) {
    uint64_t dur = plain->ranks[r].nodes[i].dur;
    plain->nodes[r][i].phase = RUNNING;
    plain->nodes[r][i].end = now + (role_of(&plain->ranks[r].nodes[i]) == ROLE_RECEIVES ? 0 : dur ? dur : 1);
    plain->nodes[r][i].order = plain->n_started++;
}

/* Runs the collective if all ranks have arrived; `order` is the order of arrival. */
static void plain_meet(struct plain *plain, uint32_t matched_collective, uint64_t now) {
    uint32_t n_members = 0, n_arrived = 0;
    for (uint32_t r = 0; r < plain->n_ranks; r++)
        for (row_t i = 0; i < plain->ranks[r].n; i++)
            if (plain->ranks[r].nodes[i].matched_collective == matched_collective) {
                n_members++;
                n_arrived += plain->nodes[r][i].phase == STARTED;
            }
    while (n_arrived == n_members) {
        uint32_t first_rank = 0;
        row_t first = ROW_NONE;
        for (uint32_t r = 0; r < plain->n_ranks; r++)
            for (row_t i = 0; i < plain->ranks[r].n; i++)
                if (plain->ranks[r].nodes[i].matched_collective == matched_collective &&
                    plain->nodes[r][i].phase == STARTED &&
                    (first == ROW_NONE || plain->nodes[r][i].order < plain->nodes[first_rank][first].order)) {
                    first_rank = r;
                    first = i;
                }
        if (first == ROW_NONE)
            return;
        plain_run(plain, first_rank, first, now);
    }
}

static void plain_deliver(struct plain *plain, uint32_t message, uint64_t now) {
    plain->is_delivered[message] = true;
    for (uint32_t r = 0; r < plain->n_ranks; r++)
        for (row_t i = 0; i < plain->ranks[r].n; i++)
            if (match_of(&plain->ranks[r].nodes[i]) == message && plain->nodes[r][i].phase == STARTED)
                plain_run(plain, r, i, now);
}

static void plain_start_all(struct plain *plain, uint32_t r, uint64_t now) {
    for (row_t i = 0; i < plain->ranks[r].n; i++)
        if (plain_may_start(plain, r, i)) {
            plain->nodes[r][i].start = now;
            const struct drawn_node *node = &plain->ranks[r].nodes[i];
            if (node->matched_collective == 0 || role_of(node) == ROLE_SENDS ||
                (role_of(node) == ROLE_RECEIVES && plain->is_delivered[match_of(node)])) {
                plain_run(plain, r, i, now);
            } else if (role_of(node) == ROLE_RECEIVES) {
                plain->nodes[r][i].phase = STARTED;
            } else {
                plain->nodes[r][i].phase = STARTED;
                plain->nodes[r][i].order = plain->n_started++;
                plain_meet(plain, plain->ranks[r].nodes[i].matched_collective, now);
            }
        }
}

/* Ends the node that runs and ends first; false: none runs. */
static bool plain_end_one(struct plain *plain) {
    struct plain_node *first = NULL;
    const struct drawn_node *drawn = NULL;
    uint32_t rank = 0;
    for (uint32_t r = 0; r < plain->n_ranks; r++)
        for (row_t i = 0; i < plain->ranks[r].n; i++) {
            struct plain_node *node = &plain->nodes[r][i];
            if (node->phase == RUNNING && (!first || node->end < first->end ||
                                           (node->end == first->end && rank == r && node->order < first->order))) {
                first = node;
                drawn = &plain->ranks[r].nodes[i];
                rank = r;
            }
        }
    if (!first)
        return false;
    first->phase = ENDED;
    if (role_of(drawn) == ROLE_SENDS)
        plain_deliver(plain, match_of(drawn), first->end);
    plain_start_all(plain, rank, first->end);
    return true;
}

static void random_jobs_take_the_time_of_the_plain_rules(void **state) {
    static struct drawn_rank drawn[RANKS_MAX];
    static struct made_rank made[RANKS_MAX];
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct random random = {seed};
        uint32_t n_ranks = 1 + (uint32_t)random_below(&random, RANKS_MAX);
        struct replay_times times[RANKS_MAX];
        struct plain plain = {.ranks = drawn, .n_ranks = n_ranks};
        const uint32_t n_collectives = seed % 2 ? MEETINGS_MAX : (uint32_t)random_below(&random, MEETINGS_MAX + 1);
        for (uint32_t r = 0; r < n_ranks; r++)
            draw_rank(&drawn[r], r, n_collectives, &random);
        run(drawn, n_ranks, made, times);
        for (uint32_t r = 0; r < n_ranks; r++)
            plain_start_all(&plain, r, 0);
        while (plain_end_one(&plain))
            ;
        for (uint32_t r = 0; r < n_ranks; r++)
            for (row_t i = 0; i < drawn[r].n; i++) {
                const struct plain_node *node = &plain.nodes[r][i];
                uint64_t start = node->phase == BLOCKED ? TIME_NEVER : node->start;
                uint64_t end = node->phase == ENDED ? node->end : TIME_NEVER;
                if (made[r].start[i] != start || made[r].end[i] != end)
                    fail_msg("seed %" PRIu64 ", rank %u, node %u: %" PRIu64 " to %" PRIu64 ", expected %" PRIu64
                             " to %" PRIu64,
                             seed, r, i, made[r].start[i], made[r].end[i], start, end);
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_one_resource_run_one_after_the_other),
        cmocka_unit_test(node_waits_for_all_dependencies),
        cmocka_unit_test(ready_node_with_the_lowest_row_runs_first),
        cmocka_unit_test(collective_members_wait_for_the_last_arrival),
        cmocka_unit_test(sends_end_without_their_receivers),
        cmocka_unit_test(nodes_in_or_after_a_cycle_never_run),
        cmocka_unit_test(ranks_with_different_collective_orders_deadlock),
        cmocka_unit_test(random_jobs_take_the_time_of_the_plain_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
