/*
 * et_groups.c - groups of ranks out of JSON.
 */
#include "simulate/et_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/order.h"
#include "columns/column.h"
#include "read/document.h"
#include "text/digits.h"

/* A text that is being walked, and where its groups go. */
struct groups_reading {
    struct et_groups *groups;
    struct arena *arena;
    struct json_walker walker;
    bool failed; /* out of memory */
};

static bool integer_at(const struct json_walker *walker, int64_t *value) {
    const char *text = walker->text + walker->at;
    size_t length;
    return number_scan(text, &length) == NUMBER_FORM_INTEGER && integer_parse(text, length, value);
}

static void add_group(struct groups_reading *reading, struct et_group group) {
    struct et_groups *groups = reading->groups;
    if (!column_grow(&groups->list, groups->n, &groups->capacity, sizeof *groups->list))
        reading->failed = true;
    else
        groups->list[groups->n++] = group;
}

/* The ranks at the walker, into the arena. */
static void read_ranks(struct groups_reading *reading, struct et_group *group) {
    struct json_walker *walker = &reading->walker;
    int64_t *ranks = NULL;
    uint64_t capacity = 0;
    group->n = 0;
    for (bool more = walk_array(walker); more && !reading->failed; more = walk_element_end(walker)) {
        int64_t rank;
        if (!integer_at(walker, &rank)) {
            walk_fail(walker, "a rank number");
            break;
        }
        walk_value(walker);
        if (column_grow(&ranks, group->n, &capacity, sizeof *ranks))
            ranks[group->n++] = rank;
        else
            reading->failed = true;
    }
    int64_t *kept = arena_take(reading->arena, group->n, sizeof *kept);
    if (kept && group->n > 0) {
        qsort(ranks, group->n, sizeof *ranks, compare_int64s);
        memcpy(kept, ranks, group->n * sizeof *kept);
    }
    reading->failed |= !kept;
    group->ranks = kept;
    free(ranks);
}

static bool name_number(const struct json_walker *walker, struct json_place place, int64_t *number) {
    struct et_text name = {walker->text + place.at + 1, (uint32_t)(place.end - place.at - 1)};
    return et_group_number(name, number);
}

/* {"3": [0, 1], ...} */
static void read_file_groups(struct groups_reading *reading) {
    struct json_walker *walker = &reading->walker;
    for (bool more = walk_object(walker); more && !reading->failed; more = walk_member_end(walker)) {
        struct et_group group = {0};
        struct json_place key = walk_key(walker);
        if (walker->expected || !name_number(walker, key, &group.number)) {
            walk_fail(walker, "a group number in double quotes");
            return;
        }
        read_ranks(reading, &group);
        if (!walker->expected)
            add_group(reading, group);
    }
}

/* {"pg_name": "3", "ranks": [0, 1], ...} */
static void read_described_group(struct groups_reading *reading) {
    struct json_walker *walker = &reading->walker;
    struct et_group group = {.number = -1};
    bool has_ranks = false;
    for (bool more = walk_object(walker); more && !reading->failed; more = walk_member_end(walker)) {
        struct json_place key = walk_key(walker);
        if (walker->expected)
            return;
        if (place_is(walker->source, key, "ranks")) {
            read_ranks(reading, &group);
            has_ranks = true;
        } else if (place_is(walker->source, key, "pg_name") && walk_char(walker) == '"') {
            if (!name_number(walker, walk_string(walker), &group.number))
                walk_fail(walker, "a group number in double quotes");
        } else {
            walk_value(walker);
        }
    }
    if (!walker->expected && (group.number < 0 || !has_ranks))
        walk_fail(walker, "a group with a number and ranks");
    if (!walker->expected)
        add_group(reading, group);
}

static void read_described_groups(struct groups_reading *reading) {
    struct json_walker *walker = &reading->walker;
    for (bool more = walk_array(walker); more && !reading->failed; more = walk_element_end(walker))
        read_described_group(reading);
}

/* Reads the groups of a text, which is freed. */
static enum sutra_status read_source(struct et_groups *groups, struct source *source,
                                     void (*read)(struct groups_reading *reading), struct arena *arena,
                                     struct sutra_error *error) {
    struct groups_reading reading = {.groups = groups, .arena = arena, .walker = walk_from(source, 0)};
    read(&reading);
    if (!reading.walker.expected && reading.walker.at < source->size)
        walk_fail(&reading.walker, "the end of the file");
    enum sutra_status status = reading.failed ? error_memory(error) : walk_error(&reading.walker, error);
    source_close(source);
    return status;
}

enum sutra_status et_groups_read(struct et_groups *groups, struct sutra_context *context, const char *path,
                                 struct arena *arena, struct sutra_error *error) {
    struct source source;
    enum sutra_status status = source_open(&source, path, context->options.most_input_bytes, error);
    return status ? status : read_source(groups, &source, read_file_groups, arena, error);
}

enum sutra_status et_groups_take(struct et_groups *groups, struct et_text inputs, struct arena *arena, bool *understood,
                                 struct sutra_error *error) {
    struct source source;
    struct sutra_error reason;
    uint64_t n_before = groups->n;
    *understood = false;
    if (inputs.length < 4)
        return SUTRA_OK;
    enum sutra_status status = source_copy_any(&source, "process groups", inputs.bytes + 2, inputs.length - 4, &reason);
    if (!status)
        status = read_source(groups, &source, read_described_groups, arena, &reason);
    if (status == SUTRA_SYSTEM)
        return error_memory(error);
    *understood = status == SUTRA_OK;
    if (status)
        groups->n = n_before;
    return SUTRA_OK;
}

void et_groups_free(struct et_groups *groups) {
    free(groups->list);
    *groups = (struct et_groups){0};
}

const struct et_group *et_group_find(const struct et_groups *groups, int64_t number) {
    for (uint64_t i = groups->n; i > 0; i--)
        if (groups->list[i - 1].number == number)
            return &groups->list[i - 1];
    return NULL;
}

bool et_group_has(const struct et_group *group, int64_t rank) {
    return group->n == 0 || bsearch(&rank, group->ranks, group->n, sizeof rank, compare_int64s);
}

bool et_group_number(struct et_text name, int64_t *number) {
    uint32_t at = 0;
    int64_t sum = 0;
    while (at < name.length && (name.bytes[at] == ' ' || (name.bytes[at] >= '\t' && name.bytes[at] <= '\r')))
        at++;
    bool negative = at < name.length && name.bytes[at] == '-';
    at += at < name.length && (negative || name.bytes[at] == '+');
    uint32_t begin = at;
    for (; at < name.length && is_digit(name.bytes[at]) && sum <= INT32_MAX; at++)
        sum = 10 * sum + (name.bytes[at] - '0');
    *number = negative ? -sum : sum;
    return at > begin && sum <= INT32_MAX;
}
