/*
 * job.c - reading the records of a job.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/collective_checks.h"
#include "analyze/ranks.h"
#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "base/threads.h"
#include "columns/column.h"
#include "job/job.h"
#include "job/rank_job.h"
#include "simulate/et.h"
#include "simulate/et_write.h"
#include "simulate/job.h"
#include "simulate/node_graph.h"
#include "text/strings.h"
#include "write/json.h"
#include "write/text.h"

/*
 * Job.json and comm_groups.json.
 *
 *     {"version": "0.1.0", "options": "...", "world_size": 8, "done": 7, "broken": 1, "not_linked": 0,
 *      "ranks": [{"rank": 0, "state": "done", "paired_by": "process", "host": {...}, "device": {...}, "file": {...},
 *                 "seconds": 0.1, "counts": {...}, "warnings": [...]}, ...],
 *      "skipped": [{"file": "...", "why": "..."}], "findings": [...], "clocks": [...]}
 *
 *     {"1": [0, 1], "2": [2, 3]}      groups by the numbers that they have in .et files; 0 is that of all ranks
 */

static const char *const rank_states[] = {
    [RANK_DONE] = "done", [RANK_BROKEN] = "broken", [RANK_MISSING] = "not linked"};

static void add_key(struct json_out *json, const char *key) {
    json_key(json, key, strlen(key));
}

/* Bytes that are no UTF-8, as names of files may have, become question marks. */
static void add_string(struct json_out *json, const char *text) {
    size_t n = strlen(text);
    char *copy = malloc(n + 1);
    if (!copy) {
        json->text->out.failed = true;
        return;
    }
    memcpy(copy, text, n + 1);
    for (size_t at = 0; (at += utf8_check(copy + at, n - at)) < n;)
        copy[at] = '?';
    json_string(json, copy, n);
    free(copy);
}

static void add_text(struct json_out *json, const char *key, const char *text) {
    add_key(json, key);
    add_string(json, text);
}

static void add_count(struct json_out *json, const char *key, uint64_t value) {
    add_key(json, key);
    json_integer(json, (int64_t)value);
}

static void add_real(struct json_out *json, const char *key, double value) {
    add_key(json, key);
    json_double(json, value);
}

/* ---- A rank, from the lines of its record ---- */

/* The rank's own file may be one of two; it is the one in the folder that is meant. */
static void add_file(struct json_out *json, const struct record_lines *lines, const struct whole_rank *rank) {
    static const char first_pass[] = RECORD_FOLDER "/";
    char *const *words = lines->words;
    bool own = lines->line == RECORD_FILE;
    bool of_two = own && strncmp(words[1], first_pass, sizeof first_pass - 1) == 0;
    add_key(json, words[0]);
    json_open(json, '{');
    add_text(json, "path", of_two ? words[1] + sizeof first_pass - 1 : words[1]);
    add_count(json, "bytes", own ? rank->file_bytes : (uint64_t)lines->number[2]);
    if (!own)
        add_count(json, "modified_ns", (uint64_t)lines->number[3]);
    json_close(json, '}');
}

/* Lists that may follow one another: what is open is closed when another word comes. */
struct open_list {
    const char *word;
    char bracket;
};

static void close_list(struct json_out *json, struct open_list *list) {
    if (list->word)
        json_close(json, list->bracket);
    list->word = NULL;
}

static void open_list(struct json_out *json, struct open_list *list, const char *word, const char *key, char bracket) {
    if (list->word && strcmp(list->word, word) == 0)
        return;
    close_list(json, list);
    add_key(json, key);
    json_open(json, bracket);
    *list = (struct open_list){word, bracket == '{' ? '}' : ']'};
}

static void add_line(struct json_out *json, const struct whole_rank *rank, const struct record_lines *lines,
                     struct open_list *list) {
    char *const *words = lines->words;
    if (lines->line == RECORD_COUNT) {
        open_list(json, list, "count", "counts", '{');
        add_count(json, words[1], (uint64_t)lines->number[2]);
        return;
    }
    if (lines->line == RECORD_WARNING) {
        open_list(json, list, "warning", "warnings", '[');
        add_string(json, words[1]);
        return;
    }
    close_list(json, list);
    if (lines->line == RECORD_HOST || lines->line == RECORD_DEVICE || lines->line == RECORD_FILE)
        add_file(json, lines, rank);
    else if (lines->line == RECORD_RANK)
        add_text(json, "paired_by", words[2]);
    else if (lines->line == RECORD_SECONDS)
        add_real(json, "seconds", lines->real[1]);
    else if (lines->line == RECORD_ERROR)
        add_text(json, "error", words[2]);
    if (lines->line == RECORD_TIMES) {
        add_real(json, "measured_us", lines->real[1]);
        if (*words[2])
            add_real(json, "simulated_us", lines->real[2]);
    }
}

static void add_rank(struct json_out *json, const struct whole_rank *rank) {
    struct open_list list = {0};
    char *text = rank->record ? strdup(rank->record) : NULL;
    json_open(json, '{');
    add_count(json, "rank", (uint64_t)rank->rank);
    add_text(json, "state", rank_states[rank->state]);
    for (struct record_lines lines = {.text = text}; text && record_next(&lines);)
        add_line(json, rank, &lines, &list);
    close_list(json, &list);
    json_close(json, '}');
    json->text->out.failed |= rank->record && !text;
    free(text);
}

/* ---- The job ---- */

static void add_ranks(struct json_out *json, const struct job_whole *whole) {
    json_name(json, "ranks");
    json_open(json, '[');
    for (size_t i = 0; i < whole->n_ranks; i++)
        add_rank(json, &whole->ranks[i]);
    json_close(json, ']');
    json_name(json, "skipped");
    json_open(json, '[');
    for (size_t i = 0; i < whole->n_left; i++) {
        json_open(json, '{');
        add_text(json, "path", whole->left[i].path);
        add_text(json, "why", whole->left[i].why);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* The members "findings" and "clocks" of an object that is open. */
static void job_findings_write(const struct job_whole *whole, struct json_out *json) {
    json_name(json, "findings");
    json_open(json, '[');
    for (uint64_t i = 0; i < whole->n_findings; i++) {
        const struct job_finding *finding = &whole->findings[i];
        json_open(json, '{');
        add_text(json, "severity", check_severity_names[finding->severity]);
        add_text(json, "rule", finding->rule);
        add_text(json, "ranks", finding->ranks);
        add_text(json, "text", finding->text);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_name(json, "clocks");
    json_open(json, '[');
    for (row_t i = 0; i < whole->n_hosts; i++) {
        const struct host_clock *host = &whole->hosts[i];
        json_open(json, '{');
        add_count(json, "host", (uint64_t)host->host);
        add_count(json, "first_rank", (uint64_t)host->first_rank);
        add_count(json, "last_rank", (uint64_t)host->last_rank);
        add_real(json, "offset_us", (double)host->offset_ns / 1e3);
        add_real(json, "spread_us", (double)host->spread_ns / 1e3);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static bool write_job(const void *of, struct text_out *text) {
    const struct job_whole *whole = of;
    struct json_out json = {.text = text, .indent = 1};
    json_open(&json, '{');
    add_text(&json, "version", sutra_version());
    add_text(&json, "options", whole->options);
    add_count(&json, "world_size", (uint64_t)whole->world_size);
    add_count(&json, "done", whole->n_done);
    add_count(&json, "broken", whole->n_broken);
    add_count(&json, "not_linked", whole->n_missing);
    if (whole->meetings)
        add_real(&json, "measured_us", whole->meetings->measured_us);
    add_ranks(&json, whole);
    job_findings_write(whole, &json);
    json_close(&json, '}');
    out_add(text, "\n");
    return !text->out.failed;
}

/* ---- Groups ---- */

static void add_members(struct json_out *json, const char *members) {
    json_open(json, '[');
    for (const char *at = members + strcspn(members, "0123456789"); *at; at += strcspn(at, "0123456789")) {
        char *end;
        json_integer(json, strtoll(at, &end, 10));
        at = end;
    }
    json_close(json, ']');
}

static bool write_groups(const void *of, struct text_out *text) {
    const struct collective_calls *calls = &((const struct job_whole *)of)->calls;
    struct json_out json = {.text = text, .indent = JSON_ONE_LINE};
    json_open(&json, '{');
    for (uint64_t i = 0; i < calls->n_groups; i++) {
        char number[GROUP_NUMBER_MAX];
        const char *name = strings_text(&calls->strings, calls->groups[i].name);
        const char *members = strings_text(&calls->strings, calls->groups[i].members);
        comm_group_number_of(name, strlen(name), number);
        if (!*name || strcmp(number, "0") == 0 || strstr(members, "..."))
            continue;
        add_key(&json, number);
        add_members(&json, members);
    }
    json_close(&json, '}');
    out_add(text, "\n");
    return !text->out.failed;
}

enum sutra_status job_whole_write(const struct job_whole *whole, struct sutra_context *context, const char *folder,
                                  struct sutra_error *error) {
    uint64_t n_bytes = 0;
    enum sutra_status status = SUTRA_OK;
    if (strncmp(whole->ending, ".et", 3) == 0)
        status = text_file_write_in(context, folder, "comm_groups.json", write_groups, whole, &n_bytes, error);
    if (!status)
        status = text_file_write_in(context, folder, "job.json", write_job, whole, &n_bytes, error);
    return status;
}

/*
 * Findings of a job: missing ranks, unassigned files, mismatched collectives, clock offsets.
 */

/* Minimum clock offset of a finding: CLOCK_NS, and CLOCK_TIMES times its spread. */
#define CLOCK_NS    10000
#define CLOCK_TIMES 5

/* ---- Findings ---- */

static const char *keep_text_findings(struct arena *arena, const char *text) {
    size_t size = strlen(text) + 1;
    char *kept = arena_take(arena, size, 1);
    return kept ? memcpy(kept, text, size) : NULL;
}

__attribute__((format(printf, 5, 6))) static void find(struct job_whole *whole, enum check_severity severity,
                                                       const char *rule, const char *ranks, const char *format, ...) {
    char text[800];
    va_list words;
    va_start(words, format);
    vsnprintf(text, sizeof text, format, words);
    va_end(words);
    struct job_finding finding = {.severity = severity,
                                  .rule = rule,
                                  .ranks = keep_text_findings(&whole->arena, ranks),
                                  .text = keep_text_findings(&whole->arena, text)};
    if (!arena_grow(&whole->arena, &whole->findings, whole->n_findings, &whole->findings_capacity,
                    sizeof *whole->findings) ||
        !finding.ranks || !finding.text)
        return;
    whole->findings[whole->n_findings++] = finding;
    whole->n_errors += severity == CHECK_ERROR;
}

/* ---- Ranks and files ---- */

static void find_missing(struct job_whole *whole) {
    struct rank_list none = {0}, undone = {0};
    int64_t n_none = whole->world_size - (int64_t)whole->n_ranks, next = 0;
    size_t n_undone = whole->n_missing - whole->n_damaged;
    for (size_t i = 0; i <= whole->n_ranks; i++) {
        const struct whole_rank *rank = i < whole->n_ranks ? &whole->ranks[i] : NULL;
        int64_t end = rank ? rank->rank : whole->world_size;
        if (next < end)
            rank_list_add_run(&none, next, end - 1);
        if (rank && rank->state == RANK_MISSING && !rank->damage)
            rank_list_add(&undone, rank->rank);
        next = end + 1;
    }
    if (n_none)
        find(whole, CHECK_ERROR, "missing rank", rank_list_text(&none),
             "no pair of traces for %" PRId64 " of %" PRId64 " ranks", n_none, whole->world_size);
    if (n_undone)
        find(whole, CHECK_ERROR, "not linked", rank_list_text(&undone),
             "%zu %s not linked: the run was interrupted, or a shard has not run; run it again", n_undone,
             n_undone == 1 ? "rank is" : "ranks are");
}

/* Ranks with malformed records; no other data of these ranks is known. */
static void find_damaged(struct job_whole *whole) {
    for (size_t i = 0; i < whole->n_ranks; i++) {
        struct rank_list ranks = {0};
        if (!whole->ranks[i].damage)
            continue;
        rank_list_add(&ranks, whole->ranks[i].rank);
        find(whole, CHECK_ERROR, "damaged record", rank_list_text(&ranks), "%s", whole->ranks[i].damage);
    }
}

/* Ranks whose files do not match the current traces or options. */
static void find_stale(struct job_whole *whole) {
    struct rank_list changed = {0}, otherwise = {0};
    for (size_t i = 0; i < whole->n_ranks; i++) {
        if (whole->ranks[i].has_changed)
            rank_list_add(&changed, whole->ranks[i].rank);
        if (whole->ranks[i].is_otherwise)
            rank_list_add(&otherwise, whole->ranks[i].rank);
    }
    if (changed.any)
        find(whole, CHECK_WARNING, "changed traces", rank_list_text(&changed),
             "the traces have changed since these ranks were linked: link the job, or its shards, again");
    if (otherwise.any)
        find(whole, CHECK_WARNING, "other options", rank_list_text(&otherwise),
             "linked with options that differ from the plan of the job: link the job, or its shards, again");
}

static void find_broken(struct job_whole *whole) {
    for (size_t i = 0; i < whole->n_ranks; i++) {
        struct rank_list ranks = {0};
        if (whole->ranks[i].state != RANK_BROKEN)
            continue;
        rank_list_add(&ranks, whole->ranks[i].rank);
        find(whole, CHECK_ERROR, "malformed rank", rank_list_text(&ranks), "%.700s", whole->ranks[i].error);
    }
    for (size_t i = 0; i < whole->n_left; i++)
        find(whole, CHECK_WARNING, "skipped file", "", "%.400s: %.380s", whole->left[i].path, whole->left[i].why);
}

/* ---- Collectives ---- */

/* Checks the linked ranks. find_missing() has reported missing ranks. */
static void find_in_collectives(struct job_whole *whole) {
    int64_t *ranks = arena_take(&whole->arena, whole->n_ranks, sizeof *ranks);
    struct collective_checks checks = {0};
    size_t n = 0;
    for (size_t i = 0; i < whole->n_ranks && ranks; i++)
        if (whole->ranks[i].state == RANK_DONE)
            ranks[n++] = whole->ranks[i].rank;
    if (!ranks ||
        collective_checks_find(&whole->calls, &whole->matches, ranks, n, &whole->arena, &checks, NULL) != SUTRA_OK)
        return;
    for (uint64_t i = 0; i < checks.n; i++)
        if (strcmp(checks.list[i].rule, "missing rank") != 0)
            find(whole, checks.list[i].severity, checks.list[i].rule, checks.list[i].ranks, "%s", checks.list[i].text);
}

/* ---- Clocks ---- */

static void find_clocks(struct job_whole *whole) {
    struct rank_list alone = {0};
    for (row_t i = 1; i < whole->n_hosts; i++) {
        const struct host_clock *host = &whole->hosts[i];
        struct rank_list ranks = {0};
        const int64_t off_ns = moment_size(host->offset_ns);
        if (off_ns <= CLOCK_NS || (off_ns - 1) / CLOCK_TIMES < host->spread_ns)
            continue;
        rank_list_add_run(&ranks, host->first_rank, host->last_rank);
        find(whole, CHECK_NOTE, "clock", rank_list_text(&ranks),
             "the clock of host %" PRId64 " is %.1f us %s the clock of the first host, to within %.1f us", host->host,
             (double)off_ns / 1e3, host->offset_ns > 0 ? "ahead of" : "behind", (double)host->spread_ns / 1e3);
    }
    for (row_t i = 1; i < whole->n_clocks; i++)
        if (whole->clocks[i].reference != whole->clocks[0].rank)
            rank_list_add(&alone, whole->clocks[i].rank);
    if (alone.any)
        find(whole, CHECK_NOTE, "clock", rank_list_text(&alone),
             "no collective connects these ranks with rank %" PRId64 ": their clock offsets are unknown",
             whole->clocks[0].rank);
}

/* ---- Simulation ---- */

/* Causes of wrong simulated times. */
static void find_unmet(struct job_whole *whole) {
    const struct job_meetings *meetings = whole->meetings;
    if (!meetings)
        return;
    if (meetings->n_lacking + meetings->n_alone)
        find(whole, CHECK_WARNING, "simulation", "",
             "%" PRIu64
             " collectives lack ranks, and a simulation does not wait for these ranks: the time of the job is within "
             "0.3 %%, but what-ifs may be up to 53 %% off if the slowest rank is missing",
             meetings->n_lacking + meetings->n_alone);
    if (meetings->n_different)
        find(whole, CHECK_WARNING, "simulation", "",
             "%" PRIu64
             " collectives differ in kind between ranks: the simulated ranks do not wait for each other there",
             meetings->n_different);
    if (meetings->n_apart)
        find(whole, CHECK_WARNING, "simulation", "",
             "no collective connects %" PRIu32 " %s with the first rank: their start times come from their own clocks",
             meetings->n_apart, meetings->n_apart == 1 ? "rank" : "ranks");
    if (meetings->n_beside)
        find(
            whole, CHECK_WARNING, "simulation", "",
            "%" PRIu64
            " collectives overlap with another collective of their rank, but these files are for one resource per GPU: "
            "the time of the job is right, but what-ifs may be up to 9 %% off; '--gpu streams' avoids this error",
            meetings->n_beside);
}

/* Sorts by descending severity; stable. */
static void sort_findings(struct job_whole *whole) {
    struct job_finding *sorted = arena_take(&whole->arena, whole->n_findings, sizeof *sorted);
    uint64_t n = 0;
    for (int severity = CHECK_ERROR; severity >= CHECK_NOTE && sorted; severity--)
        for (uint64_t i = 0; i < whole->n_findings; i++)
            if ((int)whole->findings[i].severity == severity)
                sorted[n++] = whole->findings[i];
    whole->findings = sorted;
}

/* Finds the findings of a job that was read (findings.c). Out of memory: the arena fails. */
static void job_findings_find(struct job_whole *whole) {
    find_missing(whole);
    find_damaged(whole);
    find_broken(whole);
    find_stale(whole);
    find_in_collectives(whole);
    find_clocks(whole);
    find_unmet(whole);
    sort_findings(whole);
}

/*
 * Workers that read a rank's file, let its collectives meet, and write it.
 */

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

/* ---- The plan ---- */

static bool read_plan_line(struct job_whole *whole, struct record_lines *lines) {
    struct arena *arena = &whole->arena;
    char **words = lines->words;
    switch ((enum plan_line)lines->line) {
    case PLAN_OPTIONS:
        whole->options = words[1];
        break;
    case PLAN_ENDING:
        whole->ending = words[1];
        break;
    case PLAN_WORLD:
        whole->world_size = lines->number[1];
        break;
    case PLAN_PAIR:
        if (whole->n_ranks && lines->number[1] <= whole->ranks[whole->n_ranks - 1].rank)
            record_reject(lines, "rank %s after rank %" PRId64, words[1], whole->ranks[whole->n_ranks - 1].rank);
        else if (lines->number[1] >= whole->world_size)
            record_reject(lines, "rank %s of %" PRId64 " ranks", words[1], whole->world_size);
        if (!arena_grow(arena, &whole->ranks, whole->n_ranks, &whole->ranks_capacity, sizeof *whole->ranks))
            return false;
        whole->ranks[whole->n_ranks++] = (struct whole_rank){.rank = lines->number[1]};
        break;
    case PLAN_LEFT:
        if (!arena_grow(arena, &whole->left, whole->n_left, &whole->left_capacity, sizeof *whole->left))
            return false;
        whole->left[whole->n_left++] = (struct left_file){words[1], words[2]};
        break;
    case PLAN_END:
        break;
    }
    return true;
}

/* A link in place of the folder of records would have files written elsewhere. */
static bool is_linked_elsewhere(const char *folder) {
    char *path;
    struct stat found;
    if (asprintf(&path, "%s/" RECORD_FOLDER, folder) < 0)
        return false;
    bool is_link = lstat(path, &found) == 0 && S_ISLNK(found.st_mode);
    free(path);
    return is_link;
}

static enum sutra_status read_plan(struct job_whole *whole, const char *folder, struct sutra_error *error) {
    if (is_linked_elsewhere(folder))
        return error_file(error, SUTRA_DATA, folder,
                          "its " RECORD_FOLDER " is a symbolic link: remove the link, and link the job again");
    enum sutra_status status = record_read(folder, "plan", &whole->plan, error);
    if (status == SUTRA_NO_INPUT && (errno == ENOENT || errno == ENOTDIR))
        return error_file(error, SUTRA_NO_INPUT, folder,
                          "this is not the folder of a job: there is no " RECORD_FOLDER
                          "/plan, as 'sutra link HOSTS DEVICES -o DIR' makes it");
    struct record_lines lines = {.text = whole->plan, .is_plan = true};
    bool ok = true;
    while (!status && ok && record_next(&lines))
        ok = read_plan_line(whole, &lines);
    if (!status)
        status = ok ? record_finish(&lines, folder, "plan", error) : error_memory(error);
    if (status == SUTRA_DATA)
        strncat(error->message, "; link the job again", sizeof error->message - strlen(error->message) - 1);
    return status;
}

/* ---- A rank ---- */

/* A rank's record while it is read. */
struct rank_reading {
    struct whole_rank *rank;
    struct collective_calls calls; /* of this rank alone, until the record is known to be intact */
    uint32_t *groups;              /* numbers in `calls` of the record's groups, */
    uint64_t n_groups, capacity;   /* in the order of their lines */
};

static bool read_group(struct rank_reading *reading, const struct record_lines *lines) {
    const char *name = lines->words[2], *members = lines->words[3];
    uint32_t group =
        collective_group_take(&reading->calls, name, strlen(name), members, strlen(members), lines->number[1]);
    if (group == UINT32_MAX ||
        !column_grow(&reading->groups, reading->n_groups, &reading->capacity, sizeof *reading->groups))
        return false;
    reading->groups[reading->n_groups++] = group;
    return true;
}

/* The group's number is below n_groups, which record_next() has checked. */
static bool read_call(struct rank_reading *reading, const struct record_lines *lines) {
    char *const *words = lines->words;
    const int64_t *number = lines->number;
    struct strings *strings = &reading->calls.strings;
    const bool is_placed = *words[11];
    struct collective_call call = {.rank = reading->rank->rank,
                                   .group = reading->groups[number[1]],
                                   .what = strings_intern(strings, words[2], strlen(words[2])),
                                   .type = strings_intern(strings, words[3], strlen(words[3])),
                                   .n_in = number[4],
                                   .n_out = number[5],
                                   .seq = number[6],
                                   .peer = number[7],
                                   .start_ns = number[8],
                                   .end_ns = number[9],
                                   .node = (uint64_t)number[10],
                                   .ready_us = is_placed ? number[11] : CALL_UNKNOWN,
                                   .done_us = is_placed ? number[12] : CALL_UNKNOWN,
                                   .is_message = collective_is_message(words[2])};
    call.is_send = call.is_message && *words[2] == 's';
    return call.what != STRING_NONE && call.type != STRING_NONE && collective_call_add(&reading->calls, &call);
}

/* Whether the file is there and another one than when it was linked: host PATH BYTES TIME. */
static bool has_changed(const struct record_lines *lines) {
    const struct file_stamp now = file_stamp_at(lines->words[1]), then = {(uint64_t)lines->number[2], lines->number[3]};
    return now.bytes > 0 && file_stamps_differ(now, then);
}

static const char *keep_text_whole(struct arena *arena, const char *text, size_t length) {
    char *kept = arena_take(arena, length + 1, 1);
    if (!kept)
        return NULL;
    memcpy(kept, text, length);
    kept[length] = 0;
    return kept;
}

/* False: out of memory. */
static bool read_line(struct job_whole *whole, struct rank_reading *reading, struct record_lines *lines) {
    struct whole_rank *rank = reading->rank;
    const int64_t *number = lines->number;
    switch ((enum record_line)lines->line) {
    case RECORD_OPTIONS:
        rank->is_otherwise = strcmp(lines->words[1], whole->options) != 0;
        break;
    case RECORD_HOST:
    case RECORD_DEVICE:
        rank->input_bytes += (uint64_t)number[2];
        rank->has_changed |= has_changed(lines);
        break;
    case RECORD_RANK:
        if (number[1] != rank->rank)
            record_reject(lines, "expected rank %" PRId64 ", found rank %" PRId64, rank->rank, number[1]);
        break;
    case RECORD_FILE:
        rank->file_bytes = (uint64_t)number[2];
        break;
    case RECORD_SECONDS:
        rank->seconds = lines->real[1];
        break;
    case RECORD_ERROR:
        rank->state = RANK_BROKEN;
        rank->status = (enum sutra_status)number[1];
        rank->error = keep_text_whole(&whole->arena, lines->words[2], strlen(lines->words[2]));
        return rank->error;
    case RECORD_WARNING:
        rank->n_warnings++;
        break;
    case RECORD_DEVICES:
        rank->n_devices = number[1];
        break;
    case RECORD_UNTOLD:
        reading->calls.n_untold = (uint64_t)number[1];
        break;
    case RECORD_GROUP:
        return read_group(reading, lines);
    case RECORD_CALL:
        return read_call(reading, lines);
    case RECORD_START:
        rank->start = (struct rank_start){.is_told = true,
                                          .origin_ns = number[1],
                                          .end_ns = number[2],
                                          .has_ops = number[3] != 0,
                                          .first_node = (uint64_t)number[4]};
        break;
    case RECORD_VERSION:
    case RECORD_COUNT:
    case RECORD_TIMES:
    case RECORD_END:
        break;
    }
    return true;
}

/* Keeps the record's text as it is for job.json, without the collectives. */
static const char *keep_record(struct arena *arena, const char *text) {
    const char *end = strstr(text, "\ndevices\t");
    return keep_text_whole(arena, text, end ? (size_t)(end - text) + 1 : strlen(text));
}

static enum sutra_status parse_record(struct job_whole *whole, const char *folder, const char *name, char *text,
                                      struct whole_rank *rank, struct sutra_error *error) {
    struct rank_reading reading = {.rank = rank};
    struct record_lines lines = {.text = text};
    bool ok = collective_calls_init(&reading.calls) && (rank->record = keep_record(&whole->arena, text));
    rank->state = RANK_DONE;
    while (ok && record_next(&lines))
        ok = read_line(whole, &reading, &lines);
    enum sutra_status status = ok ? record_finish(&lines, folder, name, error) : error_memory(error);
    if (!status && !collective_calls_append(&whole->calls, &reading.calls))
        status = error_memory(error);
    collective_calls_free(&reading.calls);
    free(reading.groups);
    return status;
}

/* A record that is damaged is as none, but is reported. */
static enum sutra_status read_rank(struct job_whole *whole, const char *folder, struct whole_rank *rank,
                                   struct sutra_error *error) {
    const struct whole_rank missing = {.rank = rank->rank, .state = RANK_MISSING, .n_devices = NOT_TOLD};
    static const char again[] = "; link the rank again";
    char name[RECORD_NAME_MAX], *text = NULL, damage[sizeof error->file + sizeof error->message + 64 + sizeof again];
    struct sutra_error reason;
    *rank = missing;
    record_name(rank->rank, name);
    enum sutra_status status = record_read(folder, name, &text, &reason);
    if (status == SUTRA_NO_INPUT && errno == ENOENT)
        return SUTRA_OK;
    if (!status)
        status = parse_record(whole, folder, name, text, rank, &reason);
    free(text);
    if (!status || status == SUTRA_SYSTEM)
        return error_hand_on(error, status, &reason);
    sutra_error_text(&reason, damage, sizeof damage - sizeof again);
    memcpy(damage + strlen(damage), again, sizeof again);
    *rank = missing;
    rank->damage = keep_text_whole(&whole->arena, damage, strlen(damage));
    return rank->damage ? SUTRA_OK : error_memory(error);
}

static void count_states(struct job_whole *whole) {
    for (size_t i = 0; i < whole->n_ranks; i++) {
        whole->n_done += whole->ranks[i].state == RANK_DONE;
        whole->n_broken += whole->ranks[i].state == RANK_BROKEN;
        whole->n_missing += whole->ranks[i].state == RANK_MISSING;
        whole->n_damaged += whole->ranks[i].damage != NULL;
    }
}

/* ---- Clocks of hosts ---- */

/* How many ranks a host has, if all say the same or, the last host, less; else each rank has a host of its own. */
static int64_t ranks_per_host(const struct job_whole *whole) {
    int64_t n = whole->n_ranks ? whole->ranks[0].n_devices : NOT_TOLD;
    for (size_t i = 0; i < whole->n_ranks; i++)
        if (whole->ranks[i].state == RANK_DONE && whole->ranks[i].n_devices > n)
            n = whole->ranks[i].n_devices;
    return n > 0 ? n : 1;
}

ORDER_BY(compare_offsets, struct rank_clock, ASCENDING(offset_ns))

/* The median of a host's ranks, and how far its ranks and their collectives are from it. */
static struct host_clock clock_of_host(int64_t host, const struct rank_clock *clocks, row_t n,
                                       struct rank_clock *sorted) {
    struct host_clock made = {.host = host, .first_rank = clocks[0].rank, .last_rank = clocks[n - 1].rank, .n = n};
    memcpy(sorted, clocks, n * sizeof *clocks);
    qsort(sorted, n, sizeof *sorted, compare_offsets);
    made.offset_ns = sorted[n / 2].offset_ns;
    for (row_t i = 0; i < n; i++) {
        int64_t apart = moment_size(moment_minus(clocks[i].offset_ns, made.offset_ns));
        apart = apart > clocks[i].spread_ns ? apart : clocks[i].spread_ns;
        made.spread_ns = apart > made.spread_ns ? apart : made.spread_ns;
    }
    return made;
}

static void find_hosts(struct job_whole *whole) {
    int64_t per_host = ranks_per_host(whole);
    struct rank_clock *clocks = arena_take(&whole->arena, whole->n_clocks, sizeof *clocks);
    row_t n = 0;
    for (row_t i = 0; clocks && i < whole->n_clocks; i++) /* those that are not compared tell nothing */
        if (whole->clocks[i].reference == whole->clocks[0].rank)
            clocks[n++] = whole->clocks[i];
    whole->hosts = arena_take(&whole->arena, whole->n_clocks, sizeof *whole->hosts);
    struct rank_clock *sorted = arena_take(&whole->arena, whole->n_clocks, sizeof *sorted);
    for (row_t begin = 0, end; begin < n && whole->hosts && sorted; begin = end) {
        int64_t host = clocks[begin].rank / per_host;
        for (end = begin; end < n && clocks[end].rank / per_host == host;)
            end++;
        whole->hosts[whole->n_hosts++] = clock_of_host(host, clocks + begin, end - begin, sorted);
    }
    for (row_t i = whole->n_hosts; whole->hosts && i > 0; i--)
        whole->hosts[i - 1].offset_ns = moment_minus(whole->hosts[i - 1].offset_ns, whole->hosts[0].offset_ns);
}

/* ---- Meetings ---- */

static bool is_simulated(const struct job_whole *whole) {
    for (size_t i = 0; i < whole->n_ranks; i++)
        if (whole->ranks[i].start.is_told)
            return true;
    return false;
}

static enum sutra_status find_meetings(struct job_whole *whole, struct sutra_error *error) {
    struct arena *arena = &whole->arena;
    struct meeting_rank *ranks = arena_take(arena, whole->n_ranks, sizeof *ranks);
    struct job_meetings *meetings = arena_take(arena, 1, sizeof *meetings);
    if (arena->failed)
        return error_memory(error);
    for (size_t i = 0; i < whole->n_ranks; i++)
        ranks[i] = (struct meeting_rank){whole->ranks[i].rank, whole->ranks[i].start};
    whole->astra = strstr(whole->options, " --astra") != NULL;
    const struct meeting_job job = {.ranks = ranks,
                                    .n = whole->n_ranks,
                                    .calls = &whole->calls,
                                    .matches = &whole->matches,
                                    .clocks = whole->clocks,
                                    .n_clocks = whole->n_clocks,
                                    .world_size = whole->world_size,
                                    .per_stream = strstr(whole->options, " --gpu streams") != NULL,
                                    .astra = whole->astra};
    whole->meetings = meetings;
    return job_meetings_find(&job, arena, meetings, error);
}

/* ---- All of it ---- */

enum sutra_status job_whole_read(struct job_whole *whole, const char *folder, struct sutra_error *error) {
    *whole = (struct job_whole){0};
    enum sutra_status status = collective_calls_init(&whole->calls) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = read_plan(whole, folder, error);
    for (size_t i = 0; i < whole->n_ranks && !status; i++)
        status = read_rank(whole, folder, &whole->ranks[i], error);
    if (!status)
        status = collective_matches_find(&whole->calls, &whole->arena, &whole->matches, error);
    if (!status)
        status =
            rank_clocks_find(&whole->calls, &whole->matches, &whole->arena, &whole->clocks, &whole->n_clocks, error);
    if (!status && is_simulated(whole))
        status = find_meetings(whole, error);
    if (status)
        return status;
    count_states(whole);
    find_hosts(whole);
    job_findings_find(whole);
    return arena_status(&whole->arena, error);
}

void job_whole_free(struct job_whole *whole) {
    collective_calls_free(&whole->calls);
    free(whole->plan);
    arena_free(&whole->arena);
    *whole = (struct job_whole){0};
}
