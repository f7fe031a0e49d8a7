/*
 * job_write.c - job.json and comm_groups.json.
 *
 *     {"version": "0.1.0", "options": "...", "world_size": 8, "done": 7, "broken": 1, "not_linked": 0,
 *      "ranks": [{"rank": 0, "state": "done", "paired_by": "process", "host": {...}, "device": {...}, "file": {...},
 *                 "seconds": 0.1, "counts": {...}, "match": "ids", "confidence": 1.0, "n_host_linked": 120,
 *                 "covered_us": 980.5, "steps_us": 1000.0, "validity": [...], "warnings": [...]}, ...],
 *      "skipped": [{"path": "...", "why": "..."}], "findings": [...], "clocks": [...]}
 *
 *     {"1": [0, 1], "2": [2, 3]}      groups by the numbers that they have in .et files; group 0 contains all ranks
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_matches.h"
#include "base/error.h"
#include "job/job.h"
#include "simulate/node_graph.h"
#include "text/strings.h"
#include "write/json.h"
#include "write/text.h"

static const char *const rank_states[] = {
    [RANK_DONE] = "done", [RANK_BROKEN] = "broken", [RANK_MISSING] = "not linked"};

/* File names may contain bytes that are not UTF-8; question marks replace them. */
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
    json_key(json, key, strlen(key));
    add_string(json, text);
}

/* ---- A rank, from the lines of its record ---- */

/* A simulated rank has two files: one in the folder of records and one in the job's folder. Writes the latter. */
static void add_file(struct json_out *json, const struct record_lines *lines, const struct whole_rank *rank) {
    static const char first_pass[] = RECORD_FOLDER "/";
    char *const *words = lines->words;
    bool own = lines->line == RECORD_FILE;
    bool of_two = own && strncmp(words[1], first_pass, sizeof first_pass - 1) == 0;
    json_add_open(json, words[0], '{');
    add_text(json, "path", of_two ? words[1] + sizeof first_pass - 1 : words[1]);
    json_add_integer(json, "bytes", own ? (int64_t)rank->file_bytes : lines->number[2]);
    if (!own)
        json_add_integer(json, "modified_ns", lines->number[3]);
    json_close(json, '}');
}

/* An open list or object of lines with the same word; a line with another word closes it. */
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
    json_add_open(json, key, bracket);
    *list = (struct open_list){word, bracket == '{' ? '}' : ']'};
}

static void add_line(struct json_out *json, const struct whole_rank *rank, const struct record_lines *lines,
                     struct open_list *list) {
    char *const *words = lines->words;
    if (lines->line == RECORD_COUNT) {
        open_list(json, list, "count", "counts", '{');
        json_add_integer(json, words[1], lines->number[2]);
        return;
    }
    if (lines->line == RECORD_DEFECT) {
        struct trace_defect defect;
        enum trace_defect_kind kind = record_defect(lines, &defect);
        open_list(json, list, "defect", "validity", '[');
        const struct sutra_trace_defect published = defect_publish(&defect, kind, "");
        json_add_defect(json, &published);
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
        json_add_double(json, "seconds", lines->real[1]);
    else if (lines->line == RECORD_ERROR)
        add_text(json, "error", words[2]);
    if (lines->line == RECORD_MATCH) {
        struct sutra_link_match match;
        record_match(lines, &match);
        add_text(json, "match", words[1]);
        json_add_double(json, "confidence", match.by_names ? match.confidence : 1);
        json_add_count(json, "n_host_linked", rank->report.n_host_linked);
        json_add_double(json, "covered_us", match.covered_us);
        json_add_double(json, "steps_us", match.steps_us);
        if (match.by_names) {
            json_add_count(json, "n_positions", match.n_positions);
            add_text(json, "step", match.step);
        }
    }
    if (lines->line == RECORD_TIMES) {
        json_add_double(json, "measured_us", lines->real[1]);
        if (*words[2])
            json_add_double(json, "simulated_us", lines->real[2]);
    }
}

static void add_rank(struct json_out *json, const struct whole_rank *rank) {
    struct open_list list = {0};
    char *text = rank->record ? strdup(rank->record) : NULL;
    json_open(json, '{');
    json_add_integer(json, "rank", rank->rank);
    add_text(json, "state", rank_states[rank->state]);
    for (struct record_lines lines = {.text = text}; text && record_next(&lines);)
        add_line(json, rank, &lines, &list);
    close_list(json, &list);
    json_close(json, '}');
    json->text->out.failed |= rank->record && !text;
    free(text);
}

/* ---- The job ---- */

static bool write_job(const void *of, struct text_out *text) {
    const struct job_whole *whole = of;
    struct json_out json = {.text = text, .indent = 1};
    json_open(&json, '{');
    add_text(&json, "version", sutra_version());
    add_text(&json, "options", whole->options);
    json_add_integer(&json, "world_size", whole->world_size);
    json_add_count(&json, "done", whole->n_done);
    json_add_count(&json, "broken", whole->n_broken);
    json_add_count(&json, "not_linked", whole->n_missing);
    if (whole->matched_collectives)
        json_add_double(&json, "measured_us", whole->matched_collectives->measured_us);
    json_add_open(&json, "ranks", '[');
    for (size_t i = 0; i < whole->n_ranks; i++)
        add_rank(&json, &whole->ranks[i]);
    json_close(&json, ']');
    json_add_open(&json, "skipped", '[');
    for (size_t i = 0; i < whole->n_left; i++) {
        json_open(&json, '{');
        add_text(&json, "path", whole->left[i].path);
        add_text(&json, "why", whole->left[i].why);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_add_open(&json, "findings", '[');
    for (uint64_t i = 0; i < whole->n_findings; i++) {
        const struct job_finding *finding = &whole->findings[i];
        json_open(&json, '{');
        add_text(&json, "severity", check_severity_names[finding->severity]);
        add_text(&json, "rule", finding->rule);
        add_text(&json, "ranks", finding->ranks);
        add_text(&json, "text", finding->text);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_add_open(&json, "clocks", '[');
    for (row_t i = 0; i < whole->n_hosts; i++) {
        const struct host_clock *host = &whole->hosts[i];
        json_open(&json, '{');
        json_add_integer(&json, "host", host->host);
        json_add_integer(&json, "first_rank", host->first_rank);
        json_add_integer(&json, "last_rank", host->last_rank);
        json_add_double(&json, "offset_us", (double)host->offset_ns / 1e3);
        json_add_double(&json, "spread_us", (double)host->spread_ns / 1e3);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    out_add(text, "\n");
    return !text->out.failed;
}

/* ---- Groups ---- */

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
        json_add_open(&json, number, '[');
        for (const char *at = members + strcspn(members, "0123456789"); *at; at += strcspn(at, "0123456789")) {
            char *end;
            json_integer(&json, strtoll(at, &end, 10));
            at = end;
        }
        json_close(&json, ']');
    }
    json_close(&json, '}');
    out_add(text, "\n");
    return !text->out.failed;
}

enum sutra_status job_whole_write(const struct job_whole *whole, struct sutra_context *context, const char *folder,
                                  struct sutra_error *error) {
    uint64_t n_bytes = 0;
    if (strncmp(whole->ending, ".et", 3) == 0)
        TRY(text_file_write_in(context, folder, "comm_groups.json", write_groups, whole, &n_bytes, error));
    return text_file_write_in(context, folder, "job.json", write_job, whole, &n_bytes, error);
}
