/*
 * straggler.c - the stragglers of a job, and the operators of the latest one: compares them with the operators of the
 * rank of median compute time, by phase of a step. The overview compares each straggler.
 *
 *     rank 5   forward  aten::mm 900 us     rank 3   forward  aten::mm 600 us     -->  forward, aten::mm: 300 us
 *
 * If the GPU of the straggler does not compute longer, its CPU is slow: then self CPU times of operators are compared.
 * The tables of collectives are made without host events, so both traces are read again for this comparison.
 *
 * Cost: O(events) for the operators of a trace.
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

/* ---- The operators of a trace ---- */

/* By string: the phase of ranges of this name, or N_PHASES. NULL: out of memory. */
static uint8_t *find_phases_of_names(const struct strings *strings, struct arena *arena) {
    static const struct {
        const char *word;
        enum step_phase phase;
    } words[] = {{"DataLoader", PHASE_DATA},
                 {"Optimizer.zero_grad", PHASE_OPTIMIZER},
                 {"Optimizer.step", PHASE_OPTIMIZER},
                 {"autograd::engine::evaluate_function", PHASE_BACKWARD}};
    uint8_t *phases = arena_alloc(arena, strings->n, sizeof *phases);
    for (uint32_t i = 0; i < strings->n && phases; i++) {
        phases[i] = N_PHASES;
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) /* the last of these words counts */
            if (strstr(strings_text(strings, i), words[k].word))
                phases[i] = (uint8_t)words[k].phase;
    }
    return phases;
}

/* A list of times under construction. */
struct times_maker {
    const struct launch_model *model;
    struct operator_times *times;
    uint64_t capacity;
    uint64_t *numbers; /* by string, phase and side: index in the list + 1, or 0 */
};

static bool add_time(struct times_maker *maker, row_t host, uint8_t phase, bool on_host, double ns) {
    const struct launch_model *model = maker->model;
    struct operator_times *times = maker->times;
    const uint32_t name = host_name(model, host);
    uint64_t *number = &maker->numbers[2 * (N_PHASES * (size_t)name + phase) + on_host];
    if (*number == 0) {
        const uint32_t of =
            strings_intern(&times->names, strings_text(model->strings, name), strings_length(model->strings, name));
        if (of == STRING_NONE || !column_grow(&times->list, times->n, &maker->capacity, sizeof *times->list))
            return false;
        times->list[times->n++] = (struct operator_time){.name = of, .phase = phase, .on_host = on_host};
        *number = times->n;
    }
    struct operator_time *time = &times->list[*number - 1];
    time->calls++;
    time->ns += ns;
    *(on_host ? &times->host_ns : &times->device_ns) += ns;
    return true;
}

enum sutra_status operator_times_find(const struct launch_model *model, struct arena *arena,
                                      struct operator_times *times, struct sutra_error *error) {
    const struct host_rows *hosts = &model->hosts;
    const struct device_rows *devices = &model->devices;
    struct arena_mark mark = arena_mark(arena);
    const uint8_t *of_name = find_phases_of_names(model->strings, arena);
    uint8_t *phases = arena_alloc(arena, hosts->n, sizeof *phases);
    row_t *owner = arena_alloc(arena, hosts->n, sizeof *owner); /* the innermost event that is no Python function */
    double *self_ns = arena_alloc(arena, hosts->n, sizeof *self_ns);
    struct times_maker maker = {model, times, 0,
                                arena_zeros(arena, 2 * N_PHASES * (size_t)model->strings->n, sizeof *maker.numbers)};
    bool ok = !arena->failed && strings_init(&times->names);
    for (row_t i = 0; i < hosts->n && ok; i++) { /* in pre-order: rows have the phase of the enclosing range */
        const row_t parent = hosts->parent[i], of = parent == ROW_NONE ? ROW_NONE : owner[parent];
        const bool is_frame = hosts->kind[i] == HOST_FRAME;
        const uint8_t own = is_frame ? N_PHASES : of_name[host_name(model, i)];
        owner[i] = is_frame ? of : i;
        phases[i] = own != N_PHASES ? own : parent != ROW_NONE ? phases[parent] : PHASE_FORWARD;
        self_ns[i] = launch_model_us(model, hosts->stop[i] - hosts->start[i]) * 1e3;
        if (of != ROW_NONE && !is_frame)
            self_ns[of] -= self_ns[i];
    }
    for (row_t i = 0; i < devices->n && ok; i++)
        if (devices->launcher[i] != ROW_NONE && devices->class[i] == DEVICE_COMPUTE)
            ok = add_time(&maker, devices->launcher[i], phases[devices->launcher[i]], false,
                          launch_model_us(model, devices->stop[i] - devices->start[i]) * 1e3);
    for (row_t i = 0; i < hosts->n && ok; i++)
        if (hosts->kind[i] == HOST_OPERATOR)
            ok = add_time(&maker, i, phases[i], true, fmax(self_ns[i], 0));
    arena_release(arena, mark);
    return ok ? SUTRA_OK : error_memory(error);
}

void operator_times_free(struct operator_times *times) {
    strings_free(&times->names);
    free(times->list);
    *times = (struct operator_times){.n = 0};
}

void operator_times_codec(struct codec *codec, struct operator_times *times) {
    if (codec_decodes(codec) && !strings_init(&times->names))
        codec_fail(codec, CODEC_NO_MEMORY);
    codec_strings(codec, &times->names);
    codec_array(codec, &times->list, &times->n, NULL);
    codec_value(codec, &times->device_ns);
    codec_value(codec, &times->host_ns);
    for (uint64_t i = 0; i < times->n && codec_decodes(codec); i++)
        codec_check(codec, times->list[i].name < times->names.n && times->list[i].phase < N_PHASES &&
                               times->list[i].on_host < 2);
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

/* Reads a trace again, and its operators. SUTRA_NO_INPUT: it is a pipe. */
static enum sutra_status operator_times_read(struct sutra_context *context, const char *path,
                                             struct operator_times *times, struct sutra_error *error) {
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
    if (!status)
        status = operator_times_find(&model, &scratch, times, error);
    sutra_device_trace_free(trace);
    arena_free(&arena);
    arena_free(&scratch);
    return status;
}

/* ---- The excess of the straggler ---- */

/* An operator in a phase, in both traces: 0 is the straggler's. */
struct excess_row {
    uint32_t name; /* of struct operator_comparison.names */
    enum step_phase phase;
    bool on_host;
    uint64_t calls[2];
    double ns[2];
};

struct operator_comparison {
    struct strings names;
    struct pair_table known; /* by name, and phase and side */
    struct excess_row *rows;
    uint64_t n, capacity;
};

/* Adds the operators of a rank. False: out of memory. */
static bool compare_times(struct operator_comparison *comparison, const struct operator_times *times, int side) {
    for (uint64_t i = 0; i < times->n; i++) {
        const struct operator_time *time = &times->list[i];
        const uint32_t name = strings_intern(&comparison->names, strings_text(&times->names, time->name),
                                             strings_length(&times->names, time->name));
        struct pair_entry *entry =
            name == STRING_NONE ? NULL : pair_table_insert(&comparison->known, name, 2u * time->phase + time->on_host);
        if (!entry)
            return false;
        if (entry->number == PAIR_NONE) {
            if (!column_grow(&comparison->rows, comparison->n, &comparison->capacity, sizeof *comparison->rows))
                return false;
            comparison->rows[comparison->n] =
                (struct excess_row){.name = name, .phase = (enum step_phase)time->phase, .on_host = time->on_host};
            entry->number = (uint32_t)comparison->n++;
        }
        comparison->rows[entry->number].calls[side] = time->calls;
        comparison->rows[entry->number].ns[side] = time->ns;
    }
    return true;
}

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

enum sutra_status rank_excess_find(const struct operator_times *times, const struct operator_times *reference,
                                   double wait_us, struct rank_excess *excess, struct sutra_result *result,
                                   struct sutra_error *error) {
    struct operator_comparison comparison = {.n = 0};
    const bool ok = strings_init(&comparison.names) && pair_table_init(&comparison.known) &&
                    compare_times(&comparison, reference, 1) && compare_times(&comparison, times, 0);
    struct excess_row *rows = comparison.rows;
    const uint64_t n = ok ? comparison.n : 0;
    *excess = (struct rank_excess){.phase = ""};
    if (n > 0)
        qsort(rows, n, sizeof *rows, compare_excess);

    /* Whether most of the excess is on the CPU or the GPU. All operators of the other rank's CPU may take as long,
     * because it waits in some: a single operator decides. */
    double device_us = (times->device_ns - reference->device_ns) / 1e3;
    double host_us = (times->host_ns - reference->host_ns) / 1e3;
    for (uint64_t i = 0; i < n; i++)
        host_us = rows[i].on_host ? fmax(host_us, excess_of(&rows[i]) / 1e3) : host_us;
    excess->on_host = device_us < MIN_DEVICE_SHARE * wait_us && host_us > device_us;
    for (uint64_t i = 0; i < n; i++) {
        const struct excess_row *row = &rows[i];
        if (row->on_host != excess->on_host || excess_of(row) / 1e3 < MIN_OPERATOR_SHARE * wait_us)
            continue;
        excess->phase = phase_names[row->phase];
        snprintf(excess->operator_name, sizeof excess->operator_name, "%s", strings_text(&comparison.names, row->name));
        excess->us = excess_of(row) / 1e3;
        break;
    }
    struct sutra_table *table = result ? result_table_begin(result, SUTRA_COLLECTIVES_EXCESS) : NULL;
    for (uint64_t i = 0; table && i < n && table->n_rows < EXCESS_ROWS && !table->failed; i++) {
        const struct excess_row *row = &rows[i];
        if (row->on_host != excess->on_host || excess_of(row) <= 0)
            continue;
        table_words(table, row->on_host ? "host" : "device");
        table_words(table, phase_names[row->phase]);
        table_text(table, strings_text(&comparison.names, row->name), strings_length(&comparison.names, row->name));
        table_integer(table, (int64_t)row->calls[0]);
        table_real(table, row->ns[0] / 1e3);
        table_integer(table, (int64_t)row->calls[1]);
        table_real(table, row->ns[1] / 1e3);
        table_real(table, excess_of(row) / 1e3);
    }
    strings_free(&comparison.names);
    pair_table_free(&comparison.known);
    free(comparison.rows);
    return ok ? SUTRA_OK : error_memory(error);
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
    const char *whole = of->calls.from_logs ? "the time in collectives" : "the job";
    char time[32];
    found->sentence = of->sentence;
    *of->sentence = 0;
    if (found->n_collectives == 0) {
        append(of, "No straggler analysis: no collective is recorded on several ranks.");
    } else if (n_late == 0) {
        append(of, "No straggler: the wait for any rank is at most %.1f %% of %s.",
               share_of_job(of, found->wait_caused_us), whole);
    } else if (n_late == 1) {
        append(of,
               "Straggler: rank %" PRId64 " makes the other ranks wait %s, %.1f %% of %s; it arrives last at "
               "%" PRIu64 " of its %" PRIu64 " collectives.",
               found->rank, format_time(found->wait_caused_us, time), share_of_job(of, found->wait_caused_us), whole,
               found->n_last, found->n_collectives);
    } else {
        row_t rows[LATE_NAMED];
        const row_t n = find_latest_ranks(of->sums, of->n_clocks, late, rows);
        append(of, "%" PRIu64 " stragglers: the other ranks wait", (uint64_t)n_late);
        for (row_t k = 0; k < n; k++) {
            const struct rank_waits *sums = &of->sums[rows[k]];
            append(of, "%s %s for rank %" PRId64 " (%.1f %% of %s; last at %" PRIu64 " of %" PRIu64 " collectives)",
                   k == 0       ? ""
                   : k + 1 == n ? " and"
                                : ",",
                   format_time(sums->wait_caused_ns / 1e3, time), of->clocks[rows[k]].rank,
                   share_of_job(of, sums->wait_caused_ns / 1e3), whole, sums->n_last, sums->n);
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

/* Reads the traces of a late rank and the median rank again, and compares them. No operator is reported if a trace
 * cannot be read again. */
static enum sutra_status find_excess(struct sutra_collectives *of, struct sutra_context *context, row_t latest,
                                     row_t median, struct rank_excess *excess, struct sutra_error *error) {
    struct operator_times times = {.n = 0}, reference = {.n = 0};
    struct sutra_error why;
    enum sutra_status status = operator_times_read(context, of->parts[median]->rank.path, &reference, &why);
    if (!status)
        status = operator_times_read(context, of->parts[latest]->rank.path, &times, &why);
    if (!status)
        status = rank_excess_find(&times, &reference, of->straggler.wait_caused_us, excess, &of->result, &why);
    operator_times_free(&times);
    operator_times_free(&reference);
    return error_copy(error, status == SUTRA_SYSTEM ? status : SUTRA_OK, &why);
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
            struct rank_excess excess = {.phase = ""};
            found->median_rank = of->clocks[median].rank;
            TRY(find_excess(of, context, latest, median, &excess, error));
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
