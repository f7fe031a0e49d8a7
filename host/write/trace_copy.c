/*
 * trace_copy.c - the bytes of a device trace once more, with something in between.
 */
#include "write/trace_copy.h"

#include "text/number_text.h"
#include "text/scan.h"

void trace_copy_to(const struct sutra_device_trace *trace, struct text_out *text, size_t *from, size_t to) {
    const size_t most = 1 << 20;
    while (*from < to) {
        size_t n = to - *from < most ? to - *from : most;
        buffer_append(&text->out, trace->document.source.bytes + *from, n);
        *from += n;
        out_step(text);
    }
}

void trace_copy_value(const struct sutra_device_trace *trace, struct text_out *text, struct json_place place) {
    const char *value = trace->document.source.bytes + place.at;
    size_t length = 1;
    if (!place.at || *value == 'n')
        out_add(text, "0");
    else if (*value == '"')
        buffer_append(&text->out, value, place.end + 1 - place.at);
    else if (number_scan(value, &length) != NUMBER_FORM_BAD)
        buffer_append(&text->out, value, length);
    else
        out_add(text, *value == 't' ? "1" : "0");
}

size_t trace_events_end(const struct sutra_device_trace *trace) {
    const struct document *document = &trace->document;
    struct json_walker walker = walk_from(&document->source, trace->events.text[trace->events.n - 1]);
    walk_value(&walker);
    return walker.at;
}

size_t trace_event_end(const struct sutra_device_trace *trace, row_t event) {
    const char *bytes = trace->document.source.bytes;
    bool last = event + 1 == trace->events.n;
    return last ? trim_end(bytes, trace_events_end(trace)) : element_end(bytes, trace->events.text[event + 1]);
}
