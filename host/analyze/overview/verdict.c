/*
 * verdict.c - implements verdict.h: atoms of a rank's timeline, and sums over them.
 *
 * The sweep walks the rows of the overview, which fill the window, and the sorted intervals of each finding at the same
 * time. Sums follow docs/findings.md:
 *
 *     saved(S)      = sum over atoms of ticks * the largest weight of a finding of S that contains the atom
 *     achievable(S) = max(window - saved(S), gpu(S), communication(S), host(S))
 *
 * Cost: O((rows + intervals) * findings), and O(atoms * findings) for each sum.
 */
#include <stdlib.h>
#include <string.h>

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
    row_t next[N_FINDING_RULES] = {0}; /* the first interval of each finding that has not ended */
    const unsigned n_findings = d->findings->n;
    uint64_t capacity = 0;
    struct pair_table numbers = {0};
    bool ok = pair_table_init(&numbers);
    uint64_t last_of_part[SUTRA_N_PARTS]; /* most intervals of a part belong to the atom of the last one */
    for (int part = 0; part < SUTRA_N_PARTS; part++)
        last_of_part[part] = UINT64_MAX;
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
                rules |= contains ? 1U << findings[f].rule : 0;
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

static int compare_ticks(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

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
    if (!lengths)
        return error_memory(error);
    for (row_t i = 0; i < steps->n; i++) {
        const struct overview_step *step = &steps->list[i];
        if (step->begin < from)
            continue;
        lengths[n++] = step->end - step->begin;
        if (!slowest || step->end - step->begin > slowest->end - slowest->begin)
            slowest = step;
    }
    if (n > 1)
        qsort(lengths, n, sizeof *lengths, compare_ticks);
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
             number ? number : name, finding_time((double)(slowest->end - slowest->begin)).text,
             finding_time((double)(slowest->end - slowest->begin - median)).text, words[part_most]);
    return SUTRA_OK;
}

enum sutra_status rank_verdict_make(const struct diagnosis *d, struct rank_verdict *verdict,
                                    struct sutra_error *error) {
    const struct measures *measures = &d->measures;
    verdict->window = overview_length(d->overview);
    verdict->n_steps = measures->n_steps;
    verdict->has_steps = d->overview->window.n_steps > 0;
    verdict->by_annotation = !verdict->has_steps && d->steps->source == STEPS_ANNOTATION;
    verdict->busy = overview_busy(d->overview);
    verdict->communication = d->overview->communication;
    verdict->host_needed = measures->host_needed;
    verdict->device_side = d->fired[FINDING_DEVICE_SIDE];
    verdict->excluded = d->excluded;
    verdict->excluded_by = d->excluded_by;
    verdict->kind = d->fired[FINDING_STARTUP] ? SUTRA_VERDICT_STARTUP : SUTRA_VERDICT_STEPS;
    read_device_name(d, verdict);
    find_suspects(d, verdict);
    verdict->n_findings = d->findings->n;
    memcpy(verdict->findings, d->findings->list, d->findings->n * sizeof *verdict->findings);
    enum sutra_status status = describe_slow_step(d, verdict, error);
    return status ? status : sum_atoms(d, verdict, error);
}

/* ---- Sums ---- */

#define RULE(id) (1U << FINDING_##id)

/* Rules whose repair leaves the CPU as busy as it is, so that it may become the limit. */
#define RULES_LEAVE_HOST (RULE(DATA_LOADING) | RULE(SYNC) | RULE(EXPOSED_COMM) | RULE(COPIES))
/* Rules whose repair takes work from the CPU. */
#define RULES_SPARE_HOST (RULE(CPU_PREPROCESSING) | RULE(SMALL_KERNELS_OPTIMIZER) | RULE(ALLOCATION))

double achievable_window(const struct rank_verdict *verdict, uint32_t rules, double wait,
                         enum achievable_bound *bound) {
    double weights[N_FINDING_RULES] = {0}, saved = 0, saved_busy = 0, spared = 0;
    const double window = (double)verdict->window;
    for (unsigned i = 0; i < verdict->n_findings; i++)
        weights[verdict->findings[i].rule] = verdict->findings[i].weight;
    for (uint64_t i = 0; i < verdict->n_atoms; i++) {
        const struct verdict_atom *atom = &verdict->atoms[i];
        const uint32_t fixed = atom->rules & rules;
        double weight = 0, ticks = (double)atom->ticks;
        for (uint32_t left = fixed; left; left &= left - 1)
            weight = fmax(weight, weights[__builtin_ctz(left)]);
        /* A job's straggler: a part of exposed communication waits for it, and only the rest is a transfer. */
        if (wait > 0 && atom->part == SUTRA_PART_EXPOSED_COMM)
            weight = (rules & RULE(STRAGGLER) ? wait : 0) + weight * (1 - wait);
        saved += weight * ticks;
        saved_busy += atom->part <= SUTRA_PART_EXPOSED_COPY ? weight * ticks : 0; /* the GPU is busy */
        spared += fixed & RULES_SPARE_HOST ? ticks : 0;
    }

    double gpu = (double)verdict->busy - saved_busy, communication = 0, host = 0;
    if (rules & RULE(EXPOSED_COMM) && !(rules & (RULE(SLOW_COLLECTIVE) | RULE(STRAGGLER))))
        communication = (double)verdict->communication;
    if (rules & RULES_LEAVE_HOST && !(rules & RULE(HOST_BOUND)) && !verdict->device_side)
        host = (double)verdict->host_needed - spared;
    double left = window - saved, best = fmax(fmax(left, gpu), fmax(communication, host));
    *bound = best == left            ? BOUND_NONE
             : best == host          ? BOUND_HOST
             : best == communication ? BOUND_COMMUNICATION
                                     : BOUND_GPU;
    return best;
}

void verdict_parts(const struct rank_verdict *verdict, int64_t ticks[SUTRA_N_PARTS]) {
    memset(ticks, 0, SUTRA_N_PARTS * sizeof *ticks);
    for (uint64_t i = 0; i < verdict->n_atoms; i++)
        ticks[verdict->atoms[i].part] += verdict->atoms[i].ticks;
}

void verdict_unexplained(const struct rank_verdict *verdict, uint32_t rules, int64_t ticks[SUTRA_N_PARTS]) {
    memset(ticks, 0, SUTRA_N_PARTS * sizeof *ticks);
    for (uint64_t i = 0; i < verdict->n_atoms; i++)
        if (verdict->atoms[i].part != SUTRA_PART_COMPUTE && !(verdict->atoms[i].rules & rules))
            ticks[verdict->atoms[i].part] += verdict->atoms[i].ticks;
}
