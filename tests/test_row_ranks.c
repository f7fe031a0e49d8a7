/*
 * test_row_ranks.c - tests rank queries (number of members before a row) of a set of rows against counting.
 */
#include "columns/rows.h"
#include "unit.h"

static void members_are_numbered_in_ascending_order(void **state) {
    static const row_t members[] = {0, 1, 62, 63, 64, 65, 127, 128, 191, 200, 319};
    enum { N_MEMBERS = sizeof members / sizeof *members, N_ROWS = 320 };
    struct arena arena = {0};
    struct row_ranks ranks = row_ranks_alloc(&arena, N_ROWS);
    assert_int_equal(arena_status(&arena, NULL), SUTRA_OK);
    for (int i = N_MEMBERS - 1; i >= 0; i--) {
        assert_true(row_ranks_add(&ranks, members[i]));
        assert_false(row_ranks_add(&ranks, members[i]));
    }
    assert_int_equal(row_ranks_count(&ranks), N_MEMBERS);
    row_t n = 0, listed[N_MEMBERS];
    row_ranks_list(&ranks, listed);
    assert_memory_equal(listed, members, sizeof members);
    for (row_t row = 0; row < N_ROWS; row++) {
        bool is_member = n < N_MEMBERS && members[n] == row;
        assert_int_equal(row_ranks_contain(&ranks, row), is_member);
        if (is_member)
            assert_int_equal(row_rank(&ranks, row), n++);
    }
    assert_int_equal(n, N_MEMBERS);
    arena_free(&arena);
}

static void empty_set_has_no_ranks(void **state) {
    struct arena arena = {0};
    struct row_ranks ranks = row_ranks_alloc(&arena, 0);
    assert_int_equal(row_ranks_count(&ranks), 0);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_numbered_in_ascending_order),
        cmocka_unit_test(empty_set_has_no_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
