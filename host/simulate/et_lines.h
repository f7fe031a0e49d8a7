/*
 * et_lines.h - reading back the JSON of `sutra jsonize --lines` (et_json.h): an object for the metadata, then one for
 * each node, in columns that et_write.h makes an .et file of: of a file as Google's own writer has it, the same bytes.
 *
 *     {"attr": [{"name": "schema", "stringVal": "1.1.1-chakra.0.0.4"}]}
 *     {"id": "1", "name": "aten::mm", "type": "COMP_NODE", "ctrlDeps": ["7"], "attr": [...]}
 *
 * Objects may stand on one line or on many: chakra_jsonizer's output is read too. Integers may stand in quotes or not;
 * members may come in any order; unknown ones are an error, so that slips do not get lost. Cost: O(bytes), two passes.
 */
#ifndef SIMULATE_ET_LINES_H
#define SIMULATE_ET_LINES_H

#include "context/context.h"
#include "simulate/et_read.h"

/* Reads the text of `file->source`, which the caller has opened. The caller frees the file in any case. SUTRA_DATA:
 * malformed; the error has the byte and the line. SUTRA_SYSTEM: out of memory. */
enum sutra_status et_lines_read(struct et_file *file, struct sutra_error *error);

/* Bytes of which the beginning of such lines is told. */
#define ET_LINES_BEGINNING 64

/* Whether a text begins as such lines do: with an object of the metadata. */
bool et_lines_look_like(const char *bytes, size_t size);

#endif
