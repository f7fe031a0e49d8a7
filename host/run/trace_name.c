/*
 * trace_name.c - implements the last section of run.h with a table of patterns: words, separators, digits.
 */
#include "run/entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/shared.h"
#include "text/numbers.h"
#include "text/strings.h"

/* ---- Patterns: a number after one of some words ---- */

enum pattern_id { PATTERN_RANK, PATTERN_COORDINATE, PATTERN_NUMBER, PATTERN_LABEL };

#define WORDS_MAX 12

static const struct name_pattern {
    const char *words[WORDS_MAX]; /* of words with one beginning, the longest first */
    const char *separators;       /* between word and number: one of them or none, */
    bool repeats;                 /* or any number of them */
    bool inside_words;            /* letters may precede the word */
    unsigned n_digits;            /* at most */
} patterns[] = {
    [PATTERN_RANK] = {{"rank"}, "-_=. [(", .repeats = true, .inside_words = true, .n_digits = 9},
    [PATTERN_COORDINATE] = {{"dp", "pp", "cp", "dcp", "ep", "tp"}, "-_", .n_digits = 6},
    [PATTERN_NUMBER] = {{"worker", "trace", "profile", "process", "proc", "device", "gpu", "r"}, "-_.", .n_digits = 5},
    [PATTERN_LABEL] = {{"global_step", "iteration", "iter", "step", "window", "epoch", "cycle", "rollout", "batch"},
                       "-_=. ",
                       .n_digits = 12},
};

/* A number and its word in a text, at bytes begin .. end - 1. */
struct name_match {
    size_t begin, end;
    unsigned word;
    int64_t number;
};

/* Whether a word of the pattern and a number are at byte `at`. */
static bool match_at(const struct name_pattern *pattern, const char *text, size_t at, struct name_match *match) {
    if (!pattern->inside_words && at > 0 && is_letter(text[at - 1]))
        return false;
    for (unsigned word = 0; word < WORDS_MAX && pattern->words[word]; word++) {
        const size_t length = strlen(pattern->words[word]);
        if (strncasecmp(text + at, pattern->words[word], length) != 0)
            continue;
        const char *digits = text + at + length;
        const size_t n_separators = strspn(digits, pattern->separators);
        digits += pattern->repeats ? n_separators : MIN(n_separators, 1);
        const size_t n = strspn(digits, "0123456789");
        if (n == 0 || n > pattern->n_digits)
            continue;
        *match = (struct name_match){at, (size_t)(digits - text) + n, word, strtoll(digits, NULL, 10)};
        return true;
    }
    return false;
}

/* The first match at or after byte `from`. */
static bool find_match(enum pattern_id id, const char *text, size_t from, struct name_match *match) {
    for (; text[from]; from++)
        if (match_at(&patterns[id], text, from, match))
            return true;
    return false;
}

/* The number of the last match, or NAME_NONE. */
static int64_t last_number(enum pattern_id id, const char *text) {
    struct name_match match = {.number = NAME_NONE};
    for (size_t at = 0; find_match(id, text, at, &match); at = match.end)
        continue;
    return match.number;
}

/* Replaces each match by a blank. */
static void blank_matches(enum pattern_id id, char *text) {
    struct name_match match;
    for (size_t at = 0; find_match(id, text, at, &match); at = match.begin + 1) {
        text[match.begin] = ' ';
        memmove(text + match.begin + 1, text + match.end, strlen(text + match.end) + 1);
    }
}

/* ---- Coordinates ---- */

static void read_coordinates(const char *text, struct trace_name *name) {
    static const int coordinate_of_word[] = {COORDINATE_DP, COORDINATE_PP, COORDINATE_CP,
                                             N_COORDINATES, COORDINATE_EP, COORDINATE_TP}; /* dcp counts for nothing */
    struct name_match match;
    for (size_t at = 0; find_match(PATTERN_COORDINATE, text, at, &match); at = match.end) {
        const int coordinate = coordinate_of_word[match.word];
        name->has_coordinates = true;
        name->has_dp |= coordinate == COORDINATE_DP;
        if (coordinate < N_COORDINATES)
            name->coordinates[coordinate] = match.number;
    }
}

/* ---- Labels of windows ---- */

/* Whether a directory is a date and a time: 2026_11_28_04_24_30, 20261128-0424. */
static bool is_date(const char *text) {
    /* 0: a digit; -: "-", "_" or nothing; T: one of both or "T" */
    for (const char *form = "0000-00-00T00-00-00"; *form; form++) {
        const bool is_separated = *text && strchr(*form == 'T' ? "-_T" : "-_", *text);
        if (!*text && strcmp(form, "-00") == 0) /* without seconds */
            return true;
        if ((*form == '0' && !is_digit(*text)) || (*form == 'T' && !is_separated))
            return false;
        text += *form == '0' || is_separated;
    }
    return !*text;
}

/* Sets the label of a directory, which is its whole text, or of a file name. False: there is no label. */
static bool read_label(const char *text, bool is_directory, struct trace_name *name) {
    struct name_match match = {.number = NAME_NONE};
    if (!find_match(PATTERN_LABEL, text, 0, &match) && !(is_directory && is_date(text)))
        return false;
    if (is_directory) {
        match.begin = 0;
        match.end = strlen(text);
    }
    name->label = match.number == NAME_NONE ? LABEL_IS_DATE : match.number;
    snprintf(name->label_text, sizeof name->label_text, "%.*s", (int)(match.end - match.begin), text + match.begin);
    return true;
}

/* ---- The file name ---- */

/* HOST_PID.TIME, HOST_PID.worker.TIME or HOST_PID, of the process: sets the host, and reduces the name to the rest. */
static void read_host(char *text, int64_t pid, struct trace_name *name) {
    char *time = strrchr(text, '.'), *end = text + strlen(text);
    const bool has_time = time && strspn(time + 1, "0123456789") >= 10 && time[1 + strspn(time + 1, "0123456789")] == 0;
    if (has_time) {
        char *worker = end = time;
        while (worker > text && (is_letter(worker[-1]) || worker[-1] == '_'))
            worker--;
        if (worker < time && worker > text && worker[-1] == '.')
            end = worker - 1;
    }
    char *number = end;
    while (number > text && is_digit(number[-1]))
        number--;
    if (number == end || number < text + 2 || number[-1] != '_' || strtoll(number, NULL, 10) != pid ||
        (pid < 1000 && !has_time))
        return;
    snprintf(name->host, sizeof name->host, "%.*s", (int)MIN(number - 1 - text, 255), text);
    memmove(text, end, strlen(end) + 1);
}

/* The number after a word of the pattern; else the only number below 100,000 that is not the process. */
static int64_t read_number(const char *text, int64_t pid) {
    struct name_match match;
    int64_t only = NAME_NONE;
    if (find_match(PATTERN_NUMBER, text, 0, &match))
        return match.number;
    for (const char *at = text; *at;) {
        size_t n = strspn(at, "0123456789");
        const int64_t number = n > 0 && n <= 18 ? strtoll(at, NULL, 10) : NAME_NONE;
        if (number >= 0 && number < 100000 && number != pid) {
            if (only != NAME_NONE)
                return NAME_NONE;
            only = number;
        }
        at += n + (n == 0);
    }
    return only;
}

/* A number of nanoseconds since 1970. */
static int64_t read_time(const char *text) {
    for (const char *at = text; *at;) {
        const size_t n = strspn(at, "0123456789");
        if (n == 19 && *at == '1')
            return strtoll(at, NULL, 10);
        at += n + (n == 0);
    }
    return NAME_NONE;
}

/* ---- Roles ---- */

static void append_folder(char *path, const char *folder) {
    const size_t length = strlen(path);
    snprintf(path + length, NAME_TEXT_MAX - length, "%s%s", length ? "/" : "", folder);
}

/* Appends a directory or the file name to the role, if it has the name of an engine. */
static void add_role(const char *text, struct trace_name *name) {
    static const char *const engines[] = {
        "_actor_",     "_critic_",  "_decode_", "_encoder_", "_eval_",     "_extend_",    "_generation_",
        "_generator_", "_learner_", "_policy_", "_prefill_", "_ref_",      "_reference_", "_reward_",
        "_rollout_",   "_sampler_", "_train_",  "_trainer_", "_training_", "_validate_",  "_validation_"};
    char words[256], made[260] = "_";
    size_t n = 1;
    bool is_role = false;
    snprintf(words, sizeof words, "%s", text);
    blank_matches(PATTERN_COORDINATE, words);
    blank_matches(PATTERN_LABEL, words);
    blank_matches(PATTERN_RANK, words);
    for (const char *at = words; *at; at++)
        if (is_letter(*at) || made[n - 1] != '_')
            made[n++] = is_letter(*at) ? (char)(*at | 0x20) : '_';
    if (n == 1) /* no word is left */
        return;
    if (made[n - 1] != '_')
        made[n++] = '_';
    made[n] = 0;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        is_role |= strstr(made, engines[i]) != NULL;
    if (!is_role)
        return;
    made[n - 1] = 0;
    const char *part = strcmp(made, "_extend") == 0 ? "prefill" : made + 1;
    if (strcmp(path_file_name(name->role), part) != 0)
        append_folder(name->role, part);
}

/* ---- A path ---- */

void trace_name_read(const char *path, int64_t pid, struct trace_name *name) {
    static const char *const extensions[] = {".gz", ".zst", ".json", ".trace", ".pt"};
    char folders[NAME_TEXT_MAX], text[256];
    const char *file = path_file_name(path);
    const size_t n_folders = MIN((size_t)(file - path), sizeof folders - 1);
    memset(name, 0, offsetof(struct trace_name, label_text));
    name->label_text[0] = name->host[0] = name->folder[0] = name->node[0] = name->role[0] = 0;
    name->directory_rank = name->number = name->label = NAME_NONE;

    /* Directories, the innermost last. */
    memcpy(folders, path, n_folders);
    folders[n_folders] = 0;
    char *rest = folders;
    for (char *folder; (folder = strsep(&rest, "/"));) {
        const int64_t rank = last_number(PATTERN_RANK, folder);
        if (!*folder)
            continue;
        if (!read_label(folder, true, name)) {
            append_folder(name->folder, folder);
            if (rank == NAME_NONE)
                append_folder(name->node, folder);
        }
        if (rank != NAME_NONE)
            name->directory_rank = rank;
        add_role(folder, name);
    }

    /* The file name, less and less of it. */
    snprintf(text, sizeof text, "%s", file);
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        const size_t length = strlen(text), n = strlen(extensions[i]);
        if (length >= n && strcasecmp(text + length - n, extensions[i]) == 0)
            text[length - n] = 0;
    }
    name->time_ns = read_time(text);
    read_host(text, pid, name);
    if (name->label == NAME_NONE)
        read_label(text, false, name);
    blank_matches(PATTERN_LABEL, text);
    name->rank = last_number(PATTERN_RANK, text);
    read_coordinates(text, name);
    blank_matches(PATTERN_RANK, text);
    blank_matches(PATTERN_COORDINATE, text);
    name->number = read_number(text, pid);
    add_role(text, name);
    if (name->has_coordinates)
        return;
    memcpy(folders, path, n_folders);
    read_coordinates(folders, name);
}
