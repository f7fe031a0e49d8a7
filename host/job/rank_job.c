/*
 * rank_job.c - workers that take ranks, and what they share.
 */
#include "job/rank_job.h"

#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/threads.h"

/* Memory that a byte of the inputs, decompressed, is expected to need, in percent, before a rank has told it. */
#define PERCENT_AT_FIRST 150

/* Memory of the program itself. */
#define OWN_BYTES ((uint64_t)4 << 20)

struct rank_workers {
    const struct job_plan *plan;
    const struct rank_job_options *options;
    unsigned n_workers, n_threads; /* of each worker */
    pthread_mutex_t mutex;
    pthread_cond_t room;
    size_t next;
    uint64_t in_flight;   /* bytes of the inputs, decompressed */
    unsigned n_in_flight; /* ranks */
    uint64_t percent;
    bool is_taken[RANK_WORKERS_MAX]; /* places */
    struct job_progress progress;
    struct sutra_error error; /* the first one that ends all */
    enum sutra_status status;
};

/* A rank that a worker has at hand. */
struct rank_at_hand {
    struct rank_workers *workers;
    size_t pair;
    unsigned place;
    struct buffer warnings;
};

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void rank_file_name(int64_t rank, const char *ending, char name[RANK_FILE_MAX]) {
    snprintf(name, RANK_FILE_MAX, "rank.%" PRId64 "%s", rank, ending);
}

static uint64_t text_bytes(const struct rank_pair *pair) {
    return pair->host.head.text_bytes + pair->device.head.text_bytes;
}

static uint64_t file_bytes(const struct rank_pair *pair) {
    return pair->host.head.bytes + pair->device.head.bytes;
}

/* ---- What workers ask for, with the mutex held ---- */

static bool has_room(const struct rank_workers *workers, uint64_t bytes) {
    uint64_t most = workers->options->memory;
    return most == 0 || workers->n_in_flight == 0 ||
           (workers->in_flight + bytes) / 100 * workers->percent + OWN_BYTES <= most;
}

static bool take_next(struct rank_workers *workers, size_t *pair) {
    const struct rank_job_options *options = workers->options;
    if (options->next)
        return options->next(options->arg, pair);
    *pair = workers->next;
    return workers->next < workers->plan->n_pairs && ++workers->next;
}

static unsigned take_place(struct rank_workers *workers) {
    unsigned place = 0;
    while (workers->is_taken[place])
        place++;
    workers->is_taken[place] = true;
    return place;
}

/* What a byte in flight has needed at most. */
static void learn_memory(struct rank_workers *workers) {
    struct memory_watch watch = {0};
    memory_sample(&watch);
    if (workers->in_flight < OWN_BYTES || watch.peak_anonymous < OWN_BYTES)
        return;
    uint64_t percent = (watch.peak_anonymous - OWN_BYTES) / (workers->in_flight / 100 + 1);
    workers->percent = percent > workers->percent ? percent : workers->percent;
}

/* ---- A rank ---- */

static void keep_warning(void *arg, const char *message) {
    struct rank_at_hand *at_hand = arg;
    buffer_append(&at_hand->warnings, message, strlen(message) + 1);
}

static void on_progress(void *arg, const char *stage, uint64_t done, uint64_t total) {
    struct rank_at_hand *at_hand = arg;
    (void)stage;
    if (done > 0 && done < total)
        return;
    pthread_mutex_lock(&at_hand->workers->mutex);
    learn_memory(at_hand->workers);
    pthread_mutex_unlock(&at_hand->workers->mutex);
}

static void on_temporary(void *arg, const char *path) {
    const struct rank_at_hand *at_hand = arg;
    const struct rank_job_options *options = at_hand->workers->options;
    if (!options->temporary)
        return;
    pthread_mutex_lock(&at_hand->workers->mutex);
    options->temporary(options->arg, at_hand->place, path);
    pthread_mutex_unlock(&at_hand->workers->mutex);
}

static void warn_of_departure(struct rank_at_hand *at_hand, const struct rank_result *result) {
    char text[200];
    if (!result->faithful.departs)
        return;
    snprintf(text, sizeof text, "simulated, it takes %.3f ms instead of the measured %.3f ms",
             result->faithful.simulated_us / 1e3, result->faithful.measured_us / 1e3);
    keep_warning(at_hand, text);
}

static uint64_t size_of_file(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 ? (uint64_t)found.st_size : 0;
}

/* Links the rank into `path`, and records it. *ends_all: the record cannot be written. */
static enum sutra_status link_rank(struct rank_at_hand *at_hand, struct sutra_context *context,
                                   const struct record_of *of, const char *path, bool *ends_all,
                                   struct sutra_error *error) {
    const struct rank_job_options *options = at_hand->workers->options;
    struct rank_result result;
    struct sutra_error reason;
    double begin = seconds_now();
    struct record_outcome outcome = {
        .error = &reason, .warnings = &at_hand->warnings, .result = &result, .is_faithful = options->output.faithful};
    record_remove(options->folder, of->pair->rank);
    outcome.status = rank_link(context, of->pair, &options->link, &options->output, path, &result, &reason);
    if (outcome.status)
        unlink(path); /* what another run has made of other traces, or in another way */
    else
        warn_of_departure(at_hand, &result);
    outcome.file_bytes = outcome.status ? 0 : size_of_file(path);
    outcome.seconds = seconds_now() - begin;
    enum sutra_status status = record_write(context, options->folder, of, &outcome, error);
    rank_result_free(&result);
    *ends_all = status != SUTRA_OK;
    return status ? status : error_hand_on(error, outcome.status, &reason);
}

/* What a rank has freed is the system's again: else each thread's heap would keep the room of its largest rank. One
   thread at a time: where another allocator is in malloc's place (jemalloc, a sanitizer's), the first call sets up the
   C library's own, and a second beside it would find that half done. */
static void give_back(void) {
#ifdef __GLIBC__
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_at_a_time);
    malloc_trim(0);
    pthread_mutex_unlock(&one_at_a_time);
#endif
}

/* A context, and the rank with it. *ends_all: the error is not that of the rank. */
static enum sutra_status work_on(struct rank_at_hand *at_hand, const struct record_of *of, bool *ends_all,
                                 struct sutra_error *error) {
    const struct rank_workers *workers = at_hand->workers;
    struct sutra_context_options options = workers->options->context;
    struct sutra_context *context = NULL;
    char *path = NULL;
    options.n_threads = workers->n_threads;
    if (workers->n_workers > 1) /* they would share one device */
        options.device = SUTRA_DEVICE_CPU;
    options.warning = keep_warning;
    options.progress = on_progress;
    options.temporary = on_temporary;
    options.arg = at_hand;
    *ends_all = true;
    if (asprintf(&path, "%s/%s", workers->options->folder, of->file) < 0)
        return error_memory(error);
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status) {
        context->own_names = true;
        status = link_rank(at_hand, context, of, path, ends_all, error);
    }
    sutra_context_free(context);
    free(path);
    give_back();
    return status;
}

/* ---- Workers ---- */

static void finish_rank(struct rank_at_hand *at_hand, bool was_done, const struct sutra_error *error) {
    struct rank_workers *workers = at_hand->workers;
    const struct rank_job_options *options = workers->options;
    const struct rank_pair *pair = &workers->plan->pairs[at_hand->pair];
    workers->is_taken[at_hand->place] = false;
    workers->in_flight -= text_bytes(pair);
    workers->n_in_flight--;
    workers->progress.n_done++;
    workers->progress.n_before += was_done;
    workers->progress.bytes_done += was_done ? 0 : file_bytes(pair);
    workers->progress.bytes -= was_done ? file_bytes(pair) : 0;
    if (options->done)
        options->done(options->arg, at_hand->pair, error, &workers->progress);
    pthread_cond_broadcast(&workers->room);
}

static enum sutra_status do_rank(struct rank_at_hand *at_hand, bool *was_done, struct sutra_error *error) {
    struct rank_workers *workers = at_hand->workers;
    const struct rank_job_options *options = workers->options;
    char name[RANK_FILE_MAX], file[RANK_FILE_MAX + sizeof RECORD_FOLDER];
    const struct record_of of = {&workers->plan->pairs[at_hand->pair], options->words, file};
    bool ends_all = false;
    rank_file_name(of.pair->rank, options->ending, name);
    snprintf(file, sizeof file, "%s%s", options->into, name);
    *was_done = !options->again && record_holds(options->folder, &of);
    enum sutra_status status = *was_done ? SUTRA_OK : work_on(at_hand, &of, &ends_all, error);
    if (!ends_all)
        return status;
    pthread_mutex_lock(&workers->mutex);
    if (!workers->status) {
        workers->status = status;
        workers->error = *error;
    }
    pthread_mutex_unlock(&workers->mutex);
    return status;
}

/* With the mutex held, as when it returns. */
static bool next_rank(struct rank_workers *workers, struct rank_at_hand *at_hand) {
    if (workers->status || !take_next(workers, &at_hand->pair))
        return false;
    uint64_t bytes = text_bytes(&workers->plan->pairs[at_hand->pair]);
    while (!has_room(workers, bytes))
        pthread_cond_wait(&workers->room, &workers->mutex);
    workers->in_flight += bytes;
    workers->n_in_flight++;
    at_hand->place = take_place(workers);
    return true;
}

static void run_worker(void *arg, size_t number) {
    struct rank_workers *workers = arg;
    struct rank_at_hand at_hand = {.workers = workers};
    (void)number;
    pthread_mutex_lock(&workers->mutex);
    while (next_rank(workers, &at_hand)) {
        struct sutra_error error;
        bool was_done;
        pthread_mutex_unlock(&workers->mutex);
        enum sutra_status status = do_rank(&at_hand, &was_done, &error);
        buffer_free(&at_hand.warnings);
        pthread_mutex_lock(&workers->mutex);
        finish_rank(&at_hand, was_done, status ? &error : NULL);
    }
    pthread_mutex_unlock(&workers->mutex);
}

enum sutra_status rank_job_run(const struct job_plan *plan, const struct rank_job_options *options,
                               struct sutra_error *error) {
    struct rank_workers workers = {.plan = plan, .options = options, .percent = PERCENT_AT_FIRST};
    unsigned n_threads = options->context.n_threads;
    unsigned n_workers = plan->n_pairs < n_threads ? (unsigned)plan->n_pairs : n_threads;
    if (n_workers == 0)
        return SUTRA_OK;
    workers.n_workers = n_workers;
    workers.n_threads = n_threads / n_workers;
    workers.progress.n_ranks = plan->n_pairs;
    for (size_t i = 0; i < plan->n_pairs; i++)
        workers.progress.bytes += file_bytes(&plan->pairs[i]);
    struct pool *pool = pool_create(n_workers);
    if (!pool)
        return error_set(error, SUTRA_SYSTEM, "cannot start %u threads", n_workers);
    pthread_mutex_init(&workers.mutex, NULL);
    pthread_cond_init(&workers.room, NULL);
    pool_run(pool, n_workers, run_worker, &workers);
    pthread_cond_destroy(&workers.room);
    pthread_mutex_destroy(&workers.mutex);
    pool_free(pool);
    return error_hand_on(error, workers.status, &workers.error);
}
