/*
 * test_background.c - tests background tasks: each task runs once, on a thread or in the caller that waits for it.
 */
#include "base/threads.h"
#include "unit.h"

struct seen {
    int n;
    pthread_t thread;
};

static void note(void *arg) {
    struct seen *seen = arg;
    seen->n++;
    seen->thread = pthread_self();
}

static void background_task_runs_once_on_a_thread_or_at_the_end(void **state) {
    for (int threads = 0; threads < 2; threads++) {
        struct seen seen = {0};
        struct background_call background_call;
        background_call_begin(&background_call, threads, note, &seen);
        if (!threads)
            assert_int_equal(seen.n, 0);
        background_call_end(&background_call);
        assert_int_equal(seen.n, 1);
        assert_int_equal(pthread_equal(seen.thread, pthread_self()) != 0, !threads);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(background_task_runs_once_on_a_thread_or_at_the_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
