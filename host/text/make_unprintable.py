#!/usr/bin/env python3
"""Prints the table of strings.c: ranges of characters that Python 3.11's repr() escapes.

Run it with Python 3.11: later versions know newer characters, and the table is that of Unicode 14.
"""

import unicodedata

assert unicodedata.unidata_version == "14.0.0", unicodedata.unidata_version


def runs(wanted):
    """(first, last) of each run of code points from 0x80 on that are wanted."""
    first = None
    for c in range(0x80, 0x110001):
        inside = c <= 0x10FFFF and wanted(c)
        if inside and first is None:
            first = c
        if not inside and first is not None:
            yield first, c - 1
            first = None


ranges = list(runs(lambda c: not chr(c).isprintable()))
print("// clang-format off")
print("static const uint32_t unprintable[][2] = {")
for i in range(0, len(ranges), 5):
    print("    " + " ".join("{0x%x, 0x%x}," % r for r in ranges[i : i + 5]))
print("};")
print("// clang-format on")
