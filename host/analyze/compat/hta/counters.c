/*
 * counters.c - performance counters of CUPTI's range profiler, with the operators that launched the kernels.
 *
 *     thread                [ aten::conv2d [ aten::convolution  [cudaLaunchKernel] ]]     launches by start: 0, 1, 2
 *     cuda_profiler_range   [ fft2d_r2c_32x32, args: counters ]                           ranges by start:   0, 1, 2
 *
 * Input: rows, and the text of range events. Output: a row for each range and operator, the outermost first, and the
 * names of all counters. Range number i belongs to kernel launch number i, so both counts must be equal. O(n log n).
 */
#include <string.h>

#include "analyze/compat/hta/hta.h"
#include "base/error.h"
#include "read/document.h"
#include "text/strings.h"

#define RANGE_CATEGORY "cuda_profiler_range"

static enum sutra_status sort_by_start(const struct hta_input *input, row_t *events, row_t n, struct arena *arena,
                                       struct sutra_error *error) {
    uint64_t *keys = arena_alloc(arena, n, sizeof *keys);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++)
        keys[i] = integer_sort_key(input->rows.start[events[i]]);
    return input->engine->sort_keys(input->engine->state, &(struct sort_keys_step){keys, events, n}, error);
}

static void store_parent(void *arg, row_t event, row_t parent) {
    row_t *parent_of = arg;
    parent_of[event] = parent;
}

/* Names with an escape sequence are skipped: no counter of CUPTI has one. */
static bool collect_counters(const struct hta_rows *rows, row_t event, struct strings *counters) {
    const struct source *source = &rows->trace->document.source;
    struct json_walker walker = walk_from(source, rows->events->text[event]);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_span key = walk_key(&walker);
        if (!place_is(source, key, "args") || walk_char(&walker) != '{') {
            walk_value(&walker);
            continue;
        }
        for (bool inner = walk_object(&walker); inner; inner = walk_member_end(&walker)) {
            struct json_span name = walk_key(&walker);
            const char *text = source->bytes + name.at + 1;
            size_t length = name.end > name.at ? name.end - name.at - 1 : 0;
            walk_value(&walker);
            if (length && !memchr(text, '\\', length) && strings_intern(counters, text, length) == STRING_NONE)
                return false;
        }
    }
    return true;
}

enum sutra_status hta_ranges(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                             struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    size_t n_events = rows->events->n;
    row_t *range = arena_alloc(arena, rows->n, sizeof *range), n = 0;
    row_t *launch = arena_alloc(arena, rows->n, sizeof *launch), n_launches = 0;
    bool recorded = false, ok = true;
    TRY(arena_status(arena, error));
    for (uint32_t string = 0; string < rows->strings->n && !recorded; string++)
        recorded = text_compare(rows->strings, string, TEXT_IS, RANGE_CATEGORY);
    for (row_t i = 0; i < rows->n && recorded; i++) {
        row_t event = rows->list[i];
        if (text_compare(rows->strings, rows->events->category[event], TEXT_IS, RANGE_CATEGORY))
            range[n++] = event;
        if (text_compare(rows->strings, rows->events->name[event], TEXT_BEGINS, "cudaLaunchKernel") &&
            text_compare(rows->strings, rows->events->category[event], TEXT_BEGINS, "cuda_runtime"))
            launch[n_launches++] = event;
    }
    if (n == 0) {
        hta->result.reasons[SUTRA_HTA_RANGES] = hta->result.reasons[SUTRA_HTA_COUNTERS] =
            "no event has the category " RANGE_CATEGORY;
        return SUTRA_OK;
    }

    struct strings counters;
    TRY_ALLOC(strings_init(&counters), error);
    for (row_t i = 0; i < n && ok; i++)
        ok = collect_counters(rows, range[i], &counters);
    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_COUNTERS);
    for (uint32_t i = 0; i < counters.n && ok; i++)
        table_string(table, &counters, i);
    strings_free(&counters);
    TRY_ALLOC(ok, error);
    if (n != n_launches) {
        hta->result.reasons[SUTRA_HTA_RANGES] =
            "the numbers of " RANGE_CATEGORY " events and of kernel launches differ";
        return SUTRA_OK;
    }

    TRY(sort_by_start(input, range, n, arena, error));
    TRY(sort_by_start(input, launch, n, arena, error));
    row_t *parent = arena_alloc(arena, n_events, sizeof *parent);       /* by event in a thread, or ROW_NONE */
    row_t *operators = arena_alloc(arena, n_events, sizeof *operators); /* of a launch, the innermost first */
    TRY(arena_status(arena, error));
    memset(parent, 0xff, n_events * sizeof *parent);
    struct hta_call_tree tree;
    enum sutra_status status = call_tree_make(&tree, input, arena, error);
    if (!status)
        call_tree_visit(&tree, store_parent, parent);
    call_tree_free(&tree);
    if (status)
        return status;

    table = result_table_begin(&hta->result, SUTRA_HTA_RANGES);
    for (row_t i = 0; i < n; i++) {
        row_t n_operators = 0;
        for (row_t event = parent[launch[i]]; event != ROW_NONE; event = parent[event])
            if (text_compare(rows->strings, rows->events->category[event], TEXT_IS, "cpu_op"))
                operators[n_operators++] = event;
        for (row_t k = n_operators ? n_operators : 1; k-- > 0;) {
            table_integer(table, range[i]);
            table_integer(table, launch[i]);
            table_integer(table, n_operators ? (int64_t)operators[k] : -1);
            table_string(table, rows->strings, n_operators ? rows->events->name[operators[k]] : STRING_NONE);
        }
    }
    return SUTRA_OK;
}
