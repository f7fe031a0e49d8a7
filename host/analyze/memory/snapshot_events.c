/*
 * snapshot_events.c - steps, retries and out-of-memory events of a device of a memory snapshot.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory/snapshot.h"
#include "base/error.h"

/* ---- Steps ---- */

struct snapshot_annotation {
    int64_t time_us;
    uint32_t row, name, before; /* `before`: the range of this name that is open around this one */
    bool is_start;
};

struct snapshot_range {
    int64_t start_us, end_us;
    uint32_t name, row;
};

static int compare_annotations(const void *a, const void *b) {
    const struct snapshot_annotation *x = a, *y = b;
    return x->time_us != y->time_us ? (x->time_us < y->time_us ? -1 : 1) : (x->row > y->row) - (x->row < y->row);
}

static int compare_starts(const void *a, const void *b) {
    const struct snapshot_range *x = a, *y = b;
    return x->start_us != y->start_us ? (x->start_us < y->start_us ? -1 : 1) : (x->row > y->row) - (x->row < y->row);
}

static int compare_range_ends(const void *a, const void *b) {
    const struct snapshot_range *x = a, *y = b;
    return (x->end_us > y->end_us) - (x->end_us < y->end_us);
}

/* Steps are the annotations ProfilerStep#N; else ranges that end with the steps of the first optimizer. */
enum sutra_status snapshot_find_steps(struct snapshot *s, object_t annotations, int64_t number_of_device,
                                      struct memory_device *device, struct sutra_error *error) {
    const struct objects *o = s->objects;
    uint32_t n = object_type(annotations) <= OBJECT_NONE ? 0 : container_of(o, annotations)->n, n_kept = 0,
             n_ranges = 0;
    struct snapshot_annotation *list = arena_take(s->arena, n, sizeof *list);
    struct snapshot_range *ranges = arena_take(s->arena, n, sizeof *ranges);
    struct pair_table open = {0};
    if (!list || !ranges)
        return error_memory(error);
    for (uint32_t i = 0; i < n; i++) {
        object_t value = items_of(o, annotations)[i];
        if (object_type(value) != OBJECT_DICT)
            return snapshot_malformed(s, error, "annotation %" PRIu32 " is not a dict", i);
        object_t of = dict_get(o, value, WORD_DEVICE), stage = dict_get(o, value, WORD_STAGE),
                 name = dict_get(o, value, WORD_NAME);
        int64_t number = number_of_device;
        if (of && (!get_integer(s, of, &number) || number != number_of_device))
            continue;
        struct snapshot_annotation *kept = &list[n_kept++];
        if (!get_integer(s, dict_get(o, value, WORD_TIME_US), &kept->time_us) || kept->time_us > TIME_US_MAX ||
            kept->time_us < -TIME_US_MAX || !stage || object_type(name) != OBJECT_STRING)
            return snapshot_malformed(s, error, "annotation %" PRIu32 " has no valid stage, name and time_us", i);
        kept->row = i;
        kept->name = (uint32_t)object_payload(name);
        kept->is_start = stage == object_word(WORD_START);
        if (!kept->is_start && stage != object_word(WORD_END))
            n_kept--;
    }
    if (n_kept)
        qsort(list, n_kept, sizeof *list, compare_annotations);
    if (n_kept && !pair_table_init(&open))
        return error_memory(error);
    for (uint32_t i = 0; i < n_kept; i++) {
        struct pair_entry *entry = pair_table_take(&open, list[i].name, 0);
        if (!entry) {
            pair_table_free(&open);
            return error_memory(error);
        }
        if (list[i].is_start) {
            list[i].before = entry->number;
            entry->number = i;
        } else if (entry->number != PAIR_NONE) {
            const struct snapshot_annotation *start = &list[entry->number];
            ranges[n_ranges] = (struct snapshot_range){start->time_us, list[i].time_us, list[i].name, n_ranges};
            n_ranges++;
            entry->number = start->before;
        }
    }
    pair_table_free(&open);

    /* Keep ProfilerStep ranges if there are some, else the ranges of one optimizer. */
    uint32_t n_steps = 0, first = EVENT_NONE;
    int64_t number;
    for (uint32_t i = 0; i < n_ranges; i++) {
        const char *text = strings_text(&o->strings, ranges[i].name);
        n_steps += memory_step_number(text, &number);
        if (strncmp(text, "Optimizer.step#", 15) == 0 &&
            (first == EVENT_NONE || ranges[i].start_us < ranges[first].start_us))
            first = i;
    }
    if (!n_steps && first == EVENT_NONE)
        return SUTRA_OK;
    uint32_t kept_name = n_steps ? STRING_NONE : ranges[first].name, n_of = 0;
    for (uint32_t i = 0; i < n_ranges; i++) {
        bool is_step = memory_step_number(strings_text(&o->strings, ranges[i].name), &number);
        if (n_steps ? is_step : ranges[i].name == kept_name)
            ranges[n_of++] = ranges[i];
    }
    qsort(ranges, n_of, sizeof *ranges, n_steps ? compare_starts : compare_range_ends);
    device->steps = arena_zeros(&s->memory->arena, n_of, sizeof *device->steps);
    device->step_source = n_steps ? memory_name(s->memory, "ProfilerStep", 12) : snapshot_copy_name(s, kept_name);
    if (!device->steps)
        return error_memory(error);
    if (device->step_source == STRING_NONE)
        return memory_name_error(s->memory, error);
    device->n_steps = n_of;
    for (uint32_t i = 0; i < n_of; i++) {
        struct memory_step *step = &device->steps[i];
        step->number = i;
        step->start_ns = i ? step[-1].end_ns : device->time_ns[0];
        step->end_ns = ranges[i].end_us * 1000 + 1000;
        if (!n_steps)
            continue;
        memory_step_number(strings_text(&o->strings, ranges[i].name), &step->number);
        step->start_ns = ranges[i].start_us * 1000;
    }
    return SUTRA_OK;
}

/* ---- Frees of segments, out-of-memory events ---- */

static bool frees_segment(object_t action) {
    return action == object_word(WORD_SEGMENT_FREE) || action == object_word(WORD_SEGMENT_UNMAP);
}

/* Consecutive frees of segments: of empty_cache(), or before an allocation that failed first (a retry). */
enum sutra_status snapshot_find_runs(struct snapshot *s, const struct snapshot_events *events,
                                     struct memory_device *device, struct sutra_error *error) {
    uint32_t n_runs = 0, n = events->n;
    for (uint32_t i = 0; i < n; i++)
        n_runs += frees_segment(events->action[i]) && (!i || !frees_segment(events->action[i - 1]));
    device->runs = arena_zeros(&s->memory->arena, n_runs, sizeof *device->runs);
    if (!device->runs)
        return error_memory(error);
    for (uint32_t i = 0, end; i < n; i = end) {
        end = i + 1;
        if (!frees_segment(events->action[i]))
            continue;
        struct memory_run *run = &device->runs[device->n_runs++];
        bool is_requested;
        enum sutra_status status = snapshot_is_empty_cache(s, events->frames[i], &is_requested, error);
        if (status)
            return status;
        for (end = i; end < n && frees_segment(events->action[end]); end++)
            run->bytes += events->size[end];
        object_t next = end < n ? events->action[end] : OBJECT_ABSENT;
        bool is_retry = next == object_word(WORD_SEGMENT_ALLOC) || next == object_word(WORD_SEGMENT_MAP) ||
                        next == object_word(WORD_OOM);
        run->kind = is_requested ? "empty_cache" : is_retry ? "retry" : "other";
        run->event = i;
        run->n_segments = end - i;
        device->n_empty_cache += is_requested;
        device->n_retries += !is_requested && is_retry;
    }
    return SUTRA_OK;
}

struct named_id {
    const struct strings *names;
    uint32_t name;
};

static int compare_ids(const void *a, const void *b) {
    const struct named_id *x = a, *y = b;
    return memory_compare_names(x->names, x->name, y->name);
}

/* Live bytes by frame while events are repeated: a tree of maxima over frames in ascending order. */
struct frame_totals {
    struct peak_tree tree;
    struct named_id *ids; /* of slots */
    uint32_t *slot;       /* of names */
    uint32_t *counts;
    int64_t *bytes, live_bytes;
    uint32_t n;
};

static void change_frame_total(struct frame_totals *h, uint32_t name, int64_t bytes, bool adds) {
    uint32_t slot = h->slot[name];
    h->counts[slot] += adds ? 1u : UINT32_MAX;
    h->bytes[slot] += adds ? bytes : -bytes;
    h->live_bytes += adds ? bytes : -bytes;
    peak_tree_set(&h->tree, slot, h->counts[slot] ? h->bytes[slot] : -1);
}

static enum sutra_status init_frame_totals(struct snapshot *s, struct frame_totals *h, struct sutra_error *error) {
    const struct memory_allocs *a = &s->allocs;
    uint32_t n_names = s->memory->names.n;
    h->slot = arena_zeros(s->arena, n_names, sizeof *h->slot);
    h->ids = arena_take(s->arena, (size_t)a->n + 1, sizeof *h->ids);
    if (!h->slot || !h->ids)
        return error_memory(error);
    for (uint32_t i = 0; i < a->n; i++)
        if (!h->slot[a->frame[i]]++)
            h->ids[h->n++] = (struct named_id){&s->memory->names, a->frame[i]};
    if (h->n)
        qsort(h->ids, h->n, sizeof *h->ids, compare_ids);
    for (uint32_t i = 0; i < h->n; i++)
        h->slot[h->ids[i].name] = i;
    h->counts = arena_zeros(s->arena, h->n, sizeof *h->counts);
    h->bytes = arena_zeros(s->arena, h->n, sizeof *h->bytes);
    if (!peak_tree_init(&h->tree, s->arena, h->n ? h->n : 1) || !h->counts || !h->bytes)
        return error_memory(error);
    return SUTRA_OK;
}

static enum sutra_status fill_oom(struct snapshot *s, const object_t *list, const struct snapshot_events *events,
                                  uint32_t i, struct memory_device *device, struct frame_totals *h, bool is_last,
                                  struct sutra_error *error) {
    struct memory_oom *oom = &device->ooms[device->n_ooms++];
    object_t free_value = dict_get(s->objects, list[i], WORD_DEVICE_FREE);
    uint32_t unused;
    free_value = free_value ? free_value : dict_get(s->objects, list[i], WORD_ADDR);
    if (free_value && (!get_integer(s, free_value, &oom->device_free) || llabs(oom->device_free) > (int64_t)1 << 60))
        return snapshot_malformed(s, error, "event %" PRIu32 " has no valid device_free", i);
    oom->event = i;
    oom->time_ns = device->time_ns[i + 1];
    oom->requested = events->size[i];
    oom->active = device->active[i + 1];
    oom->reserved = device->reserved[i + 1];
    oom->largest_free_block = is_last ? device->segments.largest_free_block : -1;
    oom->fits_unfragmented = oom->requested <= oom->reserved - oom->active + oom->device_free;
    oom->live_bytes = h->live_bytes;
    while (h->n && oom->n_frames < MEMORY_N_OOM_FRAMES) {
        uint32_t slot = peak_tree_find(&h->tree, 0, h->n);
        if (h->tree.values[slot] < 0)
            break;
        oom->largest_frames[oom->n_frames++] =
            (struct memory_group){h->ids[slot].name, h->counts[slot], h->bytes[slot]};
        peak_tree_set(&h->tree, slot, -1);
    }
    for (uint32_t k = 0; k < oom->n_frames; k++)
        peak_tree_set(&h->tree, h->slot[oom->largest_frames[k].name], oom->largest_frames[k].bytes);
    return snapshot_describe_frames(s, events->frames[i], &oom->frame, &oom->operator_name, &unused, error);
}

/* Repeats the events to know the holders at each out-of-memory event: O(log frames) for each event. */
enum sutra_status snapshot_find_ooms(struct snapshot *s, const object_t *list, const struct snapshot_events *events,
                                     struct memory_device *device, struct sutra_error *error) {
    const struct memory_allocs *a = &s->allocs;
    uint32_t n_ooms = 0, last_change = 0;
    for (uint32_t i = 0; i < events->n; i++) {
        object_t action = events->action[i];
        n_ooms += action == object_word(WORD_OOM);
        if (action == object_word(WORD_ALLOC) || action == object_word(WORD_FREE_COMPLETED) ||
            action == object_word(WORD_SEGMENT_ALLOC) || action == object_word(WORD_SEGMENT_MAP) ||
            frees_segment(action))
            last_change = i;
    }
    if (!n_ooms)
        return SUTRA_OK;
    struct frame_totals h = {0};
    enum sutra_status status = init_frame_totals(s, &h, error);
    device->ooms = arena_zeros(&s->memory->arena, n_ooms, sizeof *device->ooms);
    uint32_t *freed = arena_take(s->arena, events->n, sizeof *freed); /* allocation that an event frees */
    if (!status && (!device->ooms || !freed))
        status = error_memory(error);
    if (status)
        return status;
    memset(freed, 0xff, events->n * sizeof *freed);
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->end[i] != EVENT_NONE)
            freed[a->end[i]] = i;
        if (a->begin[i] == 0)
            change_frame_total(&h, a->frame[i], a->size[i], true);
    }
    uint32_t next = 0; /* allocations are in the order of events; allocations before the recording are between them */
    for (uint32_t i = 0; i < events->n && !status; i++) {
        if (freed[i] != EVENT_NONE)
            change_frame_total(&h, a->frame[freed[i]], a->size[freed[i]], false);
        if (events->action[i] == object_word(WORD_OOM))
            status = fill_oom(s, list, events, i, device, &h, i >= last_change, error);
        if (events->action[i] != object_word(WORD_ALLOC))
            continue;
        while (a->begin[next] != i + 1)
            next++;
        change_frame_total(&h, a->frame[next], a->size[next], true);
    }
    return status;
}
