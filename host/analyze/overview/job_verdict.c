/*
 * job_verdict.c - the verdict on all ranks of a job, as the public functions return it.
 *
 *     rank 0   |== step ==========================|         T = the longest rank's step
 *     rank 1   |== step ================|outside ..|         all shares of all ranks are of T
 *
 * A rule's saving is the median over the ranks on which it fires; its texts are of the rank with the largest. Exposed
 * communication splits into waiting for other ranks, which belongs to stragglers, and transfer. The achievable step is
 * the largest over all ranks of the time outside their step and their own achievable step. The shares are of the rank
 * whose range represents the first finding, else of the rank with the median compute.
 *
 * Cost: O(ranks * (findings^2 * atoms)), and a sort of ranks per rule.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/overview/verdict.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"
#include "facts/code_names.h"
#include "text/strings.h"

const char *sutra_verdict_part_name(enum sutra_verdict_part part) {
    static const char *const names[SUTRA_N_PARTS] = {"compute", "exposed_comm", "exposed_copy", "host",
                                                     "data",    "sync",         "setup",        "queued",
                                                     "after",   "unknown",      "outside_step"};
    return part < SUTRA_N_PARTS ? names[part] : "";
}

const char *sutra_phase_name(enum sutra_phase phase) {
    static const char *const names[SUTRA_N_PHASES] = {"forward", "backward", "optimizer", "data", "between operators"};
    return phase < SUTRA_N_PHASES ? names[phase] : "";
}

/* ---- Texts in the arena ---- */

#define TEXT_MOST 2048

/* Appends to a text of TEXT_MOST bytes. */
__attribute__((format(printf, 2, 3))) static void append(char *text, const char *format, ...) {
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, TEXT_MOST - length, format, arguments);
    va_end(arguments);
}

const char *shell_word(struct arena *arena, const char *path) {
    struct buffer named = {0}, word = {0};
    buffer_append(&named, "./", *path == '-' ? 2 : 0);
    buffer_append(&named, path, strlen(path) + 1);
    if (!named.failed)
        shell_append_word(&word, named.bytes);
    arena->failed |= named.failed || word.failed;
    const char *copy = arena->failed ? NULL : arena_text(arena, word.bytes, word.length);
    buffer_free(&named);
    buffer_free(&word);
    return copy ? copy : "";
}

/* ---- Shares ---- */

/* A job while its verdict is made. */
struct joining {
    const struct job_rank *ranks;
    size_t n;
    struct arena *arena;
    double step; /* T, ticks */
    struct job_verdict *job;
    struct overview_findings *findings;
    struct rule_ranks {
        double min, max, sum;
        size_t n, most_rank;       /* index */
    } of_rule[FINDING_RULES_MOST]; /* by number */
    const struct job_findings *found;
    bool is_late;             /* the finding about stragglers is listed */
    const char *run, *traces; /* words of commands: of a run, and of its window; or NULL */
};

static double step_ticks(const struct rank_verdict *verdict) {
    return (double)verdict->window / verdict->n_steps;
}

/* Shares of a rank in percent of the job's step. */
static void find_shares(const struct joining *joining, const struct rank_verdict *verdict,
                        double shares[SUTRA_N_PARTS]) {
    int64_t ticks[SUTRA_N_PARTS];
    verdict_parts(verdict, ticks);
    for (int part = 0; part < SUTRA_N_PARTS; part++)
        shares[part] = joining->step > 0 ? (double)ticks[part] / verdict->n_steps / joining->step * 100 : 0;
    shares[SUTRA_PART_OUTSIDE_STEP] =
        joining->step > 0 ? (joining->step - step_ticks(verdict)) / joining->step * 100 : 0;
}

/* The rank with the median compute among those with shares; 0: none has shares. */
static size_t median_rank(const struct joining *joining, double *values) {
    size_t n = 0;
    double shares[SUTRA_N_PARTS];
    for (size_t i = 0; i < joining->n; i++)
        if (joining->ranks[i].verdict->kind == SUTRA_VERDICT_STEPS) {
            find_shares(joining, joining->ranks[i].verdict, shares);
            values[n++] = shares[SUTRA_PART_COMPUTE];
        }
    if (n == 0)
        return 0;
    qsort(values, n, sizeof *values, compare_doubles);
    const double median = values[lower_median_at(n)];
    for (size_t i = 0; i < joining->n; i++) {
        find_shares(joining, joining->ranks[i].verdict, shares);
        if (joining->ranks[i].verdict->kind == SUTRA_VERDICT_STEPS && shares[SUTRA_PART_COMPUTE] == median)
            return i;
    }
    return 0;
}

/* The rank of the first range that `sutra cut` can write, which the findings and the commands name; without one, the
 * rank with the median compute. */
static size_t representative_rank(const struct joining *joining, double *values) {
    for (unsigned i = 0; i < joining->findings->n; i++) {
        const struct overview_finding *finding = &joining->findings->list[i];
        const size_t rank = joining->of_rule[finding_rule_number(finding->rule)].most_rank;
        if (finding->range.from_us < finding->range.to_us && joining->ranks[rank].verdict->kind == SUTRA_VERDICT_STEPS)
            return rank;
    }
    return median_rank(joining, values);
}

/* ---- Findings ---- */

/* A rank's saving of a finding in percent of the job's step, without waiting for other ranks. */
static double saving_of_job(const struct joining *joining, const struct job_rank *rank,
                            const struct overview_finding *finding) {
    double share = joining->step > 0 ? step_ticks(rank->verdict) / joining->step : 0;
    return finding->saving_percent * share * (finding->rule->includes_waits ? 1 - rank->wait : 1);
}

/* Exposed communication of the job, whose saving is the transfer. `joined` is the finding of the rank with most of it.
 * Returns whether it is reported: if the transfer is long enough; or, without a saving, if so much waiting is for ranks
 * that are no stragglers. */
static bool join_exposed_comm(const struct joining *joining, const struct job_rank *rank,
                              struct overview_finding *joined, double *values) {
    const struct rank_verdict *verdict = rank->verdict;
    const struct job_findings *found = joining->found;
    double shares[SUTRA_N_PARTS];
    size_t n = 0;
    for (size_t i = 0; i < joining->n; i++) {
        const struct job_rank *other = &joining->ranks[i];
        if (!finding_of_rule(other->verdict->findings, other->verdict->n_findings, joined->rule))
            continue;
        find_shares(joining, other->verdict, shares);
        values[n++] = shares[SUTRA_PART_EXPOSED_COMM] * other->stray;
    }
    if (n > 1)
        qsort(values, n, sizeof *values, compare_doubles);
    if (joined->saving_percent < EXPOSED_PERCENT && mean_median(values, n) < EXPOSED_PERCENT)
        return false;
    find_shares(joining, verdict, shares);
    const double exposed = shares[SUTRA_PART_EXPOSED_COMM] / 100 * joining->step;
    append_finding_text(joined, " %s of it is transfer, and %s is waiting for other ranks.",
                        brief_time_text(exposed * (1 - rank->wait)).text, brief_time_text(exposed * rank->wait).text);
    if (joined->saving_percent < EXPOSED_PERCENT)
        claim_no_saving(joined);
    add_finding_number(joined, "transfer_us", found->transfer_us);
    add_finding_number(joined, "wait_us", found->wait_us);
    return true;
}

/* Joins the findings of one rule. */
static void join_rule(struct joining *joining, const struct finding_rule *rule, double *values) {
    struct rule_ranks *of = &joining->of_rule[finding_rule_number(rule)];
    const struct overview_finding *most = NULL;
    for (size_t i = 0; i < joining->n; i++) {
        const struct rank_verdict *verdict = joining->ranks[i].verdict;
        const struct overview_finding *finding = finding_of_rule(verdict->findings, verdict->n_findings, rule);
        if (!finding)
            continue;
        const double saving = saving_of_job(joining, &joining->ranks[i], finding);
        if (!most || !(saving < of->max)) {
            of->max = saving;
            of->most_rank = i;
            most = finding;
        }
        of->min = of->n == 0 || saving < of->min ? saving : of->min;
        values[of->n++] = saving;
    }
    if (!most)
        return;
    struct overview_finding *joined = &joining->findings->list[joining->findings->n_all++];
    *joined = *most;
    if (isnan(most->saving_percent))
        return;
    if (of->n > 1)
        qsort(values, of->n, sizeof *values, compare_doubles);
    joined->saving_percent = mean_median(values, of->n);
    const struct job_rank *rank = &joining->ranks[of->most_rank];
    const double share = joining->step > 0 ? step_ticks(rank->verdict) / joining->step : 0;
    joined->uncapped =
        most->limited_by == LIMIT_NONE && rank->wait == 0 ? joined->saving_percent : most->uncapped * share;
    if (rank->wait > 0 && rule->includes_waits) {
        joined->limited_by = LIMIT_STRAGGLER;
        joined->uncapped = most->saving_percent * share;
        add_finding_number(joined, "wait_percent", most->saving_percent * share * rank->wait);
        if (rule != &rule_exposed_comm)
            append_finding_text(joined, " The saving excludes waiting for other ranks.");
    }
    if (joining->n > 1)
        add_finding_number(joined, "ranks", (double)of->n);
    if (joining->n > 1 && joining->found->wait_us > 0 && rule == &rule_exposed_comm &&
        !join_exposed_comm(joining, rank, joined, values))
        joining->findings->n_all--;
}

static void join_straggler(struct joining *joining) {
    const struct job_findings *found = joining->found;
    struct overview_finding *joined = &joining->findings->list[joining->findings->n_all++];
    struct rule_ranks *of = &joining->of_rule[finding_rule_number(&rule_straggler)];
    *joined = found->late;
    for (size_t i = 0; i < joining->n; i++) {
        if (joining->ranks[i].rank != found->waiting)
            continue;
        joined->saving_percent *= joining->step > 0 ? step_ticks(joining->ranks[i].verdict) / joining->step : 0;
        *of = (struct rule_ranks){.min = joined->saving_percent, .max = joined->saving_percent, .n = 1, .most_rank = i};
    }
    joined->uncapped = joined->saving_percent;
    joining->is_late = true;
}

#define STALLED_RANKS_LISTED 8
#define CORES_PERCENT        75 /* of the launching threads of a job are on a core: fewer are reported */

/* Names the ranks of a job whose threads stall, and how many launching threads run at a time. */
static void describe_stalled_ranks(const struct joining *joining) {
    struct overview_findings *findings = joining->findings;
    double cores = 0;
    size_t n_stalled = 0, n = 0, n_listed = 0;
    unsigned at = 0;
    while (at < findings->n_all && findings->list[at].rule != &rule_host_stall)
        at++;
    if (at == findings->n_all || joining->n == 1)
        return;
    struct overview_finding *finding = &findings->list[at];
    for (size_t i = 0; i < joining->n; i++) {
        const struct rank_verdict *verdict = joining->ranks[i].verdict;
        n += verdict->kind == SUTRA_VERDICT_STEPS;
        cores += verdict->kind == SUTRA_VERDICT_STEPS ? 1 - verdict->off_core : 0;
        n_stalled += finding_of_rule(verdict->findings, verdict->n_findings, &rule_host_stall) != NULL;
    }
    append_finding_text(finding, n_stalled == 1 ? " Rank" : " Ranks");
    for (size_t i = 0; i < joining->n && n_listed < STALLED_RANKS_LISTED; i++) {
        const struct rank_verdict *verdict = joining->ranks[i].verdict;
        if (!finding_of_rule(verdict->findings, verdict->n_findings, &rule_host_stall))
            continue;
        n_listed++;
        append_finding_text(finding, "%s%lld",
                            n_listed == 1           ? " "
                            : n_listed == n_stalled ? " and "
                                                    : ", ",
                            (long long)joining->ranks[i].rank);
    }
    if (n_listed < n_stalled)
        append_finding_text(finding, " and %zu more", n_stalled - n_listed);
    append_finding_text(finding, n_stalled == 1 ? " stalls." : " stall.");
    if (cores * 100 <= (double)n * CORES_PERCENT)
        append_finding_text(finding, " All launching threads together use about %s for %zu ranks.",
                            counted_text((uint64_t)fmax(round(cores), 1), "core", "cores").text, n);
}

static uint32_t bits_of_shown(const struct joining *joining) {
    uint32_t bits = 0;
    for (unsigned i = 0; i < joining->findings->n; i++)
        bits |= finding_rule_bit(joining->findings->list[i].rule);
    return bits;
}

static const char *const *names_of_rules(struct arena *arena, const struct finding_rule *const *rules, size_t n) {
    const char **names = arena_alloc(arena, n, sizeof(const char *));
    for (size_t i = 0; i < n && names; i++)
        names[i] = rules[i]->name;
    return (const char *const *)names;
}

static const char *const *copy_ids(struct arena *arena, const char ids[FINDING_IDS][24], size_t n) {
    const char **copies = arena_alloc(arena, n, sizeof(const char *));
    for (size_t i = 0; i < n && copies; i++)
        copies[i] = arena_format(arena, "%s", ids[i]);
    return (const char *const *)copies;
}

static void publish_evidence(const struct joining *joining, const struct overview_finding *finding,
                             struct sutra_finding *public) {
    const struct finding_range *range = &finding->range;
    const struct job_rank *rank = &joining->ranks[joining->of_rule[finding_rule_number(finding->rule)].most_rank];
    struct arena *arena = joining->arena;
    public->evidence = (struct sutra_finding_evidence){.file = "", .step = "", .command = ""};
    if (range->from_us >= range->to_us)
        return;
    public->evidence = (struct sutra_finding_evidence){
        .file = rank->path,
        .rank = rank->rank,
        .from_us = range->from_us,
        .to_us = range->to_us,
        .step = arena_format(arena, "%s", range->step),
        .threads = copy_ids(arena, range->threads, range->n_threads),
        .streams = copy_ids(arena, range->streams, range->n_streams),
        .n_threads = range->n_threads,
        .n_streams = range->n_streams,
        .command = arena_format(arena, "sutra cut %s --overlap --from-us %lld --to-us %lld -o %s.json.gz",
                                shell_word(arena, rank->path), (long long)range->from_us, (long long)range->to_us,
                                finding->rule->name)};
}

/* The first text that is not NULL; "" if both are. */
static const char *text_of(const char *text, const char *other) {
    return text ? text : other ? other : "";
}

/* The remedies of a finding. */
static void publish_remedies(struct arena *arena, const struct overview_finding *finding,
                             struct sutra_finding *public) {
    const struct remedy *remedy = finding_remedy(finding);
    struct sutra_finding_remedy *list = arena_alloc(arena, REMEDY_LINES, sizeof *list);
    size_t n = 0;
    char text[512];
    for (int i = 0; i < REMEDY_LINES && list; i++) {
        const struct remedy_line *line = &remedy->lines[i];
        if (!remedy_line_applies(line, finding))
            continue;
        remedy_line_text(line, finding, text, sizeof text);
        list[n++] = (struct sutra_finding_remedy){.text = arena_format(arena, "%s", text),
                                                  .api = text_of(line->api, NULL),
                                                  .source = text_of(line->source, NULL)};
    }
    public->remedies = list;
    public->n_remedies = n;
    public->situation = text_of(remedy->situation, NULL);
    public->check_metric = text_of(remedy->metric, finding->rule->metric);
    public->check_now = arena_format(arena, "%s", *public->check_metric ? finding->now : "");
    public->check_after = text_of(remedy->after, finding->rule->after);
}

static void publish_where(struct arena *arena, const struct finding_where *where, struct sutra_finding *public) {
    struct sutra_finding_unit *units = arena_alloc(arena, FINDING_UNITS, sizeof *units);
    memcpy(public->phases, where->phases, sizeof public->phases);
    for (unsigned i = 0; i < where->n_units && units; i++)
        units[i] = (struct sutra_finding_unit){.phase = sutra_phase_name((enum sutra_phase)where->units[i].phase),
                                               .name = arena_format(arena, "%s", where->units[i].name),
                                               .percent = where->units[i].percent};
    public->units = units;
    public->n_units = where->n_units;
    public->n_names = where->n_names;
    public->frame = arena_format(arena, "%s", where->frame);
}

/* The functions of a finding, which are of the rank with its texts. */
static void publish_code(struct arena *arena, const struct rank_verdict *verdict,
                         const struct overview_finding *finding, struct sutra_finding *public) {
    static const char *const vias[N_CODE_VIAS] = {"direct", "forward", "capture"};
    struct sutra_finding_code *list = arena_alloc(arena, FINDING_CODES, sizeof *list);
    const uint32_t rule = finding_rule_number(finding->rule);
    struct code_name parts;
    for (uint64_t i = 0; i < verdict->n_codes && list; i++) {
        const struct finding_code *code = &verdict->codes[i];
        if (code->rule != rule || public->n_code == FINDING_CODES || !code_name_parse(code->name, &parts))
            continue;
        list[public->n_code++] =
            (struct sutra_finding_code){.file = arena_format(arena, "%.*s", (int)parts.file_length, parts.file),
                                        .line = code->line,
                                        .function = arena_format(arena, "%s", parts.function),
                                        .percent = code->percent,
                                        .kind = code_owner_of(code->name) == CODE_USER ? "user" : "library",
                                        .via = vias[code->via]};
    }
    public->code = list;
    public->n_functions = finding->where.n_code;
}

static void publish_finding(const struct joining *joining, const struct overview_finding *finding,
                            struct sutra_finding *public) {
    static const char *const limits[] = {"", "host_waits", "straggler"};
    struct arena *arena = joining->arena;
    const struct rule_ranks *of = &joining->of_rule[finding_rule_number(finding->rule)];
    struct sutra_finding_number *numbers = arena_alloc(arena, FINDING_NUMBERS, sizeof *numbers);
    const uint32_t shown = bits_of_shown(joining);
    const struct finding_rule *parts[FINDING_RULES_MOST];
    size_t n_parts = 0;
    char text[TEXT_MOST] = "";
    for (uint32_t left = finding->part_of & shown; left; left &= left - 1)
        parts[n_parts++] = finding_rules[__builtin_ctz(left)];
    if (numbers)
        memcpy(numbers, finding->numbers, sizeof finding->numbers);
    *public = (struct sutra_finding){
        .rule = finding->rule->name,
        .title = finding_title(finding),
        .saving_percent = finding->saving_percent,
        .saving_us = isnan(finding->saving_percent) ? finding->saving_percent
                                                    : finding->saving_percent / 100 * joining->step / 1000,
        .numbers = numbers,
        .n_numbers = finding->n_numbers,
        .estimate = finding->rule->is_estimate,
        .limited_by = limits[finding->limited_by],
        .uncapped_percent = finding->uncapped,
        .part_of = names_of_rules(arena, parts, n_parts),
        .n_part_of = n_parts,
        .seen = arena_format(arena, "%s", finding->seen),
        .least_percent = isnan(finding->saving_percent) ? finding->saving_percent : of->min,
        .most_percent = isnan(finding->saving_percent) ? finding->saving_percent : of->max,
        .most_rank = joining->ranks[of->most_rank].rank,
        .n_ranks = of->n};
    if (finding->rule == &rule_straggler && joining->is_late) {
        int64_t *late = arena_alloc(arena, joining->found->n_late, sizeof *late);
        if (late)
            memcpy(late, joining->found->late_ranks, joining->found->n_late * sizeof *late);
        public->late_ranks = late;
        public->n_late_ranks = joining->found->n_late;
    }
    publish_where(arena, &finding->where, public);
    if (finding->facts & FACT_FRAMES)
        publish_code(arena, joining->ranks[of->most_rank].verdict, finding, public);
    publish_remedies(arena, finding, public);
    publish_evidence(joining, finding, public);

    if (joining->n > 1 && finding->rule != &rule_straggler) {
        append(text, "Rank %lld", (long long)public->most_rank);
        if (of->n > 1)
            append(text, " and %s", counted_text(of->n - 1, "other rank", "other ranks").text);
        append(text, ": ");
    }
    finding_text(finding, text + strlen(text), TEXT_MOST - strlen(text));
    public->text = arena_format(arena, "%s", text);
}

/* ---- Achievable steps ---- */

static const struct overview_finding *shown_finding(const struct joining *joining, const struct finding_rule *rule) {
    return finding_of_rule(joining->findings->list, joining->findings->n, rule);
}

static void publish_achievable(const struct joining *joining) {
    static const char *const bounds[] = {"none", "gpu", "communication", "host"};
    const struct overview_findings *findings = joining->findings;
    struct sutra_verdict *verdict = &joining->job->verdict;
    struct sutra_verdict_fix *list = arena_alloc(joining->arena, FINDINGS_MOST, sizeof *list);
    const struct finding_rule *rules[FINDINGS_MOST];
    uint32_t bits = 0;
    size_t n = 0;
    const struct finding_rule *order[FINDINGS_MOST];
    unsigned n_order = 0;
    for (int unknown = 0; unknown < 2; unknown++) /* those without a known cause last */
        for (unsigned i = 0; i < findings->n; i++)
            if (findings->list[i].rule->cause_is_unknown == unknown)
                order[n_order++] = findings->list[i].rule;
    for (unsigned i = 0; i < n_order && list; i++) {
        if (isnan(shown_finding(joining, order[i])->saving_percent) || order[i] == &rule_startup)
            continue;
        bits |= finding_rule_bit(order[i]);
        rules[n++] = order[i];
        double longest = -1;
        enum achievable_bound longest_bound = BOUND_NONE;
        for (size_t r = 0; r < joining->n; r++) {
            const struct job_rank *rank = &joining->ranks[r];
            enum achievable_bound bound;
            if (rank->verdict->kind != SUTRA_VERDICT_STEPS)
                continue;
            double outside = bits & finding_rule_bit(&rule_straggler) ? 0 : joining->step - step_ticks(rank->verdict);
            double step = achievable_window(rank, bits, &bound) / rank->verdict->n_steps;
            if (outside + step > longest) {
                longest = outside + step;
                longest_bound = bound;
            }
        }
        if (n > 1 && longest / 1000 >= list[n - 2].step_us) { /* one more repair makes no step longer */
            list[n - 1] = list[n - 2];
            list[n - 1].fixed = names_of_rules(joining->arena, rules, n);
            list[n - 1].n_fixed = n;
            continue;
        }
        list[n - 1] = (struct sutra_verdict_fix){.fixed = names_of_rules(joining->arena, rules, n),
                                                 .n_fixed = n,
                                                 .step_us = longest / 1000,
                                                 .bound = bounds[longest_bound]};
    }
    verdict->achievable = list;
    verdict->n_achievable = list ? n : 0;
}

static void publish_unexplained(const struct joining *joining, const struct job_rank *rank) {
    struct sutra_verdict *verdict = &joining->job->verdict;
    int64_t ticks[SUTRA_N_PARTS];
    const double unit = joining->step > 0 ? 100 / rank->verdict->n_steps / joining->step : 0;
    verdict_unexplained(rank->verdict, bits_of_shown(joining), ticks);
    for (int part = 0; part < SUTRA_N_PARTS; part++) {
        double percent = (double)ticks[part] * unit;
        if (part == SUTRA_PART_EXPOSED_COMM && joining->is_late)
            percent *= 1 - rank->wait;
        if (part == SUTRA_PART_OUTSIDE_STEP && !joining->is_late)
            percent = verdict->shares[part];
        verdict->unexplained[part] = percent;
        verdict->unexplained_percent += percent;
    }
}

/* ---- Suspects ---- */

static void publish_suspects(const struct joining *joining, const struct rank_verdict *of) {
    struct sutra_verdict *verdict = &joining->job->verdict;
    struct sutra_suspect *list = arena_alloc(joining->arena, SUSPECTS_MOST, sizeof *list);
    const uint32_t shown = bits_of_shown(joining);
    size_t n = 0;
    for (unsigned i = 0; i < of->n_suspects && list; i++) {
        const struct suspect_numbers *suspect = &of->suspects[i];
        if (shown & finding_rule_bit(suspect->rule))
            continue;
        char text[160];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, suspect->rule->suspect.text, suspect->apparent, suspect->percent);
#pragma GCC diagnostic pop
        list[n++] = (struct sutra_suspect){.suspect = suspect->rule->suspect.name,
                                           .apparent_percent = suspect->apparent,
                                           .percent = suspect->percent,
                                           .text = arena_format(joining->arena, "%s", text)};
    }
    verdict->not_the_cause = list;
    verdict->n_not_the_cause = n;
}

/* ---- Operators of a trace without GPU activity ---- */

static void publish_cpu_operators(const struct joining *joining, const struct rank_verdict *of) {
    struct sutra_verdict *verdict = &joining->job->verdict;
    struct sutra_cpu_operator *list = arena_alloc(joining->arena, CPU_OPERATORS_MOST, sizeof *list);
    for (unsigned i = 0; i < of->n_cpu_operators && list; i++) {
        const struct cpu_operator *op = &of->cpu_operators[i];
        list[i] = (struct sutra_cpu_operator){.name = arena_format(joining->arena, "%s", op->name),
                                              .shapes = arena_format(joining->arena, "%s", op->shapes),
                                              .self_us = (double)op->self / 1000,
                                              .percent = op->percent,
                                              .n_calls = op->n_calls,
                                              .n_threads = op->n_threads};
    }
    verdict->cpu_operators = list;
    verdict->n_cpu_operators = list ? of->n_cpu_operators : 0;
}

/* ---- Why ---- */

#define WHY_PERCENT        10 /* smaller parts are not named */
#define WHY_PARTS          3
#define PARTLY_PERCENT     25
#define COMPUTE_BOUND_FROM 80

/* What the GPU waits for in a part of the step. */
static const char *wait_words(const struct joining *joining, int part) {
    const struct overview_finding *comm = shown_finding(joining, &rule_exposed_comm);
    const char *note = comm ? finding_remedy(comm)->note : NULL; /* as in the title of the finding */
    switch (part) {
    case SUTRA_PART_EXPOSED_COMM:
        return note ? arena_format(joining->arena, "for %s", note) : "for communication";
    case SUTRA_PART_EXPOSED_COPY:
        return "for memcpy";
    case SUTRA_PART_HOST:
        for (unsigned i = 0; i < joining->findings->n; i++)
            if (joining->findings->list[i].rule->waits_for)
                return joining->findings->list[i].rule->waits_for;
        return rule_host_bound.waits_for;
    case SUTRA_PART_DATA:
        return "for the data loader";
    case SUTRA_PART_SYNC:
        return "for the CPU after synchronizing calls";
    case SUTRA_PART_SETUP:
        return "for memory allocation and other setup";
    case SUTRA_PART_QUEUED:
        return shown_finding(joining, &rule_unrecorded_graph) ? "for graph kernels that are not recorded"
                                                              : "for work that is launched but not started";
    case SUTRA_PART_AFTER:
        return "for the CPU after the last GPU activity";
    case SUTRA_PART_OUTSIDE_STEP:
        return "outside this rank's step";
    default:
        return "for work without a recorded launch";
    }
}

/* "41%", or of several ranks "28-43%". */
static struct figure range_text(const struct joining *joining, int part) {
    struct figure figure;
    double min = INFINITY, max = 0;
    for (size_t i = 0; i < joining->n; i++) {
        double shares[SUTRA_N_PARTS];
        if (joining->ranks[i].verdict->kind != SUTRA_VERDICT_STEPS)
            continue;
        find_shares(joining, joining->ranks[i].verdict, shares);
        min = fmin(min, shares[part]);
        max = fmax(max, shares[part]);
    }
    if (round(min) < round(max))
        snprintf(figure.text, sizeof figure.text, "%.0f-%.0f%%", min, max);
    else
        snprintf(figure.text, sizeof figure.text, "%.0f%%", max);
    return figure;
}

/* How much of the job's step is in a part: the middle of the range over all ranks. -1: too little to name it. */
static double weight_of_part(const struct joining *joining, int part) {
    double min = 100, max = 0, shares[SUTRA_N_PARTS];
    if (joining->n > 1 && part == SUTRA_PART_OUTSIDE_STEP) /* no wait of a GPU */
        return -1;
    for (size_t i = 0; i < joining->n; i++) {
        if (joining->ranks[i].verdict->kind != SUTRA_VERDICT_STEPS)
            continue;
        find_shares(joining, joining->ranks[i].verdict, shares);
        min = fmin(min, shares[part]);
        max = fmax(max, shares[part]);
    }
    return max >= WHY_PERCENT ? (min + max) / 2 : -1;
}

static const char *why_of_shares(const struct joining *joining, const struct job_rank *rank) {
    const struct sutra_verdict *verdict = &joining->job->verdict;
    const bool several = joining->n > 1;
    char text[TEXT_MOST] = "";
    int named[WHY_PARTS], n = 0;
    double weights[SUTRA_N_PARTS];
    const struct overview_finding *startup = shown_finding(joining, &rule_startup);
    if (startup && !rank->verdict->excluded)
        return arena_format(joining->arena,
                            "Warm-up in the profile: first calls (compilation, autotuning, initialization) take %s of "
                            "the time. The GPU computes %s of it.",
                            startup->now, range_text(joining, SUTRA_PART_COMPUTE).text);
    for (int part = 0; part < SUTRA_N_PARTS; part++)
        weights[part] = part == SUTRA_PART_COMPUTE ? -1 : weight_of_part(joining, part);
    for (; n < WHY_PARTS; n++) {
        int most = -1;
        for (int part = 0; part < SUTRA_N_PARTS; part++)
            if (weights[part] >= 0 && (most < 0 || weights[part] > weights[most]))
                most = part;
        if (most < 0)
            break;
        weights[most] = -1;
        named[n] = most;
    }
    if (verdict->unexplained_percent >= PARTLY_PERCENT)
        append(text, "Only partly explained: ");
    const char *the = verdict->unexplained_percent >= PARTLY_PERCENT ? "the" : "The";
    if (n == 0 && verdict->shares[SUTRA_PART_COMPUTE] >= COMPUTE_BOUND_FROM)
        append(text, "Compute-bound: the GPU%s %s %s of the time.", several ? "s" : "",
               several ? "compute" : "computes", range_text(joining, SUTRA_PART_COMPUTE).text);
    else if (n == 0)
        append(text, "%s GPU%s %s %s of the time, and no single wait takes %d%%.", the, several ? "s" : "",
               several ? "compute" : "computes", range_text(joining, SUTRA_PART_COMPUTE).text, WHY_PERCENT);
    for (int i = 0; i < n; i++) {
        append(text, "%s%s %s",
               i == 0       ? ""
               : i == n - 1 ? " and "
                            : ", ",
               i > 0     ? wait_words(joining, named[i])
               : several ? arena_format(joining->arena, "%s GPUs wait %s", the, wait_words(joining, named[i]))
                         : arena_format(joining->arena, "%s GPU waits %s", the, wait_words(joining, named[i])),
               range_text(joining, named[i]).text);
        if (i == 0)
            append(text, "%s",
                   several                ? " of the job's step"
                   : verdict->n_steps > 1 ? " of each step"
                                          : " of the time");
        if (named[i] == SUTRA_PART_EXPOSED_COMM && joining->is_late)
            append(text, ", mostly because %s %s late%s",
                   ranks_text(joining->found->late_ranks, joining->found->n_late).text,
                   joining->found->n_late == 1 ? "is" : "are", i + 1 < n ? "," : "");
    }
    if (n > 0)
        append(text, "; %s %s of the time.", several ? "they compute" : "it computes",
               range_text(joining, SUTRA_PART_COMPUTE).text);
    if (*rank->verdict->main_kernel)
        append(text, " %s", rank->verdict->main_kernel);
    if (*rank->verdict->slow_step && !several)
        append(text, " %s", rank->verdict->slow_step);
    return arena_format(joining->arena, "%s", text);
}

static const char *why_of_guard(const struct joining *joining, const struct job_rank *rank) {
    const struct rank_verdict *verdict = rank->verdict;
    switch (joining->job->verdict.kind) {
    case SUTRA_VERDICT_STARTUP:
        return arena_format(
            joining->arena,
            "Warm-up in the profile: %s of the window is setup (module loading, memory allocation, graph "
            "capture). It contains no normal step.",
            verdict->n_findings ? verdict->findings[0].now : "most");
    case SUTRA_VERDICT_NO_GPU_ACTIVITY:
        return arena_format(joining->arena, "Unknown: no GPU activity. %s.", verdict->no_activity);
    case SUTRA_VERDICT_CPU_MODEL:
        return arena_format(joining->arena,
                            "The model runs on the CPU: %s of the time is in operators of CPU backends (%s), and the "
                            "trace has no GPU call.",
                            verdict->no_activity, verdict->cpu_operators[0].name);
    default:
        return arena_format(joining->arena, "The trace has no GPU activity: %s.",
                            *verdict->no_activity ? verdict->no_activity : "no activity has a duration");
    }
}

/* ---- Next commands ---- */

/* The directory that contains all traces, or NULL if they are in several. */
static const char *common_folder(const struct joining *joining) {
    const char *path = joining->ranks[0].path, *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    for (size_t i = 1; i < joining->n; i++) {
        const char *other = joining->ranks[i].path, *end = strrchr(other, '/');
        if ((end ? (size_t)(end - other) : 0) != length || (end == NULL) != (slash == NULL) ||
            strncmp(path, other, length) != 0)
            return NULL;
    }
    return !slash ? "." : length == 0 ? "/" : arena_text(joining->arena, path, length);
}

static const char *copy_of(struct arena *arena, const char *text) {
    return text ? arena_text(arena, text, strlen(text)) : "";
}

/* Publishes the window of a run, and the words of a command that select it. */
static void publish_window(struct joining *joining, const struct chosen_window *window) {
    struct sutra_verdict *verdict = &joining->job->verdict;
    struct arena *arena = joining->arena;
    static const struct chosen_window none = {0};
    window = window ? window : &none;
    verdict->run = copy_of(arena, window->run);
    verdict->role = copy_of(arena, window->role);
    verdict->window_label = copy_of(arena, window->label);
    verdict->window_text = copy_of(arena, window->text);
    verdict->window = window->window;
    verdict->n_windows = window->n_windows;
    verdict->n_skipped = window->n_skipped;
    if (!window->is_one_folder)
        return;
    const char *run = shell_word(arena, window->run);
    if (window->role)
        run = arena_format(arena, "%s --role %s", run, shell_word(arena, window->role));
    joining->run = run;
    joining->traces = window->is_default ? run : arena_format(arena, "%s --window %zu", run, window->window);
}

static void publish_next(const struct joining *joining) {
    struct sutra_verdict *verdict = &joining->job->verdict;
    struct arena *arena = joining->arena;
    struct sutra_next_command *list = arena_alloc(arena, 7, sizeof *list);
    const char *folder = joining->n > 1 ? common_folder(joining) : NULL;
    if (joining->traces)
        folder = joining->traces;
    else if (folder)
        folder = shell_word(arena, folder);
    const char *trace = shell_word(arena, verdict->trace);
    size_t n = 0;
    if (!list)
        return;
    for (size_t i = 0; i < joining->job->n_findings && n == 0; i++)
        if (*joining->job->findings[i].evidence.command)
            list[n++] = (struct sutra_next_command){
                joining->job->findings[i].evidence.command,
                arena_format(arena, "the range of finding %zu, for Perfetto", i + 1), false};
    if (verdict->kind == SUTRA_VERDICT_STEPS && joining->n == 1)
        list[n++] = (struct sutra_next_command){arena_format(arena, "sutra diff %s NEW.json.gz", trace),
                                                "after each change", false};
    if (shown_finding(joining, &rule_gemm_bound))
        list[n++] = (struct sutra_next_command){arena_format(arena, "sutra analyze kernels %s", trace),
                                                "kernels with their rates", false};
    if (verdict->kind == SUTRA_VERDICT_NO_GPU_ACTIVITY || verdict->kind == SUTRA_VERDICT_CPU_ONLY ||
        verdict->kind == SUTRA_VERDICT_CPU_MODEL)
        list[n++] = (struct sutra_next_command){arena_format(arena, "sutra analyze operators %s", trace),
                                                "the CPU side only", false};
    else if (folder && (shown_finding(joining, &rule_exposed_comm) || joining->is_late))
        list[n++] = (struct sutra_next_command){arena_format(arena, "sutra analyze collectives %s -o out", folder),
                                                "which rank waits for which", false};
    else if (joining->n == 1 && !folder && shown_finding(joining, &rule_exposed_comm))
        list[n++] = (struct sutra_next_command){
            arena_format(arena, "sutra analyze %s", shell_word(arena, common_folder(joining))),
            "with the traces of all ranks: is there a straggler?", false};
    if (verdict->kind == SUTRA_VERDICT_STEPS && (folder || joining->n == 1))
        list[n++] = (struct sutra_next_command){arena_format(arena, "sutra analyze %s -o out", folder ? folder : trace),
                                                "the page with pictures and all tables", true};
    if (verdict->n_windows > 1 && joining->run)
        list[n++] = (struct sutra_next_command){arena_format(arena, "sutra analyze %s --window all", joining->run),
                                                "compare the windows of the run", false};
    verdict->next = list;
    verdict->n_next = n;
}

/* ---- Damaged traces ---- */

/* Publishes whether the verdict is reliable. If not, publishes the defect that concerns most GPU time, and the results
 * that are not judged. Returns the rules whose findings are not printed, as bits. */
static uint32_t publish_damage(const struct joining *joining, const struct trace_validity *validity) {
    struct sutra_verdict *verdict = &joining->job->verdict;
    verdict->reliable = !validity_has_damaged_times(validity) && !validity_has_device_clock(validity);
    verdict->damage = verdict->not_judged = "";
    if (verdict->reliable)
        return 0;
    enum trace_defect_kind most = DEFECT_NO_TIME;
    double most_share = 0, most_time = 0;
    for (int kind = 0; kind < N_DEFECTS; kind++) {
        const struct trace_defect *defect = &validity->defects[kind];
        double time = validity->gpu_us > 0 ? defect->gpu_us / validity->gpu_us : 0;
        double share = fmax(time, (double)defect->count / (double)validity->n_activities);
        if (kind == DEFECT_HOST_NO_TIME || share <= most_share)
            continue;
        most = (enum trace_defect_kind)kind;
        most_share = share;
        most_time = time;
    }
    verdict->damage = arena_format(joining->arena, "%s%s%s", most_time > 0 ? share_text(most_time, 1).text : "",
                                   most_time > 0 ? " of GPU time: " : "", defect_message(validity, most, "").text);
    char text[TEXT_MOST] = "";
    uint32_t rules = 0;
    for (size_t i = 0; i < joining->n; i++)
        rules |= joining->ranks[i].verdict->not_judged;
    for (uint32_t left = rules; left; left &= left - 1)
        append(text, "%s%s", *text ? ", " : "", finding_rules[__builtin_ctz(left)]->title);
    if (validity_has_device_clock(validity))
        append(text, "%sQueue delays, causes of idle time", *text ? ", " : "");
    verdict->not_judged = arena_format(joining->arena, "%s", text);
    return rules;
}

/* ---- The verdict ---- */

/* A job is as its ranks with shares; else the first of these kinds that a rank has. */
static enum sutra_verdict_kind kind_of_job(const struct joining *joining, size_t *rank) {
    static const enum sutra_verdict_kind kinds[] = {SUTRA_VERDICT_STEPS, SUTRA_VERDICT_STARTUP,
                                                    SUTRA_VERDICT_NO_GPU_ACTIVITY, SUTRA_VERDICT_CPU_MODEL,
                                                    SUTRA_VERDICT_CPU_ONLY};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (*rank = 0; *rank < joining->n; ++*rank)
            if (joining->ranks[*rank].verdict->kind == kinds[k])
                return kinds[k];
    return SUTRA_VERDICT_CPU_ONLY;
}

static void publish_ranks(const struct joining *joining) {
    struct sutra_verdict_rank *list = arena_alloc(joining->arena, joining->n, sizeof *list);
    for (size_t i = 0; i < joining->n && list; i++) {
        list[i] = (struct sutra_verdict_rank){.rank = joining->ranks[i].rank,
                                              .step_us = step_ticks(joining->ranks[i].verdict) / 1000};
        if (joining->ranks[i].verdict->kind == SUTRA_VERDICT_STEPS)
            find_shares(joining, joining->ranks[i].verdict, list[i].shares);
    }
    joining->job->verdict.ranks = list;
}

enum sutra_status job_verdict_make(const struct job_rank *ranks, size_t n, const struct trace_validity *validity,
                                   const struct job_findings *found, const struct chosen_window *window,
                                   struct arena *arena, struct job_verdict *job, struct sutra_error *error) {
    static const char *const kind_names[] = {"steps", "startup", "no_gpu_activity", "cpu_only", "cpu_model"};
    struct sutra_verdict *verdict = &job->verdict;
    struct joining joining = {.ranks = ranks, .n = n, .arena = arena, .job = job, .found = found};
    double *values = arena_alloc(arena, n, sizeof *values), busy = 0;
    size_t rank;
    *job = (struct job_verdict){.n_findings = 0};
    joining.findings = arena_zeros(arena, 1, sizeof *joining.findings);
    TRY(arena_status(arena, error));

    verdict->kind = kind_of_job(&joining, &rank);
    verdict->kind_name = kind_names[verdict->kind];
    for (size_t i = 0; i < n; i++) {
        joining.step = fmax(joining.step, step_ticks(ranks[i].verdict));
        busy += ranks[i].verdict->window ? (double)ranks[i].verdict->busy / (double)ranks[i].verdict->window * 100 : 0;
    }
    const uint32_t not_judged = publish_damage(&joining, validity);
    for (uint32_t i = 0; i < n_finding_rules; i++)
        if ((finding_rules[i] != &rule_slow_collective || !found->links_used) && !(not_judged >> i & 1))
            join_rule(&joining, finding_rules[i], values);
    if (found->is_late && !validity_has_damaged_times(validity))
        join_straggler(&joining);
    describe_stalled_ranks(&joining);
    sort_findings(joining.findings, busy / (double)n);
    if (verdict->kind == SUTRA_VERDICT_STEPS)
        rank = representative_rank(&joining, values);

    const struct rank_verdict *of = ranks[rank].verdict;
    verdict->step_us = joining.step / 1000;
    verdict->n_steps = of->has_steps || of->by_annotation ? (uint64_t)of->n_steps : 0;
    verdict->basis = of->has_steps ? "profiler" : of->by_annotation ? "annotation" : "whole";
    verdict->n_ranks = n;
    verdict->rank = ranks[rank].rank;
    verdict->trace = ranks[rank].path;
    verdict->device = arena_format(arena, "%s", of->device);
    verdict->excluded_us = (double)of->excluded / 1000;
    verdict->excluded_by = of->excluded ? of->excluded_by->name : "";
    for (unsigned i = 0; i < joining.findings->n; i++)
        publish_finding(&joining, &joining.findings->list[i], &job->findings[i]);
    job->n_findings = joining.findings->n;
    publish_ranks(&joining);
    publish_cpu_operators(&joining, of);
    if (verdict->kind == SUTRA_VERDICT_STEPS) {
        find_shares(&joining, of, verdict->shares);
        publish_achievable(&joining);
        publish_unexplained(&joining, &ranks[rank]);
        if (verdict->reliable)
            publish_suspects(&joining, of);
        verdict->why = verdict->reliable ? why_of_shares(&joining, &ranks[rank])
                                         : arena_format(arena, "The trace is damaged: %s.", verdict->damage);
    } else {
        verdict->why = why_of_guard(&joining, &ranks[rank]);
    }
    publish_window(&joining, window);
    publish_next(&joining);
    return arena_status(arena, error);
}
