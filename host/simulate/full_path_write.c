/*
 * full_path_write.c - the path by full rules on a page of 80 columns, and as JSON with each of its steps.
 */
#include <string.h>

#include "base/error.h"
#include "columns/strings.h"
#include "simulate/full_path.h"
#include "text/counted.h"
#include "text/short_name.h"
#include "write/json_out.h"
#include "write/text_file.h"

#define N_SHARES   25 /* that the page shows */
#define NAME_WIDTH 24
#define HEAD_WIDTH 60

/* Words of the page; in JSON spaces become "_". */
static const char *const kind_words[SUTRA_FULL_N_KINDS] = {
    [SUTRA_FULL_OPERATOR] = "operator",

    [SUTRA_FULL_GAP] = "gap",
    [SUTRA_FULL_LAUNCH] = "launch latency",
    [SUTRA_FULL_STREAM_GAP] = "stream gap",
    [SUTRA_FULL_KERNEL] = "kernel",
    [SUTRA_FULL_COPY] = "copy",
    [SUTRA_FULL_COMMUNICATION] = "communication",
};

static const char *const kind_notes[SUTRA_FULL_N_KINDS] = {
    [SUTRA_FULL_OPERATOR] = "CPU time in an operator", [SUTRA_FULL_GAP] = "CPU time outside operators",
    [SUTRA_FULL_LAUNCH] = "launch to kernel start",    [SUTRA_FULL_STREAM_GAP] = "kernel end to dependent kernel",
    [SUTRA_FULL_KERNEL] = "GPU computation",           [SUTRA_FULL_COPY] = "GPU memcpy",
    [SUTRA_FULL_COMMUNICATION] = "GPU communication",
};

static const char *window_name(const struct sutra_full_path *path) {
    return path->annotation == ROW_NONE
               ? "the whole trace"
               : strings_text(&path->trace->strings, path->trace->events.name[path->annotation]);
}

/* ---- The page ---- */

static double share_of(double us, double whole) {
    return whole > 0 ? us / whole * 100 : 0;
}

static void write_head(const struct sutra_full_path *path, struct text_out *text) {
    const struct sutra_full_report *report = &path->report;
    out_add(text, "critical path of ");
    out_add(text, short_path(path->trace->document.source.name, HEAD_WIDTH).text);
    out_add(text, "\n  window: ");
    out_add(text, short_text(window_name(path), HEAD_WIDTH).text);
    out_format(text, "\n  rules: full\n  path: %.3f us of %.3f us measured, %s\n", report->us, report->measured_us,
               counted_text(report->n_steps, "step", "steps").text);
    out_format(text, "  graph: %s; ", counted_text(report->n_nodes, "node", "nodes").text);
    out_format(text, "the CPU waits %s for the GPU on the path\n\n",
               counted_text(report->n_waits, "time", "times").text);
}

static void write_kinds(const struct sutra_full_report *report, struct text_out *text) {
    out_add(text, "            us    share    steps  kind\n");
    for (int kind = 0; kind < SUTRA_FULL_N_KINDS; kind++)
        out_format(text, "%14.3f  %5.1f %%  %7llu  %-14s %s\n", report->kind_us[kind],
                   share_of(report->kind_us[kind], report->us), (unsigned long long)report->kind_steps[kind],
                   kind_words[kind], kind_notes[kind]);
}

static void write_share(const struct sutra_full_share *share, const char *name, double whole, struct text_out *text) {
    out_format(text, "%14.3f  %5.1f %%  %7llu  ", share->us, share_of(share->us, whole),
               (unsigned long long)share->n_steps);
    if (share->n_waits)
        out_format(text, "%5llu  ", (unsigned long long)share->n_waits);
    else
        out_add(text, "    -  ");
    if (share->name) {
        out_format(text, "%-14s ", kind_words[share->kind]);
        out_add(text, name);
    } else {
        out_add(text, kind_words[share->kind]);
    }
    out_add(text, "\n");
}

static void write_shares(const struct sutra_full_report *report, struct text_out *text) {
    const char *names[N_SHARES];
    struct shortened shorts[N_SHARES];
    uint64_t n = report->n_shares < N_SHARES ? report->n_shares : N_SHARES;
    for (uint64_t i = 0; i < n; i++)
        names[i] = report->shares[i].name ? report->shares[i].name : "";
    short_names(names, n, NAME_WIDTH, shorts);
    out_add(text, "\n            us    share    steps  waits  kind           name\n");
    for (uint64_t i = 0; i < n; i++)
        write_share(&report->shares[i], shorts[i].text, report->us, text);
    if (report->n_shares > N_SHARES)
        out_format(text, "and %llu more\n", (unsigned long long)(report->n_shares - N_SHARES));
    out_add(text, "\nwaits: number of times the CPU waited for this kernel to end\n");
}

/* ---- Slack on the page ---- */

static void write_slacks(const struct sutra_full_report *report, struct text_out *text) {
    const char *names[N_SHARES];
    struct shortened shorts[N_SHARES];
    uint64_t n = report->n_slack_names < N_SHARES ? report->n_slack_names : N_SHARES;
    for (uint64_t i = 0; i < n; i++)
        names[i] = report->slack_names[i].name;
    if (n == 0)
        return;
    short_names(names, n, NAME_WIDTH, shorts);
    out_add(text, "\n   us off path   count  min slack us  kind           name\n");
    for (uint64_t i = 0; i < n; i++) {
        const struct sutra_full_slack_name *slack = &report->slack_names[i];
        out_format(text, "%14.3f  %6llu  %12.3f  %-14s ", slack->us, (unsigned long long)slack->n, slack->least_us,
                   kind_words[slack->kind]);
        out_add(text, shorts[i].text);
        out_add(text, "\n");
    }
    if (report->n_slack_names > N_SHARES)
        out_format(text, "and %llu more\n", (unsigned long long)(report->n_slack_names - N_SHARES));
    out_add(text, "\nslack: microseconds by which one event can take longer without a longer path\n");
}

static bool write_page(const void *of, struct text_out *text) {
    const struct sutra_full_path *path = of;
    write_head(path, text);
    write_kinds(&path->report, text);
    write_shares(&path->report, text);
    write_slacks(&path->report, text);
    return true;
}

/* ---- JSON ---- */

static void json_kind(struct json_out *json, enum sutra_full_kind kind) {
    char word[32];
    size_t length = strlen(kind_words[kind]);
    for (size_t i = 0; i < length; i++)
        word[i] = (char)(kind_words[kind][i] == ' ' ? '_' : kind_words[kind][i]);
    json_string(json, word, length);
}

static void json_name_of(struct json_out *json, const char *name) {
    json_name(json, "name");
    if (name)
        json_string(json, name, strlen(name));
    else
        json_literal(json, "null", 4);
}

static void json_head(struct json_out *json, const struct sutra_full_path *path) {
    const struct sutra_full_report *report = &path->report;
    const char *window = window_name(path);
    json_name(json, "rules");
    json_string(json, "full", 4);
    json_name(json, "window");
    json_string(json, window, strlen(window));
    json_name(json, "us");
    json_double(json, report->us);
    json_name(json, "measured_us");
    json_double(json, report->measured_us);
    json_name(json, "nodes");
    json_integer(json, (int64_t)report->n_nodes);
    json_name(json, "waits");
    json_integer(json, (int64_t)report->n_waits);
}

static void json_sum(struct json_out *json, enum sutra_full_kind kind, const char *name, double us, uint64_t n_steps) {
    json_open(json, '{');
    json_name(json, "kind");
    json_kind(json, kind);
    if (name)
        json_name_of(json, name);
    json_name(json, "us");
    json_double(json, us);
    json_name(json, "steps");
    json_integer(json, (int64_t)n_steps);
}

static void json_sums(struct json_out *json, const struct sutra_full_report *report) {
    json_name(json, "kinds");
    json_open(json, '[');
    for (int kind = 0; kind < SUTRA_FULL_N_KINDS; kind++) {
        json_sum(json, (enum sutra_full_kind)kind, NULL, report->kind_us[kind], report->kind_steps[kind]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_name(json, "shares");
    json_open(json, '[');
    for (uint64_t i = 0; i < report->n_shares; i++) {
        const struct sutra_full_share *share = &report->shares[i];
        json_sum(json, share->kind, share->name, share->us, share->n_steps);
        json_name(json, "waits");
        json_integer(json, (int64_t)share->n_waits);
        json_close(json, '}');
        out_step(json->text);
    }
    json_close(json, ']');
}

static void json_step(struct json_out *json, const struct sutra_full_path *path, const struct path_stretch *stretch) {
    json_open(json, '{');
    json_name(json, "kind");
    json_kind(json, stretch->kind);
    if (stretch->event != ROW_NONE) {
        json_name_of(json, strings_text(&path->trace->strings, stretch->name));
        json_name(json, "event");
        json_integer(json, stretch->event);
    }
    json_name(json, "start_us");
    json_double(json, (double)stretch->start_ns / 1000);
    json_name(json, "end_us");
    json_double(json, (double)stretch->end_ns / 1000);
    if (stretch->awaited) {
        json_name(json, "awaited");
        json_literal(json, "true", 4);
    }
    json_close(json, '}');
    out_step(json->text);
}

static void json_slack(struct json_out *json, const struct sutra_full_slack *slack) {
    json_open(json, '{');
    json_name(json, "kind");
    json_kind(json, slack->kind);
    json_name_of(json, slack->name);
    json_name(json, "event");
    json_integer(json, slack->event);
    json_name(json, "us");
    json_double(json, slack->us);
    json_name(json, "slack_us");
    json_double(json, slack->slack_us);
    json_close(json, '}');
    out_step(json->text);
}

static bool write_json(const void *of, struct text_out *text) {
    const struct sutra_full_path *path = of;
    struct json_out json = {.text = text, .indent = 1};
    json_open(&json, '{');
    json_head(&json, path);
    json_sums(&json, &path->report);
    json_name(&json, "path");
    json_open(&json, '[');
    for (uint64_t i = 0; i < path->n_stretches; i++)
        json_step(&json, path, &path->stretches[i]);
    json_close(&json, ']');
    json_name(&json, "slack");
    json_open(&json, '[');
    for (uint64_t i = 0; i < path->n_slacks; i++)
        json_slack(&json, &path->slacks[i]);
    json_close(&json, ']');
    json_close(&json, '}');
    out_add(text, "\n");
    return true;
}

enum sutra_status sutra_full_path_write(struct sutra_context *context, const struct sutra_full_path *path,
                                        enum sutra_path_format format, const char *file, struct sutra_error *error) {
    if (format == SUTRA_PATH_CHROME)
        return error_set(error, SUTRA_USAGE, "the full rules write text or JSON, not a marked trace");
    return text_file_write(context, file, format == SUTRA_PATH_JSON ? write_json : write_page, path, NULL, error);
}
