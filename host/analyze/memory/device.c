/*
 * device.c - peak, lifetimes, steps and growth of a device, from its points and allocations.
 *
 * Cost: O(points + allocations), and a logarithm for each step and for sorting names.
 */
#include <inttypes.h>
#include <libdeflate.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory/memory.h"
#include "base/error.h"
#include "base/shared.h"
#include "facts/code_names.h"
#include "text/numbers.h"

#define STACK_BYTES_MAX  ((uint64_t)1 << 34) /* of the stacks of all live allocations, for their checksum */
#define GROWTH_BYTES_MIN ((int64_t)1 << 20)
#define GROWTH_STEPS_MIN 4

const char *const memory_size_labels[] = {"<=4KiB", "<=64KiB", "<=1MiB", "<=16MiB", "<=256MiB", "<=1GiB", ">1GiB"};
const char *const memory_lifetime_labels[] = {"<10us", "<100us", "<1ms", "<10ms", "<100ms", "<1s", ">=1s"};

static const int64_t size_limits[] = {4096, 65536, 1 << 20, 16 << 20, 256 << 20, 1 << 30};
static const int64_t lifetime_limits_us[] = {10, 100, 1000, 10000, 100000, 1000000};

/* ---- Names ---- */

uint32_t memory_name(struct sutra_memory *memory, const char *bytes, size_t n) {
    if (memory->names.n_bytes + n > memory->names_limit) {
        memory->names_are_full = true;
        return STRING_NONE;
    }
    return strings_intern(&memory->names, bytes, n);
}

enum sutra_status memory_name_error(const struct sutra_memory *memory, struct sutra_error *error) {
    TRY_ALLOC(memory->names_are_full, error);
    return error_set(error, SUTRA_DATA, "frames and stacks exceed %.0f MB of text", (double)memory->names_limit / 1e6);
}

uint32_t memory_copy_name(struct sutra_memory *memory, const struct strings *strings, uint32_t string,
                          uint32_t *names) {
    if (!names[string]) {
        uint32_t name = memory_name(memory, strings_text(strings, string), strings_length(strings, string));
        if (name == STRING_NONE)
            return STRING_NONE;
        names[string] = name + 1;
    }
    return names[string] - 1;
}

bool memory_is_library_path(const char *path, size_t n) {
    return path_has_folder(path, n, "torch/") || path_is_in_standard_library(path, n);
}

int memory_compare_names(const struct strings *names, uint32_t a, uint32_t b) {
    if (a == b)
        return 0;
    size_t length_a = strings_length(names, a), length_b = strings_length(names, b);
    int order = memcmp(strings_text(names, a), strings_text(names, b), MIN(length_a, length_b));
    return order ? order : (length_a > length_b) - (length_a < length_b);
}

/* ---- Tree of maxima ---- */

static uint32_t better(const struct peak_tree *tree, uint32_t a, uint32_t b) {
    if (tree->values[a] != tree->values[b])
        return tree->values[a] > tree->values[b] ? a : b;
    return MIN(a, b);
}

bool peak_tree_init(struct peak_tree *tree, struct arena *arena, uint32_t n) {
    tree->n_leaves = n;
    if (!tree->values && (tree->values = arena_alloc(arena, n, sizeof *tree->values)))
        memset(tree->values, 0xff, n * sizeof *tree->values);
    tree->best = arena_alloc(arena, 2 * (size_t)n, sizeof *tree->best);
    if (!tree->values || !tree->best)
        return false;
    for (uint32_t i = 0; i < tree->n_leaves; i++)
        tree->best[tree->n_leaves + i] = i;
    for (uint32_t i = tree->n_leaves; i-- > 1;)
        tree->best[i] = better(tree, tree->best[2 * i], tree->best[2 * i + 1]);
    return true;
}

void peak_tree_set(struct peak_tree *tree, uint32_t slot, int64_t value) {
    tree->values[slot] = value;
    for (uint32_t i = (slot + tree->n_leaves) / 2; i; i /= 2)
        tree->best[i] = better(tree, tree->best[2 * i], tree->best[2 * i + 1]);
}

uint32_t peak_tree_find(const struct peak_tree *tree, uint32_t from, uint32_t to) {
    uint32_t best = from;
    for (uint32_t a = from + tree->n_leaves, b = to + tree->n_leaves; a < b; a /= 2, b /= 2) {
        if (a & 1)
            best = better(tree, best, tree->best[a++]);
        if (b & 1)
            best = better(tree, best, tree->best[--b]);
    }
    return best;
}

/* ---- Maxima of ranges of points ---- */

#define PEAK_BLOCK 128 /* points of a leaf: the tree is small, and a query reads at most two blocks */

/* The largest value in any range of a column: a tree over the maxima of blocks. */
struct range_peaks {
    const int64_t *values;
    struct peak_tree blocks;
};

/* The first of the largest values in [from, to). */
static uint32_t first_peak(const int64_t *values, uint32_t from, uint32_t to) {
    uint32_t best = from;
    for (uint32_t i = from + 1; i < to; i++)
        best = values[i] > values[best] ? i : best;
    return best;
}

static bool range_peaks_init(struct range_peaks *peaks, struct arena *arena, const int64_t *values, uint32_t n) {
    uint32_t n_blocks = n / PEAK_BLOCK + 1;
    *peaks = (struct range_peaks){.values = values};
    if (!(peaks->blocks.values = arena_alloc(arena, n_blocks, sizeof *peaks->blocks.values)))
        return false;
    peaks->blocks.values[n_blocks - 1] = INT64_MIN; /* not complete: no query reads it */
    for (uint32_t block = 0; block < n / PEAK_BLOCK; block++)
        peaks->blocks.values[block] = values[first_peak(values, block * PEAK_BLOCK, (block + 1) * PEAK_BLOCK)];
    return peak_tree_init(&peaks->blocks, arena, n_blocks);
}

/* The first point with the largest value in [from, to), which is not empty. */
static uint32_t range_peaks_find(const struct range_peaks *peaks, uint32_t from, uint32_t to) {
    const int64_t *values = peaks->values;
    uint32_t first = from / PEAK_BLOCK + (from % PEAK_BLOCK != 0), end = to / PEAK_BLOCK;
    if (first >= end)
        return first_peak(values, from, to);
    uint32_t block = peak_tree_find(&peaks->blocks, first, end), candidates[3], best = from;
    candidates[0] = first_peak(values, from, MAX(from + 1, first * PEAK_BLOCK));
    candidates[1] = first_peak(values, block * PEAK_BLOCK, (block + 1) * PEAK_BLOCK);
    candidates[2] = first_peak(values, MIN(end * PEAK_BLOCK, to - 1), to);
    for (size_t i = 0; i < 3; i++)
        best = values[candidates[i]] > values[best] ? candidates[i] : best;
    return best;
}

/* ---- Groups ---- */

/* Sums by name. `slot` of a name is 0 while it has no group. */
struct memory_grouping {
    struct memory_group *list;
    uint32_t *slot;
    uint32_t n;
};

static void add_to_group(struct memory_grouping *grouping, uint32_t name, int64_t bytes) {
    uint32_t slot = grouping->slot[name];
    if (!slot) {
        slot = grouping->slot[name] = ++grouping->n;
        grouping->list[slot - 1] = (struct memory_group){.name = name};
    }
    grouping->list[slot - 1].count++;
    grouping->list[slot - 1].bytes += bytes;
}

static int compare_groups(const void *a, const void *b, void *names) {
    const struct memory_group *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return memory_compare_names(names, x->name, y->name);
}

/* Sorts the groups into memory of the result, and empties the grouping. */
static struct memory_groups sort_groups(struct sutra_memory *memory, struct memory_grouping *grouping) {
    struct memory_groups groups = {.list = arena_alloc(&memory->arena, grouping->n, sizeof *groups.list)};
    if (groups.list) /* memory_summarize() reports the failed arena */
        groups.n = grouping->n;
    for (uint32_t i = 0; i < groups.n; i++) {
        groups.list[i] = grouping->list[i];
        groups.bytes += grouping->list[i].bytes;
        grouping->slot[grouping->list[i].name] = 0;
    }
    if (groups.n)
        qsort_r(groups.list, groups.n, sizeof *groups.list, compare_groups, &memory->names);
    grouping->n = 0;
    return groups;
}

/* ---- Timeline and peak ---- */

#define PIECE_POINTS ((uint32_t)1 << 16)

/* Checksum of lines "time,allocated,active,reserved", as memory viewers of other programs can compute it. Pieces of
 * points are shared by two threads; the checksums of pieces are combined. */
struct timeline_checksum {
    const struct memory_device *device;
    struct checksum_piece {
        uint32_t crc;
        uint64_t n_bytes;
    } * pieces;
    uint32_t n_pieces;
    atomic_uint next; /* piece */
};

static struct checksum_piece checksum_points(const struct memory_device *device, uint32_t begin, uint32_t end) {
    char text[(1 << 14) + 4 * (NUMBER_TEXT_MAX + 1)], *at = text;
    struct checksum_piece piece = {0};
    const int64_t *columns[] = {device->time_ns, device->allocated, device->active, device->reserved};
    /* Most points repeat the values of the point before in some columns: their text is kept. */
    char last_text[4][NUMBER_TEXT_MAX];
    size_t last_length[4] = {0};
    int64_t last[4] = {0};
    for (uint32_t i = begin; i < end; i++) {
        for (size_t c = 0; c < 4; c++) {
            if (!last_length[c] || last[c] != columns[c][i]) {
                last[c] = columns[c][i];
                last_length[c] = integer_format(last[c], last_text[c]);
            }
            memcpy(at, last_text[c], NUMBER_TEXT_MAX);
            at += last_length[c];
            *at++ = c < 3 ? ',' : '\n';
        }
        if (at - text > 1 << 14 || i + 1 == end) {
            piece.crc = libdeflate_crc32(piece.crc, text, (size_t)(at - text));
            piece.n_bytes += (uint64_t)(at - text);
            at = text;
        }
    }
    return piece;
}

static void checksum_timeline(void *arg) {
    struct timeline_checksum *checksum = arg;
    uint32_t n = checksum->device->n_events + 1, i;
    while ((i = atomic_fetch_add(&checksum->next, 1)) < checksum->n_pieces)
        checksum->pieces[i] = checksum_points(checksum->device, i * PIECE_POINTS,
                                              MIN(n - i * PIECE_POINTS, PIECE_POINTS) + i * PIECE_POINTS);
}

/* The product of two polynomials modulo the polynomial of CRC-32; the upper bit is the coefficient of x^0. */
static uint32_t multiply_polynomials(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = (uint32_t)1 << 31; bit; bit >>= 1) {
        product ^= a & bit ? b : 0;
        b = b & 1 ? b >> 1 ^ 0xedb88320 : b >> 1;
    }
    return product;
}

/* The checksum of all pieces. n more bytes multiply the checksum by x^(8n) and add their own checksum. */
static uint32_t combine_pieces(const struct timeline_checksum *checksum) {
    uint32_t crc = 0;
    for (uint32_t i = 0; i < checksum->n_pieces; i++) {
        uint32_t square = (uint32_t)1 << 23; /* x^8 */
        for (uint64_t n = checksum->pieces[i].n_bytes; n; n >>= 1, square = multiply_polynomials(square, square))
            crc = n & 1 ? multiply_polynomials(square, crc) : crc;
        crc ^= checksum->pieces[i].crc;
    }
    return crc;
}

struct live_stack {
    uint32_t name;
    int64_t size;
};

static int compare_stacks(const void *a, const void *b, void *names) {
    const struct live_stack *x = a, *y = b;
    int order = memory_compare_names(names, x->name, y->name);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

static enum sutra_status checksum_stacks(struct sutra_memory *memory, struct memory_device *device,
                                         struct live_stack *live, struct sutra_error *error) {
    uint64_t n_bytes = 0;
    for (uint32_t i = 0; i < device->n_live; i++)
        n_bytes += strings_length(&memory->names, live[i].name);
    if (n_bytes > STACK_BYTES_MAX)
        return error_set(error, SUTRA_DATA, "the stacks of live allocations exceed %.0f MB of text",
                         (double)STACK_BYTES_MAX / 1e6);
    if (device->n_live)
        qsort_r(live, device->n_live, sizeof *live, compare_stacks, &memory->names);
    for (uint32_t i = 0; i < device->n_live; i++) {
        char number[NUMBER_TEXT_MAX + 2] = " ";
        size_t length = 1 + integer_format(live[i].size, number + 1);
        number[length] = '\n';
        device->stack_crc = libdeflate_crc32(device->stack_crc, strings_text(&memory->names, live[i].name),
                                             strings_length(&memory->names, live[i].name));
        device->stack_crc = libdeflate_crc32(device->stack_crc, number, length + (i + 1 < device->n_live));
    }
    return SUTRA_OK;
}

static size_t range_of(int64_t value, const int64_t *limits, size_t n, bool inclusive) {
    size_t range = 0;
    while (range < n && (inclusive ? value > limits[range] : value >= limits[range]))
        range++;
    return range;
}

/* Groups the allocations that are live at the peak. */
static enum sutra_status group_peak(struct sutra_memory *memory, struct memory_device *device,
                                    const struct memory_facts *facts, struct arena *scratch,
                                    struct sutra_error *error) {
    const struct memory_allocs *allocs = facts->allocs;
    uint32_t *rows = arena_alloc(scratch, allocs->n, sizeof *rows);
    TRY(arena_status(scratch, error));
    device->largest = EVENT_NONE;
    for (uint32_t i = 0; i < allocs->n; i++) {
        if (allocs->begin[i] > device->peak || allocs->end[i] < device->peak)
            continue;
        rows[device->n_live++] = i;
        device->live_bytes += allocs->size[i];
        device->before_bytes += allocs->before[i] ? allocs->size[i] : 0;
        size_t range = range_of(allocs->size[i], size_limits, MEMORY_N_SIZES - 1, true);
        device->sizes[range].count++;
        device->sizes[range].bytes += allocs->size[i];
        uint32_t largest = device->largest;
        if (largest == EVENT_NONE || allocs->size[i] > allocs->size[largest] ||
            (allocs->size[i] == allocs->size[largest] && allocs->begin[i] < allocs->begin[largest]))
            device->largest = i;
    }
    struct live_stack *live = arena_alloc(scratch, device->n_live, sizeof *live);
    for (uint32_t i = 0; live && i < device->n_live; i++) {
        live[i].size = allocs->size[rows[i]];
        TRY(facts->stack_name(facts->arg, rows[i], &live[i].name, error));
    }
    struct memory_grouping grouping = {arena_alloc(scratch, device->n_live, sizeof *grouping.list),
                                       arena_zeros(scratch, memory->names.n, sizeof *grouping.slot), 0};
    TRY_ALLOC(live && grouping.list && grouping.slot, error);
    for (uint32_t i = 0; i < device->n_live; i++)
        add_to_group(&grouping, allocs->category[rows[i]], allocs->size[rows[i]]);
    device->categories = sort_groups(memory, &grouping);
    for (uint32_t i = 0; i < device->n_live; i++)
        add_to_group(&grouping, allocs->operator_name[rows[i]], allocs->size[rows[i]]);
    device->operators = sort_groups(memory, &grouping);
    for (uint32_t i = 0; i < device->n_live; i++)
        add_to_group(&grouping, allocs->frame[rows[i]], allocs->size[rows[i]]);
    device->frames = sort_groups(memory, &grouping);
    for (uint32_t i = 0; i < device->n_live; i++)
        add_to_group(&grouping, live[i].name, live[i].size);
    device->stacks = sort_groups(memory, &grouping);
    if (device->largest != EVENT_NONE) {
        uint32_t i = device->largest;
        device->largest_alloc = (struct memory_group){allocs->frame[i], 1, allocs->size[i]};
        device->largest_operator = allocs->operator_name[i];
        device->largest_before = allocs->before[i];
        device->largest_ns = device->time_ns[allocs->begin[i]];
    }
    return checksum_stacks(memory, device, live, error);
}

static enum sutra_status group_lifetimes(struct sutra_memory *memory, struct memory_device *device,
                                         const struct memory_allocs *allocs, struct arena *scratch,
                                         struct sutra_error *error) {
    struct memory_grouping grouping = {arena_alloc(scratch, memory->names.n, sizeof *grouping.list),
                                       arena_zeros(scratch, memory->names.n, sizeof *grouping.slot), 0};
    TRY_ALLOC(grouping.list && grouping.slot, error);
    for (uint32_t i = 0; i < allocs->n; i++) {
        if (allocs->before[i])
            continue;
        if (allocs->end[i] == EVENT_NONE) {
            add_to_group(&grouping, allocs->frame[i], allocs->size[i]);
            continue;
        }
        int64_t ns = device->time_ns[allocs->end[i] + 1] - device->time_ns[allocs->begin[i]];
        size_t range = range_of(ns < 0 ? 0 : ns / 1000, lifetime_limits_us, MEMORY_N_LIFETIMES - 1, false);
        device->lifetimes[range].count++;
        device->lifetimes[range].bytes += allocs->size[i];
    }
    device->not_freed = sort_groups(memory, &grouping);
    return SUTRA_OK;
}

/* ---- Steps ---- */

/* The first index whose time is not before `time_ns`, among the events of a device (Python's bisect_left). */
static uint32_t memory_event_at(const struct memory_device *device, int64_t time_ns) {
    uint32_t event = 0;
    BISECT(event, device->n_events, device->time_ns[event + 1] < time_ns);
    return event;
}

/* Start or end of a step, and the allocations before it. */
struct step_boundary {
    uint32_t event, step;
    bool is_end;
};

ORDER_BY(compare_boundaries, struct step_boundary, ASCENDING(event) ASCENDING(step) ASCENDING(is_end))

/* Adds the allocations of each step: one walk over the boundaries of steps and over allocations, both ascending. */
static enum sutra_status count_allocs_of_steps(struct memory_device *device, const struct memory_allocs *allocs,
                                               struct arena *scratch, struct sutra_error *error) {
    uint32_t n = 2 * device->n_steps, at = 0, count = 0;
    struct step_boundary *boundaries = arena_alloc(scratch, n, sizeof *boundaries);
    TRY(arena_status(scratch, error));
    for (uint32_t i = 0; i < n; i++) {
        const struct memory_step *step = &device->steps[i / 2];
        boundaries[i] = (struct step_boundary){i % 2 ? step->end_event : step->first_event, i / 2, i % 2};
    }
    qsort(boundaries, n, sizeof *boundaries, compare_boundaries);
    int64_t bytes = 0;
    for (uint32_t row = 0; row <= allocs->n && at < n; row++) {
        if (row < allocs->n && allocs->before[row])
            continue;
        for (; at < n && (row == allocs->n || boundaries[at].event < allocs->begin[row]); at++) {
            struct memory_step *step = &device->steps[boundaries[at].step];
            step->n_allocs += boundaries[at].is_end ? count : -count; /* unsigned: start before end */
            step->allocated_bytes += boundaries[at].is_end ? bytes : -bytes;
        }
        count += row < allocs->n;
        bytes += row < allocs->n ? allocs->size[row] : 0;
    }
    return SUTRA_OK;
}

/* Number of events below `event` in an ascending list. */
static uint32_t events_before(const uint32_t *events, uint32_t n, uint32_t event) {
    uint32_t i = 0;
    BISECT(i, n, events[i] < event);
    return i;
}

static enum sutra_status fill_steps(struct memory_device *device, const struct memory_facts *facts,
                                    struct arena *scratch, struct sutra_error *error) {
    struct range_peaks active, reserved;
    TRY_ALLOC(range_peaks_init(&active, scratch, device->active, device->n_events + 1) &&
                  range_peaks_init(&reserved, scratch, device->reserved, device->n_events + 1),
              error);
    for (uint32_t i = 0; i < device->n_steps; i++) {
        struct memory_step *step = &device->steps[i];
        uint32_t a = memory_event_at(device, step->start_ns), b = memory_event_at(device, step->end_ns);
        if (a > b)
            return error_set(error, SUTRA_DATA, "step %" PRId64 " of %s ends before it starts", step->number,
                             device->name);
        uint32_t peak = range_peaks_find(&active, a, b + 1);
        step->first_event = a;
        step->end_event = b;
        step->start_active = device->active[a];
        step->end_active = device->active[b];
        step->peak_active = device->active[peak];
        step->peak_event = peak - 1; /* EVENT_NONE: the state before the first event */
        step->max_reserved = device->reserved[range_peaks_find(&reserved, a, b + 1)];
        step->n_segment_allocs = events_before(facts->segment_allocs, facts->n_segment_allocs, b) -
                                 events_before(facts->segment_allocs, facts->n_segment_allocs, a);
        step->growth = i ? step->end_active - step[-1].end_active : 0;
        if (!device->has_step && step->start_ns <= device->time_ns[device->peak] &&
            device->time_ns[device->peak] < step->end_ns) {
            device->has_step = true;
            device->peak_step = step->number;
        }
    }
    return count_allocs_of_steps(device, facts->allocs, scratch, error);
}

/* ---- Growth ---- */

struct step_end {
    uint32_t event, step;
};

ORDER_BY(compare_ends, struct step_end, ASCENDING(event) ASCENDING(step))

/* Number of step ends at or before an event. */
static uint32_t ends_until(const struct step_end *ends, uint32_t n, uint32_t event) {
    uint32_t i = 0;
    BISECT(i, n, ends[i].event <= event);
    return i;
}

static int compare_growth(const void *a, const void *b, void *names) {
    const struct memory_growth *x = a, *y = b;
    int64_t of_x = x->last - x->first, of_y = y->last - y->first;
    return of_x != of_y ? (of_x > of_y ? -1 : 1) : memory_compare_names(names, x->frame, y->frame);
}

/* Frames whose live bytes rise from each step's end to the next, except the first step. Most allocations are live at no
 * step's end. A frame that rises n times has at least n allocations that are; frames with fewer are skipped, so that
 * the cost is O(allocations), not frames x steps. */
static enum sutra_status find_growth(struct sutra_memory *memory, struct memory_device *device,
                                     const struct memory_allocs *allocs, struct arena *scratch,
                                     struct sutra_error *error) {
    uint32_t n_steps = device->n_steps, n_names = memory->names.n;
    if (n_steps < GROWTH_STEPS_MIN)
        return SUTRA_OK;
    struct step_end *ends = arena_alloc(scratch, n_steps, sizeof *ends);
    uint32_t *first = arena_zeros(scratch, (size_t)n_names + 1, sizeof *first);
    uint32_t *rows = arena_alloc(scratch, allocs->n, sizeof *rows);
    uint32_t *crossing = arena_alloc(scratch, allocs->n, sizeof *crossing); /* live at a step's end */
    int64_t *changes = arena_alloc(scratch, (size_t)n_steps + 1, sizeof *changes);
    int64_t *live = arena_alloc(scratch, n_steps, sizeof *live);
    struct memory_growth *found = arena_alloc(scratch, allocs->n / (n_steps - 2) + 1, sizeof *found);
    TRY_ALLOC(ends && first && rows && crossing && changes && live && found, error);
    for (uint32_t i = 0; i < n_steps; i++)
        ends[i] = (struct step_end){device->steps[i].end_event, i};
    qsort(ends, n_steps, sizeof *ends, compare_ends);
    uint32_t n_crossing = 0;
    for (uint32_t i = 0, next = 0; i < allocs->n; i++) {
        if (allocs->before[i])
            continue;
        while (next < n_steps && ends[next].event < allocs->begin[i])
            next++;
        if (next < n_steps && ends[next].event <= allocs->end[i]) {
            first[allocs->frame[i]]++;
            crossing[n_crossing++] = i;
        }
    }
    for (uint32_t name = 0, at = 0; name <= n_names; name++) {
        uint32_t n = first[name];
        first[name] = at;
        at += n;
    }
    for (uint32_t i = 0; i < n_crossing; i++)
        rows[first[allocs->frame[crossing[i]]]++] = crossing[i];
    int64_t floor = device->active[device->peak] / 1000;
    floor = MAX(floor, GROWTH_BYTES_MIN);
    uint32_t n_found = 0;
    for (uint32_t name = 0, from = 0; name < n_names; from = first[name++]) {
        if (first[name] - from < n_steps - 2)
            continue;
        memset(changes, 0, ((size_t)n_steps + 1) * sizeof *changes);
        for (uint32_t i = from; i < first[name]; i++) {
            uint32_t row = rows[i], a = ends_until(ends, n_steps, allocs->begin[row] - 1);
            uint32_t b = allocs->end[row] == EVENT_NONE ? n_steps : ends_until(ends, n_steps, allocs->end[row]);
            if (a < b) {
                changes[a] += allocs->size[row];
                changes[b] -= allocs->size[row];
            }
        }
        int64_t sum = 0;
        for (uint32_t i = 0; i < n_steps; i++)
            live[ends[i].step] = sum += changes[i];
        bool rises = true;
        for (uint32_t i = 2; i < n_steps && rises; i++)
            rises = live[i] > live[i - 1];
        int64_t last = live[n_steps - 1];
        if (rises && last - live[1] >= floor)
            found[n_found++] = (struct memory_growth){name, live[1], last, (last - live[1]) / (int64_t)(n_steps - 2)};
    }
    if (n_found)
        qsort_r(found, n_found, sizeof *found, compare_growth, &memory->names);
    device->growing = arena_alloc(&memory->arena, n_found, sizeof *device->growing);
    TRY(arena_status(&memory->arena, error));
    device->n_growing = n_found;
    for (uint32_t i = 0; i < n_found; i++)
        device->growing[i] = found[i];
    return SUTRA_OK;
}

/* ---- Layers ---- */

/* Number of bins whose point is before `point`. */
static uint32_t bins_before(const struct memory_layers *layers, uint32_t point) {
    uint32_t bin = 0;
    BISECT(bin, layers->n, layers->points[bin] < point);
    return bin;
}

static enum sutra_status fill_layers(struct sutra_memory *memory, struct memory_device *device,
                                     const struct memory_allocs *allocs, struct arena *scratch,
                                     struct sutra_error *error) {
    struct memory_layers *layers = &device->layers;
    layers->n = MEMORY_N_BINS;
    layers->points = arena_zeros(&memory->arena, layers->n, sizeof *layers->points);
    uint8_t *layer_of = arena_zeros(scratch, memory->names.n, 1); /* plus 1 */
    TRY_ALLOC(layers->points && layer_of, error);
    /* Select the point with most active bytes of each bin; a bin without points repeats the last point before it. */
    uint32_t n_events = device->n_events;
    const int64_t *times = device->time_ns;
    layers->by_event = !device->has_time || times[n_events] <= times[0];
    for (uint32_t i = 0; i < n_events && !layers->by_event; i++)
        layers->by_event = times[i + 1] < times[i];
    for (uint32_t bin = 0, point = 0; bin < layers->n; bin++) {
        uint32_t best = point ? point - 1 : 0;
        bool is_empty = true;
        for (; point <= n_events; point++) {
            double share = layers->by_event
                               ? (double)point / ((double)n_events + 1)
                               : (double)(times[point] - times[0]) / ((double)(times[n_events] - times[0]) + 1);
            if (share * layers->n >= bin + 1)
                break;
            if (is_empty || device->active[point] > device->active[best])
                best = point;
            is_empty = false;
        }
        layers->points[bin] = best;
    }
    for (uint32_t i = 0; i < device->frames.n && i < MEMORY_N_LAYERS; i++) {
        layers->names[i] = device->frames.list[i].name;
        layer_of[layers->names[i]] = (uint8_t)++layers->n_layers;
        TRY_ALLOC(layers->bytes[i] = arena_zeros(&memory->arena, (size_t)layers->n + 1, sizeof(int64_t)), error);
    }
    for (uint32_t i = 0; i < allocs->n; i++) {
        if (!layer_of[allocs->frame[i]])
            continue;
        int64_t *bytes = layers->bytes[layer_of[allocs->frame[i]] - 1];
        uint32_t end = allocs->end[i] == EVENT_NONE ? layers->n : bins_before(layers, allocs->end[i] + 1);
        uint32_t begin = bins_before(layers, allocs->begin[i]);
        bytes[MIN(begin, end)] += allocs->size[i];
        bytes[end] -= allocs->size[i];
    }
    for (uint32_t i = 0; i < layers->n_layers; i++)
        for (uint32_t bin = 1; bin < layers->n; bin++)
            layers->bytes[i][bin] += layers->bytes[i][bin - 1];
    return SUTRA_OK;
}

enum sutra_status memory_summarize(struct sutra_memory *memory, struct memory_device *device,
                                   const struct memory_facts *facts, struct arena *scratch, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    device->max_allocated = device->max_reserved = INT64_MIN;
    int64_t peak = INT64_MIN;
    for (uint32_t i = 0; i <= device->n_events; i++) {
        device->allocated[i] += facts->before_bytes;
        device->reserved[i] += facts->before_reserved;
        if (device->active != device->allocated)
            device->active[i] += facts->before_bytes;
        device->max_allocated = MAX(device->max_allocated, device->allocated[i]);
        device->max_reserved = MAX(device->max_reserved, device->reserved[i]);
        if (device->active[i] > peak) {
            peak = device->active[i];
            device->peak = i;
        }
    }
    struct timeline_checksum checksum = {.device = device, .n_pieces = device->n_events / PIECE_POINTS + 1};
    struct background_call thread;
    TRY_ALLOC(checksum.pieces = arena_alloc(scratch, checksum.n_pieces, sizeof *checksum.pieces), error);
    background_call_begin(&thread, memory->has_threads && device->n_events >= MEMORY_THREAD_EVENTS, checksum_timeline,
                          &checksum);
    enum sutra_status status = group_peak(memory, device, facts, scratch, error);
    if (!status)
        status = group_lifetimes(memory, device, facts->allocs, scratch, error);
    if (!status && device->n_steps)
        status = fill_steps(device, facts, scratch, error);
    if (!status)
        status = find_growth(memory, device, facts->allocs, scratch, error);
    if (!status && memory->has_tables)
        status = fill_layers(memory, device, facts->allocs, scratch, error);
    if (!status)
        status = arena_status(scratch, error);
    if (!status)
        checksum_timeline(&checksum);
    background_call_end(&thread);
    device->timeline_crc = status ? 0 : combine_pieces(&checksum);
    arena_release(scratch, mark);
    return status ? status : arena_status(&memory->arena, error);
}
