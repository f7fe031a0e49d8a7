/*
 * verdict_words.c - implements verdict_words.h: sentences from the numbers of the verdict.
 *
 * Cells of the bar are assigned by largest remainder: each part has the whole cells of its share, at least one from 1 %
 * on, and the cells that remain belong to the parts with the largest fractions. Parts below 1 % belong to the rest.
 *
 * Cost: O(length of the texts).
 */
#include "report/verdict_words.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/overview/findings.h"
#include "base/shared.h"
#include "facts/names.h"
#include "report/markup.h"
#include "text/names.h"
#include "text/quantities.h"
#include "write/text.h"

#define BAR_MIN_PERCENT        1.0
#define ARROWS_MOST            3
#define ARROW_MIN_PERCENT      1.0
#define UNKNOWN_PERCENT        10.0 /* not explained: no achievable step is claimed */
#define PLACE_MIN_PERCENT      10.0
#define PLACES_MOST            3
#define SPREAD_MIN             4 /* operators, over which the time is spread */
#define SPREAD_BETWEEN_PERCENT 50.0
#define PIECE_MIN_PERCENT      2.0
#define PIECES_MOST            3
#define NAME_COLUMNS           48

/* Parts of a step: symbol and name in the bar, name in the unexplained part. */
static const struct {
    char symbol;
    const char *name, *piece;
    int colour;
} parts[SUTRA_N_PARTS] = {
    [SUTRA_PART_COMPUTE] = {'#', "compute", "compute", COLOUR_COMPUTE},
    [SUTRA_PART_EXPOSED_COMM] = {'%', "exposed comm.", "exposed communication", COLOUR_COMMUNICATION},
    [SUTRA_PART_EXPOSED_COPY] = {'+', "exposed memcpy", "exposed memcpy", COLOUR_COPIES},
    [SUTRA_PART_HOST] = {'.', "host", "host", COLOUR_WAIT_HOST},
    [SUTRA_PART_DATA] = {'d', "data loader", "data loader", COLOUR_WAIT_DATA},
    [SUTRA_PART_SYNC] = {'s', "sync", "sync", COLOUR_WAIT_SYNC},
    [SUTRA_PART_SETUP] = {'u', "setup", "setup", COLOUR_OTHER_WORK},
    [SUTRA_PART_QUEUED] = {'?', "", "launched but not started", COLOUR_IDLE},
    [SUTRA_PART_AFTER] = {'?', "", "after the last GPU activity", COLOUR_IDLE},
    [SUTRA_PART_UNKNOWN] = {'?', "", "launch not recorded", COLOUR_IDLE},
    [SUTRA_PART_OUTSIDE_STEP] = {'o', "outside this rank's step", "outside this rank's step", COLOUR_COUNT},
};

/* ---- Texts in the arena ---- */

struct words_maker {
    const struct sutra_verdict *verdict;
    const struct sutra_finding *findings;
    const struct finding_rule *rules[WORDS_FINDINGS];
    const struct remedy *remedies[WORDS_FINDINGS]; /* NULL: none in this situation */
    size_t n_findings;
    struct arena *arena;
    struct buffer buffer; /* of the current text */
    struct verdict_words *words;
};

/* Ends the current text. */
static const char *finish_text(struct words_maker *maker) {
    const char *text = arena_text(maker->arena, maker->buffer.bytes, maker->buffer.length);
    maker->arena->failed |= maker->buffer.failed;
    maker->buffer.length = 0;
    return text ? text : "";
}

/* ---- Numbers ---- */

/* "348 ms": three digits. */
static struct figure step_text(double us) {
    return brief_time_text(us * 1000);
}

/* A part of a step, with the unit of the step, and with decimals only if the step is short in this unit. */
static struct figure part_text(double us, double step_us) {
    struct figure figure;
    double unit = step_us >= 9999500 ? 1e6 : step_us >= 999.5 ? 1e3 : 1, whole = step_us / unit;
    if (us >= 999500) { /* a long part of a step of some seconds */
        snprintf(figure.text, sizeof figure.text, "%.*f s", whole >= 50 && unit >= 1e6 ? 0 : 2, us / 1e6);
        return figure;
    }
    snprintf(figure.text, sizeof figure.text, "%.*f %s",
             whole >= 50  ? 0
             : whole >= 5 ? 1
                          : 2,
             us / unit,
             unit >= 1e6   ? "s"
             : unit >= 1e3 ? "ms"
                           : "us");
    return figure;
}

static const char *keep_text(struct words_maker *maker, struct figure figure) {
    const char *text = arena_text(maker->arena, figure.text, strlen(figure.text));
    return text ? text : "";
}

static struct figure percent_text(double percent) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, "%.*f%%", percent > 0 && percent < 0.95 ? 1 : 0, percent);
    return figure;
}

/* ---- Header and headline ---- */

static void make_header(struct words_maker *maker) {
    const struct sutra_verdict *verdict = maker->verdict;
    struct verdict_words *words = maker->words;
    const bool has_gpu = verdict->kind == SUTRA_VERDICT_STEPS || verdict->kind == SUTRA_VERDICT_STARTUP;
    const char *slash = strrchr(verdict->trace, '/');
    const char *name = slash ? slash + 1 : verdict->trace;
    if (*verdict->run) {
        buffer_format(&maker->buffer, "%s in %s", counted_text(verdict->n_ranks, "rank", "ranks").text,
                      short_path(verdict->run, 60).text);
    } else if (verdict->n_ranks > 1) {
        /* The directory of the traces. */
        const char *begin = slash;
        while (begin && begin > verdict->trace && begin[-1] != '/')
            begin--;
        buffer_format(&maker->buffer, "%s", counted_text(verdict->n_ranks, "rank", "ranks").text);
        if (slash && slash > begin && strncmp(begin, "./", 2) != 0)
            buffer_format(&maker->buffer, " in %.*s", (int)MIN(slash - begin, 80), begin);
    } else {
        buffer_format(&maker->buffer, "%s", short_path(name, 60).text);
    }
    words->name = finish_text(maker);

    const char *separator = "";
    if (*verdict->window_text)
        buffer_format(&maker->buffer, "%s   ", verdict->window_text);
    if (verdict->n_ranks == 1) {
        buffer_format(&maker->buffer, "rank %lld", (long long)verdict->rank);
        separator = ", ";
        if (*verdict->device)
            buffer_format(&maker->buffer, ", %s", short_text(verdict->device, 40).text);
    }
    words->step_time = "";
    if (has_gpu) {
        words->step_time = keep_text(maker, step_text(verdict->step_us));
        if (verdict->n_steps)
            buffer_format(&maker->buffer, "%s%s of %s%s%s", separator,
                          counted_text(verdict->n_steps, "step", "steps").text, words->step_time,
                          verdict->n_ranks > 1 ? " (the longest rank's)" : "",
                          strcmp(verdict->basis, "repetition") == 0 ? " (repeating kernels)" : "");
        else
            buffer_format(&maker->buffer, "%sno steps found: shares are of the %s trace, %s", separator,
                          verdict->n_ranks > 1 ? "longest" : "whole", words->step_time);
        if (verdict->excluded_us > 0) /* the guards that exclude: trace_edge, startup */
            buffer_format(&maker->buffer, "; first %s excluded (%s)", step_text(verdict->excluded_us).text,
                          strcmp(verdict->excluded_by, rule_trace_edge.name) == 0 ? "work launched before the trace"
                                                                                  : "warm-up");
    } else {
        buffer_format(&maker->buffer, "%sno GPU activity", separator);
    }
    words->facts = finish_text(maker);
}

/* What the repair of a rule changes; "" for a part of another finding, unless `is_last`. */
static const char *fix_of(const struct words_maker *maker, const char *name, bool is_last) {
    const struct finding_rule *rule = finding_rule_named(name);
    for (size_t i = 0; i < maker->n_findings; i++) {
        if (maker->rules[i] != rule)
            continue;
        if (!is_last && maker->findings[i].n_part_of > 0)
            return "";
        return maker->remedies[i] && maker->remedies[i]->fix ? maker->remedies[i]->fix : rule->fix;
    }
    return rule->fix;
}

static void make_could(struct words_maker *maker) {
    const struct sutra_verdict *verdict = maker->verdict;
    double before = verdict->step_us;
    unsigned n = 0;
    size_t next = 0; /* the first fix that no arrow names */
    const char *bound = "none";
    for (size_t i = 0; i < verdict->n_achievable && n < ARROWS_MOST; i++) {
        const struct sutra_verdict_fix *fix = &verdict->achievable[i];
        if (fix->n_fixed == 0 || !(before - fix->step_us >= verdict->step_us * ARROW_MIN_PERCENT / 100))
            continue;
        if (n == 0)
            buffer_format(&maker->buffer, "%s", step_text(verdict->step_us).text);
        /* Fixes without an arrow of their own are part of this one. */
        buffer_format(&maker->buffer, " -> %s if ", step_text(fix->step_us).text);
        unsigned n_named = 0;
        for (size_t k = next; k < fix->n_fixed; k++) {
            const bool is_last = k + 1 == fix->n_fixed;
            const char *text = fix_of(maker, fix->fixed[k], is_last);
            if (*text)
                buffer_format(&maker->buffer, "%s%s", n_named++ == 0 ? "" : is_last ? " and " : ", ", text);
        }
        buffer_format(&maker->buffer, "%s", n ? " too" : "");
        next = fix->n_fixed;
        before = fix->step_us;
        bound = fix->bound;
        n++;
    }
    maker->words->best_time = keep_text(maker, step_text(before));
    const char *limit = strcmp(bound, "host") == 0            ? "the CPU"
                        : strcmp(bound, "gpu") == 0           ? "the GPU"
                        : strcmp(bound, "communication") == 0 ? "communication"
                                                              : NULL;
    bool has_startup = false;
    for (size_t i = 0; i < maker->n_findings; i++)
        has_startup |= maker->rules[i] == &rule_startup;
    if (n > 0)
        buffer_format(&maker->buffer, " (%sat best%s%s%s).", n > 1 ? "each " : "", limit ? "; then " : "",
                      limit ? limit : "", limit ? " is the limit" : "");
    else if (has_startup)
        buffer_format(&maker->buffer, "The trace is mostly warm-up: record it again after one, to see a normal step.");
    else if (verdict->unexplained_percent >= UNKNOWN_PERCENT)
        buffer_format(&maker->buffer, "Unknown: no finding has a saving, and %.0f%% of the time is not explained.",
                      verdict->unexplained_percent);
    else if (verdict->n_achievable == 0 &&
             100 - verdict->shares[SUTRA_PART_COMPUTE] - verdict->unexplained_percent >= UNKNOWN_PERCENT)
        buffer_format(&maker->buffer, "Unknown: no finding has a known saving.");
    else
        buffer_format(&maker->buffer, "No gap to remove; only faster or fewer kernels help.");
    maker->words->could = finish_text(maker);
}

/* ---- Bar ---- */

static void make_bar(struct words_maker *maker) {
    const struct sutra_verdict *verdict = maker->verdict;
    struct verdict_words *words = maker->words;
    struct bar_part *bar = words->bar;
    double rest = 0, sum = 0;
    for (int part = 0; part < SUTRA_N_PARTS; part++) {
        double percent = verdict->shares[part];
        sum += percent;
        if (percent < BAR_MIN_PERCENT || parts[part].symbol == '?') {
            rest += fmax(0, percent);
            continue;
        }
        /* Insert: compute first, then descending, the time outside of the step last. */
        unsigned at = words->n_bar++;
        while (at > 0 && bar[at - 1].symbol != '#' && part != SUTRA_PART_OUTSIDE_STEP &&
               bar[at - 1].percent < percent) {
            bar[at] = bar[at - 1];
            at--;
        }
        bar[at] = (struct bar_part){
            .symbol = parts[part].symbol, .name = parts[part].name, .colour = parts[part].colour, .percent = percent};
    }
    if (!(sum > 0))
        return;
    if (rest > 0)
        bar[words->n_bar++] = (struct bar_part){.symbol = '?', .name = "", .colour = COLOUR_IDLE, .percent = rest};

    /* Largest remainder. */
    double remainders[BAR_PARTS_MOST];
    unsigned n_cells = 0;
    for (unsigned i = 0; i < words->n_bar; i++) {
        double exact = bar[i].percent / sum * BAR_CELLS, whole = floor(exact + 1e-9);
        bar[i].cells = (unsigned)whole;
        remainders[i] = exact - whole;
        if (whole < 1 && bar[i].percent >= BAR_MIN_PERCENT) {
            bar[i].cells = 1;
            remainders[i] = 0;
        }
        n_cells += bar[i].cells;
        bar[i].us = bar[i].percent / 100 * verdict->step_us;
        bar[i].time = keep_text(maker, part_text(bar[i].us, verdict->step_us));
    }
    while (n_cells != BAR_CELLS) {
        unsigned best = 0;
        for (unsigned i = 1; i < words->n_bar; i++)
            if (n_cells < BAR_CELLS ? remainders[i] > remainders[best] : bar[i].cells > bar[best].cells)
                best = i;
        if (n_cells < BAR_CELLS) {
            bar[best].cells++;
            remainders[best] -= 1;
            n_cells++;
        } else {
            bar[best].cells--;
            n_cells--;
        }
    }
    words->bar_label = "one step";
    if (verdict->n_ranks > 1) {
        buffer_format(&maker->buffer, "rank %lld", (long long)verdict->rank);
        words->bar_label = finish_text(maker);
    } else if (verdict->n_steps == 0) {
        words->bar_label = words->step_time;
    }
}

/* ---- Findings ---- */

static void make_saving(struct words_maker *maker, size_t i, struct finding_words *words) {
    const struct sutra_finding *finding = &maker->findings[i];
    const struct sutra_verdict *verdict = maker->verdict;
    const char *of = verdict->n_steps ? "a step" : "the trace";
    words->saving = "";
    words->percent = finding->saving_percent;
    words->is_estimate = finding->estimate;
    if (isnan(finding->saving_percent))
        return;
    buffer_format(&maker->buffer, "%s%s of %s (%s", finding->estimate ? "about " : "up to ",
                  part_text(finding->saving_us, verdict->step_us).text, of, percent_text(finding->saving_percent).text);
    if (verdict->n_ranks > 1 && finding->n_ranks && maker->rules[i] != &rule_straggler) {
        if (finding->n_ranks > 1 && finding->most_percent - finding->least_percent >= 1)
            buffer_format(&maker->buffer, "; %.0f-%.0f%%", finding->least_percent, finding->most_percent);
        buffer_format(&maker->buffer, "%s %llu of %llu ranks",
                      finding->n_ranks > 1 && finding->most_percent - finding->least_percent >= 1 ? " on" : ";",
                      (unsigned long long)finding->n_ranks, (unsigned long long)verdict->n_ranks);
    }
    buffer_format(&maker->buffer, ")");
    words->saving = finish_text(maker);
}

/* "backward 68% (CompiledFunctionBackward 56%), forward 17%, optimizer 12%"; or kernels: "gemm 66%, softmax 12%". */
static void make_where(struct words_maker *maker, const struct sutra_finding *finding, const struct finding_rule *rule,
                       struct finding_words *words) {
    bool used[SUTRA_N_PHASES] = {false};
    unsigned n = 0;
    const struct sutra_finding_unit *units = finding->units;
    for (unsigned place = 0; place < PLACES_MOST; place++) {
        int best = -1;
        for (int phase = 0; phase < SUTRA_N_PHASES; phase++)
            if (!used[phase] && finding->phases[phase] >= PLACE_MIN_PERCENT &&
                (best < 0 || finding->phases[phase] > finding->phases[best]))
                best = phase;
        if (best < 0)
            break;
        used[best] = true;
        const char *phase = sutra_phase_name((enum sutra_phase)best), *between = " (";
        buffer_format(&maker->buffer, "%s%s %.0f%%", n++ ? ", " : "", phase, finding->phases[best]);
        for (size_t i = 0; i < finding->n_units; i++) {
            if (strcmp(units[i].phase, phase) != 0 || units[i].percent < PLACE_MIN_PERCENT)
                continue;
            buffer_format(&maker->buffer, "%s%s", between, short_location(units[i].name, NAME_COLUMNS).text);
            if (units[i].percent < 0.95 * finding->phases[best])
                buffer_format(&maker->buffer, " %.0f%%", units[i].percent);
            between = ", ";
        }
        if (between[0] == ',')
            buffer_format(&maker->buffer, ")");
    }
    if (n && finding->n_units == 0 && finding->n_names >= SPREAD_MIN &&
        finding->phases[SUTRA_PHASE_BETWEEN] < SPREAD_BETWEEN_PERCENT)
        buffer_format(&maker->buffer, ", spread over %s operators", count_text(finding->n_names).text);
    for (size_t i = 0; n == 0 && i < finding->n_units; i++) {
        buffer_format(&maker->buffer, "%s%s", i ? ", " : "", short_location(units[i].name, NAME_COLUMNS).text);
        if (units[i].percent < 99.5)
            buffer_format(&maker->buffer, " %.0f%%", units[i].percent);
    }
    n += finding->n_units > 0;
    if (*finding->frame) {
        const char *before = rule->scope == SCOPE_COMMUNICATION ? ", from " : "; mostly in ";
        bool is_named = strcmp(finding->frame, COMMS_NAME) == 0; /* a record of the profiler, no caller */
        for (size_t i = 0; i < finding->n_units; i++)
            is_named |= strcmp(units[i].name, finding->frame) == 0;
        if (rule == &rule_straggler) /* no name, but words about ranks */
            buffer_format(&maker->buffer, "%s", finding->frame);
        else if (!is_named)
            buffer_format(&maker->buffer, "%s%s", n ? before : "", short_location(finding->frame, NAME_COLUMNS).text);
    }
    if (maker->buffer.length)
        buffer_format(&maker->buffer, ".");
    words->where = finish_text(maker);
}

/* "mymodel/router.py:12 route 97%, train.py:30 train_step 11%"; or "spread over 40 functions". */
static void make_code(struct words_maker *maker, const struct sutra_finding *finding, struct finding_words *words) {
    for (size_t i = 0; i < finding->n_code; i++) {
        const struct sutra_finding_code *code = &finding->code[i];
        buffer_format(&maker->buffer, "%s%s:%u %s %.0f%%%s", i ? ", " : "", short_path(code->file, NAME_COLUMNS).text,
                      code->line, short_text(code->function, NAME_COLUMNS).text, code->percent,
                      strcmp(code->kind, "library") == 0 ? " (library)" : "");
    }
    if (finding->n_code == 0 && finding->n_functions)
        buffer_format(&maker->buffer, "spread over %s",
                      counted_text(finding->n_functions, "function", "functions").text);
    words->code = finish_text(maker);
}

/* Appends a sentence, with its full stop. */
static void append_sentence(struct words_maker *maker, const char *text) {
    size_t length = strlen(text);
    if (length == 0)
        return;
    if (maker->buffer.length)
        buffer_format(&maker->buffer, " ");
    buffer_append_text(&maker->buffer, text);
    if (!strchr(".!?", text[length - 1]) && !(length > 1 && text[length - 1] == ')' && text[length - 2] == '.'))
        buffer_format(&maker->buffer, ".");
}

static void make_finding(struct words_maker *maker, size_t number) {
    const struct sutra_finding *finding = &maker->findings[number];
    const struct finding_rule *rule = maker->rules[number];
    const struct remedy *remedy = maker->remedies[number];
    struct finding_words *words = &maker->words->findings[maker->words->n_findings++];
    words->rule = finding->rule;
    words->evidence = finding->evidence;
    words->marked = rule->marked ? rule->marked : "GPU idle";
    words->remedies = finding->remedies;
    words->n_remedies = finding->n_remedies;

    /* The title with its situation, and in a job the rank: "Exposed communication (embedding all-to-all): rank 5",
     * "Stragglers: ranks 0 and 6". */
    buffer_format(&maker->buffer, "%s", finding->title);
    if (remedy && remedy->note)
        buffer_format(&maker->buffer, " (%s)", remedy->note);
    if (finding->n_late_ranks)
        buffer_format(&maker->buffer, ": %s", ranks_text(finding->late_ranks, finding->n_late_ranks).text);
    else if (maker->verdict->n_ranks > 1)
        buffer_format(&maker->buffer, ": rank %lld", (long long)finding->most_rank);
    words->title = finish_text(maker);
    make_saving(maker, number, words);

    append_sentence(maker, finding->seen);
    for (size_t i = 0; i < finding->n_part_of; i++)
        for (size_t k = 0; k < maker->n_findings; k++)
            if (strcmp(maker->findings[k].rule, finding->part_of[i]) == 0)
                buffer_format(&maker->buffer, " Part of finding %zu: do not add.", k + 1);
    words->seen = finish_text(maker);
    make_where(maker, finding, rule, words);
    make_code(maker, finding, words);
    for (size_t i = 0; i < finding->n_remedies; i++)
        append_sentence(maker, finding->remedies[i].text);
    words->fix = finish_text(maker);
    /* A metric of 0 today can only rise: no check prints that it must fall. */
    const char *after = finding->check_after;
    const bool is_zero = strcmp(finding->check_now, "0") == 0,
               rises = strcmp(after, "must rise") == 0 || strcmp(after, "must exceed 0") == 0;
    if (*finding->check_metric && (!is_zero || rises)) {
        if (*finding->check_now && !is_zero)
            buffer_format(&maker->buffer, "%s ", finding->check_now);
        /* Without steps, counts are of the trace. */
        const char *per_step = maker->verdict->n_steps ? NULL : strstr(finding->check_metric, " per step");
        buffer_format(&maker->buffer, "%.*s%s", per_step ? (int)(per_step - finding->check_metric) : 200,
                      finding->check_metric, per_step ? per_step + strlen(" per step") : "");
        if (is_zero && maker->buffer.length) {
            maker->buffer.bytes[0] = (char)toupper((unsigned char)maker->buffer.bytes[0]);
            after = "must exceed 0 (none today)";
        }
        if (*after)
            buffer_format(&maker->buffer, " %s", after);
        if (maker->buffer.bytes && !strchr(".!?", maker->buffer.bytes[maker->buffer.length - 1]))
            buffer_format(&maker->buffer, ".");
    }
    words->check = finish_text(maker);
}

/* ---- Operators of a trace without GPU activity ---- */

static void make_operators(struct words_maker *maker) {
    const struct sutra_verdict *verdict = maker->verdict;
    struct verdict_words *words = maker->words;
    for (; words->n_operators < MIN(verdict->n_cpu_operators, WORDS_OPERATORS); words->n_operators++) {
        const struct sutra_cpu_operator *op = &verdict->cpu_operators[words->n_operators];
        buffer_format(&maker->buffer, "%s %.0f%% in %s", step_text(op->self_us).text, op->percent, op->name);
        if (*op->shapes)
            buffer_format(&maker->buffer, " %s", op->shapes);
        buffer_format(&maker->buffer, ", %s on %s", counted_text(op->n_calls, "call", "calls").text,
                      counted_text(op->n_threads, "thread", "threads").text);
        words->operators[words->n_operators] = finish_text(maker);
    }
}

/* ---- Suspects, the unexplained part ---- */

static void make_rest(struct words_maker *maker) {
    const struct sutra_verdict *verdict = maker->verdict;
    for (size_t i = 0; i < verdict->n_not_the_cause; i++) {
        buffer_append_text(&maker->buffer, i ? "; " : "");
        buffer_append_text(&maker->buffer, verdict->not_the_cause[i].text);
    }
    if (maker->buffer.length)
        buffer_append_text(&maker->buffer, ".");
    maker->words->suspects = finish_text(maker);
    if (maker->words->n_bar) {
        bool used[SUTRA_N_PARTS] = {false};
        const char *between = " (";
        buffer_format(&maker->buffer, "%.1f%%", verdict->unexplained_percent);
        for (unsigned i = 0; i < PIECES_MOST; i++) {
            int best = -1;
            for (int part = 0; part < SUTRA_N_PARTS; part++)
                if (!used[part] && verdict->unexplained[part] >= PIECE_MIN_PERCENT &&
                    (best < 0 || verdict->unexplained[part] > verdict->unexplained[best]))
                    best = part;
            if (best < 0)
                break;
            used[best] = true;
            buffer_format(&maker->buffer, "%s%.1f%% %s", between, verdict->unexplained[best], parts[best].piece);
            between = ", ";
        }
        buffer_format(&maker->buffer, "%s.", between[0] == ',' ? ")" : "");
    }
    maker->words->unexplained = finish_text(maker);
}

enum sutra_status verdict_words_make(const struct sutra_verdict *verdict, const struct sutra_finding *findings,
                                     size_t n_findings, struct arena *arena, struct verdict_words *words,
                                     struct sutra_error *error) {
    struct words_maker maker = {.verdict = verdict, .findings = findings, .arena = arena, .words = words};
    maker.n_findings = MIN(n_findings, WORDS_FINDINGS);
    for (size_t i = 0; i < maker.n_findings; i++) {
        maker.rules[i] = finding_rule_named(findings[i].rule);
        for (int k = 0; k < REMEDIES_MOST && !maker.remedies[i]; k++) {
            const struct remedy *remedy = &maker.rules[i]->remedies[k];
            if (remedy->situation && strcmp(remedy->situation, findings[i].situation) == 0)
                maker.remedies[i] = remedy;
        }
    }
    *words = (struct verdict_words){.verdict = verdict,
                                    .why = verdict->why,
                                    .damage = "",
                                    .fix = "",
                                    .could = "",
                                    .best_time = "",
                                    .bar_label = "",
                                    .not_judged = "",
                                    .suspects = "",
                                    .unexplained = ""};
    make_header(&maker);
    /* Without GPU activity, the list of checks is the fix. */
    const char *checks = verdict->kind == SUTRA_VERDICT_NO_GPU_ACTIVITY ? strstr(verdict->why, ": check ") : NULL;
    if (checks) {
        buffer_format(&maker.buffer, "%.*s.", (int)(checks - verdict->why), verdict->why);
        words->why = finish_text(&maker);
        buffer_format(&maker.buffer, "Check %s", checks + strlen(": check "));
        words->fix = finish_text(&maker);
    }
    if (verdict->kind == SUTRA_VERDICT_STEPS) {
        if (verdict->reliable)
            make_could(&maker);
        make_bar(&maker);
    }
    if (!verdict->reliable) {
        buffer_format(&maker.buffer, "%s.", verdict->damage);
        words->damage = finish_text(&maker);
        words->why = "";
        buffer_format(&maker.buffer, "%s%s", verdict->not_judged, *verdict->not_judged ? "." : "");
        words->not_judged = finish_text(&maker);
    }
    make_operators(&maker);
    for (size_t i = 0; i < maker.n_findings; i++)
        make_finding(&maker, i);
    make_rest(&maker);
    buffer_free(&maker.buffer);
    return arena_status(arena, error);
}

enum sutra_status verdict_words_of(const struct sutra_overview *overview, struct arena *arena,
                                   struct verdict_words *words, struct sutra_error *error) {
    struct sutra_finding findings[WORDS_FINDINGS];
    size_t n = 0;
    while (n < WORDS_FINDINGS && sutra_overview_finding(overview, n, &findings[n]))
        n++;
    return verdict_words_make(sutra_overview_verdict(overview), findings, n, arena, words, error);
}
