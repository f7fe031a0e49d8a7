/*
 * straggler.c - the stragglers of a job, and the operators of the latest one: compares its trace with the trace of the
 * rank of median compute time, by operator and phase of a step. The overview compares each straggler.
 *
 *     rank 5   forward  aten::mm 900 us     rank 3   forward  aten::mm 600 us     -->  forward, aten::mm: 300 us
 *
 * If the GPU of the straggler does not compute longer, its CPU is slow: then self CPU times of operators are compared.
 * Cost: reading two traces and attributing their GPU activity.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/collectives/collectives.h"
#include "analyze/launches/launches.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"

/* The GPU is the cause if it computes longer by this share of the wait for the straggler. */
#define MIN_DEVICE_SHARE 0.3

/* The sentence names an operator from this share of the wait on. */
#define MIN_OPERATOR_SHARE 0.1

#define EXCESS_ROWS 40 /* of the table */

enum step_phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER, PHASE_DATA, N_PHASES };
static const char *const phase_names[N_PHASES] = {"forward", "backward", "optimizer", "data loading"};

/* An operator in a phase, in both traces: 0 is the straggler's. */
struct excess_row {
    uint32_t name; /* of struct excess_run.names */
    enum step_phase phase;
    bool on_host;
    uint64_t calls[2];
    double ns[2];
};

struct excess_run {
    struct strings names;
    struct pair_table known; /* by name, and phase and side */
    struct excess_row *rows;
    uint64_t n, capacity;
    double device_ns[2], host_ns[2];
    bool is_unread; /* the trace of the reference could not be read */
};

/* ---- One trace ---- */

static bool add(struct excess_run *run, const struct launch_model *model, row_t host, enum step_phase phase,
                bool on_host, int side, double ns) {
    uint32_t name = model->events->name[model->hosts.event[host]];
    uint32_t number =
        strings_intern(&run->names, strings_text(model->strings, name), strings_length(model->strings, name));
    struct pair_entry *entry =
        number == STRING_NONE ? NULL : pair_table_insert(&run->known, number, 2 * (uint32_t)phase + on_host);
    if (!entry)
        return false;
    if (entry->number == PAIR_NONE) {
        if (!column_grow(&run->rows, run->n, &run->capacity, sizeof *run->rows))
            return false;
        run->rows[run->n] = (struct excess_row){.name = number, .phase = phase, .on_host = on_host};
        entry->number = (uint32_t)run->n++;
    }
    struct excess_row *row = &run->rows[entry->number];
    row->calls[side]++;
    row->ns[side] += ns;
    (on_host ? run->host_ns : run->device_ns)[side] += ns;
    return true;
}

/* Adds the operators of a trace: compute time of the GPU by the operator that launched it, without communication, which
 * depends on other ranks; and self CPU times, without synchronizing calls. False: out of memory. */
static bool add_operators(struct excess_run *run, const struct launch_model *model, int side, struct arena *arena) {
    static const struct {
        const char *word;
        enum step_phase phase;
    } words[] = {{"DataLoader", PHASE_DATA},
                 {"Optimizer.zero_grad", PHASE_OPTIMIZER},
                 {"Optimizer.step", PHASE_OPTIMIZER},
                 {"autograd::engine::evaluate_function", PHASE_BACKWARD}};
    const struct host_rows *hosts = &model->hosts;
    const struct device_rows *devices = &model->devices;
    uint8_t *of_name = arena_alloc(arena, model->strings->n, sizeof *of_name);
    uint8_t *phases = arena_alloc(arena, hosts->n, sizeof *phases);
    double *own_us = arena_alloc(arena, hosts->n, sizeof *own_us);
    bool done = !arena->failed;
    for (uint32_t i = 0; i < model->strings->n && done; i++) {
        of_name[i] = N_PHASES;
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) /* the last of these words counts */
            if (strstr(strings_text(model->strings, i), words[k].word))
                of_name[i] = (uint8_t)words[k].phase;
    }
    for (row_t i = 0; i < hosts->n && done; i++) { /* in pre-order: rows have the phase of the enclosing range */
        uint8_t own = of_name[model->events->name[hosts->event[i]]];
        phases[i] = own != N_PHASES ? own : hosts->parent[i] != ROW_NONE ? phases[hosts->parent[i]] : PHASE_FORWARD;
        own_us[i] = launch_model_us(model, hosts->stop[i] - hosts->start[i]);
        if (hosts->parent[i] != ROW_NONE)
            own_us[hosts->parent[i]] -= own_us[i];
    }
    for (row_t i = 0; i < devices->n && done; i++)
        if (devices->launcher[i] != ROW_NONE && devices->class[i] == DEVICE_COMPUTE)
            done = add(run, model, devices->launcher[i], (enum step_phase)phases[devices->launcher[i]], false, side,
                       launch_model_us(model, devices->stop[i] - devices->start[i]) * 1e3);
    for (row_t i = 0; i < hosts->n && done; i++)
        if (hosts->kind[i] == HOST_OPERATOR)
            done = add(run, model, i, (enum step_phase)phases[i], true, side, fmax(own_us[i], 0) * 1e3);
    return done;
}

/* Whether a trace, or the file of a rank FILE/rank1, is a regular file: a pipe ends after it is read once. */
static bool can_read_again(const char *path) {
    struct stat file;
    const char *slash = strrchr(path, '/');
    if (stat(path, &file) == 0)
        return S_ISREG(file.st_mode);
    char *parent = slash ? strndup(path, (size_t)(slash - path)) : NULL;
    bool is_regular = parent && stat(parent, &file) == 0 && S_ISREG(file.st_mode);
    free(parent);
    return is_regular;
}

static enum sutra_status add_trace(struct excess_run *run, struct sutra_context *context, const char *path, int side,
                                   struct sutra_error *error) {
    struct arena arena = {0}, scratch = {0};
    struct sutra_device_trace *trace = NULL;
    struct launch_model model;
    if (strcmp(path, "-") == 0 || !can_read_again(path))
        return error_set(error, SUTRA_NO_INPUT, "a pipe cannot be read again");
    /* The first reader of the trace has reported its defects and other warnings. */
    const bool holds_defects = context->holds_defects;
    void (*const warning)(void *, const char *) = context->options.warning;
    context->holds_defects = true;
    context->options.warning = NULL;
    enum sutra_status status = sutra_device_trace_read(context, path, &trace, error);
    context->holds_defects = holds_defects;
    context->options.warning = warning;
    if (!status)
        status = launch_model_build(context, trace, LAUNCHES_NO_FRAMES, &arena, &scratch, &model, error);
    if (!status && !add_operators(run, &model, side, &arena))
        status = error_memory(error);
    sutra_device_trace_free(trace);
    arena_free(&arena);
    arena_free(&scratch);
    return status;
}

/* ---- The excess of the straggler ---- */

static double excess_of(const struct excess_row *row) {
    return row->ns[0] - row->ns[1];
}

static int compare_excess(const void *left, const void *right) {
    const struct excess_row *a = left, *b = right;
    double x = excess_of(a), y = excess_of(b);
    if (x != y)
        return x < y ? 1 : -1;
    return (a->name > b->name) - (a->name < b->name);
}

/* Finds where most of the excess is, on the CPU or the GPU, and makes the table of a result. Sorts `rows`, which are a
 * copy of the run's. */
static void find_excess(const struct excess_run *run, struct excess_row *rows, double wait_us,
                        struct rank_excess *excess, struct sutra_result *result) {
    if (run->n > 0)
        qsort(rows, run->n, sizeof *rows, compare_excess);
    double device_us = (run->device_ns[0] - run->device_ns[1]) / 1e3;
    double host_us = (run->host_ns[0] - run->host_ns[1]) / 1e3;
    /* All operators of the other rank's CPU may take as long, because it waits in some: a single operator decides. */
    for (uint64_t i = 0; i < run->n; i++)
        host_us = rows[i].on_host ? fmax(host_us, excess_of(&rows[i]) / 1e3) : host_us;
    excess->on_host = device_us < MIN_DEVICE_SHARE * wait_us && host_us > device_us;
    for (uint64_t i = 0; i < run->n; i++) {
        const struct excess_row *row = &rows[i];
        if (row->on_host != excess->on_host || excess_of(row) / 1e3 < MIN_OPERATOR_SHARE * wait_us)
            continue;
        excess->phase = phase_names[row->phase];
        snprintf(excess->operator_name, sizeof excess->operator_name, "%s", strings_text(&run->names, row->name));
        excess->us = excess_of(row) / 1e3;
        break;
    }
    struct sutra_table *table = result ? result_table_begin(result, SUTRA_COLLECTIVES_EXCESS) : NULL;
    for (uint64_t i = 0; table && i < run->n && table->n_rows < EXCESS_ROWS && !table->failed; i++) {
        const struct excess_row *row = &rows[i];
        if (row->on_host != excess->on_host || excess_of(row) <= 0)
            continue;
        table_words(table, row->on_host ? "host" : "device");
        table_words(table, phase_names[row->phase]);
        table_text(table, strings_text(&run->names, row->name), strings_length(&run->names, row->name));
        table_integer(table, (int64_t)row->calls[0]);
        table_real(table, row->ns[0] / 1e3);
        table_integer(table, (int64_t)row->calls[1]);
        table_real(table, row->ns[1] / 1e3);
        table_real(table, excess_of(row) / 1e3);
    }
}

enum sutra_status rank_excess_find(struct sutra_context *context, const char *reference, const char *path,
                                   double wait_us, struct excess_run **kept, struct rank_excess *excess,
                                   struct sutra_result *result, struct sutra_error *error) {
    struct sutra_error why;
    struct excess_row *rows = NULL;
    enum sutra_status status = SUTRA_OK;
    struct excess_run *run = *kept;
    *excess = (struct rank_excess){.phase = ""};
    if (!run) {
        run = *kept = calloc(1, sizeof *run);
        TRY_ALLOC(run, error);
        status = strings_init(&run->names) && pair_table_init(&run->known) ? SUTRA_OK : error_memory(&why);
        if (!status)
            status = add_trace(run, context, reference, 1, &why);
        run->is_unread = status != SUTRA_OK;
    }
    for (uint64_t i = 0; i < run->n; i++) {
        run->rows[i].calls[0] = 0;
        run->rows[i].ns[0] = 0;
    }
    run->device_ns[0] = run->host_ns[0] = 0;
    if (!status && !run->is_unread)
        status = add_trace(run, context, path, 0, &why);
    if (!status && !run->is_unread) {
        rows = malloc((run->n + 1) * sizeof *rows);
        status = rows ? SUTRA_OK : error_memory(&why);
    }
    if (rows) {
        memcpy(rows, run->rows, run->n * sizeof *rows);
        find_excess(run, rows, wait_us, excess, result);
    }
    free(rows);
    return error_copy(error, status == SUTRA_SYSTEM ? status : SUTRA_OK, &why);
}

void excess_run_free(struct excess_run *run) {
    if (!run)
        return;
    strings_free(&run->names);
    pair_table_free(&run->known);
    free(run->rows);
    free(run);
}

row_t find_median_rank(const double *compute_ns, const bool *late, row_t n, double *scratch) {
    row_t n_values = 0;
    for (row_t i = 0; i < n; i++)
        if (!late[i] && !isnan(compute_ns[i]))
            scratch[n_values++] = compute_ns[i];
    if (n_values == 0)
        return ROW_NONE;
    qsort(scratch, n_values, sizeof *scratch, compare_doubles);
    for (row_t i = 0; i < n; i++)
        if (!late[i] && compute_ns[i] == scratch[upper_median_at(n_values)])
            return i;
    return ROW_NONE;
}

/* ---- The stragglers ---- */

/* Writes a human-readable duration to text[32]. */
static const char *format_time(double us, char *text) {
    const char *unit = us < 1e3 ? "us" : us < 1e6 ? "ms" : "s";
    double value = us < 1e3 ? us : us < 1e6 ? us / 1e3 : us / 1e6;
    snprintf(text, 32, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, unit);
    return text;
}

__attribute__((format(printf, 2, 3))) static void append(struct sutra_collectives *of, const char *format, ...) {
    size_t length = strlen(of->sentence);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(of->sentence + length, sizeof of->sentence - length, format, arguments);
    va_end(arguments);
}

static double share_of_job(const struct sutra_collectives *of, double us) {
    return of->straggler.span_us > 0 ? 100 * us / of->straggler.span_us : 0;
}

/* `late`: by clock. */
static void write_sentence(struct sutra_collectives *of, const bool *late, row_t n_late) {
    struct sutra_collectives_straggler *found = &of->straggler;
    char time[32];
    found->sentence = of->sentence;
    *of->sentence = 0;
    if (found->n_collectives == 0) {
        append(of, "No straggler analysis: no collective is recorded on several ranks.");
    } else if (n_late == 0) {
        append(of, "No straggler: the wait for any rank is at most %.1f %% of the job.",
               share_of_job(of, found->wait_caused_us));
    } else if (n_late == 1) {
        append(of,
               "Straggler: rank %" PRId64 " makes the other ranks wait %s, %.1f %% of the job; it arrives last at "
               "%" PRIu64 " of its %" PRIu64 " collectives.",
               found->rank, format_time(found->wait_caused_us, time), share_of_job(of, found->wait_caused_us),
               found->n_last, found->n_collectives);
    } else {
        row_t rows[LATE_NAMED];
        const row_t n = find_latest_ranks(of->sums, of->n_clocks, late, rows);
        append(of, "%" PRIu64 " stragglers: the other ranks wait", (uint64_t)n_late);
        for (row_t k = 0; k < n; k++) {
            const struct rank_waits *sums = &of->sums[rows[k]];
            append(of,
                   "%s %s for rank %" PRId64 " (%.1f %% of the job; last at %" PRIu64 " of %" PRIu64 " collectives)",
                   k == 0       ? ""
                   : k + 1 == n ? " and"
                                : ",",
                   format_time(sums->wait_caused_ns / 1e3, time), of->clocks[rows[k]].rank,
                   share_of_job(of, sums->wait_caused_ns / 1e3), sums->n_last, sums->n);
        }
        append(of, "%s", n_late > n ? ", and less for others." : ".");
    }
    if (n_late > 0 && *found->operator_name) {
        char whose[32] = "Its";
        if (n_late > 1)
            snprintf(whose, sizeof whose, "Rank %" PRId64 "'s", found->rank);
        append(of, " %s %s takes %s longer in %.80s (%s) than on rank %" PRId64 ".", whose,
               found->on_host ? "CPU" : "GPU", format_time(found->excess_us, time), found->operator_name, found->phase,
               found->median_rank);
    }
}

enum sutra_status collective_straggler_find(struct sutra_collectives *of, struct sutra_context *context,
                                            struct sutra_error *error) {
    struct sutra_collectives_straggler *found = &of->straggler;
    double *compute_ns = arena_alloc(&of->arena, of->n_clocks, sizeof *compute_ns);
    double *values = arena_alloc(&of->arena, of->n_clocks, sizeof *values);
    bool *late = arena_zeros(&of->arena, of->n_clocks, sizeof *late);
    row_t n_late = 0;
    TRY(arena_status(&of->arena, error));
    *found = (struct sutra_collectives_straggler){
        .rank = -1, .median_rank = -1, .span_us = of->summary.span_us, .phase = "", .operator_name = ""};
    if (of->n_clocks > 1) {
        const row_t latest = find_straggler_candidate(of->sums, of->n_clocks);
        const struct rank_waits *sums = &of->sums[latest];
        found->wait_caused_us = sums->wait_caused_ns / 1e3;
        found->n_last = sums->n_last;
        found->n_collectives = sums->n;
        n_late = find_late_ranks(of->sums, of->n_clocks, found->span_us * 1e3, late);
        for (row_t i = 0; i < of->n_clocks; i++)
            compute_ns[i] = of->parts[i] ? of->parts[i]->compute_ns : (double)NAN;
        const row_t median = find_median_rank(compute_ns, late, of->n_clocks, values);
        if (n_late)
            found->rank = of->clocks[latest].rank;
        if (n_late && median != ROW_NONE && of->parts[latest]) {
            struct rank_excess excess;
            struct excess_run *run = NULL;
            found->median_rank = of->clocks[median].rank;
            const enum sutra_status status =
                rank_excess_find(context, of->parts[median]->rank.path, of->parts[latest]->rank.path,
                                 found->wait_caused_us, &run, &excess, &of->result, error);
            excess_run_free(run);
            TRY(status);
            const char *name = arena_text(&of->arena, excess.operator_name, strlen(excess.operator_name));
            found->on_host = excess.on_host;
            found->phase = excess.phase;
            found->operator_name = name ? name : "";
            found->excess_us = excess.us;
        }
    }
    write_sentence(of, late, n_late);
    return SUTRA_OK;
}
