/*
 * threads.h - a pool of threads for numbered tasks, and a background thread.
 *
 * pool_run() calls task(arg, i) once for each i in [0, n), on the pool's threads and the caller's, in ascending order
 * of start, and returns when all are done. Results do not depend on the number of threads if task i writes only its own
 * data. A nested or concurrent call of pool_run() runs its tasks in the calling thread.
 */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "sutra/error.h"

/*
 * A function on a background thread, concurrent with the caller.
 *
 *     background_call_begin(&call, threads > 1, work, &arg);
 *     ... code that does not use arg ...
 *     background_call_end(&call);
 *
 * Without `threads`, or if the system has no more threads, background_call_end() runs the function. A pool_run() of the
 * background thread does not use the threads of the pool.
 */
struct background_call {
    void (*work)(void *arg);
    void *arg;
    pthread_t thread;
    bool runs;
};

void background_call_begin(struct background_call *call, bool threads, void (*work)(void *arg), void *arg);

/* Waits until the function has returned; call once per background_call_begin(). */
void background_call_end(struct background_call *call);

/* Seconds since some moment, to measure durations. */
double clock_seconds(void);

struct pool;

/* `n_threads` includes the caller. NULL: the system has no more threads or memory. */
struct pool *pool_create(unsigned n_threads);
void pool_free(struct pool *pool);

unsigned pool_threads(const struct pool *pool);
/* While a pool runs, its caller's thread calls tick(arg, i, n) before its task i, to show progress. */
void pool_on_tick(struct pool *pool, void (*tick)(void *arg, size_t i, size_t n), void *arg);

/* The same, called by the only task of a batch: it has done i of n. */
void pool_tick(const struct pool *pool, size_t i, size_t n);

void pool_run(struct pool *pool, size_t n, void (*task)(void *arg, size_t i), void *arg);

/* The same for tasks that can fail: returns the error of the failed task with the lowest number. Without a pool, runs
 * the tasks in order, up to the first failure. */
typedef enum sutra_status pool_trial(void *arg, size_t i, struct sutra_error *error);
enum sutra_status pool_try(struct pool *pool, size_t n, pool_trial *task, void *arg, struct sutra_error *error);

/* Requests or withdraws cancellation, from any thread or a signal handler. Tasks and loops check pool_is_cancelled() to
 * end early. A pool that follows another one is cancelled with it. */
void pool_cancel(struct pool *pool, bool cancel);
bool pool_is_cancelled(const struct pool *pool);
void pool_follow(struct pool *pool, const struct pool *other);

/* Start of part `i` of `n` equal, adjacent parts of `total`. */
static inline size_t part_offset(size_t total, size_t n, size_t i) {
    return total / n * i + (total % n * i) / n;
}

#endif
