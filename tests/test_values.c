/*
 * test_values.c - tests the table of non-integer ids: values keep their addresses while other threads add values.
 */
#include <pthread.h>

#include "columns/strings.h"
#include "text/numbers.h"
#include "unit.h"

#define N_MORE 20000

static void a_key_finds_its_value(void **state) {
    struct values values;
    assert_true(values_init(&values));
    char room[NUMBER_TEXT_MAX], name[32];
    size_t length;
    for (int i = 0; i < 1000; i++) {
        value_key key = values_string(&values, name, (size_t)snprintf(name, sizeof name, "stream %d", i));
        assert_true(key == KEY_VALUES + i);
    }
    for (int i = 0; i < 1000; i++) {
        const char *text = values_text(&values, KEY_VALUES + i, room, &length);
        assert_int_equal(length, snprintf(name, sizeof name, "stream %d", i));
        assert_memory_equal(text, name, length);
    }
    value_key half = values_double(&values, 0.5), large = values_integer(&values, "99999999999999999999", 20);
    assert_true(values_double(&values, 0.5) == half);
    assert_memory_equal(values_text(&values, half, room, &length), "0.5", 3);
    assert_memory_equal(values_text(&values, large, room, &length), "99999999999999999999", 20);
    assert_int_equal(values_at(&values, large).type, VALUES_INTEGER);
    values_free(&values);
}

static void *add_values(void *arg) {
    char name[32];
    for (int i = 0; i < N_MORE; i++)
        if (values_string(arg, name, (size_t)snprintf(name, sizeof name, "another %d", i)) == KEY_ABSENT)
            return arg;
    return NULL;
}

static void values_keep_their_address_while_another_thread_adds(void **state) {
    struct values values;
    assert_true(values_init(&values));
    char room[NUMBER_TEXT_MAX];
    size_t length;
    value_key key = values_string(&values, "stream 7", 8);
    const char *before = values_text(&values, key, room, &length);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, add_values, &values), 0);
    for (int i = 0; i < N_MORE; i++) {
        const char *text = values_text(&values, key, room, &length);
        assert_ptr_equal(text, before);
        assert_int_equal(length, 8);
        assert_memory_equal(text, "stream 7", 8);
    }
    void *failed;
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_ptr_equal(values_text(&values, key, room, &length), before);
    values_free(&values);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_finds_its_value),
        cmocka_unit_test(values_keep_their_address_while_another_thread_adds),
    };
    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
