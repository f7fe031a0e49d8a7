/*
 * rows.c - which events count, their times, streams and links; the reference's loading and filtering.
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
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/call_tree.h"
#include "analyze/hta/hta.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/rows.h"
#include "facts/times.h"
#include "read/document.h"
#include "text/numbers.h"
#include "text/strings.h"

/*
 * Performance counters of CUPTI's range profiler with the operators that launched the kernels.
 *
 *     thread                [ aten::conv2d [ aten::convolution  [cudaLaunchKernel] ]]     launches by start: 0, 1, 2
 *     cuda_profiler_range   [ fft2d_r2c_32x32, args: counters ]                           ranges by start:   0, 1, 2
 *
 * Input: rows, and the text of range events. Output: a row for each range and operator, the outermost first, and the
 * names of all counters. Range number i belongs to kernel launch number i, so both must be equally many. O(n log n).
 */

#define RANGE_CATEGORY "cuda_profiler_range"

struct ranges {
    const struct hta_input *input;
    row_t n, n_launches;
    row_t *range, *launch; /* by start */
    row_t *parent;         /* of each event in a thread, or ROW_NONE */
    row_t *above;          /* operators around a launch, the innermost first */
};

static bool is_range(const struct hta_rows *rows, row_t event) {
    return text_compare(rows->strings, rows->events->category[event], TEXT_IS, RANGE_CATEGORY);
}

static bool is_kernel_launch(const struct hta_rows *rows, row_t event) {
    return text_compare(rows->strings, rows->events->name[event], TEXT_BEGINS, "cudaLaunchKernel") &&
           text_compare(rows->strings, rows->events->category[event], TEXT_BEGINS, "cuda_runtime");
}

static enum sutra_status sort_by_start(const struct hta_input *input, row_t *events, row_t n, struct arena *arena,
                                       struct sutra_error *error) {
    uint64_t *keys = arena_take(arena, n, sizeof *keys);
    if (!keys)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        keys[i] = integer_sort_key(input->rows.start[events[i]]);
    return input->engine->sort_keys(input->engine->state, &(struct sort_keys_step){keys, events, n}, error);
}

static void visit_parent(void *arg, row_t event, row_t parent) {
    ((struct ranges *)arg)->parent[event] = parent;
}

static enum sutra_status find_parents(struct ranges *ranges, struct arena *arena, struct sutra_error *error) {
    size_t n = ranges->input->rows.events->n;
    struct hta_call_tree tree;
    ranges->parent = arena_take(arena, n, sizeof *ranges->parent);
    ranges->above = arena_take(arena, n, sizeof *ranges->above);
    if (arena->failed)
        return error_memory(error);
    memset(ranges->parent, 0xff, n * sizeof *ranges->parent);
    enum sutra_status status = call_tree_make(&tree, ranges->input, arena, error);
    if (!status)
        call_tree_visit(&tree, visit_parent, ranges);
    call_tree_free(&tree);
    return status;
}

static void add_range(const struct ranges *ranges, struct sutra_table *table, row_t range, row_t launch) {
    const struct hta_rows *rows = &ranges->input->rows;
    row_t n = 0;
    for (row_t event = ranges->parent[launch]; event != ROW_NONE; event = ranges->parent[event])
        if (text_compare(rows->strings, rows->events->category[event], TEXT_IS, "cpu_op"))
            ranges->above[n++] = event;
    for (row_t i = n ? n : 1; i-- > 0;) {
        table_integer(table, range);
        table_integer(table, launch);
        table_integer(table, n ? (int64_t)ranges->above[i] : -1);
        table_string(table, rows->strings, n ? rows->events->name[ranges->above[i]] : STRING_NONE);
    }
}

/* Names with an escape sequence are skipped: no counter of CUPTI has one. */
static bool collect_counters(const struct hta_rows *rows, row_t event, struct strings *counters) {
    const struct source *source = &rows->trace->document.source;
    struct json_walker walker = walk_from(source, rows->events->text[event]);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker);
        if (!place_is(source, key, "args") || walk_char(&walker) != '{') {
            walk_value(&walker);
            continue;
        }
        for (bool inner = walk_object(&walker); inner; inner = walk_member_end(&walker)) {
            struct json_place name = walk_key(&walker);
            const char *text = source->bytes + name.at + 1;
            size_t length = name.end > name.at ? name.end - name.at - 1 : 0;
            walk_value(&walker);
            if (length && !memchr(text, '\\', length) && strings_intern(counters, text, length) == STRING_NONE)
                return false;
        }
    }
    return true;
}

static enum sutra_status add_counters(const struct ranges *ranges, struct sutra_hta *hta, struct sutra_error *error) {
    struct strings counters;
    if (!strings_init(&counters))
        return error_memory(error);
    bool ok = true;
    for (row_t i = 0; i < ranges->n && ok; i++)
        ok = collect_counters(&ranges->input->rows, ranges->range[i], &counters);
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_COUNTERS);
    for (uint32_t i = 0; i < counters.n && ok; i++)
        table_string(table, &counters, i);
    strings_free(&counters);
    return ok ? SUTRA_OK : error_memory(error);
}

enum sutra_status hta_ranges(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                             struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    struct ranges ranges = {.input = input,
                            .range = arena_take(arena, rows->n, sizeof *ranges.range),
                            .launch = arena_take(arena, rows->n, sizeof *ranges.launch)};
    bool recorded = false;
    if (arena->failed)
        return error_memory(error);
    for (uint32_t string = 0; string < rows->strings->n && !recorded; string++)
        recorded = text_compare(rows->strings, string, TEXT_IS, RANGE_CATEGORY);
    for (row_t i = 0; i < rows->n && recorded; i++) {
        row_t event = rows->list[i];
        if (is_range(rows, event))
            ranges.range[ranges.n++] = event;
        if (is_kernel_launch(rows, event))
            ranges.launch[ranges.n_launches++] = event;
    }
    if (ranges.n == 0)
        hta->reasons[SUTRA_HTA_RANGES] = hta->reasons[SUTRA_HTA_COUNTERS] = "no event has the category " RANGE_CATEGORY;
    else if (ranges.n != ranges.n_launches)
        hta->reasons[SUTRA_HTA_RANGES] = "the numbers of " RANGE_CATEGORY " events and of kernel launches differ";
    enum sutra_status status = ranges.n ? add_counters(&ranges, hta, error) : SUTRA_OK;
    if (status || hta->reasons[SUTRA_HTA_RANGES])
        return status;
    status = sort_by_start(input, ranges.range, ranges.n, arena, error);
    if (!status)
        status = sort_by_start(input, ranges.launch, ranges.n, arena, error);
    if (!status)
        status = find_parents(&ranges, arena, error);
    if (status)
        return status;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_RANGES);
    for (row_t i = 0; i < ranges.n; i++)
        add_range(&ranges, table, ranges.range[i], ranges.launch[i]);
    return SUTRA_OK;
}

/*
 * Which profiler step each row is in: events named ProfilerStep and a number give the numbers; a row
 * of the host is in the step that it begins in, a kernel in that of its launch.
 *
 *     steps in the file     #10 [------------)   #11 [----------)
 *     stretches             10               |none|11           | none
 *
 * Where steps overlap, the last of them in the file counts. In the reference's way any event with such a name is a
 * step, also the copies that Kineto puts on the GPU, and what is on stream 0 is in none; in ours only annotations of
 * the user are. O(s log s) for steps, O(log s) for each row.
 */

/* From when on which step it is. */
struct step_stretch {
    int64_t from, number;
};

struct step_stretches {
    struct step_stretch *list;
    row_t n;
    row_t found; /* how many had begun at the moment that was asked for last: rows mostly stand by time */
};

/* The number behind "ProfilerStep", white space, "#" and white space. */
static int64_t number_of_name(const char *name, size_t length) {
    static const char space[] = " \t\n\r\f\v";
    if (length < strlen(STEP_NAME) || memcmp(name, STEP_NAME, strlen(STEP_NAME)) != 0)
        return ITERATION_NONE;
    const char *at = name + strlen(STEP_NAME);
    at += strspn(at, space);
    if (*at++ != '#')
        return ITERATION_NONE;
    at += strspn(at, space);
    char *end;
    long long number = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : ITERATION_NONE;
    return number > INT32_MAX ? ITERATION_NONE : number;
}

/* ---- Stretches ---- */

struct step_bounds {
    const struct hta_rows *rows;
    const row_t *steps;
};

static int64_t end_of(const struct hta_rows *rows, row_t event) {
    return rows->start[event] + rows->dur[event];
}

static int compare_starts(const void *left, const void *right, void *arg) {
    const struct step_bounds *bounds = arg;
    int64_t a = bounds->rows->start[bounds->steps[*(const row_t *)left]];
    int64_t b = bounds->rows->start[bounds->steps[*(const row_t *)right]];
    return (a > b) - (a < b);
}

static bool stands_later(const void *none, row_t a, row_t b) {
    (void)none;
    return a > b;
}

/* Goes through all starts and ends; the heap has the steps that have begun, the last in the file first. */
static enum sutra_status find_stretches(const struct hta_rows *rows, const int64_t *of_name, const row_t *steps,
                                        row_t n, struct arena *arena, struct step_stretches *stretches,
                                        struct sutra_error *error) {
    struct step_bounds bounds = {rows, steps};
    row_t *order = arena_take(arena, n, sizeof *order), begun = 0;
    struct row_heap heap = {.rows = arena_take(arena, n, sizeof *heap.rows)};
    int64_t *times = arena_take(arena, n, 2 * sizeof *times);
    stretches->list = arena_take(arena, n, 2 * sizeof *stretches->list);
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < n; i++) {
        order[i] = i;
        times[2 * i] = rows->start[steps[i]];
        times[2 * i + 1] = end_of(rows, steps[i]);
    }
    qsort_r(order, n, sizeof *order, compare_starts, &bounds);
    qsort(times, 2 * (size_t)n, sizeof *times, compare_int64s);
    for (size_t i = 0; i < 2 * (size_t)n; i++) {
        for (; begun < n && rows->start[steps[order[begun]]] <= times[i]; begun++)
            row_heap_push(&heap, order[begun], stands_later, NULL);
        while (heap.n && end_of(rows, steps[heap.rows[0]]) <= times[i])
            row_heap_pop(&heap, stands_later, NULL);
        int64_t number = heap.n ? of_name[rows->events->name[steps[heap.rows[0]]]] : ITERATION_NONE;
        stretches->list[stretches->n++] = (struct step_stretch){times[i], number};
    }
    return SUTRA_OK;
}

/* Whether so many stretches have begun at a moment, and no more. */
static bool have_begun(const struct step_stretches *stretches, row_t n, int64_t at) {
    return (n == 0 || stretches->list[n - 1].from <= at) && (n == stretches->n || stretches->list[n].from > at);
}

/* The last stretch that has begun at a moment. */
static int64_t number_at_moment(struct step_stretches *stretches, int64_t at) {
    if (!have_begun(stretches, stretches->found, at)) {
        struct bisection search = {0, stretches->n};
        while (search.low < search.high)
            bisect(&search, stretches->list[bisect_middle(search)].from <= at);
        stretches->found = search.low;
    }
    return stretches->found ? stretches->list[stretches->found - 1].number : ITERATION_NONE;
}

/* ---- Rows ---- */

static int64_t number_of_row(const struct hta_rows *rows, const struct sutra_hta_options *options,
                             struct step_stretches *stretches, row_t event) {
    int64_t stream = rows->stream[event];
    bool triton = options->hta_version == SUTRA_HTA_VERSION_0_6 && stream == 0 &&
                  category_roles(rows->events, rows->roles, event) & CATEGORY_CPU_OP;
    if (stream < 0 || triton)
        return number_at_moment(stretches, rows->start[event]);
    if (stream == 0 && options->compat)
        return ITERATION_NAN;
    row_t link = rows->link[event];
    return link != ROW_NONE && link != 0 ? number_at_moment(stretches, rows->start[link]) : ITERATION_NONE;
}

enum sutra_status hta_iterations_make(const struct hta_rows *rows, const struct sutra_hta_options *options,
                                      struct arena *arena, struct hta_iterations *iterations,
                                      struct sutra_error *error) {
    struct step_stretches stretches = {0};
    row_t n = 0;
    if (rows->n_steps == 0)
        return SUTRA_OK;
    iterations->of_name = arena_take(arena, rows->strings->n, sizeof *iterations->of_name);
    iterations->of_event = arena_take(arena, rows->events->n, sizeof *iterations->of_event);
    struct arena_mark mark = arena_mark(arena);
    row_t *steps = arena_take(arena, rows->n_steps, sizeof *steps);
    if (arena->failed)
        return error_memory(error);
    for (uint32_t string = 0; string < rows->strings->n; string++)
        iterations->of_name[string] =
            number_of_name(strings_text(rows->strings, string), strings_length(rows->strings, string));
    for (row_t i = 0; i < rows->n_steps; i++)
        if (options->compat || category_roles(rows->events, rows->roles, rows->steps[i]) & CATEGORY_ANNOTATION)
            steps[n++] = rows->steps[i];
    enum sutra_status status = find_stretches(rows, iterations->of_name, steps, n, arena, &stretches, error);
    for (row_t i = 0; i < rows->n && !status; i++)
        iterations->of_event[rows->list[i]] = (int32_t)number_of_row(rows, options, &stretches, rows->list[i]);
    arena_release(arena, mark);
    return status;
}

/*
 * The rows with a stream as columns, sorted by start; their types, one look at each name.
 */

static row_t count_kernels(const struct hta_rows *rows) {
    row_t n = 0;
    for (row_t i = 0; i < rows->n; i++)
        n += (rows->state[rows->list[i]] & HTA_STREAM) != 0;
    return n;
}

/* The events of the kernels by rising start. */
static enum sutra_status sort_kernels(const struct hta_rows *rows, const struct engine *engine, uint64_t *keys,
                                      struct hta_kernels *kernels, struct sutra_error *error) {
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!(rows->state[event] & HTA_STREAM))
            continue;
        keys[kernels->n] = integer_sort_key(rows->start[event]);
        kernels->event[kernels->n++] = event;
    }
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, kernels->event, kernels->n}, error);
}

static enum kernel_type type_of(const struct hta_rows *rows, const struct sutra_hta_options *options, uint32_t name) {
    const char *text = strings_text(rows->strings, name);
    size_t length = strings_length(rows->strings, name);
    bool newer = options->hta_version == SUTRA_HTA_VERSION_0_6;
    return newer ? kernel_type_of_0_6(text, length, options->compat) : kernel_type_of(text, length);
}

static void fill_columns(const struct hta_rows *rows, const struct sutra_hta_options *options,
                         struct hta_kernels *kernels) {
    uint8_t *types = kernels->of_name;
    for (row_t i = 0; i < kernels->n; i++) {
        row_t event = kernels->event[i];
        uint32_t name = rows->events->name[event];
        if (!types[name])
            types[name] = (uint8_t)(1 + type_of(rows, options, name));
        kernels->start[i] = rows->start[event];
        kernels->end[i] = rows->start[event] + rows->dur[event];
        kernels->type[i] = types[name] - 1u;
    }
}

enum sutra_status hta_kernels_make(const struct hta_rows *rows, const struct sutra_hta_options *options,
                                   const struct engine *engine, struct arena *arena, struct hta_kernels *kernels,
                                   struct sutra_error *error) {
    row_t n = count_kernels(rows);
    *kernels = (struct hta_kernels){.event = arena_take(arena, n, sizeof *kernels->event),
                                    .start = arena_take(arena, n, sizeof *kernels->start),
                                    .end = arena_take(arena, n, sizeof *kernels->end),
                                    .type = arena_take(arena, n, sizeof *kernels->type),
                                    .of_name = arena_zeros(arena, rows->strings->n, sizeof *kernels->of_name)};
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_take(arena, n, sizeof *keys);
    enum sutra_status status = arena->failed ? error_memory(error) : sort_kernels(rows, engine, keys, kernels, error);
    if (!status)
        fill_columns(rows, options, kernels);
    arena_release(arena, mark);
    return status;
}

/*
 * Kernels by correlation: a launch of a graph has many, and damaged traces have anything.
 *
 * Groups are numbered by the last kernel that has the correlation. O(n).
 */

/* The kernels that have a correlation, in the order of the table. */
static void gather(const struct hta_rows *rows, struct hta_correlated *made) {
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!(rows->state[event] & HTA_STREAM) || !is_correlation(rows->events->correlation[event]))
            continue;
        made->in_table[made->n] = event;
        made->keys[made->n++] = rows->events->correlation[event];
    }
}

/* Deals the kernels out to their groups. */
static void deal(struct hta_correlated *made) {
    row_t *next = made->first + 1; /* the place of the next kernel of each group, until all are dealt out */
    made->n_groups = made->n;      /* those whose last kernel stands elsewhere are empty */
    for (row_t i = 0; i < made->n; i++)
        next[made->group[i] + 1]++;
    for (row_t g = 0; g < made->n; g++)
        next[g + 1] += next[g];
    for (row_t i = 0; i < made->n; i++)
        made->event[next[made->group[i]]++] = made->in_table[i];
}

enum sutra_status hta_correlated_make(const struct hta_rows *rows, row_t n_kernels, const struct engine *engine,
                                      struct arena *arena, struct hta_correlated *correlated,
                                      struct sutra_error *error) {
    *correlated = (struct hta_correlated){
        .event = arena_take(arena, n_kernels, sizeof *correlated->event),
        .first = arena_zeros(arena, (size_t)n_kernels + 2, sizeof *correlated->first),
        .in_table = arena_take(arena, n_kernels, sizeof *correlated->in_table),
        .group = arena_take(arena, n_kernels, sizeof *correlated->group),
        .keys = arena_take(arena, n_kernels, sizeof *correlated->keys),
    };
    if (arena->failed)
        return error_memory(error);
    gather(rows, correlated);
    struct join_step step = {correlated->keys, correlated->n, correlated->keys, correlated->n, correlated->group};
    enum sutra_status status = engine->join(engine->state, &step, error);
    if (!status)
        deal(correlated);
    return status;
}

enum sutra_status hta_correlated_find(const struct hta_input *input, const value_key *keys, row_t n, row_t *groups,
                                      struct sutra_error *error) {
    const struct hta_correlated *made = &input->correlated;
    return input->engine->join(input->engine->state, &(struct join_step){made->keys, made->n, keys, n, groups}, error);
}

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
