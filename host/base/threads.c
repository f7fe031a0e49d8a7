/*
 * threads.c - implements threads.h.
 *
 * A batch is published under the mutex with a new serial number; each thread works on a batch at most once. The caller
 * works too, then waits until the last thread has left the batch. A task, or another thread, that runs a batch
 * meanwhile runs it alone.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/threads.h"

double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static _Thread_local bool is_background_call; /* this thread was started by background_call_begin() */

static void *run(void *arg) {
    struct background_call *call = arg;
    is_background_call = true;
    call->work(call->arg);
    return NULL;
}

void background_call_begin(struct background_call *call, bool threads, void (*work)(void *arg), void *arg) {
    *call = (struct background_call){.work = work, .arg = arg};
    call->runs = threads && pthread_create(&call->thread, NULL, run, call) == 0;
}

void background_call_end(struct background_call *call) {
    if (call->runs)
        pthread_join(call->thread, NULL);
    else
        call->work(call->arg);
}

struct pool {
    unsigned n_threads;
    pthread_t *threads;
    pthread_mutex_t mutex;
    pthread_cond_t work, idle;
    unsigned long serial;
    unsigned n_busy;
    bool stop;

    void (*task)(void *arg, size_t i);
    void *arg;
    size_t n;
    atomic_size_t next;

    void (*tick)(void *arg, size_t i, size_t n);
    void *tick_arg;

    atomic_bool runs; /* a batch is under way */
    atomic_bool cancelled;
    const struct pool *followed; /* or NULL */
};

void pool_tick(const struct pool *pool, size_t i, size_t n) {
    if (pool->tick)
        pool->tick(pool->tick_arg, i, n);
}

static void run_tasks(struct pool *pool, bool caller) {
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (i >= pool->n)
            return;
        if (caller)
            pool_tick(pool, i, pool->n);
        pool->task(pool->arg, i);
    }
}

static void *thread_main(void *arg) {
    struct pool *pool = arg;
    unsigned long last_serial = 0;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (!pool->stop && pool->serial == last_serial)
            pthread_cond_wait(&pool->work, &pool->mutex);
        if (pool->stop)
            break;
        last_serial = pool->serial;
        pthread_mutex_unlock(&pool->mutex);
        run_tasks(pool, false);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->n_busy == 0)
            pthread_cond_signal(&pool->idle);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

struct pool *pool_create(unsigned n_threads) {
    struct pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->idle, NULL);
    pool->n_threads = 1;
    pool->threads = calloc(n_threads, sizeof *pool->threads);
    if (!pool->threads)
        goto fail;
    for (; pool->n_threads < n_threads; pool->n_threads++)
        if (pthread_create(&pool->threads[pool->n_threads], NULL, thread_main, pool))
            goto fail;
    return pool;
fail:
    pool_free(pool);
    return NULL;
}

void pool_free(struct pool *pool) {
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 1; i < pool->n_threads; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
    free(pool->threads);
    free(pool);
}

unsigned pool_threads(const struct pool *pool) {
    return pool->n_threads;
}

void pool_on_tick(struct pool *pool, void (*tick)(void *arg, size_t i, size_t n), void *arg) {
    pool->tick = tick;
    pool->tick_arg = arg;
}

void pool_cancel(struct pool *pool, bool cancel) {
    atomic_store_explicit(&pool->cancelled, cancel, memory_order_relaxed);
}

bool pool_is_cancelled(const struct pool *pool) {
    bool cancelled = false;
    for (; pool && !cancelled; pool = pool->followed)
        cancelled = atomic_load_explicit(&pool->cancelled, memory_order_relaxed);
    return cancelled;
}

void pool_follow(struct pool *pool, const struct pool *other) {
    pool->followed = other;
}

void pool_run(struct pool *pool, size_t n, void (*task)(void *arg, size_t i), void *arg) {
    bool alone = pool->n_threads == 1 || n <= 1;
    if (is_background_call || atomic_exchange(&pool->runs, true)) {
        for (size_t i = 0; i < n; i++)
            task(arg, i);
        return;
    }
    pool->task = task;
    pool->arg = arg;
    pool->n = n;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    if (!alone) { /* wake the other threads */
        pthread_mutex_lock(&pool->mutex);
        pool->n_busy = pool->n_threads - 1;
        pool->serial++;
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->mutex);
    }
    run_tasks(pool, true);
    if (!alone) { /* wait for the other threads */
        pthread_mutex_lock(&pool->mutex);
        while (pool->n_busy)
            pthread_cond_wait(&pool->idle, &pool->mutex);
        pthread_mutex_unlock(&pool->mutex);
    }
    atomic_store(&pool->runs, false);
}

/* Tasks that can fail, and their errors. */
struct trials {
    pool_trial *task;
    void *arg;
    struct {
        enum sutra_status status;
        struct sutra_error error;
    } * list;
};

static void run_trial(void *of, size_t i) {
    const struct trials *trials = of;
    trials->list[i].status = trials->task(trials->arg, i, &trials->list[i].error);
}

enum sutra_status pool_try(struct pool *pool, size_t n, pool_trial *task, void *arg, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < n && !status && !pool; i++)
        status = task(arg, i, error);
    if (!pool || n == 0)
        return status;
    struct trials trials = {task, arg, calloc(n, sizeof *trials.list)};
    TRY_ALLOC(trials.list, error);
    pool_run(pool, n, run_trial, &trials);
    for (size_t i = 0; i < n && !status; i++)
        status = error_copy(error, trials.list[i].status, &trials.list[i].error);
    free(trials.list);
    return status;
}
