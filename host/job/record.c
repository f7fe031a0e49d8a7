/*
 * record.c - implements record.h. Words contain \t, \n and \\ for tabs, line ends and backslashes.
 */
#include "job/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "text/numbers.h"
#include "write/text.h"

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

/* The first lines, which determine whether the file of a rank is current. */
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
    X(n_sync)                                                                                                          \
    X(n_host_without_rf)                                                                                               \
    X(n_host_rf_zero)                                                                                                  \
    X(n_host_rf_unmatched)                                                                                             \
    X(n_host_steps)                                                                                                    \
    X(n_gpu_without_launch)                                                                                            \
    X(n_gpu_without_parent)                                                                                            \
    X(n_gpu_host_unmatched)                                                                                            \
    X(n_gpu_memory_sets)                                                                                               \
    X(n_gpu_unknown_launch)

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
            out_format(text, "\t%" PRIu64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64, call->node, call->ready_us,
                       call->done_us, call->op_bytes);
        out_add(text, "\n");
        out_step(text);
    }
}

struct record_text {
    const struct record_of *of;
    const struct record_outcome *outcome;
};

static bool write_record(const void *arg, struct text_out *text) {
    const struct record_text *record = arg;
    const struct record_outcome *outcome = record->outcome;
    const struct rank_result *result = outcome->result;
    add_head(text, record->of, outcome->file_bytes);
    out_format(text, "seconds\t%.6f\n", outcome->seconds);
    if (outcome->status) {
        char words[900];
        sutra_error_text(outcome->error, words, sizeof words);
        out_format(text, "error\t%d\t", (int)outcome->status);
        add_word(text, words);
        out_add(text, "\n");
    } else {
#define COUNT(name) out_format(text, "count\t" #name "\t%" PRIu64 "\n", result->report.name);
        COUNTS(COUNT)
#undef COUNT
        const struct sutra_link_match *match = &result->match;
        out_format(text,
                   "match\t%s\t%.4f\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
                   "\t%" PRIu64 "\t%.3f\t%.3f\t",
                   match->by_names ? "names" : "ids", match->confidence, match->n_host_ops, match->n_matched,
                   match->n_common_ids, match->n_positions, match->host.n_before + match->host.n_after,
                   match->host.n_of_threads, match->host.n_between, match->covered_us, match->steps_us);
        add_word(text, match->ids_fault ? match->ids_fault : "");
        out_add(text, "\t");
        add_word(text, match->step);
        out_add(text, "\n");
        if (outcome->is_faithful && result->start.is_known) /* the simulated time follows from all ranks together */
            out_format(text, "times\t%.3f\n", result->faithful.measured_us);
        else if (outcome->is_faithful)
            out_format(text, "times\t%.3f\t%.3f\n", result->faithful.measured_us, result->faithful.simulated_us);
    }
    const struct trace_validity *validity = &result->validity;
    bool any = false;
    for (int kind = 0; kind < N_DEFECTS; kind++) {
        const struct trace_defect *defect = &validity->defects[kind];
        if (!defect->count)
            continue;
        if (!any)
            out_format(text, "gpu\t%" PRIu64 "\t%" PRIu64 "\t%.3f\t%.3f\n", validity->n_activities,
                       validity->n_complete_steps, validity->complete_us, validity->span_us);
        any = true;
        out_format(text, "defect\t%s\t%" PRIu64 "\t%" PRIu64 "\t%.3f\t%.3f\t", defect_names[kind], defect->count,
                   defect->of, isnan(defect->largest_us) ? -1 : defect->largest_us, defect->gpu_us);
        add_word(text, defect->example);
        out_add(text, "\t");
        add_word(text, defect->cause);
        out_add(text, "\n");
    }
    const struct buffer *warnings = outcome->warnings;
    for (size_t at = 0; at < warnings->length; at += strlen(warnings->bytes + at) + 1) {
        out_add(text, "warning\t");
        add_word(text, warnings->bytes + at);
        out_add(text, "\n");
    }
    if (!outcome->status) {
        const struct rank_start *start = &result->start;
        add_calls(text, result);
        if (start->is_known)
            out_format(text, "start\t%" PRId64 "\t%" PRId64 "\t%d\t%" PRIu64 "\n", start->origin_ns, start->end_ns,
                       start->has_ops, start->first_node);
    }
    out_add(text, "end\n");
    return !text->out.failed;
}

void record_name(int64_t rank, char name[RECORD_NAME_MAX]) {
    snprintf(name, RECORD_NAME_MAX, "rank.%" PRId64, rank);
}

/* The path of a file in the folder of records; the caller frees it. */
static char *record_path(const char *folder, const char *name) {
    char *path;
    return asprintf(&path, "%s/" RECORD_FOLDER "/%s", folder, name) < 0 ? NULL : path;
}

static enum sutra_status write_in_folder(struct sutra_context *context, const char *folder, const char *name,
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
    return write_in_folder(context, folder, name, write_record, &record, error);
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

/* Whether sutra writes files with this extension: a malicious plan must not redirect outputs to another folder. */
static bool rank_ending_is_known(const char *ending) {
    size_t n = strncmp(ending, ".json", 5) == 0 ? 5 : strncmp(ending, ".et", 3) == 0 ? 3 : 0;
    ending += n;
    return n > 0 && (!*ending || strcmp(ending, ".gz") == 0 || strcmp(ending, ".zst") == 0);
}

enum sutra_status plan_write(struct sutra_context *context, const char *folder, const struct job_plan *plan,
                             const char *options, const char *ending, struct sutra_error *error) {
    const struct plan_text of = {plan, options, ending};
    return write_in_folder(context, folder, "plan", write_plan, &of, error);
}

/* ---- Reading files ---- */

/* Opens a regular file; a pipe would block the reader. */
static FILE *open_record(const char *path, enum sutra_status *status, struct sutra_error *error) {
    struct stat found;
    int number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = NULL;
    if (number < 0)
        *status = error_os(error, SUTRA_NO_INPUT, path, errno, "cannot be read");
    else if (fstat(number, &found) || !S_ISREG(found.st_mode))
        *status = error_file(error, SUTRA_DATA, path, "is not a regular file");
    else if (!(file = fdopen(number, "r")))
        *status = error_memory(error);
    if (number >= 0 && !file)
        close(number);
    return file;
}

enum sutra_status record_read(const char *folder, const char *name, char **text, struct sutra_error *error) {
    char *path = record_path(folder, name);
    enum sutra_status status = path ? SUTRA_OK : error_memory(error);
    FILE *file = path ? open_record(path, &status, error) : NULL;
    int reason = errno;
    *text = NULL;
    if (file) {
        status = job_text_read(file, path, text, error);
        fclose(file);
    }
    free(path);
    errno = reason;
    return status;
}

/* ---- Reading lines ---- */

/* A line: its first word, and one letter per further word; the words after '?' are all present or all absent. */
struct line_form {
    const char *word, *fields;
    bool is_required, repeats;
};

static const struct line_form record_forms[] = {
    [RECORD_VERSION] = {"version", "t", true, false},     [RECORD_OPTIONS] = {"options", "t", true, false},
    [RECORD_HOST] = {"host", "tni", true, false},         [RECORD_DEVICE] = {"device", "tni", true, false},
    [RECORD_RANK] = {"rank", "rt", true, false},          [RECORD_FILE] = {"file", "tn", true, false},
    [RECORD_SECONDS] = {"seconds", "x", true, false},     [RECORD_ERROR] = {"error", "et", false, false},
    [RECORD_COUNT] = {"count", "cn", false, true},        [RECORD_MATCH] = {"match", "txnnnnnnnxxtt", false, false},
    [RECORD_TIMES] = {"times", "x?x", false, false},      [RECORD_GPU] = {"gpu", "nnxx", false, false},
    [RECORD_DEFECT] = {"defect", "dnnxxtt", false, true}, [RECORD_WARNING] = {"warning", "t", false, true},
    [RECORD_DEVICES] = {"devices", "i", false, false},    [RECORD_UNTOLD] = {"untold", "n", false, false},
    [RECORD_GROUP] = {"group", "itt", false, true},       [RECORD_CALL] = {"call", "gttiiiimm?ussn", false, true},
    [RECORD_START] = {"start", "mmbu", false, false},     [RECORD_END] = {"end", "", true, false},
};

static const struct line_form plan_forms[] = {
    [PLAN_OPTIONS] = {"options", "t", true, false}, [PLAN_ENDING] = {"ending", "f", true, false},
    [PLAN_WORLD] = {"world", "w", true, false},     [PLAN_PAIR] = {"pair", "r", false, true},
    [PLAN_LEFT] = {"left", "tt", false, true},      [PLAN_END] = {"end", "", true, false},
};

/* Integers: letter, name and range. Times are below 2^62 ns, so differences do not overflow. */
#define MAX_NS ((INT64_C(1) << 62) - 1)
static const struct {
    char letter;
    const char *what;
    int64_t min, max;
} ranges[] = {
    {'i', "an integer", INT64_MIN, INT64_MAX},
    {'n', "a count", 0, INT64_MAX},
    {'r', "a rank", 0, RANK_LIMIT - 1},
    {'w', "a number of ranks", 1, RANK_LIMIT},
    {'g', "the number of a group above", 0, INT64_MAX},
    {'m', "a time in ns", -MAX_NS, MAX_NS},
    {'s', "a time in us", -MAX_NS / 1000, MAX_NS / 1000},
    {'b', "0 or 1", 0, 1},
    {'e', "an exit code", SUTRA_STRICT, SUTRA_CANCELLED},
};

void record_reject(struct record_lines *lines, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(lines->damage, sizeof lines->damage, format, arguments);
    va_end(arguments);
}

uint64_t *record_count(struct sutra_link_report *report, const char *name) {
#define FIELD(name) {#name, offsetof(struct sutra_link_report, name)},
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {COUNTS(FIELD)};
#undef FIELD
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(name, fields[i].name) == 0)
            return (uint64_t *)((char *)report + fields[i].offset);
    return NULL;
}

/* The kind of defect of this name, or N_DEFECTS. */
static enum trace_defect_kind find_defect(const char *name) {
    int kind = 0;
    while (kind < N_DEFECTS && strcmp(defect_names[kind], name) != 0)
        kind++;
    return (enum trace_defect_kind)kind;
}

enum trace_defect_kind record_defect(const struct record_lines *lines, struct trace_defect *defect) {
    *defect = (struct trace_defect){.count = (uint64_t)lines->number[2],
                                    .of = (uint64_t)lines->number[3],
                                    .largest_us = lines->real[4] < 0 ? NAN : lines->real[4],
                                    .gpu_us = lines->real[5]};
    snprintf(defect->example, sizeof defect->example, "%s", lines->words[6]);
    snprintf(defect->cause, sizeof defect->cause, "%s", lines->words[7]);
    return find_defect(lines->words[1]);
}

void record_match(const struct record_lines *lines, struct sutra_link_match *match) {
    const int64_t *number = lines->number;
    *match = (struct sutra_link_match){.size = sizeof *match,
                                       .by_names = strcmp(lines->words[1], "names") == 0,
                                       .confidence = lines->real[2],
                                       .n_host_ops = (uint64_t)number[3],
                                       .n_matched = (uint64_t)number[4],
                                       .n_common_ids = (uint64_t)number[5],
                                       .n_positions = (uint64_t)number[6],
                                       .host = {.n_before = (uint64_t)number[7],
                                                .n_of_threads = (uint64_t)number[8],
                                                .n_between = (uint64_t)number[9]},
                                       .covered_us = lines->real[10],
                                       .steps_us = lines->real[11],
                                       .ids_fault = lines->words[12]};
    snprintf(match->step, sizeof match->step, "%s", lines->words[13]);
}

static bool read_integer(struct record_lines *lines, char letter, const char *word, int64_t *number) {
    size_t i = 0;
    while (ranges[i].letter != letter)
        i++;
    bool read = integer_parse(word, strlen(word), number) && *number >= ranges[i].min && *number <= ranges[i].max;
    if (!read || (letter == 'g' && (uint64_t)*number >= lines->n_groups))
        record_reject(lines, "expected %s, found '%.40s'", ranges[i].what, word);
    return !*lines->damage;
}

/* Checks a word and parses its number. */
static bool read_field(struct record_lines *lines, char letter, size_t i) {
    const char *word = lines->words[i];
    const char *expected = NULL;
    char *end;
    errno = 0;
    switch (letter) {
    case 't':
        break;
    case 'f':
        expected = rank_ending_is_known(word) ? NULL : "the ending of an output, such as '.json' or '.et.gz'";
        break;
    case 'c':
        expected = record_count(&(struct sutra_link_report){0}, word) ? NULL : "the name of a count";
        break;
    case 'd':
        expected = find_defect(word) < N_DEFECTS ? NULL : "the name of a defect";
        break;
    case 'u':
        lines->number[i] = (int64_t)strtoull(word, &end, 10);
        expected = is_digit(*word) && !*end && !errno ? NULL : "an id";
        break;
    case 'x':
        lines->real[i] = strtod(word, &end);
        expected = (is_digit(*word) || *word == '-') && !*end && isfinite(lines->real[i]) ? NULL : "a number";
        break;
    default:
        return read_integer(lines, letter, word, &lines->number[i]);
    }
    if (expected)
        record_reject(lines, "expected %s, found '%.40s'", expected, word);
    return !expected;
}

/* Finds the form of the line by its first word, and checks that the line may follow the previous one. */
static bool find_form(struct record_lines *lines) {
    const struct line_form *forms = lines->is_plan ? plan_forms : record_forms;
    int n = lines->is_plan ? PLAN_END + 1 : RECORD_END + 1, last = lines->n_lines ? lines->line : -1, line = 0;
    while (line < n && strcmp(forms[line].word, lines->words[0]) != 0)
        line++;
    if (line == n) {
        record_reject(lines, "unknown word '%.40s'", lines->words[0]);
        return false;
    }
    for (int i = last + 1; i < line; i++)
        if (forms[i].is_required) {
            record_reject(lines, "expected '%s', found '%s'", forms[i].word, forms[line].word);
            return false;
        }
    if (line < last || (line == last && !forms[line].repeats)) {
        record_reject(lines, "'%s' must not follow '%s'", forms[line].word, forms[last].word);
        return false;
    }
    lines->line = line;
    return true;
}

static bool read_fields(struct record_lines *lines) {
    const char *fields = (lines->is_plan ? plan_forms : record_forms)[lines->line].fields;
    size_t n_fields = strlen(fields), min = 1 + strcspn(fields, "?"), max = n_fields + (min > n_fields);
    if (lines->n != min && lines->n != max) {
        record_reject(lines, "expected %zu words, found %zu%s", lines->n < min ? min : max, lines->n,
                      lines->n == RECORD_WORDS ? " or more" : "");
        return false;
    }
    for (size_t i = 1; i < lines->n; i++)
        if (!read_field(lines, fields[i - (i < min)], i))
            return false;
    lines->n_groups += !lines->is_plan && lines->line == RECORD_GROUP;
    return true;
}

/* Decodes the escapes of a word in place. */
static void unescape(char *word) {
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
    lines->start = lines->start ? lines->start : at;
    if (!*at || *lines->damage)
        return false;
    char *end = at + strcspn(at, "\n");
    lines->begin = at;
    if (!*end) {
        record_reject(lines, "the line is cut off");
        return false;
    }
    lines->text = end + 1;
    *end = 0;
    memset(lines->number, 0, sizeof lines->number);
    memset(lines->real, 0, sizeof lines->real);
    lines->n = 0;
    for (bool more = true; more && lines->n < RECORD_WORDS; at++) {
        lines->words[lines->n++] = at;
        at += strcspn(at, "\t");
        more = *at != 0;
        *at = 0;
    }
    for (size_t i = 0; i < RECORD_WORDS; i++)
        if (i < lines->n)
            unescape(lines->words[i]);
        else
            lines->words[i] = end;
    if (!find_form(lines) || !read_fields(lines))
        return false;
    lines->n_lines++;
    return true;
}

enum sutra_status record_finish(const struct record_lines *lines, const char *folder, const char *name,
                                struct sutra_error *error) {
    bool is_complete = lines->n_lines && lines->line == (lines->is_plan ? (int)PLAN_END : (int)RECORD_END);
    if (is_complete && !*lines->damage)
        return SUTRA_OK;
    char *path = record_path(folder, name);
    TRY_ALLOC(path, error);
    if (*lines->damage)
        error_file(error, SUTRA_DATA, path, "%s", lines->damage);
    else
        error_file(error, SUTRA_DATA, path, "expected 'end', found the end of the file");
    free(path);
    if (error) {
        error->offset = (uint64_t)(*lines->damage ? lines->begin - lines->start : lines->text - lines->start);
        error->line = lines->n_lines + 1;
    }
    return SUTRA_DATA;
}

/* Whether a record is intact and contains no error. */
static bool is_linked(char *text) {
    struct record_lines lines = {.text = text};
    bool linked = true;
    while (record_next(&lines))
        linked &= lines.line != RECORD_ERROR;
    return linked && record_finish(&lines, "", "", NULL) == SUTRA_OK;
}

bool record_holds(const char *folder, const struct record_of *of) {
    char name[RECORD_NAME_MAX], *path, *text = NULL;
    struct stat found;
    if (asprintf(&path, "%s/%s", folder, of->file) < 0)
        return false;
    bool holds = stat(path, &found) == 0 && S_ISREG(found.st_mode);
    free(path);
    record_name(of->pair->rank, name);
    holds = holds && record_read(folder, name, &text, NULL) == SUTRA_OK && text;
    struct text_out head = {0};
    if (holds) {
        add_head(&head, of, (uint64_t)found.st_size);
        size_t n = head.out.length;
        holds = !head.out.failed && strlen(text) > n && memcmp(text, head.out.bytes, n) == 0 && is_linked(text);
    }
    buffer_free(&head.out);
    free(text);
    return holds;
}
