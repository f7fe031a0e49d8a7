/*
 * analyze_memory.c - `sutra analyze memory`: reads memory snapshots or Kineto traces with memory events; prints
 * findings and the peak of each device, and writes tables.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/memory/memory.h"
#include "cli/analyze/analysis.h"
#include "cli/terminal.h"
#include "sutra/report.h"
#include "text/quantities.h"

#define N_ROWS     4 /* of each list on the terminal */
#define NAME_WIDTH 40
#define TEXT_MAX   1200 /* bytes of a row */

enum memory_output { MEMORY_TEXT, MEMORY_JSON, MEMORY_MARKDOWN };
static const char *const formats[] = {"text", "json", "markdown", NULL}; /* in the order of enum memory_output */

struct memory_analysis {
    struct analysis analysis;
    struct sutra_memory_options options;
    int format; /* enum memory_output */
    char *against;
    struct trace_list against_list;
    struct sutra_memory *memory;
};

/* ---- Page ---- */

/* One row: title (only in the first row of a list), bytes, share, text. */
static void print_row(bool is_markdown, const char *title, int64_t bytes, double share, const char *text) {
    char percent[16] = "";
    if (share >= 0)
        snprintf(percent, sizeof percent, "%.1f %%", share);
    if (!is_markdown) {
        printf("  %-12s %10s %8s  %s\n", title, binary_bytes_text(bytes).text, percent, text);
        return;
    }
    printf("| %s | %s | %s | ", title, binary_bytes_text(bytes).text, percent);
    markdown_print(MARKDOWN_CELL, text);
    puts(" |");
}

static void print_groups(const struct sutra_memory *memory, bool is_markdown, const char *title,
                         const struct memory_groups *groups) {
    for (uint32_t i = 0; i < groups->n && i < N_ROWS; i++) {
        const struct memory_group *group = &groups->list[i];
        const char *name = strings_text(&memory->names, group->name);
        char text[TEXT_MAX];
        snprintf(text, sizeof text, "%s, %s", counted_text(group->count, "allocation", "allocations").text,
                 *name ? short_text(name, NAME_WIDTH).text : "no operator");
        print_row(is_markdown, i ? "" : title, group->bytes, memory_percent(group->bytes, groups->bytes), text);
    }
}

static void print_steps(const struct memory_device *d, bool is_markdown) {
    if (!d->n_steps)
        return;
    const struct memory_step *largest = d->steps;
    for (uint32_t i = 1; i < d->n_steps; i++)
        if (d->steps[i].peak_active > largest->peak_active)
            largest = &d->steps[i];
    char text[TEXT_MAX];
    snprintf(text, sizeof text, "largest peak of %s, in step %" PRId64, counted_text(d->n_steps, "step", "steps").text,
             largest->number);
    print_row(is_markdown, "steps", largest->peak_active, -1, text);
    int64_t growth = d->steps[d->n_steps - 1].end_active - d->steps[0].end_active;
    print_row(is_markdown, "", growth, -1, "growth from the end of the first step to the end");
}

static void print_device(const struct sutra_memory *memory, const struct memory_device *d, bool is_markdown) {
    char span[140] = "";
    if (d->has_time)
        snprintf(span, sizeof span, " in %s", time_text((double)(d->time_ns[d->n_events] - d->time_ns[0]) / 1000).text);
    printf(is_markdown ? "\n### %s: %s%s\n\n| | bytes | share | |\n|---|---:|---:|---|\n" : "\n%s: %s%s\n", d->name,
           counted_text(d->n_events, "event", "events").text, span);

    char text[TEXT_MAX] = "active before the first event";
    if (d->peak)
        snprintf(text, sizeof text, "active after event %s of %s", count_text(d->peak - 1).text,
                 count_text(d->n_events).text);
    if (d->has_step)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", step %" PRId64, d->peak_step);
    print_row(is_markdown, "peak", d->active[d->peak], -1, text);
    int64_t reserved = d->reserved[d->peak];
    if (reserved)
        print_row(is_markdown, "", reserved, -1, "reserved at the peak");
    print_row(is_markdown, "end", d->active[d->n_events], -1, "active after the last event");

    if (d->categories.n != 1 || strcmp(strings_text(&memory->names, d->categories.list[0].name), "unknown") != 0)
        print_groups(memory, is_markdown, "categories", &d->categories);
    print_groups(memory, is_markdown, "operators", &d->operators);
    print_groups(memory, is_markdown, "frames", &d->frames);
    print_steps(d, is_markdown);
    const struct memory_segments *segments = &d->segments;
    if (segments->n_segments) {
        snprintf(text, sizeof text, "reserved in %s at the end",
                 counted_text(segments->n_segments, "segment", "segments").text);
        print_row(is_markdown, "segments", segments->reserved, -1, text);
        print_row(is_markdown, "", segments->inactive_split,
                  memory_percent(segments->inactive_split, segments->reserved),
                  "inactive split blocks (fragmentation)");
        print_row(is_markdown, "", segments->largest_free_block, -1, "largest free block");
    }
    if (d->not_freed.n)
        print_row(is_markdown, "not freed", d->not_freed.bytes, -1, "allocated during the recording");
}

static void print_input(const struct sutra_memory *memory, const struct memory_input *input, bool is_markdown) {
    const char *kind = input->is_snapshot ? "memory snapshot" : "Kineto trace with memory events";
    if (is_markdown) {
        printf("## ");
        markdown_print(MARKDOWN_PATH, input->path);
        printf(": %s\n\n", kind);
    } else {
        printf("%s: %s\n", short_path(input->path, 80 - (unsigned)strlen(kind) - 2).text, kind);
    }
    for (uint32_t i = 0; i < input->n_findings; i++) {
        const struct memory_finding *finding = &input->findings[i];
        if (i == 5) {
            printf("%s of ", counted_text(input->n_findings - i, "more finding", "more findings").text);
            if (is_markdown)
                markdown_print(MARKDOWN_PATH, input->path);
            else
                printf("%s", short_path(input->path, 30).text);
            puts("; all are in --format json");
            break;
        }
        int column = printf("%" PRIu32 ". %s:", i + 1, input->devices[finding->device].name);
        if (!is_markdown) {
            wrapped_print(finding->text, column, 3);
            continue;
        }
        putchar(' ');
        markdown_print(MARKDOWN_TEXT, finding->text);
        putchar('\n');
    }
    if (!input->n_findings)
        puts("No findings: no rule fires for this input.");
    for (uint32_t i = 0; i < input->n_devices; i++)
        print_device(memory, &input->devices[i], is_markdown);
}

static void print_comparison(const struct sutra_memory *memory, bool is_markdown) {
    const struct memory_input *a = &memory->inputs[0], *b = &memory->inputs[1];
    char text[TEXT_MAX];
    if (is_markdown) {
        printf("## Difference of memory: B - A\n\nA: ");
        markdown_print(MARKDOWN_PATH, a->path);
        printf(", B: ");
        markdown_print(MARKDOWN_PATH, b->path);
        printf("\n\n| | bytes | share | |\n|---|---:|---:|---|\n");
    } else {
        printf("Difference of memory: B - A\nA: %s\nB: %s\n\n", short_path(a->path, 70).text,
               short_path(b->path, 70).text);
    }
    struct arena arena = {0};
    uint32_t n = 0;
    const struct memory_device_pair *pairs = memory_pair_devices(memory, &arena, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct memory_device *x = pairs[i].of[0], *y = pairs[i].of[1];
        if (!x || !y)
            continue;
        int64_t of_x = x->active[x->peak], of_y = y->active[y->peak];
        snprintf(text, sizeof text, "%s, %s in A", x->name, binary_bytes_text(of_x).text);
        print_row(is_markdown, "peak", of_y - of_x, -1, text);
        snprintf(text, sizeof text, "%s, %s in A", x->name, binary_bytes_text(x->max_reserved).text);
        print_row(is_markdown, "reserved", y->max_reserved - x->max_reserved, -1, text);
    }
    arena_free(&arena);

    /* The largest differences of each kind and device. */
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(memory), SUTRA_MEMORY_COMPARISON, NULL);
    struct sutra_column devices = column_named(table, "device"), kinds = column_named(table, "group_by");
    struct sutra_column names = column_named(table, "name"), differences = column_named(table, "difference");
    uint64_t n_shown = 0;
    for (uint64_t i = 0; i < sutra_table_rows(table); i++) {
        const char *kind = sutra_column_text(&kinds, i), *device = sutra_column_text(&devices, i);
        bool is_same = i && strcmp(kind, sutra_column_text(&kinds, i - 1)) == 0 &&
                       strcmp(device, sutra_column_text(&devices, i - 1)) == 0;
        n_shown = is_same ? n_shown + 1 : 0;
        if (n_shown >= N_ROWS || differences.integers[i] == 0)
            continue;
        const char *name = sutra_column_text(&names, i);
        snprintf(text, sizeof text, "%s, %s", device, *name ? short_text(name, NAME_WIDTH).text : "no operator");
        print_row(is_markdown, is_same ? "" : kind, differences.integers[i], -1, text);
    }
}

/* ---- The analysis ---- */

/* Lists the files of --against. */
static int check(struct analysis *analysis) {
    struct memory_analysis *self = (struct memory_analysis *)analysis;
    if (!self->against)
        return SUTRA_OK;
    if (!path_is_stream(self->against) && access(self->against, F_OK))
        return message_fail(SUTRA_NO_INPUT, "%s: %s", self->against, strerror(errno));
    return trace_list_add(&self->against_list, &(struct operands){1, &self->against}, NAMES_SNAPSHOT);
}

static enum sutra_status work(struct analysis *analysis, struct sutra_error *error) {
    struct memory_analysis *self = (struct memory_analysis *)analysis;
    struct job *job = &analysis->job;
    self->options.tables = job->output || (self->against && self->format != MEMORY_JSON);
    self->options.against_paths = (const char *const *)self->against_list.paths;
    self->options.n_against = self->against_list.n;
    self->options.names[0] = job->operands.n == 1 ? job->operands.words[0] : NULL;
    self->options.names[1] = self->against;
    TRY(sutra_memory_run(job->context, job->inputs, job->n_inputs, &self->options, &self->memory, error));
    if (job->output)
        TRY(analysis_write_tables(analysis, SUTRA_RESULT(self->memory), RANK_ALL, error));
    if (job->output && !analysis->no_report) {
        uint64_t n_bytes = 0;
        TRY(sutra_report_write_memory(job->context, self->memory, analysis->results.path, &n_bytes, error));
        job->figures.output_bytes += n_bytes;
    }
    if (self->format != MEMORY_JSON)
        return SUTRA_OK;
    progress_clear(&job->watch.progress);
    return sutra_memory_write_json(job->context, self->memory, "-", NULL, error);
}

static int report(struct analysis *analysis) {
    const struct memory_analysis *self = (const struct memory_analysis *)analysis;
    const struct sutra_memory *memory = self->memory;
    bool is_markdown = self->format == MEMORY_MARKDOWN, prints = !analysis->job.quiet && self->format != MEMORY_JSON;
    if (prints && memory->is_comparison)
        print_comparison(memory, is_markdown);
    for (size_t i = 0; prints && !memory->is_comparison && i < memory->n_inputs; i++) {
        if (i)
            puts("");
        print_input(memory, &memory->inputs[i], is_markdown);
    }
    uint64_t n_devices = 0, n_events = 0, n_findings = 0;
    for (size_t i = 0; i < memory->n_inputs; i++) {
        n_devices += memory->inputs[i].n_devices;
        n_findings += memory->inputs[i].n_findings;
        for (uint32_t k = 0; k < memory->inputs[i].n_devices; k++)
            n_events += memory->inputs[i].devices[k].n_events;
    }
    const struct named_count counts[] = {
        {"n_inputs", memory->n_inputs}, {"n_devices", n_devices}, {"n_events", n_events}, {"n_findings", n_findings}};
    return analysis_close(analysis, counts, COUNT_OF(counts), NULL, 0);
}

static void release(struct job *job) {
    struct memory_analysis *self = (struct memory_analysis *)job;
    trace_list_free(&self->against_list);
    sutra_memory_free(self->memory);
}

/* ---- The command ---- */

static const struct stage_share stages[] = {{"open snapshot", 20, false},
                                            {"parse snapshot", 40, false},
                                            {"analyze memory", 30, false},
                                            {"write", 10, false},
                                            {0}};

static const struct analysis_kind kind = {.page = PAGE_MEMORY, .check = check, .work = work, .report = report};
static const struct memory_analysis defaults = {
    .analysis = {.kind = &kind, .names = NAMES_SNAPSHOT, .job.stages = stages},
    .options.size = sizeof(struct sutra_memory_options)};

static const struct option_row options[] = {
    {"output", 'o', OPTION_FILE, "DIR", AT(job, output),
     .help = "write memory.html and a file for each table into the folder DIR"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(memory_analysis, format), .choices = formats,
     .help = "print text, json with all numbers, or markdown (default: text)"},
    ANALYSIS_ROW_TABLE_FORMAT,
    {"against", 0, OPTION_FILE, "B", AT(memory_analysis, against),
     .help = "compare INPUT with B, files or directories of ranks, and print the differences"},
    {"top", 0, OPTION_NUMBER, "N", AT(memory_analysis, options.n_top), .minimum = 1, .maximum = UINT32_MAX,
     .help = "limit each list of the JSON output to N rows (default: 10)"},
    ANALYSIS_ROWS_REPORT,
    JOB_ROWS_DEVICE,
    ANALYSIS_ROWS_HOW,
    {0},
};

static const char *const synopses[] = {"INPUT... [-o DIR] [OPTIONS]", NULL};
static const char *const description[] = {
    "Reports where GPU memory goes: the peak by category, operator and frame, growth from step to step, fragmentation, "
    "and out-of-memory events with their largest holders.",
    "An INPUT is a file of torch.cuda.memory._dump_snapshot() (a pickle, or its JSON form), or a Kineto trace recorded "
    "with profile_memory=True, or a directory of such files, one per rank. Pickles are read, never executed: an opcode that could run code is an error.",
    "--against compares rank by rank: the number after \"rank\" in the file name, or its last number.",
    NULL,
};
static const struct example examples[] = {
    {"sutra analyze memory snapshot.pickle", "findings and the largest parts of the peak"},
    {"sutra analyze memory snapshot.pickle -o tables", "also write the timeline and all lists as CSV"},
    {"sutra analyze memory before.pickle --against after.pickle", "differences of the peak"},
    {"sutra analyze memory before --against after", "the same for the ranks of two directories"},
    {0},
};

const struct command analyze_memory_command = {
    .name = "memory",
    .called = "sutra analyze memory",
    .summary = "peak, growth and fragmentation of GPU memory",
    ANALYSIS_WORK,
    .release = release,
};
