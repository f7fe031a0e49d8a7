/*
 * hang.c - implements sutra/hang.h: reads the dumps of all ranks in parallel, and runs the stages of the analysis.
 *
 * Each file is freed after reading; 64 bytes per entry remain. Results do not depend on threads: dumps are joined in
 * the order of their ranks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hang/hang.h"
#include "base/error.h"
#include "base/options.h"
#include "context/context.h"
#include "read/flight_recorder.h"
#include "read/objects.h"
#include "run/run.h"
#include "text/quantities.h"
#include "text/strings.h"

const char *const hang_cause_names[] = {
    [HANG_NONE] = "none",
    [HANG_TYPE_MISMATCH] = "type_mismatch",
    [HANG_SIZE_MISMATCH] = "size_mismatch",
    [HANG_DTYPE_MISMATCH] = "dtype_mismatch",
    [HANG_ORDER_MISMATCH] = "order_mismatch",
    [HANG_SKIPPED_COLLECTIVE] = "skipped_collective",
    [HANG_EXTRA_COLLECTIVE] = "extra_collective",
    [HANG_GROUP_MISMATCH] = "group_mismatch",
    [HANG_P2P_DEADLOCK] = "p2p_deadlock",
    [HANG_RANK_NOT_ARRIVED] = "rank_not_arrived",
    [HANG_DUMP_MISSING] = "dump_missing",
    [HANG_GPU_NOT_ARRIVED] = "gpu_not_arrived",
    [HANG_STUCK_IN_KERNEL] = "stuck_in_kernel",
};
const char *const hang_confidence_names[] = {"high", "medium", "low"};

/* ---- Files ---- */

/* A file, or bytes in memory. */
struct dump_file {
    const char *path;
    const void *bytes;
    size_t size;
    bool in_memory, has_rank, is_read;
    int64_t rank;
    const struct dump_file *other; /* of the same rank, which counts */
    struct sutra_error *error;     /* malloc(); why it is not readable, or NULL */
    struct flight_dump dump;
};

/* The values of a file; their memory is used again for the next file of a thread. */
struct file_values {
    struct objects objects;
    struct file_values *next;
};

struct dump_files {
    struct sutra_context *context;
    struct dump_file *list;
    size_t n;
    /* Under the mutex: */
    pthread_mutex_t mutex;
    struct file_values *idle;
    struct sutra_hang *hang; /* lists of members */
};

/* The values of a thread; NULL: out of memory. */
static struct file_values *borrow_values(struct dump_files *files) {
    pthread_mutex_lock(&files->mutex);
    struct file_values *values = files->idle;
    if (values)
        files->idle = values->next;
    pthread_mutex_unlock(&files->mutex);
    if (!values && (values = calloc(1, sizeof *values)) && !objects_init(&values->objects)) {
        objects_free(&values->objects);
        free(values);
        return NULL;
    }
    return values;
}

/* Reads a dump; an error that is not the file's fails the run. */
static enum sutra_status read_file(void *arg, size_t i, struct sutra_error *error) {
    struct dump_files *files = arg;
    struct dump_file *file = &files->list[i];
    struct sutra_error found;
    struct source source;
    TRY(context_check_cancelled(files->context, error));
    if (!file->has_rank)
        return SUTRA_OK;
    enum sutra_status status =
        file->in_memory ? source_copy_any(&source, file->path, file->bytes, file->size, &found)
                        : source_open_any(&source, file->path, files->context->options.most_input_bytes, &found);
    if (!status) {
        struct file_values *values = borrow_values(files);
        status = values ? flight_dump_read(&file->dump, &values->objects, &source, file->rank, &found)
                        : error_memory(&found);
        source_close(&source);

        /* Equal lists of members of all dumps are stored once: a job of n ranks has n lists of n ranks. */
        pthread_mutex_lock(&files->mutex);
        if (values) {
            values->next = files->idle;
            files->idle = values;
        }
        for (uint32_t k = 0; k < file->dump.n_configs && !status; k++) {
            struct flight_config *config = &file->dump.configs[k];
            config->list = hang_list_intern(files->hang, config->members, config->n_members);
            config->members = NULL;
            status = config->list == UINT32_MAX ? error_memory(&found) : SUTRA_OK;
        }
        pthread_mutex_unlock(&files->mutex);
        arena_free(&file->dump.member_arena);
    }
    file->is_read = status == SUTRA_OK;
    if (status == SUTRA_SYSTEM)
        return error_copy(error, status, &found);
    if (status) {
        flight_dump_free(&file->dump);
        file->error = malloc(sizeof *file->error);
        TRY_ALLOC(file->error, error);
        *file->error = found;
    }
    return SUTRA_OK;
}

/* Lists the dumps by rank, one for each: of several, a pickle, which has frames, else the first. False: out of
 * memory. */
static bool select_dumps(struct sutra_hang *hang, struct dump_files *files, struct arena *scratch,
                         struct dump_file ***selected) {
    struct pair_table by_rank = {0};
    bool ok = pair_table_init(&by_rank);
    for (size_t i = 0; i < files->n && ok; i++) {
        struct dump_file *file = &files->list[i];
        struct pair_entry *known = file->is_read ? pair_table_insert(&by_rank, (uint64_t)file->rank, 0) : NULL;
        ok = known || !file->is_read;
        if (!known)
            continue;
        struct dump_file *other = known->number == PAIR_NONE ? NULL : &files->list[known->number];
        const bool replaces = other && file->dump.is_pickle && !other->dump.is_pickle;
        if (other)
            *(replaces ? &other->other : &file->other) = replaces ? file : other;
        if (!other || replaces)
            known->number = (uint32_t)i;
    }
    pair_table_free(&by_rank);
    struct dump_file **list = arena_alloc(scratch, files->n, sizeof(struct dump_file *));
    for (size_t i = 0; i < files->n && ok && list; i++)
        if (files->list[i].is_read && !files->list[i].other)
            list[hang->n_ranks++] = &files->list[i];
    hang->n_skipped = files->n - hang->n_ranks;
    *selected = list;
    return ok && list;
}

static int compare_ranks(const void *left, const void *right) {
    const struct dump_file *const *a = left, *const *b = right;
    return ((*a)->rank > (*b)->rank) - ((*a)->rank < (*b)->rank);
}

#define WARNINGS_MAX 10

/* Warns about skipped files. SUTRA_DATA: no dump is readable; SUTRA_STRICT: a strict context. */
static enum sutra_status report_skipped(const struct sutra_hang *hang, struct dump_files *files,
                                        struct sutra_error *error) {
    uint64_t n = 0;
    for (size_t i = 0; i < files->n && hang->n_skipped > 0; i++) {
        const struct dump_file *file = &files->list[i];
        if (file->is_read && !file->other)
            continue;
        char reason[1200];
        if (!file->has_rank)
            snprintf(reason, sizeof reason, "%.1000s: no rank in the file name, such as nccl_trace_rank_3", file->path);
        else if (file->other)
            snprintf(reason, sizeof reason, "%.500s: rank %" PRId64 " is also the rank of %.500s", file->path,
                     file->rank, file->other->path);
        else
            sutra_error_text(file->error, reason, sizeof reason);
        if (hang->n_ranks == 0 && files->n == 1 && file->error)
            return error_copy(error, SUTRA_DATA, file->error);
        if (hang->n_ranks == 0)
            return error_set(error, SUTRA_DATA, "no readable dump of a flight recorder in %s; the first: %s",
                             counted_text(files->n, "file", "files").text, reason);
        if (files->context->options.strict)
            return error_set(error, SUTRA_STRICT, "%s", reason);
        if (n++ < WARNINGS_MAX)
            context_warn(files->context, "%s: skipped", reason);
    }
    if (n > WARNINGS_MAX)
        context_warn(files->context, "%s skipped",
                     counted_text(n - WARNINGS_MAX, "more file is", "more files are").text);
    return SUTRA_OK;
}

/* ---- Facts about the job ---- */

/* Lists the versions of the dumps, in byte order. */
static bool list_versions(struct sutra_hang *hang, struct dump_file *const *selected) {
    const char **list = arena_alloc(&hang->arena, hang->n_ranks, sizeof *list);
    if (!list)
        return false;
    for (uint32_t r = 0; r < hang->n_ranks && !hang->arena.failed; r++) {
        const struct flight_dump *dump = &selected[r]->dump;
        const char *text = strings_text(&dump->strings, dump->version);
        if (r == 0 || strcmp(text, list[hang->n_versions - 1]) != 0) /* most ranks have the version of the last one */
            list[hang->n_versions++] = arena_text(&hang->arena, text, strlen(text));
    }
    if (hang->arena.failed)
        return false;
    qsort(list, hang->n_versions, sizeof *list, compare_strings);
    size_t n = 0;
    for (size_t i = 0; i < hang->n_versions; i++)
        if (n == 0 || strcmp(list[i], list[n - 1]) != 0)
            list[n++] = list[i];
    hang->versions = list;
    hang->n_versions = n;
    return true;
}

/* Lists the ranks of the job, the ones without a dump, and stale ones. */
static bool list_world(struct sutra_hang *hang) {
    struct pair_table known = {0};
    int64_t *world = NULL;
    size_t n = 0, n_missing = 0, n_stale = 0;
    uint64_t capacity = 0;
    bool ok = pair_table_init(&known);
    for (uint32_t g = 0; g <= hang->n_groups && ok; g++) { /* the last one: ranks with a dump */
        const bool is_group = g < hang->n_groups;
        const size_t n_members = is_group ? hang->groups[g].members.n : hang->n_ranks;
        for (size_t i = 0; i < n_members && ok && (!is_group || hang->groups[g].has_known_members); i++) {
            const int64_t rank = is_group ? hang->groups[g].members.list[i] : hang->ranks[i].rank;
            struct pair_entry *entry = pair_table_insert(&known, (uint64_t)rank, 0);
            ok = entry && arena_grow(&hang->arena, &world, n, &capacity, sizeof *world);
            if (ok && entry->number == PAIR_NONE) {
                entry->number = 0;
                world[n++] = rank;
            }
        }
    }
    pair_table_free(&known);
    int64_t *missing = arena_alloc(&hang->arena, n, sizeof *missing);
    int64_t *stale = arena_alloc(&hang->arena, hang->n_ranks, sizeof *stale);
    if (!ok || !missing || !stale)
        return false;
    if (n > 0)
        qsort(world, n, sizeof *world, compare_int64s);
    for (size_t i = 0; i < n; i++)
        if (hang_rank_index(hang, world[i]) == UINT32_MAX)
            missing[n_missing++] = world[i];
    for (uint32_t r = 0; r < hang->n_ranks; r++)
        if (hang->ranks[r].is_stale)
            stale[n_stale++] = hang->ranks[r].rank;
    hang->world = (struct hang_ranks){world, n};
    hang->missing_dumps = (struct hang_ranks){missing, n_missing};
    hang->stale = (struct hang_ranks){stale, n_stale};
    return true;
}

/* ---- The run ---- */

/* Joins the dumps, which are freed, and analyzes them. */
static enum sutra_status analyze(struct sutra_hang *hang, struct sutra_context *context, struct dump_file **selected,
                                 const struct sutra_hang_options *options, struct sutra_error *error) {
    struct flight_dump *dumps = calloc(hang->n_ranks, sizeof *dumps);
    hang->ranks = calloc(hang->n_ranks, sizeof *hang->ranks);
    const bool ok = dumps && hang->ranks && list_versions(hang, selected);
    for (uint32_t r = 0; r < hang->n_ranks && ok; r++) {
        struct flight_dump *dump = &selected[r]->dump;
        hang->ranks[r] =
            (struct hang_rank){.rank = selected[r]->rank, .entries = dump->entries, .n_entries = dump->n_entries};
        hang->n_entries += dump->n_entries;
        dump->entries = NULL;
        dumps[r] = *dump;
        *dump = (struct flight_dump){.entries = NULL};
    }
    enum sutra_status status = ok ? hang_join(hang, context, dumps, error) : error_memory(error);
    for (uint32_t r = 0; r < hang->n_ranks && ok; r++)
        flight_dump_free(&dumps[r]);
    free(dumps);
    TRY(status);
    TRY(context_check_cancelled(context, error));
    TRY(hang_find_nodes(hang, error));
    for (uint32_t r = 0; r < hang->n_ranks; r++) {
        struct hang_rank *rank = &hang->ranks[r];
        for (uint32_t i = 0; i < rank->n_entries; i++)
            rank->n_pending += rank->entries[i].whole == i && !rank->entries[i].passed;
        hang->n_pending += rank->n_pending;
    }
    TRY_ALLOC(list_world(hang), error);
    TRY(hang_find_roots(hang, error));
    const bool is_complete = hang->missing_dumps.n == 0;
    hang->cause = hang->n_roots > 0 ? hang->roots[0].cause : HANG_NONE;
    hang->confidence = hang->n_roots > 0 ? hang->roots[0].confidence : is_complete ? HANG_HIGH : HANG_MEDIUM;
    TRY(hang_make_texts(hang, error));
    return hang_make_tables(hang, options->operations, error);
}

static enum sutra_status run(struct sutra_context *context, struct dump_files *files,
                             const struct sutra_hang_options *options, struct sutra_hang **made,
                             struct sutra_error *error) {
    struct arena scratch = {0};
    struct dump_file **selected = NULL;
    struct sutra_hang *hang = calloc(1, sizeof *hang);
    const bool ok = hang && strings_init(&hang->strings) && strings_init(&hang->lists.bytes) &&
                    result_init(&hang->result, hang_table_specs, SUTRA_HANG_N_TABLES);
    enum sutra_status status = ok ? SUTRA_OK : error_memory(error);
    if (!status)
        hang->result.of_job = true;
    for (size_t i = 0; i < files->n; i++)
        files->list[i].has_rank = flight_dump_rank(files->list[i].path, &files->list[i].rank);
    stage_begin(context, "read dumps", files->n);
    files->hang = hang;
    pthread_mutex_init(&files->mutex, NULL);
    if (!status)
        status = pool_try(context->pool, files->n, read_file, files, error);
    pthread_mutex_destroy(&files->mutex);
    for (struct file_values *values; (values = files->idle);) {
        files->idle = values->next;
        objects_free(&values->objects);
        free(values);
    }
    if (!status && !select_dumps(hang, files, &scratch, &selected))
        status = error_memory(error);
    if (!status)
        status = report_skipped(hang, files, error);
    stage_begin(context, "analyze dumps", 0);
    if (!status) {
        qsort(selected, hang->n_ranks, sizeof(struct dump_file *), compare_ranks);
        status = analyze(hang, context, selected, options, error);
    }
    stage_end(context);
    for (size_t i = 0; i < files->n; i++) {
        flight_dump_free(&files->list[i].dump);
        free(files->list[i].error);
    }
    arena_free(&scratch);
    if (status)
        sutra_hang_free(hang);
    else
        *made = hang;
    return status;
}

static enum sutra_status copy_options(const struct sutra_hang_options *options, struct sutra_hang_options *taken,
                                      struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_hang_options, operations);
    return options_copy(&form, options, taken, error);
}

enum sutra_status sutra_hang_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                 const struct sutra_hang_options *options, struct sutra_hang **hang,
                                 struct sutra_error *error) {
    struct sutra_hang_options known;
    struct run_files listed;
    TRY(copy_options(options, &known, error));
    if (n_paths == 0)
        return error_set(error, SUTRA_USAGE, "no dumps");
    enum sutra_status status = run_list_files(&listed, context, paths, n_paths, NULL, error);
    struct dump_files files = {.context = context, .n = listed.n};
    if (!status && listed.n == 0)
        status =
            error_set(error, SUTRA_DATA, "%s: no files: name dumps of a flight recorder, or their directory", paths[0]);
    if (!status && !(files.list = calloc(listed.n + 1, sizeof *files.list)))
        status = error_memory(error);
    for (size_t i = 0; i < listed.n && !status; i++)
        files.list[i].path = listed.paths[i];
    if (!status)
        status = run(context, &files, &known, hang, error);
    free(files.list);
    arena_free(&listed.arena);
    return status;
}

enum sutra_status sutra_hang_parse(struct sutra_context *context, const struct sutra_hang_dump *dumps, size_t n_dumps,
                                   const struct sutra_hang_options *options, struct sutra_hang **hang,
                                   struct sutra_error *error) {
    struct sutra_hang_options known;
    TRY(copy_options(options, &known, error));
    if (n_dumps == 0)
        return error_set(error, SUTRA_USAGE, "no dumps");
    struct dump_files files = {.context = context, .list = calloc(n_dumps, sizeof *files.list), .n = n_dumps};
    TRY_ALLOC(files.list, error);
    for (size_t i = 0; i < n_dumps; i++)
        files.list[i] = (struct dump_file){
            .path = dumps[i].name, .bytes = dumps[i].bytes, .size = dumps[i].size, .in_memory = true};
    const enum sutra_status status = run(context, &files, &known, hang, error);
    free(files.list);
    return status;
}

void sutra_hang_free(struct sutra_hang *hang) {
    if (!hang)
        return;
    result_free(&hang->result);
    for (uint32_t r = 0; r < hang->n_ranks && hang->ranks; r++)
        free(hang->ranks[r].entries);
    free(hang->ranks);
    pair_table_free(&hang->signatures.known);
    strings_free(&hang->strings);
    strings_free(&hang->lists.bytes);
    arena_free(&hang->arena);
    free(hang);
}

void sutra_hang_summary(const struct sutra_hang *hang, struct sutra_hang_summary *summary) {
    const struct sutra_hang_summary ours = {
        .stuck = hang->n_roots > 0,
        .cause = hang_cause_names[hang->cause],
        .confidence = hang_confidence_names[hang->confidence],
        .why = hang->why,
        .n_ranks = hang->n_ranks,
        .world_size = hang->world.n,
        .n_groups = hang->n_groups,
        .n_entries = hang->n_entries,
        .n_pending = hang->n_pending,
        .n_skipped = hang->n_skipped,
    };
    report_give(summary, &ours, sizeof ours);
}

int sutra_hang_finding(const struct sutra_hang *hang, size_t i, struct sutra_hang_finding *finding) {
    if (i >= hang->n_roots)
        return 0;
    const struct hang_root *root = &hang->roots[i];
    *finding = (struct sutra_hang_finding){
        .cause = hang_cause_names[root->cause],
        .confidence = hang_confidence_names[root->confidence],
        .title = root->title,
        .ranks = root->ranks.list,
        .n_ranks = root->ranks.n,
        .seen = root->seen,
        .where = root->where,
        .remedy = root->remedy,
        .check = root->check,
    };
    return 1;
}
