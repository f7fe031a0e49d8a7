/*
 * test_hash.c - tests probe lengths of hash tables with adversarial values: values that make a factor of the hash 0,
 * and entries that collide for a known key.
 */
#include "columns/hash_tables.h"
#include "columns/strings.h"
#include "unit.h"

enum { N = 33000, N_CHOSEN = 2000, N_SLOTS_CHOSEN = 4096 };

/*
 * The tables are filled with a key of the tests' own: with one drawn key in a hundred, the numbers after a first part
 * that equals the key lie close enough for another turn. Nobody can choose that part without knowing the key, but a
 * test that draws one would fail once in a hundred runs.
 */
static const struct hash_key KEY = {0x547f6afdc354af78u, 0xeba5e60e80d18471u, 0x64a1f0337c2b95d7u};
static struct hash_key drawn;

static int keep_the_drawn_key(void **state) {
    drawn = hash_key;
    hash_key = KEY;
    return 0;
}

/* The longest run of filled slots. */
static uint64_t longest_run(const struct hash_slots *slots) {
    uint64_t run = 0, longest = 0;
    for (uint64_t i = 0; i <= slots->mask; i++) {
        run = slots->slots[i] ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* With a first part that the key turns into 0, should it be known, and with one that a hash of fixed numbers would. */
static void equal_first_keys_do_not_collide(void **state) {
    const uint64_t firsts[] = {0xa0761d6478bd642fu, 0x9e3779b97f4a7c15u, hash_key.first, 0};
    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
        struct tuples tuples = {0};
        struct pair_table table;
        assert_true(pair_table_init(&table));
        for (uint32_t i = 0; i < N; i++) {
            assert_int_equal(tuples_number(&tuples, (struct tuple){{(value_key)firsts[f], i}}), i);
            assert_true(pair_table_note(&table, firsts[f], i, i));
        }
        assert_true(longest_run(&tuples.slots) <= HASH_RUN);
        assert_true(longest_run(&table.slots) <= HASH_RUN);
        assert_int_equal(tuples.slots.turn + table.slots.turn, 0);
        tuples_free(&tuples);
        pair_table_free(&table);
    }
}

/* Numbers whose hash has the same low bits. */
static uint64_t next_chosen(uint64_t number) {
    do
        number++;
    while (hash_pair(number, 0, 0) % N_SLOTS_CHOSEN);
    return number;
}

static void colliding_pairs_rehash_the_table(void **state) {
    struct pair_table table;
    uint64_t number = 0;
    assert_true(pair_table_init(&table));
    for (uint32_t i = 0; i < N_CHOSEN; i++)
        assert_true(pair_table_note(&table, number = next_chosen(number), 0, i));
    assert_true(table.slots.turn > 0);
    assert_true(longest_run(&table.slots) <= HASH_RUN);
    number = 0;
    for (uint32_t i = 0; i < N_CHOSEN; i++)
        assert_int_equal(pair_table_find(&table, number = next_chosen(number), 0), i);
    pair_table_free(&table);
}

static struct tuple chosen_tuple(uint64_t *number) {
    struct tuple tuple = {0};
    do
        tuple.part[1] = (value_key)++ * number;
    while (hash_bytes(&tuple, sizeof tuple, 0) % N_SLOTS_CHOSEN);
    return tuple;
}

static void colliding_tuples_rehash_the_table(void **state) {
    struct tuples tuples = {0};
    uint64_t number = 0;
    for (uint32_t i = 0; i < N_CHOSEN; i++)
        assert_int_equal(tuples_number(&tuples, chosen_tuple(&number)), i);
    assert_true(tuples.slots.turn > 0);
    assert_true(longest_run(&tuples.slots) <= HASH_RUN);
    number = 0;
    for (uint32_t i = 0; i < N_CHOSEN; i++)
        assert_int_equal(tuples_find(&tuples, chosen_tuple(&number)), i);
    tuples_free(&tuples);
}

static size_t chosen_name(uint64_t *number, char name[32]) {
    size_t length;
    do
        length = (size_t)snprintf(name, 32, "aten::name_%llu", (unsigned long long)++*number);
    while (hash_bytes(name, length, 0) % N_SLOTS_CHOSEN);
    return length;
}

static void colliding_strings_rehash_the_table(void **state) {
    struct strings strings;
    char name[32];
    uint64_t number = 0;
    assert_true(strings_init(&strings));
    for (uint32_t i = 0; i < N_CHOSEN; i++) {
        size_t length = chosen_name(&number, name);
        assert_int_equal(strings_intern(&strings, name, length), i);
    }
    assert_true(strings.slots.turn > 0);
    assert_true(longest_run(&strings.slots) <= HASH_RUN);
    number = 0;
    for (uint32_t i = 0; i < N_CHOSEN; i++) {
        size_t length = chosen_name(&number, name);
        assert_int_equal(strings_find(&strings, name, length), i);
    }
    strings_free(&strings);
}

/* Without a key of its own, each process would put the same strings into the same slots. */
static void each_process_has_a_random_hash_key(void **state) {
    assert_true(drawn.first && drawn.second && drawn.last);
    assert_true(drawn.first != drawn.second && drawn.second != drawn.last);
    uint64_t with_one = hash_bytes("aten::mm", 8, 0);
    assert_true(hash_bytes("aten::mm", 8, 1) != with_one);
    hash_key.first++;
    assert_true(hash_bytes("aten::mm", 8, 0) != with_one);
    hash_key = KEY;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_first_keys_do_not_collide),    cmocka_unit_test(colliding_pairs_rehash_the_table),
        cmocka_unit_test(colliding_tuples_rehash_the_table),  cmocka_unit_test(colliding_strings_rehash_the_table),
        cmocka_unit_test(each_process_has_a_random_hash_key),
    };
    return cmocka_run_group_tests(tests, keep_the_drawn_key, NULL);
}
