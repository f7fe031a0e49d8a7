/*
 * info_run.c - `sutra info RUN`: prints roles, windows, ranks and skipped files of a run, as text or JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "cli/job.h"
#include "cli/terminal.h"
#include "run/run.h"
#include "text/quantities.h"
#include "write/json.h"

#define SCANNED_MAX   2000 /* traces of a run that are scanned without --full */
#define ROWS_SHOWN    20   /* windows, or kinds of skipped files, on the screen */
#define ROLE_WIDTH    24
#define LABEL_WIDTH   24
#define SKIPPED_PATHS 3 /* of a kind; of more, all but the last one */

static size_t count_traces(const struct run *run) {
    size_t n = 0;
    for (size_t i = 0; i < run->n_roles; i++)
        for (size_t k = 0; k < run->roles[i].n_windows; k++)
            n += run->roles[i].windows[k].n_traces;
    return n;
}

/* ---- JSON ---- */

static void add_window(struct json_out *json, const struct run_window *window, size_t number) {
    json_open(json, '{');
    json_add_count(json, "window", number);
    json_add_text(json, "label", window->label);
    json_add_text(json, "start", window->begin_ns == RUN_NO_TIME ? NULL : utc_text(window->begin_ns).text);
    json_add_count(json, "bytes", window->bytes);
    json_add_count(json, "n_ranks", window->n_traces);
    json_add_text(json, "missing", window->missing);
    json_add_open(json, "traces", '[');
    for (size_t i = 0; i < window->n_traces; i++) {
        static const char *const gpu[] = {"null", "false", "true"}; /* in the order of enum run_gpu */
        const struct run_trace *trace = window->traces[i];
        json_open_line(json);
        json_add_text(json, "path", trace->path);
        json_add_integer(json, "rank", trace->rank);
        json_add_text(json, "rank_source", run_source_names[trace->source]);
        json_add_text(json, "host", *trace->host ? trace->host : NULL);
        json_add_format(json, "pid", trace->pid < 0 ? "null" : "%" PRId64, trace->pid);
        json_add_format(json, "gpu", "%s", gpu[trace->gpu]);
        json_add_count(json, "bytes", trace->bytes);
        json_close_line(json);
    }
    json_close_lines(json, ']');
    json_close(json, '}');
}

static void add_run(struct json_out *json, const struct run *run) {
    json_open(json, '{');
    json_add_text(json, "run", run->path);
    json_add_count(json, "n_files", run->n_files);
    json_add_count(json, "n_other", run->n_other);
    json_add_count(json, "n_deep", run->n_deep);
    json_add_open(json, "roles", '[');
    for (const struct run_role *role = run->roles; role < run->roles + run->n_roles; role++) {
        json_open(json, '{');
        json_add_text(json, "role", role->name);
        json_add_format(json, "world_size", role->world_size ? "%" PRId64 : "null", role->world_size);
        json_add_text(json, "window_source", run_window_source_names[role->window_source]);
        json_add_count(json, "default_window", role->default_window);
        json_add_open(json, "windows", '[');
        for (size_t k = 0; k < role->n_windows; k++)
            add_window(json, &role->windows[k], k);
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
    json_add_open(json, "skipped", '[');
    for (const struct run_skipped *skipped = run->skipped; skipped < run->skipped + run->n_skipped; skipped++) {
        json_open_line(json);
        json_add_text(json, "path", skipped->path);
        json_add_text(json, "reason", run_kinds[skipped->kind].name);
        if (skipped->of)
            json_add_text(json, "of", skipped->of);
        json_close_line(json);
    }
    json_close_lines(json, ']');
}

/* ---- Text ---- */

static void print_windows(const struct run *run, size_t n_windows) {
    size_t n = 0, role_most = strlen("role"), label_most = strlen("label");
    for (size_t i = 0; i < run->n_roles; i++) {
        role_most = MAX(role_most, strlen(run->roles[i].name));
        for (size_t k = 0; k < run->roles[i].n_windows; k++)
            label_most = MAX(label_most, strlen(run->roles[i].windows[k].label ? run->roles[i].windows[k].label : ""));
    }
    const unsigned role_width = (unsigned)MIN(role_most, ROLE_WIDTH),
                   label_width = (unsigned)MIN(label_most, LABEL_WIDTH);
    printf("\n%-*s  window  %-*s  start (UTC)                  ranks  missing     bytes%s\n", (int)role_width, "role",
           (int)label_width, "label", run->is_scanned ? "" : "  gpu");
    for (const struct run_role *role = run->roles; role < run->roles + run->n_roles; role++) {
        const int64_t expected = MAX(role->world_size, (int64_t)role->n_ranks);
        for (size_t k = 0; k < role->n_windows && n < ROWS_SHOWN; k++, n++) {
            const struct run_window *window = &role->windows[k];
            char ranks[32];
            struct shortened name = short_text(k ? "" : role->name, role_width);
            shortened_print(&name, role_width);
            printf("  %6zu  ", k);
            name = short_text(window->label ? window->label : "-", label_width);
            shortened_print(&name, label_width);
            snprintf(ranks, sizeof ranks, "%zu of %" PRId64, window->n_traces, expected);
            printf("  %-19s  %13s  %7s  %8s%s\n",
                   window->begin_ns == RUN_NO_TIME ? "-" : utc_text(window->begin_ns).text, ranks,
                   *window->missing ? short_text(window->missing, 12).text : "-", bytes_text(window->bytes).text,
                   run->is_scanned ? "" : "  not scanned");
        }
    }
    if (n < n_windows)
        printf("... and %s more\n", count_text(n_windows - n).text);
}

/* "distributedInfo; trainer: file names": the sources of the ranks of most roles, then of the others. */
static void print_sources(const struct run *run) {
    static const char *const texts[] = {[RUN_BY_INFO] = "distributedInfo",
                                        [RUN_BY_NAME] = "file names",
                                        [RUN_BY_DIRECTORY] = "names of directories",
                                        [RUN_BY_COORDINATES] = "coordinates in names",
                                        [RUN_BY_NUMBER] = "numbers in file names",
                                        [RUN_BY_ORDER] = "the order of hosts and process ids",
                                        [RUN_BY_LOCAL] = "directories and local ranks in names"};
    unsigned before = 0;
    printf("\nranks       from ");
    for (size_t i = 0; i < run->n_roles; i++) {
        const char *separator = "";
        unsigned sources = 0;
        for (size_t k = 0; k < run->roles[i].n_windows; k++)
            for (size_t t = 0; t < run->roles[i].windows[k].n_traces; t++)
                sources |= 1U << run->roles[i].windows[k].traces[t]->source;
        if (sources == before)
            continue;
        if (i > 0)
            printf("; %s: from ", short_text(run->roles[i].name, ROLE_WIDTH).text);
        for (unsigned source = 0; source < RUN_N_SOURCES; source++)
            if (sources & 1U << source) {
                printf("%s%s", separator, texts[source]);
                separator = " and ";
            }
        before = sources;
    }
    puts("");
}

static void print_default(const struct run *run) {
    printf("default     ");
    for (size_t i = 0; i < run->n_roles && i < ROWS_SHOWN; i++) {
        const struct run_role *role = &run->roles[i];
        printf("%s%s %zu", i ? ", " : "", run->n_roles > 1 ? short_text(role->name, ROLE_WIDTH).text : "window",
               role->default_window);
        if (role->default_window + 1 < role->n_windows)
            printf(" (the last with %s)",
                   counted_text(role->windows[role->default_window].n_traces, "rank", "ranks").text);
    }
    puts("");
}

/* Prints the skipped files by reason, with examples. Duplicates and traces without GPU activity have a line each. */
static void print_skipped(const struct run *run) {
    if (run->n_skipped)
        puts("skipped");
    for (int kind = 0; kind < RUN_OTHER; kind++) {
        const struct run_skipped *shown[SKIPPED_PATHS];
        uint64_t n = 0;
        for (size_t i = 0; i < run->n_skipped; i++)
            if ((int)run->skipped[i].kind == kind && n++ < SKIPPED_PATHS)
                shown[n - 1] = &run->skipped[i];
        if (n == 0)
            continue;
        const struct run_kind_text *text = &run_kinds[kind];
        printf("%10s  %s", count_text(n).text, text->reason ? text->reason : n > 1 ? text->many : text->one);
        if (kind == RUN_NOT_RECORDED)
            printf(" (%s)", counted_text(shown[0]->n_launches, "launch", "launches").text);
        if (kind == RUN_DUPLICATE && n == 1)
            printf(" of %s", short_path(shown[0]->of, 60).text);
        const uint64_t n_shown = n > SKIPPED_PATHS ? SKIPPED_PATHS - 1 : n;
        for (uint64_t i = 0; i < n_shown; i++)
            printf("%s %s", i ? "," : ":", short_path(shown[i]->path, 72).text);
        puts(n_shown < n ? ", ..." : "");
    }
}

static void print_run(const struct run *run) {
    size_t n_windows = 0, n_ranks = 0;
    const struct run_role *longest = run->roles;
    for (const struct run_role *role = run->roles; role < run->roles + run->n_roles; role++) {
        n_windows += role->n_windows;
        n_ranks += role->n_ranks;
        longest = role->n_windows > longest->n_windows ? role : longest;
    }
    printf("%s", short_path(run->path, screen_columns() - 50).text);
    if (run->n_arguments > 1)
        printf(" and %zu more", run->n_arguments - 1);
    printf("   %s, %s, %s of %s; %s, %s\n", counted_text(run->n_roles, "role", "roles").text,
           counted_text(n_windows, "window", "windows").text, counted_text(count_traces(run), "trace", "traces").text,
           counted_text(n_ranks, "rank", "ranks").text, counted_text(run->n_files, "file", "files").text,
           bytes_text(run->n_bytes).text);
    print_windows(run, n_windows);
    print_sources(run);
    print_default(run);
    print_skipped(run);
    if (run->n_arguments > 1)
        return;
    printf("Next:\n  sutra analyze %s", typed_path(run->path, 40));
    if (longest->n_windows > 1 && run->n_roles > 1)
        printf(" --role %.80s", longest->name);
    puts(longest->n_windows > 1 ? " --window all    compare its windows" : "    find the bottlenecks");
}

enum sutra_status info_run_show(struct job *job, bool full, struct json_out *json, struct sutra_error *error) {
    struct run run = {0};
    enum sutra_status status =
        run_open(&run, job->context, (const char *const *)job->operands.words, job->operands.n, error);
    if (!status && (full || count_traces(&run) <= SCANNED_MAX))
        status = run_scan(&run, job->context, error);
    if (!status && run.n_roles == 0)
        status = run_no_trace(&run, error);
    progress_clear(&job->watch.progress);
    if (!status && json)
        add_run(json, &run);
    else if (!status)
        print_run(&run);
    run_free(&run);
    return status;
}
