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
#include "simulate/et_format.h"
#include "simulate/et_read.h"
#include "write/text.h"

/*
 * Messages of an .et file as JSON, as protobuf's MessageToJson writes them: names in lower camel case,
 * fields in the order of their numbers without those that are empty or 0, integers of 64 bits as strings, bytes in
 * base64.
 *
 *     ET_JSON_CHAKRA   objects indented by 2, one right behind the other, as chakra_jsonizer writes them
 *     ET_JSON_LINES    one object a line, the metadata first; et_lines.h reads them back
 *
 * Cost: O(bytes written).
 */

enum et_json_layout { ET_JSON_CHAKRA, ET_JSON_LINES };

void et_json_metadata(const struct et_nodes *nodes, enum et_json_layout layout, struct text_out *text);
void et_json_node(const struct et_nodes *nodes, row_t row, enum et_json_layout layout, struct text_out *text);

/* Reads the text of `file->source`, which the caller has opened. The caller frees the file in any case. SUTRA_DATA:
 * malformed; the error has the byte and the line. SUTRA_SYSTEM: out of memory. */
enum sutra_status et_lines_read(struct et_file *file, struct sutra_error *error);

/* Bytes of which the beginning of such lines is told. */
#define ET_LINES_BEGINNING 64

/* Whether a text begins as such lines do: with an object of the metadata. */
bool et_lines_look_like(const char *bytes, size_t size);

#endif
