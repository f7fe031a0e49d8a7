"""Encodes the JSON lines of `sutra jsonize --lines` as a Chakra .et file.

    python3 tests/et_text.py <LINES >FILE.et
"""

import json
import struct
import sys

TYPES = ["INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE", "COMM_RECV_NODE",
         "COMM_COLL_NODE"]
# The field of each kind of value of an attribute (host/simulate/chakra_et.proto).
KINDS = {"int32Val": 7, "int64Val": 9, "uint32Val": 11, "uint64Val": 13, "boolVal": 27, "stringVal": 29}


def varint(value):
    value &= 2**64 - 1
    bytes_of = bytearray()
    while value >= 0x80:
        bytes_of.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(bytes_of) + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(int(value))


def message(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def attributes(field, listed):
    encoded = b""
    for attribute in listed:
        content = message(1, attribute["name"])
        for key, value in attribute.items():
            if key == "doubleVal":
                content += varint(3 << 3 | 1) + struct.pack("<d", value)
            elif key == "boolList":
                content += message(28, message(1, bytes(value["values"])))
            elif key != "name":
                content += message(KINDS[key], value) if key == "stringVal" else number(KINDS[key], value)
        encoded += message(field, content)
    return encoded


def encode_metadata(metadata):
    return attributes(2, metadata.get("attr", []))


def encode_node(node):
    encoded = number(1, node["id"]) + message(2, node["name"]) + number(3, TYPES.index(node["type"]))
    for field, key in ((4, "ctrlDeps"), (5, "dataDeps")):
        if node.get(key):
            encoded += message(field, b"".join(varint(int(ident)) for ident in node[key]))
    for field, key in ((6, "startTimeMicros"), (7, "durationMicros")):
        if int(node.get(key, 0)):
            encoded += number(field, node[key])
    for field, key in ((8, "inputs"), (9, "outputs")):
        if key in node:
            texts = enumerate(("values", "shapes", "types"), 1)
            encoded += message(field, b"".join(message(i, node[key][name]) for i, name in texts if name in node[key]))
    return encoded + attributes(10, node.get("attr", []))


def write_file(file, metadata, nodes):
    """Writes an .et file of a dictionary of metadata and of nodes."""
    for content in (encode_metadata(metadata), *map(encode_node, nodes)):
        file.write(varint(len(content)) + content)


if __name__ == "__main__":
    first, *rest = map(json.loads, sys.stdin)
    write_file(sys.stdout.buffer, first, rest)
