/*
 * rows.c - loads and filters a trace as HTA does: which events are rows, their times, streams and links; and the
 * kernels among the rows, by start and by correlation.
 *
 *     events --> rows (start, dur, stream, link) --> without the last step --> kernels by start, kernels by correlation
 *
 * An event is a row if it has a start, a duration and a category other than "Trace". A row is on the GPU if it has a
 * stream and a correlation, or is a synchronization of the GPU. Rows of the two sides with one correlation are linked
 * with the last such row of the other side. If there are several names with "ProfilerStep", the last step and all later
 * rows are cut off: rows of the CPU by their start, rows of the GPU with their launch. O(n).
 *
 * Unlike HTA, sutra uses a trace's own steps, not the steps of other ranks; it ignores streams and correlations that
 * are no numbers; and it does not repeat rows excessively if many launches share a correlation.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/hta/hta.h"
#include "base/error.h"
#include "base/shared.h"
#include "facts/times.h"
#include "text/numbers.h"

/* Events with times beyond it (some 95 years from 1970) are skipped: sums of two times fit 64 bits as nanoseconds. */
#define US_LIMIT 3e15

/* Limit of rows of the GPU, with repetitions: MAX_REPEATS, plus a number for each event of the trace. */
#define MAX_REPEATS       1000000
#define REPEATS_PER_EVENT 4

struct row_reading {
    const struct sutra_context *context;
    const struct engine *engine;
    const struct sutra_hta_options *options;
    struct hta_rows *rows;
    struct sutra_hta_summary *summary;
    struct time_rules times;
    struct arena scratch;
    row_t *steps; /* rows with names of steps, in scratch */
    uint64_t n_steps, step_capacity;
};

/* The value of a stream that is no integer, as Python's int(); STREAM_NONE where int() raises an exception. */
static int64_t stream_of_value(const struct sutra_hta_options *options, const struct values *values, value_key key) {
    if (key < KEY_VALUES)
        return STREAM_NONE;
    struct value value = values_at(values, key);
    double real;
    if (value.type == VALUES_DOUBLE && value.length == sizeof real) {
        memcpy(&real, value.text, sizeof real);
        return fabs(real) < US_LIMIT ? (int64_t)real : STREAM_NONE;
    }
    char digits[64 + NUMBER_TEXT_MAX] = "";
    int64_t stream;
    if (value.type != VALUES_STRING || value.length >= 64)
        return STREAM_NONE;
    size_t length = value.length;
    if (options->hta_version == SUTRA_HTA_VERSION_0_6) { /* HTA 0.6 reads "7.0" as 7 */
        const char *point = memchr(value.text, '.', length);
        if (point && strspn(point + 1, "0") == length - (size_t)(point - value.text) - 1)
            length = (size_t)(point - value.text);
    }
    size_t n_digits = python_int(value.text, length, digits);
    return n_digits && integer_parse(digits, n_digits, &stream) ? stream : STREAM_NONE;
}

static void read_row(struct row_reading *reading, row_t event) {
    struct hta_rows *rows = reading->rows;
    struct sutra_hta_summary *summary = reading->summary;
    uint32_t category = rows->events->category[event];
    bool counts = rows->events->flags[event] & EVENT_HAS_DUR && category != STRING_NONE &&
                  !(rows->roles[category].category & (CATEGORY_TRACE | CATEGORY_EMPTY));
    rows->link[event] = ROW_NONE;
    if (!counts)
        return;
    struct event_time time;
    if (time_read(rows->events, event, &reading->times, &time) != TIME_KNOWN) {
        summary->n_bad_times++;
        return;
    }
    rows->start[event] = ns_of_us(time.start);
    rows->dur[event] = ns_of_us(time.dur);
    summary->n_negative += number_as_double(number_at(rows->events->dur, event)) < 0;
    value_key stream = rows->events->stream[event], correlation = rows->events->correlation[event];
    rows->stream[event] =
        key_is_integer(stream) ? stream : stream_of_value(reading->options, &reading->context->values, stream);
    bool launched = key_is_integer(correlation) ? correlation >= 0 : is_correlation(correlation);
    bool on_gpu = (rows->stream[event] >= 0 && launched) ||
                  name_roles(rows->events, rows->roles, event) & (NAME_EVENT_SYNC | NAME_CONTEXT_SYNC);
    rows->state[event] =
        (uint8_t)(HTA_KEPT | (on_gpu ? HTA_GPU : 0) | (rows->stream[event] != STREAM_NONE ? HTA_STREAM : 0));
    if (rows->state[event] & HTA_STREAM && rows->roles[category].category & CATEGORY_WORK)
        rows->state[event] |= HTA_WORK;
    rows->roles[rows->events->name[event]].name |= NAME_USED;
    rows->roles[category].category |= CATEGORY_USED;
    rows->list[rows->n++] = event;
    if (rows->roles[rows->events->name[event]].name & NAME_STEP &&
        arena_grow(&reading->scratch, &reading->steps, reading->n_steps, &reading->step_capacity,
                   sizeof *reading->steps)) /* else the arena has failed */
        reading->steps[reading->n_steps++] = event;
}

/* ---- Without the last step ---- */

/* The time from which rows of the CPU are cut off: the last step, or in HTA 0.6, where no row of the CPU is a step, all
 * rows of the CPU. */
static int64_t find_cut(const struct row_reading *reading) {
    const struct hta_rows *rows = reading->rows;
    int64_t cut = INT64_MIN, first = INT64_MAX;
    for (row_t i = 0; i < reading->n_steps; i++) {
        row_t event = reading->steps[i];
        if (rows->state[event] & HTA_GPU)
            continue;
        int64_t at = rows->start[event] + (reading->options->last_step ? rows->dur[event] + 1 : 0);
        cut = MAX(at, cut);
    }
    if (cut > INT64_MIN || reading->options->hta_version == SUTRA_HTA_VERSION_0_5)
        return cut;
    for (row_t i = 0; i < rows->n; i++)
        if (!(rows->state[rows->list[i]] & HTA_GPU) && rows->start[rows->list[i]] < first)
            first = rows->start[rows->list[i]];
    return first;
}

/* Counts for each row of the GPU how many rows of the CPU have its correlation; 1 for rows without a correlation, which
 * only count as covered time. `n_equal` is zeros at first. */
static enum sutra_status count_launches(const struct engine *engine, struct launch_side *cpu, struct launch_side *gpu,
                                        row_t *n_equal, row_t *times, uint64_t *total, struct sutra_error *error) {
    TRY(launch_side_match(cpu, cpu, engine, error));
    TRY(launch_side_match(gpu, cpu, engine, error));
    for (row_t i = 0; i < cpu->n; i++)
        n_equal[cpu->match[i]]++;
    *total = 0;
    for (row_t i = 0; i < gpu->n; i++) {
        times[i] = gpu->match[i] == ROW_NONE ? 0 : n_equal[gpu->match[i]];
        if (times[i] > 1 && !is_correlation(gpu->correlation[i]))
            times[i] = 1;
        *total += times[i];
    }
    return SUTRA_OK;
}

/* Keeps the rows of the CPU that start before the cut and, for each launch that is kept, its rows of the GPU. */
static enum sutra_status cut_steps(struct row_reading *reading, struct arena *arena, struct sutra_error *error) {
    struct hta_rows *rows = reading->rows;
    struct arena *scratch = &reading->scratch;
    struct launch_side cpu = launch_side_alloc(scratch, rows->n), gpu = launch_side_alloc(scratch, rows->n);
    row_t *times = arena_alloc(scratch, rows->n, sizeof *times);
    row_t *n_equal = arena_zeros(scratch, rows->n, sizeof *n_equal);
    uint64_t total = 0;
    TRY(arena_status(scratch, error));
    int64_t cut = find_cut(reading);
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (rows->state[event] & HTA_GPU)
            launch_side_add(&gpu, rows->events, event);
        else if (rows->start[event] < cut)
            launch_side_add(&cpu, rows->events, event);
    }
    TRY(count_launches(reading->engine, &cpu, &gpu, n_equal, times, &total, error));
    bool once = total > (uint64_t)rows->n * REPEATS_PER_EVENT + MAX_REPEATS || total + cpu.n > ROW_LIMIT;
    if (once)
        rows->warning = "many launches share a correlation: their kernels count once";
    row_t *list = arena_alloc(arena, (size_t)(once ? gpu.n : total) + cpu.n, sizeof *list);
    TRY(arena_status(arena, error));
    row_t n = 0;
    for (row_t i = 0; i < gpu.n; i++)
        for (row_t k = 0; k < (once ? times[i] > 0 : times[i]); k++)
            list[n++] = gpu.event[i];
    memcpy(list + n, cpu.event, cpu.n * sizeof *list);
    for (row_t i = 0; i < rows->n; i++)
        rows->state[rows->list[i]] &= (uint8_t)~HTA_KEPT;
    rows->list = list;
    rows->n = n + cpu.n;
    for (row_t i = 0; i < rows->n; i++)
        rows->state[list[i]] |= HTA_KEPT;
    return SUTRA_OK;
}

static enum sutra_status read_rows(struct row_reading *reading, bool cut, struct arena *arena,
                                   struct sutra_error *error) {
    struct hta_rows *rows = reading->rows;

    /* whether HTA's columns are integers or real numbers, and whether HTA rounds, depends on all events */
    struct time_column_properties forms = times_inspect(rows->events);
    bool rounded = times_are_rounded(forms) && !reading->options->nanoseconds;
    reading->times = (struct time_rules){.whole = rounded, .max_start = US_LIMIT, .max_dur = US_LIMIT};
    rows->starts_real = forms.start_missing || (forms.start_real && !rounded);
    rows->durs_real = rounded ? forms.start_missing || forms.dur_missing : forms.dur_missing || forms.dur_real;
    for (row_t event = 0; event < rows->events->n; event++)
        read_row(reading, event);
    rows->base = times_shift(rows->start, rows->list, rows->n);

    /* rows with a correlation but without a partner are linked with row 0, as in HTA */
    for (row_t i = 0; i < rows->n; i++)
        if (is_correlation(rows->events->correlation[rows->list[i]]))
            rows->link[rows->list[i]] = 0;
    TRY(correlation_partners(rows->events, rows->list, rows->n, rows->state, HTA_GPU, reading->engine,
                             &reading->scratch, rows->link, error));

    rows->steps = arena_alloc(arena, reading->n_steps, sizeof *rows->steps);
    if (!rows->steps || reading->scratch.failed)
        return error_memory(error);
    for (row_t i = 0; i < reading->n_steps; i++)
        if (text_compare(rows->strings, rows->events->name[reading->steps[i]], TEXT_BEGINS, STEP_NAME))
            rows->steps[rows->n_steps++] = reading->steps[i];
    reading->summary->n_steps = names_count_steps(rows->strings, rows->roles);
    return cut && reading->summary->n_steps > 1 ? cut_steps(reading, arena, error) : SUTRA_OK;
}

static enum sutra_status make_rows(struct row_reading reading, bool cut, const struct sutra_device_trace *trace,
                                   struct arena *arena, struct sutra_error *error) {
    bool newer = reading.options->hta_version == SUTRA_HTA_VERSION_0_6;
    struct hta_rows *rows = reading.rows;
    size_t n = trace->events.n;
    *rows = (struct hta_rows){
        .trace = trace,
        .events = &trace->events,
        .strings = &trace->strings,
        .start = arena_alloc(arena, n, sizeof *rows->start),
        .dur = arena_alloc(arena, n, sizeof *rows->dur),
        .stream = arena_alloc(arena, n, sizeof *rows->stream),
        .link = arena_alloc(arena, n, sizeof *rows->link),
        .state = arena_zeros(arena, n, sizeof *rows->state),
        .list = arena_alloc(arena, n, sizeof *rows->list),
        .roles = names_find(&trace->strings, READER_HTA, arena),
        .queue_roles = names_find(
            &trace->strings, newer ? (enum reader)(READER_HTA_QUEUE | READER_HTA_QUEUE_0_6) : READER_HTA_QUEUE, arena)};
    if (newer && !arena->failed)
        names_keep_numbered_steps(rows->strings, rows->roles);
    enum sutra_status status = arena->failed ? error_memory(error) : read_rows(&reading, cut, arena, error);
    arena_free(&reading.scratch);
    reading.summary->n_events = rows->events->n;
    reading.summary->n_rows = rows->n;
    return status;
}

enum sutra_status hta_rows_make(const struct hta_input *input, const struct sutra_device_trace *trace,
                                struct arena *arena, struct hta_rows *rows, struct sutra_hta_summary *summary,
                                struct sutra_error *error) {
    const struct row_reading reading = {.context = input->context,
                                        .engine = input->engine,
                                        .options = &input->options,
                                        .rows = rows,
                                        .summary = summary};
    return make_rows(reading, true, trace, arena, error);
}

enum sutra_status hta_rows_make_all(struct sutra_context *context, const struct sutra_hta_options *options,
                                    const struct sutra_device_trace *trace, struct arena *arena, struct hta_rows *rows,
                                    struct sutra_error *error) {
    struct sutra_hta_summary summary = {0};
    const struct row_reading reading = {
        .context = context, .engine = &context->engine, .options = options, .rows = rows, .summary = &summary};
    return make_rows(reading, false, trace, arena, error);
}
/* ---- Kernels by start ---- */

enum sutra_status hta_kernels_make(const struct hta_rows *rows, const struct sutra_hta_options *options,
                                   const struct engine *engine, struct arena *arena, struct hta_kernels *kernels,
                                   struct sutra_error *error) {
    row_t n = 0;
    for (row_t i = 0; i < rows->n; i++)
        n += (rows->state[rows->list[i]] & HTA_STREAM) != 0;
    *kernels = (struct hta_kernels){.event = arena_alloc(arena, n, sizeof *kernels->event),
                                    .start = arena_alloc(arena, n, sizeof *kernels->start),
                                    .end = arena_alloc(arena, n, sizeof *kernels->end),
                                    .type = arena_alloc(arena, n, sizeof *kernels->type),
                                    .of_name = arena_zeros(arena, rows->strings->n, sizeof *kernels->of_name)};
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_alloc(arena, n, sizeof *keys);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!(rows->state[event] & HTA_STREAM))
            continue;
        keys[kernels->n] = integer_sort_key(rows->start[event]);
        kernels->event[kernels->n++] = event;
    }
    TRY(engine->sort_keys(engine->state, &(struct sort_keys_step){keys, kernels->event, kernels->n}, error));
    arena_release(arena, mark);

    /* times, and the types: each name is classified once */
    bool newer = options->hta_version == SUTRA_HTA_VERSION_0_6;
    uint8_t *types = kernels->of_name;
    for (row_t i = 0; i < kernels->n; i++) {
        row_t event = kernels->event[i];
        uint32_t name = rows->events->name[event];
        if (!types[name]) {
            const char *text = strings_text(rows->strings, name);
            size_t length = strings_length(rows->strings, name);
            types[name] = (uint8_t)(1 + (newer ? kernel_type_of_0_6(text, length, options->compat)
                                               : kernel_type_of(text, length)));
        }
        kernels->start[i] = rows->start[event];
        kernels->end[i] = rows->start[event] + rows->dur[event];
        kernels->type[i] = types[name] - 1u;
    }
    return SUTRA_OK;
}

/*
 * ---- Kernels by correlation ----
 *
 * A launch of a graph has many kernels, and malformed traces repeat correlations. Groups are numbered by the last
 * kernel that has the correlation. O(n).
 */

enum sutra_status hta_correlated_make(const struct hta_rows *rows, row_t n_kernels, const struct engine *engine,
                                      struct arena *arena, struct hta_correlated *correlated,
                                      struct sutra_error *error) {
    *correlated = (struct hta_correlated){
        .event = arena_alloc(arena, n_kernels, sizeof *correlated->event),
        .first = arena_zeros(arena, (size_t)n_kernels + 2, sizeof *correlated->first),
        .in_table = arena_alloc(arena, n_kernels, sizeof *correlated->in_table),
        .group = arena_alloc(arena, n_kernels, sizeof *correlated->group),
        .keys = arena_alloc(arena, n_kernels, sizeof *correlated->keys),
    };
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!(rows->state[event] & HTA_STREAM) || !is_correlation(rows->events->correlation[event]))
            continue;
        correlated->in_table[correlated->n] = event;
        correlated->keys[correlated->n++] = rows->events->correlation[event];
    }
    row_t n = correlated->n;
    struct join_step step = {correlated->keys, n, correlated->keys, n, correlated->group};
    TRY(engine->join(engine->state, &step, error));
    row_t *next = correlated->first + 1; /* index of the next kernel of each group, until all are partitioned */
    correlated->n_groups = n;            /* a group whose number is not a kernel's last duplicate is empty */
    for (row_t i = 0; i < n; i++)
        next[correlated->group[i] + 1]++;
    for (row_t g = 0; g < n; g++)
        next[g + 1] += next[g];
    for (row_t i = 0; i < n; i++)
        correlated->event[next[correlated->group[i]]++] = correlated->in_table[i];
    return SUTRA_OK;
}

enum sutra_status hta_correlated_find(const struct hta_input *input, const value_key *keys, row_t n, row_t *groups,
                                      struct sutra_error *error) {
    const struct hta_correlated *made = &input->correlated;
    return input->engine->join(input->engine->state, &(struct join_step){made->keys, made->n, keys, n, groups}, error);
}

/* ---- Cells of tables ---- */

double rounded_to(double value, int decimals) {
    double scale = decimals == 1 ? 10 : decimals == 2 ? 100 : 1000;
    return rint(value * scale) / scale;
}

void table_describe(struct sutra_table *table, const struct description *description, int decimals) {
    const double values[DESCRIPTION_N] = {description->count, description->mean, description->std, description->min,
                                          description->q25,   description->q50,  description->q75, description->max};
    for (int i = 0; i < DESCRIPTION_N; i++)
        table_real(table, decimals ? rounded_to(values[i], decimals) : values[i]);
}

/* pandas keeps ids as they are: where one of a column is no integer, the column is of text. */
enum sutra_column_kind kind_of_ids(const value_key *ids, const row_t *events, row_t n) {
    for (row_t i = 0; i < n; i++)
        if (ids[events[i]] >= KEY_VALUES && !key_is_integer(ids[events[i]]))
            return SUTRA_COLUMN_TEXT;
    return SUTRA_COLUMN_INTEGER;
}

void table_id(struct sutra_table *table, const struct values *values, value_key id) {
    char number[NUMBER_TEXT_MAX];
    size_t length;
    if (table->failed)
        return;
    if (table->columns[table->next_column].spec.kind == SUTRA_COLUMN_INTEGER) {
        table_integer(table, column_key(id));
        return;
    }
    const char *text = values_text(values, id >= KEY_VALUES ? id : column_key(id), number, &length);
    table_text(table, text, length);
}
