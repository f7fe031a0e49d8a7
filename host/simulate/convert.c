/*
 * convert.c - implements convert.h: reads ET+ or linked traces, builds the graph, and makes nodes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "read/document.h"
#include "simulate/communication.h"
#include "simulate/convert.h"
#include "simulate/et_graph.h"
#include "simulate/et_plus_nodes.h"
#include "text/quantities.h"

static struct figure lacking(uint64_t n_messages) {
    return counted_text(n_messages, "send or receive lacks comm_src, comm_dst and comm_tag",
                        "sends and receives lack comm_src, comm_dst and comm_tag");
}

/* Warn about data that a simulator may need. */
static void warn_of_missing_data(struct sutra_context *context, const struct sutra_convert_report *report,
                                 const struct comm_ends *ends) {
    static const char then[] = "; ASTRA-sim runs them only if it replays durations (\"replay-only\": 1)";
    uint64_t n_messages = report->n_sends + report->n_receives;
    if (report->n_unknown)
        context_warn(context, "%s written as computation",
                     counted_text(report->n_unknown, "NCCL kernel of an unknown collective",
                                  "NCCL kernels of unknown collectives")
                         .text);
    if (!ends && n_messages)
        context_warn(context, "%s%s", lacking(n_messages).text, then);
    if (ends && ends->n_without_peer)
        context_warn(context, "%s: no peer in the record_param_comms, c10d::send or c10d::recv_ above%s",
                     lacking(ends->n_without_peer).text, then);
    if (ends && ends->n_without_members)
        context_warn(context,
                     "%s: the trace has the peer's rank in a process group, but not the members of the group%s",
                     lacking(ends->n_without_members).text, then);
}

/* ---- Cycles: a depth-first search with its own stack; a dependency on a node of the stack closes a cycle ---- */

/* Number of nodes of a cycle that the message names. */
#define NAMED 4

/* The list of dependencies ends with the parent. */
#define AT_PARENT (ROW_NONE - 1)

enum { NOT_VISITED, ON_STACK, DONE };

/* A node of the stack and its next dependency. */
struct cycle_frame {
    row_t slot, next;
};

struct search {
    const struct node_graph *graph;
    struct cycle_frame *stack;
    row_t depth;
    uint8_t *state; /* per slot */
};

static void push(struct search *search, row_t slot) {
    row_t first = search->graph->first_dep[slot];
    search->stack[search->depth++] = (struct cycle_frame){slot, first == ROW_NONE ? AT_PARENT : first};
    search->state[slot] = ON_STACK;
}

/* The next dependency: its slot, or ROW_NONE for no parent; false: no more. */
static bool next_dependency(const struct node_graph *graph, struct cycle_frame *frame, row_t *on) {
    if (frame->next == ROW_NONE)
        return false;
    if (frame->next == AT_PARENT) {
        frame->next = ROW_NONE;
        *on = graph->rules.drop_absent ? graph->under[frame->slot] : ROW_NONE;
        return true;
    }
    const struct graph_dep *dep = &graph->deps[frame->next];
    *on = dep->slot;
    frame->next = dep->next == ROW_NONE ? AT_PARENT : dep->next;
    return true;
}

static const char *kind_of(const struct node_graph *graph, row_t slot, row_t on) {
    for (row_t i = graph->first_dep[slot]; i != ROW_NONE; i = graph->deps[i].next)
        if (graph->deps[i].slot == on)
            return graph->deps[i].inter ? "inter-thread" : "thread order";
    return "parent";
}

/* The cycle that the top of the stack closes by its dependency on `on`. */
static enum sutra_status refuse_cycle(const struct search *search, row_t on, struct sutra_error *error) {
    const struct node_graph *graph = search->graph;
    char text[300] = "";
    row_t first = search->depth - 1;
    while (first > 0 && search->stack[first].slot != on)
        first--;
    for (row_t i = first; i < search->depth; i++) {
        row_t next = i + 1 < search->depth ? search->stack[i + 1].slot : on;
        if (i - first < NAMED - 1 || i + 1 == search->depth) {
            /* Append "12 'aten::mm' -(inter-thread)-> ". */
            const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
            struct et_text name = nodes->name[graph->message[search->stack[i].slot]];
            size_t n = strlen(text);
            snprintf(text + n, sizeof text - n, "%" PRIu64 " '%.*s' -(%s)-> ",
                     nodes->id[graph->message[search->stack[i].slot]], (int)MIN(name.length, 24), name.bytes,
                     kind_of(graph, search->stack[i].slot, next));
        } else if (i - first == NAMED - 1)
            strncat(text, "... -> ", sizeof text - strlen(text) - 1);
    }
    return graph_error(graph, graph->message[on], error, "dependency cycle of %u nodes: %s%" PRIu64,
                       search->depth - first, text, graph->et_plus->nodes.id[graph->message[on]]);
}

static enum sutra_status search_from(struct search *search, row_t start, struct sutra_error *error) {
    push(search, start);
    while (search->depth > 0) {
        struct cycle_frame *frame = &search->stack[search->depth - 1];
        row_t on = ROW_NONE;
        if (!next_dependency(search->graph, frame, &on)) {
            search->state[frame->slot] = DONE;
            search->depth--;
        } else if (on != ROW_NONE && search->state[on] == ON_STACK) {
            return refuse_cycle(search, on, error);
        } else if (on != ROW_NONE && search->state[on] == NOT_VISITED) {
            push(search, on);
        }
    }
    return SUTRA_OK;
}

/* Refuses a cycle: SUTRA_DATA, with the ids, names and kinds of dependencies of its nodes. Checks data dependencies,
 * and, if absent nodes are dropped, parents. O(nodes + dependencies), without recursion. */
static enum sutra_status refuse_cycles(const struct node_graph *graph, struct sutra_error *error) {
    row_t n = graph->et_plus->nodes.n;
    struct search search = {.graph = graph};
    search.stack = malloc(((size_t)graph->n_made + 1) * sizeof *search.stack);
    search.state = calloc((size_t)n + 1, 1);
    enum sutra_status status = search.stack && search.state ? SUTRA_OK : error_memory(error);
    for (row_t i = 0; i < graph->n_made && !status; i++)
        if (graph->kept[graph->made[i]] && search.state[graph->made[i]] == NOT_VISITED)
            status = search_from(&search, graph->made[i], error);
    free(search.stack);
    free(search.state);
    return status;
}

/* Cycles are refused, or broken with a warning that names the first. */
static enum sutra_status break_cycles(struct node_graph *graph, bool refuse, struct sutra_error *error) {
    struct sutra_error ring;
    if (refuse)
        return refuse_cycles(graph, error);
    enum sutra_status status = refuse_cycles(graph, &ring);
    if (status != SUTRA_DATA)
        return status ? error_memory(error) : SUTRA_OK;
    context_warn(graph->context, "%s; such cycles are broken at a dependency on another thread", ring.message);
    return node_cycles_break(graph, error);
}

/* The number of attributes of a row that are missing or of the wrong type. */
static uint64_t attributes_lost(const struct node_graph *graph, row_t row) {
    uint32_t attributes = 0;
    for (int field = ET_PLUS_FIRST_NUMBER; field <= ET_PLUS_OP_SCHEMA; field++)
        attributes |= ET_PLUS_BIT(field);
    return (uint64_t)__builtin_popcount(graph->et_plus->nodes.faults[row] & attributes);
}

static void count_graph(struct sutra_convert_report *report, const struct node_graph *graph) {
    report->n_plus_nodes = graph->et_plus->nodes.n;
    report->n_unmade = graph->counts.n_unmade;
    report->n_dangling = graph->counts.n_dangling;
    report->n_metadata = graph->counts.n_metadata;
    report->n_absent = graph->counts.n_absent;
    report->n_rings = graph->counts.n_cycles;
    report->n_rootless = graph->counts.n_rootless;
    for (uint64_t i = 0; i < graph->n_deps; i++)
        report->n_inter += graph->deps[i].inter;
    for (row_t i = 0; i < graph->n_made; i++) {
        row_t row = graph->message[graph->made[i]];
        report->n_attributes += graph->kept[graph->made[i]] ? attributes_lost(graph, row) : 0;
        if (graph->kept[graph->made[i]] && graph_is_gpu(graph, row)) {
            const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
            enum et_type type = graph_type(graph, row);
            report->n_gpu_nodes++;
            report->n_unknown += type == ET_COMP && nodes->flags[row] & ET_PLUS_IS_COLLECTIVE;
            report->n_types += type == ET_COMM_COLL && kernel_collective(nodes->name[row], false) < 0;
            report->n_nested += type != ET_COMP && nodes->flags[row] & ET_PLUS_IS_NESTED;
        }
    }
}

static void count_nodes(struct sutra_convert_report *report, const struct et_maker *maker) {
    const struct node_graph *graph = maker->graph;
    report->n_nodes = maker->n;
    for (row_t node = 0; node < maker->n; node++) {
        row_t slot = maker->slot[node], row = graph->message[slot];
        enum et_type type = graph_type(graph, row);
        report->n_collectives += type == ET_COMM_COLL;
        report->n_sends += type == ET_COMM_SEND;
        report->n_receives += type == ET_COMM_RECV;
        report->n_starts += maker->start_times && graph->et_plus->nodes.start_us[row] > 0;
        report->n_ctrl_deps += graph->under[slot] != ROW_NONE;
        for (row_t dep = graph->first_dep[slot]; dep != ROW_NONE; dep = graph->deps[dep].next)
            report->n_data_deps++;
    }
}

/* Finds the nodes and their dependencies. */
static enum sutra_status order_nodes(struct sutra_converted *converted, struct sutra_context *context,
                                     const struct sutra_convert_options *options, struct sutra_error *error) {
    struct node_graph *graph = &converted->graph;
    bool repair = !options->compat;
    const struct graph_rules rules = (struct graph_rules){.drop_absent = repair && !options->keep_absent,
                                                          .drop_metadata = repair && !options->keep_metadata,
                                                          .keep_rootless = repair && !options->drop_rootless,
                                                          .lax_attributes = repair,
                                                          .find_directions = repair,
                                                          .refuse_types = repair && options->refuse_types,
                                                          .refuse_nested = repair && options->refuse_nested};
    TRY(node_graph_build(graph, context, &converted->et_plus, &rules, error));
    TRY(break_cycles(graph, options->compat || context->options.strict, error));
    TRY(comm_groups_find(&converted->groups, graph, error));
    return options->compat || options->no_peers
               ? SUTRA_OK
               : comm_ends_find(&converted->ends, &graph->arena, graph, &converted->groups, error);
}

enum sutra_status converted_find_work(struct sutra_converted *converted, struct sutra_error *error) {
    struct node_graph *graph = &converted->graph;
    if (converted->maker.work && !converted->work.n_bytes)
        TRY(kernel_work_find(&converted->work, &graph->arena, graph, error));
    converted->report.n_works = converted->work.n_known;
    return SUTRA_OK;
}

/* ---- Metadata: five members of the file as attributes; the index of tokens may be freed by now ---- */

/* Decodes the string at `raw`, which was checked when it was read; false: it cannot be encoded in UTF-8. */
static bool read_text(struct arena *arena, const char *raw, struct et_text *text) {
    size_t length = 0;
    while (raw[length] != '"')
        length += raw[length] == '\\' ? 2 : 1;
    char *decoded = arena_alloc(arena, length + 64, 1);
    if (!decoded)
        return true; /* the arena records the failure */
    *text = (struct et_text){decoded, (uint32_t)string_decode(raw, length, decoded)};
    return length < UINT32_MAX && utf8_check(decoded, text->length) == text->length;
}

/* Reads the value of a member into index `at`; false: the wrong type. */
static bool read_member(struct et_nodes *nodes, uint64_t at, enum et_kind kind, const char *value) {
    struct et_attributes *metadata = &nodes->metadata;
    struct et_text text = {0};
    metadata->kind[at] = *value == 'n' ? ET_NO_VALUE : (uint8_t)kind;
    metadata->length[at] = 0;
    metadata->value[at].bits = 0;
    if (*value == 'n')
        return true;
    if (kind == ET_UINT64)
        return unsigned_parse(value, &metadata->value[at].bits);
    if (*value != '"' || !read_text(&nodes->arena, value + 1, &text))
        return false;
    metadata->value[at].bytes = text.bytes;
    metadata->length[at] = text.length;
    return true;
}

static enum sutra_status make_metadata(struct et_nodes *nodes, const struct document *document, bool needed,
                                       struct sutra_error *error) {
    static const struct {
        const char *key;
        enum et_name name;
        enum et_kind kind;
    } members[] = {
        {"schema", ET_NAME_SCHEMA, ET_STRING},       {"pid", ET_NAME_PID, ET_UINT64},
        {"time", ET_NAME_TIME, ET_STRING},           {"start_ts", ET_NAME_START_TS, ET_UINT64},
        {"finish_ts", ET_NAME_FINISH_TS, ET_UINT64},
    };
    const size_t n_members = sizeof members / sizeof *members;
    enum sutra_status status = et_attributes_take(nodes, &nodes->metadata, n_members, error);
    uint64_t n = 0;
    for (size_t i = 0; i < n_members && !status; i++) {
        const struct document_member *found = document_find(document, members[i].key);
        nodes->metadata.name[n] = members[i].name;
        if (found && read_member(nodes, n, members[i].kind, document->source.bytes + found->value))
            n++;
        else if (needed && found)
            status = source_error(&document->source, error, found->value, "\"%s\": expected %s", members[i].key,
                                  members[i].kind == ET_STRING ? "a string that can be encoded in UTF-8"
                                                               : "a non-negative integer");
        else if (needed)
            status = error_file(error, SUTRA_DATA, document->source.name, "missing member \"%s\" next to \"nodes\"",
                                members[i].key);
        if (nodes->arena.failed)
            status = error_memory(error);
    }
    nodes->metadata.n = n;
    return status;
}

/* Prepares the creation of nodes from converted->plus. */
static enum sutra_status converted_make(struct sutra_converted *converted, struct sutra_context *context,
                                        const struct sutra_convert_options *options, struct sutra_error *error) {
    struct node_graph *graph = &converted->graph;
    bool names = options->compat || options->keep_group_names, peers = !options->compat && !options->no_peers;
    bool works = !options->compat && !options->no_work;
    converted->maker = (struct et_maker){.start_times = !options->compat && !options->no_start_times,
                                         .groups = names ? NULL : &converted->groups,
                                         .ends = peers ? &converted->ends : NULL,
                                         .work = works ? &converted->work : NULL};
    TRY(order_nodes(converted, context, options, error));
    TRY(et_nodes_begin(&converted->nodes, error));
    TRY(make_metadata(&converted->nodes, graph->et_plus->document, options->compat, error));
    TRY(et_maker_begin(&converted->maker, &graph->arena, graph, error));
    if (options->keep_times && !options->compat && !converted->has_times) {
        TRY(et_plus_timeline_read(graph, &converted->times_arena, &converted->times, error));
        converted->has_times = true;
    }
    count_graph(&converted->report, graph);
    count_nodes(&converted->report, &converted->maker);
    converted->report.n_peers = converted->ends.n;
    warn_of_missing_data(context, &converted->report, converted->maker.ends);
    converted->report.n_groups = names ? 0 : converted->groups.n_numbered;
    return SUTRA_OK;
}

/* The input: a file, or linked traces. */
struct convert_input {
    const struct source_input *file;
    const struct sutra_linked *linked;
    const struct linked_traces *disposable; /* linked traces that may be freed, or NULL */
};

static enum sutra_status read_input(struct sutra_converted *made, struct sutra_context *context,
                                    const struct convert_input *input, const struct sutra_convert_options *options,
                                    struct sutra_error *error) {
    bool times = options->keep_times && !options->compat;
    if (!input->file) {
        /* Reads all data from linked traces first: the graph and the nodes are made after they are freed. */
        struct et_plus_arguments arguments;
        TRY(et_plus_linked_arguments(context, input->linked, times, &arguments, error));
        if (input->disposable && !times)
            linked_traces_free_keys(input->disposable);
        TRY(et_plus_linked(&made->et_plus, context, input->linked, &arguments, error));
        if (times)
            TRY(linked_timeline_read(context, input->linked, &made->times_arena, &made->times, error));
        made->has_times = times;
        if (input->disposable)
            linked_traces_free_columns(input->disposable);
        return SUTRA_OK;
    }
    TRY(et_plus_read(&made->et_plus, context, &made->document, input->file, times, error));
    if (!et_plus_is_legacy(&made->et_plus.nodes, options->compat))
        return old_parents_replace(&made->et_plus.nodes, context, error);
    const char *name = made->document.source.name;
    row_t n_gpu = 0;
    if (times)
        return error_file(error, SUTRA_DATA, name,
                          "ET+ of link-legacy records when launches end, not when GPU operators start: measured times "
                          "are unknown; use 'sutra link HOST DEVICE -o OUT --match names'");
    TRY(et_plus_legacy_complete(&made->et_plus, context, &n_gpu, error));
    if (n_gpu && !options->compat && !options->no_start_times)
        context_warn(context,
                     "%s: %s: ET+ of link-legacy records when launches end instead; 'sutra link HOST DEVICE -o OUT "
                     "--match names' records start times",
                     name,
                     counted_text(n_gpu, "GPU operator has no start time", "GPU operators have no start time").text);
    return SUTRA_OK;
}

static enum sutra_status convert_input(struct sutra_context *context, const struct convert_input *input,
                                       const struct sutra_convert_options *options, struct sutra_converted **converted,
                                       struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_convert_options, compat);
    struct sutra_convert_options used_options;
    TRY(options_copy(&form, options, &used_options, error));
    struct sutra_converted *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    enum sutra_status status = read_input(made, context, input, &used_options, error);
    if (!status) {
        stage_begin(context, "order nodes", made->et_plus.nodes.n);
        status = converted_make(made, context, &used_options, error);
        stage_end(context);
    }
    if (!status && !(input->disposable && made->has_times)) /* else it is found while the timeline is built */
        status = converted_find_work(made, error);
    if (!status && input->file && made->et_plus.nodes.n > 0 && !document_is_linked(&made->document))
        context_warn(context,
                     "%s: an unlinked host trace, so the nodes have no durations and none is on a GPU; link it with "
                     "'sutra link HOST DEVICE'",
                     made->document.source.name);
    if (status)
        sutra_converted_free(made);
    else
        *converted = made;
    return status;
}

enum sutra_status sutra_convert(struct sutra_context *context, const char *path,
                                const struct sutra_convert_options *options, struct sutra_converted **converted,
                                struct sutra_error *error) {
    const struct source_input file = {.name = path};
    return convert_input(context, &(struct convert_input){.file = &file}, options, converted, error);
}

enum sutra_status sutra_convert_parse(struct sutra_context *context, const char *name, const void *bytes,
                                      size_t n_bytes, const struct sutra_convert_options *options,
                                      struct sutra_converted **converted, struct sutra_error *error) {
    const struct source_input file = {.name = name, .in_memory = true, .bytes = bytes, .size = n_bytes};
    return convert_input(context, &(struct convert_input){.file = &file}, options, converted, error);
}

enum sutra_status sutra_linked_convert(struct sutra_context *context, const struct sutra_linked *linked,
                                       const struct sutra_convert_options *options, struct sutra_converted **converted,
                                       struct sutra_error *error) {
    return convert_input(context, &(struct convert_input){.linked = linked}, options, converted, error);
}

enum sutra_status linked_convert_and_free(struct sutra_context *context, const struct linked_traces *disposable,
                                          const struct sutra_convert_options *options,
                                          struct sutra_converted **converted, struct sutra_error *error) {
    const struct convert_input input = {.linked = disposable->linked, .disposable = disposable};
    return convert_input(context, &input, options, converted, error);
}

void sutra_converted_report(const struct sutra_converted *converted, struct sutra_convert_report *report) {
    report_give(report, &converted->report, sizeof converted->report);
}

enum sutra_status sutra_converted_write(struct sutra_context *context, const struct sutra_converted *converted,
                                        const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    return et_maker_write(&converted->maker, &converted->nodes, context, path, n_bytes, error);
}

void sutra_converted_free(struct sutra_converted *converted) {
    if (!converted)
        return;
    node_graph_free(&converted->graph);
    et_nodes_free(&converted->nodes);
    comm_groups_free(&converted->groups);
    et_plus_trace_free(&converted->et_plus);
    document_free(&converted->document);
    arena_free(&converted->times_arena);
    free(converted);
}
