/*
 * snapshot_traces.c - the events of a memory snapshot: points and allocations of each device.
 *
 * Input: events as dicts, from objects or while pickle_read() reads them. An event finds the allocation of its address
 * in a hash table. Allocations that are freed without an alloc event were made before the recording. Bytes of points
 * are relative to the state before the first event, which is known at the end.
 * Cost: O(1) per event, 32 bytes per event and 37 per allocation.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory/snapshot.h"
#include "base/error.h"
#include "base/shared.h"
#include "base/threads.h"

#define N_BATCHES    4
#define BATCH_EVENTS 2048
#define GROWTH       8 /* of full columns: a copy is rare, and memory that is not used costs nothing */

/* ---- Columns ---- */

/* A copy of the first n elements of a column, with room for `capacity` elements; NULL: out of memory. */
static void *enlarged(struct arena *arena, const void *column, uint64_t n, uint64_t capacity, size_t size) {
    void *larger = arena_alloc(arena, capacity, size);
    if (larger && n)
        memcpy(larger, column, n * size);
    return larger;
}

static bool enlarge_points(struct snapshot_trace *trace, uint64_t capacity) {
    uint64_t n = trace->time_ns ? (uint64_t)trace->n + 1 : 0;
    trace->capacity = capacity;
#define COLUMN(column) (column = enlarged(trace->points_arena, column, n, capacity + 1, sizeof *column))
    return COLUMN(trace->time_ns) && COLUMN(trace->allocated) && COLUMN(trace->active) && COLUMN(trace->reserved);
#undef COLUMN
}

static bool enlarge_allocs(struct snapshot_trace *trace, uint64_t capacity) {
    struct memory_allocs *a = &trace->allocs;
    trace->alloc_capacity = capacity;
#define COLUMN(column) (column = enlarged(trace->arena, column, a->n, capacity, sizeof *column))
    return COLUMN(a->size) && COLUMN(a->begin) && COLUMN(a->end) && COLUMN(a->request) && COLUMN(a->category) &&
           COLUMN(a->before) && COLUMN(trace->alloc_list);
#undef COLUMN
}

enum sutra_status trace_begin(struct snapshot_trace *trace, struct arena *points_arena, struct arena *arena, uint32_t n,
                              struct sutra_error *error) {
    *trace = (struct snapshot_trace){.points_arena = points_arena, .arena = arena, .has_time = true};
    TRY_ALLOC(pair_table_init(&trace->live) && enlarge_points(trace, n) && enlarge_allocs(trace, n) && trace->time_ns &&
                  trace->allocated && trace->active && trace->reserved,
              error);
    trace->time_ns[0] = trace->allocated[0] = trace->active[0] = trace->reserved[0] = 0;
    return SUTRA_OK;
}

void trace_free(struct snapshot_trace *trace) {
    pair_table_free(&trace->live);
}

/* ---- Events ---- */

enum sutra_status decode_event(const struct snapshot *s, uint32_t i, const uint32_t *position, const object_t *values,
                               size_t stride, struct snapshot_event *event, struct sutra_error *error) {
#define VALUE(word) (position[word] ? values[(position[word] - 1) * stride] : OBJECT_ABSENT)
    object_t action = VALUE(WORD_ACTION), size = VALUE(WORD_SIZE), time = VALUE(WORD_TIME_US),
             address = VALUE(WORD_ADDR), frames = VALUE(WORD_FRAMES), category = VALUE(WORD_CATEGORY),
             free_value = VALUE(WORD_DEVICE_FREE);
#undef VALUE
    uint64_t size_bytes = 0;
    *event = (struct snapshot_event){.frames = frames,
                                     .free_value = free_value ? free_value : address,
                                     .category = WORD_N_KEYS,
                                     .has_address = address,
                                     .has_size = size,
                                     .has_time = time};
    const char *invalid = address && !get_unsigned(s, address, &event->address) ? "addr"
                          : size && !get_unsigned(s, size, &size_bytes)         ? "size"
                          : time && !get_unsigned(s, time, &event->time_us)     ? "time_us"
                                                                                : NULL;
    if (invalid)
        return error_file(error, SUTRA_DATA, s->source->name, "event %" PRIu32 ": %s is not an unsigned 64-bit integer",
                          i, invalid);
    if (size_bytes > INT64_MAX)
        return snapshot_malformed(s, error, "sizes up to event %" PRIu32 " sum to more than 2^63 bytes", i);
    if (event->time_us > TIME_US_MAX)
        return snapshot_malformed(s, error, "event %" PRIu32 ": time_us is after the year 2262", i);
    if (!action)
        return snapshot_malformed(s, error, "event %" PRIu32 " has no \"action\"", i);
    event->size = (int64_t)size_bytes;
    bool is_word = object_type(action) == OBJECT_STRING && object_payload(action) < N_WORDS;
    event->action = (uint8_t)(is_word ? object_payload(action) : WORD_N_KEYS);
    if (event->action == WORD_ALLOC) {
        if (!is_list(frames) && !is_falsy(s, frames))
            return snapshot_malformed(s, error, "\"frames\" is not a list");
        if (object_type(category) != OBJECT_STRING && !is_falsy(s, category))
            return snapshot_malformed(s, error, "\"category\" is not text");
        if (object_type(category) == OBJECT_STRING)
            event->category = (uint32_t)object_payload(category);
    }
    bool needs_size =
        event->action == WORD_OOM || (event->action >= WORD_SEGMENT_ALLOC && event->action <= WORD_SEGMENT_UNMAP);
    if (needs_size && !size)
        return snapshot_malformed(s, error, "event %" PRIu32 " has no \"size\"", i);
    return SUTRA_OK;
}

/* A new allocation; its row, or EVENT_NONE. */
static inline uint32_t add_alloc(struct snapshot_trace *trace, int64_t size, uint32_t begin) {
    struct memory_allocs *a = &trace->allocs;
    if (a->n == trace->alloc_capacity && !enlarge_allocs(trace, GROWTH * trace->alloc_capacity + 64))
        return EVENT_NONE;
    uint32_t row = a->n++;
    a->size[row] = size;
    a->begin[row] = begin;
    a->end[row] = a->request[row] = EVENT_NONE;
    a->category[row] = WORD_N_KEYS;
    a->before[row] = begin == 0;
    trace->alloc_list[row] = CONTAINER_NONE;
    return row;
}

uint32_t trace_add_before(struct snapshot_trace *trace, int64_t size) {
    return add_alloc(trace, size, 0);
}

enum sutra_status trace_add_event(const struct snapshot *s, struct snapshot_trace *trace,
                                  const struct snapshot_event *event, struct sutra_error *error) {
    struct memory_allocs *a = &trace->allocs;
    uint32_t i = trace->n;
    if (i == trace->capacity && !enlarge_points(trace, GROWTH * trace->capacity + 64))
        return error_memory(error);
    if (i >= EVENT_NONE / 2 || __builtin_add_overflow(trace->total_size, event->size, &trace->total_size))
        return snapshot_malformed(s, error, "sizes up to event %" PRIu32 " sum to more than 2^63 bytes", i);
    int64_t allocated = trace->allocated[i], active = trace->active[i], reserved = trace->reserved[i];
    bool is_alloc = event->action == WORD_ALLOC, is_request = event->action == WORD_FREE_REQUESTED;
    if (is_alloc || is_request || event->action == WORD_FREE_COMPLETED) {
        struct pair_entry *entry = pair_table_insert(&trace->live, event->address, !event->has_address);
        TRY_ALLOC(entry, error);
        uint32_t row = entry->number;
        if (row == PAIR_NONE && !is_alloc && (entry->number = row = add_alloc(trace, event->size, 0)) == EVENT_NONE)
            return error_memory(error);
        if (row != PAIR_NONE && a->request[row] == EVENT_NONE) { /* of an alloc: a free was not recorded */
            a->request[row] = i;
            allocated -= a->size[row];
        }
        if (row != PAIR_NONE && !is_request) {
            a->end[row] = i;
            active -= a->size[row];
            entry->number = PAIR_NONE;
            trace->n_lost_frees += is_alloc;
        }
        if (is_alloc) {
            TRY_ALLOC((entry->number = row = add_alloc(trace, event->size, i + 1)) != EVENT_NONE, error);
            trace->alloc_list[row] = is_list(event->frames) ? (uint32_t)object_payload(event->frames) : LIST_EMPTY;
            a->category[row] = event->category;
            allocated += event->size;
            active += event->size;
        }
        trace->last_change = is_request ? trace->last_change : i;
    } else if (event->action == WORD_OOM ||
               (event->action >= WORD_SEGMENT_ALLOC && event->action <= WORD_SEGMENT_UNMAP)) {
        if (trace->n_segment_events == trace->segment_capacity) {
            trace->segment_capacity = GROWTH * trace->segment_capacity + 64;
            trace->segment_events = enlarged(trace->arena, trace->segment_events, trace->n_segment_events,
                                             trace->segment_capacity, sizeof *trace->segment_events);
            TRY_ALLOC(trace->segment_events, error);
        }
        trace->segment_events[trace->n_segment_events++] =
            (struct segment_event){i, event->action, event->size, event->frames, event->free_value};
        bool allocates = event->action == WORD_SEGMENT_ALLOC || event->action == WORD_SEGMENT_MAP;
        bool changes = event->action != WORD_OOM;
        reserved += allocates ? event->size : changes ? -event->size : 0;
        trace->last_change = changes ? i : trace->last_change;
    }
    trace->has_time &= event->has_time;
    trace->time_ns[i + 1] = (int64_t)event->time_us * 1000;
    trace->allocated[i + 1] = allocated;
    trace->active[i + 1] = active;
    trace->reserved[i + 1] = reserved;
    trace->n++;
    return SUTRA_OK;
}

/* ---- Stream ---- */

struct event_batch {
    uint32_t list, n;
    struct snapshot_event events[BATCH_EVENTS];
};

struct event_stream {
    const struct snapshot *s;
    struct pickle_events *events;
    unsigned n_filled, n_added; /* batches so far; modulo N_BATCHES their positions in the ring */
    bool ends, has_thread, has_failed;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct background_call background_call;
    struct snapshot_trace *traces;
    uint64_t n_traces, capacity, n_requested;
    struct arena_mark points_mark, mark;
    struct event_batch batches[N_BATCHES];
};

/* Appends a batch to the trace of its list. False: out of memory, or sizes are too large. */
static bool add_batch(struct event_stream *stream, const struct event_batch *batch) {
    struct arena *arena = stream->s->arena, *points_arena = &stream->s->memory->arena;
    struct snapshot_trace *trace = stream->n_traces ? &stream->traces[stream->n_traces - 1] : NULL;
    if (!trace || trace->list != batch->list) {
        if (!arena_grow(arena, &stream->traces, stream->n_traces, &stream->capacity, sizeof *stream->traces) ||
            !stream->traces)
            return false;
        trace = &stream->traces[stream->n_traces++];
        if (trace_begin(trace, points_arena, arena, BATCH_EVENTS, NULL))
            return false;
        trace->list = batch->list;
    }
    for (uint32_t i = 0; i < batch->n; i++)
        if (trace_add_event(stream->s, trace, &batch->events[i], NULL))
            return false;
    return true;
}

/* The second thread: appends batches until the stream ends. After a failure it drops them. */
static void add_batches(void *arg) {
    struct event_stream *stream = arg;
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        while (stream->n_added == stream->n_filled && !stream->ends)
            pthread_cond_wait(&stream->changed, &stream->lock);
        if (stream->n_added == stream->n_filled)
            break;
        bool has_failed = stream->has_failed;
        pthread_mutex_unlock(&stream->lock);
        has_failed = has_failed || !add_batch(stream, &stream->batches[stream->n_added % N_BATCHES]);
        pthread_mutex_lock(&stream->lock);
        stream->has_failed = has_failed;
        stream->n_added++;
        pthread_cond_signal(&stream->changed);
    }
    pthread_mutex_unlock(&stream->lock);
}

/* Hands the current batch over, and waits for an empty one. False: the second thread has failed. */
static bool pass_batch(struct event_stream *stream) {
    if (!stream->has_thread) {
        stream->has_failed = stream->has_failed || !add_batch(stream, &stream->batches[0]);
        stream->batches[0].n = 0;
        return !stream->has_failed;
    }
    pthread_mutex_lock(&stream->lock);
    stream->n_filled++;
    pthread_cond_signal(&stream->changed);
    while (stream->n_filled - stream->n_added == N_BATCHES)
        pthread_cond_wait(&stream->changed, &stream->lock);
    bool has_failed = stream->has_failed;
    pthread_mutex_unlock(&stream->lock);
    stream->batches[stream->n_filled % N_BATCHES].n = 0;
    return !has_failed;
}

static bool stream_add(void *arg, uint32_t list, const uint32_t *position, const object_t *values, size_t stride) {
    struct event_stream *stream = arg;
    struct event_batch *batch = &stream->batches[stream->n_filled % N_BATCHES];
    if (batch->n && (batch->n == BATCH_EVENTS || batch->list != list)) {
        if (!pass_batch(stream))
            return false;
        batch = &stream->batches[stream->n_filled % N_BATCHES];
    }
    batch->list = list;
    return decode_event(stream->s, 0, position, values, stride, &batch->events[batch->n++], NULL) == SUTRA_OK;
}

struct event_stream *stream_begin(const struct snapshot *s, bool has_threads, struct pickle_events *events) {
    struct event_stream *stream = malloc(sizeof *stream);
    if (!stream)
        return NULL;
    memset(stream, 0, offsetof(struct event_stream, batches));
    stream->batches[0].n = 0;
    *events = (struct pickle_events){.add = stream_add, .arg = stream};
    stream->s = s;
    stream->events = events;
    stream->points_mark = arena_mark(&s->memory->arena);
    stream->mark = arena_mark(s->arena);
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    background_call_begin(&stream->background_call, has_threads, add_batches, stream);
    stream->has_thread = stream->background_call.runs;
    return stream;
}

void stream_end(struct event_stream *stream) {
    if (stream->batches[stream->n_filled % N_BATCHES].n)
        pass_batch(stream);
    pthread_mutex_lock(&stream->lock);
    stream->ends = true;
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    background_call_end(&stream->background_call);
    stream->events->failed |= stream->has_failed;
}

bool stream_matches(struct event_stream *stream, object_t root) {
    const struct objects *o = stream->s->objects;
    object_t lists = object_type(root) == OBJECT_DICT ? dict_get(o, root, WORD_DEVICE_TRACES) : OBJECT_ABSENT;
    uint64_t n_known = 0;
    for (uint32_t i = 0; is_list(lists) && i < container_of(o, lists)->n; i++) {
        object_t list = items_of(o, lists)[i];
        if (!is_list(list) || container_of(o, list)->shape != LIST_EVENTS)
            continue;
        if (n_known == stream->n_traces || stream->traces[n_known++].list != object_payload(list))
            return false;
    }
    return n_known == stream->n_traces;
}

struct snapshot_trace *stream_next_trace(struct event_stream *stream) {
    return &stream->traces[stream->n_requested++];
}

void stream_drop_traces(struct event_stream *stream) {
    for (uint64_t i = 0; i < stream->n_traces; i++)
        trace_free(&stream->traces[i]);
    stream->n_traces = 0;
    arena_release(&stream->s->memory->arena, stream->points_mark);
    arena_release(stream->s->arena, stream->mark);
    stream->s->memory->arena.failed = stream->s->arena->failed = false; /* objects may need less memory */
}

void stream_free(struct event_stream *stream) {
    if (!stream)
        return;
    for (uint64_t i = 0; i < stream->n_traces; i++)
        trace_free(&stream->traces[i]);
    pthread_mutex_destroy(&stream->lock);
    pthread_cond_destroy(&stream->changed);
    free(stream);
}
