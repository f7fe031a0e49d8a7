/*
 * test_arena.c - tests the arena: allocations do not overlap, zeroed allocations are zero in reused memory, and a
 * failed allocation is remembered.
 */
#include "base/arena.h"
#include "base/memory.h"
#include "unit.h"

static const size_t sizes[] = {0, 1, 15, 16, 17, 4000, 16383, 16384, 65536, 1000000};
#define N_SIZES (sizeof sizes / sizeof *sizes)

static void pieces_do_not_overlap(void **state) {
    struct arena arena = {0};
    unsigned char *pieces[N_SIZES * 2];
    for (size_t i = 0; i < N_SIZES * 2; i++) {
        pieces[i] = arena_alloc(&arena, sizes[i % N_SIZES], 1);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        memset(pieces[i], (int)i + 1, sizes[i % N_SIZES]);
    }
    for (size_t i = 0; i < N_SIZES * 2; i++)
        for (size_t k = 0; k < sizes[i % N_SIZES]; k++)
            assert_int_equal(pieces[i][k], i + 1);
    arena_free(&arena);
}

static void reused_memory_is_zeroed(void **state) {
    struct arena arena = {0};
    assert_non_null(arena_alloc(&arena, 10, 1));
    struct arena_mark mark = arena_mark(&arena);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < N_SIZES; i++) {
            unsigned char *piece = arena_zeros(&arena, sizes[i], 1);
            for (size_t k = 0; k < sizes[i]; k++)
                assert_int_equal(piece[k], 0);
            memset(piece, 0xff, sizes[i]);
            arena_release(&arena, mark);
        }
    arena_free(&arena);
}

static void release_keeps_memory_allocated_before_the_mark(void **state) {
    struct arena arena = {0};
    unsigned char *kept = arena_alloc(&arena, 100, 1);
    memset(kept, 7, 100);
    struct arena_mark mark = arena_mark(&arena);
    size_t held = arena.held;
    for (size_t i = 0; i < N_SIZES; i++)
        memset(arena_alloc(&arena, sizes[i], 1), 9, sizes[i]);
    arena_release(&arena, mark);
    assert_int_equal(arena.held, held);
    assert_true(arena.most >= 1000000);
    for (size_t k = 0; k < 100; k++)
        assert_int_equal(kept[k], 7);
    arena_free(&arena);
    assert_int_equal(arena.held, 0);
}

static void a_failure_is_remembered(void **state) {
    struct arena arena = {0};
    assert_null(arena_alloc(&arena, SIZE_MAX / 2, 3));
    assert_true(arena.failed);
    assert_null(arena_alloc(&arena, 1, 1));
    assert_null(arena_zeros(&arena, 1, 1));
    arena_free(&arena);
    assert_non_null(arena_alloc(&arena, 1, 1));
    arena_free(&arena);
}

static void a_list_that_grows_keeps_its_elements(void **state) {
    struct arena arena = {0};
    int *list = NULL, *other = NULL;
    uint64_t capacity = 0, room_other = 0;
    for (int i = 0; i < 1000; i++) {
        assert_true(arena_grow(&arena, &list, (uint64_t)i, &capacity, sizeof *list));
        assert_true(arena_grow(&arena, &other, (uint64_t)i, &room_other, sizeof *other));
        list[i] = i;
        other[i] = -i;
    }
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(list[i], i);
        assert_int_equal(other[i], -i);
    }
    capacity = UINT64_MAX / 2;
    assert_false(arena_grow(&arena, &list, capacity, &capacity, sizeof *list));
    assert_int_equal(list[999], 999);
    arena_free(&arena);
}

static void formatted_texts_have_any_length(void **state) {
    struct arena arena = {0};
    char digits[5001];
    memset(digits, '7', sizeof digits - 1);
    digits[sizeof digits - 1] = 0;
    assert_string_equal(arena_format(&arena, "%s", ""), "");
    const char *text = arena_format(&arena, "rank %d: %s", 3, digits);
    assert_int_equal(strlen(text), strlen("rank 3: ") + sizeof digits - 1);
    assert_string_equal(text + strlen("rank 3: "), digits);
    arena.failed = true;
    assert_string_equal(arena_format(&arena, "%s", "lost"), "");
    arena_free(&arena);
}

static void buffers_grow_for_formatted_texts(void **state) {
    struct buffer buffer = {0};
    char expected[8000] = "";
    for (int width = 1; width < 140; width += 3) { /* shorter and longer than most texts */
        buffer_format(&buffer, "%*d;", width, 7);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%*d;", width, 7);
    }
    assert_int_equal(buffer.length, strlen(expected));
    assert_memory_equal(buffer.bytes, expected, buffer.length);
    buffer_free(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_do_not_overlap),
        cmocka_unit_test(reused_memory_is_zeroed),
        cmocka_unit_test(release_keeps_memory_allocated_before_the_mark),
        cmocka_unit_test(a_failure_is_remembered),
        cmocka_unit_test(a_list_that_grows_keeps_its_elements),
        cmocka_unit_test(formatted_texts_have_any_length),
        cmocka_unit_test(buffers_grow_for_formatted_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
