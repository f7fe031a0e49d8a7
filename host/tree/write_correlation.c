/*
 * write_correlation.c - correlations as JSON, as CSV, and as flows in the trace that they come from.
 *
 * CSV has one header: forward and backward stand for launch (or operator) and GPU operator in rows of other kinds,
 * which a last column tells where more than pairs of forward and backward are asked for. Times and tids stand as the
 * trace has them; strings are cells of text.
 */
#include <string.h>

#include "facts/names.h"
#include "text/string_text.h"
#include "tree/correlation.h"
#include "tree/trace_flows.h"
#include "write/csv_text.h"
#include "write/trace_copy.h"

static const char *const kind_words[] = {"fwdbwd", "ac2g", "operator"};

enum pair_kind { PAIR_FWDBWD, PAIR_LAUNCH, PAIR_OPERATOR };

struct row_pair {
    enum pair_kind kind;
    uint64_t flow_id;
    row_t from, to;
};

/* Calls for each pair: of forward and backward, of launches, of operators. */
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

static struct json_place place_of(const struct correlation_page *page, row_t row, enum event_field field) {
    const struct sutra_profile *profile = page->correlation->profile;
    struct event_places places;
    event_find(profile->trace, profile->event[row], NULL, &places);
    return places.field[field];
}

static void add_field(const struct correlation_page *page, row_t row, enum event_field field) {
    trace_copy_value(page->correlation->profile->trace, page->text, place_of(page, row, field));
}

/* ---- CSV ---- */

/* A number as the trace has it, or a string as text. */
static void add_csv_field(const struct correlation_page *page, row_t row, enum event_field field) {
    const struct json_place place = place_of(page, row, field);
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

bool write_correlation_csv(const void *correlation, struct text_out *text) {
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

bool write_correlation_json(const void *correlation, struct text_out *text) {
    struct correlation_page page = {.correlation = correlation, .text = text, .first = true};
    out_add(text, "{\"pairs\": [");
    each_pair(correlation, add_json_pair, &page);
    out_add(text, "\n]}\n");
    return true;
}

/* ---- Flows in the trace ---- */

/* Halves of flows of the kinds that are written anew, in an arena. NULL: out of memory. */
static uint8_t *drop_flows(const struct sutra_correlation *correlation, struct arena *arena) {
    const struct sutra_device_trace *trace = correlation->profile->trace;
    uint8_t *dropped = arena_take(arena, trace->events.n, sizeof *dropped);
    const struct string_roles *roles = names_find(&trace->strings, READER_TREE, arena);
    uint32_t anew = (correlation->kind == SUTRA_CORRELATION_AC2G ? 0 : CATEGORY_AUTOGRAD_FLOW) |
                    (correlation->kind == SUTRA_CORRELATION_FWDBWD ? 0 : CATEGORY_LAUNCH_FLOW);
    for (row_t event = 0; event < trace->events.n && roles; event++) {
        uint8_t phase = trace->events.phase[event];
        dropped[event] =
            category_roles(&trace->events, roles, event) & anew && (phase == 's' || phase == 'f' || phase == 't');
    }
    return roles ? dropped : NULL;
}

struct flow_page {
    const struct sutra_correlation *correlation;
    struct trace_flows flows;
};

static void add_flow(void *arg, const struct row_pair *pair) {
    struct flow_page *page = arg;
    const row_t *event = page->correlation->profile->event;
    if (pair->kind != PAIR_OPERATOR) /* the launch lies in the operator already */
        trace_flows_add(&page->flows, event[pair->from], event[pair->to], pair->flow_id, kind_words[pair->kind]);
}

bool write_correlation_chrome(const void *correlation, struct text_out *text) {
    struct flow_page page = {.correlation = correlation};
    struct arena scratch = {0};
    const uint8_t *dropped = drop_flows(correlation, &scratch);
    if (dropped) {
        page.flows = trace_flows_begin(page.correlation->profile->trace, text, dropped);
        each_pair(correlation, add_flow, &page);
        trace_flows_end(&page.flows);
    }
    arena_free(&scratch);
    return dropped;
}
