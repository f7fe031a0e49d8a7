/*
 * et_wire.c - stepping over groups, with a stack of their numbers.
 */
#include "simulate/et_wire.h"

bool wire_skip_group(struct wire *wire, uint32_t number) {
    uint32_t open[WIRE_DEPTH_MAX] = {number};
    struct wire_field field;
    for (size_t depth = 1; depth > 0;) {
        const char *from = wire->at;
        if (from == wire->end)
            return wire_fail(wire, from, "truncated group");
        if (!wire_take(wire, &field))
            return false;
        if (field.type == WIRE_GROUP && depth == WIRE_DEPTH_MAX)
            return wire_fail(wire, from, "groups nested too deeply");
        if (field.type == WIRE_GROUP)
            open[depth++] = field.number;
        else if (field.type == WIRE_GROUP_END && field.number != open[--depth])
            return wire_fail(wire, from, "end of a group without its start");
    }
    return true;
}

bool wire_next_any(struct wire *wire, struct wire_field *field) {
    while (wire->at != wire->end) {
        const char *from = wire->at;
        if (!wire_take(wire, field))
            return false;
        if (field->type == WIRE_GROUP_END)
            return wire_fail(wire, from, "end of a group without its start");
        if (field->type != WIRE_GROUP)
            return true;
        if (!wire_skip_group(wire, field->number))
            return false;
    }
    return false;
}
