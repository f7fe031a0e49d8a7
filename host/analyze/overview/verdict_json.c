/*
 * verdict_json.c - the object of `sutra analyze --format json`: verdict, findings, suspects, next commands, ranks. The
 * schema is in docs/findings.md.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/overview/verdict.h"
#include "analyze/table.h"
#include "base/error.h"
#include "sutra/overview.h"
#include "write/json.h"

#define DIGITS     6
#define N_TOP_JSON 10

/* ---- Verdict ---- */

void json_add_shares(struct json_out *json, const double *shares) {
    json_add_open(json, "shares", '{');
    for (int part = 0; part < SUTRA_N_PARTS && shares; part++)
        if (part != SUTRA_PART_OUTSIDE_STEP || shares[part] > 0)
            json_add_real(json, sutra_verdict_part_name((enum sutra_verdict_part)part), DIGITS, shares[part]);
    json_close(json, '}');
}

static void add_names(struct json_out *json, const char *name, const char *const *names, size_t n) {
    json_add_open(json, name, '[');
    for (size_t i = 0; i < n; i++)
        json_cstring(json, names[i]);
    json_close(json, ']');
}

/* A text, or null if it is empty. */
static void add_known_text(struct json_out *json, const char *name, const char *text) {
    json_add_text(json, name, *text ? text : NULL);
}

/* Smaller parts are not listed. */
#define MIN_UNEXPLAINED 0.5

static void add_verdict(struct json_out *json, const struct sutra_verdict *verdict) {
    json_add_open(json, "verdict", '{');
    json_add_text(json, "kind", verdict->kind_name);
    json_add_text(json, "why", verdict->why);
    json_add_format(json, "reliable", "%s", verdict->reliable ? "true" : "false");
    add_known_text(json, "not_judged", verdict->not_judged);
    json_add_real(json, "step_us", DIGITS + 2, verdict->step_us);
    json_add_count(json, "n_steps", verdict->n_steps);
    json_add_text(json, "basis", verdict->basis);
    json_add_count(json, "n_ranks", verdict->n_ranks);
    json_add_format(json, "rank", "%" PRId64, verdict->rank);
    add_known_text(json, "device", verdict->device);
    json_add_real(json, "excluded_us", DIGITS + 2, verdict->excluded_us);
    add_known_text(json, "excluded_by", verdict->excluded_by);
    if (verdict->kind == SUTRA_VERDICT_STEPS) {
        json_add_shares(json, verdict->shares);
        json_add_open(json, "achievable", '[');
        for (size_t i = 0; i < verdict->n_achievable; i++) {
            const struct sutra_verdict_fix *fix = &verdict->achievable[i];
            json_open_line(json);
            add_names(json, "fixed", fix->fixed, fix->n_fixed);
            json_add_real(json, "step_us", DIGITS + 2, fix->step_us);
            json_add_text(json, "bound", fix->bound);
            json_close_line(json);
        }
        json_close_lines(json, ']');
        json_add_real(json, "unexplained_percent", DIGITS, verdict->unexplained_percent);
        json_add_open(json, "unexplained", '{');
        for (int part = 0; part < SUTRA_N_PARTS; part++)
            if (verdict->unexplained[part] >= MIN_UNEXPLAINED)
                json_add_real(json, sutra_verdict_part_name((enum sutra_verdict_part)part), DIGITS,
                              verdict->unexplained[part]);
        json_close(json, '}');
    }
    if (verdict->n_cpu_operators) {
        json_add_open(json, "cpu_operators", '[');
        for (size_t i = 0; i < verdict->n_cpu_operators; i++) {
            const struct sutra_cpu_operator *op = &verdict->cpu_operators[i];
            json_open_line(json);
            json_add_text(json, "name", op->name);
            add_known_text(json, "shapes", op->shapes);
            json_add_real(json, "self_us", DIGITS, op->self_us);
            json_add_real(json, "percent", DIGITS, op->percent);
            json_add_count(json, "calls", op->n_calls);
            json_add_count(json, "threads", op->n_threads);
            json_close_line(json);
        }
        json_close_lines(json, ']');
    }
    json_close(json, '}');
}

/* ---- Findings ---- */

static void add_where(struct json_out *json, const struct sutra_finding *finding) {
    json_add_open(json, "where", '{');
    json_add_open(json, "phases", '{');
    for (int phase = 0; phase < SUTRA_N_PHASES; phase++)
        if (finding->phases[phase] > 0)
            json_add_real(json, sutra_phase_name((enum sutra_phase)phase), DIGITS, finding->phases[phase]);
    json_close(json, '}');
    json_add_open(json, "units", '[');
    for (size_t i = 0; i < finding->n_units; i++) {
        json_open_line(json);
        add_known_text(json, "phase", finding->units[i].phase);
        json_add_text(json, "name", finding->units[i].name);
        json_add_real(json, "percent", DIGITS, finding->units[i].percent);
        json_close_line(json);
    }
    json_close(json, ']');
    json_add_count(json, "n_units", finding->n_names);
    add_known_text(json, "frame", finding->frame);
    if (finding->code) {
        json_add_open(json, "code", '[');
        for (size_t i = 0; i < finding->n_code; i++) {
            json_open_line(json);
            json_add_text(json, "file", finding->code[i].file);
            json_add_count(json, "line", finding->code[i].line);
            json_add_text(json, "function", finding->code[i].function);
            json_add_real(json, "percent", DIGITS, finding->code[i].percent);
            json_add_text(json, "kind", finding->code[i].kind);
            json_add_text(json, "via", finding->code[i].via);
            json_close_line(json);
        }
        json_close(json, ']');
        json_add_count(json, "n_code", finding->n_functions);
    }
    json_close(json, '}');
}

static void add_remedies(struct json_out *json, const struct sutra_finding *finding) {
    json_add_open(json, "do", '[');
    for (size_t i = 0; i < finding->n_remedies; i++) {
        json_open_line(json);
        json_add_text(json, "text", finding->remedies[i].text);
        add_known_text(json, "api", finding->remedies[i].api);
        add_known_text(json, "source", finding->remedies[i].source);
        json_close_line(json);
    }
    json_close(json, ']');
    json_add_open(json, "check", '{');
    json_add_text(json, "metric", finding->check_metric);
    json_add_text(json, "now", finding->check_now);
    json_add_text(json, "after", finding->check_after);
    json_close(json, '}');
}

static void add_evidence(struct json_out *json, const struct sutra_finding_evidence *evidence) {
    if (!*evidence->file) {
        json_add_text(json, "evidence", NULL);
        return;
    }
    json_add_open(json, "evidence", '{');
    json_add_text(json, "file", evidence->file);
    json_add_format(json, "rank", "%" PRId64, evidence->rank);
    json_add_format(json, "from_us", "%" PRId64, evidence->from_us);
    json_add_format(json, "to_us", "%" PRId64, evidence->to_us);
    add_known_text(json, "step", evidence->step);
    add_names(json, "threads", evidence->threads, evidence->n_threads);
    add_names(json, "streams", evidence->streams, evidence->n_streams);
    json_add_text(json, "command", evidence->command);
    json_close(json, '}');
}

static void add_findings(struct json_out *json, const struct sutra_overview *overview) {
    struct sutra_finding finding;
    json_add_open(json, "findings", '[');
    for (size_t i = 0; sutra_overview_finding(overview, i, &finding); i++) {
        json_open_line(json);
        json_add_text(json, "rule", finding.rule);
        json_add_real(json, "saving_percent", DIGITS, finding.saving_percent);
        json_add_text(json, "title", finding.title);
        json_add_text(json, "situation", finding.situation);
        json_add_real(json, "saving_us", DIGITS + 2, finding.saving_us);
        json_add_format(json, "estimate", "%s", finding.estimate ? "true" : "false");
        add_known_text(json, "limited_by", finding.limited_by);
        json_add_real(json, "uncapped_percent", DIGITS, finding.uncapped_percent);
        add_names(json, "part_of", finding.part_of, finding.n_part_of);
        json_break(json, 5);
        json_add_text(json, "seen", finding.seen);
        json_break(json, 5);
        add_where(json, &finding);
        json_break(json, 5);
        add_remedies(json, &finding);
        json_break(json, 5);
        json_add_text(json, "text", finding.text);
        json_break(json, 5);
        json_add_open(json, "numbers", '{');
        for (size_t k = 0; k < finding.n_numbers; k++)
            json_add_real(json, finding.numbers[k].name, DIGITS, finding.numbers[k].value);
        json_close(json, '}');
        json_break(json, 5);
        json_add_open(json, "ranks", '{');
        json_add_real(json, "least_percent", DIGITS, finding.least_percent);
        json_add_real(json, "most_percent", DIGITS, finding.most_percent);
        json_add_format(json, "rank", "%" PRId64, finding.most_rank);
        json_add_count(json, "n", finding.n_ranks);
        if (finding.n_late_ranks) {
            json_add_open(json, "late", '[');
            for (size_t k = 0; k < finding.n_late_ranks; k++)
                json_integer(json, finding.late_ranks[k]);
            json_close(json, ']');
        }
        json_close(json, '}');
        json_break(json, 5);
        add_evidence(json, &finding.evidence);
        json_close_line(json);
    }
    json_close_lines(json, ']');
}

static void add_lists(struct json_out *json, const struct sutra_verdict *verdict) {
    json_add_open(json, "not_the_cause", '[');
    for (size_t i = 0; i < verdict->n_not_the_cause; i++) {
        const struct sutra_suspect *suspect = &verdict->not_the_cause[i];
        json_open_line(json);
        json_add_text(json, "suspect", suspect->suspect);
        json_add_real(json, "apparent_percent", DIGITS, suspect->apparent_percent);
        json_add_real(json, "percent", DIGITS, suspect->percent);
        json_add_text(json, "text", suspect->text);
        json_close_line(json);
    }
    json_close_lines(json, ']');
    json_add_open(json, "next", '[');
    for (size_t i = 0; i < verdict->n_next; i++) {
        json_open_line(json);
        json_add_text(json, "command", verdict->next[i].command);
        json_add_text(json, "text", verdict->next[i].text);
        json_close_line(json);
    }
    json_close_lines(json, ']');
}

/* ---- Ranks ---- */

static struct sutra_column column_of(const struct sutra_overview *overview, enum sutra_overview_table id,
                                     const char *name) {
    return column_named(sutra_result_table(SUTRA_RESULT(overview), id, NULL), name);
}

/* Adds a list with the first `max_rows` rows of a rank (0: all). */
static void add_rows(struct json_out *json, const struct sutra_overview *overview, enum sutra_overview_table id,
                     int64_t rank, const char *title, uint64_t max_rows) {
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(overview), id, NULL);
    struct sutra_column ranks = column_of(overview, id, "rank"), column;
    uint64_t n = 0;
    json_break(json, 5);
    json_add_open(json, title, '[');
    for (uint64_t row = 0; row < table->n_rows && (max_rows == 0 || n < max_rows); row++) {
        if (ranks.integers[row] != rank)
            continue;
        n++;
        json_break(json, 7);
        json_open(json, '{');
        for (uint32_t i = 1; sutra_table_column(table, i, &column); i++) {
            if (column.kind == SUTRA_COLUMN_TEXT)
                json_add_text(json, column.name, sutra_column_text(&column, row));
            else if (column.kind == SUTRA_COLUMN_INTEGER)
                json_add_format(json, column.name, "%" PRId64, column.integers[row]);
            else
                json_add_real(json, column.name, DIGITS, column.reals[row]);
        }
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Adds per rank its shares, timeline and steps, and the operators and kernels with the most time. A verdict without
 * shares makes no statement about time: it has no timeline, either. */
static void add_ranks(struct json_out *json, const struct sutra_overview *overview,
                      const struct sutra_verdict *verdict) {
    const enum sutra_overview_table id = SUTRA_OVERVIEW_RANKS;
    struct sutra_column ranks = column_of(overview, id, "rank"), traces = column_of(overview, id, "trace"),
                        windows = column_of(overview, id, "window_us"), steps = column_of(overview, id, "steps"),
                        busy = column_of(overview, id, "busy_percent"), kinds = column_of(overview, id, "device_kind"),
                        causes = column_of(overview, id, "cause");
    const bool has_shares = verdict->kind == SUTRA_VERDICT_STEPS;
    json_add_open(json, "ranks", '[');
    for (uint64_t row = 0; row < verdict->n_ranks; row++) {
        int64_t rank = ranks.integers[row];
        json_open_line(json);
        json_add_format(json, "rank", "%" PRId64, rank);
        json_add_text(json, "trace", sutra_column_text(&traces, row));
        json_add_real(json, "window_us", DIGITS, windows.reals[row]);
        json_add_format(json, "steps", "%" PRId64, steps.integers[row]);
        json_add_real(json, "busy_percent", DIGITS, has_shares ? busy.reals[row] : (double)NAN);
        json_add_text(json, "device_kind", sutra_column_text(&kinds, row));
        json_add_text(json, "cause", sutra_column_text(&causes, row));
        json_add_real(json, "step_us", DIGITS + 2, verdict->ranks[row].step_us);
        if (has_shares) {
            json_break(json, 5);
            json_add_shares(json, verdict->ranks[row].shares);
        }
        add_rows(json, overview, SUTRA_OVERVIEW_TIMELINE, has_shares ? rank : INT64_MIN, "timeline", 0);
        add_rows(json, overview, SUTRA_OVERVIEW_STEPS, rank, "steps", 0);
        add_rows(json, overview, SUTRA_OVERVIEW_OPERATORS, rank, "operators", N_TOP_JSON);
        add_rows(json, overview, SUTRA_OVERVIEW_KERNELS, rank, "kernels", N_TOP_JSON);
        add_rows(json, overview, SUTRA_OVERVIEW_GRAPHS, rank, "graphs", 0);
        json_close_line(json);
    }
    json_close_lines(json, ']');
}

static void add_window(struct json_out *json, const struct sutra_verdict *verdict) {
    json_add_open(json, "run", '{');
    json_add_text(json, "path", verdict->run);
    add_known_text(json, "role", *verdict->role ? verdict->role : "main");
    json_add_count(json, "window", verdict->window);
    add_known_text(json, "label", verdict->window_label);
    json_add_count(json, "n_windows", verdict->n_windows);
    json_add_count(json, "n_skipped", verdict->n_skipped);
    json_close(json, '}');
}

enum sutra_status sutra_overview_json(const struct sutra_overview *overview, char **text, size_t *length,
                                      struct sutra_error *error) {
    const struct sutra_verdict *verdict = sutra_overview_verdict(overview);
    struct text_out out = {.file = NULL};
    struct json_out json = {.text = &out, .indent = 2};
    json_open(&json, '{');
    if (*verdict->role)
        json_add_text(&json, "role", verdict->role);
    add_verdict(&json, verdict);
    struct sutra_trace_defect defect = {.size = sizeof defect};
    json_add_open(&json, "validity", '[');
    for (uint32_t i = 0; sutra_result_defect(SUTRA_RESULT(overview), i, &defect); i++)
        json_add_defect(&json, &defect);
    json_close_lines(&json, ']');
    add_findings(&json, overview);
    add_lists(&json, verdict);
    add_ranks(&json, overview, verdict);
    if (*verdict->run)
        add_window(&json, verdict);
    json_close(&json, '}');
    out_add(&out, "\n");
    buffer_append(&out.out, "", 1);
    if (out.out.failed) {
        buffer_free(&out.out);
        return error_memory(error);
    }
    *text = out.out.bytes;
    *length = out.out.length - 1;
    return SUTRA_OK;
}
