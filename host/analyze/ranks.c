/*
 * ranks.c - a pool's tasks that read traces, claim their ranks in the order of the list, and hand them to the
 * analysis. Memory is that of as many traces as the context has threads.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "analyze/ranks.h"
#include "base/error.h"
#include "columns/hash_tables.h"
#include "read/document.h"
#include "read/trace_head.h"
#include "write/sink.h"

/*
 * Writing lists of ranks.
 */

static void end_run(struct rank_list *list) {
    size_t left = sizeof list->text - list->length;
    if (!list->any || list->cut)
        return;
    if (left < 50) {
        list->length += (size_t)snprintf(list->text + list->length, left, ", ...");
        list->cut = true;
        return;
    }
    list->length +=
        (size_t)snprintf(list->text + list->length, left, "%s%" PRId64, list->length ? ", " : "", list->first);
    left = sizeof list->text - list->length;
    if (list->last > list->first)
        list->length += (size_t)snprintf(list->text + list->length, left, "%s%" PRId64,
                                         list->last == list->first + 1 ? ", " : "-", list->last);
}

void rank_list_add_run(struct rank_list *list, int64_t first, int64_t last) {
    if (!list->any || (uint64_t)first - (uint64_t)list->last != 1) {
        end_run(list);
        list->any = true;
        list->first = first;
    }
    list->last = last;
}

void rank_list_add(struct rank_list *list, int64_t rank) {
    rank_list_add_run(list, rank, rank);
}

const char *rank_list_text(struct rank_list *list) {
    end_run(list);
    list->any = false;
    return list->text;
}

/*
 * Which rank a trace is of, from the trace, the file's name, or its place in the list.
 */

#define RANK_DIGITS_MAX 9

static bool rank_of_trace(const struct sutra_device_trace *trace, int64_t *rank) {
    const struct document *document = &trace->document;
    const struct document_member *info = document_find(document, "distributedInfo");
    struct json_place place = info ? document_member_of(document, info->value, "rank") : (struct json_place){0};
    struct number number;
    if (!place.at || !field_number(document->source.bytes + place.at, &number) || number_is_double(number) ||
        (int64_t)number.bits < 0)
        return false;
    *rank = (int64_t)number.bits;
    return true;
}

/* "rank3", "Rank-3", "rank_03": the last of them in the file's name. */
static bool rank_of_name(const char *path, int64_t *rank) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool found = false;
    for (const char *at = name; *at; at++) {
        if (strncasecmp(at, "rank", 4) != 0)
            continue;
        const char *digits = at + 4 + strspn(at + 4, "-_=. ");
        size_t n = strspn(digits, "0123456789");
        if (n == 0 || n > RANK_DIGITS_MAX)
            continue;
        *rank = 0;
        for (size_t i = 0; i < n; i++)
            *rank = *rank * 10 + (digits[i] - '0');
        found = true;
    }
    return found;
}

int64_t rank_number(const struct sutra_device_trace *trace, const char *path, size_t position,
                    enum sutra_rank_source *source) {
    int64_t rank = (int64_t)position;
    *source = SUTRA_RANK_POSITION;
    if (rank_of_trace(trace, &rank))
        *source = SUTRA_RANK_INFO;
    else if (rank_of_name(path, &rank))
        *source = SUTRA_RANK_NAME;
    return rank;
}

/* The rank that the beginning of a file tells, as "distributedInfo" stands there before the events; false: it tells
 * none, or is no file that can be looked at twice. */
static bool rank_number_of_file(const char *path, int64_t *rank) {
    struct trace_head head;
    if (trace_head_read(path, false, &head, NULL) || head.side != SIDE_DEVICE || head.rank < 0)
        return false;
    *rank = head.rank;
    return true;
}

/* What the tasks share. */
struct rank_run {
    struct rank_tasks *tasks;
    struct sutra_context *context;
    rank_work *work;
    void *arg;
    const struct rank_team *team; /* or NULL */
    size_t next;                  /* of a part */
    unsigned n_threads;           /* for each trace */
    pthread_mutex_t mutex, visiting;
    pthread_cond_t turn;
    bool stopped;             /* a visitor failed: none is called again */
    size_t n_claimed;         /* tasks that have claimed their rank, or cannot */
    size_t n_ended;           /* tasks that are done, as are all before them */
    bool *ended;              /* by task */
    struct pair_table claims; /* from a rank to its task */
};

/* ---- A task ---- */

static void keep_warning(void *arg, const char *message) {
    struct rank_task *task = arg;
    buffer_append(&task->warnings, message, strlen(message) + 1);
}

static void wait_turn(struct rank_run *run, size_t number) {
    pthread_mutex_lock(&run->mutex);
    while (run->n_claimed != number)
        pthread_cond_wait(&run->turn, &run->mutex);
    pthread_mutex_unlock(&run->mutex);
}

static void pass_turn(struct rank_run *run) {
    pthread_mutex_lock(&run->mutex);
    run->n_claimed++;
    pthread_cond_broadcast(&run->turn);
    pthread_mutex_unlock(&run->mutex);
}

/* Claims the rank of a task whose turn it is, unless an earlier trace has it. */
static enum sutra_status claim_rank(struct rank_run *run, size_t number, struct sutra_error *error) {
    const struct rank_task *tasks = run->tasks->list;
    int64_t rank = tasks[number].rank;
    struct pair_entry *claim = pair_table_take(&run->claims, (uint64_t)rank, 0);
    if (!claim)
        return error_memory(error);
    if (claim->number != PAIR_NONE)
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

static void end_task(struct rank_run *run, size_t number) {
    pthread_mutex_lock(&run->mutex);
    run->ended[number] = true;
    while (run->n_ended < run->tasks->n && run->ended[run->n_ended])
        run->n_ended++;
    pthread_cond_broadcast(&run->turn);
    pthread_mutex_unlock(&run->mutex);
}

enum sutra_status rank_run_visit(struct rank_run *run, size_t number, rank_visit *visit, void *arg,
                                 struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    pthread_mutex_lock(&run->visiting);
    if (!run->stopped)
        status = visit(arg, number, run->context, error);
    run->stopped |= status != SUTRA_OK;
    pthread_mutex_unlock(&run->visiting);
    run->tasks->list[number].ends_all = status != SUTRA_OK;
    return status;
}

/* ---- What processes leave for each other ---- */

bool rank_run_is_shared(const struct rank_run *run) {
    return run->team != NULL;
}

static char *path_of_result(const struct rank_run *run, size_t number) {
    char *path;
    return asprintf(&path, "%s/%zu", run->team->folder, number) < 0 ? NULL : path;
}

/* What a partial result contains: of a decoded one, `path` is in the bytes of the file. */
static void task_codec(struct codec *codec, const struct rank_tasks *tasks, struct rank_task *task, const char **path) {
    codec_text(codec, path);
    codec_value(codec, &task->stamp);
    codec_options(codec, restriction_encode, &tasks->restriction);
    codec_bool(codec, &task->is_unwanted);
    codec_value(codec, &task->rank);
    codec_limited(codec, &task->source, SUTRA_RANK_POSITION);
    codec_status(codec, &task->status);
    if (task->status)
        codec_error(codec, &task->error);
    if (codec_decodes(codec)) /* those of this process' own work */
        buffer_free(&task->warnings);
    uint64_t n = task->warnings.length;
    char *lines = task->warnings.bytes;
    codec_array(codec, &lines, &n, NULL);
    if (codec_decodes(codec)) {
        codec_check(codec, n == 0 || lines[n - 1] == 0);
        task->warnings = (struct buffer){.bytes = lines, .length = codec->failure ? 0 : n, .capacity = n};
    }
}

static bool encode_result(struct rank_run *run, size_t number, struct buffer *out) {
    struct rank_task *task = &run->tasks->list[number];
    const struct rank_team *team = run->team;
    const char *path = task->path;
    struct codec codec = {.out = out};
    partial_result_begin(out);
    task_codec(&codec, run->tasks, task, &path);
    if (!task->status)
        run->tasks->codec->encode(run->arg, number, &codec);
    partial_result_end(out, &run->tasks->codec->kind,
                       (struct codec_shard){(uint32_t)team->part, (uint32_t)team->n_parts});
    return !out->failed && !codec.failure;
}

/* Leaves the result, or why there is none. The context of all tasks reports the temporary file, which a signal must
 * remove, one at a time. */
static void leave_result(struct rank_run *run, size_t number) {
    struct rank_task *task = &run->tasks->list[number];
    struct buffer out = {0};
    struct sink *sink;
    char *path = path_of_result(run, number);
    bool ok = encode_result(run, number, &out) && path;
    pthread_mutex_lock(&run->visiting);
    enum sutra_status status = ok ? sink_open(&sink, run->context, path, &task->error) : error_memory(&task->error);
    if (!status) {
        sink_write(sink, 0, out.bytes, out.length);
        status = sink_close(sink, true, NULL, &task->error);
    }
    pthread_mutex_unlock(&run->visiting);
    if (status) {
        task->status = status;
        task->ends_all = true;
    }
    free(path);
    buffer_free(&out);
}

/* A partial result that cannot be used ends all: without it, a rank would be missing from the results. */
static enum sutra_status refuse_result(struct rank_task *task, size_t number, const char *name, const char *what,
                                       struct codec_shard shard) {
    task->ends_all = true;
    if (shard.n_shards > 0 && number % shard.n_shards == shard.shard) /* else the header is damaged */
        return error_file(&task->error, SUTRA_DATA, name, "%s: run shard %u/%u again", what, shard.shard + 1,
                          shard.n_shards);
    return error_file(&task->error, SUTRA_DATA, name, "%s: run the shard of %s again", what, task->path);
}

/* Why a task cannot be decoded. */
static enum sutra_status codec_failure(struct rank_task *task, size_t number, const char *name,
                                       const struct codec *codec, struct codec_shard shard) {
    if (codec->failure == CODEC_NO_MEMORY)
        return error_memory(&task->error);
    if (codec->failure == CODEC_OTHER_OPTIONS)
        return error_file(&task->error, SUTRA_DATA, task->path,
                          "analyzed with other options: repeat the options of --shard");
    return refuse_result(task, number, name, "malformed partial result", shard);
}

static enum sutra_status decode_result(struct rank_run *run, size_t number, const struct source *source) {
    struct rank_task *task = &run->tasks->list[number];
    const struct rank_codec *analysis = run->tasks->codec;
    const char *path;
    struct codec codec;
    struct codec_shard shard;
    const char *refused = partial_result_open(&codec, source->bytes, source->size, &analysis->kind, &shard);
    if (refused)
        return refuse_result(task, number, source->name, refused, shard);
    task_codec(&codec, run->tasks, task, &path);
    if (!path || strcmp(path, task->path) != 0)
        return refuse_result(task, number, source->name, "partial result of another trace", shard);
    if (codec.failure)
        return codec_failure(task, number, source->name, &codec, shard);
    if (file_stamps_differ(file_stamp_at(task->path), task->stamp)) {
        unlink(source->name); /* as if that shard had not run */
        return error_file(&task->error, SUTRA_DATA, task->path,
                          "changed since its shard was analyzed: run this shard again");
    }
    if (task->status)
        return task->status;
    enum sutra_status status = claim_rank(run, number, &task->error);
    if (!status)
        status = analysis->decode(run->arg, run, number, &codec, &task->error);
    codec_check(&codec, status || codec.at == codec.end);
    return status || !codec.failure ? status : codec_failure(task, number, source->name, &codec, shard);
}

static void take_result(struct rank_run *run, size_t number) {
    struct rank_task *task = &run->tasks->list[number];
    struct source source = {0};
    char *path = path_of_result(run, number);
    task->status =
        path ? source_open_format(&source, path, is_partial_result, 0, &task->error) : error_memory(&task->error);
    if (task->status == SUTRA_NO_INPUT)
        error_file(&task->error, SUTRA_NO_INPUT, task->path, "no process has analyzed this trace");
    if (!task->status)
        task->status = decode_result(run, number, &source);
    source_close(&source);
    free(path);
}

/* ---- A task with its context ---- */

/* Leaves a trace out if nobody asked for its rank. */
static enum sutra_status check_rank(const struct rank_run *run, struct rank_task *task) {
    task->is_unwanted = !restriction_has_rank(&run->tasks->restriction, task->rank);
    return task->is_unwanted ? error_set(&task->error, SUTRA_DATA, "the rank is not selected") : SUTRA_OK;
}

/* A trace that was left from another run, or else what the file has. */
static enum sutra_status take_or_read(const struct rank_run *run, size_t number, struct sutra_context *context,
                                      struct sutra_device_trace **trace) {
    const struct rank_tasks *tasks = run->tasks;
    struct rank_task *task = &tasks->list[number];
    if (tasks->held && tasks->held[number]) {
        *trace = tasks->held[number];
        tasks->held[number] = NULL;
        return SUTRA_OK;
    }
    context->notes_places = tasks->notes_places;
    context->ahead = tasks->ahead;
    enum sutra_status status = sutra_device_trace_read(context, task->path, trace, &task->error);
    context->notes_places = false;
    context->ahead = AHEAD_NOTHING;
    return status;
}

/* Reads what is wanted of it. */
static enum sutra_status read_part(const struct rank_run *run, size_t number, struct sutra_context *context,
                                   struct sutra_device_trace **trace) {
    struct rank_task *task = &run->tasks->list[number];
    enum sutra_status status = SUTRA_OK;
    if (run->tasks->restriction.n_ranks && rank_number_of_file(task->path, &task->rank)) {
        task->source = SUTRA_RANK_INFO;
        status = check_rank(run, task);
    }
    if (!status)
        status = take_or_read(run, number, context, trace);
    if (!status) {
        task->rank = rank_number(*trace, task->path, number, &task->source);
        status = check_rank(run, task);
    }
    if (!status && restriction_is_part(&run->tasks->restriction)) {
        status = sutra_device_trace_restrict(context, *trace, &run->tasks->restriction, &task->error);
        status = error_name_file(&task->error, status, task->path);
    }
    return status;
}

static void run_with(struct rank_run *run, size_t number, struct sutra_context *context) {
    struct rank_task *task = &run->tasks->list[number];
    struct sutra_device_trace *trace = NULL;
    task->stamp = file_stamp_at(task->path); /* of before: what changes while it is read has changed since */
    task->status = read_part(run, number, context, &trace);
    if (task->status) {
        sutra_device_trace_free(trace);
        trace = NULL;
    }
    if (run->team) { /* ranks are claimed where all are taken */
        if (!task->status)
            task->status = run->work(run->arg, run, number, context, trace, &task->error);
        leave_result(run, number);
        return;
    }
    wait_turn(run, number);
    if (!task->status)
        task->status = claim_rank(run, number, &task->error);
    pass_turn(run);
    if (!task->status)
        task->status = run->work(run->arg, run, number, context, trace, &task->error);
    else
        sutra_device_trace_free(trace);
}

static void run_alone(struct rank_run *run, size_t number) {
    struct rank_task *task = &run->tasks->list[number];
    struct sutra_context_options options = {.size = sizeof options,
                                            .n_threads = run->n_threads,
                                            .device = SUTRA_DEVICE_CPU, /* as many at a time as there are threads */
                                            .strict = run->context->options.strict,
                                            .lenient = run->context->options.lenient,
                                            .most_input_bytes = run->context->options.most_input_bytes,
                                            .warning = keep_warning,
                                            .arg = task};
    struct sutra_context *context = NULL;
    task->status = sutra_context_create(&options, &context, &task->error);
    if (!task->status) {
        pool_follow(context->pool, run->context->pool);
        context->own_names = run->context->own_names;
        run_with(run, number, context);
        sutra_context_free(context);
        return;
    }
    if (run->team)
        return; /* nobody waits for its claim, and without a result others know that it was not analyzed */
    wait_turn(run, number);
    pass_turn(run);
}

static void run_task(void *arg, size_t number) {
    run_alone(arg, number);
    end_task(arg, number);
}

/* ---- All of them together ---- */

static void hand_warnings_on(const struct rank_run *run, const struct rank_task *task) {
    for (size_t at = 0; at < task->warnings.length && !run->tasks->again; at += strlen(task->warnings.bytes + at) + 1)
        context_warn(run->context, "%s: %s", task->path, task->warnings.bytes + at);
}

/* The first error that ends all, if there is one, behind the warnings up to there where they are to be `told` here. */
static enum sutra_status hand_on(const struct rank_run *run, bool told, struct sutra_error *error) {
    for (size_t i = 0; i < run->tasks->n; i++) {
        const struct rank_task *task = &run->tasks->list[i];
        if (told)
            hand_warnings_on(run, task);
        bool ends_all = task->ends_all || task->status == SUTRA_SYSTEM || task->status == SUTRA_CANCELLED ||
                        run->context->options.strict;
        if (task->status && ends_all && !task->is_unwanted)
            return error_hand_on(error, task->status, &task->error);
    }
    return SUTRA_OK;
}

static bool is_host_trace(const struct rank_run *run, const struct rank_task *task) {
    struct trace_head head;
    return task->status == SUTRA_DATA &&
           trace_head_read(task->path, run->context->options.lenient, &head, NULL) == SUTRA_OK &&
           head.side == SIDE_HOST;
}

/* Why there is nothing: as the first trace says that was asked for, if there is one. */
static enum sutra_status tell_failure(const struct rank_run *run, struct sutra_error *error) {
    const struct rank_tasks *tasks = run->tasks;
    struct rank_list ranks = {0};
    bool has_other_ranks = false;
    for (size_t i = 0; i < tasks->n; i++)
        has_other_ranks = has_other_ranks || tasks->list[i].is_unwanted;
    for (size_t i = 0; i < tasks->n; i++)
        if (!tasks->list[i].is_unwanted && !(has_other_ranks && is_host_trace(run, &tasks->list[i])))
            return error_hand_on(error, tasks->list[i].status, &tasks->list[i].error);
    for (size_t i = 0; i < tasks->n; i++)
        if (tasks->list[tasks->order[i]].is_unwanted)
            rank_list_add(&ranks, tasks->list[tasks->order[i]].rank);
    return error_set(error, SUTRA_DATA, "no trace of a selected rank; ranks of the traces: %s", rank_list_text(&ranks));
}

/* A warning for each trace that was skipped; one for all host traces, which often share a directory with device
 * traces. */
static void warn_about_skipped(const struct rank_run *run) {
    const struct rank_task *host = NULL;
    size_t n_hosts = 0;
    for (size_t i = 0; i < run->tasks->n; i++) {
        const struct rank_task *task = &run->tasks->list[i];
        char text[sizeof task->error.message + 512];
        if (!task->status || task->is_unwanted)
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

/* Decides whether the work as a whole failed. */
static enum sutra_status judge(struct rank_run *run, struct sutra_error *error) {
    const struct rank_tasks *tasks = run->tasks;
    size_t n_good = 0;
    enum sutra_status status = hand_on(run, true, error);
    if (status)
        return status;
    for (size_t i = 0; i < tasks->n; i++)
        n_good += !tasks->list[i].status;
    if (n_good == 0)
        return tell_failure(run, error);
    if (!tasks->again)
        warn_about_skipped(run);
    return SUTRA_OK;
}

static int compare_tasks(const void *left, const void *right, void *arg) {
    const struct rank_task *tasks = arg;
    size_t i = *(const size_t *)left, j = *(const size_t *)right;
    const struct rank_task *a = &tasks[i], *b = &tasks[j];
    if (!a->status != !b->status)
        return a->status ? 1 : -1;
    if (a->is_unwanted != b->is_unwanted)
        return a->is_unwanted ? 1 : -1;
    if ((!a->status || a->is_unwanted) && a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (i > j) - (i < j);
}

/* One trace with all threads, and all that a person sees of the work; several in a thread each. */
static void run_all(struct rank_run *run) {
    unsigned n_threads = pool_threads(run->context->pool);
    size_t n = run->tasks->n;
    run->n_threads = n < n_threads ? n_threads / (unsigned)n : 1;
    if (n == 1 && !run->tasks->again) {
        run->context->warns_of = run->tasks->names_it ? run->tasks->list->path : NULL;
        run_with(run, 0, run->context);
        run->context->warns_of = NULL;
    } else {
        if (run->context->options.device == SUTRA_DEVICE_CUDA && !run->tasks->again)
            context_warn(run->context, "analyzing several ranks on the CPU, one rank per thread");
        stage_begin(run->context, run->tasks->stage ? run->tasks->stage : "analyze ranks", n);
        run->context->stage_held = true; /* visitors write files with this context */
        pool_run(run->context->pool, n, run_task, run);
        run->context->stage_held = false;
        stage_end(run->context);
    }
}

/* ---- Shared by processes ---- */

static bool next_of_team(struct rank_run *run, size_t *number) {
    const struct rank_team *team = run->team;
    pthread_mutex_lock(&run->mutex);
    bool more;
    if (team->next) {
        more = team->next(team->arg, number);
    } else {
        *number = run->next;
        more = team->n_parts > 0 && run->next < run->tasks->n;
        run->next += team->n_parts;
    }
    pthread_mutex_unlock(&run->mutex);
    return more && *number < run->tasks->n;
}

static void run_worker(void *arg, size_t worker) {
    size_t number;
    (void)worker;
    while (next_of_team(arg, &number))
        run_alone(arg, number);
}

static enum sutra_status run_team(struct rank_run *run, struct sutra_error *error) {
    const struct rank_team *team = run->team;
    unsigned n_threads = pool_threads(run->context->pool);
    if (!run->tasks->codec)
        return error_set(error, SUTRA_USAGE, "this analysis cannot run on several processes");
    run->n_threads = 1;
    run->next = team->part;
    stage_begin(run->context, "analyze ranks", run->tasks->n);
    run->context->stage_held = true;
    pool_run(run->context->pool, n_threads, run_worker, run);
    enum sutra_status status = hand_on(run, false, error);
    if (team->end)
        team->end(team->arg);
    run->tasks->is_elsewhere = !team->takes;
    for (size_t i = 0; i < run->tasks->n && team->takes && !status; i++)
        take_result(run, i);
    run->context->stage_held = false;
    stage_end(run->context);
    return status;
}

static enum sutra_status make_list(struct rank_tasks *tasks, const char *const *paths, size_t n, size_t result_size,
                                   struct sutra_error *error) {
    struct arena *arena = &tasks->arena;
    if (n == 0 || n >= PAIR_NONE)
        return error_set(error, SUTRA_USAGE, n ? "too many traces" : "no traces");
    tasks->list = arena_zeros(arena, n, sizeof *tasks->list);
    tasks->order = arena_take(arena, n, sizeof *tasks->order);
    tasks->results = arena_zeros(arena, n, result_size);
    for (size_t i = 0; i < n && !arena->failed; i++) {
        size_t size = strlen(paths[i]) + 1;
        char *path = arena_take(arena, size, 1);
        tasks->order[i] = i;
        tasks->list[i].path = path ? memcpy(path, paths[i], size) : NULL;
    }
    tasks->n = arena->failed ? 0 : n;
    return arena_status(arena, error);
}

enum sutra_status rank_tasks_run(struct rank_tasks *tasks, struct sutra_context *context, const char *const *paths,
                                 size_t n_paths, size_t result_size, rank_work *work, void *arg,
                                 struct sutra_error *error) {
    struct rank_run run = {.tasks = tasks, .context = context, .work = work, .arg = arg};
    enum sutra_status status = make_list(tasks, paths, n_paths, result_size, error);
    if (status)
        return status;
    run.ended = arena_zeros(&tasks->arena, n_paths, sizeof *run.ended);
    if (!run.ended || !pair_table_init(&run.claims))
        return error_memory(error);
    run.team = context->team;
    pthread_mutex_init(&run.mutex, NULL);
    pthread_mutex_init(&run.visiting, NULL);
    pthread_cond_init(&run.turn, NULL);
    if (run.team)
        status = run_team(&run, error);
    else
        run_all(&run);
    pthread_cond_destroy(&run.turn);
    pthread_mutex_destroy(&run.visiting);
    pthread_mutex_destroy(&run.mutex);
    pair_table_free(&run.claims);
    qsort_r(tasks->order, tasks->n, sizeof *tasks->order, compare_tasks, tasks->list);
    for (size_t i = 0; i < tasks->n; i++)
        tasks->n_wanted += !tasks->list[i].is_unwanted;
    if (!status && !tasks->is_elsewhere)
        status = judge(&run, error);
    return status;
}

void rank_tasks_free(struct rank_tasks *tasks) {
    for (size_t i = 0; i < tasks->n; i++)
        buffer_free(&tasks->list[i].warnings);
    arena_free(&tasks->arena);
}
