/*
 * snapshot.c - the devices of a CUDA memory snapshot: events, allocations and segments; and the allocator's
 * settings.
 *
 * Input: the values of torch.cuda.memory._dump_snapshot(): "segments" (the state at the end, with blocks), and
 * "device_traces" (events of each device: alloc, free_requested, free_completed, segment_alloc, ..., oom).
 * An event finds the allocation of its address in a hash table. Allocations without an alloc event come from frees and
 * from blocks: they were made before the recording. Reserved bytes are known at the end (the segments), so that the
 * state at the start follows from the events.
 * Cost: O(size of the input).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory/snapshot.h"
#include "base/error.h"
#include "base/shared.h"
#include "read/file_kind.h"
#include "read/objects.h"
#include "write/text.h"

#define DEVICES_MAX    1024
#define NAMES_PER_BYTE 64

/* ---- Checks ---- */

/* Types of the top-level lists, the number of elements of all lists, and the sum of sizes, which must be below 2^63.
 * The sizes of events are added later. */
static enum sutra_status check_input(struct snapshot *s, object_t segments, object_t traces,
                                     struct sutra_error *error) {
    const struct objects *o = s->objects;
    uint64_t n_elements = 0;
    for (uint32_t i = 0; i < container_of(o, traces)->n; i++) {
        object_t trace = items_of(o, traces)[i];
        bool is_empty = object_type(trace) >= OBJECT_STRING && is_falsy(s, trace); /* text or a dict */
        if (!is_list(trace) && !is_empty)
            return snapshot_malformed(s, error, "\"device_traces\" contains a value that is not a list");
        n_elements += is_empty ? 0 : container_of(o, trace)->n;
    }
    for (uint32_t i = 0; i < container_of(o, segments)->n; i++) {
        object_t segment = items_of(o, segments)[i];
        object_t blocks = object_type(segment) == OBJECT_DICT ? dict_get(o, segment, WORD_BLOCKS) : OBJECT_ABSENT;
        if (!is_list(blocks))
            return snapshot_malformed(s, error, "segment %" PRIu32 " has no list \"blocks\"", i);
        object_t pool = dict_get(o, segment, WORD_SEGMENT_POOL_ID);
        n_elements += container_of(o, blocks)->n;
        n_elements += is_list(pool) ? container_of(o, pool)->n : 0;
    }
    if (n_elements > s->source->size)
        return error_file(error, SUTRA_DATA, s->source->name,
                          "repeated lists: more events, blocks and pool ids than bytes in the file");
    if (n_elements >= EVENT_NONE / 2)
        return error_file(error, SUTRA_DATA, s->source->name, "more than %" PRIu32 " events and blocks",
                          EVENT_NONE / 2);
    for (uint32_t i = 0; i < container_of(o, segments)->n; i++) {
        object_t segment = items_of(o, segments)[i], blocks = dict_get(o, segment, WORD_BLOCKS);
        int64_t size;
        if (!get_integer(s, dict_get(o, segment, WORD_TOTAL_SIZE), &size) || size == INT64_MIN ||
            __builtin_add_overflow(s->total_size, size < 0 ? -size : size, &s->total_size))
            return snapshot_malformed(s, error, "segment %" PRIu32 " has no valid total_size", i);
        for (uint32_t k = 0; k < container_of(o, blocks)->n; k++) {
            object_t block = items_of(o, blocks)[k];
            if (object_type(block) != OBJECT_DICT || !dict_get(o, block, WORD_STATE) ||
                !get_integer(s, dict_get(o, block, WORD_SIZE), &size) || size == INT64_MIN ||
                __builtin_add_overflow(s->total_size, size < 0 ? -size : size, &s->total_size))
                return snapshot_malformed(s, error,
                                          "block %" PRIu32 " of segment %" PRIu32 " has no valid state and size", k, i);
        }
    }
    return SUTRA_OK;
}

/* The first element of the list "history" of a block; OBJECT_ABSENT: none. False: malformed. */
static bool block_history(const struct snapshot *s, object_t block, object_t *first) {
    object_t history = dict_get(s->objects, block, WORD_HISTORY);
    *first = OBJECT_ABSENT;
    if (is_falsy(s, history))
        return true;
    if (!is_list(history))
        return false;
    *first = items_of(s->objects, history)[0];
    return object_type(*first) == OBJECT_DICT;
}

static bool block_requested(const struct snapshot *s, object_t block, int64_t *size) {
    object_t value = dict_get(s->objects, block, WORD_REQUESTED_SIZE), history;
    if (!block_history(s, block, &history))
        return false;
    if (!value && history)
        value = dict_get(s->objects, history, WORD_REAL_SIZE);
    if (!value)
        value = dict_get(s->objects, block, WORD_SIZE);
    return get_integer(s, value, size) && *size <= (int64_t)1 << 60 && *size >= -((int64_t)1 << 60);
}

static object_t block_frames(const struct snapshot *s, object_t block) {
    object_t frames = dict_get(s->objects, block, WORD_FRAMES), history;
    if (!frames && block_history(s, block, &history) && history) {
        frames = dict_get(s->objects, history, WORD_FRAMES);
        return frames && is_falsy(s, frames) ? OBJECT_ABSENT : frames;
    }
    return frames;
}

/* ---- Segments ---- */

static enum sutra_status add_segment(const struct snapshot *s, object_t segment, struct memory_segments *state,
                                     struct sutra_error *error) {
    const struct objects *o = s->objects;
    object_t blocks = dict_get(o, segment, WORD_BLOCKS);
    const object_t *items = items_of(o, blocks);
    uint32_t n = container_of(o, blocks)->n;
    int64_t total = 0, size = 0, requested, inactive = 0;
    bool is_busy = false;
    get_integer(s, dict_get(o, segment, WORD_TOTAL_SIZE), &total);
    state->n_segments++;
    state->reserved += total;
    state->largest_segment = MAX(total, state->largest_segment);
    for (uint32_t i = 0; i < n; i++) {
        object_t of = dict_get(o, items[i], WORD_STATE);
        get_integer(s, dict_get(o, items[i], WORD_SIZE), &size);
        is_busy |= of != object_word(WORD_INACTIVE);
        if (of == object_word(WORD_ACTIVE_ALLOCATED)) {
            if (!block_requested(s, items[i], &requested) ||
                __builtin_add_overflow(state->requested, requested, &state->requested))
                return snapshot_malformed(s, error, "a block has no valid requested_size");
            state->allocated += size;
            state->internal += size - requested;
        } else if (of == object_word(WORD_INACTIVE)) {
            inactive += size;
            state->largest_free_block = MAX(size, state->largest_free_block);
        } else {
            state->pending_free += size;
        }
    }
    state->inactive += inactive;
    state->inactive_split += is_busy ? inactive : 0;
    state->releasable += is_busy ? 0 : total;
    return SUTRA_OK;
}

struct segment_key {
    struct memory_segment_group group;
    uint32_t segment, n_more;
    const object_t *more; /* numbers of the pool after the second one */
};

static int compare_pools(const struct segment_key *x, const struct segment_key *y) {
    int order = 0;
    for (size_t i = 0; i < 2 && !order; i++)
        order = (x->group.pool[i] > y->group.pool[i]) - (x->group.pool[i] < y->group.pool[i]);
    for (uint32_t i = 0; i < x->n_more && i < y->n_more && !order; i++)
        order = (object_small(x->more[i]) > object_small(y->more[i])) -
                (object_small(x->more[i]) < object_small(y->more[i]));
    return order ? order : (x->n_more > y->n_more) - (x->n_more < y->n_more);
}

static int compare_segment_keys(const void *a, const void *b, void *names) {
    const struct segment_key *x = a, *y = b;
    const struct memory_segment_group *p = &x->group, *q = &y->group;
    if (p->stream != q->stream)
        return p->stream < q->stream ? -1 : 1;
    int order = memory_compare_names(names, p->type, q->type);
    if (!order)
        order = compare_pools(x, y);
    return order ? order : (x->segment > y->segment) - (x->segment < y->segment);
}

ORDER_BY(compare_segments, struct memory_segment, ASCENDING(address) ASCENDING(size))

/* State of all segments of a device, and by stream, type and pool. */
static enum sutra_status read_segments(struct snapshot *s, const object_t *segments, uint32_t n,
                                       struct memory_device *device, struct sutra_error *error) {
    const struct objects *o = s->objects;
    struct segment_key *keys = arena_zeros(s->arena, n, sizeof *keys);
    device->segment_list = arena_alloc(&s->memory->arena, n, sizeof *device->segment_list);
    device->segment_groups = arena_alloc(&s->memory->arena, n, sizeof *device->segment_groups);
    TRY_ALLOC(keys && device->segment_list && device->segment_groups, error);
    for (uint32_t i = 0; i < n; i++) {
        object_t stream = dict_get(o, segments[i], WORD_STREAM), type = dict_get(o, segments[i], WORD_SEGMENT_TYPE),
                 pool = dict_get(o, segments[i], WORD_SEGMENT_POOL_ID);
        struct memory_segment_group *group = &keys[i].group;
        bool is_valid = (!stream || get_integer(s, stream, &group->stream)) &&
                        (!type || object_type(type) == OBJECT_STRING) &&
                        (!pool || (is_list(pool) && container_of(o, pool)->n >= 2 &&
                                   get_integer(s, items_of(o, pool)[0], &group->pool[0]) &&
                                   get_integer(s, items_of(o, pool)[1], &group->pool[1])));
        if (pool && is_valid) {
            keys[i].more = items_of(o, pool) + 2;
            keys[i].n_more = container_of(o, pool)->n - 2;
        }
        for (uint32_t k = 0; k < keys[i].n_more; k++)
            is_valid &= object_type(keys[i].more[k]) == OBJECT_INTEGER;
        if (!is_valid)
            return snapshot_malformed(s, error, "segment %" PRIu32 " has no valid stream, type and pool", i);
        group->type = type ? snapshot_copy_name(s, (uint32_t)object_payload(type)) : s->empty;
        if (group->type == STRING_NONE)
            return memory_name_error(s->memory, error);
        keys[i].segment = i;
        TRY(add_segment(s, segments[i], &device->segments, error));
        struct memory_segment *listed = &device->segment_list[i];
        listed->address = UINT64_MAX;
        get_unsigned(s, dict_get(o, segments[i], WORD_ADDRESS), &listed->address);
        get_integer(s, dict_get(o, segments[i], WORD_TOTAL_SIZE), &listed->size);
    }
    qsort_r(keys, n, sizeof *keys, compare_segment_keys, &s->memory->names);
    qsort(device->segment_list, n, sizeof *device->segment_list, compare_segments);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || keys[i - 1].group.stream != keys[i].group.stream ||
            keys[i - 1].group.type != keys[i].group.type || compare_pools(&keys[i - 1], &keys[i]) != 0)
            device->segment_groups[device->n_segment_groups++] = keys[i].group;
        TRY(add_segment(s, segments[keys[i].segment], &device->segment_groups[device->n_segment_groups - 1].state,
                        error));
        uint32_t at = device->n_segment_list;
        if (!at || compare_segments(&device->segment_list[at - 1], &device->segment_list[i]))
            device->segment_list[device->n_segment_list++] = device->segment_list[i];
    }
    return SUTRA_OK;
}

/* ---- Allocations ---- */

/* The address of a block. Integers beyond 64 bits and reals are addresses that no event has. */
struct block_address {
    enum { ADDRESS_INTEGER, ADDRESS_OTHER, ADDRESS_INVALID } kind;
    __extension__ __int128 value;
};

static struct block_address read_address(const struct snapshot *s, object_t object) {
    struct block_address address = {ADDRESS_INTEGER, 0};
    uint64_t value = 0;
    int64_t negative = 0;
    if (!object)
        return address;
    if (get_unsigned(s, object, &value))
        address.value = value;
    else if (get_integer(s, object, &negative))
        address.value = negative;
    else
        address.kind =
            object_type(object) == OBJECT_WIDE || object_type(object) == OBJECT_REAL ? ADDRESS_OTHER : ADDRESS_INVALID;
    return address;
}

/* Adds live blocks that no event allocates, and counts live allocations without a block. */
static enum sutra_status match_blocks(struct snapshot *s, const object_t *segments, uint32_t n,
                                      struct memory_device *device, struct sutra_error *error) {
    const struct objects *o = s->objects;
    struct memory_allocs *a = &s->trace->allocs;
    uint32_t n_matched = 0, n_live = 0, n_of_events = a->n;
    uint8_t *is_matched = arena_zeros(s->arena, n_of_events, 1);
    TRY(arena_status(s->arena, error));
    for (uint32_t i = 0; i < n_of_events; i++)
        n_live += a->end[i] == EVENT_NONE;
    for (uint32_t i = 0; i < n; i++) {
        object_t blocks = dict_get(o, segments[i], WORD_BLOCKS);
        struct block_address address = read_address(s, dict_get(o, segments[i], WORD_ADDRESS));
        for (uint32_t k = 0; k < container_of(o, blocks)->n; k++) {
            object_t block = items_of(o, blocks)[k];
            int64_t size = 0;
            object_t value = dict_get(o, block, WORD_ADDR);
            value = value ? value : dict_get(o, block, WORD_ADDRESS);
            if (value)
                address = read_address(s, value);
            if (address.kind == ADDRESS_INVALID)
                return snapshot_malformed(s, error, "a block has no valid address");
            if (dict_get(o, block, WORD_STATE) == object_word(WORD_ACTIVE_ALLOCATED)) {
                bool is_known = address.kind == ADDRESS_INTEGER && address.value >= 0 && address.value <= UINT64_MAX;
                uint32_t row = is_known ? pair_table_find(&s->trace->live, (uint64_t)address.value, 0) : PAIR_NONE;
                if (row != PAIR_NONE) {
                    n_matched += !is_matched[row];
                    is_matched[row] = 1;
                } else {
                    object_t frames = block_frames(s, block), category = dict_get(o, block, WORD_CATEGORY);
                    block_requested(s, block, &size);
                    TRY_ALLOC((row = trace_add_before(s->trace, size)) != EVENT_NONE, error);
                    if (!is_list(frames) && !is_falsy(s, frames))
                        return snapshot_malformed(s, error, "\"frames\" is not a list");
                    if (frames != OBJECT_NONE)
                        s->trace->alloc_list[row] = is_list(frames) ? (uint32_t)object_payload(frames) : LIST_EMPTY;
                    if (object_type(category) != OBJECT_STRING && !is_falsy(s, category))
                        return snapshot_malformed(s, error, "\"category\" is not text");
                    if (object_type(category) == OBJECT_STRING)
                        a->category[row] = (uint32_t)object_payload(category);
                }
            }
            get_integer(s, dict_get(o, block, WORD_SIZE), &size);
            address.value += size;
        }
    }
    device->n_without_block = n ? n_live - n_matched : 0;
    return SUTRA_OK;
}

/* Names frame, operator and category of each allocation. */
static enum sutra_status name_allocs(struct snapshot *s, struct sutra_error *error) {
    struct memory_allocs *a = &s->trace->allocs;
    a->frame = arena_alloc(s->arena, a->n, sizeof *a->frame);
    a->operator_name = arena_alloc(s->arena, a->n, sizeof *a->operator_name);
    TRY(arena_status(s->arena, error));
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t list = s->trace->alloc_list[i], category = a->category[i];
        a->frame[i] = s->before;
        a->operator_name[i] = s->empty;
        if (list != CONTAINER_NONE) {
            list = s->trace->alloc_list[i] = first_equal_list(s->objects, list);
            bool is_named = !a->before[i] || s->objects->containers[list].n;
            TRY(is_named ? snapshot_describe_frames(s, list, &a->frame[i], &a->operator_name[i], error) : SUTRA_OK);
        }
        a->category[i] = category == WORD_N_KEYS ? s->unknown : snapshot_copy_name(s, category);
        if (a->category[i] == STRING_NONE)
            return memory_name_error(s->memory, error);
    }
    return SUTRA_OK;
}

/*
 * ---- The allocator's settings as JSON text ----
 *
 * Input: a dict. Output: its members, without nested dicts at the top level. Nested values are walked with a stack of
 * containers, without recursion. Cost: O(text); the text is limited, because a list may contain another one several
 * times.
 */

#define DEPTH_LIMIT 64
#define TEXT_LIMIT  ((uint64_t)1 << 24)

struct open_container {
    const object_t *items, *keys; /* `keys`: NULL of a list */
    uint32_t n, i;
};

/* An integer of 128 bits in two's complement. */
static void add_wide(struct text_out *text, const struct wide_value *value) {
    __extension__ typedef unsigned __int128 uint128;
    uint128 rest = (uint128)value->high << 64 | value->low;
    char digits[48], *at = digits + sizeof digits;
    bool is_negative = value->high >> 63;
    rest = is_negative ? -rest : rest;
    *--at = '\0';
    do
        *--at = (char)('0' + (int)(rest % 10));
    while ((rest /= 10));
    out_add(text, is_negative ? "-" : "");
    out_add(text, at);
}

static void add_text(const struct snapshot *s, struct text_out *text, object_t string) {
    uint32_t id = (uint32_t)object_payload(string);
    out_string(text, strings_text(&s->objects->strings, id), strings_length(&s->objects->strings, id));
}

static void add_scalar(const struct snapshot *s, struct text_out *text, object_t value) {
    double real = 0;
    switch (object_type(value)) {
    case OBJECT_STRING:
        add_text(s, text, value);
        break;
    case OBJECT_BOOL:
        out_add(text, object_payload(value) ? "true" : "false");
        break;
    case OBJECT_INTEGER:
        out_integer(text, object_small(value));
        break;
    case OBJECT_WIDE:
        add_wide(text, &s->objects->wide[object_payload(value)]);
        break;
    case OBJECT_REAL:
        memcpy(&real, &s->objects->wide[object_payload(value)].low, sizeof real);
        if (real - real == 0) {
            out_number(text, real);
            break;
        }
        __attribute__((fallthrough)); /* JSON has no such number */
    default:
        out_add(text, "null");
    }
}

/* The caller frees `members` in any case. */
static enum sutra_status write_settings(const struct snapshot *s, object_t settings, struct buffer *members,
                                        struct sutra_error *error) {
    const struct objects *o = s->objects;
    struct text_out text = {0};
    struct open_container open[DEPTH_LIMIT] = {{items_of(o, settings),
                                                o->shape_keys + o->shapes[container_of(o, settings)->shape].first,
                                                container_of(o, settings)->n, 0}};
    size_t depth = 1;
    const char *refusal = NULL;
    for (bool is_first = true; depth && !refusal;) {
        struct open_container *top = &open[depth - 1];
        if (top->i == top->n) {
            out_add(&text, --depth == 0 ? "" : top->keys ? "}" : "]");
            is_first = false;
            continue;
        }
        object_t value = top->items[top->i++];
        enum object_type type = object_type(value);
        if (type == OBJECT_DICT && depth == 1)
            continue;
        out_add(&text, is_first ? "" : ", ");
        is_first = false;
        if (top->keys && object_type(top->keys[top->i - 1]) == OBJECT_STRING) {
            add_text(s, &text, top->keys[top->i - 1]);
            out_add(&text, ": ");
        } else if (top->keys) {
            out_add(&text, "\"");
            add_scalar(s, &text, top->keys[top->i - 1]);
            out_add(&text, "\": ");
        }
        if (type == OBJECT_DICT || is_list(value)) {
            const struct container *container = container_of(o, value);
            const object_t *keys = type == OBJECT_DICT ? o->shape_keys + o->shapes[container->shape].first : NULL;
            refusal = depth == DEPTH_LIMIT ? "are nested too deeply" : NULL;
            if (!refusal)
                open[depth++] = (struct open_container){o->items + container->first, keys, container->n, 0};
            out_add(&text, keys ? "{" : "[");
            is_first = true;
        } else {
            add_scalar(s, &text, value);
        }
        if (text.out.length > TEXT_LIMIT)
            refusal = "are too long";
    }
    *members = text.out;
    if (refusal)
        return snapshot_malformed(s, error, "\"allocator_settings\" %s", refusal);
    return text.out.failed ? error_memory(error) : SUTRA_OK;
}

/* ---- Devices ---- */

/* Adds the events of a list to a trace. */
static enum sutra_status add_events(const struct snapshot *s, object_t list, struct snapshot_trace *trace,
                                    struct sutra_error *error) {
    const struct objects *o = s->objects;
    for (uint32_t i = 0, n = list ? container_of(o, list)->n : 0; i < n; i++) {
        object_t event = items_of(o, list)[i];
        if (object_type(event) != OBJECT_DICT)
            return snapshot_malformed(s, error, "event %" PRIu32 " is not a dict", i);
        const struct container *dict = container_of(o, event);
        struct snapshot_event decoded;
        enum sutra_status status =
            decode_event(s, i, o->shapes[dict->shape].position, o->items + dict->first, 1, &decoded, error);
        if (status || (status = trace_add_event(s, trace, &decoded, error)))
            return status;
    }
    return SUTRA_OK;
}

static enum sutra_status read_device(struct snapshot *s, const object_t *segments, uint32_t n_segments,
                                     object_t annotations, uint32_t number, struct memory_device *device,
                                     struct sutra_error *error) {
    struct snapshot_trace *trace = s->trace;
    struct memory_allocs *a = &trace->allocs;
    uint32_t n = trace->n;
    snprintf(device->name, sizeof device->name, "cuda:%" PRIu32, number);
    device->step_source = STRING_NONE;
    device->n_events = n;
    device->time_ns = trace->time_ns;
    device->allocated = trace->allocated;
    device->active = trace->active;
    device->reserved = trace->reserved;
    device->has_time = n > 0 && trace->has_time;
    device->n_lost_frees = trace->n_lost_frees;
    enum sutra_status status;
    if (__builtin_add_overflow(s->total_size, trace->total_size, &s->total_size))
        return snapshot_malformed(s, error, "sizes sum to more than 2^63 bytes");
    if ((status = read_segments(s, segments, n_segments, device, error)) ||
        (status = match_blocks(s, segments, n_segments, device, error)) || (status = name_allocs(s, error)))
        return status;
    for (uint32_t i = 0; i < n && !device->has_time; i++)
        device->time_ns[i + 1] = (int64_t)i * 1000;
    device->time_ns[0] = n ? device->time_ns[1] : 0;

    /* The state before the first event: allocations without an alloc event; reserved bytes are known at the end. */
    struct memory_facts facts = {.allocs = a, .stack_name = snapshot_name_stack, .arg = s};
    for (uint32_t i = 0; i < a->n; i++)
        facts.before_bytes += a->before[i] ? a->size[i] : 0;
    facts.before_reserved = device->segments.reserved - device->reserved[n];
    device->is_negative = facts.before_reserved < 0;
    uint32_t *segment_allocs = arena_alloc(s->arena, trace->n_segment_events, sizeof *segment_allocs);
    TRY(arena_status(s->arena, error));
    facts.segment_allocs = segment_allocs;
    for (uint32_t i = 0; i < trace->n_segment_events; i++) {
        const struct segment_event *event = &trace->segment_events[i];
        if (event->action == WORD_SEGMENT_ALLOC || event->action == WORD_SEGMENT_MAP) {
            segment_allocs[facts.n_segment_allocs++] = event->event;
            device->segment_alloc_bytes += event->size;
        } else if (event->action != WORD_OOM) {
            device->n_segment_frees++;
            device->segment_free_bytes += event->size;
        }
    }
    device->n_segment_allocs = facts.n_segment_allocs;
    if ((device->has_time && (status = snapshot_find_steps(s, annotations, number, device, error))) ||
        (status = snapshot_find_runs(s, device, error)) ||
        (status = memory_summarize(s->memory, device, &facts, s->arena, error)))
        return status;
    return snapshot_find_ooms(s, device, error);
}

/* Segments of each device, one device after the other; counts[d] is the first segment of device d. */
static enum sutra_status sort_segments(const struct snapshot *s, object_t segments, object_t *sorted, uint32_t *counts,
                                       struct sutra_error *error) {
    uint32_t n = container_of(s->objects, segments)->n;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < n; i++) {
            object_t segment = items_of(s->objects, segments)[i], value = dict_get(s->objects, segment, WORD_DEVICE);
            int64_t device = 0;
            if (value && (!get_integer(s, value, &device) || device < 0 || device >= DEVICES_MAX))
                return snapshot_malformed(s, error, "segment %" PRIu32 ": device is not a number from 0 to %d", i,
                                          DEVICES_MAX - 1);
            if (pass)
                sorted[counts[device]++] = segment;
            else
                counts[device + 2]++;
        }
        for (uint32_t d = 0; d < DEVICES_MAX && !pass; d++)
            counts[d + 2] += counts[d + 1];
        counts += !pass;
    }
    return SUTRA_OK;
}

static enum sutra_status read_devices(struct snapshot *s, object_t root, struct memory_input *input,
                                      struct sutra_error *error) {
    const struct objects *o = s->objects;
    object_t segments = root, traces = OBJECT_NONE, annotations = OBJECT_NONE;
    if (object_type(root) == OBJECT_DICT) {
        segments = dict_get(o, root, WORD_SEGMENTS);
        traces = dict_get(o, root, WORD_DEVICE_TRACES);
        annotations = dict_get(o, root, WORD_EXTERNAL_ANNOTATIONS);
        object_t settings = dict_get(o, root, WORD_ALLOCATOR_SETTINGS);
        if (object_type(settings) == OBJECT_DICT)
            TRY(write_settings(s, settings, &input->settings, error));
        else if (!is_falsy(s, settings))
            return snapshot_malformed(s, error, "\"allocator_settings\" is not a dict");
    }
    object_t empty = objects_list(s->objects, OBJECT_LIST, NULL, 0);
    TRY_ALLOC(empty, error);
    segments = is_falsy(s, segments) ? empty : segments;
    traces = is_falsy(s, traces) ? empty : traces;
    if (!is_list(segments) || !is_list(traces))
        return snapshot_malformed(s, error, "segments and device_traces are not lists");
    TRY(check_input(s, segments, traces, error));
    uint32_t n_traces = container_of(o, traces)->n, n_segments = container_of(o, segments)->n;
    object_t *sorted = arena_alloc(s->arena, n_segments, sizeof *sorted);
    uint32_t *counts = arena_zeros(s->arena, DEVICES_MAX + 2, sizeof *counts);
    TRY(arena_status(s->arena, error));
    TRY(sort_segments(s, segments, sorted, counts, error));
    for (uint32_t d = DEVICES_MAX; d < n_traces; d++)
        if (is_list(items_of(o, traces)[d]) && container_of(o, items_of(o, traces)[d])->n)
            return snapshot_malformed(s, error, "more than %d devices", DEVICES_MAX);
    enum sutra_status status = SUTRA_OK;
    for (uint32_t pass = 0; pass < 2 && !status; pass++) {
        uint32_t n = 0;
        for (uint32_t d = 0; d < DEVICES_MAX && !status; d++) {
            object_t trace = d < n_traces ? items_of(o, traces)[d] : OBJECT_ABSENT;
            trace = is_list(trace) ? trace : OBJECT_ABSENT;
            uint32_t n_own = counts[d + 1] - counts[d];
            if (!n_own && (!trace || !container_of(o, trace)->n))
                continue;
            if (pass) {
                bool is_streamed = trace && container_of(o, trace)->shape == LIST_EVENTS;
                struct arena_mark mark = arena_mark(s->arena);
                struct snapshot_trace own = {0};
                s->trace = is_streamed ? stream_next_trace(s->stream) : &own;
                if (!is_streamed && !(status = trace_begin(&own, &s->memory->arena, s->arena,
                                                           trace ? container_of(o, trace)->n : 0, error)))
                    status = add_events(s, trace, &own, error);
                if (!status)
                    status = read_device(s, sorted + counts[d], n_own, annotations, d, &input->devices[n], error);
                trace_free(&own);
                arena_release(s->arena, mark);
            }
            n++;
        }
        if (!pass)
            TRY_ALLOC(input->devices = arena_zeros(&s->memory->arena, n, sizeof *input->devices), error);
        input->n_devices = n;
    }
    if (!status && !input->n_devices)
        return error_file(error, SUTRA_DATA, s->source->name, "empty memory snapshot: no segments and no events");
    return status;
}

/* Parses and analyzes the snapshot; *end is the offset after it. */
static enum sutra_status read_snapshot(struct snapshot *s, struct sutra_context *context, struct memory_input *input,
                                       size_t *end, struct sutra_error *error) {
    const struct source *source = s->source;
    struct objects *o = s->objects;
    object_t root = OBJECT_ABSENT;
    if (is_pickle(source->bytes, source->size)) {
        struct pickle_events events;
        bool has_threads = s->memory->has_threads && source->size >= MEMORY_THREAD_BYTES;
        TRY_ALLOC(s->stream = stream_begin(s, has_threads, &events), error);
        enum sutra_status status = pickle_read(o, source, &events, &root, end, error);
        bool has_objects = events.failed; /* of the events */
        stream_end(s->stream);
        if (!status && !has_objects && (events.failed || !stream_matches(s->stream, root))) {
            has_objects = true;
            objects_free(o);
            status = objects_init(o) ? pickle_read(o, source, NULL, &root, end, error) : error_memory(error);
        }
        if (has_objects)
            stream_drop_traces(s->stream);
        TRY(status);
    } else {
        TRY(objects_read_json(o, source, &root, error));
    }
    object_t first = is_list(root) && container_of(o, root)->n ? items_of(o, root)[0] : OBJECT_ABSENT;
    bool is_segments = object_type(first) == OBJECT_DICT && dict_get(o, first, WORD_BLOCKS);
    bool is_snapshot = object_type(root) == OBJECT_DICT && dict_get(o, root, WORD_SEGMENTS);
    const bool is_other_pickle = is_pickle(source->bytes, source->size) &&
                                 file_kind(source->name, source->bytes, source->size).format != FILE_DUMP;
    if (!is_segments && !is_snapshot && !is_other_pickle)
        return source_refuse(source, 0, MEMORY_EXPECTED, MEMORY_ADVICE, error);
    if (!is_segments && !is_snapshot)
        return error_file(error, SUTRA_DATA, source->name,
                          "this pickle is not a memory snapshot: it has no \"segments\"" MEMORY_ADVICE);

    stage_begin(context, "analyze memory", 0);
    uint32_t n_strings = o->strings.n;
    s->file_flags = arena_zeros(s->arena, n_strings, 1);
    s->name_flags = arena_zeros(s->arena, n_strings, 1);
    s->frame_flags = arena_zeros(s->arena, o->n_containers, 1);
    s->frame_texts = arena_zeros(s->arena, o->n_containers, sizeof *s->frame_texts);
    s->copied = arena_zeros(s->arena, n_strings, sizeof *s->copied);
    s->lists = arena_zeros(s->arena, o->n_containers, sizeof *s->lists);
    s->before = memory_name(s->memory, "<before recording>", 18);
    s->no_frames = memory_name(s->memory, "<no frames>", 11);
    s->non_python = memory_name(s->memory, "<non-python>", 12);
    s->unknown = memory_name(s->memory, "unknown", 7);
    s->empty = memory_name(s->memory, "", 0);
    TRY_ALLOC(s->empty != STRING_NONE && !s->arena->failed && pair_table_init(&s->frames) && strings_init(&s->texts),
              error);
    return error_name_file(error, read_devices(s, root, input, error), source->name);
}

enum sutra_status memory_read_snapshot(struct sutra_context *context, struct sutra_memory *memory,
                                       struct memory_input *input, const struct source *source,
                                       struct sutra_error *error) {
    struct arena arena = {0};
    struct objects objects;
    struct snapshot s = {.memory = memory, .objects = &objects, .source = source, .arena = &arena};
    size_t end = source->size;
    memory->names_limit = memory->names.n_bytes + NAMES_PER_BYTE * source->size + NAMES_FREE;
    input->is_snapshot = true;
    stage_begin(context, "parse snapshot", 0);
    enum sutra_status status = objects_init(&objects) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = read_snapshot(&s, context, input, &end, error);
    size_t rest = end;
    while (!status && rest < source->size && !source->bytes[rest])
        rest++;
    if (!status && rest < source->size) {
        char text[100];
        int n = snprintf(text, sizeof text, "%zu bytes after the end of the pickle: ignored", source->size - end);
        char *kept = arena_alloc(&memory->arena, (size_t)n + 1, 1);
        if (kept)
            input->warning = memcpy(kept, text, (size_t)n + 1);
        else
            status = error_memory(error);
    }
    stream_free(s.stream);
    pair_table_free(&s.frames);
    strings_free(&s.texts);
    objects_free(&objects);
    arena_free(&arena);
    stage_end(context);
    return status;
}
