/*
 * perfetto.h - writes a timeline in Perfetto's own format, a protobuf of trace packets.
 */
#ifndef WRITE_PERFETTO_H
#define WRITE_PERFETTO_H

#include "context/context.h"
#include "sutra/error.h"
#include "write/sink.h"

/*
 * Converts the trace events of a JSON text (Chrome's trace event format, as sutra writes it), the file `json`, to
 * Perfetto's format in `to`, which stays open. SUTRA_USAGE: the text is no timeline; SUTRA_SYSTEM: out of memory.
 * Errors name `path`. O(n log n) for n events.
 *
 * Times are nanoseconds, exactly. Names, categories, keys and texts of arguments are interned. Arguments stay:
 * integers, reals, truth values and texts with their types; lists, objects and null as their JSON text.
 */
enum sutra_status perfetto_write(struct sutra_context *context, const char *json, const char *path, struct sink *to,
                                 struct sutra_error *error);

#endif
