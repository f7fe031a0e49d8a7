/*
 * hta_ranks.c - the traces of many ranks, several at a time, and what their tables are together.
 *
 * Each trace is a task: read, number, analyze, show to the visitor, free. A task has a context of its own, whose
 * warnings are kept and handed on in the order of the list, so that nothing depends on which thread was faster. Ranks
 * are claimed in that order as well: tasks begin in rising order, so those that a task waits for are under way. What
 * stays of a rank is small: all tables but those of single launches.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta.h"
#include "analyze/rank_number.h"
#include "base/error.h"
#include "columns/pair_table.h"

/* One trace of the list. */
struct task {
    struct sutra_hta_rank rank;
    char *path;
    struct sutra_hta *hta; /* without the tables of single launches; NULL: left out */
    struct sutra_error error;
    enum sutra_status status;
    bool visited;           /* the error is that of the visitor, or there was no memory: all must end */
    struct buffer warnings; /* lines, each with a NUL */
};

struct sutra_hta_ranks {
    size_t n;
    struct task *tasks;
    size_t *order; /* tasks by rank, those that were left out last */
    struct sutra_table tables[SUTRA_HTA_N_TABLES];
    bool made[SUTRA_HTA_N_TABLES];
};

/* The task at a place of the order. */
static struct task *task_at(const struct sutra_hta_ranks *ranks, size_t i) {
    return &ranks->tasks[ranks->order[i]];
}

/* What the tasks share. */
struct work {
    struct sutra_context *context;
    struct sutra_hta_ranks_options options;
    struct sutra_hta_ranks *ranks;
    unsigned n_threads; /* for each trace */
    pthread_mutex_t mutex, visiting;
    pthread_cond_t turn;
    bool stopped;             /* the visitor failed: it is not called again */
    size_t n_claimed;         /* tasks that have claimed their rank, or cannot */
    struct pair_table claims; /* from a rank to its task */
};

/* ---- A task ---- */

static void keep_warning(void *arg, const char *message) {
    struct task *task = arg;
    buffer_append(&task->warnings, message, strlen(message) + 1);
}

static void wait_turn(struct work *work, size_t number) {
    pthread_mutex_lock(&work->mutex);
    while (work->n_claimed != number)
        pthread_cond_wait(&work->turn, &work->mutex);
    pthread_mutex_unlock(&work->mutex);
}

static void pass_turn(struct work *work) {
    pthread_mutex_lock(&work->mutex);
    work->n_claimed++;
    pthread_cond_broadcast(&work->turn);
    pthread_mutex_unlock(&work->mutex);
}

/* Claims the rank of a task whose turn it is, unless an earlier trace has it. */
static enum sutra_status claim_rank(struct work *work, size_t number, struct sutra_error *error) {
    const struct task *tasks = work->ranks->tasks;
    int64_t rank = tasks[number].rank.rank;
    struct pair_entry *claim = pair_table_take(&work->claims, (uint64_t)rank, 0);
    if (!claim)
        return error_memory(error);
    if (claim->number != PAIR_NONE)
        return error_file(error, SUTRA_DATA, tasks[number].rank.path, "rank %lld again, as in %s", (long long)rank,
                          tasks[claim->number].rank.path);
    claim->number = (uint32_t)number;
    return SUTRA_OK;
}

static enum sutra_status visit(struct work *work, struct task *task) {
    enum sutra_status status = SUTRA_OK;
    if (work->options.visit) {
        pthread_mutex_lock(&work->visiting);
        if (!work->stopped)
            status = work->options.visit(work->options.arg, work->context, task->hta, &task->error);
        work->stopped |= status != SUTRA_OK;
        pthread_mutex_unlock(&work->visiting);
    }
    task->visited = status != SUTRA_OK;
    table_free(&task->hta->tables[SUTRA_HTA_LAUNCHES]);
    table_free(&task->hta->tables[SUTRA_HTA_QUEUE]);
    return status;
}

/* All but the reading; frees the trace as soon as it is no longer needed. */
static enum sutra_status analyze(struct work *work, struct task *task, struct sutra_context *context,
                                 struct sutra_device_trace *trace) {
    struct sutra_hta_options options = work->options.hta;
    options.size = sizeof options;
    options.rank = task->rank.rank;
    enum sutra_status status = sutra_hta_make(context, trace, &options, &task->hta, &task->error);
    sutra_device_trace_free(trace);
    if (status)
        return status;
    task->rank.summary = task->hta->summary;
    return visit(work, task);
}

static void run_with(struct work *work, size_t number, struct sutra_context *context) {
    struct task *task = &work->ranks->tasks[number];
    struct sutra_device_trace *trace = NULL;
    task->status = sutra_device_trace_read(context, task->rank.path, &trace, &task->error);
    if (!task->status)
        task->rank.rank = rank_number(trace, task->rank.path, number, &task->rank.source);
    wait_turn(work, number);
    if (!task->status)
        task->status = claim_rank(work, number, &task->error);
    pass_turn(work);
    if (!task->status)
        task->status = analyze(work, task, context, trace);
    else
        sutra_device_trace_free(trace);
}

static void run_task(void *arg, size_t number) {
    struct work *work = arg;
    struct task *task = &work->ranks->tasks[number];
    struct sutra_context_options options = {.size = sizeof options,
                                            .n_threads = work->n_threads,
                                            .device = SUTRA_DEVICE_CPU, /* as many at a time as there are threads */
                                            .strict = work->context->options.strict,
                                            .lenient = work->context->options.lenient,
                                            .warning = keep_warning,
                                            .arg = task};
    struct sutra_context *context = NULL;
    task->status = sutra_context_create(&options, &context, &task->error);
    if (!task->status) {
        run_with(work, number, context);
        sutra_context_free(context);
        return;
    }
    wait_turn(work, number);
    pass_turn(work);
}

/* ---- All of them together ---- */

/* Hands warnings on, and decides whether the work as a whole failed. */
static enum sutra_status judge(struct work *work, struct sutra_error *error) {
    struct sutra_hta_ranks *ranks = work->ranks;
    const struct task *failed = NULL;
    size_t n_good = 0;
    for (size_t i = 0; i < ranks->n; i++) {
        struct task *task = &ranks->tasks[i];
        for (size_t at = 0; at < task->warnings.length; at += strlen(task->warnings.bytes + at) + 1)
            context_warn(work->context, "%s: %s", task->rank.path, task->warnings.bytes + at);
        n_good += !task->status;
        if (!task->status)
            continue;
        task->rank.reason = task->error.message;
        bool must_end = task->visited || task->status == SUTRA_SYSTEM || work->context->options.strict;
        if (must_end) {
            *error = task->error;
            return task->status;
        }
        failed = failed ? failed : task;
    }
    if (n_good == 0 && failed) {
        *error = failed->error;
        return failed->status;
    }
    for (size_t i = 0; i < ranks->n; i++) {
        char text[sizeof ranks->tasks[i].error.message + 512];
        if (!ranks->tasks[i].status)
            continue;
        sutra_error_text(&ranks->tasks[i].error, text, sizeof text);
        context_warn(work->context, "left out: %s", text);
    }
    return SUTRA_OK;
}

static int compare_tasks(const void *left, const void *right, void *arg) {
    const struct task *tasks = arg;
    size_t i = *(const size_t *)left, j = *(const size_t *)right;
    const struct task *a = &tasks[i], *b = &tasks[j];
    if (!a->status != !b->status)
        return a->status ? 1 : -1;
    if (!a->status && a->rank.rank != b->rank.rank)
        return a->rank.rank < b->rank.rank ? -1 : 1;
    return (i > j) - (i < j);
}

static void add_summary(struct sutra_table *table, const struct sutra_hta_rank *rank) {
    const struct sutra_hta_summary *summary = &rank->summary;
    table_integer(table, rank->rank);
    table_text(table, rank->path, strlen(rank->path));
    table_integer(table, (int64_t)summary->n_events);
    table_integer(table, (int64_t)summary->n_kernels);
    table_real(table, summary->first_us);
    table_real(table, summary->span_us);
    table_real(table, summary->idle_us);
    table_real(table, summary->compute_us);
    table_real(table, summary->communication_us);
    table_real(table, summary->exposed_us);
    table_real(table, summary->memory_us);
    table_integer(table, (int64_t)summary->n_launches);
}

/* The times of each state of all ranks together. */
static void add_types(struct sutra_hta_ranks *ranks, struct sutra_table *table, int which) {
    struct interval_states all = {0};
    for (size_t i = 0; i < ranks->n && task_at(ranks, i)->hta; i++)
        for (int state = 0; state < N_STATES; state++) {
            all.length[state] += task_at(ranks, i)->hta->types[which].length[state];
            all.seen[state] |= task_at(ranks, i)->hta->types[which].seen[state];
        }
    hta_types_fill(table, &all);
}

/* The rows of all ranks, in the order of the ranks. */
static void add_rows(struct sutra_hta_ranks *ranks, struct sutra_table *table, int id) {
    for (size_t i = 0; i < ranks->n && task_at(ranks, i)->hta; i++)
        table_append(table, &task_at(ranks, i)->hta->tables[id]);
}

static bool any_made(const struct sutra_hta_ranks *ranks, int id) {
    for (size_t i = 0; i < ranks->n && task_at(ranks, i)->hta; i++)
        if (task_at(ranks, i)->hta->made[id])
            return true;
    return false;
}

static enum sutra_status join_table(struct sutra_hta_ranks *ranks, int id, const struct sutra_hta_options *options,
                                    struct sutra_error *error) {
    struct sutra_table *table = &ranks->tables[id];
    if (id == SUTRA_HTA_LAUNCHES || id == SUTRA_HTA_QUEUE || (id != SUTRA_HTA_RANKS && !any_made(ranks, id)))
        return SUTRA_OK;
    ranks->made[id] = true;
    hta_table_init(table, (enum sutra_hta_table)id, options, false, false);
    if (id == SUTRA_HTA_TYPES || id == SUTRA_HTA_TYPES_MEMORY)
        add_types(ranks, table, id == SUTRA_HTA_TYPES_MEMORY);
    else if (id != SUTRA_HTA_RANKS)
        add_rows(ranks, table, id);
    for (size_t i = 0; id == SUTRA_HTA_RANKS && i < ranks->n && task_at(ranks, i)->hta; i++)
        add_summary(table, &task_at(ranks, i)->rank);
    if (table->failed)
        return error_memory(error);
    return id == SUTRA_HTA_KERNELS || id == SUTRA_HTA_KERNELS_MEMORY ? hta_names_sort(table, error) : SUTRA_OK;
}

static enum sutra_status join_ranks(struct work *work, struct sutra_error *error) {
    struct sutra_hta_ranks *ranks = work->ranks;
    for (size_t i = 0; i < ranks->n; i++)
        ranks->order[i] = i;
    qsort_r(ranks->order, ranks->n, sizeof *ranks->order, compare_tasks, ranks->tasks);
    enum sutra_status status = SUTRA_OK;
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !status; id++)
        status = join_table(ranks, id, &work->options.hta, error);
    return status;
}

/* ---- The public functions ---- */

static void run_all(struct work *work) {
    unsigned n_threads = pool_threads(work->context->pool);
    size_t n = work->ranks->n;
    work->n_threads = n < n_threads ? n_threads / (unsigned)n : 1;
    pthread_mutex_init(&work->mutex, NULL);
    pthread_mutex_init(&work->visiting, NULL);
    pthread_cond_init(&work->turn, NULL);
    if (n == 1) { /* with all threads, and all that a person sees of the work */
        run_with(work, 0, work->context);
    } else {
        if (work->context->options.device == SUTRA_DEVICE_CUDA)
            context_warn(work->context, "several ranks are the CPU's work: each of its threads takes one at a time");
        stage_begin(work->context, "analyze ranks", n);
        pool_run(work->context->pool, n, run_task, work);
        stage_end(work->context);
    }
    pthread_cond_destroy(&work->turn);
    pthread_mutex_destroy(&work->visiting);
    pthread_mutex_destroy(&work->mutex);
}

static enum sutra_status make(struct work *work, struct sutra_error *error) {
    if (!pair_table_init(&work->claims))
        return error_memory(error);
    run_all(work);
    pair_table_free(&work->claims);
    enum sutra_status status = judge(work, error);
    return status ? status : join_ranks(work, error);
}

static struct sutra_hta_ranks *ranks_new(const char *const *paths, size_t n) {
    struct sutra_hta_ranks *ranks = calloc(1, sizeof *ranks);
    if (!ranks)
        return NULL;
    ranks->tasks = calloc(n + 1, sizeof *ranks->tasks);
    ranks->order = calloc(n + 1, sizeof *ranks->order);
    for (size_t i = 0; i < n && ranks->tasks; i++) {
        ranks->n = i + 1;
        ranks->tasks[i].path = strdup(paths[i]);
        ranks->tasks[i].rank.path = ranks->tasks[i].path;
        if (!ranks->tasks[i].path)
            break;
    }
    if (ranks->tasks && ranks->order && ranks->n == n && ranks->tasks[n - 1].path)
        return ranks;
    sutra_hta_ranks_free(ranks);
    return NULL;
}

enum sutra_status sutra_hta_ranks_make(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                       const struct sutra_hta_ranks_options *options, struct sutra_hta_ranks **ranks,
                                       struct sutra_error *error) {
    struct work work = {.context = context};
    if (options)
        memcpy(&work.options, options, options->size < sizeof work.options ? options->size : sizeof work.options);
    if (n_paths == 0 || n_paths >= PAIR_NONE)
        return error_set(error, SUTRA_USAGE, n_paths ? "too many traces" : "no traces");
    work.ranks = ranks_new(paths, n_paths);
    if (!work.ranks)
        return error_memory(error);
    enum sutra_status status = make(&work, error);
    if (status)
        sutra_hta_ranks_free(work.ranks);
    else
        *ranks = work.ranks;
    return status;
}

void sutra_hta_ranks_free(struct sutra_hta_ranks *ranks) {
    if (!ranks)
        return;
    for (size_t i = 0; i < ranks->n; i++) {
        free(ranks->tasks[i].path);
        sutra_hta_free(ranks->tasks[i].hta);
        buffer_free(&ranks->tasks[i].warnings);
    }
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++)
        table_free(&ranks->tables[id]);
    free(ranks->tasks);
    free(ranks->order);
    free(ranks);
}

const struct sutra_hta_rank *sutra_hta_ranks_at(const struct sutra_hta_ranks *ranks, size_t i) {
    return i < ranks->n ? &task_at(ranks, i)->rank : NULL;
}

const struct sutra_table *sutra_hta_ranks_table(const struct sutra_hta_ranks *ranks, enum sutra_hta_table id,
                                                const char **reason) {
    const char *first = task_at(ranks, 0)->hta->reasons[id];
    if (reason)
        *reason = ranks->made[id] ? NULL : first ? first : "a table of one rank";
    return ranks->made[id] ? &ranks->tables[id] : NULL;
}
