/*
 * where.c - where the time of a finding is spent in the code: phases of the step, and units.
 *
 *     gap           |<------------- host --------------->|          the thread that launches the activity after the gap
 *     thread 1      | aten::mm     |   | aten::relu   |  |          its outermost operators and annotations
 *     phases        | forward      |btw| forward      |btw          btw: between operators, Python
 *
 * Input: rows of the overview, each with the thread that decided about its gap, or GPU activities with ticks. Wrappers
 * (profiler steps, DistributedDataParallel.forward, annotations that fill a step) are no units: their children are.
 * With with_stack, the modules at the smallest depth at which none has most of the forward phase replace its
 * operators.
 *
 * Cost: O(hosts + rows), and a sort of the units.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/launches/graphs.h"
#include "analyze/overview/findings.h"
#include "analyze/overview/verdict.h"
#include "base/error.h"
#include "base/shared.h"
#include "facts/names.h"
#include "text/strings.h"

/* Units with a smaller share are not listed. */
#define UNIT_PERCENT 10

/* ---- Names ---- */

enum name_class { NAME_IS_WRAPPER = SUTRA_N_PHASES, NAME_IS_BACKWARD_ENGINE };

static bool has_prefix(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether a name ends with Backward and digits. */
static bool is_backward_node(const char *text, size_t length) {
    const size_t n = strlen("Backward");
    while (length && text[length - 1] >= '0' && text[length - 1] <= '9')
        length--;
    return length >= n && memcmp(text + length - n, "Backward", n) == 0;
}

bool name_is_wrapper(const char *text) {
    static const char *const prefixes[] = {(STEP_NAME "#"),
                                           "DistributedDataParallel.forward",
                                           "FullyShardedDataParallel.",
                                           "Torch-Compiled Region",
                                           "PyTorch Profiler",
                                           "Iteration Start",
                                           "Record Window",
                                           "<built-in",
                                           "profiler."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (has_prefix(text, prefixes[i]))
            return true;
    return false;
}

#define EVALUATE "autograd::engine::evaluate_function"

/* The phase of an operator or annotation, or NAME_IS_WRAPPER. */
static uint8_t class_of_name(const struct diagnosis *d, uint32_t string) {
    const char *text = strings_text(d->model->strings, string);
    size_t length = strings_length(d->model->strings, string);
    if (name_is_wrapper(text))
        return NAME_IS_WRAPPER;
    if (d->overview->roles[string].name & NAME_LOADS_BATCH)
        return SUTRA_PHASE_DATA;
    if (text_has_in_any_case(text, length, "optimizer"))
        return SUTRA_PHASE_OPTIMIZER;
    if (has_prefix(text, "autograd::engine") || is_backward_node(text, length) || strstr(text, "backward"))
        return SUTRA_PHASE_BACKWARD;
    return SUTRA_PHASE_FORWARD;
}

void copy_unit_name(const struct diagnosis *d, uint32_t string, char name[FINDING_NAME]) {
    const char *text = strings_text(d->model->strings, string);
    if (has_prefix(text, EVALUATE ": ")) {
        snprintf(name, FINDING_NAME, "%.*s", FINDING_NAME - 1, short_name(text + strlen(EVALUATE ": "), 96).text);
        return;
    }
    copy_finding_name(d, string, name, FINDING_NAME);
    char *sharp = strchr(name, '#'), *dot = strrchr(name, '.');
    if (!has_prefix(name, "Optimizer.") || !sharp || !dot || dot < sharp)
        return;
    *dot = 0;
    char *first = strrchr(sharp, '.');
    if (first)
        memmove(sharp + 1, first + 1, strlen(first));
}

/* ---- Sums of units ---- */

struct unit_sum {
    int64_t ticks;
    uint32_t string, phase;
    char name[FINDING_NAME];
};

/* Units that are named; units with equal names are joined. */
#define NAMED_UNITS 24

ORDER_BY(compare_units, struct unit_sum, DESCENDING(ticks) ASCENDING_TEXT(name))

/* The units with most time: sums[string] of a phase, or of several phases one after another. */
struct unit_list {
    struct unit_sum list[NAMED_UNITS + 1];
    unsigned n, n_names;
};

/* Keeps the units with most ticks; ties in the order of insertion. */
static void add_unit(struct unit_list *units, uint32_t string, uint32_t phase, int64_t ticks) {
    unsigned i = units->n;
    units->n_names++;
    for (; i > 0 && units->list[i - 1].ticks < ticks; i--)
        if (i <= NAMED_UNITS - 1)
            units->list[i] = units->list[i - 1];
    if (i >= NAMED_UNITS)
        return;
    units->list[i] = (struct unit_sum){.ticks = ticks, .string = string, .phase = phase};
    units->n = MIN(units->n + 1, NAMED_UNITS);
}

/* Names the units, joins equal ones, and lists the largest. */
static void list_units(const struct diagnosis *d, struct unit_list *units, bool has_phases, double whole,
                       struct finding_where *where) {
    unsigned n = 0;
    for (unsigned i = 0; i < units->n; i++) {
        struct unit_sum unit = units->list[i];
        unsigned k = 0;
        if (d->overview->roles[unit.string].name & NAME_LAUNCH_KERNEL) /* no operator is known */
            snprintf(unit.name, sizeof unit.name, "kernels launched outside of operators");
        else
            copy_unit_name(d, unit.string, unit.name);
        while (k < n && (units->list[k].phase != unit.phase || strcmp(units->list[k].name, unit.name) != 0))
            k++;
        if (k < n)
            units->list[k].ticks += unit.ticks;
        else
            units->list[n++] = unit;
    }
    if (n > 1)
        qsort(units->list, n, sizeof *units->list, compare_units);
    where->n_units = 0;
    where->n_names = units->n_names;
    for (unsigned i = 0; i < n && where->n_units < FINDING_UNITS; i++) {
        double percent = whole > 0 ? (double)units->list[i].ticks / whole * 100 : 0;
        if (percent < UNIT_PERCENT)
            break;
        struct finding_unit *unit = &where->units[where->n_units++];
        *unit = (struct finding_unit){.phase = has_phases ? units->list[i].phase : SUTRA_N_PHASES, .percent = percent};
        if (!has_phases && graph_operator_is_probable(d->model, units->list[i].string))
            snprintf(unit->name, sizeof unit->name, "probably %.*s", (int)sizeof unit->name - (int)sizeof "probably ",
                     units->list[i].name);
        else
            memcpy(unit->name, units->list[i].name, sizeof unit->name);
    }
}

/* ---- Threads as disjoint units ---- */

/* Outermost operators and annotations of each thread: rows first[t] .. first[t + 1] - 1, by start; and annotations that
 * fill a step, which are phases but no units: filling[first_filling[t]] .. . */
struct flat_threads {
    row_t *first, *host;
    row_t *first_filling, *filling; /* rows of hosts */
    uint8_t *class_of;              /* by string: phase or NAME_IS_WRAPPER */
    bool *runs_backward;            /* by thread: an autograd thread */
};

/* An annotation that fills this percentage of a profiler step is a wrapper. */
#define WRAPPER_PERCENT 90

/* Whether a row fills a profiler step, as annotations of whole iterations do. */
static bool fills_step(const struct diagnosis *d, row_t row) {
    const struct overview_window *window = &d->overview->window;
    const struct host_rows *hosts = &d->model->hosts;
    int64_t middle = hosts->start[row] + (hosts->stop[row] - hosts->start[row]) / 2;
    row_t i;
    BISECT(i, window->n_steps, hosts->start[window->steps[i]] <= middle);
    if (i == 0)
        return false;
    row_t step = window->steps[i - 1];
    return (double)(hosts->stop[row] - hosts->start[row]) * 100 >=
           (double)(hosts->stop[step] - hosts->start[step]) * WRAPPER_PERCENT;
}

static enum sutra_status flatten_threads(const struct diagnosis *d, struct flat_threads *flat,
                                         struct sutra_error *error) {
    const struct host_rows *hosts = &d->model->hosts;
    const struct strings *strings = d->model->strings;
    struct arena *arena = d->arena;
    *flat = (struct flat_threads){.first = arena_zeros(arena, (size_t)hosts->n_threads + 1, sizeof(row_t)),
                                  .host = arena_alloc(arena, hosts->n, sizeof(row_t)),
                                  .first_filling = arena_zeros(arena, (size_t)hosts->n_threads + 1, sizeof(row_t)),
                                  .filling = arena_alloc(arena, hosts->n, sizeof(row_t)),
                                  .class_of = arena_alloc(arena, strings->n, 1),
                                  .runs_backward = arena_zeros(arena, hosts->n_threads, sizeof(bool))};
    uint8_t *is_engine = arena_zeros(arena, strings->n, 1);
    bool *has_steps = arena_zeros(arena, hosts->n_threads, sizeof *has_steps);
    TRY(arena_status(arena, error));
    enum { UNKNOWN = UINT8_MAX };
    memset(flat->class_of, UNKNOWN, strings->n);
    uint32_t thread = 0;
    row_t n = 0, n_filling = 0;
    int64_t stop = INT64_MIN;
    for (row_t row = 0; row < hosts->n; row++) {
        const uint32_t name = host_name(d->model, row);
        while (thread < hosts->thread[row]) {
            flat->first[++thread] = n;
            flat->first_filling[thread] = n_filling;
            stop = INT64_MIN;
        }
        if (hosts->kind[row] == HOST_CALL || hosts->kind[row] == HOST_FRAME)
            continue;
        if (flat->class_of[name] == UNKNOWN) {
            const char *text = strings_text(strings, name);
            size_t length = strings_length(strings, name), n_suffix = strlen("CompiledFunctionBackward");
            flat->class_of[name] = class_of_name(d, name);
            is_engine[name] = has_prefix(text, EVALUATE) ||
                              (length >= n_suffix && strcmp(text + length - n_suffix, "CompiledFunctionBackward") == 0);
        }
        flat->runs_backward[thread] |= is_engine[name];
        has_steps[thread] |= (overview_name(d->overview, row) & NAME_STEP) != 0;
        if (hosts->start[row] < stop || flat->class_of[name] == NAME_IS_WRAPPER)
            continue;
        if (hosts->kind[row] == HOST_ANNOTATION && fills_step(d, row)) {
            flat->filling[n_filling++] = row;
            continue;
        }
        flat->host[n++] = row;
        stop = hosts->stop[row];
    }
    while (thread < hosts->n_threads) {
        flat->first[++thread] = n;
        flat->first_filling[thread] = n_filling;
    }
    for (thread = 0; thread < hosts->n_threads; thread++)
        flat->runs_backward[thread] &= !has_steps[thread];
    return SUTRA_OK;
}

/* The phase of a moment at which no unit of the thread runs. */
static enum sutra_phase phase_between(const struct diagnosis *d, const struct flat_threads *flat, uint32_t thread,
                                      int64_t moment) {
    const struct host_rows *hosts = &d->model->hosts;
    const row_t first = flat->first_filling[thread], n = flat->first_filling[thread + 1] - first;
    row_t i;
    BISECT(i, n, hosts->start[flat->filling[first + i]] <= moment);
    if (flat->runs_backward[thread])
        return SUTRA_PHASE_BACKWARD;
    if (i == 0 || hosts->stop[flat->filling[first + i - 1]] <= moment)
        return SUTRA_PHASE_BETWEEN;
    return (enum sutra_phase)flat->class_of[host_name(d->model, flat->filling[first + i - 1])];
}

/* ---- Modules ---- */

/* A part of the forward phase on a thread. */
struct forward_piece {
    int64_t begin, end;
    uint32_t thread;
};

#define MODULE_DEPTHS  8
#define MODULE_PERCENT 80 /* a module with more is no answer: the modules inside it may be */
#define MODULE_PREFIX  "nn.Module: "

/* Sums the pieces by the modules of a depth. The pieces of each thread ascend. */
static int64_t sum_modules(const struct diagnosis *d, const row_t *modules, const uint8_t *depths, row_t n_modules,
                           unsigned depth, const struct forward_piece *pieces, row_t n_pieces, int64_t *sums) {
    const struct host_rows *hosts = &d->model->hosts;
    int64_t most = 0;
    for (row_t i = 0; i < n_pieces; i++) {
        const struct forward_piece *piece = &pieces[i];
        /* The first module of the thread that begins after the piece; modules before it that overlap the piece. */
        row_t k;
        BISECT(k, n_modules,
               hosts->thread[modules[k]] < piece->thread ||
                   (hosts->thread[modules[k]] == piece->thread && hosts->start[modules[k]] < piece->end));
        for (unsigned steps = 0; k > 0 && hosts->thread[modules[k - 1]] == piece->thread && steps < 64; steps++) {
            row_t module = modules[--k];
            if (depths[k] != depth)
                continue;
            uint32_t name = host_name(d->model, module);
            ticks_add(&sums[name], ticks_within(hosts->start[module], hosts->stop[module], piece->begin, piece->end));
            most = MAX(most, sums[name]);
            if (hosts->start[module] <= piece->begin)
                break; /* modules of one depth do not overlap */
        }
    }
    return most;
}

/* Replaces the operators of the forward phase by modules: adds them to the units. Returns false if there are none. */
static bool add_modules(const struct diagnosis *d, const struct forward_piece *pieces, row_t n_pieces, int64_t forward,
                        struct unit_list *units) {
    const struct host_rows *hosts = &d->model->hosts;
    const uint32_t n_strings = d->model->strings->n;
    row_t *modules = arena_alloc(d->arena, hosts->n, sizeof *modules), n = 0;
    uint8_t *depths = arena_alloc(d->arena, hosts->n, 1);
    int64_t *sums = arena_alloc(d->arena, n_strings, sizeof *sums);
    row_t open[MODULE_DEPTHS];
    unsigned n_open = 0, n_depths = 0;
    if (d->arena->failed)
        return false;
    for (row_t row = 0; row < hosts->n; row++) {
        if (hosts->kind[row] != HOST_FRAME ||
            !has_prefix(strings_text(d->model->strings, host_name(d->model, row)), MODULE_PREFIX))
            continue;
        while (n_open && (hosts->thread[open[n_open - 1]] != hosts->thread[row] ||
                          hosts->stop[open[n_open - 1]] <= hosts->start[row]))
            n_open--;
        if (n_open == MODULE_DEPTHS)
            continue;
        modules[n] = row;
        depths[n++] = (uint8_t)n_open;
        open[n_open++] = row;
        n_depths = MAX(n_depths, n_open);
    }
    for (unsigned depth = 0; depth < n_depths; depth++) {
        memset(sums, 0, n_strings * sizeof *sums);
        int64_t most = sum_modules(d, modules, depths, n, depth, pieces, n_pieces, sums);
        if (most == 0)
            return false;
        if ((double)most * 100 > (double)forward * MODULE_PERCENT && depth + 1 < n_depths)
            continue;
        for (uint32_t name = 0; name < n_strings; name++)
            if (sums[name] > 0)
                add_unit(units, name, SUTRA_PHASE_FORWARD, sums[name]);
        return true;
    }
    return false;
}

/* ---- Phases and units ---- */

#define MAX_FRAME_DEPTH 200 /* ancestors that are inspected */

/* Host time by phase and unit. */
struct place_sums {
    struct flat_threads flat;
    int64_t *sums; /* by string and engine: 2 * string + 1 for a thread of autograd */
    struct forward_piece *pieces;
    uint64_t n_pieces, capacity;
    int64_t phases[SUTRA_N_PHASES], whole;
};

/* Adds host time of a thread, split at the units of the thread. False: out of memory. */
static bool add_host_time(const struct diagnosis *d, struct place_sums *places, uint32_t thread, int64_t begin,
                          int64_t stop) {
    const struct host_rows *hosts = &d->model->hosts;
    const struct flat_threads *flat = &places->flat;
    const row_t end = flat->first[thread + 1], first = flat->first[thread];
    row_t k;
    places->whole += stop - begin;
    BISECT(k, end - first, hosts->stop[flat->host[first + k]] <= begin);
    for (k += first; k < end && hosts->start[flat->host[k]] < stop; k++) {
        const row_t unit = flat->host[k];
        int64_t from = MAX(hosts->start[unit], begin), to = MIN(hosts->stop[unit], stop);
        if (from >= to)
            continue;
        const uint32_t name = host_name(d->model, unit);
        const bool is_forward = flat->class_of[name] == SUTRA_PHASE_FORWARD;
        const bool backward = is_forward && flat->runs_backward[thread];
        places->phases[phase_between(d, flat, thread, begin)] += from - begin;
        places->phases[backward ? SUTRA_PHASE_BACKWARD : flat->class_of[name]] += to - from;
        places->sums[2 * (size_t)name + backward] += to - from;
        if (is_forward && !backward && d->facts & FACT_FRAMES) {
            if (!arena_grow(d->arena, &places->pieces, places->n_pieces, &places->capacity, sizeof *places->pieces))
                return false;
            places->pieces[places->n_pieces++] = (struct forward_piece){from, to, thread};
        }
        begin = to;
    }
    places->phases[phase_between(d, flat, thread, begin)] += stop - begin;
    return true;
}

enum sutra_status find_host_places(const struct diagnosis *d, uint32_t kinds, const struct spans *within,
                                   struct finding_where *where, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    const uint32_t n_strings = d->model->strings->n;
    struct arena_mark mark = arena_mark(d->arena);
    struct place_sums places = {.sums = arena_zeros(d->arena, 2 * (size_t)n_strings, sizeof *places.sums)};
    row_t next = 0;
    TRY(flatten_threads(d, &places.flat, error));
    TRY_ALLOC(places.sums, error);
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        const uint32_t thread = row->gap == ROW_NONE ? THREAD_UNKNOWN : overview->gaps[row->gap].thread;
        if (!(kinds >> row->kind & 1) || thread == THREAD_UNKNOWN)
            continue;
        if (!within) {
            TRY_ALLOC(add_host_time(d, &places, thread, row->begin, row->end), error);
            continue;
        }
        while (next < within->n && within->end[next] <= row->begin)
            next++;
        for (row_t k = next; k < within->n && within->begin[k] < row->end; k++)
            TRY_ALLOC(
                add_host_time(d, &places, thread, MAX(within->begin[k], row->begin), MIN(within->end[k], row->end)),
                error);
    }

    struct unit_list units = {.n = 0};
    const bool has_modules = places.n_pieces && add_modules(d, places.pieces, (row_t)places.n_pieces,
                                                            places.phases[SUTRA_PHASE_FORWARD], &units);
    for (uint32_t name = 0; name < n_strings; name++)
        for (int backward = 0; backward < 2; backward++) {
            const int64_t ticks = places.sums[2 * (size_t)name + (size_t)backward];
            const uint32_t phase = backward ? SUTRA_PHASE_BACKWARD : places.flat.class_of[name];
            if (ticks > 0 && !(has_modules && phase == SUTRA_PHASE_FORWARD))
                add_unit(&units, name, phase, ticks);
        }
    list_units(d, &units, true, (double)places.whole, where);
    for (int phase = 0; phase < SUTRA_N_PHASES; phase++)
        where->phases[phase] = places.whole > 0 ? (double)places.phases[phase] / (double)places.whole * 100 : 0;
    arena_release(d->arena, mark);
    return arena_status(d->arena, error);
}

uint32_t user_frame_of(const struct diagnosis *d, row_t host) {
    static const char *const libraries[] = {"torch/",      "site-packages/", "dist-packages/", "<built-in",
                                            "nn.Module: ", "<string>",       "lib/python"};
    for (int depth = 0; depth < MAX_FRAME_DEPTH && host != ROW_NONE; depth++, host = d->model->hosts.parent[host]) {
        const uint32_t name = host_name(d->model, host);
        bool is_library = d->model->hosts.kind[host] != HOST_FRAME;
        for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !is_library; i++)
            is_library = text_compare(d->model->strings, name, TEXT_HAS, libraries[i]);
        if (!is_library)
            return name;
    }
    return STRING_NONE;
}

static bool is_collective_record(const struct diagnosis *d, row_t host) {
    return strcmp(strings_text(d->model->strings, host_name(d->model, host)), COMMS_NAME) == 0;
}

enum sutra_status find_device_places(const struct diagnosis *d, const int64_t *ticks, bool by_kernel,
                                     struct finding_where *where, struct sutra_error *error) {
    const struct device_rows *devices = &d->model->devices;
    const struct host_rows *hosts = &d->model->hosts;
    const uint32_t n_strings = d->model->strings->n;
    struct arena_mark mark = arena_mark(d->arena);
    int64_t *sums = arena_zeros(d->arena, n_strings, sizeof *sums), whole = 0;
    struct unit_list units = {.n = 0};
    TRY_ALLOC(sums, error);
    for (row_t i = 0; i < devices->n; i++) {
        if (ticks[i] <= 0)
            continue;
        ticks_add(&whole, ticks[i]);
        row_t launcher = devices->launcher[i];
        /* The operator that calls the collective, instead of the profiler's record of it. */
        if (launcher != ROW_NONE && is_collective_record(d, launcher) && hosts->parent[launcher] != ROW_NONE &&
            hosts->kind[hosts->parent[launcher]] == HOST_OPERATOR)
            launcher = hosts->parent[launcher];
        uint32_t name = by_kernel ? d->model->events->name[devices->event[i]]
                        : launcher == ROW_NONE || launcher == devices->launcher[i] ? activity_operator(d->model, i)
                                                                                   : host_name(d->model, launcher);
        if (name != STRING_NONE)
            ticks_add(&sums[name], ticks[i]);
    }
    for (uint32_t name = 0; name < n_strings; name++)
        if (sums[name] > 0)
            add_unit(&units, name, SUTRA_N_PHASES, sums[name]);
    list_units(d, &units, false, (double)whole, where);
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

enum sutra_status find_main_frame(const struct diagnosis *d, uint32_t kinds, uint32_t *name, int64_t *ticks,
                                  struct sutra_error *error) {
    const struct overview *overview = d->overview;
    struct arena_mark mark = arena_mark(d->arena);
    int64_t *sums = arena_zeros(d->arena, d->model->strings->n, sizeof *sums);
    TRY(arena_status(d->arena, error));
    *name = STRING_NONE;
    *ticks = 0;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (!(kinds >> row->kind & 1) || row->frame == ROW_NONE)
            continue;
        uint32_t of = host_name(d->model, row->frame);
        sums[of] += row->end - row->begin;
        if (sums[of] > *ticks) {
            *ticks = sums[of];
            *name = of;
        }
    }
    arena_release(d->arena, mark);
    return SUTRA_OK;
}
