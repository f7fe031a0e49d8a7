/*
 * et_json.h - messages of an .et file as JSON, as protobuf's MessageToJson writes them: names in lower camel case,
 * fields in the order of their numbers without those that are empty or 0, integers of 64 bits as strings, bytes in
 * base64.
 *
 *     ET_JSON_CHAKRA   objects indented by 2, one right behind the other, as chakra_jsonizer writes them
 *     ET_JSON_LINES    one object a line, the metadata first; et_lines.h reads them back
 *
 * Cost: O(bytes written).
 */
#ifndef SIMULATE_ET_JSON_H
#define SIMULATE_ET_JSON_H

#include "simulate/et_nodes.h"
#include "write/text_out.h"

enum et_json_layout { ET_JSON_CHAKRA, ET_JSON_LINES };

void et_json_metadata(const struct et_nodes *nodes, enum et_json_layout layout, struct text_out *text);
void et_json_node(const struct et_nodes *nodes, row_t row, enum et_json_layout layout, struct text_out *text);

#endif
