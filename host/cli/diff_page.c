/*
 * diff_page.c - prints the comparison of two traces: the steps, then the rows of each table with the largest
 * differences.
 *
 *     B is slower: a step takes 46.300 ms instead of 41.200 ms, +12.4 %
 */
#include "cli/diff_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/tool/figures.h"
#include "cli/tool/json_text.h"
#include "text/number_text.h"
#include "text/short_name.h"

#define N_TOP      6
#define NAME_WIDTH 42
#define PATH_WIDTH 54

/* Places of columns, as the tables have them: of steps, of rows with a name, of paths. */
enum { PATH_A, PATH_B, PATH_KERNELS_A, PATH_KERNELS_B };
enum { MET_WAIT_A = 17, MET_WAIT_B, MET_WAIT_DIFFERENCE, MET_BUS_A, MET_BUS_B };
enum { OF_CHANGE, OF_CALLS_A, OF_CALLS_B, OF_DEVICE_A, OF_DEVICE_B, OF_DIFFERENCE, OF_PERCENT }; /* behind the key */

/* ---- Numbers ---- */

static double real_at(const struct sutra_table *table, uint32_t column, uint64_t row) {
    struct sutra_column of;
    return sutra_table_column(table, column, &of) ? of.reals[row] : (double)NAN;
}

static const char *text_at(const struct sutra_table *table, uint32_t column, uint64_t row) {
    struct sutra_column of;
    return sutra_table_column(table, column, &of) ? sutra_column_text(&of, row) : "";
}

/* A difference with its sign. */
static struct figure signed_time(double us) {
    struct figure figure, time = time_text(fabs(us));
    snprintf(figure.text, sizeof figure.text, "%c%.*s", us < 0 ? '-' : '+', (int)sizeof figure.text - 2, time.text);
    return figure;
}

static struct figure signed_percent(double percent) {
    struct figure figure;
    if (isnan(percent))
        snprintf(figure.text, sizeof figure.text, "-");
    else if (percent < 1000)
        snprintf(figure.text, sizeof figure.text, "%+.1f %%", percent);
    else
        snprintf(figure.text, sizeof figure.text, "x%.3g", 1 + percent / 100);
    return figure;
}

/* "48 calls", "48 -> 50.5 calls": of a step. */
static struct figure calls_words(double a, double b) {
    struct figure figure;
    if (a == b)
        snprintf(figure.text, sizeof figure.text, "%.4g call%s", b, b == 1 ? "" : "s");
    else
        snprintf(figure.text, sizeof figure.text, "%.4g -> %.4g calls", a, b);
    return figure;
}

/* ---- The head ---- */

static void print_side(const struct sutra_diff_summary *summary, int side, const char *path) {
    printf("%c  %-44s  ", side ? 'B' : 'A', short_path(path, 44).text);
    if (summary->n_ranks[side] > 1)
        printf("%s, ", counted_text(summary->n_ranks[side], "rank", "ranks").text);
    if (summary->has_steps[side])
        printf("%s\n", counted_text(summary->n_steps[side], "step", "steps").text);
    else
        printf("no steps: counts as one step\n");
}

static const char *step_words(const struct sutra_diff_summary *summary) {
    return summary->has_steps[1] ? "a step takes" : "the trace takes";
}

/* The part of a step that most of the growth is in; parts stand between the step and the work of the device. */
static void print_cause(const struct sutra_table *steps, double growth) {
    double most = 0;
    uint64_t cause = 0;
    for (uint64_t row = 1; row + 1 < sutra_table_rows(steps); row++) {
        double difference = real_at(steps, STEP_DIFFERENCE, row);
        if (difference * growth > 0 && fabs(difference) > most) {
            most = fabs(difference);
            cause = row;
        }
    }
    if (cause)
        printf("Largest part: %s (%s)\n", signed_time(growth > 0 ? most : -most).text,
               text_at(steps, STEP_PART, cause));
}

/* The answer in a sentence. */
static void print_answer(const struct sutra_diff_summary *summary, const struct diff_gate *gate, const char *mark) {
    if (gate->growth_us == 0) {
        printf("%sB is as fast as A: %s %s%s\n", mark, step_words(summary), time_text(summary->step_us[1]).text, mark);
        return;
    }
    printf("%sB is %s: %s %s instead of %s,", mark, gate->growth_us > 0 ? "slower" : "faster", step_words(summary),
           time_text(summary->step_us[1]).text, time_text(summary->step_us[0]).text);
    printf(" %s%s\n", signed_percent(gate->growth_percent).text, mark);
}

static void print_verdict(const struct sutra_diff *diff, const struct sutra_diff_summary *summary,
                          const struct diff_gate *gate) {
    const struct sutra_table *steps = sutra_diff_table(diff, SUTRA_DIFF_STEPS);
    const char *clear = text_at(steps, STEP_CLEAR, 0);
    print_answer(summary, gate, "");
    if (gate->growth_us == 0)
        return;
    print_cause(steps, gate->growth_us);
    if (strcmp(clear, "no") == 0)
        printf("The difference is unclear: the step time noise is %.1f %%\n", gate->noise_percent);
    else if (strcmp(clear, "unknown") == 0)
        printf("Step time noise is unknown: one side has only one step.\n");
}

static void print_outside(const struct sutra_diff_summary *summary) {
    if (summary->outside_us[0] > 0 || summary->outside_us[1] > 0)
        printf("GPU activity before the first step is skipped: %s of A, %s of B\n",
               time_text(summary->outside_us[0]).text, time_text(summary->outside_us[1]).text);
}

static void print_steps(const struct sutra_diff *diff, bool has_steps) {
    const struct sutra_table *table = sutra_diff_table(diff, SUTRA_DIFF_STEPS);
    printf("\n  %-22s %11s %11s %12s\n", has_steps ? "mean step" : "full trace", "A", "B", "B - A");
    for (uint64_t row = 0; row < sutra_table_rows(table); row++) {
        const char *clear = text_at(table, STEP_CLEAR, row);
        double difference = real_at(table, STEP_DIFFERENCE, row);
        if (real_at(table, STEP_A, row) == 0 && real_at(table, STEP_B, row) == 0)
            continue;
        printf("  %-22s %11s ", text_at(table, STEP_PART, row), time_text(real_at(table, STEP_A, row)).text);
        printf("%11s ", time_text(real_at(table, STEP_B, row)).text);
        printf("%12s %9s", difference == 0 ? "0" : signed_time(difference).text,
               signed_percent(real_at(table, STEP_PERCENT, row)).text);
        printf("%s\n", strcmp(clear, "no") == 0 && difference != 0 ? " unclear" : "");
    }
}

/* ---- Tables ---- */

/* Words behind a row's name: what its calls did. */
static void print_change(const struct sutra_table *table, uint32_t key, uint64_t row) {
    const char *change = text_at(table, key + OF_CHANGE, row);
    double a = real_at(table, key + OF_CALLS_A, row), b = real_at(table, key + OF_CALLS_B, row);
    if (strcmp(change, "new") == 0)
        printf("new, %s", calls_words(b, b).text);
    else if (strcmp(change, "gone") == 0)
        printf("gone, %s", calls_words(a, a).text);
    else
        printf("%s", calls_words(a, b).text);
}

/* How many rows of a table there are to show: those that differ. */
static uint64_t rows_that_differ(const struct sutra_table *table, uint32_t key) {
    uint64_t n = 0;
    while (n < sutra_table_rows(table) && real_at(table, key + OF_DIFFERENCE, n) != 0)
        n++;
    return n;
}

static void print_rest(uint64_t n) {
    if (n > N_TOP)
        printf("  %s more rows in the table\n", count_text(n - N_TOP).text);
}

static void print_named(const struct sutra_table *table, const char *title, uint32_t key) {
    const char *names[N_TOP];
    struct shortened shorts[N_TOP];
    uint64_t n = rows_that_differ(table, key), n_shown = n < N_TOP ? n : N_TOP;
    if (!n)
        return;
    printf("\n%s\n", title);
    for (uint64_t row = 0; row < n_shown; row++)
        names[row] = text_at(table, 0, row);
    short_names(names, n_shown, NAME_WIDTH, shorts);
    for (uint64_t row = 0; row < n_shown; row++) {
        printf("  %11s ", signed_time(real_at(table, key + OF_DIFFERENCE, row)).text);
        printf("%9s  %s%*s ", signed_percent(real_at(table, key + OF_PERCENT, row)).text, shorts[row].text,
               (int)(NAME_WIDTH - shorts[row].n_columns), "");
        print_change(table, key, row);
        putchar('\n');
    }
    print_rest(n);
}

static struct figure elements_words(double n, const char *type) {
    struct figure figure;
    if (isnan(n))
        snprintf(figure.text, sizeof figure.text, "%s", "");
    else
        snprintf(figure.text, sizeof figure.text, "%.0f %.12s", n, type);
    return figure;
}

/* How long ranks waited for each other, and how fast data moved, where both sides tell. */
static void print_met(const struct sutra_table *table, uint64_t row) {
    double wait_a = real_at(table, MET_WAIT_A, row), wait_b = real_at(table, MET_WAIT_B, row);
    double bus_a = real_at(table, MET_BUS_A, row), bus_b = real_at(table, MET_BUS_B, row);
    bool waits = !isnan(wait_a) && !isnan(wait_b), moves = !isnan(bus_a) && !isnan(bus_b);
    if (!waits && !moves)
        return;
    printf("%26s", "");
    if (waits)
        printf("wait %s -> %s%s", time_text(wait_a).text, time_text(wait_b).text, moves ? ", " : "");
    if (moves)
        printf("%.4g -> %.4g GB/s", bus_a, bus_b);
    putchar('\n');
}

static void print_collectives(const struct sutra_table *table) {
    uint32_t key = 4;
    uint64_t n = rows_that_differ(table, key);
    if (n)
        printf("\ncollectives\n");
    for (uint64_t row = 0; row < n && row < N_TOP; row++) {
        printf("  %11s ", signed_time(real_at(table, key + OF_DIFFERENCE, row)).text);
        printf("%9s  %-20s", signed_percent(real_at(table, key + OF_PERCENT, row)).text,
               short_text(text_at(table, 0, row), 20).text);
        printf(" %-21s ", elements_words(real_at(table, 2, row), text_at(table, 1, row)).text);
        print_change(table, key, row);
        putchar('\n');
        print_met(table, row);
    }
    print_rest(n);
}

/* The end of a path tells more than its beginning. */
static void print_path(const char *path, const char *lead) {
    printf("%s%s\n", lead, short_path(path, PATH_WIDTH).text);
}

static void print_paths(const struct sutra_table *table) {
    uint32_t key = PATH_KERNELS_B + 1;
    uint64_t n = rows_that_differ(table, key);
    if (!n)
        return;
    printf("\ncall paths\n");
    for (uint64_t row = 0; row < n && row < N_TOP; row++) {
        const char *a = text_at(table, PATH_A, row), *b = text_at(table, PATH_B, row);
        const char *kernels_a = text_at(table, PATH_KERNELS_A, row), *kernels_b = text_at(table, PATH_KERNELS_B, row);
        printf("  %11s ", signed_time(real_at(table, key + OF_DIFFERENCE, row)).text);
        printf("%9s  ", signed_percent(real_at(table, key + OF_PERCENT, row)).text);
        print_path(*a ? a : b, "");
        if (*a && *b && strcmp(a, b) != 0)
            print_path(b, "                         -> ");
        printf("%25s", "");
        print_change(table, key, row);
        printf(": %s", short_text(*a ? kernels_a : kernels_b, 36).text);
        if (*a && *b && strcmp(kernels_a, kernels_b) != 0)
            printf("\n%25s-> %s", "", short_text(kernels_b, 50).text);
        putchar('\n');
    }
    print_rest(n);
}

void diff_page_print(const struct sutra_diff *diff, const struct diff_page_names *names, const struct diff_gate *gate) {
    struct sutra_diff_summary summary = {.size = sizeof summary};
    sutra_diff_summary(diff, &summary);
    for (int side = 0; side < 2; side++)
        print_side(&summary, side, names->sides[side]);
    putchar('\n');
    print_verdict(diff, &summary, gate);
    print_outside(&summary);
    print_steps(diff, summary.has_steps[0] || summary.has_steps[1]);
    print_paths(sutra_diff_table(diff, SUTRA_DIFF_PATHS));
    print_named(sutra_diff_table(diff, SUTRA_DIFF_OPERATORS), "operators", 2);
    print_named(sutra_diff_table(diff, SUTRA_DIFF_KERNELS), "kernels", 2);
    print_collectives(sutra_diff_table(diff, SUTRA_DIFF_COLLECTIVES));
    printf("\nnext:\n");
    if (names->folder)
        printf("  tables: %s\n", short_path(names->folder, 58).text);
    else
        printf("  sutra diff A B -o results   all tables\n");
}

/* ---- Markdown ---- */

/* A name as code in a cell of a table, where bars end the cell and grave accents end the code. */
static void print_code(const char *name) {
    putchar('`');
    for (; *name; name++)
        if (*name == '|')
            fputs("\\|", stdout);
        else
            putchar(*name == '`' ? '\'' : *name);
    putchar('`');
}

static void print_markdown_steps(const struct sutra_table *table, bool has_steps) {
    printf("\n| %s | A | B | B - A | change |\n|---|--:|--:|--:|--:|\n", has_steps ? "mean step" : "full trace");
    for (uint64_t row = 0; row < sutra_table_rows(table); row++) {
        double a = real_at(table, STEP_A, row), b = real_at(table, STEP_B, row), difference = b - a;
        if (a == 0 && b == 0)
            continue;
        printf("| %s | %s ", text_at(table, STEP_PART, row), time_text(a).text);
        printf("| %s | %s ", time_text(b).text, difference == 0 ? "0" : signed_time(difference).text);
        printf("| %s%s |\n", signed_percent(real_at(table, STEP_PERCENT, row)).text,
               strcmp(text_at(table, STEP_CLEAR, row), "no") == 0 && difference != 0 ? " (unclear)" : "");
    }
}

static void print_markdown_kernels(const struct sutra_table *table, uint32_t key) {
    const char *names[N_TOP];
    struct shortened shorts[N_TOP];
    uint64_t n = rows_that_differ(table, key), n_shown = n < N_TOP ? n : N_TOP;
    if (!n)
        return;
    printf("\n| kernel, per step | B - A | change | calls |\n|---|--:|--:|---|\n");
    for (uint64_t row = 0; row < n_shown; row++)
        names[row] = text_at(table, 0, row);
    short_names(names, n_shown, NAME_WIDTH, shorts);
    for (uint64_t row = 0; row < n_shown; row++) {
        printf("| ");
        print_code(shorts[row].text);
        printf(" | %s ", signed_time(real_at(table, key + OF_DIFFERENCE, row)).text);
        printf("| %s | ", signed_percent(real_at(table, key + OF_PERCENT, row)).text);
        print_change(table, key, row);
        printf(" |\n");
    }
    if (n > N_TOP)
        printf("\n%s more kernels differ\n", count_text(n - N_TOP).text);
}

void diff_markdown_print(const struct sutra_diff *diff, const struct diff_page_names *names,
                         const struct diff_gate *gate) {
    struct sutra_diff_summary summary = {.size = sizeof summary};
    sutra_diff_summary(diff, &summary);
    print_answer(&summary, gate, "**");
    if (gate->decision == DIFF_UNCLEAR)
        printf("\n%s\n", diff_gate_reason(diff, gate).text);
    putchar('\n');
    for (int side = 0; side < 2; side++) {
        printf("%s ", side ? ", B:" : "A:");
        print_code(short_path(names->sides[side], 44).text);
        printf(" (%s)", counted_text(summary.n_steps[side], "step", "steps").text);
    }
    putchar('\n');
    print_markdown_steps(sutra_diff_table(diff, SUTRA_DIFF_STEPS), summary.has_steps[0] || summary.has_steps[1]);
    print_markdown_kernels(sutra_diff_table(diff, SUTRA_DIFF_KERNELS), 2);
}

/* ---- JSON ---- */

static void json_real(const char *before, double value) {
    char text[NUMBER_TEXT_MAX];
    printf("%s%.*s", before, isfinite(value) ? (int)double_format(value, text) : 4, isfinite(value) ? text : "null");
}

enum sutra_status diff_json_print(struct sutra_context *context, const struct sutra_diff *diff,
                                  const struct diff_page_names *names, const struct diff_gate *gate,
                                  struct sutra_error *error) {
    static const char *const decisions[] = {
        [DIFF_PASS] = "pass", [DIFF_REGRESSION] = "regression", [DIFF_UNCLEAR] = "unclear"};
    struct sutra_diff_summary summary = {.size = sizeof summary};
    enum sutra_status status = SUTRA_OK;
    sutra_diff_summary(diff, &summary);
    for (int side = 0; side < 2; side++) {
        printf("%s\"%c\": {\"path\": ", side ? ",\n" : "{", side ? 'b' : 'a');
        json_string_print(stdout, names->sides[side]);
        printf(", \"n_ranks\": %" PRIu64 ", \"n_steps\": %" PRIu64 ", \"has_steps\": %s", summary.n_ranks[side],
               summary.n_steps[side], summary.has_steps[side] ? "true" : "false");
        json_real(", \"step_us\": ", summary.step_us[side]);
        putchar('}');
    }
    printf(",\n\"step\": {\"decision\": \"%s\"", decisions[gate->decision]);
    json_real(", \"diff_us\": ", gate->growth_us);
    json_real(", \"diff_percent\": ", gate->growth_percent);
    json_real(", \"noise_us\": ", gate->noise_us);
    json_real(", \"noise_percent\": ", gate->noise_percent);
    if (gate->n_steps_needed)
        printf(", \"steps_needed\": %" PRIu64 "}", gate->n_steps_needed);
    else
        printf(", \"steps_needed\": null}");
    for (int id = 0; id < SUTRA_DIFF_N_TABLES && !status; id++) {
        const struct sutra_table *table = sutra_diff_table(diff, (enum sutra_diff_table)id);
        if (!table)
            continue;
        printf(",\n\"%s\": ", sutra_table_name(table));
        fflush(stdout); /* the table is written below the stream */
        status = sutra_table_write(context, table, SUTRA_TABLE_JSON, "-", NULL, error);
    }
    printf("}\n");
    return status;
}
