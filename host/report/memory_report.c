/*
 * memory_report.c - writes the page on GPU memory: findings, live bytes over time, and the peak of each device.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/memory/memory.h"
#include "report/markup.h"
#include "report/page.h"
#include "sutra/report.h"
#include "text/names.h"

#define MEMORY_DEVICES_SHOWN 16
#define MEMORY_BARS_SHOWN    24
#define MEMORY_AREAS_SHOWN   48

/* Layers of frames have these colours. Here colours distinguish layers; the legend has their names. */
static const int layer_colours[MEMORY_N_LAYERS] = {COLOUR_COMPUTE,   COLOUR_COMMUNICATION, COLOUR_COPIES,
                                                   COLOUR_WAIT_HOST, COLOUR_WAIT_DATA,     COLOUR_OTHER_WORK};

/* Shows each device below its name: "cuda:0 of FILE", or "cuda:0" of a single input. */
static void show_devices(struct page *page, const struct sutra_memory *memory,
                         void (*show)(struct page *page, const struct sutra_memory *memory,
                                      const struct memory_device *device, uint32_t number)) {
    uint32_t number = 0;
    for (size_t i = 0; i < memory->n_inputs; i++) {
        const struct memory_input *input = &memory->inputs[i];
        for (uint32_t k = 0; k < input->n_devices && number < MEMORY_DEVICES_SHOWN; k++, number++) {
            char words[1200];
            snprintf(words, sizeof words, "%s%s%s", input->devices[k].name, memory->n_inputs > 1 ? " of " : "",
                     memory->n_inputs > 1 ? short_path(input->path, 60).text : "");
            page_subtitle(page, words);
            show(page, memory, &input->devices[k], number);
        }
    }
}

/* ---- Timeline ---- */

/* Shows a device; `number` is its index among all devices of all inputs. */
static void show_layers(struct page *page, const struct sutra_memory *memory, const struct memory_device *device,
                        uint32_t number) {
    const struct memory_layers *layers = &device->layers;
    struct shortened names[MEMORY_N_LAYERS];
    struct arena arena = {0};
    struct chart_areas areas = {.n = layers->n,
                                .unit = UNIT_BYTES,
                                .end_unit = layers->by_event ? UNIT_COUNT : UNIT_US,
                                .end = layers->by_event
                                           ? (double)device->n_events
                                           : (double)(device->time_ns[device->n_events] - device->time_ns[0]) / 1000};
    double *values = arena_zeros(&arena, (MEMORY_N_LAYERS + 2) * (size_t)layers->n, sizeof *values);
    char name[64];
    for (uint32_t i = 0; values && i < layers->n; i++) {
        double rest = (double)device->active[layers->points[i]];
        for (uint32_t layer = 0; layer < layers->n_layers; layer++) {
            values[layer * layers->n + i] = (double)layers->bytes[layer][i];
            rest -= (double)layers->bytes[layer][i];
        }
        values[layers->n_layers * layers->n + i] = rest;
        values[(layers->n_layers + 1) * layers->n + i] = (double)device->reserved[layers->points[i]];
    }
    for (uint32_t i = 0; values && i <= layers->n_layers; i++) {
        bool is_rest = i == layers->n_layers;
        if (!is_rest)
            names[i] = short_text(strings_text(&memory->names, layers->names[i]), 40);
        areas.layers[i].name = is_rest ? "other frames" : names[i].text;
        areas.layers[i].colour = is_rest ? COLOUR_IDLE : layer_colours[i];
        areas.layers[i].values = values + i * layers->n;
    }
    areas.n_layers = (int)layers->n_layers + 1;
    if (device->max_reserved > 0 && values) {
        areas.line = values + (layers->n_layers + 1) * layers->n;
        areas.line_name = "reserved";
    }
    snprintf(name, sizeof name, "timeline_%" PRIu32, number);
    if (values)
        page_chart(page, name, "Active bytes over time", "Active bytes by frame, and reserved bytes.", areas_draw,
                   &areas);
    arena_free(&arena);
}

static void show_timeline(struct page *page, const void *of) {
    show_devices(page, of, show_layers);
}

/* ---- Peak ---- */

static void groups_table(struct sutra_table *table, const struct sutra_memory *memory, const char *kind,
                         const struct memory_groups *groups, uint32_t n_max) {
    const struct column_spec specs[] = {{kind, SUTRA_COLUMN_TEXT},
                                        {"bytes", SUTRA_COLUMN_REAL},
                                        {"count", SUTRA_COLUMN_INTEGER},
                                        {"percent", SUTRA_COLUMN_REAL},
                                        {"file", SUTRA_COLUMN_TEXT}};
    table_init(table, "memory_peak", specs, 5);
    for (uint32_t i = 0; i < groups->n && i < n_max; i++) {
        const struct memory_group *group = &groups->list[i];
        const char *name = strings_text(&memory->names, group->name);
        table_words(table, *name ? name : "no operator");
        table_real(table, (double)group->bytes);
        table_integer(table, group->count);
        table_real(table, memory_percent(group->bytes, groups->bytes));
        table_text(table, name, strcspn(name, ":"));
    }
}

static void show_groups(struct page *page, const struct sutra_memory *memory, const char *kind,
                        const struct memory_groups *groups, uint32_t number) {
    struct sutra_table table;
    char name[64], caption[64];
    snprintf(name, sizeof name, "peak_%s_%" PRIu32, kind, number);
    snprintf(caption, sizeof caption, "Peak by %s", kind);
    const struct bars_words words = {name, caption, "One bar per row: live bytes at the peak.",
                                     NULL, caption, "memory_peak"};
    groups_table(&table, memory, kind, groups, PAGE_ROWS_MAX);
    const struct bars bars = {.table = &table,
                              .n_labels = 1,
                              .by_end = true,
                              .values = {{table_column(&table, "bytes"), "bytes", COLOUR_COUNT}},
                              .n_values = 1,
                              .unit = UNIT_BYTES};
    page_bars(page, bars, MEMORY_BARS_SHOWN, &words);
    table_free(&table);
}

static void show_live(struct page *page, const struct sutra_memory *memory, const struct memory_device *device,
                      uint32_t number) {
    struct sutra_table table;
    char name[64];
    if (device->n_live == 0) {
        page_missing(page, "Peak", "no allocation is live");
        return;
    }
    groups_table(&table, memory, "frame", &device->frames, MEMORY_AREAS_SHOWN);
    const struct treemap map = {.table = &table,
                                .n_rows = (uint32_t)table.n_rows,
                                .label = table_column(&table, "frame"),
                                .group = table_column(&table, "file"),
                                .value = table_column(&table, "bytes"),
                                .unit = UNIT_BYTES};
    snprintf(name, sizeof name, "peak_areas_%" PRIu32, number);
    if (!table.failed && device->frames.n > 1)
        page_chart(page, name, "Peak by file and frame", "One area per frame: live bytes at the peak.", treemap_draw,
                   &map);
    page_check(page, &table);
    table_free(&table);
    if (device->categories.n > 1)
        show_groups(page, memory, "category", &device->categories, number);
    show_groups(page, memory, "operator", &device->operators, number);
    show_groups(page, memory, "frame", &device->frames, number);
}

static void show_peak(struct page *page, const void *of) {
    show_devices(page, of, show_live);
}

/* ---- Tables ---- */

static void show_steps(struct page *page, const void *of) {
    page_result_table(page, SUTRA_RESULT(of), SUTRA_MEMORY_STEPS, "Steps",
                      "no ProfilerStep and no optimizer step is recorded");
    page_result_table(page, SUTRA_RESULT(of), SUTRA_MEMORY_GROWTH, "Growing frames", "no frame grows with every step");
}

static void show_segments(struct page *page, const void *of) {
    page_result_table(page, SUTRA_RESULT(of), SUTRA_MEMORY_SEGMENTS, "Segments",
                      "Kineto traces do not record segments");
    page_result_table(page, SUTRA_RESULT(of), SUTRA_MEMORY_OOMS, "Out-of-memory events", "no allocation failed");
}

static void show_lifetimes(struct page *page, const void *of) {
    page_result_table(page, SUTRA_RESULT(of), SUTRA_MEMORY_LIFETIMES, "Lifetimes", "no allocations");
    page_result_table(page, SUTRA_RESULT(of), SUTRA_MEMORY_NOT_FREED, "Never freed", "all allocations are freed");
}

static void show_findings(struct page *page, const void *of) {
    struct sutra_memory_finding finding;
    if (!sutra_memory_finding(of, 0, &finding)) {
        page_words(page, "No findings: no rule fires.");
        return;
    }
    page_findings_begin(page);
    for (size_t i = 0; i < PAGE_ROWS_FEW && sutra_memory_finding(of, i, &finding); i++)
        page_finding(page, finding.rule, NAN, finding.text);
    page_findings_end(page);
}

static const struct page_section sections[] = {
    {"findings", "Findings", "Causes of high memory use, and advice.", show_findings},
    {"timeline", "Timeline",
     "Active bytes by frame over time. Layers are the frames with most bytes at the peak. The line is the reserved size: "
     "the gap between line and areas is cached memory.",
     show_timeline},
    {"peak", "Peak", "Allocations that are live at the peak of active bytes.", show_peak},
    {"steps", "Steps", "Memory by step, and frames whose live bytes grow with every step.", show_steps},
    {"segments", "Segments", "State of the allocator's segments at the end, and failed allocations.", show_segments},
    {"lifetimes", "Lifetimes", "Allocations by lifetime.", show_lifetimes},
    {0},
};

static void show_cards(struct page *page, const void *of) {
    const struct sutra_memory *memory = of;
    const struct memory_device *largest = NULL;
    uint64_t n_devices = 0, n_ooms = 0;
    for (size_t i = 0; i < memory->n_inputs; i++)
        for (uint32_t k = 0; k < memory->inputs[i].n_devices; k++) {
            const struct memory_device *device = &memory->inputs[i].devices[k];
            n_devices++;
            n_ooms += device->n_ooms;
            if (!largest || device->active[device->peak] > largest->active[largest->peak])
                largest = device;
        }
    page_card(page, "Devices", (double)n_devices, UNIT_COUNT, "");
    if (largest) {
        page_card(page, "Peak", (double)largest->active[largest->peak], UNIT_BYTES, largest->name);
        page_card(page, "Reserved", (double)largest->max_reserved, UNIT_BYTES, largest->name);
    }
    page_card(page, "Out of memory", (double)n_ooms, UNIT_COUNT, "events");
}

enum sutra_status sutra_report_write_memory(struct sutra_context *context, const struct sutra_memory *memory,
                                            const char *folder, uint64_t *n_bytes, struct sutra_error *error) {
    struct page page;
    char more[96] = "";
    if (memory->n_inputs > 1)
        snprintf(more, sizeof more, " and %s more", shown_decimal((double)memory->n_inputs - 1, 0).text);
    const struct page_frame frame = {.title = "GPU memory",
                                     .path = memory->inputs[0].path,
                                     .more = more,
                                     .cards = show_cards,
                                     .has_no_key = true,
                                     .sections = sections};
    page_open(&page, context, folder, PAGE_MEMORY, error);
    return page_write(&page, &frame, memory, n_bytes);
}
