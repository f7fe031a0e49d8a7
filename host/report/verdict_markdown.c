/*
 * verdict_markdown.c - writes the verdict as Markdown, for an issue or an agent: one claim per line.
 *
 *     # Why FILE is slow            | today | 348 ms | why |
 *     bar in a code block           ## 1. Title (up to p%), with Seen, Where, Code, Do, Check
 *     ## Not the cause              ## Not explained              ## Evidence: cut commands
 *     <details> with the shares and the version
 *
 * The document has at most 8 kB: without the details if necessary, then without Where, Code and Check.
 *
 * Cost: O(length).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "report/markup.h"
#include "report/verdict_words.h"
#include "sutra/sutra.h"
#include "write/text.h"

#define MARKDOWN_BYTES_MAX 8192

/* Parts of a document: a longer document has fewer. */
enum markdown_size { MARKDOWN_FULL, MARKDOWN_NO_DETAILS, MARKDOWN_NO_PLACES, MARKDOWN_N_SIZES };

/* Appends a command as code; absolute paths in it are reduced, also quoted ones. */
static void write_command(const struct markdown *markdown, const char *command) {
    struct buffer text = {0};
    while (*command) {
        bool is_quoted = false;
        size_t length = 0;
        for (; command[length] && (is_quoted || command[length] != ' '); length++) {
            const bool escapes = command[length] == '\\' && command[length + 1] && !is_quoted;
            is_quoted ^= command[length] == '\'';
            length += escapes;
        }
        const char *word = command;
        size_t n = length, quoted = word[0] == '\'' && n > 2;
        word += quoted;
        n -= quoted;
        markdown_reduce_path(markdown, &word, &n);
        buffer_append(&text, "'", quoted);
        buffer_append(&text, word, n);
        command += length;
        if (*command == ' ') {
            buffer_append_text(&text, " ");
            command++;
        }
    }
    markdown_code(markdown, text.bytes ? text.bytes : "", text.length);
    markdown->out->out.failed |= text.failed;
    buffer_free(&text);
}

/* ---- The document ---- */

static void write_bar(const struct markdown *markdown, const struct verdict_words *words) {
    struct text_out *out = markdown->out;
    out_add(out, "```text\n|");
    for (unsigned i = 0; i < words->n_bar; i++)
        for (unsigned cell = 0; cell < words->bar[i].cells; cell++)
            buffer_append(&out->out, &words->bar[i].symbol, 1);
    out_add(out, "|\n");
    for (unsigned i = 0; i < words->n_bar; i++)
        if (words->bar[i].percent >= 1)
            out_format(out, "%c %s %s %.1f%%\n", words->bar[i].symbol,
                       *words->bar[i].name ? words->bar[i].name : "rest", words->bar[i].time, words->bar[i].percent);
    out_add(out, "```\n\n");
}

static void write_labelled(const struct markdown *markdown, const char *label, const char *text) {
    if (!*text)
        return;
    out_format(markdown->out, "- **%s** ", label);
    markdown_text(markdown, text);
    out_add(markdown->out, "\n");
}

static void write_finding(const struct markdown *markdown, const struct finding_words *finding, unsigned number,
                          enum markdown_size size) {
    struct text_out *out = markdown->out;
    out_format(out, "## %u. ", number);
    markdown_text(markdown, finding->title);
    if (!isnan(finding->percent))
        out_format(out, " (%s %.*f%%)", finding->is_estimate ? "about" : "up to", finding->percent < 0.95,
                   finding->percent);
    out_add(out, "\n\n");
    write_labelled(markdown, "Seen", finding->seen);
    if (size < MARKDOWN_NO_PLACES) {
        write_labelled(markdown, "Where", finding->where);
        write_labelled(markdown, "Code", finding->code);
    }
    write_labelled(markdown, "Do", finding->fix);
    if (size < MARKDOWN_NO_PLACES)
        write_labelled(markdown, "Check", finding->check);
    out_add(out, "\n");
}

static void write_details(const struct markdown *markdown, const struct verdict_words *words) {
    const struct sutra_verdict *verdict = words->verdict;
    struct text_out *out = markdown->out;
    out_format(out, "<details><summary>Shares and version</summary>\n\n| part | share of %s |\n|---|--:|\n",
               verdict->n_steps ? "a step" : "the trace");
    for (int part = 0; part < SUTRA_N_PARTS && words->n_bar; part++)
        if (verdict->shares[part] > 0)
            out_format(out, "| `%s` | %.2f%% |\n", sutra_verdict_part_name((enum sutra_verdict_part)part),
                       verdict->shares[part]);
    out_format(out, "| `unexplained` | %.2f%% |\n\nsutra %s\n\n</details>\n", verdict->unexplained_percent,
               sutra_version());
}

static void write_document(struct markdown *markdown, const struct verdict_words *words, enum markdown_size size) {
    const struct sutra_verdict *verdict = words->verdict;
    struct text_out *out = markdown->out;
    out_add(out, "# Why ");
    markdown_code(markdown, words->name, strlen(words->name));
    out_add(out, " is slow\n\n");
    markdown_text(markdown, words->facts);
    out_add(out, ".\n\n");
    markdown->in_table = true;
    out_format(out, "| | %s | |\n|---|--:|---|\n| today | ", verdict->n_steps ? "step" : "trace");
    markdown_text(markdown, *words->step_time ? words->step_time : "unknown");
    out_add(out, " | ");
    markdown_text(markdown, *words->damage ? "The trace is damaged: " : words->why);
    markdown_text(markdown, words->damage);
    out_add(out, " |\n");
    if (*words->could) {
        out_add(out, "| at best | ");
        markdown_text(markdown, words->best_time);
        out_add(out, " | ");
        markdown_text(markdown, words->could);
        out_add(out, " |\n");
    }
    markdown->in_table = false;
    out_add(out, "\n");
    if (words->n_bar)
        write_bar(markdown, words);
    write_labelled(markdown, "Do", words->fix);
    out_add(out, *words->fix ? "\n" : "");
    for (unsigned i = 0; i < words->n_operators; i++)
        write_labelled(markdown, "Time", words->operators[i]);
    out_add(out, words->n_operators ? "\n" : "");
    for (unsigned i = 0; i < words->n_findings; i++)
        write_finding(markdown, &words->findings[i], i + 1, size);
    if (*words->not_judged) {
        out_add(out, "## Not judged\n\n");
        markdown_text(markdown, words->not_judged);
        out_add(out, "\n\n");
    }
    if (*words->suspects) {
        out_add(out, "## Not the cause\n\n");
        for (size_t i = 0; i < verdict->n_not_the_cause; i++) {
            out_add(out, "- ");
            markdown_text(markdown, verdict->not_the_cause[i].text);
            out_add(out, "\n");
        }
        out_add(out, "\n");
    }
    if (*words->unexplained) {
        out_add(out, "## Not explained\n\n");
        markdown_text(markdown, words->unexplained);
        out_add(out, "\n\n");
    }
    bool has_evidence = false;
    for (unsigned i = 0; i < words->n_findings; i++) {
        if (!*words->findings[i].evidence.command)
            continue;
        if (!has_evidence)
            out_add(out, "## Evidence\n\n");
        has_evidence = true;
        out_format(out, "- finding %u: ", i + 1);
        write_command(markdown, words->findings[i].evidence.command);
        out_add(out, "\n");
    }
    out_add(out, has_evidence ? "\n" : "");
    if (size < MARKDOWN_NO_DETAILS && words->n_bar)
        write_details(markdown, words);
}

void verdict_markdown(const struct verdict_words *words, bool keep_paths, struct text_out *out) {
    struct markdown markdown = {.out = out, .keep_paths = keep_paths};
    const size_t begin = out->out.length;
    for (int size = 0; size < MARKDOWN_N_SIZES; size++) {
        out->out.length = begin;
        write_document(&markdown, words, (enum markdown_size)size);
        if (out->out.length - begin <= MARKDOWN_BYTES_MAX)
            return;
    }
}

enum sutra_status sutra_overview_markdown(const struct sutra_overview *overview, int keep_paths, char **text,
                                          size_t *length, struct sutra_error *error) {
    struct arena arena = {0};
    struct verdict_words words;
    struct text_out out = {0};
    enum sutra_status status = verdict_words_of(overview, &arena, &words, error);
    if (!status) {
        verdict_markdown(&words, keep_paths, &out);
        buffer_append(&out.out, "", 1);
        status = out.out.failed ? error_memory(error) : SUTRA_OK;
    }
    arena_free(&arena);
    if (status) {
        buffer_free(&out.out);
        return status;
    }
    *text = out.out.bytes;
    *length = out.out.length - 1;
    return SUTRA_OK;
}
