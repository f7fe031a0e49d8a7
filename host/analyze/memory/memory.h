/*
 * memory.h - inside of struct sutra_memory.
 *
 *     pickle, JSON --> snapshot.c --.                                      .--> tables.c    tables
 *                                    }--> points, allocations --> device.c  --}           and JSON
 *     Kineto trace ---> kineto.c  --'     of each device                    '--> memory.c    findings
 *
 * A point is the state after an event; point 0 is the state before the first event. Allocation a is live at the points
 * begin[a] to end[a]: the event begin[a] - 1 allocates, the event end[a] frees.
 */
#ifndef ANALYZE_MEMORY_MEMORY_H
#define ANALYZE_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/table.h"
#include "base/arena.h"
#include "columns/strings.h"
#include "context/context.h"
#include "read/source.h"
#include "sutra/memory.h"

/* For errors on inputs of another kind. */
#define MEMORY_EXPECTED "a memory snapshot or a device trace"
#define MEMORY_ADVICE   ": torch.cuda.memory._dump_snapshot(FILE) writes a snapshot"

#define EVENT_NONE      UINT32_MAX
#define MEMORY_NO_BYTES INT64_MIN /* of a finding */

/* Below these sizes, starting a thread takes longer than its work. */
#define MEMORY_THREAD_BYTES  ((size_t)2 << 20)
#define MEMORY_THREAD_EVENTS 10000

enum { MEMORY_N_LIFETIMES = 7, MEMORY_N_SIZES = 7, MEMORY_N_OOM_FRAMES = 5 };

struct memory_group {
    uint32_t name;
    uint32_t count;
    int64_t bytes;
};

/* Descending by bytes, then ascending by name. */
struct memory_groups {
    struct memory_group *list;
    uint32_t n;
    int64_t bytes; /* of all */
};

struct memory_step {
    int64_t number, start_ns, end_ns;
    int64_t start_active, end_active, peak_active, max_reserved, allocated_bytes, growth;
    uint32_t first_event, end_event, peak_event, n_allocs, n_segment_allocs;
};

struct memory_growth {
    uint32_t frame;
    int64_t first, last, per_step;
};

struct memory_oom {
    uint32_t event; /* EVENT_NONE: of a Kineto trace, which has only time, request, active and reserved bytes */
    int64_t time_ns, requested, device_free, active, reserved, largest_free_block; /* -1: unknown */
    bool fits_unfragmented;
    uint32_t frame, operator_name, n_frames;
    int64_t live_bytes; /* at that time */
    struct memory_group largest_frames[MEMORY_N_OOM_FRAMES];
};

/* Consecutive frees of segments. */
struct memory_run {
    const char *kind;
    uint32_t event, n_segments;
    int64_t bytes;
};

struct memory_segments {
    uint32_t n_segments;
    int64_t reserved, allocated, requested, pending_free, inactive, inactive_split, releasable, internal;
    int64_t largest_free_block, largest_segment;
};

struct memory_segment_group {
    int64_t stream, pool[2];
    uint32_t type;
    struct memory_segments state;
};

/* Live bytes of the largest frames over time, for charts: one state per bin, the one with most active bytes. */
enum { MEMORY_N_BINS = 240, MEMORY_N_LAYERS = 6 };

struct memory_layers {
    uint32_t n, n_layers; /* bins, layers */
    bool by_event;        /* bins of events; else of time */
    uint32_t *points;     /* of each bin, ascending */
    uint32_t names[MEMORY_N_LAYERS];
    int64_t *bytes[MEMORY_N_LAYERS]; /* of each bin */
};

struct memory_segment {
    uint64_t address;
    int64_t size;
};

/* In the order of events, then live blocks without an event. */
struct memory_allocs {
    int64_t *size;
    uint32_t *begin, *end, *request; /* `request`: event that requests the free */
    uint32_t *frame, *operator_name, *category, *stack;
    uint8_t *before; /* allocated before the recording */
    uint32_t n;
};

struct memory_device {
    char name[64]; /* "cuda:0", "rank 3 cuda:0" */
    int64_t rank;  /* of a comparison of several ranks; else 0 */
    bool is_cpu;
    uint32_t n_events;
    int64_t *time_ns, *allocated, *active, *reserved; /* n_events + 1 points */
    uint32_t timeline_crc, stack_crc;
    int64_t max_allocated, max_reserved;
    uint32_t peak; /* point */
    bool has_step;
    int64_t peak_step;
    uint32_t n_live;
    int64_t live_bytes, before_bytes;
    struct memory_groups categories, operators, frames, stacks, not_freed;
    struct memory_group sizes[MEMORY_N_SIZES], lifetimes[MEMORY_N_LIFETIMES];
    uint32_t largest; /* allocation, or EVENT_NONE */
    struct memory_group largest_alloc;
    uint32_t largest_operator;
    bool largest_before;
    int64_t largest_ns;
    uint32_t step_source; /* name, or STRING_NONE */
    struct memory_step *steps;
    uint32_t n_steps;
    struct memory_growth *growing;
    uint32_t n_growing;
    struct memory_oom *ooms;
    uint32_t n_ooms;
    /* Of snapshots */
    bool has_time, is_negative;
    struct memory_segments segments;
    struct memory_segment_group *segment_groups;
    uint32_t n_segment_groups;
    struct memory_segment *segment_list; /* ascending, each once */
    uint32_t n_segment_list;
    uint32_t n_segment_allocs, n_segment_frees, n_retries, n_empty_cache, n_runs;
    int64_t segment_alloc_bytes, segment_free_bytes;
    struct memory_run *runs;
    uint32_t n_lost_frees, n_without_block;
    struct memory_layers layers; /* if tables are requested */
    /* Of Kineto traces */
    int64_t untracked;
    uint32_t n_total_mismatches, n_skipped;
};

struct memory_finding {
    const char *rule;
    uint32_t rule_rank, device, row; /* `row`: in the order in which the rules add findings */
    int64_t bytes;                   /* MEMORY_NO_BYTES: none */
    const char *text;
};

struct memory_input {
    const char *path;
    int64_t rank; /* of a Kineto trace; -1: not recorded */
    bool is_snapshot;
    struct memory_device *devices;
    uint32_t n_devices;
    struct buffer settings; /* members of the allocator's settings as JSON text */
    const char *warning;    /* or NULL */
    struct memory_finding *findings;
    uint32_t n_findings;
};

struct sutra_memory {
    struct sutra_result result;
    struct arena arena;
    struct strings names; /* frames, operators, categories, stacks */
    struct memory_input *inputs;
    size_t n_inputs;
    bool is_comparison; /* of two inputs */
    bool has_tables, has_threads;
    uint64_t n_top;
    uint64_t names_limit; /* limit of bytes of names, up to and including the current input */
    bool names_are_full;
};

/* Labels of the ranges. */
extern const char *const memory_size_labels[MEMORY_N_SIZES], *const memory_lifetime_labels[MEMORY_N_LIFETIMES];

/* Read the devices of an input. SUTRA_DATA: malformed, or no memory events. */
enum sutra_status memory_read_snapshot(struct sutra_context *context, struct sutra_memory *memory,
                                       struct memory_input *input, const struct source *source,
                                       struct sutra_error *error);
enum sutra_status memory_read_kineto(struct sutra_context *context, struct sutra_memory *memory,
                                     struct memory_input *input, struct source *source, struct sutra_error *error);

/* What an input knows of a device that memory_summarize() needs. */
struct memory_facts {
    const struct memory_allocs *allocs;
    const uint32_t *segment_allocs; /* events that allocate segments, ascending */
    uint32_t n_segment_allocs;
    int64_t before_bytes, before_reserved; /* to add to allocated and active, and to reserved bytes of all points */
    enum sutra_status (*stack_name)(void *arg, uint32_t alloc, uint32_t *name, struct sutra_error *error);
    void *arg;
};

/* Fills everything that follows from points, allocations and steps. */
enum sutra_status memory_summarize(struct sutra_memory *memory, struct memory_device *device,
                                   const struct memory_facts *facts, struct arena *scratch, struct sutra_error *error);

/* The share of `whole` in percent; 0 of an empty whole. */
static inline double memory_percent(int64_t part, int64_t whole) {
    return whole ? 100 * (double)part / (double)whole : 0;
}

/* A name, new if it is; STRING_NONE: out of memory, or names of this input exceed the limit. */
uint32_t memory_name(struct sutra_memory *memory, const char *bytes, size_t n);
enum sutra_status memory_name_error(const struct sutra_memory *memory, struct sutra_error *error);

/* The name of a string of the input; `names` caches names by string, plus 1. STRING_NONE as memory_name(). */
uint32_t memory_copy_name(struct sutra_memory *memory, const struct strings *strings, uint32_t string, uint32_t *names);

/* Whether a path belongs to torch or the standard library. */
bool memory_is_library_path(const char *path, size_t n);

/* A tree of maxima over n slots, all -1 at first: the largest value, of several the lowest slot. */
struct peak_tree {
    int64_t *values; /* of each slot */
    uint32_t *best;  /* slot of each node */
    uint32_t n_leaves;
};
bool peak_tree_init(struct peak_tree *tree, struct arena *arena, uint32_t n);
void peak_tree_set(struct peak_tree *tree, uint32_t slot, int64_t value);
uint32_t peak_tree_find(const struct peak_tree *tree, uint32_t from, uint32_t to); /* in [from, to), not empty */

/* Compares two names by their bytes, for ascending order. */
int memory_compare_names(const struct strings *names, uint32_t a, uint32_t b);

/* Names and columns of all tables. */
extern const struct table_spec memory_table_specs[];

enum sutra_status memory_make_tables(struct sutra_memory *memory, struct sutra_error *error);

/* The devices of both inputs of a comparison with equal names, ascending by rank and name; NULL: the input does not
 * have the device. The list is NULL if memory runs out. */
struct memory_device_pair {
    const struct memory_device *of[2];
};
struct memory_device_pair *memory_pair_devices(const struct sutra_memory *memory, struct arena *arena, uint32_t *n);

/* Rows that compare the devices of two inputs; `kind` is "by_frame" or another list of the peak. */
struct memory_change {
    uint32_t name;
    int64_t a, b;
};
struct memory_change *memory_changes(struct arena *arena, const struct strings *names, const struct memory_groups *a,
                                     const struct memory_groups *b, uint32_t *n);

#endif
