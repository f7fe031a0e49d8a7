/*
 * second_pass.c - the files of a simulated job's ranks, rewritten when the collectives of all ranks are matched.
 *
 *     DIR/.job/rank.3.et --matched collectives of the job--> DIR/rank.3.et
 *     DIR/.job/rank.3.met     hash of the inputs and size of the file: an unchanged rank is not rewritten
 *
 * Several ranks are processed in parallel, each by one thread. Cost: O(bytes) of the files.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "base/threads.h"
#include "job/job.h"
#include "job/rank_job.h"
#include "simulate/convert.h"
#include "simulate/et.h"
#include "simulate/simulation.h"
#include "write/text.h"

/* Memory per byte of a rank's file, at most. */
#define MEMORY_PER_BYTE 8

struct second_pass {
    struct job_whole *whole;
    const struct second_pass_options *options;
    pthread_mutex_t mutex;
    size_t next; /* index of the next rank */
    struct sutra_error error;
    enum sutra_status status; /* the first failure */
};

/* The rank that a worker rewrites. */
struct rewritten_rank {
    struct second_pass *pass;
    unsigned slot;
    const struct whole_rank *of;
    const struct matched_collectives *meetings;
    char *alone, *path, *note; /* paths of the input, the output, and the note about the output */
    char note_name[RECORD_NAME_MAX + 4];
};

static uint64_t fnv1a_bytes(uint64_t hash, const void *bytes, size_t n) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t fnv1a_number(uint64_t hash, uint64_t number) {
    return fnv1a_bytes(hash, &number, sizeof number);
}

/* Hash of everything that determines the bytes of the output. */
static uint64_t hash_inputs(const struct rewritten_rank *rank) {
    const struct matched_collectives *meetings = rank->meetings;
    uint64_t hash = fnv1a_bytes(UINT64_C(14695981039346656037), rank->of->record, strlen(rank->of->record));
    hash = fnv1a_number(hash, meetings->has_start ? meetings->start_us : 0);
    hash = fnv1a_number(hash, (uint64_t)meetings->ahead_us);
    hash = fnv1a_number(hash, meetings->astra);
    hash = fnv1a_number(hash, meetings->ranks_per_host);
    for (row_t i = 0; i < meetings->n; i++) {
        const struct matched_collective *node = &meetings->nodes[i];
        const uint64_t numbers[] = {node->node,       node->meeting, node->kind,       node->n_ranks,
                                    node->group,      node->bytes,   node->run_ns,     node->duration_us,
                                    node->has_before, node->before,  node->is_modeled, node->moving_us,
                                    node->moving_ns,  node->size};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            hash = fnv1a_number(hash, numbers[k]);
    }
    return hash;
}

static uint64_t size_of_file(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode) ? (uint64_t)found.st_size : 0;
}

struct output_note {
    uint64_t hash, bytes;
};

static bool write_note(const void *of, struct text_out *text) {
    const struct output_note *note = of;
    out_format(text, "%016" PRIx64 " %" PRIu64 "\n", note->hash, note->bytes);
    return !text->out.failed;
}

/* Whether the output exists and its note has this hash and its size. */
static bool is_current(const struct rewritten_rank *rank, uint64_t hash) {
    const struct output_note note = {hash, size_of_file(rank->path)};
    struct text_out expected = {0};
    char *text = NULL;
    bool current = note.bytes > 0 && write_note(&note, &expected) &&
                   record_read(rank->pass->options->folder, rank->note_name, &text, NULL) == SUTRA_OK &&
                   strlen(text) == expected.out.length && memcmp(text, expected.out.bytes, expected.out.length) == 0;
    buffer_free(&expected.out);
    free(text);
    return current;
}

static void on_temporary(void *arg, const char *path) {
    const struct rewritten_rank *rank = arg;
    const struct second_pass_options *options = rank->pass->options;
    if (!options->temporary)
        return;
    pthread_mutex_lock(&rank->pass->mutex);
    options->temporary(options->arg, rank->slot, path);
    pthread_mutex_unlock(&rank->pass->mutex);
}

/* Reads the file of the rank alone, and writes it with the job's collectives. */
static enum sutra_status rewrite_file(const struct rewritten_rank *rank, struct sutra_context *context,
                                      struct sutra_error *error) {
    struct sutra_et *alone = NULL;
    struct et_nodes nodes = {0};
    enum sutra_status status = sutra_et_read(context, rank->alone, NULL, &alone, error);
    if (!status)
        status = et_nodes_begin(&nodes, error);
    if (!status)
        status = et_make_for_job(&nodes, &alone->file.nodes, rank->meetings, error);
    if (!status)
        status = et_write(&nodes, NULL, context, rank->path, NULL, error);
    et_nodes_free(&nodes);
    sutra_et_free(alone);
    return status;
}

/* Writes the output of a linked rank unless it is current; removes the output of any other rank. */
static enum sutra_status rewrite_rank(struct rewritten_rank *rank, struct sutra_error *error) {
    if (rank->of->state != RANK_DONE) {
        unlink(rank->note);
        unlink(rank->path);
        return SUTRA_OK;
    }
    struct output_note note = {.hash = hash_inputs(rank)};
    if (is_current(rank, note.hash))
        return SUTRA_OK;
    unlink(rank->note);
    struct sutra_context_options options = rank->pass->options->context;
    options.n_threads = 1;
    options.device = SUTRA_DEVICE_CPU;
    options.temporary = on_temporary;
    options.arg = rank;
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status) {
        context->own_names = true;
        status = rewrite_file(rank, context, error);
    }
    note.bytes = size_of_file(rank->path);
    if (!status)
        status = text_file_write(context, rank->note, write_note, &note, NULL, error);
    sutra_context_free(context);
    return status;
}

static void run_worker(void *arg, size_t number) {
    struct second_pass *pass = arg;
    for (;;) {
        pthread_mutex_lock(&pass->mutex);
        bool more = !pass->status && pass->next < pass->whole->n_ranks;
        size_t i = pass->next;
        pass->next += more;
        pthread_mutex_unlock(&pass->mutex);
        if (!more)
            return;
        struct rewritten_rank rank = {.pass = pass,
                                      .slot = (unsigned)number,
                                      .of = &pass->whole->ranks[i],
                                      .meetings = &pass->whole->meetings->ranks[i]};
        const char *folder = pass->options->folder;
        char file[RANK_FILE_MAX];
        struct sutra_error error;
        rank_file_name(rank.of->rank, pass->whole->ending, file);
        snprintf(rank.note_name, sizeof rank.note_name, "rank.%" PRId64 ".met", rank.of->rank);
        enum sutra_status status = asprintf(&rank.alone, "%s/" RECORD_FOLDER "/%s", folder, file) >= 0 &&
                                           asprintf(&rank.path, "%s/%s", folder, file) >= 0 &&
                                           asprintf(&rank.note, "%s/" RECORD_FOLDER "/%s", folder, rank.note_name) >= 0
                                       ? rewrite_rank(&rank, &error)
                                       : error_memory(&error);
        pthread_mutex_lock(&pass->mutex);
        if (status && !pass->status) {
            pass->status = status;
            pass->error = error;
        }
        if (!status && rank.of->state == RANK_DONE)
            pass->whole->ranks[i].file_bytes = size_of_file(rank.path);
        pthread_mutex_unlock(&pass->mutex);
        free(rank.alone);
        free(rank.path);
        free(rank.note);
    }
}

/* Writes the configuration of ASTRA-sim: the groups of the job's collectives, and its network. */
static enum sutra_status write_astra(const struct job_whole *whole, const struct second_pass_options *options,
                                     struct sutra_error *error) {
    struct sutra_context *context = NULL;
    const uint32_t n_ranks = (uint32_t)whole->world_size;
    struct astra_job replay = {.groups = whole->meetings->groups,
                               .n_groups = whole->meetings->n_groups,
                               .n_ranks = n_ranks,
                               .n_dimensions = 1,
                               .n_of_dimension = {n_ranks}};
    /* Any two dimensions, if groups are smaller than the job: without a bandwidth both cost nothing. */
    for (uint32_t n = 2; replay.n_groups && (uint64_t)n * n <= n_ranks && replay.n_dimensions == 1; n++)
        if (n_ranks % n == 0) {
            replay.n_dimensions = 2;
            replay.n_of_dimension[0] = n;
            replay.n_of_dimension[1] = n_ranks / n;
        }
    enum sutra_status status = sutra_context_create(&options->context, &context, error);
    if (!status) {
        context->own_names = true;
        status = astra_files_write(context, options->folder, whole->network ? &whole->network->astra : &replay, error);
    }
    sutra_context_free(context);
    return status;
}

enum sutra_status second_pass_run(struct job_whole *whole, const struct second_pass_options *options,
                                  struct sutra_error *error) {
    struct second_pass pass = {.whole = whole, .options = options};
    /* one worker per thread, as far as the memory limit allows for the largest file */
    uint64_t largest = 1, n_workers = MAX(options->context.n_threads, 1);
    for (size_t i = 0; i < whole->n_ranks; i++)
        largest = MAX(largest, whole->ranks[i].file_bytes);
    if (options->memory)
        n_workers = MIN(n_workers, options->memory / largest / MEMORY_PER_BYTE);
    n_workers = MIN(n_workers, whole->n_ranks);
    n_workers = CLAMP(n_workers, 1, RANK_WORKERS_MAX);
    struct pool *pool = pool_create((unsigned)n_workers);
    if (!pool)
        return error_set(error, SUTRA_SYSTEM, "cannot start %u threads", (unsigned)n_workers);
    pthread_mutex_init(&pass.mutex, NULL);
    pool_run(pool, n_workers, run_worker, &pass);
    pthread_mutex_destroy(&pass.mutex);
    pool_free(pool);
    if (!pass.status && whole->astra)
        return write_astra(whole, options, error);
    return error_hand_on(error, pass.status, &pass.error);
}
