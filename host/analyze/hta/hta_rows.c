/*
 * hta_rows.c - which events count, their times, streams and links; the reference's loading and filtering.
 *
 * An event counts if it has a start, a duration and a category other than "Trace". It is of the GPU if it has a stream
 * and a correlation, or is a synchronisation of the GPU. Rows of the two sides with one correlation are linked, the
 * last of the other side counts. If there are several names with "ProfilerStep", the last step and all behind it is cut
 * off: rows of the CPU by their start, rows of the GPU with the launch that they belong to. O(n).
 *
 * Unlike the reference, a trace's own steps decide, whatever traces of other ranks have; streams and correlations that
 * are no numbers do no harm; and rows that would be repeated more than is sensible, because many launches share a
 * correlation, are taken once.
 */
#include <math.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "base/error.h"
#include "facts/exact_times.h"
#include "facts/times.h"
#include "text/number_text.h"
#include "text/string_text.h"

/* Microseconds beyond it (some 95 years from 1970) are left out: all sums of two times fit 64 bits as nanoseconds. */
#define US_LIMIT 3e15

/* Most rows of the GPU, with repetitions: so many, and more for each event of the trace. */
#define REPEATS_MOST      1000000
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

/* What the columns of the reference's table hold, and whether it rounds, depends on all events. */
static void judge_times(struct row_reading *reading) {
    struct hta_rows *rows = reading->rows;
    struct time_forms forms = times_look(rows->events);
    bool rounded = times_are_rounded(forms) && !reading->options->nanoseconds;
    reading->times = (struct time_rules){.whole = rounded, .start_most = US_LIMIT, .dur_most = US_LIMIT};
    rows->starts_real = forms.start_missing || (forms.start_real && !rounded);
    rows->durs_real = rounded ? forms.start_missing || forms.dur_missing : forms.dur_missing || forms.dur_real;
}

static bool put_times(struct row_reading *reading, row_t event) {
    struct event_time time;
    if (time_read(reading->rows->events, event, &reading->times, &time) != TIME_KNOWN)
        return false;
    reading->rows->start[event] = ns_of_us(time.start);
    reading->rows->dur[event] = ns_of_us(time.dur);
    return true;
}

/* HTA 0.6 reads "7.0" as 7: the length without the ".0". */
static size_t without_zeros(const char *text, size_t length) {
    const char *point = memchr(text, '.', length);
    bool zeros = point && strspn(point + 1, "0") == length - (size_t)(point - text) - 1;
    return zeros ? (size_t)(point - text) : length;
}

/* What Python's int() makes of a stream that is no integer; STREAM_NONE where it would raise an exception. */
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
    if (options->hta_version == SUTRA_HTA_VERSION_0_6)
        length = without_zeros(value.text, length);
    size_t n_digits = python_int(value.text, length, digits);
    return n_digits && integer_parse(digits, n_digits, &stream) ? stream : STREAM_NONE;
}

static int64_t stream_of(const struct row_reading *reading, value_key key) {
    return key_is_integer(key) ? key : stream_of_value(reading->options, &reading->context->values, key);
}

static bool is_on_gpu(const struct row_reading *reading, row_t event) {
    const struct hta_rows *rows = reading->rows;
    value_key correlation = rows->events->correlation[event];
    bool launched = key_is_integer(correlation) ? correlation >= 0 : is_correlation(correlation);
    return (rows->stream[event] >= 0 && launched) ||
           name_roles(rows->events, rows->roles, event) & (NAME_EVENT_SYNC | NAME_CONTEXT_SYNC);
}

/* Out of memory shows in the arena. */
static void add_step(struct row_reading *reading, row_t event) {
    if (arena_grow(&reading->scratch, &reading->steps, reading->n_steps, &reading->step_capacity,
                   sizeof *reading->steps))
        reading->steps[reading->n_steps++] = event;
}

static void take_row(struct row_reading *reading, row_t event) {
    struct hta_rows *rows = reading->rows;
    struct sutra_hta_summary *summary = reading->summary;
    uint32_t category = rows->events->category[event];
    bool counts = rows->events->flags[event] & EVENT_HAS_DUR && category != STRING_NONE &&
                  !(rows->roles[category].category & (CATEGORY_TRACE | CATEGORY_EMPTY));
    rows->link[event] = ROW_NONE;
    if (!counts)
        return;
    if (!put_times(reading, event)) {
        summary->n_bad_times++;
        return;
    }
    summary->n_negative += number_as_double(number_at(rows->events->dur, event)) < 0;
    rows->stream[event] = stream_of(reading, rows->events->stream[event]);
    rows->state[event] = (uint8_t)(HTA_KEPT | (is_on_gpu(reading, event) ? HTA_GPU : 0) |
                                   (rows->stream[event] != STREAM_NONE ? HTA_STREAM : 0));
    if (rows->state[event] & HTA_STREAM && rows->roles[category].category & CATEGORY_WORK)
        rows->state[event] |= HTA_WORK;
    rows->roles[rows->events->name[event]].name |= NAME_USED;
    rows->roles[category].category |= CATEGORY_USED;
    rows->list[rows->n++] = event;
    if (rows->roles[rows->events->name[event]].name & NAME_STEP)
        add_step(reading, event);
}

/* Rows that have a correlation and no partner are linked with row 0, as the reference has it. */
static enum sutra_status link_rows(struct hta_rows *rows, const struct engine *engine, struct arena *scratch,
                                   struct sutra_error *error) {
    for (row_t i = 0; i < rows->n; i++)
        if (is_correlation(rows->events->correlation[rows->list[i]]))
            rows->link[rows->list[i]] = 0;
    return correlation_partners(rows->events, rows->list, rows->n, rows->state, HTA_GPU, engine, scratch, rows->link,
                                error);
}

/* ---- Steps ---- */

/* Keeps the rows whose name begins as those of steps do. */
static enum sutra_status note_steps(const struct row_reading *reading, struct arena *arena, struct sutra_error *error) {
    struct hta_rows *rows = reading->rows;
    rows->steps = arena_take(arena, reading->n_steps, sizeof *rows->steps);
    if (!rows->steps || reading->scratch.failed)
        return error_memory(error);
    for (row_t i = 0; i < reading->n_steps; i++)
        if (text_compare(rows->strings, rows->events->name[reading->steps[i]], TEXT_BEGINS, STEP_NAME))
            rows->steps[rows->n_steps++] = reading->steps[i];
    return SUTRA_OK;
}

/* The first start on the CPU. */
static int64_t first_of_host(const struct hta_rows *rows) {
    int64_t first = INT64_MAX;
    for (row_t i = 0; i < rows->n; i++)
        if (!(rows->state[rows->list[i]] & HTA_GPU) && rows->start[rows->list[i]] < first)
            first = rows->start[rows->list[i]];
    return first;
}

/* The moment from which rows of the CPU are cut off: the last step, or in HTA 0.6, where no row of the CPU is a
 * step, all of them. */
static int64_t last_moment(const struct row_reading *reading) {
    const struct hta_rows *rows = reading->rows;
    bool whole = reading->options->last_step;
    int64_t moment = INT64_MIN;
    for (row_t i = 0; i < reading->n_steps; i++) {
        row_t event = reading->steps[i];
        if (rows->state[event] & HTA_GPU)
            continue;
        int64_t at = rows->start[event] + (whole ? rows->dur[event] + 1 : 0);
        moment = at > moment ? at : moment;
    }
    if (moment > INT64_MIN || reading->options->hta_version == SUTRA_HTA_VERSION_0_5)
        return moment;
    return first_of_host(rows);
}

/* The rows of one side, in the order of the list. */
struct hta_side {
    row_t n;
    row_t *event;
    value_key *correlation;
    row_t *match; /* of each row: the last row of the other side with its correlation */
};

static struct hta_side side_new(row_t n, struct arena *arena) {
    return (struct hta_side){.event = arena_take(arena, n, sizeof(row_t)),
                             .correlation = arena_take(arena, n, sizeof(value_key)),
                             .match = arena_take(arena, n, sizeof(row_t))};
}

static void side_add(struct hta_side *side, const struct hta_rows *rows, row_t event) {
    side->event[side->n] = event;
    side->correlation[side->n++] = rows->events->correlation[event];
}

static enum sutra_status match(const struct engine *engine, struct hta_side *from, const struct hta_side *in,
                               struct sutra_error *error) {
    struct join_step step = {in->correlation, in->n, from->correlation, from->n, from->match};
    return engine->join(engine->state, &step, error);
}

/* For each row of the GPU, how many rows of the CPU have its correlation. One is enough where there is no correlation:
 * such rows only ever count as time that is covered. `n_equal` comes in as zeros. */
static enum sutra_status count_launches(const struct engine *engine, struct hta_side *cpu, struct hta_side *gpu,
                                        row_t *n_equal, row_t *times, uint64_t *total, struct sutra_error *error) {
    enum sutra_status status = match(engine, cpu, cpu, error);
    if (!status)
        status = match(engine, gpu, cpu, error);
    if (status)
        return status;
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

/* Puts the rows that are left into `list`: first those of the GPU, each as often as its launches. */
static void join_sides(struct hta_rows *rows, const struct hta_side *cpu, const struct hta_side *gpu,
                       const row_t *times, bool once, row_t *list) {
    row_t n = 0;
    for (row_t i = 0; i < gpu->n; i++)
        for (row_t k = 0; k < (once ? times[i] > 0 : times[i]); k++)
            list[n++] = gpu->event[i];
    memcpy(list + n, cpu->event, cpu->n * sizeof *list);
    for (row_t i = 0; i < rows->n; i++)
        rows->state[rows->list[i]] &= (uint8_t)~HTA_KEPT;
    rows->list = list;
    rows->n = n + cpu->n;
    for (row_t i = 0; i < rows->n; i++)
        rows->state[list[i]] |= HTA_KEPT;
}

/* Deals the rows out to the sides, those of the CPU only if they begin before the moment. */
static void take_sides(const struct hta_rows *rows, int64_t moment, struct hta_side *cpu, struct hta_side *gpu) {
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (rows->state[event] & HTA_GPU)
            side_add(gpu, rows, event);
        else if (rows->start[event] < moment)
            side_add(cpu, rows, event);
    }
}

static enum sutra_status cut_steps(struct row_reading *reading, struct arena *arena, struct sutra_error *error) {
    struct hta_rows *rows = reading->rows;
    struct arena *scratch = &reading->scratch;
    struct hta_side cpu = side_new(rows->n, scratch), gpu = side_new(rows->n, scratch);
    row_t *times = arena_take(scratch, rows->n, sizeof *times);
    row_t *n_equal = arena_zeros(scratch, rows->n, sizeof *n_equal);
    uint64_t total = 0;
    if (scratch->failed)
        return error_memory(error);
    take_sides(rows, last_moment(reading), &cpu, &gpu);
    enum sutra_status status = count_launches(reading->engine, &cpu, &gpu, n_equal, times, &total, error);
    if (status)
        return status;
    bool once = total > (uint64_t)rows->n * REPEATS_PER_EVENT + REPEATS_MOST || total + cpu.n > ROW_LIMIT;
    if (once)
        rows->warning = "many launches share a correlation: their kernels count once";
    row_t *list = arena_take(arena, (size_t)(once ? gpu.n : total) + cpu.n, sizeof *list);
    if (!list)
        return error_memory(error);
    join_sides(rows, &cpu, &gpu, times, once, list);
    return SUTRA_OK;
}

/* ---- All of it ---- */

static enum sutra_status read_rows(struct row_reading *reading, bool cut, struct arena *arena,
                                   struct sutra_error *error) {
    struct hta_rows *rows = reading->rows;
    judge_times(reading);
    for (row_t event = 0; event < rows->events->n; event++)
        take_row(reading, event);
    rows->base = times_shift(rows->start, rows->list, rows->n);
    enum sutra_status status = link_rows(rows, reading->engine, &reading->scratch, error);
    if (!status)
        status = note_steps(reading, arena, error);
    if (status)
        return status;
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
        .start = arena_take(arena, n, sizeof *rows->start),
        .dur = arena_take(arena, n, sizeof *rows->dur),
        .stream = arena_take(arena, n, sizeof *rows->stream),
        .link = arena_take(arena, n, sizeof *rows->link),
        .state = arena_zeros(arena, n, sizeof *rows->state),
        .list = arena_take(arena, n, sizeof *rows->list),
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
