/*
 * program_units.c - finds the forward and backward passes of micro-batches in a program, their schedule, and repeated
 * layers; implements the second part of program.h.
 *
 *     items of a step    mark load  op op k recv | op k k send | backward k k ...
 *                                                |             |    ends of units
 */
#include <string.h>

#include "base/shared.h"
#include "simulate/program.h"

/* ---- Units ---- */

/* Running counts of the items of a program: entry i counts the items before i. */
struct item_counts {
    uint32_t *compute, *backward, *receive;
};

static bool count_items(const struct programs *programs, const struct program *program, struct arena *arena,
                        struct item_counts *counts) {
    const struct rank_graph *graph = program_graph_of(programs, program);
    const row_t n = program->items.n;
    counts->compute = arena_zeros(arena, (size_t)n + 1, sizeof *counts->compute);
    counts->backward = arena_zeros(arena, (size_t)n + 1, sizeof *counts->backward);
    counts->receive = arena_zeros(arena, (size_t)n + 1, sizeof *counts->receive);
    for (row_t i = 0; i < n && !arena->failed; i++) {
        const struct program_item *item = &program->items.list[i];
        counts->compute[i + 1] = counts->compute[i] + item_computes(item);
        counts->backward[i + 1] = counts->backward[i] + item_is_backward(graph, program, item);
        counts->receive[i + 1] = counts->receive[i] + (item_is_message(graph, item) && item->receives);
    }
    return !arena->failed;
}

/* The direction of a unit that has begun: unknown until its first operator. */
enum direction { DIRECTION_UNKNOWN, DIRECTION_FORWARD, DIRECTION_BACKWARD };

/* Ends a unit of the step at `after`. Without compute it stays open, and the next unit begins where it began. */
static bool end_unit(struct program_units *units, struct program_step *step, const struct item_counts *counts,
                     enum direction direction, row_t *first, row_t after, struct arena *arena) {
    if (counts->compute[after] == counts->compute[*first])
        return true;
    if (direction == DIRECTION_UNKNOWN && counts->backward[after] > counts->backward[*first])
        direction = DIRECTION_BACKWARD;
    if (!arena_grow(arena, &units->list, units->n, &units->capacity, sizeof *units->list))
        return false;
    units->list[units->n++] = (struct program_unit){*first, after, direction == DIRECTION_BACKWARD};
    step->n_units++;
    *first = after;
    return true;
}

/* The item after the last backward operator of the step and its GPU nodes; the step's first item: no such operator. */
static row_t end_of_backward(const struct programs *programs, const struct program *program,
                             const struct program_step *step) {
    const struct rank_graph *graph = program_graph_of(programs, program);
    row_t end = step->first;
    for (row_t i = step->first; i < step->after; i++)
        if (item_is_backward(graph, program, &program->items.list[i]) &&
            !(programs->names[graph->name[program->items.list[i].node]] & NAME_IS_GAP))
            end = i + 1;
    while (end > step->first && end < step->after && program->items.list[end].resource != CPU_CHAIN)
        end++;
    return end;
}

/* Finds the units of a step, without its prologue. */
static bool find_step_units(const struct programs *programs, const struct program *program,
                            const struct item_counts *counts, struct arena *arena, struct program_units *units,
                            struct program_step *step) {
    const struct rank_graph *graph = program_graph_of(programs, program);
    const row_t end = end_of_backward(programs, program, step);
    enum direction direction = DIRECTION_UNKNOWN;
    row_t first = step->first; /* of the unit, with preceding items without compute */
    row_t begin = first, after_gpu = first;
    step->first_unit = units->n;
    bool done = true;
    for (row_t i = step->first; i < end && done; i++) {
        const struct program_item *item = &program->items.list[i];
        const bool is_operator = item->resource == CPU_CHAIN && !item->is_mark &&
                                 !(programs->names[graph->name[item->node]] & NAME_IS_ADDED);
        if (is_operator) {
            const enum direction own =
                graph->lane[item->node] == program->main_thread ? DIRECTION_FORWARD : DIRECTION_BACKWARD;
            if (direction != DIRECTION_UNKNOWN && own != direction) {
                done = end_unit(units, step, counts, direction, &first, i, arena);
                begin = i;
            }
            direction = own;
        } else if (item_is_message(graph, item)) {
            const row_t at = item->receives ? after_gpu : i + 1;
            if (at > begin) {
                done = end_unit(units, step, counts, direction, &first, at, arena);
                begin = at;
                direction = DIRECTION_UNKNOWN;
            }
        }
        if (item->resource != CPU_CHAIN)
            after_gpu = i + 1;
    }
    done = done && end_unit(units, step, counts, direction, &first, end, arena);
    struct program_unit *list = units->list + step->first_unit;
    if (step->n_units && first < end)
        list[step->n_units - 1].after = end;
    if (!done || step->n_units < 2)
        return done;

    /* If forward passes receive, everything before the first receive is the prologue. */
    bool receives = false;
    for (uint32_t u = 1; u < step->n_units; u++)
        receives =
            receives || (!list[u].is_backward && counts->receive[list[u].after] > counts->receive[list[u].first]);
    if (!list->is_backward && counts->receive[list->after] == counts->receive[list->first] && receives) {
        step->first_unit++;
        step->n_units--;
    }
    return true;
}

bool program_units_find(const struct programs *programs, const struct program *program, struct arena *arena,
                        struct program_units *units) {
    struct item_counts counts;
    *units = (struct program_units){0};
    if (!count_items(programs, program, arena, &counts))
        return false;
    const struct program_item *items = program->items.list;
    for (row_t first = 0, after; first < program->items.n; first = after) {
        for (after = first + 1; after < program->items.n && items[after].step == items[first].step;)
            after++;
        if (items[first].step < 0)
            continue;
        if (!arena_grow(arena, &units->steps, units->n_steps, &units->steps_capacity, sizeof *units->steps))
            return false;
        struct program_step *step = &units->steps[units->n_steps++];
        *step = (struct program_step){.step = items[first].step, .first = first, .after = after};
        if (!find_step_units(programs, program, &counts, arena, units, step))
            return false;
    }
    return true;
}

/* ---- Schedules ---- */

struct schedule schedule_find(const struct program_units *units, const struct program_step *step) {
    const struct program_unit *list = units->list + step->first_unit;
    struct schedule schedule = {0};
    uint32_t n_first = 0; /* forward passes before the first backward pass */
    for (uint32_t u = 0; u < step->n_units; u++)
        schedule.n_micro_batches += !list[u].is_backward;
    while (n_first < step->n_units && !list[n_first].is_backward)
        n_first++;
    if (n_first == 0 || step->n_units != 2 * schedule.n_micro_batches)
        return schedule;
    schedule.n_warmup = n_first - 1;
    for (uint32_t u = 0; u < step->n_units; u++)
        if (list[u].is_backward != schedule_is_backward(u, schedule.n_micro_batches, schedule.n_warmup))
            return schedule;
    schedule.kind = n_first == schedule.n_micro_batches && n_first > 1 ? SCHEDULE_ALL_FORWARD : SCHEDULE_1F1B;
    return schedule;
}

/*
 * ---- Periodic runs: the algorithm of Main and Lorentz ----
 *
 *     symbols    x y | a b c a b c a b c a | z     period 3, matches i and i + 3: 7 in a row, so 7 / 3 + 1 repeats
 *
 * A run crosses the middle of a segment. For each period q, the matches next to the middle and q symbols before it
 * extend to both sides by the lengths of common prefixes and suffixes of both halves, from four Z functions. Segments
 * double in length, so that each run is inside one whose middle it crosses. A segment that cuts a run off finds a part
 * of it, which covers no more symbols.
 */

/* z[i]: the length of the common prefix of s and s[i..]; z[0] = n. */
static void z_function(const uint32_t *s, uint32_t n, uint32_t *z) {
    if (n == 0)
        return;
    z[0] = n;
    for (uint32_t i = 1, left = 0, right = 0; i < n; i++) {
        uint32_t k = i < right ? MIN(right - i, z[i - left]) : 0;
        while (i + k < n && s[k] == s[i + k])
            k++;
        z[i] = k;
        if (i + k > right) {
            left = i;
            right = i + k;
        }
    }
}

#define NO_SYMBOL UINT32_MAX

/* The arrays of the search. */
struct run_search {
    const uint32_t *symbols;
    uint32_t *equal;                              /* per symbol: number of equal symbols from here on */
    uint32_t *text;                               /* two halves and a separator */
    uint32_t *right, *left, *suffixes, *prefixes; /* Z functions */
    struct periodic_run best;
};

/* Notes a run of n_matches matches from `start`. */
static void note_run(struct run_search *search, uint32_t start, uint32_t period, uint32_t n_matches) {
    struct periodic_run *best = &search->best;
    const struct periodic_run run = {start, period, n_matches / period + 1};
    if (period < 3 || run.repeats < 2 || search->equal[start] >= period)
        return;
    const uint64_t covered = (uint64_t)period * run.repeats, known = (uint64_t)best->period * best->repeats;
    if (covered > known ||
        (covered == known && (period < best->period || (period == best->period && start < best->start))))
        *best = run;
}

static void search_segment(struct run_search *search, uint32_t low, uint32_t middle, uint32_t high) {
    const uint32_t *s = search->symbols;
    const uint32_t n_left = middle - low, n_right = high - middle;
    uint32_t *text = search->text;
    z_function(s + middle, n_right, search->right);
    for (uint32_t i = 0; i < n_left; i++)
        text[i] = s[middle - 1 - i];
    text[n_left] = NO_SYMBOL;
    for (uint32_t i = 0; i < n_right; i++)
        text[n_left + 1 + i] = s[high - 1 - i];
    z_function(text, n_left, search->left);
    z_function(text, n_left + 1 + n_right, search->suffixes);
    memcpy(text, s + middle, n_right * sizeof *text);
    text[n_right] = NO_SYMBOL;
    memcpy(text + n_right + 1, s + low, n_left * sizeof *text);
    z_function(text, n_right + 1 + n_left, search->prefixes);

    for (uint32_t q = 1; q <= MAX(n_left, n_right); q++) {
        /* Matches of s[i] and s[i + q]: forward from the middle, backward from the middle, and around middle - q. */
        const uint32_t forward = q < n_right ? search->right[q] : 0;
        const uint32_t suffix = q <= n_right ? MIN(search->suffixes[n_left + 1 + n_right - q], q) : 0;
        const uint32_t before = q < n_left ? search->left[q] : 0;
        const uint32_t prefix = q <= n_left ? MIN(search->prefixes[n_right + 1 + n_left - q], q) : 0;
        const bool is_joined = suffix == q && q <= n_left;
        const uint32_t back = is_joined ? q + before : MIN(suffix, n_left);
        note_run(search, middle - back, q, back + forward);
        if (q <= n_left && !is_joined)
            note_run(search, middle - q - before, q, before + prefix);
    }
}

bool periodic_run_find(const uint32_t *symbols, uint32_t n, struct arena *arena, struct periodic_run *run) {
    struct arena_mark mark = arena_mark(arena);
    struct run_search search = {.symbols = symbols,
                                .equal = arena_alloc(arena, n, sizeof *search.equal),
                                .text = arena_alloc(arena, (size_t)n + 1, sizeof *search.text),
                                .right = arena_alloc(arena, n, sizeof *search.right),
                                .left = arena_alloc(arena, n, sizeof *search.left),
                                .suffixes = arena_alloc(arena, (size_t)n + 1, sizeof *search.suffixes),
                                .prefixes = arena_alloc(arena, (size_t)n + 1, sizeof *search.prefixes)};
    const bool done = !arena->failed;
    for (uint32_t i = n; i-- > 0 && done;)
        search.equal[i] = i + 1 < n && symbols[i] == symbols[i + 1] ? search.equal[i + 1] + 1 : 1;
    for (uint64_t half = 1; half < n && done; half *= 2)
        for (uint64_t low = 0; low + half < n; low += 2 * half)
            search_segment(&search, (uint32_t)low, (uint32_t)(low + half), (uint32_t)MIN(low + 2 * half, n));
    arena_release(arena, mark);
    *run = search.best;
    return done;
}
