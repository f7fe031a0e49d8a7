/*
 * program_edits.c - edits of the programs of a job: another number of layers, another number of micro-batches.
 *
 *     layers          unit   before | block 0 | block 1 | block 2 | block 3 | after
 *                     6      before | block 0 | block 1 | block 2 | block 1 | block 2 | block 3 | after
 *     micro-batches   step   F0 F1 B0 F2 B1 B2
 *                     5      F0 F1 B0 F2 B1 F1 B0 F2 B1 B2
 *
 * The first block and the first forward pass, the last block and the last backward pass keep their positions: they have
 * no predecessors of their kind, or the collectives of gradients. The others are copied in a cycle.
 */
#include <inttypes.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "simulate/program.h"

/* ---- Pipeline stages ---- */

bool programs_stages(const struct programs *programs, struct arena *arena, uint32_t *stages) {
    uint32_t *root = arena_alloc(arena, programs->n, sizeof *root);
    uint32_t *size = arena_zeros(arena, programs->n, sizeof *size);
    if (arena->failed)
        return false;
    for (uint32_t p = 0; p < programs->n; p++)
        root[p] = p;
    for (uint32_t p = 0; p < programs->n; p++) {
        const struct program *program = &programs->list[p];
        for (row_t i = 0; i < program->items.n; i++) {
            const struct program_item *item = &program->items.list[i];
            if (!item_is_message(program_graph_of(programs, program), item))
                continue;
            const struct program_group *group = &programs->groups[item->group];
            for (uint32_t k = 1; k < group->n && group->members; k++)
                root[union_root(root, group->members[k])] = union_root(root, group->members[0]);
        }
    }
    for (uint32_t p = 0; p < programs->n; p++)
        size[union_root(root, p)]++;
    for (uint32_t p = 0; p < programs->n; p++)
        stages[p] = size[union_root(root, p)];
    return true;
}

/* ---- Passes of all ranks ---- */

/* The units of all programs, and the number of pipeline stages after each. */
struct job_units {
    struct program_units *list;
    uint32_t *n_later;
};

static enum sutra_status refuse_steps(const struct program *program, const struct program_units *units,
                                      struct sutra_error *error) {
    if (units->n_steps == 0)
        return error_set(error, SUTRA_DATA,
                         "rank %" PRIu64 ": no profiler steps; record with torch.profiler.schedule and step()",
                         program->rank);
    for (uint32_t s = 0; s < units->n_steps; s++)
        if (units->steps[s].n_units == 0)
            return error_set(error, SUTRA_DATA, "rank %" PRIu64 ": step %d has no backward pass", program->rank,
                             units->steps[s].step);
    return SUTRA_OK;
}

/* The program to which a program sends before the first backward operator of a step, or UINT32_MAX. */
static uint32_t next_stage(const struct programs *programs, uint32_t p) {
    const struct program *program = &programs->list[p];
    const struct rank_graph *graph = program_graph_of(programs, program);
    bool is_backward = false;
    for (row_t i = 0; i < program->items.n; i++) {
        const struct program_item *item = &program->items.list[i];
        if (i > 0 && item->step != program->items.list[i - 1].step)
            is_backward = false;
        is_backward |=
            item_is_backward(graph, program, item) && !(programs->names[graph->name[item->node]] & NAME_IS_GAP);
        if (is_backward || item->step < 0 || !item_is_message(graph, item) || item->receives)
            continue;
        const struct program_group *group = &programs->groups[item->group];
        for (uint32_t k = 0; k < group->n && group->members; k++)
            if (group->members[k] != p)
                return group->members[k];
    }
    return UINT32_MAX;
}

/* Fills n_later[p] from the messages of forward passes. Refuses a cycle of ranks: it has no first stage. O(items). */
static enum sutra_status count_later_stages(const struct programs *programs, uint32_t *n_later, struct arena *scratch,
                                            struct sutra_error *error) {
    uint32_t *next = arena_alloc(scratch, programs->n, sizeof *next);
    TRY_ALLOC(next, error);
    for (uint32_t p = 0; p < programs->n; p++) {
        next[p] = next_stage(programs, p);
        n_later[p] = UINT32_MAX;
    }
    for (uint32_t p = 0; p < programs->n; p++) {
        uint32_t n = 0, last = p;
        while (n_later[last] == UINT32_MAX && next[last] != UINT32_MAX && n <= programs->n) {
            last = next[last];
            n++;
        }
        if (n > programs->n)
            return error_set(error, SUTRA_DATA,
                             "the messages of forward passes form a cycle of ranks that includes rank %" PRIu64
                             ", as in ring attention and interleaved pipeline stages; sutra edits layers and "
                             "micro-batches only of jobs without such messages",
                             programs->list[last].rank);
        n_later[last] = n_later[last] == UINT32_MAX ? 0 : n_later[last];
        for (uint32_t q = p, base = n_later[last]; q != last; q = next[q])
            n_later[q] = base + n--;
    }
    return SUTRA_OK;
}

/* Finds the units. SUTRA_DATA: a rank has no training steps, or the ranks are no pipeline. */
static enum sutra_status find_units(const struct programs *programs, struct arena *arena, struct job_units *units,
                                    struct sutra_error *error) {
    units->list = arena_alloc(arena, programs->n, sizeof *units->list);
    units->n_later = arena_alloc(arena, programs->n, sizeof *units->n_later);
    TRY(arena_status(arena, error));
    for (uint32_t p = 0; p < programs->n; p++) {
        TRY_ALLOC(program_units_find(programs, &programs->list[p], arena, &units->list[p]), error);
        TRY(refuse_steps(&programs->list[p], &units->list[p], error));
    }
    return count_later_stages(programs, units->n_later, arena, error);
}

/* ---- Layers ---- */

/* The repeated blocks of a unit: block j is items edges[j]..edges[j + 1] - 1. */
struct unit_blocks {
    uint32_t repeats;
    uint32_t n_layers; /* layers with all kernels: one more than the repeats if the unit prefetches parameters */
    row_t *edges;
};

/* How often the unit has the kernels of a block: the least of its kernels. UINT32_MAX: out of memory. */
static uint32_t count_layers(const struct program *program, const struct periodic_run *run, const uint32_t *symbol,
                             const row_t *gpu, uint32_t n, uint32_t n_symbols, struct arena *arena) {
    uint32_t *in_unit = arena_zeros(arena, n_symbols, sizeof *in_unit);
    uint32_t *in_block = arena_zeros(arena, n_symbols, sizeof *in_block);
    uint32_t n_layers = UINT32_MAX;
    if (arena->failed)
        return UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        in_unit[symbol[i]]++;
        in_block[symbol[i]] += i >= run->start && i < run->start + run->period;
    }
    for (uint32_t i = run->start; i < run->start + run->period; i++)
        if (item_computes(&program->items.list[gpu[i]]))
            n_layers = MIN(n_layers, in_unit[symbol[i]] / in_block[symbol[i]]);
    return n_layers == UINT32_MAX ? run->repeats : n_layers;
}

/* Finds the blocks of a unit. The symbols of its GPU nodes are equal for equal name and stream. False: out of memory.
 */
static bool find_blocks(const struct programs *programs, const struct program *program, const struct program_unit *unit,
                        struct pair_table *symbols, struct arena *arena, struct unit_blocks *blocks) {
    const struct rank_graph *graph = program_graph_of(programs, program);
    row_t *gpu = arena_alloc(arena, unit->after - unit->first, sizeof *gpu);
    uint32_t *symbol = arena_alloc(arena, unit->after - unit->first, sizeof *symbol);
    uint32_t n = 0;
    if (arena->failed)
        return false;
    for (row_t i = unit->first; i < unit->after; i++) {
        const struct program_item *item = &program->items.list[i];
        if (item->resource == CPU_CHAIN)
            continue;
        struct pair_entry *entry = pair_table_insert(symbols, item->resource, graph->name[item->node]);
        if (!entry)
            return false;
        if (entry->number == PAIR_NONE)
            entry->number = symbols->n - 1;
        gpu[n] = i;
        symbol[n++] = entry->number;
    }
    struct periodic_run run;
    if (!periodic_run_find(symbol, n, arena, &run))
        return false;
    blocks->repeats = run.repeats;
    blocks->n_layers = count_layers(program, &run, symbol, gpu, n, symbols->n, arena);
    blocks->edges = arena_alloc(arena, (size_t)run.repeats + 1, sizeof *blocks->edges);
    if (arena->failed)
        return false;
    blocks->edges[0] = run.start ? gpu[run.start - 1] + 1 : unit->first;
    for (uint32_t j = 1; j <= run.repeats; j++)
        blocks->edges[j] = gpu[run.start + run.period * j - 1] + 1;
    return true;
}

/* The recorded block that is block j of n; `repeats` were recorded. */
static uint32_t block_source(uint32_t j, uint32_t n, uint32_t repeats) {
    if (j == n - 1 && (n > 1 || repeats > 1))
        return repeats - 1;
    if (j == 0 || repeats <= 2)
        return 0;
    return 1 + (j - 1) % (repeats - 2);
}

/* The first block is gone: its waits, of the first node of each stream for nodes before the block, move to the first
 * node of this stream in the block that is now the first. `copies` are its items. */
static bool move_waits(struct programs *programs, const struct program *program, row_t first, row_t after,
                       struct program_item *copies, row_t n_copies, struct arena *arena) {
    const uint32_t n_resources = program->n_resources;
    row_t *counts = arena_zeros(arena, n_resources, sizeof *counts);      /* nodes of the block */
    bool *has_moved = arena_zeros(arena, n_resources, sizeof *has_moved); /* the waits of a stream */
    struct program_ref *waits = NULL;
    uint64_t n_waits = 0, capacity = 0;
    uint64_t *begin = arena_zeros(arena, n_resources, sizeof *begin),
             *end = arena_zeros(arena, n_resources, sizeof *end);
    if (arena->failed)
        return false;
    for (row_t i = first; i < after; i++) {
        const struct program_item *item = &program->items.list[i];
        const uint32_t stream = item->resource;
        if (item->is_mark)
            continue;
        if (stream != CPU_CHAIN && counts[stream] == 0) {
            begin[stream] = n_waits;
            for (uint32_t k = 0; k < item->n_refs; k++) {
                const struct program_ref ref = programs->refs[item->first_ref + k];
                if (ref.resource == CPU_CHAIN || ref.resource == stream || ref.back < counts[ref.resource])
                    continue;
                if (!arena_grow(arena, &waits, n_waits, &capacity, sizeof *waits))
                    return false;
                waits[n_waits++] = ref;
            }
            end[stream] = n_waits;
        }
        counts[stream]++;
    }
    for (row_t i = 0; i < n_copies; i++) {
        struct program_item *item = &copies[i];
        const uint32_t stream = item->resource;
        if (has_moved[stream] || begin[stream] == end[stream])
            continue;
        has_moved[stream] = true;
        /* A new list: the recorded references, and the waits. */
        const uint64_t first_ref = programs->n_refs;
        for (uint64_t k = 0; k < item->n_refs + end[stream] - begin[stream]; k++) {
            if (!arena_grow(programs->arena, &programs->refs, programs->n_refs, &programs->refs_capacity,
                            sizeof *programs->refs))
                return false;
            programs->refs[programs->n_refs++] =
                k < item->n_refs ? programs->refs[item->first_ref + k] : waits[begin[stream] + k - item->n_refs];
        }
        item->first_ref = first_ref;
        item->n_refs += (uint32_t)(end[stream] - begin[stream]);
    }
    return true;
}

/* Bytes of the collectives on the streams with all-reduces or reduce-scatters: the gradients and, with tensor
 * parallelism, activations, which grow with the layers as well. */
static double reduced_bytes(const struct rank_graph *graph, const struct program_items *items, const bool *reduces) {
    double bytes = 0;
    for (row_t i = 0; i < items->n; i++) {
        const struct transfer *transfer = item_transfer(graph, &items->list[i]);
        if (transfer && reduces[items->list[i].resource])
            bytes += (double)transfer->bytes;
    }
    return bytes;
}

/* Scales the kernels of the optimizer with these bytes; without them, with the layers. */
static bool scale_optimizer(const struct programs *programs, const struct program *program,
                            struct program_items *edited, double layers_factor, struct arena *scratch) {
    const struct rank_graph *graph = program_graph_of(programs, program);
    bool *reduces = arena_zeros(scratch, program->n_resources, sizeof *reduces);
    if (!reduces)
        return false;
    for (row_t i = 0; i < program->items.n; i++) {
        const struct transfer *transfer = item_transfer(graph, &program->items.list[i]);
        if (transfer && (transfer->kind == COMM_ALL_REDUCE || transfer->kind == COMM_REDUCE_SCATTER))
            reduces[program->items.list[i].resource] = true;
    }
    const double before = reduced_bytes(graph, &program->items, reduces);
    const double factor = before > 0 ? reduced_bytes(graph, edited, reduces) / before : layers_factor;
    for (row_t i = 0; i < edited->n; i++) {
        struct program_item *item = &edited->list[i];
        if (!item_computes(item) || !(programs->names[graph->name[item->node]] & NAME_IS_OPTIMIZER))
            continue;
        item->dur_ns += item->run_ns * (factor - 1);
        item->run_ns *= factor;
    }
    return true;
}

/* The blocks of a rank: of each unit, and the layers of a unit with all of them. */
struct rank_layers {
    struct unit_blocks *blocks;
    uint32_t n;
};

/* Finds the blocks of all units of a step. */
static enum sutra_status find_step_blocks(const struct programs *programs, const struct program *program,
                                          const struct program_units *units, const struct program_step *step,
                                          struct pair_table *symbols, struct arena *arena, struct unit_blocks *blocks,
                                          struct sutra_error *error) {
    for (uint32_t u = step->first_unit; u < step->first_unit + step->n_units; u++) {
        TRY_ALLOC(find_blocks(programs, program, &units->list[u], symbols, arena, &blocks[u]), error);
        if (blocks[u].repeats == 0)
            return error_set(error, SUTRA_DATA, "rank %" PRIu64 ", step %d: no repeated layer found", program->rank,
                             step->step);
    }
    return SUTRA_OK;
}

/* Finds the number of layers of a rank from its blocks. Each unit repeats all layers, or all but one, as units that
 * prefetch do. */
static enum sutra_status count_rank_layers(const struct program *program, const struct program_units *units,
                                           struct rank_layers *layers, struct sutra_error *error) {
    uint32_t most = 0, n_layers = UINT32_MAX;
    for (uint32_t s = 0; s < units->n_steps; s++)
        for (uint32_t k = 0; k < units->steps[s].n_units; k++) {
            const struct unit_blocks *blocks = &layers->blocks[units->steps[s].first_unit + k];
            most = MAX(most, blocks->repeats);
            n_layers = MIN(n_layers, blocks->n_layers);
        }
    layers->n = MAX(most, n_layers);
    for (uint32_t s = 0; s < units->n_steps; s++)
        for (uint32_t k = 0; k < units->steps[s].n_units; k++) {
            const uint32_t repeats = layers->blocks[units->steps[s].first_unit + k].repeats;
            if (repeats + 1 < layers->n)
                return error_set(error, SUTRA_DATA,
                                 "rank %" PRIu64
                                 ", step %d: passes repeat %u and %u blocks, so the number of layers is "
                                 "unknown; sutra edits only layers that all passes repeat equally",
                                 program->rank, units->steps[s].step, repeats, layers->n);
        }
    return SUTRA_OK;
}

static enum sutra_status find_layers(const struct programs *programs, const struct program *program, uint32_t n_stages,
                                     const struct program_units *units, struct rank_layers *layers, struct arena *arena,
                                     struct sutra_error *error) {
    struct pair_table symbols;
    enum sutra_status status = SUTRA_OK;
    for (uint32_t s = 0; s < units->n_steps; s++)
        if (n_stages > 1 && schedule_find(units, &units->steps[s]).kind == SCHEDULE_UNKNOWN)
            return error_set(error, SUTRA_DATA,
                             "rank %" PRIu64 ", step %d: the schedule is neither 1F1B nor all forward passes first; "
                             "interleaved stages cannot be edited",
                             program->rank, units->steps[s].step);
    layers->blocks = arena_alloc(arena, units->n, sizeof *layers->blocks);
    TRY_ALLOC(layers->blocks && pair_table_init(&symbols), error);
    for (uint32_t s = 0; s < units->n_steps && !status; s++)
        status = find_step_blocks(programs, program, units, &units->steps[s], &symbols, arena, layers->blocks, error);
    pair_table_free(&symbols);
    TRY(status);
    return count_rank_layers(program, units, layers, error);
}

/* Describes the repeated block of a unit: the items from `first` to `after` - 1. False: out of memory. */
static bool describe_block(const struct programs *programs, const struct program *program, row_t first, row_t after,
                           struct pass_block *block) {
    const struct rank_graph *graph = program_graph_of(programs, program);
    *block = (struct pass_block){.names = arena_alloc(programs->arena, after - first, sizeof *block->names),
                                 .counts = arena_zeros(programs->arena, after - first, sizeof *block->counts)};
    for (row_t i = first; i < after && !programs->arena->failed; i++) {
        const struct program_item *item = &program->items.list[i];
        block->n_collectives += item->transfer != ROW_NONE;
        if (!item_computes(item))
            continue;
        uint32_t k = 0;
        while (k < block->n_names && block->names[k] != graph->name[item->node])
            k++;
        block->names[k] = graph->name[item->node];
        block->n_names = MAX(block->n_names, k + 1);
        block->counts[k]++;
        block->n_kernels++;
    }
    return !programs->arena->failed;
}

/* Edits a program: the blocks of each unit change in number by `n_blocks` - layers->n. */
static enum sutra_status set_blocks(struct programs *programs, struct program *program,
                                    const struct program_units *units, const struct rank_layers *layers,
                                    uint32_t n_blocks, struct sutra_error *error) {
    struct arena scratch = {0};
    struct program_items edited = {0};
    row_t last = 0;
    bool done = true;
    for (uint32_t s = 0; s < units->n_steps && done; s++)
        for (uint32_t u = units->steps[s].first_unit; u < units->steps[s].first_unit + units->steps[s].n_units && done;
             u++) {
            const uint32_t repeats = layers->blocks[u].repeats;
            const row_t *edges = layers->blocks[u].edges;
            if (repeats + (uint64_t)n_blocks < (uint64_t)layers->n + 1) {
                arena_free(&scratch);
                return error_set(error, SUTRA_DATA, "rank %" PRIu64 ": too few layers: a pass would have none",
                                 program->rank);
            }
            const uint32_t n = (uint32_t)(repeats + (uint64_t)n_blocks - layers->n);
            done = program_append(&edited, program, last, edges[0], false, programs->arena);
            for (uint32_t j = 0; j < n && done; j++) {
                const uint32_t source = block_source(j, n, repeats);
                const row_t n_before = edited.n;
                done = program_append(&edited, program, edges[source], edges[source + 1], j > 0, programs->arena);
                if (done && j == 0 && source > 0)
                    done = move_waits(programs, program, edges[0], edges[1], edited.list + n_before,
                                      edited.n - n_before, &scratch);
            }
            last = edges[repeats];
        }
    done = done && program_append(&edited, program, last, program->items.n, false, programs->arena) &&
           scale_optimizer(programs, program, &edited, (double)n_blocks / MAX(layers->n, 1), &scratch);
    arena_free(&scratch);
    TRY_ALLOC(done, error);
    program->items = edited;
    return SUTRA_OK;
}

/* Finds the layers of all ranks, and describes the blocks of the first rank: of its first forward pass, and of its last
 * backward pass, which has the collectives of gradients. */
static enum sutra_status find_job_layers(const struct programs *programs, const struct job_units *units,
                                         struct rank_layers *layers, struct job_layers *recorded, struct arena *scratch,
                                         struct sutra_error *error) {
    uint32_t *stages = arena_alloc(scratch, programs->n, sizeof *stages);
    TRY_ALLOC(stages && programs_stages(programs, scratch, stages), error);
    for (uint32_t p = 0; p < programs->n; p++) {
        const uint64_t rank = programs->list[p].rank, first_rank = programs->list[0].rank;
        if (stages[p] != stages[0])
            return error_set(error, SUTRA_DATA,
                             "the ranks of pipelines differ in number: %u with rank %" PRIu64 ", %u with rank %" PRIu64,
                             stages[0], first_rank, stages[p], rank);
        TRY(find_layers(programs, &programs->list[p], stages[p], &units->list[p], &layers[p], scratch, error));
        if (layers[p].n != layers[0].n)
            return error_set(error, SUTRA_DATA,
                             "rank %" PRIu64 " has %u repeated layers, rank %" PRIu64
                             " has %u; sutra edits only jobs whose ranks have the same number of layers",
                             first_rank, layers[0].n, rank, layers[p].n);
    }
    *recorded = (struct job_layers){.n = layers[0].n * stages[0], .n_stages = stages[0]};
    const struct program_step *step = &units->list[0].steps[0];
    for (uint32_t u = step->first_unit; u < step->first_unit + step->n_units; u++) {
        const bool is_backward = units->list[0].list[u].is_backward;
        const row_t *edges = layers[0].blocks[u].edges;
        if (!is_backward && recorded->blocks[0].n_kernels)
            continue;
        TRY_ALLOC(describe_block(programs, &programs->list[0], edges[0], edges[1], &recorded->blocks[is_backward]),
                  error);
    }
    return SUTRA_OK;
}

enum sutra_status programs_set_layers(struct programs *programs, uint32_t n_layers, struct job_layers *recorded,
                                      struct sutra_error *error) {
    struct arena scratch = {0};
    struct job_units units;
    *recorded = (struct job_layers){0};
    struct rank_layers *layers = arena_alloc(&scratch, programs->n, sizeof *layers);
    enum sutra_status status = layers ? find_units(programs, &scratch, &units, error) : error_memory(error);
    if (!status)
        status = find_job_layers(programs, &units, layers, recorded, &scratch, error);
    n_layers = n_layers ? n_layers : recorded->n;
    if (!status && n_layers % recorded->n_stages)
        status = error_set(error, SUTRA_DATA, "%u layers are not a multiple of the %u pipeline stages", n_layers,
                           recorded->n_stages);
    for (uint32_t p = 0; p < programs->n && !status; p++)
        status =
            set_blocks(programs, &programs->list[p], &units.list[p], &layers[p], n_layers / recorded->n_stages, error);
    arena_free(&scratch);
    return status;
}

/* ---- Micro-batches ---- */

/* Finds the schedule of the steps of all ranks, and their number of micro-batches. With a pipeline, F^m B^m on all
 * ranks is a schedule of all forward passes first; on some ranks it is 1F1B whose warm-up is as long as the step. */
static enum sutra_status check_schedules(const struct programs *programs, const struct program_units *units,
                                         enum schedule_kind *kind, uint32_t *n_micro_batches,
                                         struct sutra_error *error) {
    *kind = SCHEDULE_ALL_FORWARD;
    *n_micro_batches = 0;
    for (uint32_t p = 0; p < programs->n; p++) {
        const uint64_t rank = programs->list[p].rank;
        for (uint32_t s = 0; s < units[p].n_steps; s++) {
            const struct program_step *step = &units[p].steps[s];
            const struct schedule schedule = schedule_find(&units[p], step);
            if (schedule.kind == SCHEDULE_UNKNOWN)
                return error_set(error, SUTRA_DATA,
                                 "rank %" PRIu64 ", step %d: the schedule of %u forward and backward passes is neither "
                                 "1F1B nor all forward passes first; interleaved stages cannot be edited",
                                 rank, step->step, step->n_units);
            if (schedule.n_micro_batches < 2)
                return error_set(error, SUTRA_DATA,
                                 "rank %" PRIu64 ", step %d has only one micro-batch; record at least two", rank,
                                 step->step);
            if (*n_micro_batches && schedule.n_micro_batches != *n_micro_batches)
                return error_set(error, SUTRA_DATA,
                                 "rank %" PRIu64 ", step %d has %u micro-batches, but other ranks or steps have %u; "
                                 "sutra edits only jobs with one number of micro-batches",
                                 rank, step->step, schedule.n_micro_batches, *n_micro_batches);
            *n_micro_batches = schedule.n_micro_batches;
            if (schedule.kind == SCHEDULE_1F1B)
                *kind = SCHEDULE_1F1B;
        }
    }
    return SUTRA_OK;
}

/* Whether each step that shows its warm-up has one warm-up pass per later stage, as 1F1B does. */
static bool warmups_follow_stages(const struct programs *programs, const struct job_units *units) {
    for (uint32_t p = 0; p < programs->n; p++)
        for (uint32_t s = 0; s < units->list[p].n_steps; s++) {
            const struct schedule schedule = schedule_find(&units->list[p], &units->list[p].steps[s]);
            if (schedule.kind == SCHEDULE_1F1B && schedule.n_warmup != units->n_later[p])
                return false;
        }
    return true;
}

/* Finds the warm-up passes of each program in a 1F1B schedule of m micro-batches. With at most as many micro-batches as
 * stages, all forward passes of the first stages precede the backward passes, so their steps do not show the warm-up.
 * In 1F1B a stage has one warm-up pass more than the next stage, as the other stages confirm. */
static enum sutra_status find_warmups(const struct programs *programs, const struct job_units *units, uint32_t m,
                                      uint32_t *warmup, struct sutra_error *error) {
    const bool confirmed = warmups_follow_stages(programs, units);
    for (uint32_t p = 0; p < programs->n; p++) {
        const struct program_step *step = &units->list[p].steps[0];
        const struct schedule schedule = schedule_find(&units->list[p], step);
        warmup[p] = schedule.n_warmup;
        if (schedule.kind == SCHEDULE_1F1B || m <= schedule.n_micro_batches)
            continue;
        if (!confirmed)
            return error_set(error, SUTRA_DATA,
                             "rank %" PRIu64
                             ", step %d: all forward passes precede the backward passes, so the warm-up "
                             "of more micro-batches is unknown; record more micro-batches than pipeline stages",
                             programs->list[p].rank, step->step);
        warmup[p] = MAX(warmup[p], units->n_later[p]);
    }
    return SUTRA_OK;
}

/* Appends the units of a step in the order of m micro-batches, `warmup` of them before the first backward pass. */
static bool append_step(struct program_items *edited, const struct program *program, const struct program_units *units,
                        const struct program_step *step, uint32_t warmup, uint32_t m, struct arena *scratch,
                        struct arena *arena) {
    const struct schedule schedule = schedule_find(units, step);
    const struct program_unit *list = units->list + step->first_unit;
    const uint32_t n = schedule.n_micro_batches;
    const uint32_t n_warmup = MIN(warmup, m);
    uint32_t *sources[2] = {arena_alloc(scratch, n, sizeof **sources), arena_alloc(scratch, n, sizeof **sources)};
    uint32_t counts[2] = {0, 0}; /* forward and backward passes */
    if (scratch->failed)
        return false;
    for (uint32_t u = 0; u < step->n_units; u++)
        sources[list[u].is_backward][counts[list[u].is_backward]++] = u;
    counts[0] = counts[1] = 0;
    bool done = true;
    for (uint32_t u = 0; u < 2 * m && done; u++) {
        const bool is_backward = schedule_is_backward(u, m, n_warmup);
        const uint32_t k = counts[is_backward]++;
        const uint32_t from = is_backward ? (k == m - 1 ? n - 1 : k % (n - 1)) : (k == 0 ? 0 : 1 + (k - 1) % (n - 1));
        const struct program_unit *unit = &list[sources[is_backward][from]];
        done = program_append(edited, program, unit->first, unit->after, u > 0, arena);
    }
    return done;
}

enum sutra_status programs_set_micro_batches(struct programs *programs, uint32_t n_micro_batches, uint32_t *n_recorded,
                                             struct sutra_error *error) {
    struct arena scratch = {0};
    struct job_units units;
    enum schedule_kind kind = SCHEDULE_UNKNOWN;
    uint32_t *warmup = arena_zeros(&scratch, programs->n, sizeof *warmup);
    enum sutra_status status = warmup ? find_units(programs, &scratch, &units, error) : error_memory(error);
    if (!status)
        status = check_schedules(programs, units.list, &kind, n_recorded, error);
    const uint32_t m = n_micro_batches ? n_micro_batches : *n_recorded;
    if (!status && kind == SCHEDULE_1F1B)
        status = find_warmups(programs, &units, m, warmup, error);
    for (uint32_t p = 0; p < programs->n && !status && kind == SCHEDULE_ALL_FORWARD; p++)
        warmup[p] = m - 1;
    for (uint32_t p = 0; p < programs->n && !status; p++) {
        struct program *program = &programs->list[p];
        const struct program_units *of_rank = &units.list[p];
        struct program_items edited = {0};
        row_t last = 0;
        bool done = true;
        for (uint32_t s = 0; s < of_rank->n_steps && done; s++) {
            const struct program_step *step = &of_rank->steps[s];
            const struct program_unit *list = of_rank->list + step->first_unit;
            done = program_append(&edited, program, last, list->first, false, programs->arena) &&
                   append_step(&edited, program, of_rank, step, warmup[p], m, &scratch, programs->arena);
            last = list[step->n_units - 1].after;
        }
        done = done && program_append(&edited, program, last, program->items.n, false, programs->arena);
        if (!done)
            status = error_memory(error);
        program->items = edited;
    }
    arena_free(&scratch);
    return status;
}
