/*
 * tables.c - the results as tables: one for each kind of row, over all inputs and devices.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/memory/memory.h"
#include "base/error.h"

#define INTEGER(name)                                                                                                  \
    { name, SUTRA_COLUMN_INTEGER }
#define REAL(name)                                                                                                     \
    { name, SUTRA_COLUMN_REAL }
#define TEXT(name)                                                                                                     \
    { name, SUTRA_COLUMN_TEXT }
#define DEVICE INTEGER("input"), TEXT("device")

static const struct {
    const char *name;
    struct column_spec columns[18]; /* the first without a name ends them */
} specs[SUTRA_MEMORY_N_TABLES] = {
    [SUTRA_MEMORY_DEVICES] = {"memory_devices",
                              {INTEGER("input"), TEXT("file"), TEXT("device"), INTEGER("events"), REAL("start_us"),
                               REAL("end_us"), REAL("peak_us"), INTEGER("peak_active"), INTEGER("peak_allocated"),
                               INTEGER("peak_reserved"), INTEGER("max_reserved"), INTEGER("end_active"),
                               INTEGER("end_reserved"), INTEGER("live_at_peak"), INTEGER("ooms"),
                               INTEGER("allocator_retries"), INTEGER("lost_frees")}},
    [SUTRA_MEMORY_TIMELINE] = {"memory_timeline",
                               {DEVICE, INTEGER("event"), REAL("time_us"), INTEGER("allocated"), INTEGER("active"),
                                INTEGER("reserved")}},
    [SUTRA_MEMORY_PEAK] = {"memory_peak",
                           {DEVICE, TEXT("group_by"), TEXT("name"), INTEGER("count"), INTEGER("bytes"),
                            REAL("percent")}},
    [SUTRA_MEMORY_STEPS] = {"memory_steps",
                            {DEVICE, INTEGER("step"), REAL("start_us"), REAL("end_us"), INTEGER("start_active"),
                             INTEGER("end_active"), INTEGER("peak_active"), INTEGER("max_reserved"),
                             INTEGER("allocations"), INTEGER("allocated_bytes"), INTEGER("segment_allocations"),
                             INTEGER("growth")}},
    [SUTRA_MEMORY_GROWTH] = {"memory_growth",
                             {DEVICE, TEXT("frame"), INTEGER("first"), INTEGER("last"), INTEGER("per_step")}},
    [SUTRA_MEMORY_LIFETIMES] = {"memory_lifetimes", {DEVICE, TEXT("lifetime"), INTEGER("count"), INTEGER("bytes")}},
    [SUTRA_MEMORY_NOT_FREED] = {"memory_not_freed",
                                {DEVICE, TEXT("frame"), INTEGER("count"), INTEGER("bytes"), REAL("percent")}},
    [SUTRA_MEMORY_SEGMENTS] = {"memory_segments",
                               {DEVICE, INTEGER("stream"), TEXT("type"), TEXT("pool"), INTEGER("segments"),
                                INTEGER("reserved"), INTEGER("allocated"), INTEGER("requested"),
                                INTEGER("pending_free"), INTEGER("inactive"), INTEGER("inactive_split"),
                                INTEGER("releasable"), INTEGER("internal"), INTEGER("largest_free_block"),
                                INTEGER("largest_segment")}},
    [SUTRA_MEMORY_OOMS] = {"memory_ooms",
                           {DEVICE, INTEGER("event"), REAL("time_us"), INTEGER("requested"), INTEGER("device_free"),
                            INTEGER("active"), INTEGER("reserved"), INTEGER("largest_free_block"),
                            INTEGER("fits_unfragmented"), TEXT("frame"), TEXT("operator"), TEXT("largest_holder"),
                            INTEGER("largest_holder_bytes")}},
    [SUTRA_MEMORY_FINDINGS] = {"memory_findings", {DEVICE, TEXT("rule"), INTEGER("bytes"), TEXT("text")}},
    [SUTRA_MEMORY_COMPARISON] = {"memory_comparison",
                                 {TEXT("device"), TEXT("group_by"), TEXT("name"), INTEGER("a"), INTEGER("b"),
                                  INTEGER("difference")}},
};

/* The input and device of the rows that follow. */
struct table_rows {
    struct sutra_memory *memory;
    int64_t input;
    const struct memory_device *device;
};

static struct sutra_table *begin(const struct table_rows *rows, enum sutra_memory_table id) {
    struct sutra_table *table = &rows->memory->tables[id];
    table_integer(table, rows->input);
    table_words(table, rows->device->name);
    return table;
}

static double us(int64_t ns) {
    return (double)ns / 1000;
}

static void add_device(const struct table_rows *rows, const char *path) {
    const struct memory_device *d = rows->device;
    struct sutra_table *table = &rows->memory->tables[SUTRA_MEMORY_DEVICES];
    table_integer(table, rows->input);
    table_file_name(table, path);
    table_words(table, d->name);
    table_integer(table, d->n_events);
    table_real(table, us(d->time_ns[0]));
    table_real(table, us(d->time_ns[d->n_events]));
    table_real(table, us(d->time_ns[d->peak]));
    table_integer(table, d->active[d->peak]);
    table_integer(table, d->allocated[d->peak]);
    table_integer(table, d->reserved[d->peak]);
    table_integer(table, d->max_reserved);
    table_integer(table, d->active[d->n_events]);
    table_integer(table, d->reserved[d->n_events]);
    table_integer(table, d->n_live);
    table_integer(table, d->n_ooms);
    table_integer(table, d->n_retries);
    table_integer(table, d->n_lost_frees);
}

static void add_timeline(const struct table_rows *rows) {
    const struct memory_device *d = rows->device;
    for (uint32_t i = 0; i <= d->n_events; i++) {
        struct sutra_table *table = begin(rows, SUTRA_MEMORY_TIMELINE);
        table_integer(table, (int64_t)i - 1);
        table_real(table, us(d->time_ns[i]));
        table_integer(table, d->allocated[i]);
        table_integer(table, d->active[i]);
        table_integer(table, d->reserved[i]);
    }
}

static void add_groups(const struct table_rows *rows, const char *group_by, const struct memory_groups *groups) {
    for (uint32_t i = 0; i < groups->n; i++) {
        struct sutra_table *table = begin(rows, SUTRA_MEMORY_PEAK);
        table_words(table, group_by);
        table_string(table, &rows->memory->names, groups->list[i].name);
        table_integer(table, groups->list[i].count);
        table_integer(table, groups->list[i].bytes);
        table_real(table, memory_percent(groups->list[i].bytes, groups->bytes));
    }
}

static void add_peak(const struct table_rows *rows) {
    const struct memory_device *d = rows->device;
    add_groups(rows, "category", &d->categories);
    add_groups(rows, "operator", &d->operators);
    add_groups(rows, "frame", &d->frames);
    add_groups(rows, "stack", &d->stacks);
    for (size_t i = 0; i < MEMORY_N_SIZES; i++) {
        struct sutra_table *table = begin(rows, SUTRA_MEMORY_PEAK);
        table_words(table, "size");
        table_words(table, memory_size_labels[i]);
        table_integer(table, d->sizes[i].count);
        table_integer(table, d->sizes[i].bytes);
        table_real(table, memory_percent(d->sizes[i].bytes, d->live_bytes));
    }
}

static void add_steps(const struct table_rows *rows) {
    const struct memory_device *d = rows->device;
    for (uint32_t i = 0; i < d->n_steps; i++) {
        const struct memory_step *step = &d->steps[i];
        struct sutra_table *table = begin(rows, SUTRA_MEMORY_STEPS);
        table_integer(table, step->number);
        table_real(table, us(step->start_ns));
        table_real(table, us(step->end_ns));
        table_integer(table, step->start_active);
        table_integer(table, step->end_active);
        table_integer(table, step->peak_active);
        table_integer(table, step->max_reserved);
        table_integer(table, step->n_allocs);
        table_integer(table, step->allocated_bytes);
        table_integer(table, step->n_segment_allocs);
        table_integer(table, step->growth);
    }
    for (uint32_t i = 0; i < d->n_growing; i++) {
        struct sutra_table *table = begin(rows, SUTRA_MEMORY_GROWTH);
        table_string(table, &rows->memory->names, d->growing[i].frame);
        table_integer(table, d->growing[i].first);
        table_integer(table, d->growing[i].last);
        table_integer(table, d->growing[i].per_step);
    }
}

static void add_lifetimes(const struct table_rows *rows) {
    const struct memory_device *d = rows->device;
    int64_t count = 0;
    struct sutra_table *table;
    for (size_t i = 0; i < MEMORY_N_LIFETIMES; i++) {
        table = begin(rows, SUTRA_MEMORY_LIFETIMES);
        table_words(table, memory_lifetime_labels[i]);
        table_integer(table, d->lifetimes[i].count);
        table_integer(table, d->lifetimes[i].bytes);
    }
    for (uint32_t i = 0; i < d->not_freed.n; i++) {
        const struct memory_group *group = &d->not_freed.list[i];
        table = begin(rows, SUTRA_MEMORY_NOT_FREED);
        table_string(table, &rows->memory->names, group->name);
        table_integer(table, group->count);
        table_integer(table, group->bytes);
        table_real(table, memory_percent(group->bytes, d->not_freed.bytes));
        count += group->count;
    }
    table = begin(rows, SUTRA_MEMORY_LIFETIMES);
    table_words(table, "not freed");
    table_integer(table, count);
    table_integer(table, d->not_freed.bytes);
}

static void add_segments(const struct table_rows *rows) {
    const struct memory_device *d = rows->device;
    for (uint32_t i = 0; i < d->n_segment_groups; i++) {
        const struct memory_segment_group *group = &d->segment_groups[i];
        const struct memory_segments *state = &group->state;
        struct sutra_table *table = begin(rows, SUTRA_MEMORY_SEGMENTS);
        char pool[48];
        table_integer(table, group->stream);
        table_string(table, &rows->memory->names, group->type);
        table_text(table, pool,
                   (size_t)snprintf(pool, sizeof pool, "%" PRId64 ",%" PRId64, group->pool[0], group->pool[1]));
        const int64_t values[] = {state->n_segments,         state->reserved,       state->allocated,
                                  state->requested,          state->pending_free,   state->inactive,
                                  state->inactive_split,     state->releasable,     state->internal,
                                  state->largest_free_block, state->largest_segment};
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            table_integer(table, values[k]);
    }
}

static void add_ooms(const struct table_rows *rows) {
    const struct memory_device *d = rows->device;
    const struct strings *names = &rows->memory->names;
    for (uint32_t i = 0; i < d->n_ooms; i++) {
        const struct memory_oom *oom = &d->ooms[i];
        bool is_full = oom->event != EVENT_NONE;
        struct sutra_table *table = begin(rows, SUTRA_MEMORY_OOMS);
        table_integer(table, is_full ? (int64_t)oom->event : -1);
        table_real(table, us(oom->time_ns));
        table_integer(table, oom->requested);
        table_integer(table, is_full ? oom->device_free : -1);
        table_integer(table, oom->active);
        table_integer(table, oom->reserved);
        table_integer(table, oom->largest_free_block);
        table_integer(table, is_full ? oom->fits_unfragmented : -1);
        table_string(table, names, is_full ? oom->frame : STRING_NONE);
        table_string(table, names, is_full ? oom->operator_name : STRING_NONE);
        table_string(table, names, oom->n_frames ? oom->largest_frames[0].name : STRING_NONE);
        table_integer(table, oom->n_frames ? oom->largest_frames[0].bytes : 0);
    }
}

static bool add_comparison(struct sutra_memory *memory) {
    struct sutra_table *table = &memory->tables[SUTRA_MEMORY_COMPARISON];
    static const struct memory_device nothing;
    const struct memory_input *inputs = memory->inputs;
    struct arena scratch = {0};
    for (size_t side = 0; side < 2; side++)
        for (uint32_t i = 0; i < inputs[side].n_devices; i++) {
            const struct memory_device *d = &inputs[side].devices[i], *other = &nothing;
            for (uint32_t k = 0; k < inputs[!side].n_devices; k++)
                if (strcmp(inputs[!side].devices[k].name, d->name) == 0)
                    other = &inputs[!side].devices[k];
            if (side && other != &nothing) /* it has its rows */
                continue;
            const struct memory_device *a = side ? other : d, *b = side ? d : other;
            const struct {
                const char *group_by;
                const struct memory_groups *a, *b;
            } lists[] = {{"category", &a->categories, &b->categories},
                         {"operator", &a->operators, &b->operators},
                         {"frame", &a->frames, &b->frames}};
            for (size_t l = 0; l < 3; l++) {
                uint32_t n;
                struct memory_change *changes = memory_changes(&scratch, &memory->names, lists[l].a, lists[l].b, &n);
                for (uint32_t k = 0; k < n; k++) {
                    table_words(table, d->name);
                    table_words(table, lists[l].group_by);
                    table_string(table, &memory->names, changes[k].name);
                    table_integer(table, changes[k].a);
                    table_integer(table, changes[k].b);
                    table_integer(table, changes[k].b - changes[k].a);
                }
            }
        }
    bool ok = !scratch.failed;
    arena_free(&scratch);
    return ok;
}

enum sutra_status memory_make_tables(struct sutra_memory *memory, struct sutra_error *error) {
    bool ok = true;
    for (int id = 0; id < SUTRA_MEMORY_N_TABLES; id++) {
        uint32_t n = 0;
        while (n < sizeof specs->columns / sizeof *specs->columns && specs[id].columns[n].name)
            n++;
        if (id != SUTRA_MEMORY_COMPARISON || memory->is_comparison)
            table_init(&memory->tables[id], specs[id].name, specs[id].columns, n);
    }
    for (size_t i = 0; i < memory->n_inputs; i++) {
        const struct memory_input *input = &memory->inputs[i];
        for (uint32_t k = 0; k < input->n_devices; k++) {
            const struct table_rows rows = {memory, (int64_t)i, &input->devices[k]};
            add_device(&rows, input->path);
            add_timeline(&rows);
            add_peak(&rows);
            add_steps(&rows);
            add_lifetimes(&rows);
            add_segments(&rows);
            add_ooms(&rows);
        }
        for (uint32_t k = 0; k < input->n_findings; k++) {
            const struct memory_finding *finding = &input->findings[k];
            const struct table_rows rows = {memory, (int64_t)i, &input->devices[finding->device]};
            struct sutra_table *table = begin(&rows, SUTRA_MEMORY_FINDINGS);
            table_words(table, finding->rule);
            table_integer(table, finding->bytes == MEMORY_NO_BYTES ? -1 : finding->bytes);
            table_words(table, finding->text);
        }
    }
    if (memory->is_comparison)
        ok = add_comparison(memory);
    for (int id = 0; id < SUTRA_MEMORY_N_TABLES; id++)
        ok &= !memory->tables[id].failed;
    return ok ? SUTRA_OK : error_memory(error);
}
