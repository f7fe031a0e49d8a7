/*
 * findings.c - guards, then rules, then order; and how findings are worded.
 */
#include "analyze/overview/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "text/short_name.h"

/* Less is not worth a sentence; layouts are told from where their own rule begins. */
#define LEAST_WIN 3

/* Where the device is idle more than the rest, what it computes comes second to why it waits. */
#define OFTEN_IDLE_PERCENT 60

/* Of names in sentences; of functions of Python the end tells which it is. */
#define NAME_COLUMNS 48

const char *const finding_names[N_FINDING_RULES] = {
    [FINDING_STARTUP] = "startup",
    [FINDING_UNRECORDED_GRAPH] = "unrecorded_graph",
    [FINDING_DEVICE_SIDE] = "device_side",
    [FINDING_DATA_LOADING] = "data_loading",
    [FINDING_CPU_PREPROCESSING] = "cpu_preprocessing",
    [FINDING_HOST_BOUND] = "host_bound",
    [FINDING_SMALL_KERNELS_OPTIMIZER] = "small_kernels_optimizer",
    [FINDING_EXPOSED_COMM] = "exposed_comm",
    [FINDING_STRAGGLER] = "straggler",
    [FINDING_SLOW_COLLECTIVE] = "slow_collective",
    [FINDING_COPIES] = "copies",
    [FINDING_SYNC] = "sync",
    [FINDING_ALLOCATION] = "allocation",
    [FINDING_FP32] = "fp32_no_tensor_cores",
    [FINDING_UNFUSED_ATTENTION] = "unfused_attention",
    [FINDING_ELEMENTWISE_FUSION] = "elementwise_fusion",
    [FINDING_LAYOUT] = "layout",
    [FINDING_DDP_BUFFERS] = "ddp_buffers",
    [FINDING_GEMM_BOUND] = "gemm_bound",
    [FINDING_TRACE_EDGE] = "trace_edge",
};

/* ---- Wording ---- */

struct figure finding_time(double ticks) {
    static const char *const units[] = {"us", "ms", "s"};
    struct figure figure;
    double value = ticks / 1000;
    int unit = 0;
    for (; value >= 999.5 && unit < 2; value /= 1000)
        unit++;
    int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(figure.text, sizeof figure.text, "%.*f %s", value <= 0 ? 0 : digits, value, units[unit]);
    return figure;
}

struct figure finding_per_step(const struct findings_work *work, double ticks) {
    struct figure figure, part = finding_time(ticks / work->measures.n_steps),
                          whole = finding_time(work->measures.window / work->measures.n_steps);
    const char *each = work->measures.n_steps > 1 ? "each " : work->overview->window.n_steps ? "the " : "";
    const char *step = work->overview->window.n_steps ? " step" : "";
    snprintf(figure.text, sizeof figure.text, "%.40s of %s%.40s%s", part.text, each, whole.text, step);
    return figure;
}

struct figure finding_percent(double part, double whole) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, "%.1f%%", whole > 0 ? part / whole * 100 : 0);
    return figure;
}

struct figure finding_count(const struct findings_work *work, double count) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, "%.0f %s", count / work->measures.n_steps,
             work->overview->window.n_steps ? "per step" : "in total");
    return figure;
}

struct shortened finding_name(const struct findings_work *work, uint32_t string) {
    const char *name = strings_text(work->reading->strings, string);
    return strstr(name, ".py(") ? short_path(name, NAME_COLUMNS) : short_name(name, NAME_COLUMNS);
}

void finding_add(struct overview_finding *finding, const char *format, ...) {
    size_t length = strlen(finding->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text + length, sizeof finding->text - length, format, arguments);
    va_end(arguments);
}

struct overview_finding *finding_say(struct findings_work *work, enum finding_rule rule, double win, const char *format,
                                     ...) {
    struct overview_finding *finding = &work->findings->list[work->findings->n++];
    va_list arguments;
    *finding = (struct overview_finding){.rule = rule, .win = isnan(win) ? win : part_of_window(work, win)};
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    work->fired[rule] = true;
    return finding;
}

void finding_number(struct overview_finding *finding, const char *name, double value) {
    if (finding->n_numbers < FINDING_NUMBERS)
        finding->numbers[finding->n_numbers++] = (struct sutra_finding_number){name, value};
}

enum sutra_status finding_frame(struct findings_work *work, uint32_t kinds, uint32_t *name, int64_t *ticks,
                                struct sutra_error *error) {
    const struct overview *overview = work->overview;
    struct arena_mark mark = arena_mark(work->arena);
    int64_t *sums = arena_zeros(work->arena, work->reading->strings->n, sizeof *sums);
    enum sutra_status status = arena_status(work->arena, error);
    *name = STRING_NONE;
    *ticks = 0;
    for (row_t i = 0; i < overview->n_rows && !status; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (!(kinds >> row->kind & 1) || row->frame == ROW_NONE)
            continue;
        uint32_t of = host_name(work->reading, row->frame);
        sums[of] += row->end - row->begin;
        if (sums[of] > *ticks) {
            *ticks = sums[of];
            *name = of;
        }
    }
    arena_release(work->arena, mark);
    return status;
}

/* ---- Order ---- */

static bool leaves_idle(enum finding_rule rule) {
    return rule == FINDING_DATA_LOADING || rule == FINDING_CPU_PREPROCESSING || rule == FINDING_HOST_BOUND;
}

static bool computes(enum finding_rule rule) {
    return rule == FINDING_FP32 || rule == FINDING_UNFUSED_ATTENTION || rule == FINDING_ELEMENTWISE_FUSION;
}

/* The least win of what leaves the device idle, which what it computes stands behind. */
static double limit_of(const struct overview_findings *findings, double busy_percent) {
    double limit = INFINITY;
    for (unsigned i = 0; i < findings->n && busy_percent < OFTEN_IDLE_PERCENT; i++)
        if (leaves_idle(findings->list[i].rule) && findings->list[i].win < limit)
            limit = findings->list[i].win;
    return limit;
}

/* Whether a finding stands before another; those without a win are last. */
static bool is_before(const struct overview_finding *a, const struct overview_finding *b, double limit) {
    double win_a = computes(a->rule) ? fmin(a->win, limit) : a->win;
    double win_b = computes(b->rule) ? fmin(b->win, limit) : b->win;
    if (isnan(a->win) || isnan(b->win))
        return isnan(a->win) && isnan(b->win) ? a->rule < b->rule : isnan(b->win);
    return win_a != win_b ? win_a > win_b : a->rule < b->rule;
}

void findings_order(struct overview_findings *findings, double busy_percent) {
    unsigned n = 0;
    for (unsigned i = 0; i < findings->n; i++) {
        const struct overview_finding *finding = &findings->list[i];
        if (isnan(finding->win) || finding->win >= LEAST_WIN || finding->rule == FINDING_LAYOUT)
            findings->list[n++] = *finding;
    }
    findings->n = n;
    double limit = limit_of(findings, busy_percent);
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = i; k > 0 && is_before(&findings->list[k], &findings->list[k - 1], limit); k--) {
            struct overview_finding held = findings->list[k];
            findings->list[k] = findings->list[k - 1];
            findings->list[k - 1] = held;
        }
    findings->n = n < FINDINGS_MOST ? n : FINDINGS_MOST;
}

enum sutra_status findings_make(struct sutra_context *context, const struct op_reading *reading,
                                struct overview *overview, const struct collective_calls *calls, bool alone,
                                struct arena *scratch, struct overview_findings *findings, struct sutra_error *error) {
    static finding_look *const looks[] = {rule_data_loading,
                                          rule_cpu_preprocessing,
                                          rule_host_bound,
                                          rule_small_kernels_optimizer,
                                          rule_exposed_comm,
                                          rule_straggler,
                                          rule_slow_collective,
                                          rule_copies,
                                          rule_sync,
                                          rule_allocation,
                                          rule_fp32,
                                          rule_unfused_attention,
                                          rule_elementwise_fusion,
                                          rule_layout,
                                          rule_ddp_buffers,
                                          rule_gemm_bound};
    struct arena_mark mark = arena_mark(scratch);
    struct findings_work work = {.context = context,
                                 .reading = reading,
                                 .overview = overview,
                                 .calls = calls,
                                 .alone = alone,
                                 .arena = scratch,
                                 .findings = findings};
    bool go_on = overview_busy(overview) > 0;
    enum sutra_status status = SUTRA_OK;
    findings->n = 0;
    if (go_on)
        status = guards_apply(&work, &go_on, error);
    if (!status && go_on)
        status = measures_take(&work, error);
    for (size_t i = 0; i < sizeof looks / sizeof *looks && !status && go_on; i++)
        status = looks[i](&work, error);
    if (!status)
        findings_order(findings, overview_length(overview) > 0
                                     ? (double)overview_busy(overview) * 100 / (double)overview_length(overview)
                                     : 0);
    arena_release(scratch, mark);
    return status;
}
