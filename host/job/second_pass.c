/*
 * second_pass.c - workers that read a rank's file, let its collectives meet, and write it.
 */
#include "job/second_pass.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/pool.h"
#include "job/rank_job.h"
#include "simulate/astra_files.h"
#include "simulate/et.h"
#include "simulate/et_write.h"
#include "write/text_file.h"

/* Memory that a byte of a file takes while it is made anew, at most. */
#define MEMORY_TIMES 8

struct second_pass {
    struct job_whole *whole;
    const struct second_pass_options *options;
    pthread_mutex_t mutex;
    size_t next; /* rank */
    struct sutra_error error;
    enum sutra_status status; /* the first one */
};

/* What a worker has at hand. */
struct meeting_at_hand {
    struct second_pass *pass;
    unsigned place;
    const struct whole_rank *rank;
    const struct rank_meetings *meetings;
    char *alone, *path, *note; /* paths of files */
    char note_name[RECORD_NAME_MAX + 4];
};

/* ---- What a file was made of ---- */

static uint64_t add_hash(uint64_t hash, const void *bytes, size_t n) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t add_number(uint64_t hash, uint64_t number) {
    return add_hash(hash, &number, sizeof number);
}

/* A number of all that goes into it. */
static uint64_t hash_of(const struct meeting_at_hand *at_hand) {
    const struct rank_meetings *meetings = at_hand->meetings;
    uint64_t hash = add_hash(UINT64_C(14695981039346656037), at_hand->rank->record, strlen(at_hand->rank->record));
    hash = add_number(hash, meetings->has_start ? meetings->start_us : 0);
    hash = add_number(hash, (uint64_t)meetings->ahead_us);
    hash = add_number(hash, meetings->astra);
    for (row_t i = 0; i < meetings->n; i++) {
        const struct meeting_node *node = &meetings->nodes[i];
        const uint64_t numbers[] = {node->node,  node->meeting, node->kind,        node->n_ranks,    node->group,
                                    node->bytes, node->run_ns,  node->duration_us, node->has_before, node->before};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            hash = add_number(hash, numbers[k]);
    }
    return hash;
}

/* ---- A rank ---- */

static bool name_files(struct meeting_at_hand *at_hand) {
    const char *folder = at_hand->pass->options->folder;
    char file[RANK_FILE_MAX];
    rank_file_name(at_hand->rank->rank, at_hand->pass->whole->ending, file);
    at_hand->alone = at_hand->path = at_hand->note = NULL;
    snprintf(at_hand->note_name, sizeof at_hand->note_name, "rank.%" PRId64 ".met", at_hand->rank->rank);
    return asprintf(&at_hand->alone, "%s/" RECORD_FOLDER "/%s", folder, file) >= 0 &&
           asprintf(&at_hand->path, "%s/%s", folder, file) >= 0 &&
           asprintf(&at_hand->note, "%s/" RECORD_FOLDER "/%s", folder, at_hand->note_name) >= 0;
}

static uint64_t size_of_file(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode) ? (uint64_t)found.st_size : 0;
}

struct met_note {
    uint64_t hash, bytes;
};

static bool write_note(const void *of, struct text_out *text) {
    const struct met_note *note = of;
    out_format(text, "%016" PRIx64 " %" PRIu64 "\n", note->hash, note->bytes);
    return !text->out.failed;
}

/* Whether the note is the one of this hash and of the file as it is. */
static bool is_made(const struct meeting_at_hand *at_hand, uint64_t hash) {
    const struct met_note note = {hash, size_of_file(at_hand->path)};
    struct text_out expected = {0};
    char *text = NULL;
    bool made = note.bytes > 0 && write_note(&note, &expected) &&
                record_read(at_hand->pass->options->folder, at_hand->note_name, &text, NULL) == SUTRA_OK &&
                strlen(text) == expected.out.length && memcmp(text, expected.out.bytes, expected.out.length) == 0;
    buffer_free(&expected.out);
    free(text);
    return made;
}

static enum sutra_status make_file(const struct meeting_at_hand *at_hand, struct sutra_context *context,
                                   struct sutra_error *error) {
    struct sutra_et *alone = NULL;
    struct et_nodes made = {0};
    enum sutra_status status = sutra_et_read(context, at_hand->alone, NULL, &alone, error);
    if (!status)
        status = et_nodes_begin(&made, error);
    if (!status)
        status = et_meet(&made, &alone->file.nodes, at_hand->meetings, error);
    if (!status)
        status = et_write(&made, NULL, context, at_hand->path, NULL, error);
    et_nodes_free(&made);
    sutra_et_free(alone);
    return status;
}

static void on_temporary(void *arg, const char *path) {
    const struct meeting_at_hand *at_hand = arg;
    const struct second_pass_options *options = at_hand->pass->options;
    if (!options->temporary)
        return;
    pthread_mutex_lock(&at_hand->pass->mutex);
    options->temporary(options->arg, at_hand->place, path);
    pthread_mutex_unlock(&at_hand->pass->mutex);
}

static enum sutra_status make_rank(struct meeting_at_hand *at_hand, struct sutra_error *error) {
    struct sutra_context_options options = at_hand->pass->options->context;
    struct sutra_context *context = NULL;
    struct met_note note = {.hash = hash_of(at_hand)};
    if (is_made(at_hand, note.hash))
        return SUTRA_OK;
    unlink(at_hand->note);
    options.n_threads = 1;
    options.device = SUTRA_DEVICE_CPU;
    options.temporary = on_temporary;
    options.arg = at_hand;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status) {
        context->own_names = true;
        status = make_file(at_hand, context, error);
    }
    note.bytes = size_of_file(at_hand->path);
    if (!status)
        status = text_file_write(context, at_hand->note, write_note, &note, NULL, error);
    sutra_context_free(context);
    return status;
}

/* The file of a rank, or none. */
static enum sutra_status settle_rank(struct meeting_at_hand *at_hand, struct sutra_error *error) {
    enum sutra_status status = name_files(at_hand) ? SUTRA_OK : error_memory(error);
    if (!status && at_hand->rank->state == RANK_DONE) {
        status = make_rank(at_hand, error);
    } else if (!status) {
        unlink(at_hand->note);
        unlink(at_hand->path);
    }
    return status;
}

static void free_names(const struct meeting_at_hand *at_hand) {
    free(at_hand->alone);
    free(at_hand->path);
    free(at_hand->note);
}

/* ---- Workers ---- */

static bool take_rank(struct second_pass *pass, size_t *rank) {
    pthread_mutex_lock(&pass->mutex);
    bool more = !pass->status && pass->next < pass->whole->n_ranks;
    *rank = pass->next;
    pass->next += more;
    pthread_mutex_unlock(&pass->mutex);
    return more;
}

static void run_worker(void *arg, size_t number) {
    struct second_pass *pass = arg;
    for (size_t i; take_rank(pass, &i);) {
        struct meeting_at_hand at_hand = {.pass = pass,
                                          .place = (unsigned)number,
                                          .rank = &pass->whole->ranks[i],
                                          .meetings = &pass->whole->meetings->ranks[i]};
        struct sutra_error error;
        enum sutra_status status = settle_rank(&at_hand, &error);
        pthread_mutex_lock(&pass->mutex);
        if (status && !pass->status) {
            pass->status = status;
            pass->error = error;
        }
        if (!status && at_hand.rank->state == RANK_DONE)
            pass->whole->ranks[i].file_bytes = size_of_file(at_hand.path);
        pthread_mutex_unlock(&pass->mutex);
        free_names(&at_hand);
    }
}

/* As many as there are threads, and room for. */
static unsigned count_workers(const struct second_pass *pass) {
    const struct job_whole *whole = pass->whole;
    uint64_t largest = 1, n = pass->options->context.n_threads ? pass->options->context.n_threads : 1;
    for (size_t i = 0; i < whole->n_ranks; i++)
        largest = whole->ranks[i].file_bytes > largest ? whole->ranks[i].file_bytes : largest;
    uint64_t room = pass->options->memory ? pass->options->memory / largest / MEMORY_TIMES : n;
    n = room < n ? room : n;
    n = whole->n_ranks < n ? whole->n_ranks : n;
    n = n < RANK_WORKERS_MAX ? n : RANK_WORKERS_MAX;
    return n ? (unsigned)n : 1;
}

/* ---- For ASTRA-sim ---- */

static enum sutra_status write_astra(const struct job_whole *whole, const struct second_pass_options *options,
                                     struct sutra_error *error) {
    struct sutra_context *context = NULL;
    struct arena arena = {0};
    const struct collective_calls *calls = &whole->calls;
    struct astra_group *groups = arena_take(&arena, calls->n_groups, sizeof *groups);
    uint32_t n = 0;
    for (uint32_t i = 0; groups && i < calls->n_groups; i++) {
        size_t n_ranks;
        if (whole->meetings->group_number[i] != i + 1)
            continue;
        groups[n].ranks = collective_group_ranks(calls, i, &arena, &n_ranks);
        groups[n].number = i + 1;
        groups[n++].n_ranks = (uint32_t)n_ranks;
    }
    enum sutra_status status = arena_status(&arena, error);
    if (!status)
        status = sutra_context_create(&options->context, &context, error);
    if (!status) {
        context->own_names = true;
        status = astra_files_write(context, options->folder, groups, n, (uint32_t)whole->world_size, error);
    }
    sutra_context_free(context);
    arena_free(&arena);
    return status;
}

/* ---- All of it ---- */

enum sutra_status second_pass_run(struct job_whole *whole, const struct second_pass_options *options,
                                  struct sutra_error *error) {
    struct second_pass pass = {.whole = whole, .options = options};
    unsigned n_workers = count_workers(&pass);
    struct pool *pool = pool_create(n_workers);
    if (!pool)
        return error_set(error, SUTRA_SYSTEM, "cannot start %u threads", n_workers);
    pthread_mutex_init(&pass.mutex, NULL);
    pool_run(pool, n_workers, run_worker, &pass);
    pthread_mutex_destroy(&pass.mutex);
    pool_free(pool);
    if (!pass.status && whole->astra)
        return write_astra(whole, options, error);
    return error_hand_on(error, pass.status, &pass.error);
}
