/*
 * threads.h - a few threads that share out numbered tasks.
 *
 * pool_run() calls task(arg, i) once for each i in [0, n), on the pool's threads and the caller's, handed out in
 * rising order, and returns when all are done. Results are the same for any number of threads as long as task i writes
 * only what belongs to i. While a pool runs, who else calls pool_run(), as a task may, does those tasks alone.
 */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "sutra/error.h"

/*
 * One piece of work on a thread of its own, beside what the caller does meanwhile.
 *
 *     aside_begin(&aside, threads > 1, work, &arg);    ... what does not touch arg ...    aside_end(&aside);
 *
 * Where no thread is wanted, or the system has none, the work is done when it is waited for. Its thread takes no others
 * away: what it has a pool do it does alone.
 */

struct aside {
    void (*work)(void *arg);
    void *arg;
    pthread_t thread;
    bool runs;
};

void aside_begin(struct aside *aside, bool threads, void (*work)(void *arg), void *arg);

/* Returns when the work is done; due once for each that began. */
void aside_end(struct aside *aside);

struct pool;

/* `n_threads` includes the caller, so 1 makes none. NULL where the system has no more threads or memory. */
struct pool *pool_create(unsigned n_threads);
void pool_free(struct pool *pool);

unsigned pool_threads(const struct pool *pool);
/* While a pool runs, its caller's thread calls tick(arg, i, n) before its task i, to show progress. */
void pool_on_tick(struct pool *pool, void (*tick)(void *arg, size_t i, size_t n), void *arg);

/* The same from within the only task of a batch, which the caller's thread runs: it is at i of n. */
void pool_tick(const struct pool *pool, size_t i, size_t n);

void pool_run(struct pool *pool, size_t n, void (*task)(void *arg, size_t i), void *arg);

/* The same of tasks that may fail: the error is that of the first of them by number. Without a pool they are run one
 * after the other, up to the first that fails. */
typedef enum sutra_status pool_trial(void *arg, size_t i, struct sutra_error *error);
enum sutra_status pool_try(struct pool *pool, size_t n, pool_trial *task, void *arg, struct sutra_error *error);

/* Says that what runs is not wanted any more, or takes that back; from any thread, and from a handler of signals. Tasks
 * and loops look now and then whether they can end early. A pool that follows another one is cancelled with it. */
void pool_cancel(struct pool *pool, bool cancel);
bool pool_is_cancelled(const struct pool *pool);
void pool_follow(struct pool *pool, const struct pool *other);

/* Start of part `i` of `n` equal parts of `total`: parts i and i + 1 meet. */
static inline size_t part_start(size_t total, size_t n, size_t i) {
    return total / n * i + (total % n * i) / n;
}

#endif
