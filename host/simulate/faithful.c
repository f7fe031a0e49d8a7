/*
 * faithful.c - the way from linked traces to faithful nodes, in one go; see faithful.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/rows.h"
#include "simulate/convert.h"
#include "simulate/et_format.h"
#include "simulate/et_timeline.h"
#include "simulate/faithful.h"
#include "simulate/rank_graph.h"
#include "simulate/replay.h"
#include "simulate/timeline_sources.h"

/*
 * Copying the nodes of a rank, but for what its job changes; see et_meet.h.
 */

/* Attributes that a collective has more, at most: the four of its meeting, its execution, and those of its type. */
#define MORE_ATTRIBUTES 9

struct meeting_work {
    struct et_nodes *made;
    const struct et_nodes *alone;
    const struct rank_meetings *rank;
    row_t first;      /* row of the first node of the processor, or ROW_NONE */
    row_t *row;       /* of each collective */
    uint64_t next_id; /* of nodes that are new */
    uint64_t start_id;
    uint64_t *meet_id;                     /* per collective, for ASTRA-sim: its node [meet], if it meets others */
    uint64_t n_ctrl, n_data, n_attributes; /* so far */
};

/* ---- Which nodes there are ---- */

static bool meets(const struct meeting_node *node) {
    return node->meeting != MEETING_NONE;
}

static bool has_meet_node(const struct meeting_work *work, row_t i) {
    return work->rank->astra && meets(&work->rank->nodes[i]);
}

static enum sutra_status find_rows(struct meeting_work *work, struct arena *arena, struct sutra_error *error) {
    const struct et_nodes *alone = work->alone;
    const struct rank_meetings *rank = work->rank;
    work->row = arena_take(arena, rank->n, sizeof *work->row);
    work->meet_id = arena_take(arena, rank->n, sizeof *work->meet_id);
    if (arena->failed)
        return error_memory(error);
    work->next_id = alone->n ? alone->id[alone->n - 1] + 1 : 0;
    work->first = rank->has_start ? rising_id_place(alone->id, alone->n, rank->first_node) : alone->n;
    if (rank->has_start && work->first == alone->n)
        return error_set(error, SUTRA_DATA, "node %" PRIu64 " is not in the file; it is the first node of the rank",
                         rank->first_node);
    if (rank->has_start)
        work->start_id = work->next_id++;
    for (row_t i = 0; i < rank->n; i++) {
        work->row[i] = rising_id_place(alone->id, alone->n, rank->nodes[i].node);
        if (work->row[i] == alone->n)
            return error_set(error, SUTRA_DATA, "node %" PRIu64 " is not in the file; it is a collective",
                             rank->nodes[i].node);
        work->meet_id[i] = has_meet_node(work, i) ? work->next_id++ : 0;
    }
    return SUTRA_OK;
}

static enum sutra_status take_nodes(struct meeting_work *work, struct sutra_error *error) {
    const struct et_nodes *alone = work->alone;
    const row_t n = work->rank->n;
    uint64_t n_nodes = (uint64_t)alone->n + work->rank->has_start;
    for (row_t i = 0; i < n; i++)
        n_nodes += has_meet_node(work, i);
    if (n_nodes > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "too many nodes: the rank has more than %u", ROW_LIMIT);
    return et_nodes_take(work->made, (row_t)n_nodes, alone->ctrl.first[alone->n],
                         alone->data.first[alone->n] + 3 * (uint64_t)n + 1,
                         alone->attr_first[alone->n] + (uint64_t)n * 2 * MORE_ATTRIBUTES + 1, error);
}

/* ---- Attributes ---- */

static void put_value(struct meeting_work *work, enum et_name name, enum et_kind kind, uint64_t bits) {
    struct et_attributes *to = &work->made->attributes;
    uint64_t at = work->n_attributes++;
    to->name[at] = (uint32_t)name;
    to->kind[at] = (uint8_t)kind;
    to->length[at] = 0;
    to->value[at].bits = bits;
}

static void put_words(struct meeting_work *work, enum et_name name, const char *words) {
    struct et_attributes *to = &work->made->attributes;
    uint64_t at = work->n_attributes++;
    to->name[at] = (uint32_t)name;
    to->kind[at] = ET_STRING;
    to->length[at] = (uint32_t)strlen(words);
    to->value[at].bytes = words;
}

static void copy_attribute(struct meeting_work *work, uint64_t from) {
    const struct et_attributes *alone = &work->alone->attributes;
    struct et_attributes *to = &work->made->attributes;
    uint64_t at = work->n_attributes++;
    to->name[at] = alone->name[from];
    to->kind[at] = alone->kind[from];
    to->length[at] = alone->length[from];
    to->value[at] = alone->value[from];
}

/* Attributes of a collective that are said anew. */
static bool is_replaced(const struct meeting_work *work, uint32_t name) {
    static const enum et_name always[] = {ET_NAME_KERNEL_EXEC_NS, ET_NAME_MEETING, ET_NAME_MEETING_KIND,
                                          ET_NAME_MEETING_RANKS, ET_NAME_MEETING_BYTES};
    static const enum et_name astra[] = {ET_NAME_COMM_TYPE, ET_NAME_COMM_SIZE, ET_NAME_PG_NAME,  ET_NAME_COMM_SRC,
                                         ET_NAME_COMM_DST,  ET_NAME_COMM_TAG,  ET_NAME_IS_CPU_OP};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (name == (uint32_t)always[i])
            return true;
    for (size_t i = 0; i < sizeof astra / sizeof *astra && work->rank->astra; i++)
        if (name == (uint32_t)astra[i])
            return true;
    return false;
}

/* The group as ASTRA-sim has it: by number, and none for all ranks. */
static void put_astra(struct meeting_work *work, uint32_t group, enum et_collective type, uint64_t bytes) {
    char digits[16];
    int length = snprintf(digits, sizeof digits, "%" PRIu32, group);
    char *kept = group ? arena_take(&work->made->arena, (size_t)length + 1, 1) : NULL;
    put_value(work, ET_NAME_IS_CPU_OP, ET_BOOL, 0);
    put_value(work, ET_NAME_COMM_TYPE, ET_INT64, (uint64_t)type);
    put_value(work, ET_NAME_COMM_SIZE, ET_INT64, bytes);
    if (kept)
        put_words(work, ET_NAME_PG_NAME, memcpy(kept, digits, (size_t)length + 1));
}

static enum et_collective type_of_kind(enum comm_kind kind) {
    static const enum et_collective types[N_COMM_KINDS] = {
        [COMM_ALL_REDUCE] = ET_ALL_REDUCE,
        [COMM_ALL_GATHER] = ET_ALL_GATHER,
        [COMM_REDUCE_SCATTER] = ET_REDUCE_SCATTER,
        [COMM_ALL_TO_ALL] = ET_ALL_TO_ALL,
        [COMM_ALL_TO_ALL_V] = ET_ALL_TO_ALL,
        [COMM_MESSAGE] = ET_ALL_TO_ALL,
        [COMM_BROADCAST] = ET_BROADCAST,
        [COMM_REDUCE] = ET_REDUCE,
        [COMM_GATHER] = ET_GATHER,
        [COMM_SCATTER] = ET_SCATTER,
        [COMM_BARRIER] = ET_BARRIER,
        [COMM_OTHER] = ET_ALL_REDUCE,
    };
    return types[kind];
}

static void put_collective_attributes(struct meeting_work *work, row_t row, const struct meeting_node *node) {
    const struct et_nodes *alone = work->alone;
    for (uint64_t i = alone->attr_first[row]; i < alone->attr_first[row + 1]; i++)
        if (!is_replaced(work, alone->attributes.name[i]))
            copy_attribute(work, i);
    if (work->rank->astra) {
        put_astra(work, node->group, ET_BROADCAST, node->bytes ? node->bytes : 1);
    } else if (!et_is_communication(alone->type[row])) {
        put_value(work, ET_NAME_COMM_TYPE, ET_INT64, (uint64_t)type_of_kind(node->kind));
        put_value(work, ET_NAME_COMM_SIZE, ET_INT64, node->bytes);
    }
    put_value(work, ET_NAME_KERNEL_EXEC_NS, ET_INT64, node->run_ns);
    if (meets(node) && !work->rank->astra)
        put_value(work, ET_NAME_MEETING, ET_INT64, node->meeting);
    put_words(work, ET_NAME_MEETING_KIND, collective_kind_names[node->kind]);
    put_value(work, ET_NAME_MEETING_RANKS, ET_INT64, node->n_ranks);
    put_value(work, ET_NAME_MEETING_BYTES, ET_INT64, node->bytes);
}

/* ---- Nodes ---- */

static void put_data_dep(struct meeting_work *work, uint64_t id) {
    work->made->data.ids[work->n_data++] = id;
}

static void copy_data_deps(struct meeting_work *work, row_t row) {
    const struct et_ids *data = &work->alone->data;
    for (uint64_t d = data->first[row]; d < data->first[row + 1]; d++)
        put_data_dep(work, data->ids[d]);
}

/* What a collective waits for on its rank. */
static void put_waits(struct meeting_work *work, row_t i) {
    copy_data_deps(work, work->row[i]);
    if (work->rank->nodes[i].has_before)
        put_data_dep(work, work->rank->nodes[i].before);
}

/* Ends the lists of a node. */
static void end_node(struct meeting_work *work, row_t row) {
    work->made->ctrl.first[row + 1] = work->n_ctrl;
    work->made->data.first[row + 1] = work->n_data;
    work->made->attr_first[row + 1] = work->n_attributes;
}

/* When it began, by the clock of the job. */
static uint64_t aligned_start(const struct meeting_work *work, row_t row) {
    uint64_t start = work->alone->start_us[row];
    int64_t aligned;
    if (start == 0 || __builtin_sub_overflow((int64_t)start, work->rank->ahead_us, &aligned) || aligned < 1)
        return start;
    return (uint64_t)aligned;
}

static void copy_node(struct meeting_work *work, row_t row) {
    const struct et_nodes *alone = work->alone;
    struct et_nodes *made = work->made;
    made->id[row] = alone->id[row];
    made->type[row] = alone->type[row];
    made->start_us[row] = aligned_start(work, row);
    made->duration_us[row] = alone->duration_us[row];
    made->flags[row] = alone->flags[row];
    for (int column = 0; column < ET_TEXT_COLUMNS; column++)
        et_text_put(made->text[column], row, et_text_at(alone->text[column], row));
    for (uint64_t c = alone->ctrl.first[row]; c < alone->ctrl.first[row + 1]; c++)
        made->ctrl.ids[work->n_ctrl++] = alone->ctrl.ids[c];
}

static void put_collective(struct meeting_work *work, row_t i) {
    const struct meeting_node *node = &work->rank->nodes[i];
    const row_t row = work->row[i];
    copy_node(work, row);
    work->made->duration_us[row] = node->duration_us;
    if (work->rank->astra || !et_is_communication(work->made->type[row]))
        work->made->type[row] = ET_COMM_COLL;
    if (has_meet_node(work, i))
        put_data_dep(work, work->meet_id[i]);
    else
        put_waits(work, i);
    put_collective_attributes(work, row, node);
    end_node(work, row);
}

static void put_other(struct meeting_work *work, row_t row) {
    copy_node(work, row);
    copy_data_deps(work, row);
    if (row == work->first)
        put_data_dep(work, work->start_id);
    for (uint64_t i = work->alone->attr_first[row]; i < work->alone->attr_first[row + 1]; i++)
        copy_attribute(work, i);
    end_node(work, row);
}

/* A node that the rank alone does not have. */
static void begin_new(struct meeting_work *work, row_t row, uint64_t id, enum et_type type, struct et_text name) {
    struct et_nodes *made = work->made;
    made->id[row] = id;
    made->type[row] = (int32_t)type;
    made->duration_us[row] = 0;
    made->flags[row] = ET_HAS_INPUTS | ET_HAS_OUTPUTS;
    for (int column = 0; column < ET_TEXT_COLUMNS; column++)
        et_text_put(made->text[column], row, (struct et_text){"", 0});
    et_text_put(made->text[ET_NODE_NAME], row, name);
}

static void put_start(struct meeting_work *work, row_t row) {
    begin_new(work, row, work->start_id, ET_COMP, (struct et_text){"[start]", 7});
    work->made->duration_us[row] = work->rank->start_us;
    put_value(work, ET_NAME_IS_CPU_OP, ET_BOOL, 1);
    end_node(work, row);
}

/* "[meet] name" */
static struct et_text meet_name(struct meeting_work *work, row_t row) {
    static const char before[] = "[meet] ";
    struct et_text name = et_text_at(work->alone->text[ET_NODE_NAME], row);
    size_t length = sizeof before - 1 + name.length;
    char *bytes = arena_take(&work->made->arena, length, 1);
    if (!bytes)
        return (struct et_text){"", 0};
    memcpy(bytes, before, sizeof before - 1);
    memcpy(bytes + sizeof before - 1, name.bytes, name.length);
    return (struct et_text){bytes, (uint32_t)length};
}

static void put_meet(struct meeting_work *work, row_t row, row_t i) {
    const struct meeting_node *node = &work->rank->nodes[i];
    begin_new(work, row, work->meet_id[i], ET_COMM_COLL, meet_name(work, work->row[i]));
    put_waits(work, i);
    put_astra(work, node->group, ET_ALL_REDUCE, 8 * (uint64_t)node->n_ranks);
    put_value(work, ET_NAME_MEETING, ET_INT64, node->meeting);
    end_node(work, row);
}

/* By rising id: those of the rank alone, then the new ones. */
static void put_all(struct meeting_work *work) {
    row_t next = 0, n = work->alone->n;
    for (row_t row = 0; row < n; row++) {
        if (next < work->rank->n && work->row[next] == row)
            put_collective(work, next++);
        else
            put_other(work, row);
    }
    if (work->rank->has_start)
        put_start(work, n++);
    for (row_t i = 0; i < work->rank->n; i++)
        if (has_meet_node(work, i))
            put_meet(work, n++, i);
}

/* ---- The file's own attributes ---- */

/* Names of attributes that are not known have the same numbers in both. */
static bool copy_names(struct et_nodes *made, const struct et_nodes *alone) {
    for (uint32_t i = made->names.n; i < alone->names.n; i++)
        if (strings_intern(&made->names, strings_text(&alone->names, i), strings_length(&alone->names, i)) != i)
            return false;
    return true;
}

static enum sutra_status copy_metadata(struct et_nodes *made, const struct et_nodes *alone, bool per_stream,
                                       struct sutra_error *error) {
    static const char streams[] = "streams";
    const struct et_attributes *from = &alone->metadata;
    enum sutra_status status = et_attributes_take(made, &made->metadata, from->n + per_stream, error);
    if (status)
        return status;
    made->version = alone->version;
    memcpy(made->metadata.name, from->name, from->n * sizeof *from->name);
    memcpy(made->metadata.kind, from->kind, from->n * sizeof *from->kind);
    memcpy(made->metadata.length, from->length, from->n * sizeof *from->length);
    memcpy(made->metadata.value, from->value, from->n * sizeof *from->value);
    if (per_stream) {
        made->metadata.name[from->n] = ET_NAME_GPU;
        made->metadata.kind[from->n] = ET_STRING;
        made->metadata.length[from->n] = sizeof streams - 1;
        made->metadata.value[from->n].bytes = streams;
    }
    return SUTRA_OK;
}

enum sutra_status et_meet(struct et_nodes *made, const struct et_nodes *alone, const struct rank_meetings *rank,
                          struct sutra_error *error) {
    struct arena scratch = {0};
    struct meeting_work work = {.made = made, .alone = alone, .rank = rank};
    enum sutra_status status = copy_names(made, alone) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = find_rows(&work, &scratch, error);
    if (!status)
        status = take_nodes(&work, error);
    if (!status) {
        put_all(&work);
        status = copy_metadata(made, alone, rank->per_stream, error);
    }
    arena_free(&scratch);
    return status ? status : arena_status(&made->arena, error);
}

/* A time departs from another one that differs by more than this share of the whole, */
#define DEPARTS_SHARE 0.005
/* or by so little that nobody would look for it. */
#define DEPARTS_LEAST_US 50.0

/* ---- The proof ---- */

/* Simulates the nodes; `end_ns` is by row of the graph. */
static enum sutra_status simulate(const struct et_nodes *nodes, bool per_stream, struct pool *pool, struct arena *arena,
                                  struct rank_graph *graph, struct replay_times *times, struct sutra_error *error) {
    const struct rank_resources resources = {.per_thread = per_stream, .per_stream = per_stream};
    enum sutra_status status = rank_graph_make(graph, nodes, NULL, pool, arena, error);
    if (!status)
        status = rank_graph_share(graph, resources, arena, error);
    if (status)
        return status;
    const struct replay_graph run = {.n = graph->n,
                                     .dur_ns = graph->dur_ns,
                                     .resource = graph->resource,
                                     .n_resources = graph->n_resources,
                                     .n_waits = graph->n_waits,
                                     .first_waiter = graph->first_waiter,
                                     .waiters = graph->waiters};
    const struct replay_job job = {1, &run, 0, pool};
    *times = (struct replay_times){.start_ns = arena_take(arena, graph->n, sizeof *times->start_ns),
                                   .run_ns = arena_take(arena, graph->n, sizeof *times->run_ns),
                                   .end_ns = arena_take(arena, graph->n, sizeof *times->end_ns),
                                   .cause = arena_take(arena, graph->n, sizeof *times->cause)};
    return arena->failed ? error_memory(error) : replay(&job, times, error);
}

/* The node whose simulated start is the first to depart from the measured one. */
static void find_departure(const struct et_nodes *nodes, const struct rank_graph *graph,
                           const struct replay_times *times, struct faithful_report *report) {
    double least = fmax(DEPARTS_LEAST_US, report->timeline.measured_us * DEPARTS_SHARE), first = INFINITY;
    for (row_t i = 0; i < graph->n; i++) {
        if (times->start_ns[i] == TIME_NEVER || nodes->start_us[graph->node[i]] == 0)
            continue;
        double measured = (double)nodes->start_us[graph->node[i]] - report->timeline.origin;
        double simulated = (double)times->start_ns[i] / 1000;
        if (fabs(simulated - measured) > least && measured < first) {
            first = measured;
            report->departs = graph->node[i];
            report->departs_us = simulated - measured;
        }
    }
}

static enum sutra_status prove(const struct et_nodes *nodes, bool per_stream, struct pool *pool,
                               struct faithful_report *report, struct sutra_error *error) {
    struct arena arena = {0};
    struct rank_graph graph;
    struct replay_times times;
    enum sutra_status status = simulate(nodes, per_stream, pool, &arena, &graph, &times, error);
    report->departs = ROW_NONE;
    if (!status) {
        report->simulated_us = (double)times.finish_ns / 1000;
        report->n_never_ran = graph.n - times.n_ran;
        if (fabs(report->simulated_us - report->timeline.measured_us) > report->timeline.measured_us * DEPARTS_SHARE)
            find_departure(nodes, &graph, &times, report);
    }
    arena_free(&arena);
    return status;
}

/* ---- A rank of a job ---- */

/* Kernels communicate that tell a collective, whatever their names say. */
static void mark_collectives(const struct rank_of_job *job, const struct timeline_kernels *kernels) {
    for (row_t k = 0; k < kernels->n && kernels->event; k++)
        if (rows_place(job->events, job->n_events, kernels->event[k]) != ROW_NONE)
            kernels->traits[k] |= KERNEL_COMMUNICATES;
}

/* The same times as whole nanoseconds; too large ones as they are. NULL: out of memory. */
static double *in_nanoseconds(const double *us, row_t n, struct arena *arena) {
    double *whole = arena_take(arena, n, sizeof *whole);
    for (row_t i = 0; whole && i < n; i++)
        whole[i] = fabs(us[i]) < 1e14 ? (double)llround(us[i] * 1e3) / 1e3 : us[i];
    return whole;
}

/* Ends are sums of what the trace tells: one that is a hair behind the next begin would be another moment, in between
 * which something seems to happen. */
static bool even_ends(struct timeline_input *input, struct arena *arena) {
    input->ops.end = in_nanoseconds(input->ops.end, input->ops.n, arena);
    input->kernels.end = in_nanoseconds(input->kernels.end, input->kernels.n, arena);
    input->kernels.launch_end = in_nanoseconds(input->kernels.launch_end, input->kernels.n, arena);
    return !arena->failed;
}

/* Whole microseconds since the origin; more than 30 years are none that a trace can tell. */
static int64_t mark_us(double time, double origin) {
    double us = time - origin + 0.5;
    return fabs(us) < 1e15 ? (int64_t)us : 0;
}

static bool tell_marks(const struct timeline_input *input, const struct timeline_nodes *nodes,
                       const struct timeline_report *report, struct rank_of_job *job) {
    const struct timeline_kernels *kernels = &input->kernels;
    struct rank_marks *marks = &job->marks;
    *marks = (struct rank_marks){.origin = report->origin,
                                 .end = report->origin + report->measured_us,
                                 .has_ops = input->ops.n > 0,
                                 .id = arena_take(job->arena, kernels->n, sizeof *marks->id),
                                 .event = arena_take(job->arena, kernels->n, sizeof *marks->event),
                                 .ready_us = arena_take(job->arena, kernels->n, sizeof *marks->ready_us),
                                 .done_us = arena_take(job->arena, kernels->n, sizeof *marks->done_us)};
    if (job->arena->failed)
        return false;
    if (marks->has_ops) /* kernels stand first, then the processor's nodes */
        marks->first_id = nodes->id[kernels->n];
    for (row_t k = 0; k < kernels->n && kernels->event; k++) {
        if (!(kernels->traits[k] & KERNEL_COMMUNICATES))
            continue;
        marks->id[marks->n] = kernels->id[k];
        marks->event[marks->n] = kernels->event[k];
        marks->ready_us[marks->n] = mark_us(nodes->start[k], report->origin);
        marks->done_us[marks->n] = marks->ready_us[marks->n] + mark_us((double)nodes->duration_us[k], 0);
        marks->n++;
    }
    return true;
}

/* ---- All of it ---- */

static enum sutra_status make(struct sutra_context *context, struct timeline_input *input, const struct et_nodes *plain,
                              struct rank_of_job *job, struct et_nodes *made, struct timeline_report *report,
                              struct sutra_error *error) {
    struct arena arena = {0};
    struct timeline_nodes timeline;
    et_timeline_prepare(plain, input);
    if (job)
        mark_collectives(job, &input->kernels);
    enum sutra_status status = even_ends(input, &arena) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = timeline_build(input, &context->engine, &arena, &timeline, report, error);
    if (!status)
        status = et_timeline_make(made, plain, input, &timeline, context, error);
    if (!status && job && !tell_marks(input, &timeline, report, job))
        status = error_memory(error);
    arena_free(&arena);
    return status;
}

/* Puts the faithful nodes in place of the plain ones. In `input` it says which kernels communicate, and the first new
 * id. `job` is NULL for a rank alone. SUTRA_SYSTEM: out of memory. O(n log n). */
static enum sutra_status faithful_make(struct sutra_context *context, struct timeline_input *input,
                                       struct et_nodes *nodes, struct rank_of_job *job, struct faithful_report *report,
                                       struct sutra_error *error) {
    struct et_nodes made;
    *report = (struct faithful_report){.departs = ROW_NONE};
    enum sutra_status status = et_nodes_begin(&made, error);
    if (!status)
        status = make(context, input, nodes, job, &made, &report->timeline, error);
    stage_begin(context, "simulate", made.n);
    if (!status && !job)
        status = prove(&made, input->options.per_stream, context->pool, report, error);
    stage_end(context);
    if (status) {
        et_nodes_free(&made);
        return status;
    }
    et_nodes_free(nodes);
    *nodes = made;
    return SUTRA_OK;
}

/* ---- As the library has it ---- */

#define REST_US 5.0

static void tell(const struct faithful_report *made, const struct sutra_converted *converted,
                 struct sutra_faithful_report *report) {
    const struct timeline_report *timeline = &made->timeline;
    const struct et_nodes *nodes = &converted->nodes;
    const struct sutra_faithful_report told = {
        .n_nodes = nodes->n,
        .n_rests = timeline->n_rests,
        .n_launch_cuts = timeline->n_launch_cuts,
        .n_parts = timeline->n_parts,
        .n_waits = timeline->n_waits,
        .n_blocking_copies = timeline->n_blocking_copies,
        .n_pageable_copies = timeline->n_pageable_copies,
        .n_calls_without_kernel = timeline->n_calls_without_kernel,
        .n_orders = timeline->n_orders,
        .n_inferred = timeline->n_inferred,
        .n_clocked = timeline->n_clocked,
        .n_late = timeline->n_late,
        .late_us = timeline->late_us,
        .measured_us = timeline->measured_us,
        .simulated_us = made->simulated_us,
        .n_never_ran = made->n_never_ran,
        .departs = made->departs != ROW_NONE,
        .departs_id = made->departs == ROW_NONE ? 0 : nodes->id[made->departs],
        .departs_us = made->departs_us,
        .n_works = converted->report.n_works,
    };
    report_give(report, &told, sizeof told);
}

static struct timeline_options options_of(const struct sutra_faithful_options *options) {
    double rest_us = options->rest_us > 0 ? options->rest_us : REST_US;
    return (struct timeline_options){.rest_us = options->rest_us < 0 ? INFINITY : rest_us,
                                     .per_stream = options->gpu_streams};
}

enum sutra_status converted_make_faithful(struct sutra_context *context, struct sutra_converted *converted,
                                          const struct sutra_linked *linked,
                                          const struct sutra_faithful_options *options, struct rank_of_job *job,
                                          struct sutra_faithful_report *report, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_faithful_options, gpu_streams);
    struct sutra_faithful_options taken;
    struct faithful_report made;
    struct timeline_input *times = &converted->times;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    if (!linked && !converted->has_times)
        return error_set(error, SUTRA_USAGE, "the nodes have no times: convert ET+ with keep_times");
    bool of_file = converted->plus.document == &converted->document;
    if (of_file && times->ops.n + times->kernels.n == 0)
        return error_set(error, SUTRA_DATA,
                         "no node has a start time and a duration (\"ts\", \"inclusive_dur\"): no linked nodes");
    status = converted_complete(converted, context, error);
    stage_begin(context, "measured times", converted->nodes.n);
    if (!status && linked)
        status = linked_timeline_read(context, linked, &converted->times_arena, times, error);
    converted->has_times = false;
    times->options = options_of(&taken);
    times->options.of_job = job != NULL;
    if (!status)
        status = faithful_make(context, times, &converted->nodes, job, &made, error);
    arena_free(&converted->times_arena);
    stage_end(context);
    if (!status)
        tell(&made, converted, report);
    return status;
}

enum sutra_status sutra_converted_run_faithful(struct sutra_context *context, struct sutra_converted *converted,
                                               const struct sutra_linked *linked,
                                               const struct sutra_faithful_options *options,
                                               struct sutra_faithful_report *report, struct sutra_error *error) {
    return converted_make_faithful(context, converted, linked, options, NULL, report, error);
}
