/*
 * test_job_network.c - tests ASTRA-sim's network model of a job whose transfers have a known latency and bandwidth:
 * dimensions, bandwidths, sizes of each kind, and the fixed part of durations.
 */
#include <math.h>

#include "job/job.h"
#include "unit.h"

#define RANKS     4
#define NODES_MAX 8
#define ALPHA_US  10
#define KB        1000

/* Four ranks in two neighboring pairs: groups 1 and 2 are neighbors, groups 3 and 4 are across. */
static const int64_t members[][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}};
static struct astra_group groups[] = {{1, members[0], 2}, {2, members[1], 2}, {3, members[2], 2}, {4, members[3], 2}};

struct network_case {
    struct matched_collective nodes[RANKS][NODES_MAX];
    struct matched_collectives ranks[RANKS];
    struct job_matches matched_collectives;
    struct job_astra network;
    struct arena arena;
    struct sutra_error error;
};

static void network_begin(struct network_case *of) {
    memset(of, 0, sizeof *of);
    for (int r = 0; r < RANKS; r++)
        of->ranks[r].nodes = of->nodes[r];
    of->matched_collectives = (struct job_matches){.ranks = of->ranks, .groups = groups, .n_groups = 4};
}

/* Adds a collective of a group (0: all ranks) that takes ALPHA_US and the time of its bytes; the last member has a
 * launch latency of 3 us more. */
static void collective(struct network_case *of, uint32_t group, enum comm_kind kind, uint64_t bytes,
                       double bytes_per_us) {
    const uint32_t n = group ? 2 : RANKS;
    const double moving_us = collective_bus_share(kind, n) * (double)bytes / bytes_per_us;
    for (uint32_t i = 0; i < n; i++) {
        struct matched_collectives *rank = &of->ranks[group ? (int64_t)groups[group - 1].ranks[i] : (int64_t)i];
        rank->nodes[rank->n++] =
            (struct matched_collective){.node = rank->n,
                                        .matched_collective = of->matched_collectives.n_matched_collectives,
                                        .kind = kind,
                                        .n_ranks = n,
                                        .n_files = n,
                                        .group = group,
                                        .bytes = bytes,
                                        .duration_us = (uint64_t)llround(ALPHA_US + moving_us) + (i + 1 == n ? 3 : 0),
                                        .run_ns = (uint64_t)llround((ALPHA_US + moving_us) * 1e3)};
    }
    of->matched_collectives.n_matched_collectives++;
}

static enum sutra_status network_find(struct network_case *of) {
    return job_network_find(&of->matched_collectives, RANKS, RANKS, &of->arena, &of->network, &of->error);
}

static void expect_near(double found, double expected, double tolerance) {
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("found %.9g, expected %.9g", found, expected);
}

static void one_dimension_has_the_bandwidth_of_the_longest_kind(void **state) {
    struct network_case of;
    network_begin(&of);
    of.matched_collectives.n_groups = 0;
    collective(&of, 0, COMM_ALL_REDUCE, 800 * KB, 2000);
    collective(&of, 0, COMM_ALL_REDUCE, 8000 * KB, 2000);
    collective(&of, 0, COMM_ALL_GATHER, 400 * KB, 1000);
    collective(&of, 0, COMM_ALL_GATHER, 4000 * KB, 1000);
    collective(&of, 0, COMM_ALL_TO_ALL, 400 * KB, 1000);
    collective(&of, 0, COMM_BROADCAST, 400 * KB, 1000);
    collective(&of, 0, COMM_REDUCE_SCATTER, 0, 1000);
    assert_int_equal(network_find(&of), SUTRA_OK);
    const struct astra_job *astra = &of.network.astra;
    assert_int_equal(astra->n_dimensions, 1);
    assert_int_equal(astra->n_of_dimension[0], RANKS);
    expect_near(astra->gib_per_s[0], 2000e6 / 0x1p30, 1e-3);
    assert_int_equal(of.network.n_modeled, 20);
    assert_int_equal(of.network.n_other_kinds, 4); /* broadcast */
    assert_int_equal(of.network.n_unsized, 4);
    for (int r = 0; r < RANKS; r++) {
        const struct matched_collective *nodes = of.nodes[r];
        /* size * factor at 2000 bytes/us takes the moving time; an all-gather counts one rank's bytes, and ASTRA-sim's
         * all-to-all moves twice the bytes of four ranks */
        expect_near((double)nodes[0].size, 800 * KB, 10);
        expect_near((double)nodes[2].size, 2 * 400 * KB / 4.0, 10);
        expect_near((double)nodes[4].size, 2 * 400 * KB * 2 / 4.0, 10);
        assert_int_equal(nodes[0].duration_us - nodes[0].moving_us, ALPHA_US + (r == RANKS - 1 ? 3 : 0));
        expect_near((double)nodes[0].moving_ns, 600e3, 1);
        assert_false(nodes[5].is_modeled);
        assert_false(nodes[6].is_modeled);
    }
    arena_free(&of.arena);
}

static void groups_of_neighbors_make_two_dimensions(void **state) {
    struct network_case of;
    network_begin(&of);
    for (uint32_t group = 1; group <= 4; group++) {
        collective(&of, group, group <= 2 ? COMM_ALL_REDUCE : COMM_MESSAGE, 800 * KB, group <= 2 ? 4000 : 1000);
        collective(&of, group, group <= 2 ? COMM_ALL_REDUCE : COMM_MESSAGE, 1600 * KB, group <= 2 ? 4000 : 1000);
    }
    collective(&of, 0, COMM_ALL_REDUCE, 100 * KB, 500);
    assert_int_equal(network_find(&of), SUTRA_OK);
    const struct astra_job *astra = &of.network.astra;
    assert_int_equal(astra->n_dimensions, 2);
    assert_int_equal(astra->n_of_dimension[0], 2);
    assert_int_equal(astra->n_of_dimension[1], 2);
    expect_near(astra->gib_per_s[0], 4000e6 / 0x1p30, 1e-3);
    expect_near(astra->gib_per_s[1], 1000e6 / 0x1p30, 1e-3);
    expect_near((double)of.nodes[0][0].size, 800 * KB, 10);
    expect_near((double)of.nodes[0][2].size, 800 * KB, 10); /* a message between the blocks */
    /* ASTRA-sim moves half of the bytes in the inner dimension and a quarter in the outer one. The bandwidths of the
     * dimensions differ. Alpha of one size is the mean of the other kinds. */
    const double moving_us = 1.5 * 100 * KB / 500;
    expect_near((double)of.nodes[0][4].size, moving_us * 1000 / (2 * 0.5 * 1000.0 / 4000 + 2 * 0.5 / 2), 10);
    arena_free(&of.arena);
}

/* What ASTRA-sim takes for a byte in 2 x 2 ranks, in runs of it: all-gather in the outer dimension first. */
static void collectives_of_all_ranks_span_both_dimensions(void **state) {
    struct network_case of;
    network_begin(&of);
    collective(&of, 1, COMM_ALL_REDUCE, 800 * KB, 4000);
    collective(&of, 3, COMM_MESSAGE, 800 * KB, 1000);
    collective(&of, 0, COMM_ALL_GATHER, 800 * KB, 500);
    collective(&of, 0, COMM_REDUCE_SCATTER, 800 * KB, 500);
    collective(&of, 0, COMM_ALL_TO_ALL, 800 * KB, 500);
    assert_int_equal(network_find(&of), SUTRA_OK);
    const double *gib_per_s = of.network.astra.gib_per_s, inner = 1e6 / 0x1p30 / gib_per_s[0],
                 outer = 1e6 / 0x1p30 / gib_per_s[1];
    const struct matched_collective *nodes = &of.nodes[3][0]; /* rank 3 is in neither group */
    expect_near((double)nodes[0].size * (outer + 2 * inner), (double)nodes[0].moving_ns / 1e3, 1);
    expect_near((double)nodes[1].size * (inner / 2 + outer / 4), (double)nodes[1].moving_ns / 1e3, 1);
    expect_near((double)nodes[2].size * (inner / 2 + outer / 2), (double)nodes[2].moving_ns / 1e3, 1);
    arena_free(&of.arena);
}

/* Ranks 0 and 3 differ in both dimensions: ASTRA-sim sends in the inner one. */
static void ring_uses_the_first_dimension_that_differs(void **state) {
    static const int64_t diagonal[] = {0, 3};
    static struct astra_group more[] = {{1, members[0], 2}, {2, members[1], 2}, {3, diagonal, 2}};
    struct network_case of;
    network_begin(&of);
    for (uint32_t group = 1; group <= 2; group++) {
        collective(&of, group, COMM_ALL_REDUCE, 800 * KB, 4000);
        collective(&of, group, COMM_ALL_REDUCE, 1600 * KB, 4000);
    }
    for (int i = 1; i <= 2; i++)
        collective(&of, 3, COMM_MESSAGE, (uint64_t)i * 800 * KB, 1000); /* of the ranks 0 and 2, */
    for (row_t i = 0; i < of.ranks[2].n; i++)                           /* which become 0 and 3 */
        if (of.nodes[2][i].group == 3)
            of.nodes[3][of.ranks[3].n++] = of.nodes[2][i];
    of.ranks[2].n -= 2;
    of.matched_collectives.groups = more;
    of.matched_collectives.n_groups = 3;
    assert_int_equal(network_find(&of), SUTRA_OK);
    expect_near(of.network.astra.gib_per_s[0], 4000e6 / 0x1p30, 1e-3);
    expect_near(of.network.astra.gib_per_s[1], 1000e6 / 0x1p30, 1e-3);
    expect_near((double)of.nodes[0][2].size, 4 * 800 * KB, 10);
    arena_free(&of.arena);
}

/* ASTRA-sim may crash at its exit in one dimension with smaller groups. */
static void smaller_groups_make_two_dimensions(void **state) {
    struct network_case of;
    network_begin(&of);
    collective(&of, 3, COMM_ALL_REDUCE, 800 * KB, 1000);
    collective(&of, 4, COMM_ALL_REDUCE, 1600 * KB, 1000);
    assert_int_equal(network_find(&of), SUTRA_OK);
    assert_int_equal(of.network.astra.n_dimensions, 2);
    expect_near(of.network.astra.gib_per_s[0], of.network.astra.gib_per_s[1], 0);
    arena_free(&of.arena);
}

static void a_job_without_sizes_keeps_its_durations(void **state) {
    struct network_case of;
    network_begin(&of);
    assert_int_equal(network_find(&of), SUTRA_OK);
    assert_int_equal(of.network.n_modeled, 0);
    expect_near(of.network.astra.gib_per_s[0], 1e6, 0);
    collective(&of, 0, COMM_ALL_REDUCE, 0, 1000);
    assert_int_equal(network_find(&of), SUTRA_OK);
    assert_int_equal(of.network.n_unsized, RANKS);
    arena_free(&of.arena);
}

static void scaled_part_is_at_most_the_shortest_duration(void **state) {
    struct network_case of;
    network_begin(&of);
    collective(&of, 0, COMM_ALL_REDUCE, 800 * KB, 1000);
    collective(&of, 0, COMM_ALL_REDUCE, 8000 * KB, 1000);
    of.nodes[2][0].duration_us = 100; /* without waiting it took 1,210 us */
    of.nodes[2][0].run_ns = 100000;
    assert_int_equal(network_find(&of), SUTRA_OK);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(of.nodes[r][0].moving_us, 100);
        assert_int_equal(of.nodes[r][0].size, of.nodes[0][0].size);
    }
    arena_free(&of.arena);
}

/* Rank 3 lacks an all-gather of all ranks: the ring of the other three takes the measured time. */
static void ranks_that_lack_a_collective_are_not_in_its_ring(void **state) {
    static const int64_t others[] = {0, 1, 2};
    static const struct astra_group lacking[] = {{5, others, 3}};
    struct network_case of;
    network_begin(&of);
    collective(&of, 0, COMM_ALL_GATHER, 400 * KB, 1000);
    collective(&of, 0, COMM_ALL_GATHER, 4000 * KB, 1000);
    of.ranks[3].n = 1;
    for (int r = 0; r < 3; r++) {
        of.nodes[r][1].group = 5;
        of.nodes[r][1].n_files = 3;
    }
    of.matched_collectives.groups = (struct astra_group *)lacking;
    of.matched_collectives.n_groups = 1;
    assert_int_equal(network_find(&of), SUTRA_OK);
    assert_int_equal(of.network.astra.n_dimensions, 2);
    assert_int_equal(of.network.n_modeled, 7);
    expect_near((double)of.nodes[0][0].size, 400 * KB / 4.0, 10);
    expect_near((double)of.nodes[0][1].size, 4000 * KB * (3 / 4.0) / (2 / 3.0) / 3, 10);
    arena_free(&of.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_dimension_has_the_bandwidth_of_the_longest_kind),
        cmocka_unit_test(groups_of_neighbors_make_two_dimensions),
        cmocka_unit_test(collectives_of_all_ranks_span_both_dimensions),
        cmocka_unit_test(ring_uses_the_first_dimension_that_differs),
        cmocka_unit_test(smaller_groups_make_two_dimensions),
        cmocka_unit_test(a_job_without_sizes_keeps_its_durations),
        cmocka_unit_test(scaled_part_is_at_most_the_shortest_duration),
        cmocka_unit_test(ranks_that_lack_a_collective_are_not_in_its_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
