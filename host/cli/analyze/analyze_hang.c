/*
 * analyze_hang.c - `sutra analyze hang`: reads dumps of PyTorch's flight recorder; prints why the job hangs, and writes
 * tables and the page.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analyze/hang/hang.h"
#include "base/error.h"
#include "base/shared.h"
#include "cli/analyze/analysis.h"
#include "cli/terminal.h"
#include "sutra/report.h"
#include "text/quantities.h"
#include "text/strings.h"

#define COLUMNS           80
#define HEAD_INDENT       18
#define FINDING_INDENT    11
#define WAITS_SHOWN       6
#define WAITS_IN_MARKDOWN 20
#define GROUP_COLUMNS_MAX 12
#define DESCRIPTION_MIN   8

enum hang_output { HANG_TEXT, HANG_JSON, HANG_MARKDOWN };
static const char *const formats[] = {"text", "json", "markdown", NULL}; /* in the order of enum hang_output */

struct hang_analysis {
    struct analysis analysis;
    struct sutra_hang_options options;
    int format; /* enum hang_output */
    bool fail_if_stuck;
    struct sutra_hang *hang;
};

/* ---- Screen ---- */

/* Prints a title in bold letters; returns its columns. */
static int print_bold(const char *text) {
    const bool is_bold = screen_has_colours();
    if (is_bold)
        screen_style("\033[1m");
    int n = printf("%s", text);
    if (is_bold)
        screen_style("\033[0m");
    return n;
}

/* Prints a label and a paragraph with a hanging indent; nothing for "". */
static void print_labelled(const char *label, const char *text) {
    if (*text)
        wrapped_print(text, printf("   %s", label), FINDING_INDENT);
}

/* Nodes at or near the roots in columns. */
static void print_waits(const struct sutra_hang *hang, struct arena *arena) {
    const struct hang_wait *waits = hang_list_waits(hang, arena, WAITS_SHOWN);
    const uint32_t n = waits ? MIN(hang->n_nodes, WAITS_SHOWN) : 0;
    size_t group = 0, number = 0, description_width = 0, text = 0;
    for (uint32_t i = 0; i < n; i++) {
        group = MAX(group, strlen(waits[i].group));
        number = MAX(number, strlen(waits[i].number));
        description_width = MAX(description_width, strlen(waits[i].description));
        text = MAX(text, strlen(waits[i].text));
    }
    group = MIN(group, GROUP_COLUMNS_MAX);
    const size_t used = HEAD_INDENT + group + 2 + number + 2 + text + 2;
    const size_t room = used + DESCRIPTION_MIN < COLUMNS ? COLUMNS - used : DESCRIPTION_MIN;
    description_width = MIN(description_width, room);
    for (uint32_t i = 0; i < n; i++) {
        printf("%-*s%-*s  %*s", HEAD_INDENT, i ? "" : "  waits for", (int)group,
               short_text(waits[i].group, (unsigned)MAX(group, 8)).text, (int)number, waits[i].number);
        if (description_width)
            printf("  %-*s", (int)description_width,
                   short_text(waits[i].description, (unsigned)MAX(description_width, 8)).text);
        printf("  %s\n", waits[i].text);
    }
    if (n < hang->n_nodes && n > 0)
        printf("%*s... %s more\n", HEAD_INDENT, "", count_text(hang->n_nodes - n).text);
    if (n > 0)
        putchar('\n');
}

static void print_finding(const struct hang_root *root, struct arena *arena, uint32_t number) {
    const char *title = arena_format(arena, "%u. %s%s", number, root->title,
                                     root->confidence == HANG_LOW && number > 1 ? " (low confidence)" : "");
    const char *ranks = arena_format(arena, "rank%s %s", root->ranks.n == 1 ? "" : "s",
                                     hang_ranks_text(arena, root->ranks, HANG_RANGES_SHOWN));
    const int gap = COLUMNS - print_bold(title) - (int)strlen(ranks);
    printf("%*s%s\n", gap > 2 ? gap : 2, "", ranks);
    print_labelled("Seen", root->seen);
    print_labelled("Where", root->where);
    print_labelled("Do", root->remedy);
    print_labelled("Check", root->check);
    putchar('\n');
}

/* "rank 0-7 of 8, 13 groups, 95 entries, flight recorder 2.9" */
static const char *facts_text(const struct sutra_hang *hang, struct arena *arena) {
    int64_t *list = arena_alloc(arena, hang->n_ranks, sizeof *list);
    for (uint32_t i = 0; i < hang->n_ranks && list; i++)
        list[i] = hang->ranks[i].rank;
    const char *ranks = list ? hang_ranks_text(arena, (struct hang_ranks){list, hang->n_ranks}, 3) : "";
    const char *facts = arena_format(
        arena, "rank %s of %s, %s, %s, flight recorder", ranks, count_text(hang->world.n).text,
        counted_text(hang->n_groups, "group", "groups").text, counted_text(hang->n_entries, "entry", "entries").text);
    for (size_t i = 0; i < hang->n_versions && i < 4; i++)
        facts = arena_format(arena, "%s%s %s", facts, i ? "," : "", short_text(hang->versions[i], 16).text);
    if (hang->n_skipped)
        facts = arena_format(arena, "%s, %s skipped", facts, counted_text(hang->n_skipped, "file", "files").text);
    return facts;
}

static void print_text(const struct hang_analysis *self, struct arena *arena) {
    const struct sutra_hang *hang = self->hang;
    const struct operands *operands = &self->analysis.job.operands;
    const char *facts = facts_text(hang, arena);
    int column = print_bold(short_path(operands->words[0], 60).text);
    if (operands->n > 1)
        column += printf(" and %u more", operands->n - 1);
    const bool fits = column + 3 + (int)strlen(facts) <= COLUMNS;
    if (!fits)
        putchar('\n');
    wrapped_print(facts, fits ? column : 0, fits ? column + 3 : 2);
    putchar('\n');
    wrapped_print(hang->why, print_bold(hang->n_roots ? "WHY IT HANGS" : "NO HANG FOUND"), HEAD_INDENT);
    wrapped_print(hang->confidence_text, print_bold("CONFIDENCE"), HEAD_INDENT);
    putchar('\n');
    print_waits(hang, arena);
    for (uint32_t i = 0; i < hang->n_roots && i < HANG_FINDINGS_SHOWN; i++)
        print_finding(&hang->roots[i], arena, i + 1);
    if (hang->n_roots > HANG_FINDINGS_SHOWN)
        printf("%s: --format json\n\n",
               counted_text(hang->n_roots - HANG_FINDINGS_SHOWN, "more finding", "more findings").text);
    if (!hang->n_roots) {
        print_labelled("Do", hang_none_remedy);
        putchar('\n');
    }
    const char *waiting = hang_waiting_groups_text(hang, arena);
    if (*waiting) {
        column = print_bold("Not the cause:");
        wrapped_print(arena_format(arena, "%s.", waiting), column, 2);
    }
    if (!self->analysis.job.output) {
        struct buffer command = {0};
        for (unsigned i = 0; i < operands->n; i++) {
            buffer_append_text(&command, " ");
            shell_append_word(&command, operands->words[i]);
        }
        buffer_append(&command, "", 1); /* NUL */
        print_bold("Next:");
        printf("\n  sutra analyze hang%s -o out%s\n", command.failed ? " DUMPS" : command.bytes,
               command.length + 60 <= COLUMNS ? "     tables of groups, waits and ranks" : "");
        buffer_free(&command);
    }
}

/* ---- Markdown ---- */

static void print_markdown_item(const char *label, const char *text) {
    if (!*text)
        return;
    printf("- **%s:** ", label);
    markdown_print(MARKDOWN_TEXT, text);
    putchar('\n');
}

static void print_markdown(const struct sutra_hang *hang, struct arena *arena) {
    puts(hang->n_roots ? "## Why the job hangs\n" : "## No hang found\n");
    markdown_print(MARKDOWN_TEXT, hang->why);
    printf("\n\n- **Confidence:** ");
    markdown_print(MARKDOWN_TEXT, hang->confidence_text);
    printf("\n- **Dumps:** ");
    markdown_print(MARKDOWN_TEXT, facts_text(hang, arena));
    puts("");
    const struct hang_wait *waits = hang_list_waits(hang, arena, WAITS_IN_MARKDOWN);
    const uint32_t n = waits ? MIN(hang->n_nodes, WAITS_IN_MARKDOWN) : 0;
    if (n > 0)
        puts("\n| group | number | description | waits |\n|---|---|---|---|");
    for (uint32_t i = 0; i < n; i++) {
        const char *const cells[] = {waits[i].group, waits[i].number, waits[i].description, waits[i].text};
        for (size_t k = 0; k < COUNT_OF(cells); k++) {
            printf("| ");
            markdown_print(MARKDOWN_CELL, cells[k]);
            putchar(' ');
        }
        puts("|");
    }
    if (n < hang->n_nodes && n > 0)
        printf("\n%s not listed.\n", counted_text(hang->n_nodes - n, "wait is", "waits are").text);
    for (uint32_t i = 0; i < hang->n_roots && i < HANG_FINDINGS_SHOWN; i++) {
        const struct hang_root *root = &hang->roots[i];
        printf("\n### %u. %s: rank%s %s\n\n", i + 1, root->title, root->ranks.n == 1 ? "" : "s",
               hang_ranks_text(arena, root->ranks, HANG_RANGES_SHOWN));
        print_markdown_item("Confidence", hang_confidence_names[root->confidence]);
        print_markdown_item("Seen", root->seen);
        print_markdown_item("Where", root->where);
        print_markdown_item("Do", root->remedy);
        print_markdown_item("Check", root->check);
    }
    if (!hang->n_roots) {
        puts("");
        print_markdown_item("Do", hang_none_remedy);
    }
    const char *waiting = hang_waiting_groups_text(hang, arena);
    if (*waiting) {
        printf("\nNot the cause: ");
        markdown_print(MARKDOWN_TEXT, waiting);
        puts(".");
    }
}

/* ---- The analysis ---- */

/* All files in the operands and below their directories may be dumps. */
static int list_dumps(struct analysis *analysis) {
    struct job *job = &analysis->job;
    TRY_CODE(run_list_all_files(job, &job->traces));
    job->inputs = (const char *const *)job->traces.paths;
    job->n_inputs = job->traces.n;
    if (job->n_inputs == 0)
        return message_fail(SUTRA_DATA, "%s: no file in this directory: expected dumps of PyTorch's flight recorder",
                            job->operands.words[0]);
    return SUTRA_OK;
}

static enum sutra_status work(struct analysis *analysis, struct sutra_error *error) {
    struct hang_analysis *self = (struct hang_analysis *)analysis;
    struct job *job = &analysis->job;
    self->options.operations = job->output != NULL;
    TRY(sutra_hang_run(job->context, job->inputs, job->n_inputs, &self->options, &self->hang, error));
    if (job->output)
        TRY(analysis_write_tables(analysis, SUTRA_RESULT(self->hang), RANK_ALL, error));
    if (job->output && !analysis->no_report) {
        uint64_t n_bytes = 0;
        TRY(sutra_report_write_hang(job->context, self->hang, analysis->results.path, &n_bytes, error));
        job->figures.output_bytes += n_bytes;
    }
    if (self->format != HANG_JSON)
        return SUTRA_OK;
    progress_clear(&job->watch.progress);
    return sutra_hang_write_json(job->context, self->hang, "-", NULL, error);
}

static int report(struct analysis *analysis) {
    const struct hang_analysis *self = (const struct hang_analysis *)analysis;
    const struct sutra_hang *hang = self->hang;
    struct arena arena = {0};
    if (self->format == HANG_MARKDOWN)
        print_markdown(hang, &arena);
    else if (self->format == HANG_TEXT && !analysis->job.quiet)
        print_text(self, &arena);
    char culprits[512];
    snprintf(culprits, sizeof culprits, "%s", hang_ranks_text(&arena, hang->culprits, HANG_RANGES_SHOWN));
    const bool failed = arena.failed;
    arena_free(&arena);
    if (failed)
        return message_fail(SUTRA_SYSTEM, "out of memory");
    const struct named_count counts[] = {{"n_ranks", hang->n_ranks},     {"n_groups", hang->n_groups},
                                         {"n_entries", hang->n_entries}, {"n_pending", hang->n_pending},
                                         {"n_causes", hang->n_roots},    {"n_skipped", hang->n_skipped}};
    TRY_CODE(analysis_close(analysis, counts, COUNT_OF(counts), NULL, 0));
    if (self->fail_if_stuck && hang->n_roots)
        return message_fail(SUTRA_STRICT, "the job is stuck: %s, rank%s %s", hang_cause_names[hang->cause],
                            hang->culprits.n == 1 ? "" : "s", culprits);
    return SUTRA_OK;
}

static void release(struct job *job) {
    sutra_hang_free(((struct hang_analysis *)job)->hang);
}

/* ---- The command ---- */

static const struct stage_share stages[] = {
    {"read dumps", 80, false}, {"analyze dumps", 15, false}, {"write", 5, false}, {0}};

static const struct analysis_kind kind = {.page = PAGE_HANG, .list = list_dumps, .work = work, .report = report};
static const struct hang_analysis defaults = {.analysis = {.kind = &kind, .job.stages = stages},
                                              .options.size = sizeof(struct sutra_hang_options)};

static const struct option_row options[] = {
    ANALYSIS_ROW_OUTPUT("hang"),
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(hang_analysis, format), .choices = formats,
     .help = "print text, json with all results, or markdown for an issue or an agent (default: text)"},
    ANALYSIS_ROW_TABLE_FORMAT,
    {"fail-if-stuck", 0, OPTION_FLAG, AT(hang_analysis, fail_if_stuck),
     .help = "exit with 1 if a recorded operation is pending"},
    ANALYSIS_ROWS_REPORT,
    JOB_ROW_THREADS,
    ANALYSIS_ROWS_HOW,
    {0},
};

static const char *const synopses[] = {"DUMPS... [-o DIR] [OPTIONS]", NULL};
static const char *const description[] = {
    "Reports why a job hangs: the stuck collective, send or receive, the ranks that did not arrive, and their last calls; "
    "or the ranks that run another operation, size, dtype or order.",
    "DUMPS are dumps of PyTorch's flight recorder, one per rank (pickle or JSON, also compressed), or directories, which "
    "are searched recursively. The rank is the last number of the file name. Pickles are read, never executed: an opcode "
    "that could run code is an error. Unreadable files are skipped with a warning.",
    "Dumps of a running job have pending operations, too: dump after the timeout, or compare two dumps.",
    NULL,
};
static const struct example examples[] = {
    {"sutra analyze hang dumps/", "find the ranks that did not arrive"},
    {"sutra analyze hang dumps/ -o out", "also write the page, and tables of groups, waits, ranks and operations"},
    {"sutra analyze hang dumps/ --format markdown", "print the findings for an issue or an agent"},
    {"sutra analyze hang dumps/ --fail-if-stuck -q", "test in a script whether the job hangs"},
    {0},
};

const struct command analyze_hang_command = {
    .name = "hang",
    .called = "sutra analyze hang",
    .summary = "the cause of a hung job, from flight recorder dumps",
    COMMAND_TEXTS,
    .n_operands_min = 1,
    .n_operands_max = OPERANDS_ANY,
    .missing = "the dumps are missing",
    .size = sizeof(struct hang_analysis),
    .defaults = &defaults,
    .check = analysis_check,
    .writes = "",
    .work = analysis_run,
    .release = release,
};
