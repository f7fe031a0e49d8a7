/*
 * rank_job.c - implements rank_job.h.
 */
#include "job/rank_job.h"
#include "base/shared.h"

#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/threads.h"

/* Memory per byte of decompressed input in percent, assumed until the first rank is measured. */
#define FIRST_MEMORY_PERCENT 150

/* Memory of the program itself. */
#define OWN_BYTES ((uint64_t)4 << 20)

struct rank_workers {
    const struct job_plan *plan;
    const struct rank_job_options *options;
    unsigned n_workers, n_threads; /* of each worker */
    pthread_mutex_t mutex;
    pthread_cond_t room;
    size_t next;
    uint64_t in_flight;             /* bytes of decompressed inputs of running ranks */
    unsigned n_in_flight;           /* ranks */
    uint64_t memory_percent;        /* memory per byte in flight, the most measured so far */
    bool is_busy[RANK_WORKERS_MAX]; /* by slot */
    struct job_progress progress;
    struct sutra_error error; /* the first error that ends the job */
    enum sutra_status status;
};

/* The rank that a worker links. */
struct linked_rank {
    struct rank_workers *workers;
    size_t pair;   /* index in the plan */
    unsigned slot; /* number of the running rank, below RANK_WORKERS_MAX */
    struct buffer warnings;
};

void rank_file_name(int64_t rank, const char *ending, char name[RANK_FILE_MAX]) {
    snprintf(name, RANK_FILE_MAX, "rank.%" PRId64 "%s", rank, ending);
}

void rank_streams_name(int64_t rank, const char *ending, char name[RANK_FILE_MAX]) {
    snprintf(name, RANK_FILE_MAX, "rank.%" PRId64 ".streams%s", rank, ending);
}

static uint64_t text_bytes(const struct rank_pair *pair) {
    return pair->host.head.text_bytes + pair->device.head.text_bytes;
}

static uint64_t file_bytes(const struct rank_pair *pair) {
    return pair->host.head.bytes + pair->device.head.bytes;
}

/* Updates the memory per byte in flight; with the mutex held. */
static void measure_memory(struct rank_workers *workers) {
    struct memory_watch watch = {0};
    memory_sample(&watch);
    if (workers->in_flight < OWN_BYTES || watch.peak_anonymous < OWN_BYTES)
        return;
    uint64_t percent = (watch.peak_anonymous - OWN_BYTES) / (workers->in_flight / 100 + 1);
    workers->memory_percent = MAX(percent, workers->memory_percent);
}

/* ---- A rank ---- */

static void keep_warning(void *arg, const char *message) {
    struct linked_rank *rank = arg;
    buffer_append(&rank->warnings, message, strlen(message) + 1);
}

static void on_progress(void *arg, const char *stage, uint64_t done, uint64_t total) {
    struct linked_rank *rank = arg;
    (void)stage;
    if (done > 0 && done < total)
        return;
    pthread_mutex_lock(&rank->workers->mutex);
    measure_memory(rank->workers);
    pthread_mutex_unlock(&rank->workers->mutex);
}

static void on_temporary(void *arg, const char *path) {
    const struct linked_rank *rank = arg;
    const struct rank_job_options *options = rank->workers->options;
    if (!options->temporary)
        return;
    pthread_mutex_lock(&rank->workers->mutex);
    options->temporary(options->arg, rank->slot, path);
    pthread_mutex_unlock(&rank->workers->mutex);
}

/* Returns freed memory to the system; otherwise the heap of each thread keeps the memory of its largest rank. One
 * thread at a time: if another allocator replaces malloc() (jemalloc, a sanitizer), the first call initializes the C
 * library's own allocator, which a concurrent second call would find half initialized. */
static void trim_heap(void) {
#ifdef __GLIBC__
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_at_a_time);
    malloc_trim(0);
    pthread_mutex_unlock(&one_at_a_time);
#endif
}

/* Links the rank into `path`, its kernels for a resource per stream into `streams_path`, and writes its record.
 * *ends_job: the record cannot be written. */
static enum sutra_status link_into(struct linked_rank *rank, struct sutra_context *context, const struct record_of *of,
                                   const char *path, const char *streams_path, bool *ends_job,
                                   struct sutra_error *error) {
    const struct rank_job_options *options = rank->workers->options;
    struct rank_result result;
    struct sutra_error reason;
    struct stat written;
    double begin = clock_seconds();
    struct record_outcome outcome = {
        .error = &reason, .warnings = &rank->warnings, .result = &result, .is_faithful = options->output.faithful};
    struct link_output output = options->output;
    output.streams_path = output.of_job && !output.how.gpu_streams ? streams_path : NULL;
    record_remove(options->folder, of->pair->rank);
    unlink(streams_path);
    outcome.status = rank_link(context, of->pair, &options->link, &output, path, &result, &reason);
    if (outcome.status) {
        unlink(path); /* an earlier run may have written it from other traces or with other options */
        unlink(streams_path);
    } else if (result.faithful.departs) {
        char text[200];
        snprintf(text, sizeof text, "simulated, it takes %.3f ms instead of the measured %.3f ms",
                 result.faithful.simulated_us / 1e3, result.faithful.measured_us / 1e3);
        keep_warning(rank, text);
    }
    outcome.file_bytes = !outcome.status && stat(path, &written) == 0 ? (uint64_t)written.st_size : 0;
    outcome.seconds = clock_seconds() - begin;
    enum sutra_status status = record_write(context, options->folder, of, &outcome, error);
    rank_result_free(&result);
    *ends_job = status != SUTRA_OK;
    return status ? status : error_copy(error, outcome.status, &reason);
}

/* Links the rank in a context of its own. *ends_job: the error concerns the job, not the rank. */
static enum sutra_status link_rank(struct linked_rank *rank, const struct record_of *of, bool *ends_job,
                                   struct sutra_error *error) {
    const struct rank_workers *workers = rank->workers;
    struct sutra_context_options options = workers->options->context;
    struct sutra_context *context = NULL;
    char *path = NULL, *streams_path = NULL, streams_name[RANK_FILE_MAX];
    options.n_threads = workers->n_threads;
    options.device = SUTRA_DEVICE_CPU;
    options.warning = keep_warning;
    options.progress = on_progress;
    options.temporary = on_temporary;
    options.arg = rank;
    *ends_job = true;
    rank_streams_name(of->pair->rank, workers->options->ending, streams_name);
    bool named = asprintf(&path, "%s/%s", workers->options->folder, of->file) >= 0 &&
                 asprintf(&streams_path, "%s/" RECORD_FOLDER "/%s", workers->options->folder, streams_name) >= 0;
    enum sutra_status status = named ? sutra_context_create(&options, &context, error) : error_memory(error);
    if (!status) {
        context_share_device(context, workers->options->device_of);
        context->may_replace_links = true;
        context->holds_defects = true; /* job.json and the findings of the job report them for all ranks */
        status = link_into(rank, context, of, path, streams_path, ends_job, error);
    }
    sutra_context_free(context);
    free(path);
    free(streams_path);
    trim_heap();
    return status;
}

/* Whether the folder contains the kernels of the rank for a resource per stream, if its file is for one resource. */
static bool has_streams(const struct rank_job_options *options, int64_t rank) {
    char name[RANK_FILE_MAX], *path;
    if (!options->output.of_job || options->output.how.gpu_streams)
        return true;
    rank_streams_name(rank, options->ending, name);
    bool found = asprintf(&path, "%s/" RECORD_FOLDER "/%s", options->folder, name) >= 0;
    if (found) {
        found = access(path, F_OK) == 0;
        free(path);
    }
    return found;
}

/* ---- Workers ---- */

/* Chooses the next rank, and waits until the memory limit allows it. With the mutex held, also on return. */
static bool next_rank(struct rank_workers *workers, struct linked_rank *rank) {
    const struct rank_job_options *options = workers->options;
    if (workers->status)
        return false;
    if (options->next) {
        if (!options->next(options->arg, &rank->pair))
            return false;
    } else if (workers->next < workers->plan->n_pairs) {
        rank->pair = workers->next++;
    } else {
        return false;
    }
    uint64_t bytes = text_bytes(&workers->plan->pairs[rank->pair]);
    while (options->memory && workers->n_in_flight > 0 &&
           (workers->in_flight + bytes) / 100 * workers->memory_percent + OWN_BYTES > options->memory)
        pthread_cond_wait(&workers->room, &workers->mutex);
    workers->in_flight += bytes;
    workers->n_in_flight++;
    rank->slot = 0;
    while (workers->is_busy[rank->slot])
        rank->slot++;
    workers->is_busy[rank->slot] = true;
    return true;
}

static void run_worker(void *arg, size_t number) {
    struct rank_workers *workers = arg;
    const struct rank_job_options *options = workers->options;
    struct linked_rank rank = {.workers = workers};
    (void)number;
    pthread_mutex_lock(&workers->mutex);
    while (next_rank(workers, &rank)) {
        const struct rank_pair *pair = &workers->plan->pairs[rank.pair];
        char name[RANK_FILE_MAX], file[RANK_FILE_MAX + sizeof RECORD_FOLDER];
        const struct record_of of = {pair, options->words, file};
        struct sutra_error error;
        bool ends_job = false;
        pthread_mutex_unlock(&workers->mutex);
        rank_file_name(pair->rank, options->ending, name);
        snprintf(file, sizeof file, "%s%s", options->into, name);
        bool was_done = !options->again && record_holds(options->folder, &of) && has_streams(options, pair->rank);
        enum sutra_status status = was_done ? SUTRA_OK : link_rank(&rank, &of, &ends_job, &error);
        buffer_free(&rank.warnings);

        pthread_mutex_lock(&workers->mutex);
        if (ends_job && !workers->status) {
            workers->status = status;
            workers->error = error;
        }
        workers->is_busy[rank.slot] = false;
        workers->in_flight -= text_bytes(pair);
        workers->n_in_flight--;
        workers->progress.n_done++;
        workers->progress.n_before += was_done;
        workers->progress.bytes_done += was_done ? 0 : file_bytes(pair);
        workers->progress.bytes -= was_done ? file_bytes(pair) : 0;
        if (options->done)
            options->done(options->arg, rank.pair, status ? &error : NULL, &workers->progress);
        pthread_cond_broadcast(&workers->room);
    }
    pthread_mutex_unlock(&workers->mutex);
}

enum sutra_status rank_job_run(const struct job_plan *plan, const struct rank_job_options *options,
                               struct sutra_error *error) {
    struct rank_workers workers = {.plan = plan, .options = options, .memory_percent = FIRST_MEMORY_PERCENT};
    unsigned n_threads = options->context.n_threads;
    unsigned n_workers = (unsigned)MIN(plan->n_pairs, n_threads);
    if (n_workers == 0)
        return SUTRA_OK;
    if (options->device_of->options.device == SUTRA_DEVICE_CUDA) { /* one that cannot be opened ends the job */
        struct engine *cuda;
        TRY(context_device_acquire(options->device_of, &cuda, error));
        context_device_release(options->device_of);
    }
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
    return error_copy(error, workers.status, &workers.error);
}
