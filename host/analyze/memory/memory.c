/*
 * memory.c - implements sutra/memory.h: selects the reader of each input, finds causes, pairs ranks of a comparison.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory/memory.h"
#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "read/file_kind.h"
#include "read/json.h"
#include "read/objects.h"
#include "text/names.h"
#include "text/numbers.h"
#include "text/quantities.h"

/*
 * Rules for causes of high memory use, and differences of two inputs.
 *
 * Each rule compares numbers of a device with a threshold; a finding names cause, bytes and the API to use. Findings
 * are sorted by rule, then descending by bytes.
 */

#define MIB ((int64_t)1 << 20)

enum { RULES_MAX = 9 };

/* "1.25 GiB", "12.5 MiB" */
static struct figure size_text(int64_t bytes) {
    struct figure figure;
    bool is_large = bytes >= 1024 * MIB || bytes <= -1024 * MIB;
    snprintf(figure.text, sizeof figure.text, is_large ? "%.2f GiB" : "%.1f MiB",
             (double)bytes / (double)(is_large ? 1024 * MIB : MIB));
    return figure;
}

static int64_t bytes_of(const struct sutra_memory *memory, const struct memory_groups *groups, const char *name) {
    for (uint32_t i = 0; i < groups->n; i++)
        if (strcmp(strings_text(&memory->names, groups->list[i].name), name) == 0)
            return groups->list[i].bytes;
    return 0;
}

/* A name for a text of limited length. */
static struct shortened name_of(const struct sutra_memory *memory, uint32_t name) {
    return short_text(strings_text(&memory->names, name), 80);
}

/* Adds a finding with its text. `rank` is the rule's position in the order of findings. */
__attribute__((format(printf, 7, 8))) static void add(struct sutra_memory *memory, struct memory_input *input,
                                                      uint32_t device, uint32_t rank, const char *rule, int64_t bytes,
                                                      const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *kept = arena_vformat(&memory->arena, format, arguments);
    va_end(arguments);
    uint32_t row = input->n_findings;
    if (kept)
        input->findings[input->n_findings++] = (struct memory_finding){rule, rank, device, row, bytes, kept};
}

static void check_device(struct sutra_memory *memory, struct memory_input *input, uint32_t number) {
    const struct memory_device *d = &input->devices[number];
    int64_t reserved = d->reserved[d->peak], active = d->active[d->peak], idle = reserved - active;
    for (uint32_t i = 0; i < d->n_ooms; i++) {
        const struct memory_oom *oom = &d->ooms[i];
        const char *advice =
            oom->event == EVENT_NONE ? "reduce the batch size, or record a memory snapshot to see the holders"
            : oom->fits_unfragmented ? "cached memory is large enough but fragmented: set "
                                       "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
            : oom->n_frames == 0     ? "reduce the batch size"
                                     : "reduce the batch size, or free or shard what the largest holders keep";
        if (oom->n_frames)
            add(memory, input, number, 0, "oom", oom->requested,
                "Out of memory: a request of %s failed with %s active and %s cached; largest holder: "
                "%s (%s); %s.",
                size_text(oom->requested).text, size_text(oom->active).text,
                size_text(oom->reserved - oom->active).text, name_of(memory, oom->largest_frames[0].name).text,
                size_text(oom->largest_frames[0].bytes).text, advice);
        else
            add(memory, input, number, 0, "oom", oom->requested,
                "Out of memory: a request of %s failed with %s active of %s reserved; %s.",
                size_text(oom->requested).text, size_text(oom->active).text, size_text(oom->reserved).text, advice);
    }
    if (d->n_retries)
        add(memory, input, number, 1, "allocator_retries", d->segment_free_bytes,
            "Allocator retries: %" PRIu32 " times the allocator freed cached segments to repeat a failed cudaMalloc, "
            "%s in total; each retry synchronizes the GPU. Reduce the batch size, or set "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
            d->n_retries, size_text(d->segment_free_bytes).text);
    if (d->n_growing)
        add(memory, input, number, 2, "growth", d->growing[0].last - d->growing[0].first,
            "Memory leak: live bytes of %s grow by %s over the steps, %s per step. Detach or delete "
            "tensors that later steps do not use.",
            name_of(memory, d->growing[0].frame).text, size_text(d->growing[0].last - d->growing[0].first).text,
            size_text(d->growing[0].per_step).text);
    if (reserved >= 256 * MIB && (double)idle >= 0.2 * (double)reserved && d->n_events)
        add(memory, input, number, 3, "fragmentation_at_peak", idle,
            "Fragmentation: at the peak %s of %s reserved are cached and unused. Set "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
            size_text(idle).text, size_text(reserved).text);
    if (d->segments.reserved >= 256 * MIB && (double)d->segments.inactive_split >= 0.15 * (double)d->segments.reserved)
        add(memory, input, number, 4, "inactive_split", d->segments.inactive_split,
            "Inactive split blocks: %s of %s reserved are between live blocks and cannot be released. Set "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or allocate long-lived tensors first.",
            size_text(d->segments.inactive_split).text, size_text(d->segments.reserved).text);
    if (d->largest != EVENT_NONE && !d->largest_before && active && 10 * d->largest_alloc.bytes >= active &&
        d->largest_ns == d->time_ns[d->peak] && d->largest_alloc.bytes >= 64 * MIB)
        add(memory, input, number, 5, "peak_from_one_temporary", d->largest_alloc.bytes,
            "Peak from one allocation: %s of the peak of %s are allocated at the peak by %s. Split the "
            "operation into chunks, or use a fused kernel.",
            size_text(d->largest_alloc.bytes).text, size_text(active).text,
            name_of(memory, d->largest_alloc.name).text);
    int64_t live = d->live_bytes ? d->live_bytes : 1, activation = bytes_of(memory, &d->categories, "activation"),
            optimizer = bytes_of(memory, &d->categories, "optimizer_state");
    if (2 * activation >= live && live >= 256 * MIB)
        add(memory, input, number, 6, "activation_checkpointing", activation,
            "Activations: %s of %s live at the peak. Use torch.utils.checkpoint, or a smaller batch.",
            size_text(activation).text, size_text(live).text);
    if ((double)optimizer >= 0.3 * (double)live && live >= 256 * MIB)
        add(memory, input, number, 7, "optimizer_state", optimizer,
            "Optimizer state: %s of %s live at the peak. Shard the state (FSDP, ZeroRedundancyOptimizer), or "
            "use an 8-bit optimizer.",
            size_text(optimizer).text, size_text(live).text);
    uint64_t n_segment_allocs = 0;
    for (uint32_t i = 1; i < d->n_steps; i++)
        n_segment_allocs += d->steps[i].n_segment_allocs;
    if (d->n_steps >= 3 && n_segment_allocs >= d->n_steps - 1)
        add(memory, input, number, 8, "cudamalloc_in_steps", MEMORY_NO_BYTES,
            "cudaMalloc in steps: the allocator allocates %.1f segments per step after the first step. Keep tensor sizes "
            "constant, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
            (double)n_segment_allocs / (double)(d->n_steps - 1));
}

static int compare_findings(const void *a, const void *b, void *devices) {
    const struct memory_finding *x = a, *y = b;
    if (x->rule_rank != y->rule_rank)
        return x->rule_rank < y->rule_rank ? -1 : 1;
    int64_t of_x = x->bytes == MEMORY_NO_BYTES ? 0 : x->bytes, of_y = y->bytes == MEMORY_NO_BYTES ? 0 : y->bytes;
    if (of_x != of_y)
        return of_x > of_y ? -1 : 1;
    const struct memory_device *list = devices;
    int order = strcmp(list[x->device].name, list[y->device].name);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* ---- Comparison ---- */

static int compare_change_names(const void *a, const void *b, void *names) {
    const struct memory_change *x = a, *y = b;
    return memory_compare_names(names, x->name, y->name);
}

static int compare_changes(const void *a, const void *b, void *names) {
    const struct memory_change *x = a, *y = b;
    int64_t of_x = llabs(x->b - x->a), of_y = llabs(y->b - y->a);
    return of_x != of_y ? (of_x > of_y ? -1 : 1) : compare_change_names(a, b, names);
}

struct memory_change *memory_changes(struct arena *arena, const struct strings *names, const struct memory_groups *a,
                                     const struct memory_groups *b, uint32_t *n) {
    uint32_t n_a = a ? a->n : 0, n_b = b ? b->n : 0, n_all = n_a + n_b, n_kept = 0;
    struct memory_change *list = arena_alloc(arena, n_all, sizeof *list);
    *n = 0;
    if (!list)
        return NULL;
    for (uint32_t i = 0; i < n_a; i++)
        list[i] = (struct memory_change){a->list[i].name, a->list[i].bytes, 0};
    for (uint32_t i = 0; i < n_b; i++)
        list[n_a + i] = (struct memory_change){b->list[i].name, 0, b->list[i].bytes};
    qsort_r(list, n_all, sizeof *list, compare_change_names, (void *)names);
    for (uint32_t i = 0; i < n_all; i++) {
        if (n_kept && list[n_kept - 1].name == list[i].name) {
            list[n_kept - 1].a += list[i].a;
            list[n_kept - 1].b += list[i].b;
        } else {
            list[n_kept++] = list[i];
        }
    }
    qsort_r(list, n_kept, sizeof *list, compare_changes, (void *)names);
    *n = n_kept;
    return list;
}

static int compare_devices(const void *a, const void *b) {
    const struct memory_device *const *x = a, *const *y = b;
    return (*x)->rank != (*y)->rank ? ((*x)->rank < (*y)->rank ? -1 : 1) : strcmp((*x)->name, (*y)->name);
}

struct memory_device_pair *memory_pair_devices(const struct sutra_memory *memory, struct arena *arena, uint32_t *n) {
    const struct memory_device **lists[2];
    uint32_t sizes[2], at[2] = {0, 0};
    for (size_t side = 0; side < 2; side++) {
        const struct memory_input *input = &memory->inputs[side];
        sizes[side] = input->n_devices;
        if (!(lists[side] = arena_alloc(arena, sizes[side], sizeof(void *))))
            return NULL;
        for (uint32_t i = 0; i < sizes[side]; i++)
            lists[side][i] = &input->devices[i];
        qsort(lists[side], sizes[side], sizeof(void *), compare_devices);
    }
    struct memory_device_pair *pairs = arena_zeros(arena, (size_t)sizes[0] + sizes[1], sizeof *pairs);
    for (*n = 0; pairs && (at[0] < sizes[0] || at[1] < sizes[1]); ++*n) {
        int order = at[0] == sizes[0]   ? 1
                    : at[1] == sizes[1] ? -1
                                        : compare_devices(&lists[0][at[0]], &lists[1][at[1]]);
        if (order <= 0)
            pairs[*n].of[0] = lists[0][at[0]++];
        if (order >= 0)
            pairs[*n].of[1] = lists[1][at[1]++];
    }
    return pairs;
}

enum memory_format { FORMAT_SNAPSHOT, FORMAT_KINETO, FORMAT_OTHER };

static bool key_is(const struct source *source, struct json_span key, const char *name) {
    size_t n = strlen(name);
    return key.end - key.at - 1 == n && memcmp(source->bytes + key.at + 1, name, n) == 0;
}

/* Whether the object at the walker has the key; false if it is malformed. */
static bool has_key(const struct source *source, struct json_walker *walker, const char *name) {
    bool found = false;
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        found |= key_is(source, walk_key(walker), name);
        walk_value(walker);
    }
    return found && !walker->expected;
}

/* The format, by the first byte, by the keys of the top-level object, or by those of the first object of an array: of
 * events, or of segments. Skips values before the known key. */
static enum memory_format find_format(const struct source *source) {
    if (is_pickle(source->bytes, source->size))
        return FORMAT_SNAPSHOT;
    struct json_walker walker = walk_from(source, 0);
    char c = walk_char(&walker);
    if (c == '[') {
        if (!walk_array(&walker)) /* no events, if it is not malformed */
            return walker.expected ? FORMAT_SNAPSHOT : FORMAT_KINETO;
        return walk_char(&walker) == '{' && has_key(source, &walker, "ph") ? FORMAT_KINETO : FORMAT_SNAPSHOT;
    }
    if (c != '{')
        return FORMAT_OTHER;
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_span key = walk_key(&walker);
        if (walker.expected || key_is(source, key, "segments"))
            return FORMAT_SNAPSHOT;
        if (key_is(source, key, "traceEvents"))
            return FORMAT_KINETO;
        walk_value(&walker);
    }
    return FORMAT_SNAPSHOT;
}

/* Bytes in memory, or NULL: the file `name`. */
struct memory_bytes {
    const char *name;
    const void *bytes;
    size_t size;
};

static enum sutra_status read_input(struct sutra_context *context, struct sutra_memory *memory,
                                    const struct memory_bytes *from, struct memory_input *input,
                                    struct sutra_error *error) {
    struct source source;
    size_t length = strlen(from->name) + 1;
    char *kept = arena_alloc(&memory->arena, length, 1);
    TRY_ALLOC(kept, error);
    input->path = memcpy(kept, from->name, length);
    input->rank = -1;
    stage_begin(context, "open snapshot", 0);
    enum sutra_status status = SUTRA_OK;
    TRY(from->bytes ? source_copy_any(&source, from->name, from->bytes, from->size, error)
                    : source_open_any(&source, from->name, context->options.most_input_bytes, error));
    switch (find_format(&source)) {
    case FORMAT_SNAPSHOT: {
        struct background_call mapping;
        bool maps_pages = memory->has_threads && source.mapping && source.size >= MEMORY_THREAD_BYTES;
        if (maps_pages)
            background_call_begin(&mapping, true, source_map_pages, &source);
        status = memory_read_snapshot(context, memory, input, &source, error);
        if (maps_pages)
            background_call_end(&mapping);
        break;
    }
    case FORMAT_KINETO:
        status = memory_read_kineto(context, memory, input, &source, error);
        break;
    case FORMAT_OTHER:
        status = source_refuse(&source, 0, MEMORY_EXPECTED, MEMORY_ADVICE, error);
    }
    source_close(&source);
    return status;
}

/* Findings of an input: by rule, then descending by bytes. */
static enum sutra_status find_causes(struct sutra_memory *memory, struct memory_input *input,
                                     struct sutra_error *error) {
    uint64_t max_findings = 0;
    for (uint32_t i = 0; i < input->n_devices; i++)
        max_findings += RULES_MAX + input->devices[i].n_ooms;
    input->findings = arena_alloc(&memory->arena, max_findings, sizeof *input->findings);
    TRY(arena_status(&memory->arena, error));
    for (uint32_t i = 0; i < input->n_devices; i++)
        if (!input->devices[i].is_cpu)
            check_device(memory, input, i);
    qsort_r(input->findings, input->n_findings, sizeof *input->findings, compare_findings, input->devices);
    return arena_status(&memory->arena, error);
}

/* ---- Ranks of a comparison ---- */

/* An input of one side of a comparison. */
struct rank_input {
    int64_t rank;
    const struct memory_bytes *from;
    struct memory_input input;
};

ORDER_BY(compare_rank_inputs, struct rank_input, ASCENDING(rank))

/* Reads the inputs of one side, and sorts them by rank. */
static enum sutra_status read_side(struct sutra_context *context, struct sutra_memory *memory,
                                   const struct memory_bytes *from, size_t n, struct rank_input *list,
                                   struct sutra_error *error) {
    for (size_t i = 0; i < n; i++) {
        list[i].from = &from[i];
        TRY(read_input(context, memory, &from[i], &list[i].input, error));
        const char *name = path_file_name(from[i].name);
        list[i].rank = list[i].input.rank;
        if (list[i].rank < 0)
            list[i].rank = trace_name_rank(from[i].name);
        if (list[i].rank == NOT_RECORDED &&
            !integer_find_last(name, strcspn(name, "."), &list[i].rank)) /* without its extensions */
            list[i].rank = (int64_t)i;
    }
    qsort(list, n, sizeof *list, compare_rank_inputs);
    for (size_t i = 1; i < n; i++)
        if (list[i].rank == list[i - 1].rank)
            return error_file(error, SUTRA_DATA, list[i].from->name,
                              "rank %" PRId64 " is also the rank of %s: write the rank into the file names, as in "
                              "rank_0.pickle",
                              list[i].rank, list[i - 1].from->name);
    return SUTRA_OK;
}

/* Appends the devices of a rank to one side of a comparison. */
static void append_devices(struct memory_input *side, const struct rank_input *of) {
    for (uint32_t i = 0; i < of->input.n_devices; i++) {
        struct memory_device *device = &side->devices[side->n_devices++];
        *device = of->input.devices[i];
        device->rank = of->rank;
        snprintf(device->name, sizeof device->name, "rank %" PRId64 " %.40s", of->rank, of->input.devices[i].name);
    }
}

/* Compares several inputs rank by rank: the devices of all ranks become the devices of two inputs. */
static enum sutra_status read_ranks(struct sutra_context *context, struct sutra_memory *memory,
                                    const struct memory_bytes *inputs, const size_t n[2],
                                    const struct sutra_memory_options *options, struct sutra_error *error) {
    struct arena scratch = {0};
    struct rank_input *lists[2] = {arena_zeros(&scratch, n[0], sizeof **lists),
                                   arena_zeros(&scratch, n[1], sizeof **lists)};
    struct rank_list only[2] = {0};
    size_t at[2] = {0, 0}, n_pairs = 0;
    enum sutra_status status = scratch.failed ? error_memory(error) : SUTRA_OK;
    for (size_t side = 0; side < 2 && !status; side++) {
        struct memory_input *input = &memory->inputs[side];
        status = read_side(context, memory, inputs + (side ? n[0] : 0), n[side], lists[side], error);
        uint64_t n_devices = 0;
        for (size_t i = 0; i < n[side]; i++)
            n_devices += lists[side][i].input.n_devices;
        const char *name = options->names[side] ? options->names[side] : inputs[side ? n[0] : 0].name;
        input->path = arena_text(&memory->arena, name, strlen(name));
        input->is_snapshot = true;
        input->devices = arena_alloc(&memory->arena, n_devices, sizeof *input->devices);
        if (!status)
            status = arena_status(&memory->arena, error);
    }
    while (!status && (at[0] < n[0] || at[1] < n[1])) {
        const struct rank_input *of[2] = {at[0] < n[0] ? &lists[0][at[0]] : NULL,
                                          at[1] < n[1] ? &lists[1][at[1]] : NULL};
        int order = !of[0] ? 1 : !of[1] ? -1 : compare_rank_inputs(of[0], of[1]);
        for (size_t side = 0; side < 2; side++) {
            if (order == 0) {
                append_devices(&memory->inputs[side], of[side]);
                memory->inputs[side].is_snapshot &= of[side]->input.is_snapshot;
                at[side]++;
            } else if (side == (order > 0)) {
                rank_list_add(&only[side], of[side]->rank);
                at[side]++;
            }
        }
        n_pairs += order == 0;
    }
    for (size_t side = 0; side < 2 && !status; side++) {
        if (n_pairs && only[side].any)
            context_warn(context, "ranks of %s that %s does not have: %s: skipped", memory->inputs[side].path,
                         memory->inputs[!side].path, rank_list_text(&only[side]));
        status = find_causes(memory, &memory->inputs[side], error);
    }
    if (!status && !n_pairs)
        status = error_set(error, SUTRA_DATA,
                           "no rank is in both %s and %s: write the rank into the file names, as in rank_0.pickle",
                           memory->inputs[0].path, memory->inputs[1].path);
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; !status && i < n[side]; i++)
            if (lists[side][i].input.warning)
                context_warn(context, "%s: %s", lists[side][i].from->name, lists[side][i].input.warning);
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; lists[side] && i < n[side]; i++)
            buffer_free(&lists[side][i].input.settings);
    arena_free(&scratch);
    return status;
}

/* Analyzes n[0] inputs, or compares them with the n[1] inputs after them. */
static enum sutra_status fill(struct sutra_memory *memory, struct sutra_context *context,
                              const struct memory_bytes *inputs, const size_t n[2],
                              const struct sutra_memory_options *options, struct sutra_error *error) {
    const bool has_ranks = n[1] && n[0] + n[1] > 2;
    const size_t n_inputs = has_ranks ? 2 : n[0] + n[1];
    memory->n_inputs = n_inputs;
    memory->is_comparison = n[1] > 0;
    memory->has_tables = options->tables;
    memory->has_threads = pool_threads(context->pool) > 1;
    memory->n_top = options->n_top ? options->n_top : 10;
    memory->inputs = calloc(n_inputs + 1, sizeof *memory->inputs);
    TRY_ALLOC(memory->inputs && strings_init(&memory->names) &&
                  result_init(&memory->result, memory_table_specs, SUTRA_MEMORY_N_TABLES),
              error);
    memory->result.of_job = true;
    if (has_ranks)
        TRY(read_ranks(context, memory, inputs, n, options, error));
    for (size_t i = 0; i < n_inputs && !has_ranks; i++) {
        TRY(read_input(context, memory, &inputs[i], &memory->inputs[i], error));
        TRY(find_causes(memory, &memory->inputs[i], error));
    }
    for (size_t i = 0; i < n_inputs; i++)
        if (memory->inputs[i].warning)
            context_warn(context, "%s: %s", memory->inputs[i].path, memory->inputs[i].warning);
    return options->tables ? memory_make_tables(memory, error) : SUTRA_OK;
}

static enum sutra_status run(struct sutra_context *context, const struct memory_bytes *inputs, const size_t n[2],
                             const struct sutra_memory_options *options, struct sutra_memory **memory,
                             struct sutra_error *error) {
    struct sutra_memory *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    enum sutra_status status = fill(made, context, inputs, n, options, error);
    stage_end(context);
    if (status)
        sutra_memory_free(made);
    else
        *memory = made;
    return status;
}

static enum sutra_status copy_options(const struct sutra_memory_options *options, struct sutra_memory_options *taken,
                                      struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_memory_options, tables);
    return options_copy(&form, options, taken, error);
}

enum sutra_status sutra_memory_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                   const struct sutra_memory_options *options, struct sutra_memory **memory,
                                   struct sutra_error *error) {
    struct sutra_memory_options known;
    TRY(copy_options(options, &known, error));
    if (n_paths == 0)
        return error_set(error, SUTRA_USAGE, "no inputs");
    const char *const *against = known.n_against ? known.against_paths : &known.against;
    const size_t n[2] = {n_paths, known.n_against ? known.n_against : known.against != NULL};
    if (n[1] && n[0] != n[1] && (n[0] == 1 || n[1] == 1))
        return error_set(error, SUTRA_USAGE,
                         "cannot compare %zu inputs with %zu: name one input and one input to compare with, or the "
                         "directories of all ranks",
                         n[0], n[1]);
    struct memory_bytes *inputs = calloc(n[0] + n[1] + 1, sizeof *inputs);
    TRY_ALLOC(inputs, error);
    for (size_t i = 0; i < n[0] + n[1]; i++)
        inputs[i].name = i < n[0] ? paths[i] : against[i - n[0]];
    enum sutra_status status = run(context, inputs, n, &known, memory, error);
    free(inputs);
    return status;
}

enum sutra_status sutra_memory_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                     const struct sutra_memory_options *options, struct sutra_memory **memory,
                                     struct sutra_error *error) {
    struct sutra_memory_options known;
    TRY(copy_options(options, &known, error));
    struct memory_bytes inputs[2] = {{name, bytes, size}, {.name = known.against}};
    const size_t n[2] = {1, known.against != NULL};
    return run(context, inputs, n, &known, memory, error);
}

void sutra_memory_free(struct sutra_memory *memory) {
    if (!memory)
        return;
    result_free(&memory->result);
    for (size_t i = 0; memory->inputs && i < memory->n_inputs; i++)
        buffer_free(&memory->inputs[i].settings);
    free(memory->inputs);
    strings_free(&memory->names);
    arena_free(&memory->arena);
    free(memory);
}

int sutra_memory_finding(const struct sutra_memory *memory, size_t i, struct sutra_memory_finding *finding) {
    for (size_t k = 0; k < memory->n_inputs; i -= memory->inputs[k++].n_findings) {
        const struct memory_input *input = &memory->inputs[k];
        if (i < input->n_findings) {
            const struct memory_finding *found = &input->findings[i];
            *finding = (struct sutra_memory_finding){found->rule, input->devices[found->device].name,
                                                     found->bytes == MEMORY_NO_BYTES ? -1 : found->bytes, found->text};
            return 1;
        }
    }
    return 0;
}
