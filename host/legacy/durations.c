/*
 * durations.c - writing what was matched as one JSON object, {"1": 55, "2": 20}: durations by the ids of host
 * operators.
 */
#include "base/error.h"
#include "context/context.h"
#include "legacy/legacy.h"
#include "text/number_text.h"
#include "write/sink.h"

static void put_duration(struct buffer *out, int64_t id, struct number dur) {
    char *to = buffer_reserve(out, 3 * NUMBER_TEXT_MAX);
    if (!to)
        return;
    char *begin = to;
    *to++ = '"';
    to += integer_format(id, to);
    *to++ = '"';
    *to++ = ':';
    *to++ = ' ';
    to += number_is_double(dur) ? double_format(number_as_double(dur), to) : integer_format((int64_t)dur.bits, to);
    out->length += (size_t)(to - begin);
}

/* A duration is what is between start and end, which for fractions is rounded. */
static void put_all(const struct sutra_legacy *legacy, struct buffer *out) {
    const struct device_side *device = &legacy->sides.device;
    const struct host_side *host = &legacy->sides.host;
    bool any = false;
    buffer_append(out, "{", 1);
    for (row_t op = 0; op < host->n; op++) {
        row_t entry = legacy->match[op];
        if (entry == ROW_NONE)
            continue;
        struct number ts = number_at(device->ts, entry);
        buffer_append(out, any ? ",\n    " : "\n    ", any ? 6 : 5);
        put_duration(out, host_side_id(host, op), number_subtract(number_add(ts, number_at(device->dur, entry)), ts));
        any = true;
    }
    buffer_append(out, any ? "\n}" : "}", any ? 2 : 1);
}

enum sutra_status sutra_legacy_write_durations(struct sutra_context *context, const struct sutra_legacy *legacy,
                                               const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    struct buffer out = {0};
    struct sink *sink;
    stage_begin(context, "write", legacy->sides.host.n);
    put_all(legacy, &out);
    enum sutra_status status = out.failed ? error_memory(error) : sink_open(&sink, context, path, error);
    if (!status) {
        sink_write(sink, 0, out.bytes, out.length);
        status = sink_close(sink, true, n_bytes, error);
    }
    stage_end(context);
    buffer_free(&out);
    return status;
}
