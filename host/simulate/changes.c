/*
 * changes.c - reading a change from its end: the factor behind the last colon, the rank before the first.
 */
#include "simulate/changes.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "text/nearest.h"

enum subject { SUBJECT_WORK, SUBJECT_NAME, SUBJECT_OPERATOR, SUBJECT_STREAM };

struct change {
    double factor;
    bool one_rank;
    uint64_t rank;
    enum subject subject;
    uint32_t work;  /* bits of enum work_kind */
    bool by_itself; /* not collectives of a job's ranks */
    int64_t stream;
    bool *fits; /* per name of the job */
};

/* ---- Reading ---- */

static enum sutra_status unreadable(const char *word, const char *what, struct sutra_error *error) {
    return error_set(error, SUTRA_USAGE, "'%s': %s", word, what);
}

/* Takes the factor from the end of the text, which then ends before it. */
static enum sutra_status read_factor(const char *word, char *text, struct change *change, struct sutra_error *error) {
    char *colon = strrchr(text, ':'), *end;
    if (!colon || !colon[1])
        return unreadable(word, "expected WHAT:FACTOR, such as gpu:0.5", error);
    change->factor = strtod(colon + 1, &end);
    if (*end == 'x' && end > colon + 1) /* 2x is 2 */
        end++;
    if (*end || !(change->factor >= 0 && change->factor <= 1e9))
        return unreadable(word, "the factor after the last colon must be a number from 0 to 1e9, such as 0.5 or 2x",
                          error);
    *colon = 0;
    return SUTRA_OK;
}

/* Takes "rank=N:" from the beginning; *rest is what follows. */
static enum sutra_status read_rank(const char *word, char *text, struct change *change, char **rest,
                                   struct sutra_error *error) {
    *rest = text;
    if (strncmp(text, "rank=", 5) != 0)
        return SUTRA_OK;
    char *end;
    errno = 0;
    change->rank = strtoull(text + 5, &end, 10);
    if (end == text + 5 || *end != ':' || errno)
        return unreadable(word, "expected rank=N:WHAT:FACTOR, where N is a number", error);
    change->one_rank = true;
    *rest = end + 1;
    return SUTRA_OK;
}

static enum sutra_status fit_regex(const char *word, const char *pattern, const struct strings *names, bool *fits,
                                   struct sutra_error *error) {
    regex_t regex;
    int failure = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (failure) {
        char why[200];
        regerror(failure, &regex, why, sizeof why);
        return unreadable(word, why, error);
    }
    for (uint32_t i = 0; i < names->n; i++)
        fits[i] = regexec(&regex, strings_text(names, i), 0, NULL, 0) == 0;
    regfree(&regex);
    for (uint32_t i = 0; i < names->n; i++)
        if (fits[i])
            return SUTRA_OK;
    return error_set(error, SUTRA_USAGE, "'%s': no node name matches '%s'", word, pattern);
}

/* Names the nearest name of a node. */
static enum sutra_status unknown_name(const char *kind, const char *name, const struct strings *names,
                                      struct sutra_error *error) {
    struct nearest nearest = nearest_to(name);
    for (uint32_t i = 0; i < names->n; i++)
        nearest_try(&nearest, strings_text(names, i));
    if (nearest.word)
        return error_set(error, SUTRA_USAGE, "no %s is named '%s'; did you mean '%s'?", kind, name, nearest.word);
    return error_set(error, SUTRA_USAGE, "no %s is named '%s'; select names by a regular expression with =~REGEX", kind,
                     name);
}

/* Finds the names that a selector "=TEXT" or "=~REGEX" fits. */
static enum sutra_status fit_names(const char *word, const char *selector, const struct strings *names,
                                   struct arena *arena, struct change *change, struct sutra_error *error) {
    change->fits = arena_zeros(arena, names->n, sizeof *change->fits);
    if (arena->failed)
        return error_memory(error);
    if (selector[1] == '~')
        return fit_regex(word, selector + 2, names, change->fits, error);
    uint32_t name = strings_find(names, selector + 1, strlen(selector + 1));
    if (name == STRING_NONE)
        return unknown_name(change->subject == SUBJECT_OPERATOR ? "operator" : "node", selector + 1, names, error);
    change->fits[name] = true;
    return SUTRA_OK;
}

static bool read_work(const char *text, struct change *change) {
    static const struct {
        const char *word;
        uint32_t work;
    } words[] = {{"cpu", 1 << WORK_CPU},
                 {"gpu", 1 << WORK_COMPUTATION | 1 << WORK_COMMUNICATION},
                 {"compute", 1 << WORK_COMPUTATION},
                 {"comm", 1 << WORK_COMMUNICATION}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i].word) == 0)
            change->work = words[i].work;
    change->by_itself = strcmp(text, "gpu") == 0;
    return change->work != 0;
}

static enum sutra_status read_selector(const char *word, const char *text, const struct strings *names,
                                       struct arena *arena, struct change *change, struct sutra_error *error) {
    if (read_work(text, change))
        return SUTRA_OK;
    if (strncmp(text, "name=", 5) == 0 || strncmp(text, "op=", 3) == 0) {
        change->subject = *text == 'n' ? SUBJECT_NAME : SUBJECT_OPERATOR;
        return fit_names(word, strchr(text, '='), names, arena, change, error);
    }
    if (strncmp(text, "stream=", 7) == 0) {
        char *end;
        change->subject = SUBJECT_STREAM;
        change->stream = strtoll(text + 7, &end, 10);
        if (end > text + 7 && !*end)
            return SUTRA_OK;
    }
    return unreadable(word, "WHAT must be cpu, gpu, compute, comm, name=, name=~, op=, op=~ or stream=N", error);
}

static enum sutra_status change_read(const char *word, const struct strings *names, struct arena *arena,
                                     struct change *change, struct sutra_error *error) {
    size_t size = strlen(word) + 1;
    char *text = arena_take(arena, size, 1), *rest;
    if (!text)
        return error_memory(error);
    memcpy(text, word, size);
    enum sutra_status status = read_factor(word, text, change, error);
    if (!status)
        status = read_rank(word, text, change, &rest, error);
    return status ? status : read_selector(word, rest, names, arena, change, error);
}

/* ---- Applying ---- */

static bool change_selects(const struct change *change, const struct rank_graph *graph, row_t i) {
    switch (change->subject) {
    case SUBJECT_WORK:
        return change->work >> graph->work[i] & 1 && !(change->by_itself && graph->is_shared[i]);
    case SUBJECT_NAME:
        return change->fits[graph->name[i]];
    case SUBJECT_OPERATOR:
        return graph->parent[i] != ROW_NONE && change->fits[graph->name[graph->parent[i]]];
    case SUBJECT_STREAM:
        return graph->work[i] != WORK_CPU && graph->lane[i] == change->stream;
    }
    return false;
}

static uint64_t difference(int64_t a, int64_t b) {
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static enum sutra_status check_rank(const struct change *change, const struct change_target *target,
                                    struct sutra_error *error) {
    uint64_t nearest = target->n ? target->ranks[0] : 0;
    for (uint32_t r = 0; r < target->n; r++)
        if (difference((int64_t)target->ranks[r], (int64_t)change->rank) <
            difference((int64_t)nearest, (int64_t)change->rank))
            nearest = target->ranks[r];
    if (!change->one_rank || target->n == 0 || nearest == change->rank)
        return SUTRA_OK;
    return error_set(error, SUTRA_USAGE, "no file of rank %" PRIu64 "; the nearest rank is %" PRIu64, change->rank,
                     nearest);
}

static enum sutra_status check_stream(const struct change *change, const struct change_target *target,
                                      struct sutra_error *error) {
    int64_t nearest = INT64_MIN;
    if (change->subject != SUBJECT_STREAM)
        return SUTRA_OK;
    for (uint32_t r = 0; r < target->n; r++)
        for (row_t i = 0; i < target->graphs[r].n; i++) {
            const struct rank_graph *graph = &target->graphs[r];
            if (graph->work[i] != WORK_CPU && (nearest == INT64_MIN || difference(graph->lane[i], change->stream) <
                                                                           difference(nearest, change->stream)))
                nearest = graph->lane[i];
        }
    if (nearest == change->stream)
        return SUTRA_OK;
    if (nearest == INT64_MIN)
        return error_set(error, SUTRA_USAGE, "no stream %" PRId64 ": no node runs on a GPU", change->stream);
    return error_set(error, SUTRA_USAGE, "no stream %" PRId64 "; the nearest stream is %" PRId64, change->stream,
                     nearest);
}

static void change_apply(const struct change *change, const struct change_target *target, double *const *run_ns) {
    for (uint32_t r = 0; r < target->n; r++) {
        if (change->one_rank && target->ranks[r] != change->rank)
            continue;
        for (row_t i = 0; i < target->graphs[r].n; i++)
            if (change_selects(change, &target->graphs[r], i))
                run_ns[r][i] *= change->factor;
    }
}

enum sutra_status changes_apply(const struct change_target *target, const char *const *changes, size_t n,
                                double *const *run_ns, struct arena *arena, struct sutra_error *error) {
    for (size_t k = 0; k < n; k++) {
        struct arena_mark mark = arena_mark(arena);
        struct change change = {.subject = SUBJECT_WORK};
        enum sutra_status status = change_read(changes[k], target->names, arena, &change, error);
        if (!status)
            status = check_rank(&change, target, error);
        if (!status)
            status = check_stream(&change, target, error);
        if (!status)
            change_apply(&change, target, run_ns);
        arena_release(arena, mark);
        if (status)
            return status;
    }
    return SUTRA_OK;
}
