/*
 * trace_flows.c - copying a trace without some of its events, and writing flows.
 *
 * What stands between two events that stay is copied with them; beside an event that is left out, a comma takes its
 * place:
 *
 *     [ {a}, {b}, {dropped}, {c}, {dropped} ]
 *     |---------|          , |-|           |-|
 */
#include "tree/trace_flows.h"

#include "write/trace_copy.h"

struct trace_flows trace_flows_begin(const struct sutra_device_trace *trace, struct text_out *text,
                                     const uint8_t *dropped) {
    struct trace_flows flows = {.trace = trace, .text = text, .empty = true};
    row_t n = trace->events.n;
    bool gap = false;
    if (n)
        trace_copy_to(trace, text, &flows.from, trace->events.text[0]);
    for (row_t event = 0; event < n; event++) {
        if (dropped && dropped[event]) {
            gap = true;
            continue;
        }
        if (gap && !flows.empty)
            out_add(text, ",\n");
        if (gap)
            flows.from = trace->events.text[event];
        trace_copy_to(trace, text, &flows.from, trace_event_end(trace, event));
        flows.empty = gap = false;
    }
    if (gap)
        flows.from = trace_event_end(trace, n - 1);
    return flows;
}

static void write_half(const struct trace_flows *flows, row_t event, const char *head, uint64_t id, const char *name) {
    struct text_out *text = flows->text;
    struct event_places places;
    event_find(flows->trace, event, NULL, &places);
    out_format(text, "%s\"id\": %llu, \"pid\": ", head, (unsigned long long)id);
    trace_copy_value(flows->trace, text, places.field[FIELD_PID]);
    out_add(text, ", \"tid\": ");
    trace_copy_value(flows->trace, text, places.field[FIELD_TID]);
    out_add(text, ", \"ts\": ");
    trace_copy_value(flows->trace, text, places.field[FIELD_TS]);
    out_format(text, ", \"cat\": \"%s\", \"name\": \"%s\"}", name, name);
}

void trace_flows_add(struct trace_flows *flows, row_t from, row_t to, uint64_t id, const char *name) {
    write_half(flows, from, flows->empty ? "\n{\"ph\": \"s\", " : ",\n{\"ph\": \"s\", ", id, name);
    write_half(flows, to, ",\n{\"ph\": \"f\", \"bp\": \"e\", ", id, name);
    flows->empty = false;
    out_step(flows->text);
}

void trace_flows_end(struct trace_flows *flows) {
    trace_copy_to(flows->trace, flows->text, &flows->from, flows->trace->document.source.size);
}
