/*
 * correlation.c - sutra_correlation_...(): pairs forward and backward operators, and GPU operators with their launches
 * and with the operators of the launches; writes the pairs as JSON, as CSV, and as flows in the trace.
 *
 * Forward and backward: one walk with a table from (thread, sequence number) to the forward operator. In the order of
 * ends, the first backward operator removes the forward operator from the table. Up to PyTorch 1.13, in recorded order,
 * the forward operator stays, so that a later backward operator may replace the pair.
 *
 * The operator of a launch is its nearest ancestor in the call tree.
 *
 * CSV has one header: in rows of other kinds, forward and backward contain the launch (or operator) and the GPU
 * operator. A last column has the kind, unless only forward and backward are selected. Times and tids are as in the
 * trace.
 *
 * Cost: O(n), and a sort.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/options.h"
#include "columns/hash_tables.h"
#include "columns/numbers.h"
#include "context/context.h"
#include "facts/names.h"
#include "sutra/profiler.h"
#include "text/quantities.h"
#include "text/strings.h"
#include "tree/tree.h"
#include "write/json_copy.h"
#include "write/text.h"

/* ---- Forward and backward operators ---- */

#define SEQUENCE_BITS 48
#define TID_MAX       65535

struct sequence_pairing {
    const struct sutra_sequence_columns *operators;
    enum sutra_torch_version torch_version;
    struct pair_table forwards;
    struct arena arena; /* of the following columns */
    row_t *order;       /* rows in processing order */
    uint64_t n_order;
    struct sutra_flow_pair *pairs;
    uint64_t n_pairs;
    struct sutra_pair_report report;
};

static enum sutra_status check_tid(uint64_t row, int64_t tid, const char *name, struct sutra_error *error) {
    if (tid >= 0 && tid <= TID_MAX)
        return SUTRA_OK;
    return error_set(
        error, SUTRA_DATA,
        "operator %llu: %s %lld: thread numbers of autograd range from 0 to %d (is this a thread id of the system?)",
        (unsigned long long)row, name, (long long)tid, TID_MAX);
}

static enum sutra_status sort_operators(struct sequence_pairing *pairing, struct sutra_context *context,
                                        struct sutra_error *error) {
    const struct sutra_sequence_columns *operators = pairing->operators;
    pairing->order = arena_alloc(&pairing->arena, operators->n, sizeof *pairing->order);
    struct arena_mark mark = arena_mark(&pairing->arena);
    uint64_t *keys = arena_alloc(&pairing->arena, operators->n, sizeof *keys);
    TRY(arena_status(&pairing->arena, error));
    for (uint64_t row = 0; row < operators->n; row++) {
        if (operators->sequence[row] < 0)
            continue;
        TRY(check_tid(row, operators->tid[row], "tid", error));
        TRY(check_tid(row, operators->forward_tid[row], "forward tid", error));
        keys[pairing->n_order] = integer_sort_key(operators->end_ns[row]);
        pairing->order[pairing->n_order++] = (row_t)row;
    }
    struct sort_keys_step by_end = {keys, pairing->order, (row_t)pairing->n_order};
    if (pairing->torch_version != SUTRA_TORCH_VERSION_1_13)
        TRY(context->engine.sort_keys(context->engine.state, &by_end, error));
    arena_release(&pairing->arena, mark);
    return SUTRA_OK;
}

/* Pairs a backward operator, or adds a forward operator to the table. */
static bool add_operator(struct sequence_pairing *pairing, row_t row) {
    const struct sutra_sequence_columns *operators = pairing->operators;
    const uint64_t low = ((uint64_t)1 << SEQUENCE_BITS) - 1, sequence = (uint64_t)operators->sequence[row];
    bool backward = operators->forward_tid[row] > 0;
    if (!backward && operators->tid[row] == 0)
        return true;
    int64_t tid = backward ? operators->forward_tid[row] : operators->tid[row];
    pairing->report.n_wrapped += sequence > low;
    uint64_t key = (uint64_t)tid << SEQUENCE_BITS | (sequence & low);
    struct pair_entry *forward = pair_table_insert(&pairing->forwards, key, 0);
    if (!forward)
        return false;
    if (!backward) {
        if (forward->number == PAIR_NONE || operators->start_ns[row] >= operators->start_ns[forward->number])
            forward->number = row;
    } else if (forward->number == PAIR_NONE) {
        pairing->report.n_unmatched++;
    } else {
        pairing->pairs[pairing->n_pairs] = (struct sutra_flow_pair){forward->number, row, pairing->n_pairs + 1};
        pairing->n_pairs++;
        if (pairing->torch_version != SUTRA_TORCH_VERSION_1_13)
            forward->number = PAIR_NONE;
    }
    return true;
}

/* Drops the pairs whose forward operator is in a later pair. */
static bool drop_overwritten(struct sequence_pairing *pairing) {
    uint64_t *last = arena_alloc(&pairing->arena, pairing->operators->n, sizeof *last);
    if (!last)
        return false;
    for (uint64_t i = 0; i < pairing->n_pairs; i++)
        last[pairing->pairs[i].forward] = i;
    uint64_t n = 0;
    for (uint64_t i = 0; i < pairing->n_pairs; i++)
        if (last[pairing->pairs[i].forward] == i)
            pairing->pairs[n++] = pairing->pairs[i];
    pairing->report.n_overwritten = pairing->n_pairs - n;
    pairing->n_pairs = n;
    return true;
}

enum sutra_status sutra_forward_backward(struct sutra_context *context, const struct sutra_sequence_columns *operators,
                                         enum sutra_torch_version torch_version, struct sutra_flow_pair *pairs,
                                         uint64_t *n_pairs, struct sutra_pair_report *report,
                                         struct sutra_error *error) {
    struct sequence_pairing pairing = {.operators = operators, .torch_version = torch_version, .pairs = pairs};
    if (operators->n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u operators", ROW_LIMIT);
    enum sutra_status status =
        pair_table_init(&pairing.forwards) ? sort_operators(&pairing, context, error) : error_memory(error);
    bool ok = true;
    for (uint64_t i = 0; i < pairing.n_order && !status && ok; i++)
        ok = add_operator(&pairing, pairing.order[i]);
    if (!status && ok && torch_version == SUTRA_TORCH_VERSION_1_13)
        ok = drop_overwritten(&pairing);
    if (!status && !ok)
        status = error_memory(error);
    pair_table_free(&pairing.forwards);
    arena_free(&pairing.arena);
    if (status)
        return status;
    *n_pairs = pairing.n_pairs;
    report_give(report, &pairing.report, sizeof pairing.report);
    return SUTRA_OK;
}

/* ---- Pairs ---- */

static const char *const kind_words[] = {"fwdbwd", "ac2g", "operator"};

enum pair_kind { PAIR_FWDBWD, PAIR_LAUNCH, PAIR_OPERATOR };

struct row_pair {
    enum pair_kind kind;
    uint64_t flow_id;
    row_t from, to;
};

/* Calls the function for each pair: forward and backward, launches, operators. */
static void each_pair(const struct sutra_correlation *correlation, void (*call)(void *arg, const struct row_pair *pair),
                      void *arg) {
    for (uint64_t i = 0; i < correlation->n_fwdbwd; i++) {
        const struct sutra_flow_pair *of = &correlation->fwdbwd[i];
        call(arg, &(struct row_pair){PAIR_FWDBWD, of->flow_id, of->forward, of->backward});
    }
    for (row_t i = 0; i < correlation->launches.n; i++) {
        const struct launch_pair *of = &correlation->launches.list[i];
        call(arg, &(struct row_pair){PAIR_LAUNCH, (uint64_t)i + 1, of->from, of->to});
    }
    for (row_t i = 0; i < correlation->operators.n; i++) {
        const struct launch_pair *of = &correlation->operators.list[i];
        call(arg, &(struct row_pair){PAIR_OPERATOR, (uint64_t)i + 1, of->from, of->to});
    }
}

struct correlation_page {
    const struct sutra_correlation *correlation;
    struct text_out *text;
    bool first;
};

static const char *name_of(const struct correlation_page *page, row_t row, size_t *length) {
    const struct sutra_profile *profile = page->correlation->profile;
    *length = strings_length(profile->strings, profile->name[row]);
    return strings_text(profile->strings, profile->name[row]);
}

static struct json_span place_of(const struct correlation_page *page, row_t row, enum event_field field) {
    const struct sutra_profile *profile = page->correlation->profile;
    struct event_spans places;
    event_find(profile->trace, profile->event[row], NULL, &places);
    return places.field[field];
}

static void add_field(const struct correlation_page *page, row_t row, enum event_field field) {
    trace_copy_value(page->correlation->profile->trace, page->text, place_of(page, row, field));
}

/* ---- CSV ---- */

/* Writes a number as in the trace, or a string as text. */
static void add_csv_field(const struct correlation_page *page, row_t row, enum event_field field) {
    const struct json_span place = place_of(page, row, field);
    const char *value = page->correlation->profile->trace->document.source.bytes + place.at;
    if (!place.at || *value != '"') {
        trace_copy_value(page->correlation->profile->trace, page->text, place);
        return;
    }
    struct buffer decoded = {0};
    size_t length = place.end - place.at - 1;
    char *to = buffer_reserve(&decoded, length + 1);
    if (to)
        csv_safe_text(page->text, to, string_decode(value + 1, length, to));
    page->text->out.failed |= !to;
    buffer_free(&decoded);
}

static void add_csv_event(const struct correlation_page *page, row_t row) {
    size_t length;
    const char *name = name_of(page, row, &length);
    out_format(page->text, ",%lld,", (long long)page->correlation->profile->index[row]);
    csv_safe_text(page->text, name, length);
    out_add(page->text, ",");
    add_csv_field(page, row, FIELD_TID);
    out_add(page->text, ",");
    add_csv_field(page, row, FIELD_TS);
}

static void add_csv_pair(void *arg, const struct row_pair *pair) {
    const struct correlation_page *page = arg;
    const struct sutra_correlation *correlation = page->correlation;
    out_integer(page->text, (int64_t)pair->flow_id);
    add_csv_event(page, pair->from);
    add_csv_event(page, pair->to);
    out_add(page->text, ",");
    if (pair->kind == PAIR_FWDBWD)
        out_integer(page->text, correlation->profile->sequence[pair->to]);
    if (correlation->kind != SUTRA_CORRELATION_FWDBWD)
        out_format(page->text, ",%s", kind_words[pair->kind]);
    out_add(page->text, "\n");
    out_step(page->text);
}

static bool write_correlation_csv(const void *correlation, struct text_out *text) {
    struct correlation_page page = {.correlation = correlation, .text = text};
    out_add(text, "flow_id,forward_ev_idx,forward_name,forward_tid,forward_ts,backward_ev_idx,backward_name,"
                  "backward_tid,backward_ts,sequence_number");
    out_add(text, page.correlation->kind == SUTRA_CORRELATION_FWDBWD ? "\n" : ",kind\n");
    each_pair(correlation, add_csv_pair, &page);
    return true;
}

/* ---- JSON ---- */

static void add_json_event(const struct correlation_page *page, const char *key, row_t row) {
    size_t length;
    const char *name = name_of(page, row, &length);
    out_format(page->text, ", \"%s\": {\"event\": %u, \"name\": ", key, page->correlation->profile->event[row]);
    out_string(page->text, name, length);
    out_add(page->text, ", \"tid\": ");
    add_field(page, row, FIELD_TID);
    out_add(page->text, ", \"ts\": ");
    add_field(page, row, FIELD_TS);
    out_add(page->text, "}");
}

static void add_json_pair(void *arg, const struct row_pair *pair) {
    static const char *const keys[][2] = {{"forward", "backward"}, {"launch", "gpu"}, {"operator", "gpu"}};
    struct correlation_page *page = arg;
    out_format(page->text, "%s\n{\"kind\": \"%s\", \"flow_id\": %llu", page->first ? "" : ",", kind_words[pair->kind],
               (unsigned long long)pair->flow_id);
    add_json_event(page, keys[pair->kind][0], pair->from);
    add_json_event(page, keys[pair->kind][1], pair->to);
    if (pair->kind == PAIR_FWDBWD)
        out_format(page->text, ", \"sequence_number\": %lld",
                   (long long)page->correlation->profile->sequence[pair->to]);
    out_add(page->text, "}");
    out_step(page->text);
    page->first = false;
}

/* Writers for text_file_write(). */
static bool write_correlation_json(const void *correlation, struct text_out *text) {
    struct correlation_page page = {.correlation = correlation, .text = text, .first = true};
    out_add(text, "{\"pairs\": [");
    each_pair(correlation, add_json_pair, &page);
    out_add(text, "\n]}\n");
    return true;
}

/* ---- Flows in the trace ---- */

struct flow_page {
    const struct sutra_correlation *correlation;
    struct trace_flows flows;
};

static void add_flow(void *arg, const struct row_pair *pair) {
    struct flow_page *page = arg;
    const row_t *event = page->correlation->profile->event;
    if (pair->kind != PAIR_OPERATOR) /* the launch is nested in the operator */
        trace_flows_add(&page->flows, event[pair->from], event[pair->to], pair->flow_id, kind_words[pair->kind]);
}

/* Copies the trace, and replaces the flows of the selected kinds. */
static bool write_correlation_chrome(const void *correlation, struct text_out *text) {
    struct flow_page page = {.correlation = correlation};
    const struct sutra_device_trace *trace = page.correlation->profile->trace;
    const struct device_events *events = &trace->events;
    struct arena scratch = {0};
    uint8_t *dropped = arena_alloc(&scratch, events->n, sizeof *dropped);
    const struct string_roles *roles = names_find(&trace->strings, READER_TREE, &scratch);
    uint32_t replaced = (page.correlation->kind == SUTRA_CORRELATION_AC2G ? 0 : CATEGORY_AUTOGRAD_FLOW) |
                        (page.correlation->kind == SUTRA_CORRELATION_FWDBWD ? 0 : CATEGORY_LAUNCH_FLOW);
    bool ok = dropped && roles;
    for (row_t event = 0; event < events->n && ok; event++) {
        uint8_t phase = events->phase[event];
        dropped[event] =
            category_roles(events, roles, event) & replaced && (phase == 's' || phase == 'f' || phase == 't');
    }
    if (ok) {
        page.flows = trace_flows_begin(trace, text, dropped);
        each_pair(correlation, add_flow, &page);
        trace_flows_end(&page.flows);
    }
    arena_free(&scratch);
    return ok;
}

/* ---- Correlation ---- */

void sutra_correlation_free(struct sutra_correlation *correlation) {
    if (!correlation)
        return;
    arena_free(&correlation->arena);
    free(correlation);
}

/* Pairs GPU operators with their launches and with the nearest operators above them in the call tree. */
static enum sutra_status find_launches(struct sutra_correlation *correlation, struct sutra_context *context,
                                       enum sutra_torch_version torch_version, struct sutra_error *error) {
    const struct sutra_profile *profile = correlation->profile;
    struct arena *arena = &correlation->arena;
    struct sutra_tree *tree = NULL;
    struct launch_pairs *launches = &correlation->launches, *operators = &correlation->operators;
    launches->list = arena_alloc(arena, profile->n, sizeof *launches->list);
    operators->list = arena_alloc(arena, profile->n, sizeof *operators->list);
    struct arena_mark mark = arena_mark(arena);
    row_t *nearest = arena_alloc(arena, profile->n, sizeof *nearest); /* per position: position of the operator */
    TRY(arena_status(arena, error));
    TRY(sutra_tree_build(context, profile, torch_version, &tree, error));
    for (row_t k = 0; k < profile->n; k++) {
        row_t i = tree->preorder[k], parent = tree->parent[i];
        if (parent == ROW_NONE)
            nearest[i] = ROW_NONE;
        else if (profile->kind[tree->sorted.order[parent]] != SUTRA_EVENT_KINETO)
            nearest[i] = parent;
        else
            nearest[i] = nearest[parent];
    }
    for (row_t i = 0; i < profile->n; i++) {
        row_t row = tree->sorted.order[i], launch = profile->parent[row];
        if (profile->gpu[row] != EVENT_GPU_OPERATOR)
            continue;
        if (launch != ROW_NONE && profile->kind[launch] == SUTRA_EVENT_KINETO)
            launches->list[launches->n++] = (struct launch_pair){launch, row};
        if (nearest[i] != ROW_NONE)
            operators->list[operators->n++] = (struct launch_pair){tree->sorted.order[nearest[i]], row};
    }
    sutra_tree_free(tree);
    arena_release(arena, mark);
    return SUTRA_OK;
}

enum sutra_status sutra_correlation_find(struct sutra_context *context, const struct sutra_profile *profile,
                                         const struct sutra_correlation_options *options,
                                         struct sutra_correlation **correlation, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_correlation_options, kind);
    struct sutra_correlation_options chosen;
    enum sutra_status status = SUTRA_OK;
    TRY(options_copy(&form, options, &chosen, error));
    struct sutra_correlation *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    made->profile = profile;
    made->report.size = sizeof made->report;
    made->kind = chosen.kind;
    context_choose_engine(context, NO_MATCHING);
    stage_begin(context, "correlate", profile->n);
    if (made->kind != SUTRA_CORRELATION_AC2G) {
        const struct sutra_sequence_columns operators = {.n = profile->n,
                                                         .tid = profile->tid,
                                                         .forward_tid = profile->forward_tid,
                                                         .sequence = profile->sequence,
                                                         .start_ns = profile->start,
                                                         .end_ns = profile->end};
        made->fwdbwd = arena_alloc(&made->arena, profile->n, sizeof *made->fwdbwd);
        status = arena_status(&made->arena, error);
        if (!status)
            status = sutra_forward_backward(context, &operators, chosen.torch_version, made->fwdbwd, &made->n_fwdbwd,
                                            &made->report, error);
        if (profile->trace)
            status = error_name_file(error, status, profile->trace->document.source.name);
    }
    if (!status && made->kind != SUTRA_CORRELATION_FWDBWD)
        status = find_launches(made, context, chosen.torch_version, error);
    stage_end(context);
    if (status) {
        sutra_correlation_free(made);
        return status;
    }
    if (made->report.n_wrapped)
        context_warn(context, "%s more than 48 bits: using the low 48 bits",
                     counted_text(made->report.n_wrapped, "sequence number has", "sequence numbers have").text);
    if (profile->n && made->n_fwdbwd + made->launches.n + made->operators.n == 0)
        context_warn(
            context,
            made->kind == SUTRA_CORRELATION_FWDBWD
                ? "no pairs: no backward operator has the sequence number of a forward operator; select --kind ac2g to "
                  "pair GPU activities with their launches"
                : "no pairs: no GPU activity has a launch");
    *correlation = made;
    return SUTRA_OK;
}

void sutra_correlation_report(const struct sutra_correlation *correlation, struct sutra_correlation_report *report) {
    const struct sutra_correlation_report ours = {.n_fwdbwd = correlation->n_fwdbwd,
                                                  .n_launches = correlation->launches.n,
                                                  .n_operators = correlation->operators.n,
                                                  .pairs = &correlation->report};
    report_give(report, &ours, sizeof ours);
}

enum sutra_status sutra_correlation_write(struct sutra_context *context, const struct sutra_correlation *correlation,
                                          enum sutra_correlation_format format, const char *path, uint64_t *n_bytes,
                                          struct sutra_error *error) {
    static bool (*const writers[])(const void *, struct text_out *) = {
        [SUTRA_CORRELATION_JSON] = write_correlation_json,
        [SUTRA_CORRELATION_CSV] = write_correlation_csv,
        [SUTRA_CORRELATION_CHROME] = write_correlation_chrome,
    };
    if (!correlation->profile->trace)
        return error_set(error, SUTRA_USAGE, "only correlations of a trace can be written");
    stage_begin(context, "write", correlation->profile->n);
    enum sutra_status status = text_file_write(context, path, writers[format], correlation, n_bytes, error);
    stage_end(context);
    return status;
}
