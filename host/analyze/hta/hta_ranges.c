/*
 * hta_ranges.c - performance counters of CUPTI's range profiler with the operators that launched the kernels.
 *
 *     thread                [ aten::conv2d [ aten::convolution  [cudaLaunchKernel] ]]     launches by start: 0, 1, 2
 *     cuda_profiler_range   [ fft2d_r2c_32x32, args: counters ]                           ranges by start:   0, 1, 2
 *
 * Input: rows, and the text of range events. Output: a row for each range and operator, the outermost first, and the
 * names of all counters. Range number i belongs to kernel launch number i, so both must be equally many. O(n log n).
 */
#include <string.h>

#include "analyze/hta/hta_call_tree.h"
#include "base/error.h"
#include "read/document.h"

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
