/*
 * memory_report.c - writes the page on GPU memory: findings, live bytes over time, and the peak of each device; or the
 * differences of two inputs.
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
    uint32_t number = 0, n = 0;
    for (size_t i = 0; i < memory->n_inputs; i++) {
        const struct memory_input *input = &memory->inputs[i];
        n += input->n_devices;
        for (uint32_t k = 0; k < input->n_devices && number < MEMORY_DEVICES_SHOWN; k++, number++) {
            char words[1200];
            snprintf(words, sizeof words, "%s%s%s", input->devices[k].name, memory->n_inputs > 1 ? " of " : "",
                     memory->n_inputs > 1 ? short_path(input->path, 60).text : "");
            page_subtitle(page, words);
            show(page, memory, &input->devices[k], number);
        }
    }
    if (number < n) {
        char words[96];
        snprintf(words, sizeof words, "Charts show the first %" PRIu32 " of %" PRIu32 " devices.", number, n);
        page_words(page, words);
    }
}

/* ---- Timeline ---- */

/* The colors of a device's layers: a frame has one color in the charts of all devices, as far as the colors suffice. */
static void assign_layer_colours(const struct sutra_memory *memory, const struct memory_device *device,
                                 int colours[MEMORY_N_LAYERS]) {
    uint32_t frames[MEMORY_N_LAYERS], n = 0; /* with colors of their own, in the order of the charts */
    for (size_t i = 0; i < memory->n_inputs; i++)
        for (uint32_t k = 0; k < memory->inputs[i].n_devices; k++) {
            const struct memory_layers *layers = &memory->inputs[i].devices[k].layers;
            for (uint32_t layer = 0; layer < layers->n_layers && n < MEMORY_N_LAYERS; layer++) {
                uint32_t at = 0;
                while (at < n && frames[at] != layers->names[layer])
                    at++;
                frames[at] = layers->names[layer];
                n += at == n;
            }
        }
    const struct memory_layers *layers = &device->layers;
    bool is_used[MEMORY_N_LAYERS] = {false};
    for (uint32_t layer = 0; layer < layers->n_layers; layer++) {
        uint32_t at = 0;
        while (at < n && frames[at] != layers->names[layer])
            at++;
        colours[layer] = at < n ? layer_colours[at] : -1;
        if (at < n)
            is_used[at] = true;
    }
    for (uint32_t layer = 0, at = 0; layer < layers->n_layers; layer++)
        if (colours[layer] < 0) {
            while (is_used[at])
                at++;
            is_used[at] = true;
            colours[layer] = layer_colours[at];
        }
}

/* Shows a device; `number` is its index among all devices of all inputs. */
static void show_layers(struct page *page, const struct sutra_memory *memory, const struct memory_device *device,
                        uint32_t number) {
    const struct memory_layers *layers = &device->layers;
    struct shortened names[MEMORY_N_LAYERS];
    int colours[MEMORY_N_LAYERS];
    assign_layer_colours(memory, device, colours);
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
        areas.layers[i].colour = is_rest ? COLOUR_IDLE : colours[i];
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
    const struct column_spec specs[] = {TEXT(kind), REAL("bytes"), INTEGER("count"), REAL("percent"), TEXT("file")};
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
    groups_table(&table, memory, kind, groups, groups->n);
    struct bars bars = bars_of_value(&table, kind, "bytes", "bytes", COLOUR_COUNT, UNIT_BYTES);
    bars.by_end = true;
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
    page_limit(page, table.n_rows, device->frames.n, true, "frames");
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

/* ---- Comparison ---- */

static const char *const sides[] = {"A", "B"};

/* A device of A, of B, or of both; NULL: the input does not have it. */
struct device_pair {
    const struct memory_device *of[2];
};

/* Lists the first devices of A, then the devices that only B has. */
static uint32_t list_pairs(const struct sutra_memory *memory, struct device_pair pairs[MEMORY_DEVICES_SHOWN]) {
    const struct memory_input *a = &memory->inputs[0], *b = &memory->inputs[1];
    uint32_t n = 0, n_of_a;
    for (; n < a->n_devices && n < MEMORY_DEVICES_SHOWN; n++)
        pairs[n] = (struct device_pair){{&a->devices[n], NULL}};
    n_of_a = n;
    for (uint32_t i = 0; i < b->n_devices; i++) {
        uint32_t k = 0;
        while (k < n_of_a && strcmp(pairs[k].of[0]->name, b->devices[i].name) != 0)
            k++;
        if (k < n_of_a)
            pairs[k].of[1] = &b->devices[i];
        else if (n < MEMORY_DEVICES_SHOWN)
            pairs[n++] = (struct device_pair){{NULL, &b->devices[i]}};
    }
    return n;
}

static const char *pair_name(const struct device_pair *pair) {
    return pair->of[pair->of[0] == NULL]->name;
}

static int64_t peak_active(const struct memory_device *device) {
    return device ? device->active[device->peak] : 0;
}

static int64_t end_active(const struct memory_device *device) {
    return device ? device->active[device->n_events] : 0;
}

static int64_t max_reserved(const struct memory_device *device) {
    return device ? device->max_reserved : 0;
}

static void show_totals(struct page *page, const void *of) {
    static const struct {
        const char *name;
        int64_t (*get)(const struct memory_device *device);
    } totals[] = {{"peak", peak_active}, {"reserved", max_reserved}, {"end", end_active}};
    static const struct column_spec specs[] = {TEXT("device"), TEXT("size"), REAL("a_bytes"), REAL("b_bytes"),
                                               REAL("difference_bytes")};
    struct device_pair pairs[MEMORY_DEVICES_SHOWN];
    struct sutra_table table;
    uint32_t n = list_pairs(of, pairs);
    table_init(&table, "memory_totals", specs, 5);
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof totals / sizeof *totals; k++) {
            int64_t a = totals[k].get(pairs[i].of[0]), b = totals[k].get(pairs[i].of[1]);
            table_words(&table, pair_name(&pairs[i]));
            table_words(&table, totals[k].name);
            table_real(&table, (double)a);
            table_real(&table, (double)b);
            table_real(&table, (double)(b - a));
        }
    page_check(page, &table);
    page_table(page, &table, "Peak, reserved and final bytes", NULL);
    table_free(&table);
}

/* Shows the differences of the rows [first, end) of the comparison: one device and kind of group. */
static void show_group_changes(struct page *page, const struct sutra_table *changes, uint64_t first, uint64_t end,
                               const char *kind, uint32_t number) {
    const struct column_spec specs[] = {TEXT(kind), REAL("a_bytes"), REAL("b_bytes"), REAL("difference_bytes")};
    struct sutra_table table;
    int colours[MEMORY_BARS_SHOWN];
    char name[64], caption[64];
    uint64_t n_changed = 0, n_bars = 0;
    table_init(&table, "memory_comparison", specs, 4);
    for (uint64_t row = first; row < end; row++) {
        size_t length;
        const char *text = table_get_text(changes, table_column(changes, "name"), row, &length);
        int64_t difference = integer_named(changes, "difference", row);
        table_words(&table, length ? text : "no operator");
        table_real(&table, real_named(changes, "a", row));
        table_real(&table, real_named(changes, "b", row));
        table_real(&table, (double)difference);
        n_changed += difference && n_changed == row - first;
        if (n_bars < n_changed && n_bars < MEMORY_BARS_SHOWN)
            colours[n_bars++] = COLOUR_COUNT;
    }
    page_check(page, &table);
    struct bars bars = bars_of_value(&table, kind, "difference_bytes", "bytes", COLOUR_COUNT, UNIT_BYTES);
    bars.n_rows = n_bars;
    bars.by_end = true;
    bars.row_colours = colours;
    snprintf(name, sizeof name, "changes_%s_%" PRIu32, kind, number);
    snprintf(caption, sizeof caption, "Peak by %s: B - A", kind);
    if (n_changed && !table.failed)
        page_chart(page, name, caption, "One bar per row: to the right if B has more live bytes at its peak than A.",
                   changes_draw, &bars);
    page_limit(page, n_bars, n_changed, true, "differences");
    snprintf(caption, sizeof caption, "Peak by %s", kind);
    page_table(page, &table, caption, "memory_comparison");
    table_free(&table);
}

static void show_changes(struct page *page, const void *of) {
    const struct sutra_table *changes = sutra_result_table(SUTRA_RESULT(of), SUTRA_MEMORY_COMPARISON, NULL);
    uint32_t device_column = table_column(changes, "device"), kind_column = table_column(changes, "group_by");
    const char *device = "";
    uint32_t number = 0;
    for (uint64_t first = 0, end; first < changes->n_rows && number <= MEMORY_DEVICES_SHOWN; first = end) {
        size_t length;
        const char *name = table_get_text(changes, device_column, first, &length),
                   *kind = table_get_text(changes, kind_column, first, &length);
        for (end = first + 1; end < changes->n_rows; end++)
            if (strcmp(table_get_text(changes, device_column, end, &length), name) != 0 ||
                strcmp(table_get_text(changes, kind_column, end, &length), kind) != 0)
                break;
        if (strcmp(name, device) != 0 && ++number <= MEMORY_DEVICES_SHOWN)
            page_subtitle(page, name);
        device = name;
        if (number <= MEMORY_DEVICES_SHOWN)
            show_group_changes(page, changes, first, end, kind, number - 1);
    }
    if (!changes->n_rows)
        page_missing(page, "Differences", "no allocation is live at the peaks");
}

/* Peaks of the steps: those with equal numbers are neighbours. */
static void show_step_peaks(struct page *page, const void *of) {
    static const struct column_spec specs[] = {TEXT("input"), INTEGER("step"), REAL("peak_bytes")};
    struct device_pair pairs[MEMORY_DEVICES_SHOWN];
    uint32_t n_pairs = list_pairs(of, pairs);
    bool is_empty = true;
    for (uint32_t i = 0; i < n_pairs; i++) {
        struct sutra_table table;
        char name[64];
        uint32_t at[2] = {0, 0};
        table_init(&table, "memory_step_peaks", specs, 3);
        for (;;) {
            const struct memory_step *next[2] = {NULL, NULL};
            for (int side = 0; side < 2; side++)
                if (pairs[i].of[side] && at[side] < pairs[i].of[side]->n_steps)
                    next[side] = &pairs[i].of[side]->steps[at[side]];
            if (!next[0] && !next[1])
                break;
            for (int side = 0; side < 2; side++)
                if (next[side] && (!next[!side] || next[side]->number <= next[!side]->number)) {
                    table_words(&table, sides[side]);
                    table_integer(&table, next[side]->number);
                    table_real(&table, (double)next[side]->peak_active);
                    at[side]++;
                }
        }
        snprintf(name, sizeof name, "step_peaks_%" PRIu32, i);
        const struct bars_words words = {name, "Step peaks", "One bar per step and input: its largest active bytes.",
                                         NULL, "Step peaks", "memory_steps"};
        const struct bars bars = {.table = &table,
                                  .labels = {0, 1},
                                  .n_labels = 2,
                                  .values = {{table_column(&table, "peak_bytes"), "peak", COLOUR_COUNT}},
                                  .n_values = 1,
                                  .unit = UNIT_BYTES};
        if (table.n_rows)
            page_subtitle(page, pair_name(&pairs[i]));
        is_empty &= !page_bars(page, bars, 2 * MEMORY_BARS_SHOWN, &words);
        table_free(&table);
    }
    if (is_empty)
        page_missing(page, "Steps", "no ProfilerStep and no optimizer step is recorded");
}

/* Shows the first findings of all inputs, or of each input of a comparison below its name. */
static void show_findings(struct page *page, const void *of) {
    const struct sutra_memory *memory = of;
    size_t n_lists = memory->is_comparison ? 2 : 1, first = 0;
    for (size_t list = 0; list < n_lists; list++) {
        struct sutra_memory_finding finding;
        size_t n = memory->is_comparison ? memory->inputs[list].n_findings : SIZE_MAX;
        if (memory->is_comparison)
            page_subtitle(page, sides[list]);
        if (n == 0 || !sutra_memory_finding(memory, first, &finding)) {
            page_words(page, "No findings: no rule fires.");
            continue;
        }
        page_findings_begin(page);
        for (size_t i = 0; i < n && i < PAGE_ROWS_FEW && sutra_memory_finding(memory, first + i, &finding); i++)
            page_finding(page, finding.rule, NAN, finding.text);
        page_findings_end(page);
        first += n;
    }
}

static void show_cards_of_both(struct page *page, const void *of) {
    const struct sutra_memory *memory = of;
    double peaks[2] = {0, 0};
    for (size_t side = 0; side < 2; side++) {
        const struct memory_input *input = &memory->inputs[side];
        const struct memory_device *largest = input->n_devices ? input->devices : NULL;
        for (uint32_t i = 1; i < input->n_devices; i++)
            if (peak_active(&input->devices[i]) > peak_active(largest))
                largest = &input->devices[i];
        char name[16];
        peaks[side] = (double)peak_active(largest);
        snprintf(name, sizeof name, "Peak of %s", sides[side]);
        page_card(page, name, peaks[side], UNIT_BYTES, largest ? largest->name : "");
    }
    char words[64];
    double difference = peaks[1] - peaks[0];
    snprintf(words, sizeof words, "%s%s", difference > 0 ? "+" : "", shown_figure(difference, UNIT_BYTES).text);
    page_card_words(page, "B - A", words, "");
}

static const struct page_section comparison_sections[] = {
    {"totals", "Totals", "Largest active and reserved bytes, and active bytes at the end.", show_totals},
    {"changes", "Differences",
     "Live bytes at the peak of A and at the peak of B by category, operator and frame. Bars to the right are groups with "
     "more bytes in B.",
     show_changes},
    {"steps", "Steps", "Largest active bytes of each step of A and B.", show_step_peaks},
    {"timeline", "Timeline", "Active bytes by frame over time, and reserved bytes.", show_timeline},
    {"findings", "Findings", "Causes of high memory use in each input, and advice.", show_findings},
    {0},
};

/* ---- The page ---- */

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
    char more[1024] = "";
    if (memory->is_comparison)
        snprintf(more, sizeof more, " (A) and %s (B)", short_path(memory->inputs[1].path, 80).text);
    else if (memory->n_inputs > 1)
        snprintf(more, sizeof more, " and %s more", shown_decimal((double)memory->n_inputs - 1, 0).text);
    const struct page_frame frame = {.title = memory->is_comparison ? "Comparison of GPU memory" : "GPU memory",
                                     .path = memory->inputs[0].path,
                                     .more = more,
                                     .cards = memory->is_comparison ? show_cards_of_both : show_cards,
                                     .has_no_key = true,
                                     .sections = memory->is_comparison ? comparison_sections : sections};
    page_open(&page, context, folder, PAGE_MEMORY, error);
    return page_write(&page, &frame, memory, n_bytes);
}
