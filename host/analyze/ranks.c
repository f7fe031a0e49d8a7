/*
 * ranks.c - implements ranks.h with tasks of a thread pool. Memory: as many traces as the context has threads.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/ranks.h"
#include "base/error.h"
#include "columns/hash_tables.h"
#include "facts/processes.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "read/file_kind.h"
#include "read/nsys.h"
#include "text/quantities.h"
#include "write/sink.h"

/* ---- Order of the tasks ---- */

/* State shared by the tasks. */
struct rank_run {
    struct rank_tasks *tasks;
    const struct rank_analysis *analysis;
    struct sutra_context *context;
    void *arg;
    const struct shard_plan *plan; /* or NULL */
    size_t next;                   /* trace of the shard */
    unsigned n_threads;            /* for each trace */
    pthread_mutex_t mutex, visiting;
    pthread_cond_t turn;
    bool stopped;             /* a visitor failed: no visitor runs again */
    size_t n_claimed;         /* tasks that have claimed their rank, or cannot, as all earlier ones */
    size_t n_ended;           /* tasks that are done, as all earlier ones */
    bool *claimed, *ended;    /* by task */
    struct pair_table claims; /* from a rank to its task */
};

static void wait_turn(struct rank_run *run, size_t number) {
    pthread_mutex_lock(&run->mutex);
    while (run->n_claimed != number)
        pthread_cond_wait(&run->turn, &run->mutex);
    pthread_mutex_unlock(&run->mutex);
}

static void pass_turn(struct rank_run *run, size_t number) {
    pthread_mutex_lock(&run->mutex);
    run->claimed[number] = true;
    while (run->n_claimed < run->tasks->n && run->claimed[run->n_claimed])
        run->n_claimed++;
    pthread_cond_broadcast(&run->turn);
    pthread_mutex_unlock(&run->mutex);
}

/* Claims the rank of a task whose turn it is, unless an earlier trace has it. A trace with GPU
 * activity may claim the rank of a trace without. */
static enum sutra_status claim_rank(struct rank_run *run, size_t number, struct sutra_error *error) {
    const struct rank_task *tasks = run->tasks->list;
    int64_t rank = tasks[number].rank;
    struct pair_entry *claim = pair_table_insert(&run->claims, (uint64_t)rank, 0);
    TRY_ALLOC(claim, error);
    bool is_duplicate = claim->number != PAIR_NONE && (tasks[number].is_idle || !tasks[claim->number].is_idle);
    if (is_duplicate)
        return error_file(error, SUTRA_DATA, tasks[number].path, "duplicate rank %lld, also in %s", (long long)rank,
                          tasks[claim->number].path);
    claim->number = (uint32_t)number;
    return SUTRA_OK;
}

void rank_run_wait(struct rank_run *run, size_t number) {
    pthread_mutex_lock(&run->mutex);
    while (run->n_ended < number)
        pthread_cond_wait(&run->turn, &run->mutex);
    pthread_mutex_unlock(&run->mutex);
}

bool rank_run_is_next(struct rank_run *run, size_t number) {
    pthread_mutex_lock(&run->mutex);
    bool is_next = run->n_ended >= number;
    pthread_mutex_unlock(&run->mutex);
    return is_next;
}

enum sutra_status rank_run_visit(struct rank_run *run, size_t number, rank_visit *visit, void *arg,
                                 struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    pthread_mutex_lock(&run->visiting);
    if (!run->stopped)
        status = visit(arg, number, run->context, error);
    run->stopped |= status != SUTRA_OK;
    pthread_mutex_unlock(&run->visiting);
    run->tasks->list[number].ends_run = status != SUTRA_OK;
    return status;
}

/* Whether the task has a result. */
static bool is_analyzed(const struct rank_task *task) {
    return !task->status && !task->is_split;
}

static void free_result(struct rank_tasks *tasks, size_t number) {
    void *result = task_result(tasks, number);
    if (tasks->analysis->free)
        tasks->analysis->free(result);
    memset(result, 0, tasks->analysis->result_size);
}

/* ---- Partial results ---- */

/* The stamp of the file at a path, or of the file whose rank the path names. */
static struct file_stamp trace_stamp(const char *path) {
    char *file;
    int64_t rank;
    if (!rank_path_split(path, &file, &rank))
        return (struct file_stamp){0};
    const struct file_stamp stamp = file_stamp_at(file ? file : path);
    free(file);
    return stamp;
}

static char *path_of_result(const struct rank_run *run, size_t number) {
    char *path;
    return asprintf(&path, "%s/%zu", run->plan->folder, run->tasks->list[number].place) < 0 ? NULL : path;
}

/* The ranks of a trace with several; their texts remain in the process that has read it. */
static void split_codec(struct codec *codec, struct rank_task *task) {
    uint32_t n = task->is_split ? task->texts->n : 0;
    codec_bool(codec, &task->is_split);
    codec_limited(codec, &n, PAIR_NONE);
    if (codec_decodes(codec) && !codec->failure && task->is_split) {
        /* A rank has no ranks of its own. */
        bool fits = !task->texts && n > 0 && n <= (size_t)(codec->end - codec->at) / sizeof(int64_t);
        codec_check(codec, fits);
        struct rank_texts *texts = fits ? calloc(1, sizeof *texts + n * sizeof *texts->list) : NULL;
        task->is_split = texts;
        if (texts) {
            texts->n = n;
            task->texts = texts;
        } else if (fits) {
            codec_fail(codec, CODEC_NO_MEMORY);
        }
    }
    for (uint32_t i = 0; task->is_split && i < n; i++)
        codec_value(codec, &task->texts->list[i].rank);
}

/* The content of a partial result before the result of the analysis. A decoded `path` is in the bytes of the file. */
static void task_codec(struct codec *codec, const struct rank_tasks *tasks, struct rank_task *task, const char **path) {
    codec_text(codec, path);
    codec_value(codec, &task->stamp);
    codec_options(codec, restriction_encode, &tasks->restriction);
    codec_bool(codec, &task->is_unselected);
    codec_value(codec, &task->rank);
    codec_limited(codec, &task->source, SUTRA_RANK_POSITION);
    codec_status(codec, &task->status);
    codec_check(codec, !task->is_unselected || task->status);
    split_codec(codec, task);
    if (task->status)
        codec_error(codec, &task->error);
    if (codec_decodes(codec)) /* warnings of this process' own analysis */
        buffer_free(&task->warnings);
    uint64_t n = task->warnings.length;
    char *lines = task->warnings.bytes;
    codec_array(codec, &lines, &n, NULL);
    if (codec_decodes(codec)) {
        codec_check(codec, n == 0 || lines[n - 1] == 0);
        task->warnings = (struct buffer){.bytes = lines, .length = codec->failure ? 0 : n, .capacity = n};
    }
    codec_value(codec, &task->validity);
    for (int kind = 0; kind < N_DEFECTS && codec_decodes(codec); kind++) {
        const struct trace_defect *defect = &task->validity.defects[kind];
        codec_check(codec, memchr(defect->example, 0, sizeof defect->example) &&
                               memchr(defect->cause, 0, sizeof defect->cause));
    }
}

/* Writes the result, or why there is none, and frees it. The context of all tasks registers one temporary file at a
 * time, which a signal must remove. */
static void write_result(struct rank_run *run, size_t number) {
    struct rank_task *task = &run->tasks->list[number];
    const struct codec_shard shard = {(uint32_t)run->plan->shard, (uint32_t)run->plan->n_shards};
    const char *trace = task->path;
    struct buffer out = {0};
    struct codec codec = {.out = &out};
    struct sink *sink;
    partial_result_begin(&out);
    task_codec(&codec, run->tasks, task, &trace);
    if (is_analyzed(task))
        run->analysis->codec(run->arg, number, &codec);
    partial_result_end(&out, &run->analysis->kind, shard);
    free_result(run->tasks, number);

    char *path = path_of_result(run, number);
    bool ok = path && !out.failed && !codec.failure;
    pthread_mutex_lock(&run->visiting);
    enum sutra_status status = ok ? sink_open(&sink, run->context, path, &task->error) : error_memory(&task->error);
    if (!status) {
        sink_write(sink, 0, out.bytes, out.length);
        status = sink_close(sink, true, NULL, &task->error);
    }
    pthread_mutex_unlock(&run->visiting);
    if (status) {
        task->status = status;
        task->ends_run = true;
    }
    free(path);
    buffer_free(&out);
}

/* An unusable partial result ends the run: without it, a rank would be missing from the results. */
static enum sutra_status refuse_result(struct rank_task *task, const char *name, const char *why,
                                       struct codec_shard shard) {
    task->ends_run = true;
    if (shard.n_shards > 0 && task->number % shard.n_shards == shard.shard) /* else the header is damaged */
        return error_file(&task->error, SUTRA_DATA, name, "%s: run shard %u/%u again", why, shard.shard + 1,
                          shard.n_shards);
    return error_file(&task->error, SUTRA_DATA, name, "%s: run the shard of %s again", why, task->path);
}

static enum sutra_status codec_outcome(const struct codec *codec, struct rank_task *task, const char *name,
                                       struct codec_shard shard) {
    if (codec->failure == CODEC_NO_MEMORY)
        return error_memory(&task->error);
    if (codec->failure == CODEC_OTHER_OPTIONS)
        return error_file(&task->error, SUTRA_DATA, task->path,
                          "analyzed with other options: repeat the options of --shard");
    return codec->failure ? refuse_result(task, name, "malformed partial result", shard) : SUTRA_OK;
}

static enum sutra_status decode_result(struct rank_run *run, size_t number, const struct source *source) {
    struct rank_task *task = &run->tasks->list[number];
    const struct rank_analysis *analysis = run->analysis;
    const char *path;
    struct codec codec;
    struct codec_shard shard;
    const char *refused = partial_result_open(&codec, source->bytes, source->size, &analysis->kind, &shard);
    if (refused)
        return refuse_result(task, source->name, refused, shard);
    task_codec(&codec, run->tasks, task, &path);
    if (!path || strcmp(path, task->path) != 0)
        return refuse_result(task, source->name, "partial result of another trace", shard);
    TRY(codec_outcome(&codec, task, source->name, shard));
    if (file_stamps_differ(trace_stamp(task->path), task->stamp)) {
        unlink(source->name); /* as if that shard had not run */
        return error_file(&task->error, SUTRA_DATA, task->path,
                          "changed since its shard was analyzed: run this shard again");
    }
    if (!is_analyzed(task))
        return task->status;
    task->is_idle = task->validity.n_activities == 0;
    TRY(claim_rank(run, number, &task->error));
    analysis->codec(run->arg, number, &codec);
    codec_check(&codec, codec.at == codec.end);
    TRY(codec_outcome(&codec, task, source->name, shard));
    return analysis->visit_decoded && !task->is_idle
               ? rank_run_visit(run, number, analysis->visit_decoded, run->arg, &task->error)
               : SUTRA_OK;
}

/* Decodes the result of a task, unless that is done. */
static void read_result(struct rank_run *run, size_t number) {
    struct rank_task *task = &run->tasks->list[number];
    struct source source = {0};
    if (run->claimed[number])
        return;
    run->claimed[number] = true;
    char *path = path_of_result(run, number);
    task->status =
        path ? source_open_format(&source, path, is_partial_result, 0, &task->error) : error_memory(&task->error);
    if (task->status == SUTRA_NO_INPUT)
        error_file(&task->error, SUTRA_NO_INPUT, task->path, "no process has analyzed this trace");
    if (!task->status)
        task->status = decode_result(run, number, &source);
    if (task->status) {
        task->is_split = false;
        free_result(run->tasks, number);
    }
    source_close(&source);
    free(path);
}

/* ---- A task ---- */

static void keep_warning(void *arg, const char *message) {
    struct rank_task *task = arg;
    buffer_append(&task->warnings, message, strlen(message) + 1);
}

/* Skips a trace whose rank is not selected. */
static enum sutra_status check_rank(const struct rank_run *run, struct rank_task *task) {
    task->is_unselected = !restriction_has_rank(&run->tasks->restriction, task->rank);
    return task->is_unselected ? error_set(&task->error, SUTRA_DATA, "the rank is not selected") : SUTRA_OK;
}

/* Splits a trace with several ranks, and frees it. */
static enum sutra_status split_trace(struct sutra_context *context, struct rank_task *task,
                                     struct sutra_device_trace **trace) {
    if (!processes_are_ranks((*trace)->processes))
        return SUTRA_OK;
    enum sutra_status status = processes_split(context, *trace, SOURCE_ALL_RANKS, &task->texts, &task->error);
    sutra_device_trace_free(*trace);
    *trace = NULL;
    task->is_split = !status;
    return status;
}

/* Reads a trace, or the trace of a rank from memory; a trace with several ranks is split. */
static enum sutra_status read_file(const struct rank_run *run, size_t number, struct sutra_context *context,
                                   struct sutra_device_trace **trace) {
    const struct rank_tasks *tasks = run->tasks;
    struct rank_task *task = &tasks->list[number];
    const struct rank_task *holder = tasks->first_pass ? &tasks->first_pass->list[number] : task;
    enum sutra_status status;
    context->keep_offsets = tasks->keep_offsets;
    context->prefetch_columns = tasks->prefetch_columns;
    context->report = task->report;
    context->holds_defects = tasks->n > 1;
    context->keeps_processes = true;
    if (holder->texts)
        status = validity_read_rank(context, task->path, holder->texts, holder->text, trace, &task->error);
    else if (!(status = sutra_device_trace_read(context, task->path, trace, &task->error)))
        status = split_trace(context, task, trace);
    if (task->texts && !task->is_split && !tasks->keeps_texts)
        buffer_free(&task->texts->list[task->text].json);
    context->keeps_processes = false;
    context->keep_offsets = false;
    context->prefetch_columns = PREFETCH_NOTHING;
    context->report = NULL;
    context->holds_defects = false;
    return status || task->is_split ? status : device_trace_check_events(*trace, &task->error);
}

/* Reads the selected events of a trace, unless its rank is not selected. */
static enum sutra_status read_trace(const struct rank_run *run, size_t number, struct sutra_context *context,
                                    struct sutra_device_trace **trace) {
    const struct rank_tasks *tasks = run->tasks;
    struct rank_task *task = &tasks->list[number];
    struct trace_head head = {.side = SIDE_UNKNOWN};
    int64_t chosen;
    const bool is_chosen = chosen_window_of(run->context->window, task->path, &chosen);
    if (is_chosen)
        head = (struct trace_head){.side = SIDE_DEVICE, .rank = chosen};
    else if (task->texts)
        head = (struct trace_head){.side = SIDE_DEVICE, .rank = task->texts->list[task->text].rank};
    else if (tasks->restriction.n_ranks && tasks->n > 1)
        trace_head_read(task->path, false, &head, NULL);
    /* "distributedInfo" precedes the events: it may save reading them. A single trace may have several ranks. */
    if (tasks->restriction.n_ranks && head.side == SIDE_DEVICE && head.rank >= 0) {
        task->rank = head.rank;
        task->source = SUTRA_RANK_INFO;
        TRY(check_rank(run, task));
    }
    if (tasks->traces && tasks->traces[number]) {
        *trace = tasks->traces[number];
        tasks->traces[number] = NULL;
    } else {
        TRY(read_file(run, number, context, trace));
    }
    if (task->is_split)
        return SUTRA_OK;
    task->validity = *(*trace)->validity;
    task->is_idle = task->validity.n_activities == 0;
    task->rank = rank_number(*trace, task->path, number, &task->source);
    if (is_chosen) {
        task->rank = chosen;
        task->source = SUTRA_RANK_NAME;
    }
    TRY(check_rank(run, task));
    if (context->options.strict && tasks->n > 1)
        TRY(validity_report(context, &task->validity, task->path, &task->error));
    if (!tasks->keeps_truncated)
        TRY(restrict_to_complete_part(context, *trace, &task->error));
    if (!restriction_is_part(&tasks->restriction))
        return SUTRA_OK;
    return error_name_file(&task->error,
                           sutra_device_trace_restrict(context, *trace, &tasks->restriction, &task->error), task->path);
}

static void run_task_in(struct rank_run *run, size_t number, struct sutra_context *context) {
    const struct rank_analysis *analysis = run->analysis;
    struct rank_task *task = &run->tasks->list[number];
    struct sutra_device_trace *trace = NULL;
    const struct rank_task *first = run->tasks->first_pass ? &run->tasks->first_pass->list[number] : NULL;
    task->stamp = trace_stamp(task->path); /* before reading: later changes differ from it */
    task->status = first && first->status ? error_copy(&task->error, first->status, &first->error)
                                          : read_trace(run, number, context, &trace);
    if (!run->plan) { /* else the process that decodes all results claims the ranks */
        wait_turn(run, number);
        if (is_analyzed(task))
            task->status = claim_rank(run, number, &task->error);
        pass_turn(run, number);
    }
    if (is_analyzed(task))
        task->status = analysis->analyze(run->arg, run, number, context, trace, &task->error);
    else
        sutra_device_trace_free(trace);
    if (is_analyzed(task) && !run->plan && analysis->visit && !task->is_idle)
        task->status = rank_run_visit(run, number, analysis->visit, run->arg, &task->error);
    if (task->status)
        free_result(run->tasks, number);
    if (run->plan)
        write_result(run, number);
}

/* Runs a task in a context of its own. */
static void run_task(struct rank_run *run, size_t number) {
    struct rank_task *task = &run->tasks->list[number];
    struct sutra_context_options options = {.size = sizeof options,
                                            .n_threads = run->n_threads,
                                            .device = SUTRA_DEVICE_CPU,
                                            .strict = run->context->options.strict,
                                            .lenient = run->context->options.lenient,
                                            .most_input_bytes = run->context->options.most_input_bytes,
                                            .warning = keep_warning,
                                            .arg = task};
    struct sutra_context *context = NULL;
    task->status = sutra_context_create(&options, &context, &task->error);
    if (!task->status) {
        pool_follow(context->pool, run->context->pool);
        context_share_device(context, run->context);
        context->may_replace_links = run->context->may_replace_links;
        run_task_in(run, number, context);
        sutra_context_free(context);
    } else if (!run->plan) { /* no task waits for a claim among processes, where a missing result shows the failure */
        wait_turn(run, number);
        pass_turn(run, number);
    }
}

/* ---- All tasks ---- */

static void run_pool_task(void *arg, size_t number) {
    struct rank_run *run = arg;
    run_task(run, number);
    pthread_mutex_lock(&run->mutex);
    run->ended[number] = true;
    while (run->n_ended < run->tasks->n && run->ended[run->n_ended])
        run->n_ended++;
    pthread_cond_broadcast(&run->turn);
    pthread_mutex_unlock(&run->mutex);
}

/* Runs the task of a rank of a trace with several, if this process has the text of its trace. */
static void run_split_task(void *arg, size_t number) {
    struct rank_run *run = arg;
    const struct rank_task *task = &run->tasks->list[number];
    if (task->texts && task->texts->list[task->text].json.length)
        run_pool_task(run, number);
}

/* Calls `work` with the numbers below n. */
static void run_pool(struct rank_run *run, void (*work)(void *arg, size_t number), size_t n) {
    const struct rank_tasks *tasks = run->tasks;
    stage_begin(run->context, tasks->stage ? tasks->stage : "analyze ranks", tasks->n);
    run->context->stage_held = true; /* visitors write files with this context */
    pool_run(run->context->pool, n, work, run);
    run->context->stage_held = false;
    stage_end(run->context);
}

/* A single trace uses all threads, and the caller's context; several traces use a thread each. */
static void run_here(struct rank_run *run, void (*work)(void *arg, size_t number)) {
    const struct rank_tasks *tasks = run->tasks;
    unsigned n_threads = pool_threads(run->context->pool);
    run->n_threads = tasks->n < n_threads ? n_threads / (unsigned)tasks->n : 1;
    if (tasks->n == 1 && !tasks->first_pass) {
        run->context->warns_of = tasks->names_traces ? tasks->list->path : NULL;
        run_task_in(run, 0, run->context);
        run->context->warns_of = NULL;
        return;
    }
    run_pool(run, work, tasks->n);
}

/* Reports the warnings of a task with the name of its trace, which some of them have. */
static void report_warnings(const struct rank_run *run, const struct rank_task *task) {
    const char *lines = task->warnings.bytes;
    const size_t n = strlen(task->path);
    for (size_t at = 0; at < task->warnings.length; at += strlen(lines + at) + 1) {
        bool is_named = strncmp(lines + at, task->path, n) == 0 && lines[at + n] == ':';
        context_warn(run->context, "%s%s%s", is_named ? "" : task->path, is_named ? "" : ": ", lines + at);
    }
}

/* Returns the first error that ends the run, if any; reports the warnings of the tasks up to it if `warns`. */
static enum sutra_status find_fatal_error(const struct rank_run *run, bool warns, struct sutra_error *error) {
    for (size_t i = 0; i < run->tasks->n; i++) {
        const struct rank_task *task = &run->tasks->list[i];
        if (warns)
            report_warnings(run, task);
        bool is_fatal = task->ends_run || task->status == SUTRA_SYSTEM || task->status == SUTRA_CANCELLED ||
                        run->context->options.strict;
        if (task->status && is_fatal && !task->is_unselected)
            return error_copy(error, task->status, &task->error);
    }
    return SUTRA_OK;
}

/* Runs the traces of a shard in one thread of the pool. */
static void run_worker(void *arg, size_t worker) {
    struct rank_run *run = arg;
    const struct shard_plan *plan = run->plan;
    (void)worker;
    for (bool more = true; more;) {
        size_t number = 0;
        pthread_mutex_lock(&run->mutex);
        if (plan->next) {
            more = plan->next(plan->arg, &number);
        } else {
            number = run->next;
            more = plan->n_shards > 0 && run->next < run->tasks->n;
            run->next += plan->n_shards;
        }
        pthread_mutex_unlock(&run->mutex);
        more = more && number < run->tasks->n;
        if (more)
            run_task(run, number);
    }
}

/* ---- The outcome ---- */

static bool is_host_trace(const struct rank_run *run, const struct rank_task *task) {
    struct trace_head head;
    return task->status == SUTRA_DATA &&
           trace_head_read(task->path, run->context->options.lenient, &head, NULL) == SUTRA_OK &&
           head.side == SIDE_HOST;
}

/* Why no trace was analyzed: the error of the first selected one, if any. */
static enum sutra_status report_no_rank(const struct rank_run *run, struct sutra_error *error) {
    const struct rank_tasks *tasks = run->tasks;
    struct rank_list ranks = {0};
    for (size_t i = 0; i < tasks->n; i++)
        if (!tasks->list[i].is_unselected && !(tasks->n_selected < tasks->n && is_host_trace(run, &tasks->list[i])))
            return error_copy(error, tasks->list[i].status, &tasks->list[i].error);
    for (size_t i = 0; i < tasks->n; i++)
        if (tasks->list[tasks->order[i]].is_unselected)
            rank_list_add(&ranks, tasks->list[tasks->order[i]].rank);
    return error_set(error, SUTRA_DATA, "no trace of a selected rank; ranks of the traces: %s", rank_list_text(&ranks));
}

/* Warns about each skipped trace; once about all host traces, which often share a directory with device traces. */
static void warn_about_skipped(const struct rank_run *run) {
    const struct rank_task *host = NULL;
    size_t n_hosts = 0;
    for (size_t i = 0; i < run->tasks->n; i++) {
        const struct rank_task *task = &run->tasks->list[i];
        char text[sizeof task->error.message + 512];
        if (!task->status || task->is_unselected)
            continue;
        if (is_host_trace(run, task)) {
            host = n_hosts++ ? host : task;
            continue;
        }
        sutra_error_text(&task->error, text, sizeof text);
        context_warn(run->context, "skipped: %s", text);
    }
    if (n_hosts == 1)
        context_warn(run->context, "skipped 1 host execution trace, %s: only device traces are read here", host->path);
    else if (n_hosts)
        context_warn(run->context, "skipped %zu host execution traces, such as %s: only device traces are read here",
                     n_hosts, host->path);
}

/* Skips traces without GPU activity, unless no trace has any: then they are ranks, whose results are shown here. */
static void settle_idle_tasks(struct rank_run *run) {
    const struct rank_tasks *tasks = run->tasks;
    rank_visit *visit = run->plan ? run->analysis->visit_decoded : run->analysis->visit;
    bool is_idle_job = true;
    for (size_t i = 0; i < tasks->n; i++)
        is_idle_job = is_idle_job && (tasks->list[i].status || tasks->list[i].is_idle);
    for (size_t i = 0; i < tasks->n; i++) {
        struct rank_task *task = &tasks->list[i];
        if (!task->is_idle || task->is_unselected || task->status == SUTRA_SYSTEM)
            continue;
        if (!is_idle_job)
            task->status = error_file(&task->error, SUTRA_DATA, task->path,
                                      "no GPU activity, unlike the other traces: not a rank");
        else if (!task->status && visit)
            task->status = rank_run_visit(run, i, visit, run->arg, &task->error);
        if (task->status)
            free_result(run->tasks, i);
    }
}

/* Sums up the defects of the analyzed traces, each with its ranks; reports defects of several traces, one line each. */
static enum sutra_status join_defects(const struct rank_run *run, struct sutra_error *error) {
    struct rank_tasks *tasks = run->tasks;
    for (size_t i = 0; i < tasks->n_analyzed; i++)
        validity_add(&tasks->validity, &tasks->list[tasks->order[i]].validity);
    tasks->defects = arena_zeros(&tasks->arena, N_DEFECTS, sizeof *tasks->defects);
    for (int kind = 0; kind < N_DEFECTS && tasks->defects; kind++) {
        struct rank_list list = {0};
        uint64_t n = 0;
        for (size_t i = 0; i < tasks->n_analyzed; i++) {
            const struct rank_task *task = &tasks->list[tasks->order[i]];
            if (!task->validity.defects[kind].count)
                continue;
            rank_list_add(&list, task->rank);
            n++;
        }
        if (n == 0)
            continue;
        char ranks[RANK_LIST_TEXT + 16] = "";
        if (tasks->n > 1)
            snprintf(ranks, sizeof ranks, "%s %s", n == 1 ? "rank" : "ranks", rank_list_text(&list));
        const struct defect_text message = defect_message(&tasks->validity, (enum trace_defect_kind)kind, ranks);
        tasks->defects[tasks->n_defects++] =
            defect_publish(&tasks->validity.defects[kind], (enum trace_defect_kind)kind, message.text);
        if (tasks->n > 1 && !tasks->first_pass)
            context_warn(run->context, "%s", message.text);
    }
    return arena_status(&tasks->arena, error);
}

static int compare_tasks(const void *left, const void *right, void *arg) {
    const struct rank_task *tasks = arg;
    size_t i = *(const size_t *)left, j = *(const size_t *)right;
    const struct rank_task *a = &tasks[i], *b = &tasks[j];
    if (!a->status != !b->status)
        return a->status ? 1 : -1;
    if (a->is_unselected != b->is_unselected)
        return a->is_unselected ? 1 : -1;
    if ((!a->status || a->is_unselected) && a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (i > j) - (i < j);
}

/* Sorts the tasks, reports warnings, and fails if the run or all traces failed. */
static enum sutra_status finish_tasks(struct rank_run *run, struct sutra_error *error) {
    struct rank_tasks *tasks = run->tasks;
    if (!tasks->is_combined_by_other_process)
        settle_idle_tasks(run);
    qsort_r(tasks->order, tasks->n, sizeof *tasks->order, compare_tasks, tasks->list);
    for (size_t i = 0; i < tasks->n; i++) {
        tasks->n_selected += !tasks->list[i].is_unselected;
        tasks->n_analyzed += !tasks->list[i].status;
    }
    if (tasks->is_combined_by_other_process)
        return SUTRA_OK;
    TRY(find_fatal_error(run, !tasks->first_pass, error));
    if (tasks->n_analyzed == 0)
        return report_no_rank(run, error);
    TRY(join_defects(run, error));
    if (!tasks->first_pass)
        warn_about_skipped(run);
    return SUTRA_OK;
}

/* Shares the report of consecutive tasks that read its ranks, REPORT/rankN. False: out of memory. */
static bool share_reports(struct rank_tasks *tasks) {
    bool ok = true;
    for (size_t first = 0, end; first < tasks->n && ok; first = end) {
        char *report = NULL, *next = NULL;
        int64_t rank;
        end = first + 1;
        ok = rank_path_split(tasks->list[first].path, &report, &rank);
        while (ok && report && end < tasks->n && (ok = rank_path_split(tasks->list[end].path, &next, &rank)) && next) {
            bool is_same = strcmp(report, next) == 0;
            free(next);
            if (!is_same)
                break;
            end++;
        }
        free(report);
        struct nsys_shared *shared = ok && end - first > 1 ? nsys_shared_new(end - first) : NULL;
        ok = ok && (shared || end - first == 1);
        for (size_t i = first; i < end; i++)
            tasks->list[i].report = shared;
    }
    return ok;
}

/* ---- The run ---- */

/* Replaces the tasks by `n` new ones without paths. */
static enum sutra_status make_tasks(struct rank_run *run, size_t n, struct sutra_error *error) {
    struct rank_tasks *tasks = run->tasks;
    struct arena *arena = &tasks->arena;
    if (n == 0 || n >= PAIR_NONE)
        return error_set(error, SUTRA_USAGE, n ? "too many traces" : "no traces");
    struct rank_task *list = arena_zeros(arena, n, sizeof *list);
    size_t *order = arena_alloc(arena, n, sizeof *order);
    void *results = arena_zeros(arena, n, run->analysis->result_size);
    bool *claimed = arena_zeros(arena, n, sizeof *claimed), *ended = arena_zeros(arena, n, sizeof *ended);
    TRY(arena_status(arena, error));
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    tasks->n = n;
    tasks->list = list;
    tasks->order = order;
    tasks->results = results;
    run->claimed = claimed;
    run->ended = ended;
    run->n_claimed = run->n_ended = 0;
    return SUTRA_OK;
}

/* The task of a rank of a trace with several. */
static struct rank_task task_of_rank(struct rank_tasks *tasks, const struct rank_task *whole, uint32_t text) {
    const char *file = strcmp(whole->path, "-") == 0 ? "standard input" : whole->path;
    return (struct rank_task){.path = arena_format(&tasks->arena, RANK_PATH, file, whole->texts->list[text].rank),
                              .number = whole->number,
                              .place = whole->number + (text + 1) * tasks->n_paths,
                              .texts = whole->texts,
                              .text = text};
}

/* Replaces each trace with several ranks by its ranks, which follow each other in the list. *any: there was one. */
static enum sutra_status replace_split(struct rank_run *run, bool *any, struct sutra_error *error) {
    struct rank_tasks *tasks = run->tasks;
    const struct rank_tasks before = *tasks;
    const bool *claimed = run->claimed, *ended = run->ended;
    const bool warns = !tasks->first_pass && (!run->plan || run->plan->combines);
    struct pair_table claims;
    size_t n = 0, made = 0;
    *any = false;
    for (size_t i = 0; i < before.n; i++) {
        *any |= before.list[i].is_split;
        n += before.list[i].is_split ? before.list[i].texts->n : 1;
    }
    if (!*any)
        return SUTRA_OK;
    TRY_ALLOC(pair_table_init(&claims), error);
    enum sutra_status status = make_tasks(run, n, error);
    if (status) {
        pair_table_free(&claims);
        return status;
    }
    pair_table_free(&run->claims); /* they have the old numbers */
    run->claims = claims;
    for (size_t i = 0; i < before.n; i++) {
        struct rank_task *task = &before.list[i];
        for (uint32_t text = 0; task->is_split && text < task->texts->n; text++)
            tasks->list[made++] = task_of_rank(tasks, task, text);
        if (task->is_split) {
            if (warns)
                report_warnings(run, task);
            buffer_free(&task->warnings);
            continue;
        }
        tasks->list[made] = *task;
        memcpy(task_result(tasks, made), task_result(&before, i), tasks->analysis->result_size);
        run->claimed[made] = claimed[i];
        run->ended[made] = ended[i];
        if (run->claimed[made] && is_analyzed(task) && claim_rank(run, made, error) == SUTRA_SYSTEM)
            status = SUTRA_SYSTEM;
        made++;
    }
    while (run->n_claimed < n && run->claimed[run->n_claimed])
        run->n_claimed++;
    while (run->n_ended < n && run->ended[run->n_ended])
        run->n_ended++;
    return status ? status : arena_status(&tasks->arena, error);
}

/* Analyzes the ranks of traces with several ranks, which the tasks so far have split. */
static enum sutra_status run_split(struct rank_run *run, struct sutra_error *error) {
    bool any;
    TRY(replace_split(run, &any, error));
    if (any && run->plan)
        run_pool(run, run_split_task, run->tasks->n);
    else if (any)
        run_here(run, run_split_task);
    return SUTRA_OK;
}

static enum sutra_status combine_results(struct rank_run *run, struct sutra_error *error) {
    for (bool any = true; any;) {
        for (size_t i = 0; i < run->tasks->n; i++)
            read_result(run, i);
        TRY(replace_split(run, &any, error));
    }
    return SUTRA_OK;
}

static enum sutra_status run_shard(struct rank_run *run, struct sutra_error *error) {
    const struct shard_plan *plan = run->plan;
    if (!run->analysis->codec)
        return error_set(error, SUTRA_USAGE, "this analysis cannot run on several processes");
    run->n_threads = 1;
    run->next = plan->shard;
    run_pool(run, run_worker, pool_threads(run->context->pool));
    enum sutra_status status = find_fatal_error(run, false, error);
    if (!status)
        status = run_split(run, error);
    if (!status)
        status = find_fatal_error(run, false, error);
    if (plan->end)
        plan->end(plan->arg);
    run->tasks->is_combined_by_other_process = !plan->combines;
    return status || !plan->combines ? status : combine_results(run, error);
}

static void free_texts(struct rank_tasks *tasks) {
    for (size_t i = 0; i < tasks->n; i++) {
        struct rank_task *task = &tasks->list[i];
        if (task->texts && task->text == 0)
            rank_texts_free(task->texts);
        task->texts = NULL;
    }
}

/* Runs the tasks of the paths, and of the ranks in them. */
static enum sutra_status run_tasks(struct rank_run *run, struct sutra_error *error) {
    struct rank_tasks *tasks = run->tasks;
    enum sutra_status status = share_reports(tasks) ? SUTRA_OK : error_memory(error);
    if (!status && run->plan) {
        status = run_shard(run, error);
    } else if (!status) {
        run_here(run, run_pool_task);
        status = run_split(run, error);
    }
    if (!status)
        status = finish_tasks(run, error);
    for (size_t i = 0; i < tasks->n; i++) {
        buffer_free(&tasks->list[i].warnings);
        if (i == 0 || tasks->list[i].report != tasks->list[i - 1].report)
            nsys_shared_free(tasks->list[i].report);
    }
    return status;
}

enum sutra_status rank_tasks_run(struct rank_tasks *tasks, const struct rank_analysis *analysis,
                                 struct sutra_context *context, const char *const *paths, size_t n_paths, void *arg,
                                 struct sutra_error *error) {
    struct rank_run run = {.tasks = tasks, .analysis = analysis, .context = context, .arg = arg, .plan = context->plan};
    tasks->analysis = analysis;
    tasks->n_paths = n_paths;
    TRY(make_tasks(&run, n_paths, error));
    for (size_t i = 0; i < n_paths; i++)
        tasks->list[i] =
            (struct rank_task){.path = arena_text(&tasks->arena, paths[i], strlen(paths[i])), .number = i, .place = i};
    TRY_ALLOC(!tasks->arena.failed && pair_table_init(&run.claims), error);
    pthread_mutex_init(&run.mutex, NULL);
    pthread_mutex_init(&run.visiting, NULL);
    pthread_cond_init(&run.turn, NULL);
    const enum sutra_status status = run_tasks(&run, error);
    pthread_cond_destroy(&run.turn);
    pthread_mutex_destroy(&run.visiting);
    pthread_mutex_destroy(&run.mutex);
    pair_table_free(&run.claims);
    if (!tasks->keeps_texts)
        free_texts(tasks);
    TRY(status);
    return tasks->is_combined_by_other_process || !analysis->merge ? SUTRA_OK : analysis->merge(arg, context, error);
}

enum sutra_status rank_tasks_reuse(struct rank_tasks *tasks, const struct rank_analysis *analysis, size_t offset,
                                   const struct rank_tasks *from, size_t from_offset, struct sutra_error *error) {
    *tasks = (struct rank_tasks){.n = from->n,
                                 .list = from->list,
                                 .order = from->order,
                                 .n_selected = from->n_selected,
                                 .n_analyzed = from->n_analyzed,
                                 .defects = from->defects,
                                 .n_defects = from->n_defects,
                                 .analysis = analysis};
    tasks->results = arena_zeros(&tasks->arena, tasks->n, analysis->result_size);
    tasks->n = tasks->results ? tasks->n : 0;
    for (size_t i = 0; i < tasks->n; i++) {
        void *part, *const none = NULL;
        char *source = (char *)task_result(from, i) + from_offset;
        memcpy(&part, source, sizeof part);
        memcpy(source, &none, sizeof none);
        memcpy((char *)task_result(tasks, i) + offset, &part, sizeof part);
    }
    return arena_status(&tasks->arena, error);
}

void rank_tasks_free(struct rank_tasks *tasks) {
    for (size_t i = 0; i < tasks->n; i++)
        free_result(tasks, i);
    if (tasks->keeps_texts)
        free_texts(tasks);
    arena_free(&tasks->arena);
}
