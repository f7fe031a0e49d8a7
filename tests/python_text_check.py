#!/usr/bin/env python3
"""Compares host/text with CPython: python_text_check.py PATH_OF_TEXT_TOOL [random values, 100000] [seed, 1]

The yardstick is this interpreter: repr, float, int, json.loads, json.dumps and its UTF-8 codec.
"""

import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile


class Check:
    def __init__(self, tool):
        self.tool, self.failures = tool, 0

    def ask(self, mode, lines):
        with tempfile.TemporaryFile("w+") as questions:
            questions.write("".join(line + "\n" for line in lines))
            questions.seek(0)
            answer = subprocess.run([self.tool, mode], stdin=questions, stdout=subprocess.PIPE, check=True)
        return answer.stdout.decode("ascii").split("\n")[:-1]

    def compare(self, what, mode, lines, expected, shown=None):
        answers = self.ask(mode, lines)
        assert len(answers) == len(expected) == len(lines), what
        wrong = [i for i in range(len(lines)) if answers[i] != expected[i]]
        for i in wrong[:5]:
            print("  %s: %.200s" % (what, ascii((shown or lines)[i])))
            print("    ours   %.200s\n    python %.200s" % (answers[i], expected[i]))
        print("%-44s %9d compared, %d differ" % (what, len(lines), len(wrong)), flush=True)
        self.failures += len(wrong)


def bits_of(value):
    return "%016x" % struct.unpack("<Q", struct.pack("<d", value))


def double_of(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def special_doubles():
    values = []
    for base in [2.0**e for e in range(-1074, 1024)] + [float("1e%d" % e) for e in range(-323, 309)]:
        bits = struct.unpack("<Q", struct.pack("<d", base))[0]
        values += [double_of(b) for b in range(max(bits - 3, 0), bits + 4)]
    values += [double_of(b) for b in range(2000)]  # the least subnormals
    values += [digits * 10.0**e for digits in range(1, 100) for e in range(-22, 23)]
    values += [0.0, float("inf"), float("nan"), sys.float_info.max]
    return values + [-v for v in values]


def random_doubles(n, rng):
    values = [double_of(rng.getrandbits(64)) for _ in range(n)]
    values += [rng.randrange(1, 10**15) / 1000 for _ in range(n // 10)]
    values += [1.7e15 + rng.randrange(10**12) / 1000 for _ in range(n // 10)]
    values += [float(rng.getrandbits(rng.randrange(1, 80))) for _ in range(n // 10)]
    values += [rng.getrandbits(rng.randrange(1, 54)) * 2.0 ** rng.randrange(-80, 80) for _ in range(n // 10)]
    values += [float(rng.getrandbits(rng.randrange(1, 8)) * 10**rng.randrange(0, 25)) for _ in range(n // 10)]
    return values


def check_format(check, n, rng):
    for what, values in ("special", special_doubles()), ("random", random_doubles(n, rng)):
        bits = [bits_of(v) for v in values]
        check.compare("format: %s doubles" % what, "format", bits, [json.dumps(v) for v in values])


def digits_text(rng, n):
    return "".join(rng.choices("0123456789", k=n))


def random_number(rng):
    short, long = str(rng.randrange(1, 10 ** rng.randrange(1, 20))), "1" + digits_text(rng, rng.randrange(40))
    whole = rng.choice(["0", short, long])
    text = rng.choice(["", "", "-"]) + whole
    if rng.random() < 0.7:
        zeros = rng.choice(["", "", "0" * rng.randrange(1, 30)])
        text += "." + zeros + digits_text(rng, rng.randrange(1, 25)) + rng.choice(["", "", "00"])
    if rng.random() < 0.4:
        text += rng.choice("eE") + rng.choice(["", "+", "-"]) + rng.choice(["", "0"])
        text += str(rng.randrange(rng.choice([10, 30, 340])))
    return text


def exact_middle(bits):
    """The decimal text of the middle between a positive double and its successor."""
    low, high = double_of(bits).as_integer_ratio(), double_of(bits + 1).as_integer_ratio()
    denominator = 2 * max(low[1], high[1])
    numerator = (low[0] * (denominator // low[1]) + high[0] * (denominator // high[1])) // 2
    places = denominator.bit_length() - 1
    digits = str(numerator * 5**places).rjust(places + 1, "0")
    return digits[:-places] + "." + digits[-places:]


def middle_texts(rng):
    top = struct.unpack("<Q", struct.pack("<d", sys.float_info.max))[0] - 1
    chosen = list(range(20)) + [top, (1 << 52) - 1, 1 << 52, (1 << 53) - 1]
    chosen += [rng.randrange(top) for _ in range(2000)]
    chosen += [(1023 + rng.randrange(-60, 90) << 52) + rng.getrandbits(52) for _ in range(2000)]
    texts = []
    for bits in chosen:
        text = exact_middle(bits)
        tail = text.rstrip("0")
        texts += [text, text + "e0", tail + "0" * 900, tail + "0" * 900 + "1"]
        texts.append(tail.replace(".", "") + "e-%d" % (len(tail) - tail.index(".") - 1))
        if tail[-1] != ".":
            texts.append(tail[:-1] + chr(ord(tail[-1]) - 1) + "9" * 900)
    texts.append(str((2**1024 + 2**1024 - 2**970) // 2) + ".0")  # from here on, infinity
    return texts


def huge_texts(rng):
    zeros = "0" * 100000
    texts = ["1" + zeros, "0." + zeros + "1e100001", "1" + zeros + "e-100000", "0." + zeros]
    texts += "1e99999999999999999999 1e-99999999999999999999 0e99999999999999999999".split()
    texts += "0.0e-5 1e400 -1e400 1e-400".split()
    for _ in range(20):
        texts.append("123456789" * 11111 + "e-%d" % rng.randrange(99000, 100400))
        texts.append("0." + digits_text(rng, 100000))
        texts.append(digits_text(rng, 100000).lstrip("0") + "e-99990")
    return texts


def exponent_texts(n, rng):
    lengths = [rng.choice([19, 20]) for _ in range(n)]
    return [digits_text(rng, k).lstrip("0") + "1e%d" % rng.randrange(-345, 300) for k in lengths]


def check_parse(check, n, rng):
    groups = {
        "texts of every shape": [random_number(rng) for _ in range(n // 2)],
        "middles of two doubles": middle_texts(rng),
        "long and extreme texts": huge_texts(rng),
        "17 digits of random doubles": ["%.16e" % v for v in random_doubles(n // 2, rng) if math.isfinite(v)],
        "20 and 21 digits": exponent_texts(n // 2, rng),
    }
    for what, texts in groups.items():
        check.compare("parse: " + what, "parse", texts, [bits_of(float(t)) for t in texts])


NUMBER = re.compile(r"(-?(?:0|[1-9]\d*))(\.\d+)?([eE][+-]?\d+)?|NaN|-?Infinity", re.ASCII)
ONLY_WHOLE = re.compile(r"-?(?:0|[1-9]\d*)(?:\.(?!\d)|(?:\.\d+)?[eE](?![+-]?\d))", re.ASCII)


EDGES = """
0 -0 0.0 -0.0 -0.000 1.50 100.0 1E5 1e400 -1e400 NaN Infinity -Infinity 01 00.5 -01 1.5e 1. -.5 1.e5 - + .5 a -a 1e+ Nan
Inf -NaN Infinit 0.0001 0.00010 0.00001 0.00000 1e-5 1e16 9999999999999998.0 1e15 123456789012345680.0 0e0 -0e5 5, 5.5]
"""


def rewritten(text):
    match = NUMBER.match(text)
    if not match or ONLY_WHOLE.match(text):
        return None  # not a number, or what follows is for us a bad number, for Python a number and then garbage
    value = json.loads(match.group())
    return "%d %d %s" % (not isinstance(value, int), match.end(), json.dumps(value))


def check_rewrite(check, n, rng):
    sys.set_int_max_str_digits(0)
    texts = [random_number(rng) for _ in range(n // 2)]
    texts += ["%d.%03d" % (rng.randrange(10**13), rng.randrange(1000)) for _ in range(n // 5)]
    texts += ["%d.%03d" % (8796093022208 + rng.randrange(-9, 9), rng.randrange(1000)) for _ in range(20000)]
    texts += ["%.*f" % (rng.randrange(1, 18), rng.random() / 10 ** rng.randrange(6)) for _ in range(n // 5)]
    texts += [("-" if k % 2 else "") + "1" + digits_text(rng, k) for k in list(range(300)) + [4299, 100000]]
    texts += EDGES.split()
    expected = [rewritten(t) for t in texts]
    good = [i for i in range(len(texts)) if expected[i] is not None]
    check.compare("rewrite: numbers", "rewrite", [texts[i] for i in good], [expected[i] for i in good])
    bad = [t for t, e in zip(texts, expected) if e is None]
    answers = check.ask("rewrite", bad)
    wrong = [t for t, a in zip(bad, answers) if not a.startswith("2 ")]
    print("%-44s %9d refused, %d not" % ("rewrite: no numbers %s" % wrong[:5], len(bad) - len(wrong), len(wrong)))
    check.failures += len(wrong)


def raw_expected(raw):
    value = json.loads(b'"' + raw + b'"')
    written = json.dumps(value)[1:-1]
    return "%s\t%s\t%s" % (written, value.encode("utf-8", "surrogatepass").hex(), written)


PIECES = r"\n \/ \\ \" \b \f \r \t \u0041 \u00E9 \uD83D \uDE00 \ud83d\ude00 \u000a \u0001 \u007f".split()
PIECES += list("\x7fé漢😀\uffff ~/")


def random_raw(rng):
    pieces = []
    for _ in range(rng.randrange(12)):
        if rng.random() < 0.5:
            pieces.append("".join(rng.choices("abcdefgh xyz::<>(){}[],.~!#'/", k=rng.randrange(80))))
        else:
            pieces += rng.choices(PIECES, k=rng.randrange(1, 5))
    return "".join(pieces).encode()


def check_strings(check, n, rng):
    plain = [c for c in range(0x20, 0x110000) if not 0xD800 <= c < 0xE000 and c not in (0x22, 0x5C)]
    groups = [("strings: every character as UTF-8", [chr(c).encode() for c in plain])]
    escapes = [b"\\u%04x" % c for c in range(0x10000)] + [b"\\u%04X" % c for c in range(0x10000)]
    escapes += [b"\\u%04X\\u%04x" % (0xD7C0 + (c >> 10), 0xDC00 | c & 0x3FF) for c in range(0x10000, 0x110000)]
    groups.append(("strings: every character as escapes", escapes))
    long = [b"", b"x" * 100000, b"\\n" * 50000, "漢".encode() * 33333]
    groups.append(("strings: random", long + [random_raw(rng) for _ in range(n // 5)]))
    work = (b"\\n", b"\\u00e9", "é".encode(), b"\x7f")
    placed = [b"a" * k + e + b"b" * r for e in work for k in range(80) for r in range(40)]
    groups.append(("strings: one escape at any place", placed))
    for what, raws in groups:
        check.compare(what, "raw", [r.hex() for r in raws], [raw_expected(r) for r in raws], raws)


def utf8_expected(data):
    try:
        data.decode("utf-8")
        return str(len(data))
    except UnicodeDecodeError as error:
        return str(error.start)


def check_utf8(check, n, rng):
    edges = bytes.fromhex("00 41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")
    data = [bytes([a, b]) for a in range(256) for b in range(256)]
    data += [bytes([a, b, c, d]) for a in edges for b in edges for c in edges for d in edges]
    data += [chr(c).encode("utf-8", "surrogatepass") for c in range(0x110000)]
    for _ in range(n // 10):
        pieces = ["a" * rng.randrange(40), "é", "漢", "😀"]
        text = bytearray("".join(rng.choices(pieces, k=rng.randrange(9))).encode())
        if text and rng.random() < 0.7:
            text[rng.randrange(len(text))] = rng.getrandbits(8)
        data.append(bytes(text))
    check.compare("utf8_check", "utf8", [d.hex() for d in data], [utf8_expected(d) for d in data], data)


def int_expected(text):
    try:
        return str(int(text))
    except ValueError:
        return "-"


# First characters of ten or more digits that are newer than Unicode 14: Python 3.12 and later read some of them.
NEWER_DIGITS = [(0x10D40, 10), (0x116D0, 20), (0x11BF0, 10), (0x11F50, 10), (0x1CCF0, 10), (0x1E4F0, 10), (0x1E5F1, 10)]


def check_int(check, n, rng):
    sys.set_int_max_str_digits(4300)
    newer = {first + i for first, n_digits in NEWER_DIGITS for i in range(n_digits)}
    texts = [form % chr(c) for c in range(1, 0x110000) if c not in newer for form in ("%s", "%s7", "1%s")]
    texts += ["".join(rng.choices("00123_+- \n\u0665\u3000\U0001d7ce", k=rng.randrange(9))) for _ in range(n // 5)]
    texts += ["", "\0", "5\0", "5\0 ", "9" * 4300, "9" * 4301, "0" * 4300, "0" * 4301, "0" * 4299 + "7"]
    texts += ["_".join("1" * 4300), "-" + "9" * 4300]
    questions = [t.encode("utf-8", "surrogatepass").hex() for t in texts]
    check.compare("python_int", "int", questions, [int_expected(t) for t in texts], texts)


def main():
    tool, n, seed = sys.argv[1:] + ["100000", "1"][len(sys.argv) - 2 :]
    print("CPython %s, seed %s" % (sys.version.split()[0], seed))
    check = Check(os.path.abspath(tool))
    for run in check_format, check_parse, check_rewrite, check_strings, check_utf8, check_int:
        run(check, int(n), random.Random(int(seed)))
    sys.exit(check.failures > 0)


if __name__ == "__main__":
    main()
