/*
 * verdict.c - implements verdict.h for a rank: its findings, suspects, the atoms of its timeline, and sums over them.
 *
 * The sweep walks the rows of the overview, which fill the window, and the sorted intervals of each finding at the same
 * time. Sums follow docs/findings.md:
 *
 *     saved(S)      = sum over atoms of ticks * the largest weight of a finding of S that contains the atom
 *     achievable(S) = max(window - saved(S), gpu(S), communication(S), host(S))
 *
 * A suspect is a popular number that other tools would name as the cause. It is reported if it is large, its cost in
 * this trace is below SUSPECT_COST_PERCENT, and the rule about it reports nothing.
 *
 * Cost: O((rows + intervals) * findings), and O(atoms * findings) for each sum.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/launches/arguments.h"
#include "analyze/launches/graphs.h"
#include "analyze/overview/verdict.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "facts/gpu_peaks.h"
#include "read/document.h"
#include "text/strings.h"

/* ---- Atoms ---- */

static enum sutra_verdict_part part_of_kind(enum overview_kind kind) {
    static const uint8_t parts[OVERVIEW_N_KINDS] = {
        [OVERVIEW_COMPUTE] = SUTRA_PART_COMPUTE,    [OVERVIEW_COMMUNICATION] = SUTRA_PART_EXPOSED_COMM,
        [OVERVIEW_COPY] = SUTRA_PART_EXPOSED_COPY,  [OVERVIEW_QUEUED] = SUTRA_PART_QUEUED,
        [OVERVIEW_NOT_STARTED] = SUTRA_PART_QUEUED, [OVERVIEW_SLOW_LAUNCH] = SUTRA_PART_SETUP,
        [OVERVIEW_LAUNCH] = SUTRA_PART_HOST,        [OVERVIEW_LOADING] = SUTRA_PART_DATA,
        [OVERVIEW_SYNC] = SUTRA_PART_SYNC,          [OVERVIEW_SET_UP] = SUTRA_PART_SETUP,
        [OVERVIEW_AFTER_SYNC] = SUTRA_PART_SYNC,    [OVERVIEW_HOST] = SUTRA_PART_HOST,
        [OVERVIEW_UNKNOWN] = SUTRA_PART_UNKNOWN,    [OVERVIEW_AFTER] = SUTRA_PART_AFTER,
    };
    return (enum sutra_verdict_part)parts[kind];
}

/* Adds ticks to the atom of these rules and this part, *number; false: out of memory. */
static bool add_ticks(struct rank_verdict *verdict, struct pair_table *numbers, uint64_t *capacity, uint32_t rules,
                      uint32_t part, int64_t ticks, uint64_t *number) {
    struct pair_entry *entry = pair_table_insert(numbers, (uint64_t)rules << 32 | part, 0);
    if (!entry)
        return false;
    if (entry->number == PAIR_NONE) {
        if (verdict->n_atoms == *capacity) {
            uint64_t larger = MAX(2 * *capacity, 16);
            struct verdict_atom *atoms = realloc(verdict->atoms, larger * sizeof *atoms);
            if (!atoms)
                return false;
            verdict->atoms = atoms;
            *capacity = larger;
        }
        entry->number = (uint32_t)verdict->n_atoms;
        verdict->atoms[verdict->n_atoms++] = (struct verdict_atom){.rules = rules, .part = part};
    }
    verdict->atoms[entry->number].ticks += ticks;
    *number = entry->number;
    return true;
}

static enum sutra_status sum_atoms(const struct diagnosis *d, struct rank_verdict *verdict, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    const struct overview_finding *findings = d->findings->list;
    row_t next[FINDINGS_MOST] = {0}; /* the first interval of each finding that has not ended */
    uint32_t bits[FINDINGS_MOST];
    const unsigned n_findings = d->findings->n;
    uint64_t capacity = 0;
    struct pair_table numbers = {0};
    bool ok = pair_table_init(&numbers);
    uint64_t last_of_part[SUTRA_N_PARTS]; /* most intervals of a part belong to the atom of the last one */
    for (int part = 0; part < SUTRA_N_PARTS; part++)
        last_of_part[part] = UINT64_MAX;
    for (unsigned f = 0; f < n_findings; f++)
        bits[f] = finding_rule_bit(findings[f].rule);
    for (row_t i = 0; i < overview->n_rows && ok; i++) {
        const struct overview_row *row = &overview->rows[i];
        const uint32_t part = part_of_kind((enum overview_kind)row->kind);
        for (int64_t begin = row->begin, end; begin < row->end && ok; begin = end) {
            uint32_t rules = 0;
            end = row->end;
            for (unsigned f = 0; f < n_findings; f++) {
                const struct spans *spans = &findings[f].spans;
                while (next[f] < spans->n && spans->end[next[f]] <= begin)
                    next[f]++;
                if (next[f] == spans->n)
                    continue;
                bool contains = spans->begin[next[f]] <= begin;
                rules |= contains ? bits[f] : 0;
                end = MIN(end, contains ? spans->end[next[f]] : spans->begin[next[f]]);
            }
            const uint64_t last = last_of_part[part];
            if (last < verdict->n_atoms && verdict->atoms[last].rules == rules)
                verdict->atoms[last].ticks += end - begin;
            else
                ok = add_ticks(verdict, &numbers, &capacity, rules, part, end - begin, &last_of_part[part]);
        }
    }
    pair_table_free(&numbers);
    return ok ? SUTRA_OK : error_memory(error);
}

void rank_verdict_free(struct rank_verdict *verdict) {
    free(verdict->atoms);
    free(verdict->codes);
}

/* ---- Facts of a rank ---- */

static void read_device_name(const struct diagnosis *d, struct rank_verdict *verdict) {
    struct json_span span = device_member(&d->model->trace->document, "name");
    const char *bytes = d->model->trace->document.source.bytes;
    size_t length = 0;
    if (!span.at || bytes[span.at] != '"')
        return;
    for (const char *at = bytes + span.at + 1; *at != '"' && *at != '\\' && length + 1 < sizeof verdict->device; at++)
        verdict->device[length++] = *at;
    verdict->device[length] = 0;
}

/* A step is slow if it takes this many medians. */
#define SLOW_STEP_MEDIANS 1.2

/* Names the slowest step, and the part that makes it slower than the mean of the other steps. */
static enum sutra_status describe_slow_step(const struct diagnosis *d, struct rank_verdict *verdict,
                                            struct sutra_error *error) {
    static const char *const words[N_STEP_PARTS] = {"compute", "communication", "memcpy", "host",
                                                    "data",    "sync",          "queued", "unknown"};
    const struct overview_steps *steps = d->steps;
    const struct overview_step *slowest = NULL;
    int64_t from = d->overview->window.from;
    row_t n = 0;
    if (!verdict->has_steps || steps->n < 3)
        return SUTRA_OK;
    struct arena_mark mark = arena_mark(d->arena);
    int64_t *lengths = arena_alloc(d->arena, steps->n, sizeof *lengths);
    TRY(arena_status(d->arena, error));
    for (row_t i = 0; i < steps->n; i++) {
        const struct overview_step *step = &steps->list[i];
        if (step->begin < from)
            continue;
        lengths[n++] = step->end - step->begin;
        if (!slowest || step->end - step->begin > slowest->end - slowest->begin)
            slowest = step;
    }
    if (n > 1)
        qsort(lengths, n, sizeof *lengths, compare_int64s);
    int64_t median = n ? lengths[upper_median_at(n)] : 0;
    arena_release(d->arena, mark);
    if (n < 3 || (double)(slowest->end - slowest->begin) <= SLOW_STEP_MEDIANS * (double)median)
        return SUTRA_OK;

    int part_most = 0;
    double most = 0;
    for (int part = 0; part < N_STEP_PARTS; part++) {
        double others = 0;
        for (row_t i = 0; i < steps->n; i++)
            others +=
                steps->list[i].begin >= from && &steps->list[i] != slowest ? (double)steps->list[i].ticks[part] : 0;
        double more = (double)slowest->ticks[part] - others / (n - 1);
        if (more > most) {
            most = more;
            part_most = part;
        }
    }
    char name[FINDING_NAME];
    copy_finding_name(d, slowest->name, name, sizeof name);
    const char *number = strchr(name, '#');
    snprintf(verdict->slow_step, sizeof verdict->slow_step, "Step %.40s took %.20s (+%.20s, %s).",
             number ? number : name, brief_time_text((double)(slowest->end - slowest->begin)).text,
             brief_time_text((double)(slowest->end - slowest->begin - median)).text, words[part_most]);
    return SUTRA_OK;
}

/* A kernel is named if it takes this share of the window. */
#define MAIN_KERNEL_PERCENT 40

/* Names a kernel that takes much of the window, and the operator that launches it. */
static void describe_main_kernel(const struct diagnosis *d, struct rank_verdict *verdict) {
    const struct device_rows *devices = &d->model->devices;
    const uint32_t kernel = find_max_kernel(d);
    if (kernel == STRING_NONE)
        return;
    const double ticks = (double)d->measures.of_kernel[kernel];
    row_t device = 0;
    if (percent_of_window(d, ticks) <= MAIN_KERNEL_PERCENT)
        return;
    while (d->model->events->name[devices->event[device]] != kernel)
        device++;
    const row_t launcher = devices->launcher[device];
    const uint32_t op = activity_operator(d->model, device);
    char by[160] = "";
    const uint32_t frame = launcher == ROW_NONE ? STRING_NONE : user_frame_of(d, launcher);
    const bool is_call = launcher != ROW_NONE && d->model->hosts.kind[launcher] == HOST_CALL;
    if (is_call && overview_name(d->overview, launcher) & NAME_LAUNCH_GRAPH)
        snprintf(by, sizeof by, ", launched by a graph");
    else if (is_call)
        snprintf(by, sizeof by, ", launched outside of operators%s%.60s", frame == STRING_NONE ? "" : " in ",
                 frame == STRING_NONE ? "" : finding_name(d, frame).text);
    else if (op != STRING_NONE)
        snprintf(by, sizeof by, ", launched by %.60s", finding_name(d, op).text);
    snprintf(verdict->main_kernel, sizeof verdict->main_kernel, "Kernel %.60s takes %s of the time%s.",
             finding_name(d, kernel).text, finding_percent(ticks, d->measures.window).text, by);
}

/* ---- Suspects ---- */

#define SUSPECT_COST_PERCENT 5

/* By the difference of the popular number and the cost, largest first. */
static int compare_suspects(const void *left, const void *right) {
    const struct suspect_numbers *a = left, *b = right;
    double more_a = a->apparent - a->percent, more_b = b->apparent - b->percent;
    if (more_a != more_b)
        return more_a > more_b ? -1 : 1;
    const unsigned position_a = a->rule->suspect.position, position_b = b->rule->suspect.position;
    return (position_a > position_b) - (position_a < position_b);
}

static void find_suspects(const struct diagnosis *d, struct rank_verdict *verdict) {
    struct suspect_numbers found[FINDING_RULES_MOST] = {0};
    unsigned n = 0;
    for (uint32_t i = 0; i < n_finding_rules; i++) {
        const struct finding_rule *rule = finding_rules[i];
        if (!rule->suspect.name || finding_of_rule(d->findings->list, d->findings->n, rule))
            continue;
        const struct suspect_percents percents = rule->suspect.measure(d);
        if (percents.apparent >= rule->suspect.min_apparent && percents.cost < SUSPECT_COST_PERCENT)
            found[n++] = (struct suspect_numbers){rule, percents.apparent, percents.cost};
    }
    if (n > 1)
        qsort(found, n, sizeof *found, compare_suspects);
    verdict->n_suspects = MIN(n, SUSPECTS_MOST);
    memcpy(verdict->suspects, found, verdict->n_suspects * sizeof *found);
}

/* ---- Findings of a rank ---- */

/* Whether a rule rests on data that defects of the trace damage: all rules rest on the times of GPU activities, some
 * also on the time from launches to activities. */
static bool rests_on_damage(const struct trace_validity *validity, const struct finding_rule *rule) {
    return !rule->is_first &&
           (validity_has_damaged_times(validity) || (rule->uses_launches && validity_has_device_clock(validity)));
}

/* Drops findings that rest on damaged data; returns the rules of dropped findings that would be shown, as bits. */
static uint32_t drop_damaged_findings(struct diagnosis *d) {
    struct overview_findings *findings = d->findings;
    uint32_t dropped = 0;
    unsigned n_all = findings->n_all;
    findings->n_all = 0;
    for (unsigned i = 0; i < n_all; i++) {
        const struct overview_finding *finding = &findings->list[i];
        if (!rests_on_damage(d->model->trace->validity, finding->rule))
            findings->list[findings->n_all++] = *finding;
        else if (finding_is_shown(finding))
            dropped |= finding_rule_bit(finding->rule);
    }
    return dropped;
}

/* A finding is a part of an earlier one if at least this percentage of its intervals is in the intervals of the earlier
 * one. */
#define PART_PERCENT 80

/* Marks findings whose time is in the time of an earlier one. */
static enum sutra_status find_parts(struct diagnosis *d, struct sutra_error *error) {
    struct overview_finding *list = d->findings->list;
    for (unsigned i = 1; i < d->findings->n; i++)
        for (unsigned k = 0; k < i; k++) {
            struct spans common;
            struct arena_mark mark = arena_mark(d->arena);
            if (isnan(list[i].saving_percent) || isnan(list[k].saving_percent))
                continue;
            TRY(spans_common(&list[i].spans, &list[k].spans, d->arena, &common, error));
            if (list[i].rule->part_of == list[k].rule ||
                (double)spans_length(&common) * 100 >= (double)spans_length(&list[i].spans) * PART_PERCENT)
                list[i].part_of |= finding_rule_bit(list[k].rule);
            arena_release(d->arena, mark);
        }
    return SUTRA_OK;
}

/* ---- Traces without GPU activity ---- */

#define CPU_MODEL_PERCENT 50

/* Whether an operator is of a CPU backend. */
static bool is_of_cpu_backend(const struct strings *strings, uint32_t name) {
    static const char *const words[] = {"mkldnn_", "slow_conv", "mkl_", "aten::_native_"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_compare(strings, name, TEXT_HAS, words[i]))
            return true;
    return false;
}

/* The self times of operators, by name. */
struct name_time {
    int64_t self;
    uint32_t n_calls, n_threads, last_thread; /* the thread of the last call */
};

/* Fills the self time of each row, and the sums by name; returns the share of CPU backends in percent. */
static double sum_operator_times(const struct diagnosis *d, int64_t *self, struct name_time *of_name, int64_t *all) {
    const struct host_rows *hosts = &d->model->hosts;
    int64_t backends = 0;
    *all = 0;
    for (row_t row = 0; row < hosts->n; row++) {
        const row_t around = hosts->around[row];
        if (hosts->kind[row] != HOST_OPERATOR)
            continue;
        self[row] += hosts->stop[row] - hosts->start[row];
        if (around != ROW_NONE)
            self[around] -=
                ticks_within(hosts->start[row], hosts->stop[row], hosts->start[around], hosts->stop[around]);
    }
    for (row_t row = 0; row < hosts->n; row++) {
        const uint32_t name = host_name(d->model, row);
        struct name_time *time = &of_name[name];
        if (hosts->kind[row] != HOST_OPERATOR)
            continue;
        self[row] = MAX(self[row], 0);
        ticks_add(&time->self, self[row]);
        ticks_add(all, self[row]);
        ticks_add(&backends, is_of_cpu_backend(d->model->strings, name) ? self[row] : 0);
        time->n_threads += time->n_calls++ == 0 || time->last_thread != hosts->thread[row];
        time->last_thread = hosts->thread[row];
    }
    return *all ? (double)backends / (double)*all * 100 : 0;
}

/* Names the input shapes with most self time of an operator, and finds out whether a tensor is on a device. */
static enum sutra_status read_shapes(struct diagnosis *d, uint32_t name, const int64_t *self,
                                     struct cpu_operator *shown, struct sutra_error *error) {
    const struct host_rows *hosts = &d->model->hosts;
    struct arena_mark mark = arena_mark(d->arena);
    row_t *rows = arena_alloc(d->arena, hosts->n, sizeof *rows), n = 0;
    struct op_arguments arguments = {0};
    TRY_ALLOC(rows, error);
    for (row_t row = 0; row < hosts->n; row++)
        if (hosts->kind[row] == HOST_OPERATOR && host_name(d->model, row) == name)
            rows[n++] = row;
    enum sutra_status status = op_arguments_read(d->context, d->model, rows, n, d->arena, &arguments, error);
    int64_t *of_shape = status ? NULL : arena_zeros(d->arena, arguments.texts.n, sizeof *of_shape), most = 0;
    uint32_t shape = 0;
    if (!status && !of_shape)
        status = error_memory(error);
    for (row_t i = 0; i < n && !status; i++) {
        const uint32_t dims = op_argument_text(&arguments, ARGUMENT_DIMS, i);
        const char *values = strings_text(&arguments.texts, op_argument_text(&arguments, ARGUMENT_VALUES, i));
        ticks_add(&of_shape[dims], self[rows[i]]);
        if (of_shape[dims] > most) {
            most = of_shape[dims];
            shape = dims;
        }
        d->facts |= strstr(values, "cuda") || strstr(values, "xpu") ? FACT_DEVICE_USED : 0;
    }
    if (!status && shown)
        snprintf(shown->shapes, sizeof shown->shapes, "%.*s", (int)sizeof shown->shapes - 1,
                 short_text(strings_text(&arguments.texts, shape), 60).text);
    op_arguments_free(&arguments);
    arena_release(d->arena, mark);
    return status;
}

/* Lists the operators with most self time; *backends is the share of CPU backends in percent. */
static enum sutra_status find_cpu_operators(struct diagnosis *d, struct rank_verdict *verdict, double *backends,
                                            struct sutra_error *error) {
    const struct host_rows *hosts = &d->model->hosts;
    const struct strings *strings = d->model->strings;
    static const char *const movers[] = {"aten::to", "aten::_to_copy"};
    int64_t *self = arena_zeros(d->arena, hosts->n, sizeof *self), all;
    struct name_time *of_name = arena_zeros(d->arena, strings->n, sizeof *of_name);
    TRY(arena_status(d->arena, error));
    *backends = sum_operator_times(d, self, of_name, &all);
    while (verdict->n_cpu_operators < CPU_OPERATORS_MOST) {
        uint32_t most = STRING_NONE;
        for (uint32_t name = 0; name < strings->n; name++)
            if (of_name[name].self > (most == STRING_NONE ? 0 : of_name[most].self))
                most = name;
        if (most == STRING_NONE)
            break;
        struct cpu_operator *op = &verdict->cpu_operators[verdict->n_cpu_operators++];
        *op = (struct cpu_operator){.self = of_name[most].self,
                                    .percent = (double)of_name[most].self / (double)all * 100,
                                    .n_calls = of_name[most].n_calls,
                                    .n_threads = of_name[most].n_threads};
        copy_finding_name(d, most, op->name, sizeof op->name);
        TRY(read_shapes(d, most, self, op, error));
        of_name[most].self = 0;
    }
    for (size_t i = 0; i < sizeof movers / sizeof *movers; i++) {
        const uint32_t name = strings_find(strings, movers[i], strlen(movers[i]));
        if (name != STRING_NONE)
            TRY(read_shapes(d, name, self, NULL, error));
    }
    for (row_t row = 0; row < hosts->n; row++)
        d->facts |= hosts->kind[row] == HOST_CALL ? FACT_DEVICE_USED : 0;
    return SUTRA_OK;
}

/* The verdict on a trace without GPU activity, and the cause as the only finding: without a statement on the GPU. */
#define MIN_LAUNCH_CALLS 10
static enum sutra_status make_verdict_without_activity(struct diagnosis *d, struct rank_verdict *verdict,
                                                       struct sutra_error *error) {
    const struct device_summary *device = &d->overview->device;
    const struct no_activity_text cause = no_activity_message(device);
    const bool was_used = device->n_launches >= MIN_LAUNCH_CALLS && device->cause != HOST_ONLY;
    double backends = 0;
    if (device->cause == HOST_ONLY) {
        TRY(read_trace_facts(d, error));
        TRY(find_cpu_operators(d, verdict, &backends, error));
    }
    const bool is_cpu_model = backends > CPU_MODEL_PERCENT && !(d->facts & FACT_DEVICE_USED);
    if (device->cause != HAS_ACTIVITY && device->cause != FILE_TRUNCATED) {
        d->measures.window = 1;
        struct overview_finding *finding = add_finding(d, &rule_no_kernels, NULL, "%s.", cause.text);
        add_finding_number(finding, "launches", device->n_launches);
        set_finding_now(finding, "0");
        finding->facts = d->facts | (device->cause == HOST_ONLY               ? FACT_HOST_ONLY
                                     : device->cause == KERNELS_NOT_DELIVERED ? FACT_UNDELIVERED
                                                                              : 0);
        finding->facts |= is_cpu_model ? FACT_CPU_MODEL : 0;
        if (device->cause == HOST_ONLY)
            TRY(find_eval_mode_missing(d, error));
        for (; verdict->n_findings < d->findings->n_all; verdict->n_findings++)
            verdict->findings[verdict->n_findings] = d->findings->list[verdict->n_findings];
    }
    if (is_cpu_model)
        snprintf(verdict->no_activity, sizeof verdict->no_activity, "%s", finding_percent(backends, 100).text);
    else
        memcpy(verdict->no_activity, cause.text, sizeof cause.text);
    verdict->kind = is_cpu_model ? SUTRA_VERDICT_CPU_MODEL
                    : was_used   ? SUTRA_VERDICT_NO_GPU_ACTIVITY
                                 : SUTRA_VERDICT_CPU_ONLY;
    verdict->window = overview_length(d->overview);
    verdict->has_steps = d->overview->window.n_steps > 0;
    verdict->n_steps = verdict->has_steps ? d->overview->window.n_steps : 1;
    return SUTRA_OK;
}

/* Warns about launches without an activity, and crops the window to the first launch that has one. */
static void crop_dropped_activities(struct diagnosis *d) {
    const struct device_summary *device = &d->overview->device;
    int64_t start = d->overview->window.from;
    context_warn(d->context,
                 "%s of %s have no kernel: activities were dropped, from %s to %s after the start of the window; the "
                 "time before the first launch with a kernel is skipped",
                 count_text(device->n_lost).text, counted_text(device->n_launches, "launch", "launches").text,
                 brief_time_text((double)(device->lost_from - start)).text,
                 brief_time_text((double)(device->lost_to - start)).text);
    if (device->first_kept != INT64_MAX && device->lost_from < device->first_kept && device->first_kept > start)
        overview_crop(d->overview, device->first_kept);
}

enum sutra_status find_findings(struct sutra_context *context, const struct launch_model *model,
                                struct overview *overview, const struct overview_steps *steps,
                                const struct collective_calls *calls, bool alone, struct arena *arena,
                                struct arena *scratch, struct rank_verdict *verdict, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct overview_findings *findings = arena_zeros(scratch, 1, sizeof *findings);
    struct diagnosis d = {.context = context,
                          .model = model,
                          .overview = overview,
                          .steps = steps,
                          .calls = calls,
                          .alone = alone,
                          .kept = arena,
                          .arena = scratch,
                          .findings = findings};
    *verdict = (struct rank_verdict){.kind = SUTRA_VERDICT_STEPS};
    TRY_ALLOC(findings, error);
    if (model->devices.n == 0) {
        TRY(make_verdict_without_activity(&d, verdict, error));
        arena_release(scratch, mark);
        return SUTRA_OK;
    }
    if (device_has_dropped(&overview->device))
        crop_dropped_activities(&d);
    int64_t window = MAX(overview_length(overview), 1);
    d.measures = (struct measures){.window = (double)window, .n_steps = 1};
    TRY(read_trace_facts(&d, error));
    TRY(apply_rules(&d, error));

    /* Select the findings that are shown, and complete them. */
    verdict->device_side = has_fired(&d, &rule_device_side);
    verdict->not_judged = drop_damaged_findings(&d);
    sort_findings(findings, percent_of_overview(overview, overview_busy(overview)));
    TRY(find_parts(&d, error));
    for (unsigned i = 0; i < findings->n; i++) {
        struct overview_finding *finding = &findings->list[i];
        finding->facts |= d.facts;
        if (finding->limited_by == LIMIT_HOST_WAITS)
            append_finding_text(finding,
                                " The CPU waits for the GPU only %s of the step, so faster kernels save at most that "
                                "(uncapped: %.1f%%).",
                                finding_percent((double)d.measures.blocked_on_device, d.measures.window).text,
                                finding->uncapped);
        TRY(find_evidence(&d, finding, error));
    }
    TRY(find_code(&d, verdict, error));

    verdict->window = overview_length(overview);
    verdict->n_steps = d.measures.n_steps;
    verdict->has_steps = overview->window.n_steps > 0;
    verdict->by_annotation = !verdict->has_steps && steps->source == STEPS_ANNOTATION;
    verdict->busy = overview_busy(overview);
    verdict->communication = overview->communication;
    verdict->host_needed = d.measures.host_needed;
    verdict->off_core = (double)d.measures.off_core / d.measures.window;
    verdict->excluded = d.excluded;
    verdict->excluded_by = d.excluded_by;
    verdict->kind = d.is_startup ? SUTRA_VERDICT_STARTUP : SUTRA_VERDICT_STEPS;
    read_device_name(&d, verdict);
    if (verdict->kind == SUTRA_VERDICT_STEPS)
        find_suspects(&d, verdict);
    verdict->n_findings = findings->n;
    memcpy(verdict->findings, findings->list, findings->n * sizeof *verdict->findings);
    TRY(describe_slow_step(&d, verdict, error));
    if (verdict->kind == SUTRA_VERDICT_STEPS)
        describe_main_kernel(&d, verdict);
    TRY(sum_atoms(&d, verdict, error));
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* ---- Sums ---- */

/* The rules whose repair has this effect on the CPU. */
static uint32_t rules_with_cpu(enum finding_cpu cpu) {
    uint32_t rules = 0;
    for (uint32_t i = 0; i < n_finding_rules; i++)
        rules |= finding_rules[i]->cpu == cpu ? 1U << i : 0;
    return rules;
}

double achievable_window(const struct job_rank *rank, uint32_t rules, enum achievable_bound *bound) {
    const struct rank_verdict *verdict = rank->verdict;
    double weights[FINDING_RULES_MOST] = {0}, saved = 0, saved_busy = 0, relieved = 0, exposed = 0;
    const double window = (double)verdict->window;
    const uint32_t relieving = rules_with_cpu(CPU_IS_RELIEVED);
    /* Without stragglers, all ranks arrive with the first one: no rank waits, and each gains its own lateness. */
    const bool no_straggler = rules & finding_rule_bit(&rule_straggler);
    const double wait = no_straggler ? rank->wait : 0, late = no_straggler ? rank->late : 0;
    for (unsigned i = 0; i < verdict->n_findings; i++)
        weights[finding_rule_number(verdict->findings[i].rule)] = verdict->findings[i].weight;
    for (uint64_t i = 0; i < verdict->n_atoms; i++) {
        const struct verdict_atom *atom = &verdict->atoms[i];
        const uint32_t fixed = atom->rules & rules;
        double weight = 0, ticks = (double)atom->ticks;
        for (uint32_t left = fixed; left; left &= left - 1)
            weight = fmax(weight, weights[__builtin_ctz(left)]);
        /* In a job, a part of exposed communication is waiting, and only the rest is a transfer. */
        if (atom->part == SUTRA_PART_EXPOSED_COMM) {
            weight = wait + weight * (1 - rank->wait);
            exposed += ticks;
        }
        saved += weight * ticks;
        saved_busy += atom->part <= SUTRA_PART_EXPOSED_COPY ? weight * ticks : 0; /* the GPU is busy */
        relieved += fixed & relieving ? ticks : 0;
    }

    /* A straggler may be late because its GPU takes longer; the GPU of another rank is as busy as before. */
    const double late_gpu = rank->is_late ? late : 0;
    double gpu = (double)verdict->busy - saved_busy - late_gpu, communication = 0, host = 0;
    if (rules & finding_rule_bit(&rule_exposed_comm) && !(rules & finding_rule_bit(&rule_slow_collective)))
        communication = (double)verdict->communication - wait * exposed - late_gpu;
    if (rules & rules_with_cpu(CPU_STAYS_BUSY) && !(rules & finding_rule_bit(&rule_host_bound)) &&
        !(rules & finding_rule_bit(&rule_host_gaps)) && !verdict->device_side)
        host = (double)verdict->host_needed - relieved - late;
    double left = window - saved - late, best = fmax(fmax(left, gpu), fmax(communication, host));
    *bound = best == left            ? BOUND_NONE
             : best == host          ? BOUND_HOST
             : best == communication ? BOUND_COMMUNICATION
                                     : BOUND_GPU;
    return fmax(best, 0);
}

void verdict_parts(const struct rank_verdict *verdict, int64_t ticks[SUTRA_N_PARTS]) {
    memset(ticks, 0, SUTRA_N_PARTS * sizeof *ticks);
    for (uint64_t i = 0; i < verdict->n_atoms; i++)
        ticks[verdict->atoms[i].part] += verdict->atoms[i].ticks;
}

void verdict_unexplained(const struct rank_verdict *verdict, uint32_t rules, int64_t ticks[SUTRA_N_PARTS]) {
    memset(ticks, 0, SUTRA_N_PARTS * sizeof *ticks);
    for (uint32_t i = 0; i < n_finding_rules; i++)
        rules &= finding_rules[i]->cause_is_unknown ? ~(1U << i) : UINT32_MAX;
    for (uint64_t i = 0; i < verdict->n_atoms; i++)
        if (verdict->atoms[i].part != SUTRA_PART_COMPUTE && !(verdict->atoms[i].rules & rules))
            ticks[verdict->atoms[i].part] += verdict->atoms[i].ticks;
}
