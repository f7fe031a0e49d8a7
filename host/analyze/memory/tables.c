/*
 * tables.c - the results as tables: one for each kind of row, over all inputs and devices.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/memory/memory.h"
#include "base/error.h"
#include "base/shared.h"
#include "write/text.h"

/*
 * The results as JSON; docs/memory.md lists the keys.
 */

struct memory_writing {
    const struct sutra_memory *memory;
    struct text_out *text;
};

static void add_string(struct memory_writing *w, const char *string) {
    out_string(w->text, string, strlen(string));
}

static void add_name(struct memory_writing *w, uint32_t name) {
    const struct strings *names = &w->memory->names;
    if (name == STRING_NONE)
        out_add(w->text, "null");
    else
        out_string(w->text, strings_text(names, name), strings_length(names, name));
}

static void add_key(struct memory_writing *w, const char *key) {
    out_format(w->text, ", \"%s\": ", key);
}

static void add_integer(struct memory_writing *w, const char *key, int64_t value) {
    add_key(w, key);
    out_integer(w->text, value);
}

/* Microseconds with three decimals. */
static void add_time(struct memory_writing *w, const char *key, int64_t ns) {
    uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    out_format(w->text, ", \"%s\": %s%" PRIu64 ".%03u", key, ns < 0 ? "-" : "", magnitude / 1000,
               (unsigned)(magnitude % 1000));
}

static void add_groups_json(struct memory_writing *w, const char *key, const char *name,
                            const struct memory_group *list, uint64_t n, int64_t total) {
    add_key(w, key);
    out_add(w->text, "[");
    for (uint64_t i = 0; i < n; i++) {
        out_format(w->text, "%s{\"%s\": ", i ? ", " : "", name);
        add_name(w, list[i].name);
        out_format(w->text, ", \"count\": %" PRIu32 ", \"bytes\": %" PRId64 ", \"percent\": %.2f}", list[i].count,
                   list[i].bytes, memory_percent(list[i].bytes, total));
    }
    out_add(w->text, "]");
}

static uint64_t top(const struct memory_writing *w, uint64_t n) {
    return MIN(n, w->memory->n_top);
}

static void add_top(struct memory_writing *w, const char *key, const char *name, const struct memory_groups *groups) {
    add_groups_json(w, key, name, groups->list, top(w, groups->n), groups->bytes);
}

static void add_point(struct memory_writing *w, const char *key, const struct memory_device *d, uint32_t point) {
    out_format(w->text, ", \"%s\": {\"allocated\": %" PRId64 ", \"active\": %" PRId64 ", \"reserved\": %" PRId64 "}",
               key, d->allocated[point], d->active[point], d->reserved[point]);
}

static void add_peak_json(struct memory_writing *w, const struct memory_device *d) {
    out_format(w->text, ", \"peak\": {\"event\": %" PRId64, (int64_t)d->peak - 1);
    add_time(w, "time_us", d->time_ns[d->peak]);
    add_integer(w, "active", d->active[d->peak]);
    add_integer(w, "allocated", d->allocated[d->peak]);
    add_integer(w, "reserved", d->reserved[d->peak]);
    add_key(w, "step");
    if (d->has_step)
        out_integer(w->text, d->peak_step);
    else
        out_add(w->text, "null");
    add_integer(w, "n_live", d->n_live);
    add_integer(w, "live_bytes", d->live_bytes);
    add_integer(w, "preexisting", d->before_bytes);
    add_top(w, "by_category", "category", &d->categories);
    add_top(w, "by_operator", "operator", &d->operators);
    add_top(w, "by_frame", "frame", &d->frames);
    add_key(w, "by_size");
    for (size_t i = 0; i < MEMORY_N_SIZES; i++)
        out_format(w->text, "%s{\"size\": \"%s\", \"count\": %" PRIu32 ", \"bytes\": %" PRId64 "}", i ? ", " : "[",
                   memory_size_labels[i], d->sizes[i].count, d->sizes[i].bytes);
    out_add(w->text, "]");
    add_integer(w, "by_stack_crc32", d->stack_crc);
    add_key(w, "largest");
    if (d->largest == EVENT_NONE) {
        out_add(w->text, "null}");
        return;
    }
    out_format(w->text, "{\"bytes\": %" PRId64 ", \"frame\": ", d->largest_alloc.bytes);
    add_name(w, d->largest_alloc.name);
    add_key(w, "operator");
    add_name(w, d->largest_operator);
    if (d->largest_before)
        out_add(w->text, ", \"time_us\": null");
    else
        add_time(w, "time_us", d->largest_ns);
    out_add(w->text, "}}");
}

static void add_lifetimes_json(struct memory_writing *w, const struct memory_device *d) {
    static const char row[] = "{\"lifetime\": \"%s\", \"count\": %" PRIu64 ", \"bytes\": %" PRId64 "}";
    uint64_t count = 0;
    add_key(w, "lifetime");
    out_add(w->text, "[");
    for (size_t i = 0; i < MEMORY_N_LIFETIMES; i++) {
        out_format(w->text, row, memory_lifetime_labels[i], (uint64_t)d->lifetimes[i].count, d->lifetimes[i].bytes);
        out_add(w->text, ", ");
    }
    for (uint32_t i = 0; i < d->not_freed.n; i++)
        count += d->not_freed.list[i].count;
    out_format(w->text, row, "not freed", count, d->not_freed.bytes);
    out_format(w->text, "], \"live_at_end\": {\"count\": %" PRIu64 ", \"bytes\": %" PRId64, count, d->not_freed.bytes);
    add_top(w, "by_frame", "frame", &d->not_freed);
    out_add(w->text, "}");
}

static void add_steps_json(struct memory_writing *w, const struct memory_device *d) {
    add_key(w, "step_source");
    add_name(w, d->step_source);
    add_key(w, "growing");
    out_add(w->text, "[");
    for (uint64_t i = 0; i < top(w, d->n_growing); i++) {
        out_add(w->text, i ? ", {\"frame\": " : "{\"frame\": ");
        add_name(w, d->growing[i].frame);
        add_integer(w, "first", d->growing[i].first);
        add_integer(w, "last", d->growing[i].last);
        add_integer(w, "per_step", d->growing[i].per_step);
        out_add(w->text, "}");
    }
    out_add(w->text, "], \"steps\": [");
    for (uint32_t i = 0; i < d->n_steps; i++) {
        const struct memory_step *step = &d->steps[i];
        out_format(w->text, "%s{\"step\": %" PRId64, i ? ", " : "", step->number);
        add_time(w, "start_us", step->start_ns);
        add_time(w, "end_us", step->end_ns);
        add_integer(w, "start_active", step->start_active);
        add_integer(w, "end_active", step->end_active);
        add_integer(w, "peak_active", step->peak_active);
        add_integer(w, "peak_event", step->peak_event == EVENT_NONE ? -1 : (int64_t)step->peak_event);
        add_integer(w, "max_reserved", step->max_reserved);
        add_integer(w, "n_allocs", step->n_allocs);
        add_integer(w, "allocated_bytes", step->allocated_bytes);
        add_integer(w, "n_segment_allocs", step->n_segment_allocs);
        if (i)
            add_integer(w, "growth", step->growth);
        else
            out_add(w->text, ", \"growth\": null");
        out_add(w->text, "}");
        out_step(w->text);
    }
    out_add(w->text, "]");
}

static void add_state(struct memory_writing *w, const struct memory_segments *s) {
    out_format(w->text, "\"n_segments\": %" PRIu32, s->n_segments);
    add_integer(w, "reserved", s->reserved);
    add_integer(w, "allocated", s->allocated);
    add_integer(w, "requested", s->requested);
    add_integer(w, "pending_free", s->pending_free);
    add_integer(w, "inactive", s->inactive);
    add_integer(w, "inactive_split", s->inactive_split);
    add_integer(w, "releasable", s->releasable);
    add_integer(w, "internal", s->internal);
    add_integer(w, "largest_free_block", s->largest_free_block);
    add_integer(w, "largest_segment", s->largest_segment);
    out_format(w->text, ", \"fragmentation_percent\": %.2f}", memory_percent(s->inactive_split, s->reserved));
}

static void add_segments_json(struct memory_writing *w, const struct memory_device *d) {
    out_format(w->text, ", \"has_time\": %s, \"segments\": {", d->has_time ? "true" : "false");
    add_state(w, &d->segments);
    out_add(w->text, ", \"segments_by\": [");
    for (uint32_t i = 0; i < d->n_segment_groups; i++) {
        const struct memory_segment_group *group = &d->segment_groups[i];
        out_format(w->text, "%s{\"stream\": %" PRId64 ", \"type\": ", i ? ", " : "", group->stream);
        add_name(w, group->type);
        out_format(w->text, ", \"pool\": \"%" PRId64 ",%" PRId64 "\", ", group->pool[0], group->pool[1]);
        add_state(w, &group->state);
        out_step(w->text);
    }
    out_format(w->text, "], \"segment_events\": {\"n_alloc\": %" PRIu32 ", \"n_free\": %" PRIu32, d->n_segment_allocs,
               d->n_segment_frees);
    add_integer(w, "bytes_alloc", d->segment_alloc_bytes);
    add_integer(w, "bytes_free", d->segment_free_bytes);
    add_integer(w, "n_retries", d->n_retries);
    add_integer(w, "n_empty_cache", d->n_empty_cache);
    out_add(w->text, ", \"runs\": [");
    for (uint64_t i = 0; i < top(w, d->n_runs); i++)
        out_format(w->text,
                   "%s{\"kind\": \"%s\", \"event\": %" PRIu32 ", \"n_segments\": %" PRIu32 ", \"bytes\": %" PRId64 "}",
                   i ? ", " : "", d->runs[i].kind, d->runs[i].event, d->runs[i].n_segments, d->runs[i].bytes);
    out_add(w->text, "]}");
}

static void add_ooms_json(struct memory_writing *w, const struct memory_device *d) {
    out_add(w->text, ", \"ooms\": [");
    for (uint32_t i = 0; i < d->n_ooms; i++) {
        const struct memory_oom *oom = &d->ooms[i];
        out_format(w->text, "%s{\"requested\": %" PRId64, i ? ", " : "", oom->requested);
        add_time(w, "time_us", oom->time_ns);
        add_integer(w, "active", oom->active);
        add_integer(w, "reserved", oom->reserved);
        if (oom->event != EVENT_NONE) {
            uint64_t n_top = w->memory->n_top;
            add_integer(w, "event", oom->event);
            add_integer(w, "device_free", oom->device_free);
            add_integer(w, "cached", oom->reserved - oom->active);
            if (oom->largest_free_block < 0)
                out_add(w->text, ", \"largest_free_block\": null");
            else
                add_integer(w, "largest_free_block", oom->largest_free_block);
            out_format(w->text, ", \"fits_unfragmented\": %s, \"frame\": ", oom->fits_unfragmented ? "true" : "false");
            add_name(w, oom->frame);
            add_key(w, "operator");
            add_name(w, oom->operator_name);
            add_groups_json(w, "holders", "frame", oom->largest_frames, MIN(oom->n_frames, n_top), oom->live_bytes);
        }
        out_add(w->text, "}");
        out_step(w->text);
    }
    out_add(w->text, "]");
}

static void add_device_json(struct memory_writing *w, const struct memory_device *d, bool is_snapshot) {
    out_add(w->text, "{\"device\": ");
    add_string(w, d->name);
    add_integer(w, "n_events", d->n_events);
    add_time(w, "start_us", d->time_ns[0]);
    add_time(w, "end_us", d->time_ns[d->n_events]);
    out_format(w->text, ", \"timeline\": {\"n_points\": %" PRIu64 ", \"crc32\": %" PRIu32 "}",
               (uint64_t)d->n_events + 1, d->timeline_crc);
    add_point(w, "start", d, 0);
    add_point(w, "end", d, d->n_events);
    add_integer(w, "max_reserved", d->max_reserved);
    add_integer(w, "max_allocated", d->max_allocated);
    add_peak_json(w, d);
    add_lifetimes_json(w, d);
    add_steps_json(w, d);
    if (is_snapshot)
        add_segments_json(w, d);
    else
        add_integer(w, "untracked", d->untracked);
    add_ooms_json(w, d);
    out_format(w->text, ", \"warnings_count\": {\"lost_frees\": %" PRIu32, d->n_lost_frees);
    if (is_snapshot)
        out_format(w->text, ", \"live_without_block\": %" PRIu32 ", \"negative_reserved\": %d}}", d->n_without_block,
                   d->is_negative);
    else
        out_format(w->text, ", \"total_mismatches\": %" PRIu32 ", \"skipped_events\": %" PRIu32 "}}",
                   d->n_total_mismatches, d->n_skipped);
    out_step(w->text);
}

static void add_input(struct memory_writing *w, const struct memory_input *input) {
    out_format(w->text, "{\"kind\": \"%s\", \"input\": ", input->is_snapshot ? "snapshot" : "kineto");
    add_string(w, input->path);
    out_add(w->text, ", \"devices\": [");
    for (uint32_t i = 0; i < input->n_devices; i++) {
        out_add(w->text, i ? ",\n" : "");
        add_device_json(w, &input->devices[i], input->is_snapshot);
    }
    out_add(w->text, "]");
    if (input->is_snapshot) {
        out_add(w->text, ", \"settings\": {");
        buffer_append(&w->text->out, input->settings.bytes, input->settings.length);
        out_add(w->text, "}");
    }
    out_add(w->text, ", \"warnings\": [");
    if (input->warning)
        add_string(w, input->warning);
    out_add(w->text, "], \"findings\": [");
    for (uint32_t i = 0; i < input->n_findings; i++) {
        const struct memory_finding *finding = &input->findings[i];
        out_format(w->text, "%s{\"rule\": \"%s\", \"device\": ", i ? ", " : "", finding->rule);
        add_string(w, input->devices[finding->device].name);
        if (finding->bytes == MEMORY_NO_BYTES)
            out_add(w->text, ", \"bytes\": null");
        else
            add_integer(w, "bytes", finding->bytes);
        add_key(w, "text");
        add_string(w, finding->text);
        out_add(w->text, "}");
    }
    out_add(w->text, "]}");
}

/* ---- Comparison ---- */

static void add_change(struct memory_writing *w, const char *key, int64_t a, int64_t b) {
    add_key(w, key);
    out_format(w->text, "{\"a\": %" PRId64 ", \"b\": %" PRId64 ", \"diff\": %" PRId64 "}", a, b, b - a);
}

static bool add_changes(struct memory_writing *w, const char *key, const char *name, const struct memory_groups *a,
                        const struct memory_groups *b) {
    struct arena scratch = {0};
    uint32_t n;
    const struct memory_change *changes = memory_changes(&scratch, &w->memory->names, a, b, &n);
    add_key(w, key);
    out_add(w->text, "[");
    for (uint64_t i = 0; i < top(w, n); i++) {
        out_format(w->text, "%s{\"%s\": ", i ? ", " : "", name);
        add_name(w, changes[i].name);
        add_integer(w, "a", changes[i].a);
        add_integer(w, "b", changes[i].b);
        add_integer(w, "diff", changes[i].b - changes[i].a);
        out_add(w->text, "}");
    }
    out_add(w->text, "]");
    arena_free(&scratch);
    return changes != NULL;
}

static int order_of_segments(const struct memory_segment *x, const struct memory_segment *y) {
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

/* Segments of x that y has not. */
static void add_only(struct memory_writing *w, const struct memory_device *x, const struct memory_device *y) {
    uint32_t count = 0, n_y = y ? y->n_segment_list : 0;
    int64_t bytes = 0;
    for (uint32_t i = 0, k = 0; x && i < x->n_segment_list; i++) {
        while (k < n_y && order_of_segments(&y->segment_list[k], &x->segment_list[i]) < 0)
            k++;
        if (k < n_y && order_of_segments(&y->segment_list[k], &x->segment_list[i]) == 0)
            continue;
        count++;
        bytes += x->segment_list[i].size;
    }
    out_format(w->text, "{\"count\": %" PRIu32 ", \"bytes\": %" PRId64 "}", count, bytes);
}

static bool add_comparison_json(struct memory_writing *w, const struct memory_device_pair *pair, bool is_first) {
    const struct memory_input *inputs = w->memory->inputs;
    const struct memory_device *a = pair->of[0], *b = pair->of[1], *named = a ? a : b;
    out_add(w->text, is_first ? "{\"device\": " : ",\n{\"device\": ");
    add_string(w, named->name);
    add_change(w, "peak_active", a ? a->active[a->peak] : 0, b ? b->active[b->peak] : 0);
    add_change(w, "max_reserved", a ? a->max_reserved : 0, b ? b->max_reserved : 0);
    add_change(w, "end_active", a ? a->active[a->n_events] : 0, b ? b->active[b->n_events] : 0);
    add_change(w, "n_events", a ? a->n_events : 0, b ? b->n_events : 0);
    bool ok = add_changes(w, "by_frame", "frame", a ? &a->frames : NULL, b ? &b->frames : NULL) &&
              add_changes(w, "by_operator", "operator", a ? &a->operators : NULL, b ? &b->operators : NULL) &&
              add_changes(w, "by_category", "category", a ? &a->categories : NULL, b ? &b->categories : NULL);
    if (inputs[0].is_snapshot && inputs[1].is_snapshot) {
        out_add(w->text, ", \"segments_only\": {\"a\": ");
        add_only(w, a, b);
        out_add(w->text, ", \"b\": ");
        add_only(w, b, a);
        out_add(w->text, "}");
    }
    out_add(w->text, "}");
    return ok;
}

static bool add_comparisons(struct memory_writing *w) {
    struct arena arena = {0};
    uint32_t n = 0;
    const struct memory_device_pair *pairs = memory_pair_devices(w->memory, &arena, &n);
    bool ok = pairs;
    out_add(w->text, "{\"kind\": \"diff\", \"devices\": [");
    for (uint32_t i = 0; i < n; i++)
        ok &= add_comparison_json(w, &pairs[i], i == 0);
    out_add(w->text, "]}\n");
    arena_free(&arena);
    return ok;
}

static bool write_json(const void *of, struct text_out *text) {
    const struct sutra_memory *memory = of;
    struct memory_writing w = {memory, text};
    if (memory->is_comparison)
        return add_comparisons(&w) && !text->out.failed;
    if (memory->n_inputs > 1)
        out_add(text, "{\"kind\": \"inputs\", \"inputs\": [\n");
    for (size_t i = 0; i < memory->n_inputs; i++) {
        out_add(text, i ? ",\n" : "");
        add_input(&w, &memory->inputs[i]);
    }
    out_add(text, memory->n_inputs > 1 ? "\n]}\n" : "\n");
    return !text->out.failed;
}

enum sutra_status sutra_memory_write_json(struct sutra_context *context, const struct sutra_memory *memory,
                                          const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    return text_file_write(context, path, write_json, memory, n_bytes, error);
}

#define DEVICE INTEGER("input"), TEXT("device")

const struct table_spec memory_table_specs[SUTRA_MEMORY_N_TABLES] = {
    [SUTRA_MEMORY_DEVICES] = {"memory_devices", OF_JOB,
                              .columns = {INTEGER("input"), TEXT("file"), TEXT("device"), INTEGER("events"),
                                          REAL("start_us"), REAL("end_us"), REAL("peak_us"), INTEGER("peak_active"),
                                          INTEGER("peak_allocated"), INTEGER("peak_reserved"), INTEGER("max_reserved"),
                                          INTEGER("end_active"), INTEGER("end_reserved"), INTEGER("live_at_peak"),
                                          INTEGER("ooms"), INTEGER("allocator_retries"), INTEGER("lost_frees")}},
    [SUTRA_MEMORY_TIMELINE] = {"memory_timeline", OF_JOB,
                               .columns = {DEVICE, INTEGER("event"), REAL("time_us"), INTEGER("allocated"),
                                           INTEGER("active"), INTEGER("reserved")}},
    [SUTRA_MEMORY_PEAK] = {"memory_peak", OF_JOB,
                           .columns = {DEVICE, TEXT("group_by"), TEXT("name"), INTEGER("count"), INTEGER("bytes"),
                                       REAL("percent")}},
    [SUTRA_MEMORY_STEPS] = {"memory_steps", OF_JOB,
                            .columns = {DEVICE, INTEGER("step"), REAL("start_us"), REAL("end_us"),
                                        INTEGER("start_active"), INTEGER("end_active"), INTEGER("peak_active"),
                                        INTEGER("max_reserved"), INTEGER("allocations"), INTEGER("allocated_bytes"),
                                        INTEGER("segment_allocations"), INTEGER("growth")}},
    [SUTRA_MEMORY_GROWTH] = {"memory_growth", OF_JOB,
                             .columns = {DEVICE, TEXT("frame"), INTEGER("first"), INTEGER("last"),
                                         INTEGER("per_step")}},
    [SUTRA_MEMORY_LIFETIMES] = {"memory_lifetimes", OF_JOB,
                                .columns = {DEVICE, TEXT("lifetime"), INTEGER("count"), INTEGER("bytes")}},
    [SUTRA_MEMORY_NOT_FREED] = {"memory_not_freed", OF_JOB,
                                .columns = {DEVICE, TEXT("frame"), INTEGER("count"), INTEGER("bytes"),
                                            REAL("percent")}},
    [SUTRA_MEMORY_SEGMENTS] = {"memory_segments", OF_JOB,
                               .columns = {DEVICE, INTEGER("stream"), TEXT("type"), TEXT("pool"), INTEGER("segments"),
                                           INTEGER("reserved"), INTEGER("allocated"), INTEGER("requested"),
                                           INTEGER("pending_free"), INTEGER("inactive"), INTEGER("inactive_split"),
                                           INTEGER("releasable"), INTEGER("internal"), INTEGER("largest_free_block"),
                                           INTEGER("largest_segment")}},
    [SUTRA_MEMORY_OOMS] = {"memory_ooms", OF_JOB,
                           .columns = {DEVICE, INTEGER("event"), REAL("time_us"), INTEGER("requested"),
                                       INTEGER("device_free"), INTEGER("active"), INTEGER("reserved"),
                                       INTEGER("largest_free_block"), INTEGER("fits_unfragmented"), TEXT("frame"),
                                       TEXT("operator"), TEXT("largest_holder"), INTEGER("largest_holder_bytes")}},
    [SUTRA_MEMORY_FINDINGS] = {"memory_findings", OF_JOB,
                               .columns = {DEVICE, TEXT("rule"), INTEGER("bytes"), TEXT("text")}},
    [SUTRA_MEMORY_COMPARISON] = {"memory_comparison", OF_JOB,
                                 .columns = {TEXT("device"), TEXT("group_by"), TEXT("name"), INTEGER("a"), INTEGER("b"),
                                             INTEGER("difference")}},
};

/* The input and device of the rows that follow. */
struct table_rows {
    struct sutra_memory *memory;
    int64_t input;
    const struct memory_device *device;
};

static struct sutra_table *begin(const struct table_rows *rows, enum sutra_memory_table id) {
    struct sutra_table *table = &rows->memory->result.tables[id];
    table_integer(table, rows->input);
    table_words(table, rows->device->name);
    return table;
}

static double us(int64_t ns) {
    return (double)ns / 1000;
}

static void add_device_tables(const struct table_rows *rows, const char *path) {
    const struct memory_device *d = rows->device;
    struct sutra_table *table = &rows->memory->result.tables[SUTRA_MEMORY_DEVICES];
    table_integer(table, rows->input);
    table_file_name(table, path);
    table_words(table, d->name);
    table_integer(table, d->n_events);
    TABLE_REALS(table, us(d->time_ns[0]), us(d->time_ns[d->n_events]), us(d->time_ns[d->peak]));
    TABLE_INTEGERS(table, d->active[d->peak], d->allocated[d->peak], d->reserved[d->peak], d->max_reserved,
                   d->active[d->n_events], d->reserved[d->n_events], d->n_live, d->n_ooms, d->n_retries,
                   d->n_lost_frees);
}

static void add_groups_tables(const struct table_rows *rows, const char *group_by, const struct memory_groups *groups) {
    for (uint32_t i = 0; i < groups->n; i++) {
        struct sutra_table *table = begin(rows, SUTRA_MEMORY_PEAK);
        table_words(table, group_by);
        table_string(table, &rows->memory->names, groups->list[i].name);
        table_integer(table, groups->list[i].count);
        table_integer(table, groups->list[i].bytes);
        table_real(table, memory_percent(groups->list[i].bytes, groups->bytes));
    }
}

static void add_steps_tables(const struct table_rows *rows) {
    const struct memory_device *d = rows->device;
    for (uint32_t i = 0; i < d->n_steps; i++) {
        const struct memory_step *step = &d->steps[i];
        struct sutra_table *table = begin(rows, SUTRA_MEMORY_STEPS);
        table_integer(table, step->number);
        table_real(table, us(step->start_ns));
        table_real(table, us(step->end_ns));
        TABLE_INTEGERS(table, step->start_active, step->end_active, step->peak_active, step->max_reserved,
                       step->n_allocs, step->allocated_bytes, step->n_segment_allocs, step->growth);
    }
    for (uint32_t i = 0; i < d->n_growing; i++) {
        struct sutra_table *table = begin(rows, SUTRA_MEMORY_GROWTH);
        table_string(table, &rows->memory->names, d->growing[i].frame);
        TABLE_INTEGERS(table, d->growing[i].first, d->growing[i].last, d->growing[i].per_step);
    }
}

static void add_lifetimes_tables(const struct table_rows *rows) {
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

static void add_segments_tables(const struct table_rows *rows) {
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
        TABLE_INTEGERS(table, state->n_segments, state->reserved, state->allocated, state->requested,
                       state->pending_free, state->inactive, state->inactive_split, state->releasable, state->internal,
                       state->largest_free_block, state->largest_segment);
    }
}

static void add_ooms_tables(const struct table_rows *rows) {
    const struct memory_device *d = rows->device;
    const struct strings *names = &rows->memory->names;
    for (uint32_t i = 0; i < d->n_ooms; i++) {
        const struct memory_oom *oom = &d->ooms[i];
        bool is_full = oom->event != EVENT_NONE;
        struct sutra_table *table = begin(rows, SUTRA_MEMORY_OOMS);
        table_integer(table, is_full ? (int64_t)oom->event : -1);
        table_real(table, us(oom->time_ns));
        TABLE_INTEGERS(table, oom->requested, is_full ? oom->device_free : -1, oom->active, oom->reserved,
                       oom->largest_free_block, is_full ? oom->fits_unfragmented : -1);
        table_string(table, names, is_full ? oom->frame : STRING_NONE);
        table_string(table, names, is_full ? oom->operator_name : STRING_NONE);
        table_string(table, names, oom->n_frames ? oom->largest_frames[0].name : STRING_NONE);
        table_integer(table, oom->n_frames ? oom->largest_frames[0].bytes : 0);
    }
}

static bool add_comparison_tables(struct sutra_memory *memory) {
    struct sutra_table *table = &memory->result.tables[SUTRA_MEMORY_COMPARISON];
    static const struct memory_device nothing;
    struct arena scratch = {0};
    uint32_t n_pairs = 0;
    const struct memory_device_pair *pairs = memory_pair_devices(memory, &scratch, &n_pairs);
    for (uint32_t i = 0; i < n_pairs; i++) {
        const struct memory_device *a = pairs[i].of[0] ? pairs[i].of[0] : &nothing,
                                   *b = pairs[i].of[1] ? pairs[i].of[1] : &nothing;
        const struct {
            const char *group_by;
            const struct memory_groups *a, *b;
        } lists[] = {{"category", &a->categories, &b->categories},
                     {"operator", &a->operators, &b->operators},
                     {"frame", &a->frames, &b->frames}};
        for (size_t l = 0; l < 3; l++) {
            uint32_t n;
            struct arena_mark mark = arena_mark(&scratch);
            struct memory_change *changes = memory_changes(&scratch, &memory->names, lists[l].a, lists[l].b, &n);
            for (uint32_t k = 0; k < n; k++) {
                table_words(table, pairs[i].of[0] ? a->name : b->name);
                table_words(table, lists[l].group_by);
                table_string(table, &memory->names, changes[k].name);
                TABLE_INTEGERS(table, changes[k].a, changes[k].b, changes[k].b - changes[k].a);
            }
            arena_release(&scratch, mark);
        }
    }
    bool ok = !scratch.failed;
    arena_free(&scratch);
    return ok;
}

enum sutra_status memory_make_tables(struct sutra_memory *memory, struct sutra_error *error) {
    bool ok = true;
    for (uint32_t id = 0; id < SUTRA_MEMORY_N_TABLES; id++)
        if (id != SUTRA_MEMORY_COMPARISON || memory->is_comparison)
            result_table_begin(&memory->result, id);
    for (size_t i = 0; i < memory->n_inputs; i++) {
        const struct memory_input *input = &memory->inputs[i];
        for (uint32_t k = 0; k < input->n_devices; k++) {
            const struct table_rows rows = {memory, (int64_t)i, &input->devices[k]};
            add_device_tables(&rows, input->path);
            const struct memory_device *d = rows.device;
            for (uint32_t point = 0; point <= d->n_events; point++) {
                struct sutra_table *table = begin(&rows, SUTRA_MEMORY_TIMELINE);
                table_integer(table, (int64_t)point - 1);
                table_real(table, us(d->time_ns[point]));
                TABLE_INTEGERS(table, d->allocated[point], d->active[point], d->reserved[point]);
            }
            add_groups_tables(&rows, "category", &d->categories);
            add_groups_tables(&rows, "operator", &d->operators);
            add_groups_tables(&rows, "frame", &d->frames);
            add_groups_tables(&rows, "stack", &d->stacks);
            for (size_t range = 0; range < MEMORY_N_SIZES; range++) {
                struct sutra_table *table = begin(&rows, SUTRA_MEMORY_PEAK);
                table_words(table, "size");
                table_words(table, memory_size_labels[range]);
                table_integer(table, d->sizes[range].count);
                table_integer(table, d->sizes[range].bytes);
                table_real(table, memory_percent(d->sizes[range].bytes, d->live_bytes));
            }
            add_steps_tables(&rows);
            add_lifetimes_tables(&rows);
            add_segments_tables(&rows);
            add_ooms_tables(&rows);
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
        ok = add_comparison_tables(memory);
    return ok ? result_status(&memory->result, error) : error_memory(error);
}
