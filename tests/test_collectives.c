/*
 * test_collectives.c - tests matching of collectives across ranks, and clock offsets computed from their ends.
 */
#include <math.h>

#include "analyze/rank_clocks.h"
#include "trace_text.h"
#include "unit.h"

/* A table of calls that a test fills. */
static uint32_t group_of(struct collective_calls *calls, const char *name, const char *members, int64_t size) {
    uint32_t group =
        collective_group_add(calls, name, strlen(name), members, strlen(members), size, COLLECTIVES_OF_NCCL);
    assert_int_not_equal(group, UINT32_MAX);
    return group;
}

static void add(struct collective_calls *calls, uint32_t group, const char *what, int64_t rank, int64_t seq,
                int64_t start, int64_t end) {
    struct collective_call call = {.rank = rank,
                                   .group = group,
                                   .what = strings_intern(&calls->strings, what, strlen(what)),
                                   .seq = seq,
                                   .peer = CALL_UNKNOWN,
                                   .start_ns = start,
                                   .end_ns = end,
                                   .is_message = collective_is_message(what)};
    call.is_send = call.is_message && *what == 's';
    assert_true(collective_call_add(calls, &call));
}

/* "group number: ranks; " of each match; messages begin with an arrow. */
static void tell(const struct collective_calls *calls, const struct collective_matches *matches, char *text) {
    *text = 0;
    for (row_t i = 0; i < matches->n; i++) {
        const struct collective_match *match = &matches->list[i];
        text += sprintf(text, "%s%u %d:", match->is_message ? ">" : "", match->group, (int)match->number);
        for (row_t k = 0; k < match->n; k++)
            text += sprintf(text, " %d", (int)calls->list[matches->order[match->first + k]].rank);
        text += sprintf(text, "; ");
    }
}

static void check_matches(struct collective_calls *calls, const char *expected) {
    struct arena arena = {0};
    struct collective_matches matches;
    struct sutra_error error;
    char text[1000];
    assert_int_equal(collective_matches_find(calls, &arena, &matches, &error), SUTRA_OK);
    tell(calls, &matches, text);
    assert_string_equal(text, expected);
    arena_free(&arena);
    collective_calls_free(calls);
}

static void collectives_match_by_sequence_number(void **state) {
    struct collective_calls calls;
    assert_true(collective_calls_init(&calls));
    uint32_t all = group_of(&calls, "0", "[0, 1, 2]", 3), pair = group_of(&calls, "0", "[0, 1]", 2);
    assert_int_equal(group_of(&calls, "0", "[0, 1]", 2), pair);
    add(&calls, all, "allreduce", 2, 5, 10, 20); /* the others' number 4 is lost here */
    add(&calls, all, "allreduce", 0, 4, 0, 5);
    add(&calls, all, "allreduce", 0, 5, 10, 20);
    add(&calls, all, "allreduce", 1, 4, 0, 5);
    add(&calls, all, "allreduce", 1, 5, 10, 20);
    add(&calls, pair, "broadcast", 1, 0, 30, 40);
    add(&calls, pair, "broadcast", 0, 0, 30, 40);
    check_matches(&calls, "0 4: 0 1; 0 5: 0 1 2; 1 0: 0 1; ");
}

static void collectives_without_numbers_match_in_order(void **state) {
    struct collective_calls calls;
    assert_true(collective_calls_init(&calls));
    uint32_t all = group_of(&calls, "0", "[0, 1]", 2);
    add(&calls, all, "allreduce", 0, 7, 50, 60);
    add(&calls, all, "allreduce", 0, 6, 10, 20);
    add(&calls, all, "allreduce", 1, CALL_UNKNOWN, 11, 20);
    check_matches(&calls, "0 0: 0 1; 0 1: 0; ");
}

static void messages_match_by_sender_and_receiver(void **state) {
    struct collective_calls calls;
    assert_true(collective_calls_init(&calls));
    uint32_t pair = group_of(&calls, "1", "[4, 7]", 2), three = group_of(&calls, "2", "[0, 1, 2]", 3);
    add(&calls, pair, "send", 4, 0, 0, 9);
    add(&calls, pair, "recv", 7, 0, 0, 9);
    add(&calls, pair, "send", 7, 1, 10, 19);
    add(&calls, pair, "recv", 4, 1, 10, 19);
    add(&calls, pair, "allreduce", 4, 0, 20, 29);
    add(&calls, pair, "allreduce", 7, 0, 20, 29);
    add(&calls, three, "send", 0, 3, 0, 9); /* each counts for itself */
    calls.list[calls.n - 1].peer = 2;
    add(&calls, three, "recv", 2, 8, 0, 9);
    calls.list[calls.n - 1].peer = 0;
    check_matches(&calls, "0 0: 4 7; >0 0: 4 7; >0 1: 4 7; >1 0: 0 2; ");
}

/* ---- Ranks that lost some ---- */

/* Ranks have a step of letters, each a size, again and again; '.' stands for a call that the rank lost, a small letter
 * for one of another size. Ends lie `apart` on the ranks by the clocks, or anywhere. */
static void fill_letters(struct collective_calls *calls, const char *const *ranks, bool timed) {
    uint32_t group = group_of(calls, "0", "[0, 1, 2]", 3);
    for (int64_t rank = 0; ranks[rank]; rank++)
        for (int64_t i = 0; ranks[rank][i]; i++) {
            if (ranks[rank][i] == '.')
                continue;
            int64_t t = i * 1000000 + i * i * 37 % 101 * 4000,
                    end = t + (timed ? rank * 70000000 : rank * i * i * 90000);
            add(calls, group, "allreduce", rank, CALL_UNKNOWN, i * 1000000 + rank * 70000000, end);
            calls->list[calls->n - 1].n_in = ranks[rank][i];
        }
}

/* Ranks of each match, a letter a place: "012". */
static void lost_calls_do_not_shift_other_matches(void **state) {
    static const struct {
        const char *ranks[4];
        bool timed;
        const char *expected;
    } cases[] = {
        {{"ABCABCABC", "ABCA.CABC", "ABCABCABC"}, false, "012 012 012 012 02 012 012 012 012 "},
        {{"ABCABCABC", "ABCA.CABC", "ABCABCABC"}, true, "012 012 012 012 02 012 012 012 012 "},
        {{"AB.ABC", "ABCABC", "ABCA.C"}, false, "012 012 12 012 01 012 "},
        {{"ABCDABCD", "ABcDABCD", "ABCDABCD"}, false, "012 012 012 012 012 012 012 012 "},
        {{"ABCD", "ABcD", ".BCD"}, true, "01 012 012 012 "},
        {{"AAAAAAAAAA", "AAA.AAAAAA", "AAAAAAA.AA"}, true, "012 012 012 02 012 012 012 01 012 012 "},
        {{"AAAAAAAAAA", ".AAAAAAAAA", "AAAAAAAAA."}, true, "02 012 012 012 012 012 012 012 012 01 "},
        {{"ABABABABAB", "..ABABABAB", "ABABABAB.."}, true, "02 02 012 012 012 012 012 012 01 01 "},
        {{"..CDEF", "ABCD..", "ABCDEF"}, false, "12 12 012 012 02 02 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct collective_calls calls;
        struct arena arena = {0};
        struct collective_matches matches;
        char text[400] = "", *at = text;
        assert_true(collective_calls_init(&calls));
        fill_letters(&calls, cases[i].ranks, cases[i].timed);
        assert_int_equal(collective_matches_find(&calls, &arena, &matches, NULL), SUTRA_OK);
        for (row_t k = 0; k < matches.n; k++, at += sprintf(at, " "))
            for (row_t place = 0; place < matches.list[k].n; place++)
                at += sprintf(at, "%d", (int)collective_match_call(&calls, &matches, &matches.list[k], place)->rank);
        assert_string_equal(text, cases[i].expected);
        arena_free(&arena);
        collective_calls_free(&calls);
    }
}

/* Appends "a/b " for each match of two ranks: the index of the call in the letters of each rank, '-' if it has none. */
static void list_pairs(const struct collective_calls *calls, const struct collective_matches *matches, char *text) {
    *text = 0;
    for (row_t i = 0; i < matches->n; i++) {
        char index[2][12] = {"-", "-"};
        for (row_t k = 0; k < matches->list[i].n; k++) {
            const struct collective_call *call = collective_match_call(calls, matches, &matches->list[i], k);
            sprintf(index[call->rank], "%d", (int)((call->start_ns - call->rank * 70000000) / 1000000));
        }
        text += sprintf(text, "%s/%s ", index[0], index[1]);
    }
}

/* An arena whose free memory contains a number again and again, which no result may depend on. */
static struct arena filled_arena(uint32_t number) {
    struct arena arena = {0};
    assert_non_null(arena_alloc(&arena, 1, 1));
    struct arena_mark mark = arena_mark(&arena);
    uint32_t *numbers = arena_alloc(&arena, 4000, sizeof *numbers);
    assert_non_null(numbers);
    for (int i = 0; i < 4000; i++)
        numbers[i] = number;
    arena_release(&arena, mark);
    return arena;
}

/* Ends do not agree, so that letters decide. The first and the last letters differ. */
static void calls_are_paired_around_unique_calls(void **state) {
    static const struct {
        const char *ranks[3];
        const char *expected;
    } cases[] = {
        /* X and B are unique. By their order alone, both A of rank 1 are among those before X on rank 0. */
        {{"PAAAXBQ", "RAXABS"}, "-/0 0/- 1/- 2/- 3/1 4/2 -/3 5/4 6/5 "},
        /* One call precedes the unique calls on rank 0, and two other calls precede them on rank 1. */
        {{"PABCDQ", "RSABCDTU"}, "-/0 -/1 0/- 1/2 2/3 3/4 4/5 -/6 -/7 5/- "},
        /* Missing and inserted calls between unique calls. */
        {{"PAXAAYAQ", "RXAYAAZS"}, "-/0 0/- 1/- 2/1 3/2 4/- 5/3 6/4 -/5 -/6 -/7 7/- "},
    };
    enum { N_CASES = sizeof cases / sizeof *cases, N_FILLS = 60 }; /* more than tokens */
    for (uint32_t i = 0; i < N_CASES * N_FILLS; i++) {
        struct collective_calls calls;
        struct arena arena = filled_arena(i % N_FILLS);
        struct collective_matches matches;
        char text[400];
        assert_true(collective_calls_init(&calls));
        fill_letters(&calls, cases[i / N_FILLS].ranks, false);
        assert_int_equal(collective_matches_find(&calls, &arena, &matches, NULL), SUTRA_OK);
        list_pairs(&calls, &matches, text);
        assert_string_equal(text, cases[i / N_FILLS].expected);
        arena_free(&arena);
        collective_calls_free(&calls);
    }
}

/* Two broadcasts between all-reduces; rank 1 lost the last all-reduce. Each broadcast of rank 1 ends as the broadcast of rank
 * 0 after the next one does, by a clock that is 500 ms off: most ends agree on this clock, but the ends of broadcasts
 * are not simultaneous. */
static void ends_of_broadcasts_do_not_decide_about_clocks(void **state) {
    enum { N = 28 };
    struct collective_calls calls;
    struct arena arena = {0};
    struct collective_matches matches;
    int64_t ends[N + 6];
    char text[400], expected[400] = "", *at = expected;
    assert_true(collective_calls_init(&calls));
    uint32_t group = group_of(&calls, "0", "[0, 1]", 2);
    for (int64_t i = 0; i < N + 6; i++)
        ends[i] = i * 1000000 + 10000 + i * i * 37 % 101 * 4000;
    for (int64_t i = 0; i < N; i++)
        add(&calls, group, i % 3 == 2 || i + 1 == N ? "allreduce" : "broadcast", 0, CALL_UNKNOWN, i * 1000000, ends[i]);
    for (int64_t i = 0; i < N; i++) {
        const bool is_lost = i + 1 == N;
        at += sprintf(at, is_lost ? "%d/- " : "%d/%d ", (int)i, (int)i);
        if (is_lost)
            continue;
        if (i % 3 == 2)
            add(&calls, group, "allreduce", 1, CALL_UNKNOWN, i * 1000000 + 70000000, ends[i] + 70000000);
        else /* the second broadcast after this one */
            add(&calls, group, "broadcast", 1, CALL_UNKNOWN, i * 1000000 + 70000000, ends[i + 3] + 570000000);
    }
    assert_int_equal(collective_matches_find(&calls, &arena, &matches, NULL), SUTRA_OK);
    list_pairs(&calls, &matches, text);
    assert_string_equal(text, expected);
    arena_free(&arena);
    collective_calls_free(&calls);
}

static void calls_with_equal_numbers_match_in_order(void **state) {
    struct collective_calls calls;
    assert_true(collective_calls_init(&calls));
    uint32_t pair = group_of(&calls, "0", "[0, 1]", 2);
    for (int64_t rank = 0; rank < 2; rank++) {
        add(&calls, pair, "allreduce", rank, 7, 10, 20);
        add(&calls, pair, "allreduce", rank, 7, 30, 40);
        add(&calls, pair, "allreduce", rank, 8, 50, 60);
    }
    check_matches(&calls, "0 7: 0 1; 0 7: 0 1; 0 8: 0 1; ");
}

/* ---- Clocks ---- */

#define N_RANKS 6
#define N_TURNS 21

static const int64_t true_offsets[N_RANKS] = {0, 5000, -70000, -70100, 1234567, 42};

/* Ranks 0 and 1, 1 to 3, and 3 and 4 have collectives; rank 5 has broadcasts only. Ends jitter, and one is far out. */
static void fill_clocks(struct collective_calls *calls) {
    static const struct {
        const char *members;
        int64_t first, last;
    } groups[] = {{"[0, 1]", 0, 1}, {"[1, 2, 3]", 1, 3}, {"[3, 4]", 3, 4}};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        uint32_t group = group_of(calls, "g", groups[g].members, groups[g].last - groups[g].first + 1);
        for (int64_t turn = 0; turn < N_TURNS; turn++)
            for (int64_t rank = groups[g].first; rank <= groups[g].last; rank++) {
                int64_t end =
                    turn * 1000000 + (turn * 7 + rank * 3) % 11 + true_offsets[rank] + (turn == 3) * 400000 * rank;
                add(calls, group, "allreduce", rank, turn, end - 500 - rank * 100, end);
            }
    }
    uint32_t all = group_of(calls, "all", "[0, 5]", 2);
    add(calls, all, "broadcast", 0, 0, 0, 10);
    add(calls, all, "broadcast", 5, 0, 0, 99);
}

/* Kernels without a group match by library, phase and index, and only if every rank has equally many. */
static void libraries_match_by_index_apart(void **state) {
    for (int n_of_last = 1; n_of_last <= 2; n_of_last++) {
        struct collective_calls calls;
        assert_true(collective_calls_init(&calls));
        uint32_t groups[2];
        for (uint8_t i = 0; i < 2; i++) {
            struct collective_source source = {LIBRARY_DEEPEP, i ? PHASE_COMBINE : PHASE_DISPATCH};
            groups[i] = collective_group_add(&calls, "", 0, "", 0, CALL_UNKNOWN, source);
        }
        assert_int_not_equal(groups[0], groups[1]);
        for (int64_t rank = 0; rank < 2; rank++)
            for (int i = 0; i < 2; i++) {
                add(&calls, groups[0], "all-to-all", rank, CALL_UNKNOWN, 100 * i, 100 * i + 50);
                if (rank == 0 || i < n_of_last)
                    add(&calls, groups[1], "all-to-all", rank, CALL_UNKNOWN, 100 * i + 60, 100 * i + 90);
            }
        check_matches(&calls, n_of_last == 2 ? "0 0: 0 1; 0 1: 0 1; 1 0: 0 1; 1 1: 0 1; " : "0 0: 0 1; 0 1: 0 1; ");
    }
}

/* "Comms Id" decides before the sequence number if every call has it. */
static void collectives_match_by_comms_id(void **state) {
    for (int all_have = 0; all_have < 2; all_have++) {
        struct collective_calls calls;
        assert_true(collective_calls_init(&calls));
        uint32_t group = group_of(&calls, "0", "[0, 1]", 2);
        for (int64_t rank = 0; rank < 2; rank++)
            for (int i = 0; i < 2; i++) {
                add(&calls, group, "allreduce", rank, rank ? 1 - i : i, 100 * i, 100 * i + 50);
                calls.list[calls.n - 1].comms_id = all_have || rank == 0 ? 1 + (uint32_t)i : 0;
            }
        struct arena arena = {0};
        struct collective_matches matches;
        struct sutra_error error;
        assert_int_equal(collective_matches_find(&calls, &arena, &matches, &error), SUTRA_OK);
        assert_int_equal(matches.n, 2);
        const struct collective_call *first = collective_match_call(&calls, &matches, &matches.list[0], 0),
                                     *second = collective_match_call(&calls, &matches, &matches.list[0], 1);
        assert_int_equal(first->start_ns == second->start_ns, all_have);
        arena_free(&arena);
        collective_calls_free(&calls);
    }
}

static void clocks_follow_from_ends(void **state) {
    struct collective_calls calls;
    struct arena arena = {0};
    struct collective_matches matches;
    struct rank_clock *clocks;
    struct sutra_error error;
    row_t n;
    assert_true(collective_calls_init(&calls));
    fill_clocks(&calls);
    assert_int_equal(collective_matches_find(&calls, &arena, &matches, &error), SUTRA_OK);
    assert_int_equal(rank_clocks_find(&calls, &matches, &arena, &clocks, &n, &error), SUTRA_OK);
    assert_int_equal(n, N_RANKS);
    for (row_t i = 0; i < n; i++) {
        assert_int_equal(clocks[i].rank, i);
        assert_int_equal(clocks[i].n, i == 0 || i == 5 ? 0 : N_TURNS);
        if (i < 5)
            assert_true(llabs(clocks[i].offset_ns - true_offsets[i]) < 40);
        assert_in_range(clocks[i].spread_ns, 0, 15);
    }
    assert_int_equal(clocks[5].offset_ns, 0);
    arena_free(&arena);
    collective_calls_free(&calls);
}

/* Two ranks have collectives, two others messages from one of those; the last two are on their own. Rank 1 drifts. */
static void drift_is_estimated_and_messages_connect_clocks(void **state) {
    struct collective_calls calls;
    struct arena arena = {0};
    struct collective_matches matches;
    struct rank_clock *clocks;
    row_t n;
    assert_true(collective_calls_init(&calls));
    uint32_t pair = group_of(&calls, "a", "[0, 1]", 2), route = group_of(&calls, "b", "[1, 2]", 2);
    uint32_t alone = group_of(&calls, "c", "[6, 9]", 2);
    for (int64_t turn = 0; turn < 40; turn++) {
        int64_t t = turn * 25000000, late = 300000 + t / 50000, jitter = turn * 7 % 5 * 200;
        add(&calls, pair, "allreduce", 0, turn, t, t + 5000 + jitter);
        add(&calls, pair, "allreduce", 1, turn, t + late, t + 5000 + late);
        add(&calls, route, "send", 1, turn, t + late, t + 9000 + late);
        add(&calls, route, "recv", 2, turn, t - 800, t + 9000 - 800);
        add(&calls, alone, "allreduce", 6, turn, t, t + 10);
        add(&calls, alone, "allreduce", 9, turn, t, t + 60010);
    }
    assert_int_equal(collective_matches_find(&calls, &arena, &matches, NULL), SUTRA_OK);
    assert_int_equal(rank_clocks_find(&calls, &matches, &arena, &clocks, &n, NULL), SUTRA_OK);
    assert_int_equal(n, 5);
    assert_true(fabs(clocks[1].drift - 2e-5) < 2e-6);
    assert_true(rank_clock_is_off(&clocks[1]) && !clocks[1].by_messages && clocks[2].by_messages);
    for (int64_t turn = 0; turn < 40; turn++) { /* a moment on all three clocks */
        int64_t t = turn * 25000000, late = 300000 + t / 50000;
        assert_true(llabs(rank_clock_time(&clocks[1], t + late) - t) < 2000);
        assert_true(llabs(rank_clock_time(&clocks[2], t - 800) - t) < 2000);
    }
    assert_int_equal(clocks[3].reference, 6);
    assert_int_equal(clocks[4].reference, 6);
    assert_int_equal(clocks[4].offset_ns, 60000);
    /* Of each rank pair's 40 collectives: rank 1 begins after the end of rank 0; rank 9 ends late, which can be. */
    assert_int_equal(rank_clocks_impossible(&calls, &matches, NULL, 0, 1000), 40);
    assert_int_equal(rank_clocks_impossible(&calls, &matches, clocks, n, 1000), 0);
    arena_free(&arena);
    collective_calls_free(&calls);
}

static void no_calls_have_no_clocks(void **state) {
    struct collective_calls calls;
    struct arena arena = {0};
    struct collective_matches matches;
    struct rank_clock *clocks;
    row_t n = 9;
    assert_true(collective_calls_init(&calls));
    assert_int_equal(collective_matches_find(&calls, &arena, &matches, NULL), SUTRA_OK);
    assert_int_equal(rank_clocks_find(&calls, &matches, &arena, &clocks, &n, NULL), SUTRA_OK);
    assert_int_equal(matches.n, 0);
    assert_int_equal(n, 0);
    arena_free(&arena);
    collective_calls_free(&calls);
}

/* ---- From a trace ---- */

static void traces_contain_their_collectives(void **state) {
    struct sutra_context *context = NEW_CONTEXT();
    struct sutra_device_trace *trace = parse_trace(
        context,
        "'baseTimeNanoseconds':1000; 'distributedInfo':{'pg_config':[{'pg_name':'7','ranks':[0, 1, 2]}]}; "
        "kernel ncclDevKernel_x pid=0 ts=2.5+3 'Collective name'=allreduce dtype=Float 'In msg nelems'=8 "
        "'Out msg nelems'=9 'Group size'=3 'Process Group Name'='7' 'Process Group Ranks'='[0, 1, ...]' Seq=4; "
        "kernel ncclDevKernel_SendRecv pid=0 ts=9+1 'Collective name'=recv 'Src Rank'=2; "
        "kernel ncclKernel_old pid=0 ts=11+1; cpu_op nccl:x pid=0 ts=1+1");
    struct collective_calls calls;
    struct arena arena = {0};
    size_t n;
    assert_true(collective_calls_init(&calls));
    assert_int_equal(collective_calls_read(&calls, context, trace, 6, NULL), SUTRA_OK);
    assert_int_equal(calls.n, 2);
    assert_int_equal(calls.n_untold, 1);
    const struct collective_call *first = calls.list;
    assert_int_equal(first->rank, 6);
    assert_int_equal(first->seq, 4);
    assert_int_equal(first->n_in, 8);
    assert_int_equal(first->n_out, 9);
    assert_int_equal(first->start_ns, 3500);
    assert_int_equal(first->end_ns, 6500);
    assert_string_equal(strings_text(&calls.strings, first->type), "Float");
    int64_t *ranks = collective_group_ranks(&calls, first->group, &arena, &n);
    assert_int_equal(n, 3);
    assert_int_equal(ranks[2], 2);
    assert_true(first[1].is_message && !first[1].is_send);
    assert_int_equal(first[1].peer, 2);
    assert_int_equal(first[1].seq, CALL_UNKNOWN);
    arena_free(&arena);
    collective_calls_free(&calls);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_match_by_sequence_number),
        cmocka_unit_test(collectives_without_numbers_match_in_order),
        cmocka_unit_test(messages_match_by_sender_and_receiver),
        cmocka_unit_test(lost_calls_do_not_shift_other_matches),
        cmocka_unit_test(calls_are_paired_around_unique_calls),
        cmocka_unit_test(ends_of_broadcasts_do_not_decide_about_clocks),
        cmocka_unit_test(calls_with_equal_numbers_match_in_order),
        cmocka_unit_test(libraries_match_by_index_apart),
        cmocka_unit_test(collectives_match_by_comms_id),
        cmocka_unit_test(clocks_follow_from_ends),
        cmocka_unit_test(drift_is_estimated_and_messages_connect_clocks),
        cmocka_unit_test(no_calls_have_no_clocks),
        cmocka_unit_test(traces_contain_their_collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
