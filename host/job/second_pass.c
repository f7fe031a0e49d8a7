/*
 * second_pass.c - the files of a simulated job's ranks, rewritten when the collectives of all ranks are matched.
 *
 *     DIR/.job/rank.3.et --matched collectives of the job--> DIR/rank.3.et
 *     DIR/.job/rank.3.met     hash of the inputs, size and hash of the file: an unchanged rank is not rewritten
 *
 * If DIR/rank.3.et is for one resource, `sutra simulate` also needs the job with a resource per stream, to bound the
 * error of what-ifs. Only kernels that overlap differ, so they are kept:
 *
 *     DIR/.job/rank.3.et --kernels of DIR/.job/rank.3.streams.et, collectives--> nodes in memory
 *
 * The hashes in the note prove that the result belongs to DIR/rank.3.et. Several ranks are processed in parallel, each
 * by one thread. Cost: O(bytes) of the files.
 */
#include <fcntl.h>
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
#include "columns/hash.h"
#include "job/job.h"
#include "job/rank_job.h"
#include "simulate/et_file.h"
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
    const struct matched_collectives *matched_collectives;
    const char *alone, *path, *note; /* paths of the input, the output, and the note about the output */
    const char *streams;             /* path of the kernels for a resource per stream */
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
static uint64_t hash_inputs(const struct whole_rank *rank, const struct matched_collectives *matched_collectives) {
    uint64_t hash = fnv1a_bytes(UINT64_C(14695981039346656037), rank->record, strlen(rank->record));
    hash = fnv1a_number(hash, matched_collectives->has_start ? matched_collectives->start_us : 0);
    hash = fnv1a_number(hash, (uint64_t)matched_collectives->ahead_us);
    hash = fnv1a_number(hash, matched_collectives->astra);
    hash = fnv1a_number(hash, matched_collectives->all_ranks);
    hash = fnv1a_number(hash, matched_collectives->ranks_per_host);
    for (row_t i = 0; i < matched_collectives->n; i++) {
        const struct matched_collective *node = &matched_collectives->nodes[i];
        const uint64_t numbers[] = {node->node,       node->matched_collective,
                                    node->kind,       node->n_ranks,
                                    node->group,      node->bytes,
                                    node->run_ns,     node->duration_us,
                                    node->has_before, node->before,
                                    node->is_modeled, node->moving_us,
                                    node->moving_ns,  node->size};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            hash = fnv1a_number(hash, numbers[k]);
    }
    return hash;
}

/* Hash of the bytes of a file, the same in each process; 0: the file cannot be read. */
static uint64_t hash_file(uint64_t hash, const char *path) {
    char bytes[(size_t)1 << 16];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : 1;
    while (n > 0) {
        size_t length = 0;
        while (length < sizeof bytes && (n = read(file, bytes + length, sizeof bytes - length)) > 0)
            length += (size_t)n;
        memset(bytes + length, 0, MIN(sizeof bytes - length, 16));
        for (size_t i = 0; i < length; i += 16)
            hash = hash_mix(hash_load(bytes + i, 8) ^ UINT64_C(0x9e3779b97f4a7c15), hash_load(bytes + i + 8, 8) ^ hash);
        hash = hash_mix(hash ^ UINT64_C(0xe7037ed1a0b428db), length);
    }
    if (file >= 0)
        close(file);
    return n == 0 ? hash : 0;
}

static uint64_t size_of_file(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode) ? (uint64_t)found.st_size : 0;
}

/* What determined an output, its size, and the hash of its bytes and of the kernels for a resource per stream. */
struct output_note {
    uint64_t hash, bytes, content;
};

static bool write_note(const void *of, struct text_out *text) {
    const struct output_note *note = of;
    out_format(text, "%016" PRIx64 " %" PRIu64 " %016" PRIx64 "\n", note->hash, note->bytes, note->content);
    return !text->out.failed;
}

/* Reads the note of an output. *is_current: the output exists and has the size in its note, and the note has this hash.
 * SUTRA_SYSTEM: out of memory. */
static enum sutra_status read_note(const char *folder, const char *name, const char *path, uint64_t hash,
                                   struct output_note *note, bool *is_current, struct sutra_error *error) {
    char *text = NULL;
    struct text_out same = {0};
    struct sutra_error reason;
    const uint64_t bytes = size_of_file(path);
    enum sutra_status status = record_read(folder, name, &text, &reason);
    *is_current = !status && bytes > 0 &&
                  sscanf(text, "%" SCNx64 " %" SCNu64 " %" SCNx64, &note->hash, &note->bytes, &note->content) == 3 &&
                  note->hash == hash && note->bytes == bytes;
    if (*is_current && !write_note(note, &same))
        status = error_memory(&reason);
    else if (*is_current)
        *is_current = strlen(text) == same.out.length && memcmp(text, same.out.bytes, same.out.length) == 0;
    buffer_free(&same.out);
    free(text);
    return status == SUTRA_SYSTEM ? error_copy(error, status, &reason) : SUTRA_OK;
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
static enum sutra_status rewrite_nodes(const struct rewritten_rank *rank, struct sutra_context *context,
                                       struct sutra_et **alone, struct et_nodes *nodes, struct sutra_error *error) {
    TRY(sutra_et_read(context, rank->alone, NULL, alone, error));
    TRY(et_nodes_begin(nodes, error));
    TRY(et_make_for_job(nodes, &(*alone)->file.nodes, rank->matched_collectives, error));
    return et_write(nodes, NULL, context, rank->path, NULL, error);
}

static enum sutra_status rewrite_file(const struct rewritten_rank *rank, struct sutra_context *context,
                                      struct sutra_error *error) {
    struct sutra_et *alone = NULL;
    struct et_nodes nodes = {0};
    enum sutra_status status = rewrite_nodes(rank, context, &alone, &nodes, error);
    et_nodes_free(&nodes);
    sutra_et_free(alone);
    return status;
}

/* Writes the output of a linked rank unless it is current; removes the output of any other rank. */
static enum sutra_status rewrite_rank(struct rewritten_rank *rank, struct sutra_error *error) {
    if (rank->of->state != RANK_DONE) {
        unlink(rank->note);
        unlink(rank->path);
        unlink(rank->streams);
        return SUTRA_OK;
    }
    const uint64_t hash = hash_inputs(rank->of, rank->matched_collectives);
    struct output_note note = {0};
    bool is_current = false;
    enum sutra_status status =
        read_note(rank->pass->options->folder, rank->note_name, rank->path, hash, &note, &is_current, error);
    if (status || is_current)
        return status;
    unlink(rank->note);
    struct sutra_context_options options = rank->pass->options->context;
    options.n_threads = 1;
    options.device = SUTRA_DEVICE_CPU;
    options.temporary = on_temporary;
    options.arg = rank;
    struct sutra_context *context = NULL;
    status = sutra_context_create(&options, &context, error);
    if (!status) {
        context->may_replace_links = true;
        status = rewrite_file(rank, context, error);
    }
    note = (struct output_note){.hash = hash, .bytes = size_of_file(rank->path)};
    if (!rank->matched_collectives->per_stream)
        note.content = hash_file(hash_file(0, rank->path), rank->streams);
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
                                      .matched_collectives = &pass->whole->matched_collectives->ranks[i]};
        const char *folder = pass->options->folder;
        char file[RANK_FILE_MAX], streams[RANK_FILE_MAX];
        struct sutra_error error;
        rank_file_name(rank.of->rank, pass->whole->ending, file);
        rank_streams_name(rank.of->rank, pass->whole->ending, streams);
        snprintf(rank.note_name, sizeof rank.note_name, "rank.%" PRId64 ".met", rank.of->rank);
        struct arena arena = {0};
        rank.alone = arena_format(&arena, "%s/" RECORD_FOLDER "/%s", folder, file);
        rank.path = arena_format(&arena, "%s/%s", folder, file);
        rank.note = arena_format(&arena, "%s/" RECORD_FOLDER "/%s", folder, rank.note_name);
        rank.streams = arena_format(&arena, "%s/" RECORD_FOLDER "/%s", folder, streams);
        enum sutra_status status = arena.failed ? error_memory(&error) : rewrite_rank(&rank, &error);
        pthread_mutex_lock(&pass->mutex);
        if (status && !pass->status) {
            pass->status = status;
            pass->error = error;
        }
        if (!status && rank.of->state == RANK_DONE)
            pass->whole->ranks[i].file_bytes = size_of_file(rank.path);
        pthread_mutex_unlock(&pass->mutex);
        arena_free(&arena);
    }
}

/* Writes the configuration of ASTRA-sim: the groups of the job's collectives, and its network. */
static enum sutra_status write_astra(const struct job_whole *whole, const struct second_pass_options *options,
                                     struct sutra_error *error) {
    struct sutra_context *context = NULL;
    const uint32_t n_ranks = (uint32_t)whole->world_size;
    struct astra_job replay = {.groups = whole->matched_collectives->groups,
                               .n_groups = whole->matched_collectives->n_groups,
                               .n_ranks = n_ranks};
    astra_dimensions_split(&replay);
    enum sutra_status status = sutra_context_create(&options->context, &context, error);
    if (!status) {
        context->may_replace_links = true;
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
    return error_copy(error, pass.status, &pass.error);
}

/* ---- The job with a resource per stream ---- */

struct streams_reading {
    struct job_whole whole;
    struct job_matches *matched_collectives; /* for a resource per stream */
    struct sutra_context *context;
    const char *folder;
    const char *const *paths; /* of the files for one resource */
    char **alone;             /* of the same ranks alone */
    const size_t *rank_index; /* per file: its rank in `whole` */
};

/* Replaces the nodes of a file for one resource by the kernels that differ for a resource per stream, and removes the
 * parts of kernels. Both lists ascend by id. False: they do not belong together. */
static bool replace_kernels(struct et_nodes *nodes, const struct et_nodes *kernels) {
    uint64_t first_part = UINT64_MAX;
    for (uint64_t i = 0; i < kernels->metadata.n; i++)
        if (kernels->metadata.name[i] == ET_NAME_FIRST_PART)
            first_part = kernels->metadata.value[i].bits;
    while (nodes->n && nodes->id[nodes->n - 1] >= first_part)
        nodes->n--;
    const uint64_t n_ctrl = nodes->ctrl.first[nodes->n] + kernels->ctrl.first[kernels->n],
                   n_data = nodes->data.first[nodes->n] + kernels->data.first[kernels->n];
    struct et_ids ctrl = {arena_alloc(&nodes->arena, (size_t)nodes->n + 1, sizeof *ctrl.first),
                          arena_alloc(&nodes->arena, n_ctrl, sizeof *ctrl.ids)},
                  data = {arena_alloc(&nodes->arena, (size_t)nodes->n + 1, sizeof *data.first),
                          arena_alloc(&nodes->arena, n_data, sizeof *data.ids)};
    row_t next = 0;
    if (nodes->arena.failed)
        return false;
    ctrl.first[0] = data.first[0] = 0;
    for (row_t row = 0; row < nodes->n; row++) {
        const bool replaced = next < kernels->n && kernels->id[next] == nodes->id[row];
        const struct et_nodes *from = replaced ? kernels : nodes;
        const row_t at = replaced ? next++ : row;
        et_ids_copy(&ctrl, row, &from->ctrl, at);
        et_ids_copy(&data, row, &from->data, at);
        const uint64_t run = et_attribute_find(nodes, row, ET_NAME_KERNEL_EXEC_NS);
        if (!replaced || run == UINT64_MAX)
            continue;
        nodes->duration_us[row] = kernels->duration_us[at];
        nodes->attributes.value[run].bits = (uint64_t)et_integer_or(kernels, at, ET_NAME_KERNEL_EXEC_NS, 0);
    }
    nodes->ctrl = ctrl;
    nodes->data = data;
    return next == kernels->n;
}

/* Fails if the files of a rank differ from the records of its job. */
static enum sutra_status check_files(const struct streams_reading *reading, uint32_t r, const char *streams,
                                     struct sutra_error *error) {
    const size_t i = reading->rank_index[r];
    const struct whole_rank *rank = &reading->whole.ranks[i];
    const uint64_t hash = hash_inputs(rank, &reading->whole.matched_collectives->ranks[i]);
    char note_name[RECORD_NAME_MAX + 4];
    struct output_note note = {0};
    bool is_current = false;
    snprintf(note_name, sizeof note_name, "rank.%" PRId64 ".met", rank->rank);
    TRY(read_note(reading->folder, note_name, reading->paths[r], hash, &note, &is_current, error));
    if (size_of_file(streams) == 0)
        return error_file(error, SUTRA_NO_INPUT, streams, "is missing");
    if (!is_current || size_of_file(reading->alone[r]) != rank->file_bytes ||
        note.content != hash_file(hash_file(0, reading->paths[r]), streams))
        return error_file(error, SUTRA_DATA, reading->paths[r], "does not match the records of its job");
    return SUTRA_OK;
}

/* Replaces the kernels of `read` by the kernels of the file `streams`, and changes the nodes for the job. */
static enum sutra_status replace_and_match(const struct streams_reading *reading, uint32_t r, const char *streams,
                                           struct pool *pool, struct et_file *kernels, struct et_nodes *read,
                                           struct et_nodes *made, struct sutra_error *error) {
    TRY(et_open(kernels, streams, reading->context->options.most_input_bytes, error));
    TRY(et_read(kernels, ET_SLIM, pool, error));
    if (!replace_kernels(read, &kernels->nodes))
        return read->arena.failed ? error_memory(error)
                                  : error_file(error, SUTRA_DATA, streams, "does not belong to the file of its rank");
    return et_make_for_job(made, read, &reading->matched_collectives->ranks[reading->rank_index[r]], error);
}

/* Makes the nodes of a rank with a resource per stream; fails if a file does not match the records. */
static enum sutra_status make_streams(void *arg, uint32_t r, struct et_nodes *read, struct et_nodes *made,
                                      struct sutra_error *error) {
    const struct streams_reading *reading = arg;
    char name[RANK_FILE_MAX], *path;
    rank_streams_name(reading->whole.ranks[reading->rank_index[r]].rank, reading->whole.ending, name);
    if (asprintf(&path, "%s/" RECORD_FOLDER "/%s", reading->folder, name) < 0)
        return error_memory(error);
    struct et_file kernels = {0};
    struct pool *pool = pool_create(1);
    enum sutra_status status = pool ? check_files(reading, r, path, error) : error_memory(error);
    if (!status)
        status = replace_and_match(reading, r, path, pool, &kernels, read, made, error);
    et_file_free(&kernels);
    pool_free(pool);
    free(path);
    return status;
}

enum sutra_status job_streams_read(struct sutra_context *context, const char *const *paths, const uint64_t *numbers,
                                   uint32_t n, struct sutra_et_ranks **ranks, struct sutra_error *error) {
    struct streams_reading reading = {.context = context, .paths = paths};
    struct job_whole *whole = &reading.whole;
    struct arena arena = {0};
    const char *slash = n ? strrchr(paths[0], '/') : NULL;
    const size_t length = slash ? (size_t)(slash - paths[0]) : 0;
    char **alone = arena_zeros(&arena, n, sizeof *alone);
    size_t *rank_index = arena_alloc(&arena, n, sizeof *rank_index);
    reading.rank_index = rank_index;
    reading.alone = alone;
    reading.folder = slash ? arena_text(&arena, length ? paths[0] : "/", MAX(length, 1)) : ".";
    enum sutra_status status = arena.failed ? error_memory(error) : job_whole_read(whole, reading.folder, error);
    if (status == SUTRA_NO_INPUT)
        error_file(error, status, reading.folder, "there are no records of 'sutra link' (" RECORD_FOLDER ")");
    if (!status && (!whole->matched_collectives || whole->per_stream))
        status = error_file(error, SUTRA_DATA, reading.folder, "the job was not linked for one resource");
    for (uint32_t r = 0; r < n && !status; r++) {
        char name[RANK_FILE_MAX];
        size_t i;
        BISECT(i, whole->n_ranks, (uint64_t)whole->ranks[i].rank < numbers[r]);
        rank_file_name((int64_t)numbers[r], whole->ending, name);
        const char *file = strrchr(paths[r], '/');
        const bool is_in_folder =
            file ? slash && (size_t)(file - paths[r]) == length && memcmp(paths[r], paths[0], length) == 0 : !slash;
        rank_index[r] = i;
        if (!is_in_folder || strcmp(file ? file + 1 : paths[r], name) != 0 || i == whole->n_ranks ||
            (uint64_t)whole->ranks[i].rank != numbers[r])
            status = error_file(error, SUTRA_DATA, paths[r], "is not a file of the job");
        else if (whole->ranks[i].state != RANK_DONE)
            status = error_file(error, SUTRA_DATA, paths[r], "the rank is not linked");
        else if (asprintf(&alone[r], "%s/" RECORD_FOLDER "/%s", reading.folder, name) < 0)
            status = error_memory(error);
    }
    if (!status)
        status = job_streams_match(whole, &reading.matched_collectives, error);
    if (!status)
        status = et_ranks_read_changed(context, (const char *const *)alone, numbers, n, make_streams, &reading, ranks,
                                       error);
    for (uint32_t r = 0; r < n && alone; r++)
        free(alone[r]);
    job_whole_free(whole);
    arena_free(&arena);
    return status;
}
