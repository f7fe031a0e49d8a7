/*
 * record.c - writing and reading the records of a job. Words have \t, \n and \\ for tabs, line ends and backslashes.
 */
#include "job/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "write/text_file.h"

/* ---- Writing ---- */

static void add_word(struct text_out *text, const char *word) {
    for (; *word; word++) {
        const char *escape = *word == '\t' ? "\\t" : *word == '\n' ? "\\n" : *word == '\\' ? "\\\\" : NULL;
        if (escape)
            out_add(text, escape);
        else
            buffer_append(&text->out, word, 1);
    }
}

static void add_file(struct text_out *text, const char *what, const struct trace_file *file) {
    out_format(text, "%s\t", what);
    add_word(text, file->path);
    out_format(text, "\t%" PRIu64 "\t%" PRId64 "\n", file->head.bytes, file->head.modified_ns);
}

/* The lines that tell whether a file is still what it should be. */
static void add_head(struct text_out *text, const struct record_of *of, uint64_t file_bytes) {
    out_format(text, "version\t%s\noptions\t", sutra_version());
    add_word(text, of->options);
    out_add(text, "\n");
    add_file(text, "host", &of->pair->host);
    add_file(text, "device", &of->pair->device);
    out_format(text, "rank\t%" PRId64 "\t%s\nfile\t%s\t%" PRIu64 "\n", of->pair->rank, pair_by_names[of->pair->by],
               of->file, file_bytes);
}

#define COUNTS(X)                                                                                                      \
    X(n_host_nodes)                                                                                                    \
    X(n_host_ops)                                                                                                      \
    X(n_host_linked)                                                                                                   \
    X(n_events)                                                                                                        \
    X(n_cpu_ops)                                                                                                       \
    X(n_gpu_ops)                                                                                                       \
    X(n_gpu_with_parent)                                                                                               \
    X(n_gpu_nodes)                                                                                                     \
    X(n_nodes)                                                                                                         \
    X(n_sync)

static void add_counts(struct text_out *text, const struct record_outcome *outcome) {
    const struct rank_result *result = outcome->result;
#define COUNT(name) out_format(text, "count\t" #name "\t%" PRIu64 "\n", result->report.name);
    COUNTS(COUNT)
#undef COUNT
    if (outcome->is_faithful && result->start.is_told) /* simulated it is when all ranks are there */
        out_format(text, "times\t%.3f\n", result->faithful.measured_us);
    else if (outcome->is_faithful)
        out_format(text, "times\t%.3f\t%.3f\n", result->faithful.measured_us, result->faithful.simulated_us);
}

/* What the other ranks of a simulated job need of it. */
static void add_start(struct text_out *text, const struct rank_start *start) {
    if (start->is_told)
        out_format(text, "start\t%" PRId64 "\t%" PRId64 "\t%d\t%" PRIu64 "\n", start->origin_ns, start->end_ns,
                   start->has_ops, start->first_node);
}

static void add_calls(struct text_out *text, const struct rank_result *result) {
    const struct collective_calls *calls = &result->calls;
    const struct strings *strings = &calls->strings;
    out_format(text, "devices\t%" PRId64 "\nuntold\t%" PRIu64 "\n", result->n_devices, calls->n_untold);
    for (uint64_t i = 0; i < calls->n_groups; i++) {
        out_format(text, "group\t%" PRId64 "\t", calls->groups[i].size);
        add_word(text, strings_text(strings, calls->groups[i].name));
        out_add(text, "\t");
        add_word(text, strings_text(strings, calls->groups[i].members));
        out_add(text, "\n");
    }
    for (uint64_t i = 0; i < calls->n; i++) {
        const struct collective_call *call = &calls->list[i];
        out_format(text, "call\t%" PRIu32 "\t", call->group);
        add_word(text, strings_text(strings, call->what));
        out_add(text, "\t");
        add_word(text, strings_text(strings, call->type));
        out_format(text, "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64, call->n_in,
                   call->n_out, call->seq, call->peer, call->start_ns, call->end_ns);
        if (call->ready_us != CALL_UNKNOWN)
            out_format(text, "\t%" PRIu64 "\t%" PRId64 "\t%" PRId64, call->node, call->ready_us, call->done_us);
        out_add(text, "\n");
        out_step(text);
    }
}

/* What a record is written of. */
struct record_text {
    const struct record_of *of;
    const struct record_outcome *outcome;
};

static bool write_record(const void *arg, struct text_out *text) {
    const struct record_text *record = arg;
    const struct record_outcome *outcome = record->outcome;
    add_head(text, record->of, outcome->file_bytes);
    out_format(text, "seconds\t%.6f\n", outcome->seconds);
    if (outcome->status) {
        char words[900];
        sutra_error_text(outcome->error, words, sizeof words);
        out_format(text, "error\t%d\t", (int)outcome->status);
        add_word(text, words);
        out_add(text, "\n");
    } else {
        add_counts(text, outcome);
    }
    const struct buffer *warnings = outcome->warnings;
    for (size_t at = 0; at < warnings->length; at += strlen(warnings->bytes + at) + 1) {
        out_add(text, "warning\t");
        add_word(text, warnings->bytes + at);
        out_add(text, "\n");
    }
    if (!outcome->status) {
        add_calls(text, outcome->result);
        add_start(text, &outcome->result->start);
    }
    out_add(text, "end\n");
    return !text->out.failed;
}

void record_name(int64_t rank, char name[RECORD_NAME_MAX]) {
    snprintf(name, RECORD_NAME_MAX, "rank.%" PRId64, rank);
}

/* The path of a file among the records, from the heap. */
static char *record_path(const char *folder, const char *name) {
    char *path;
    return asprintf(&path, "%s/" RECORD_FOLDER "/%s", folder, name) < 0 ? NULL : path;
}

static enum sutra_status write_among(struct sutra_context *context, const char *folder, const char *name,
                                     bool (*write)(const void *of, struct text_out *text), const void *of,
                                     struct sutra_error *error) {
    char *path = record_path(folder, name);
    enum sutra_status status = path ? text_file_write(context, path, write, of, NULL, error) : error_memory(error);
    free(path);
    return status;
}

enum sutra_status record_write(struct sutra_context *context, const char *folder, const struct record_of *of,
                               const struct record_outcome *outcome, struct sutra_error *error) {
    char name[RECORD_NAME_MAX];
    const struct record_text record = {of, outcome};
    record_name(of->pair->rank, name);
    return write_among(context, folder, name, write_record, &record, error);
}

void record_remove(const char *folder, int64_t rank) {
    char name[RECORD_NAME_MAX];
    record_name(rank, name);
    char *path = record_path(folder, name);
    if (path)
        unlink(path);
    free(path);
}

/* ---- The plan ---- */

struct plan_text {
    const struct job_plan *plan;
    const char *options, *ending;
};

static bool write_plan(const void *arg, struct text_out *text) {
    const struct plan_text *of = arg;
    const struct job_plan *plan = of->plan;
    out_add(text, "options\t");
    add_word(text, of->options);
    out_format(text, "\nending\t%s\nworld\t%" PRId64 "\n", of->ending, plan->world_size);
    for (size_t i = 0; i < plan->n_pairs; i++)
        out_format(text, "pair\t%" PRId64 "\n", plan->pairs[i].rank);
    for (size_t i = 0; i < plan->n_left; i++) {
        out_add(text, "left\t");
        add_word(text, plan->left[i].path);
        out_add(text, "\t");
        add_word(text, plan->left[i].why);
        out_add(text, "\n");
    }
    out_add(text, "end\n");
    return !text->out.failed;
}

enum sutra_status plan_write(struct sutra_context *context, const char *folder, const struct job_plan *plan,
                             const char *options, const char *ending, struct sutra_error *error) {
    const struct plan_text of = {plan, options, ending};
    return write_among(context, folder, "plan", write_plan, &of, error);
}

/* ---- Reading ---- */

char *record_read(const char *folder, const char *name) {
    char *path = record_path(folder, name), *text = NULL;
    size_t capacity = 0;
    FILE *file = path ? fopen(path, "re") : NULL;
    free(path);
    if (!file)
        return NULL;
    if (getdelim(&text, &capacity, 0, file) < 0) { /* it has no NUL: all of it */
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

bool record_is_whole(const char *text) {
    size_t length = strlen(text);
    return length >= 5 && strcmp(text + length - 5, "\nend\n") == 0;
}

/* Takes the escapes of a word away, in its place. */
static void read_word(char *word) {
    char *to = word;
    for (; *word; word++) {
        bool escaped = *word == '\\' && word[1];
        word += escaped;
        *to++ = escaped && *word == 't' ? '\t' : escaped && *word == 'n' ? '\n' : *word;
    }
    *to = 0;
}

bool record_next(struct record_lines *lines) {
    char *at = lines->text;
    if (!*at)
        return false;
    char *end = at + strcspn(at, "\n");
    lines->text = *end ? end + 1 : end;
    *end = 0;
    lines->n = 0;
    for (bool more = true; more && lines->n < RECORD_WORDS; at++) {
        lines->words[lines->n++] = at;
        at += strcspn(at, "\t");
        more = *at != 0;
        *at = 0;
    }
    for (size_t i = 0; i < lines->n; i++)
        read_word(lines->words[i]);
    for (size_t i = lines->n; i < RECORD_WORDS; i++)
        lines->words[i] = end;
    return true;
}

bool record_holds(const char *folder, const struct record_of *of) {
    char name[RECORD_NAME_MAX], *path;
    struct stat found;
    if (asprintf(&path, "%s/%s", folder, of->file) < 0)
        return false;
    bool holds = stat(path, &found) == 0 && S_ISREG(found.st_mode);
    free(path);
    record_name(of->pair->rank, name);
    char *text = holds ? record_read(folder, name) : NULL;
    struct text_out head = {0};
    holds = text != NULL;
    if (text) {
        add_head(&head, of, (uint64_t)found.st_size);
        size_t n = head.out.length;
        holds = !head.out.failed && strlen(text) > n && memcmp(text, head.out.bytes, n) == 0 && record_is_whole(text) &&
                !strstr(text + n - 1, "\nerror\t");
    }
    buffer_free(&head.out);
    free(text);
    return holds;
}
