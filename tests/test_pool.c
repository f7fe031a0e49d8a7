/*
 * test_pool.c - tests batches of tasks of the thread pool: nested batches, batches from several threads, and failing
 * tasks.
 */
#include <pthread.h>

#include "base/error.h"
#include "base/threads.h"
#include "unit.h"

enum { N_OUTER = 7, N_INNER = 50, N_BATCHES = 200 };

struct counts {
    struct pool *pool;
    int of[N_OUTER][N_INNER]; /* how often each task ran */
};

struct row {
    struct counts *counts;
    size_t outer;
};

static void count_inner(void *arg, size_t i) {
    struct row *row = arg;
    row->counts->of[row->outer][i]++;
}

static void run_inner(void *arg, size_t i) {
    struct row row = {arg, i};
    pool_run(row.counts->pool, N_INNER, count_inner, &row);
}

static void tasks_of_tasks_are_run_once_each(void **state) {
    for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
        struct counts counts = {.pool = pool_create(n_threads)};
        assert_non_null(counts.pool);
        pool_run(counts.pool, N_OUTER, run_inner, &counts);
        pool_run(counts.pool, N_OUTER, run_inner, &counts); /* the pool is free again */
        for (size_t i = 0; i < N_OUTER; i++)
            for (size_t k = 0; k < N_INNER; k++)
                assert_int_equal(counts.of[i][k], 2);
        pool_free(counts.pool);
    }
}

static void *run_batches(void *arg) {
    for (int i = 0; i < N_BATCHES; i++)
        run_inner(((struct row *)arg)->counts, ((struct row *)arg)->outer);
    return NULL;
}

static void two_threads_may_use_a_pool_concurrently(void **state) {
    struct counts counts = {.pool = pool_create(2)};
    struct row here = {&counts, 0}, there = {&counts, 1};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_batches, &there), 0);
    run_batches(&here);
    pthread_join(thread, NULL);
    for (size_t k = 0; k < N_INNER; k++) {
        assert_int_equal(counts.of[0][k], N_BATCHES);
        assert_int_equal(counts.of[1][k], N_BATCHES);
    }
    pool_free(counts.pool);
}

/* ---- Tasks that fail ---- */

struct trials {
    const char *fails; /* of each task: whether it does */
    char ran[8];
};

static enum sutra_status try(void *arg, size_t i, struct sutra_error *error) {
    struct trials *trials = arg;
    trials->ran[i] = 'x';
    return trials->fails[i] == 'x' ? error_set(error, SUTRA_DATA, "task %zu", i) : SUTRA_OK;
}

static void check(struct pool *pool, const char *fails, const char *message, const char *ran) {
    struct trials trials = {.fails = fails, .ran = "....."};
    struct sutra_error error = {.status = SUTRA_OK};
    enum sutra_status status = pool_try(pool, strlen(fails), try, &trials, &error);
    assert_int_equal(status, message ? SUTRA_DATA : SUTRA_OK);
    assert_string_equal(error.message, message ? message : "");
    assert_string_equal(trials.ran, ran);
    trials = (struct trials){.fails = fails, .ran = "....."};
    assert_int_equal(pool_try(pool, strlen(fails), try, &trials, NULL), status);
}

static void first_failing_task_sets_the_error(void **state) {
    for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
        struct pool *pool = pool_create(n_threads);
        check(pool, ".....", NULL, "xxxxx");
        check(pool, "..x.x", "task 2", "xxxxx");
        check(pool, "x....", "task 0", "xxxxx");
        check(pool, "", NULL, ".....");
        pool_free(pool);
    }
}

static void without_a_pool_the_first_failure_ends_all(void **state) {
    check(NULL, ".....", NULL, "xxxxx");
    check(NULL, "..x.x", "task 2", "xxx..");
    check(NULL, "", NULL, ".....");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_of_tasks_are_run_once_each),
        cmocka_unit_test(two_threads_may_use_a_pool_concurrently),
        cmocka_unit_test(first_failing_task_sets_the_error),
        cmocka_unit_test(without_a_pool_the_first_failure_ends_all),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
