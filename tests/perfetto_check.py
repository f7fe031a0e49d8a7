"""perfetto_check.py JSON PFTRACE SHARE: compares a timeline as JSON with the same timeline in Perfetto's format.

Slices, instants, counters, tracks and flows must be equal, with times in nanoseconds and all arguments. The size of
PFTRACE must be at most SHARE of that of JSON. With the package perfetto, its schema decodes the file a second time.
"""
import collections
import json
import os
import struct
import sys
from decimal import Decimal


def fields(data):
    """Fields of a message: (number, value); bytes for texts, messages and fixed numbers."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
            continue
        size = {1: 8, 2: None, 5: 4}[kind]
        size = varint() if size is None else size
        yield tag >> 3, data[at:at + size]
        at += size
    assert at == len(data), "a message ends within a field"


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def message(data):
    """Fields by number, as lists."""
    found = collections.defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found


def argument(annotation, texts):
    a = message(annotation)
    value = (texts[a[17][0]].decode("utf-8", "surrogatepass") if 17 in a else bool(a[2][0]) if 2 in a
             else signed(a[4][0]) if 4 in a else struct.unpack("<d", a[5][0])[0])
    return value, 17 in a


class Packets:
    """What a .pftrace contains: slices, instants and values as tuples, and the flows between slices."""

    def __init__(self, data):
        self.tracks, states, self.open = {}, {}, collections.defaultdict(list)
        self.events, self.n_packets = [], 0
        self.flows = collections.defaultdict(list)
        waiting = []
        for number, packet in fields(data):
            assert number == 1
            p = message(packet)
            self.n_packets += 1
            sequence = p[10][0]
            if 60 in p:
                d = message(p[60][0])
                self.tracks[d[1][0]] = (d[2][0].decode(), d[5][0] if 5 in d else None, 8 in d,
                                        signed(d[12][0]) if 12 in d else 0)
            if 13 in p:
                states[sequence] = {1: {}, 2: {}, 3: {}, 29: {}}
            if 6 in p:
                clock = message(message(p[6][0])[1][0])
                assert clock[1] == [64] and clock[3] == [1], "a clock that counts from the packet before"
                states[sequence]["now"] = clock[2][0]
            if 59 in p:
                states[sequence]["track"] = message(message(p[59][0])[11][0])[11][0]
            for kind, entries in message(p[12][0]).items() if 12 in p else ():
                for entry in entries:
                    e = message(entry)
                    states[sequence][kind][e[1][0]] = e[2][0]
            if 11 in p:
                state = states[sequence]
                state["now"] += p[8][0]
                waiting.append((state["now"], message(p[11][0]), state))
        # Sequences of one track are in the order of time.
        for now, event, state in waiting:
            self.add(now, event, state)
        assert not any(self.open.values()), "slices that do not end"

    def add(self, now, event, state):
        track, kind = state["track"], event[9][0]
        name = state[2][event[10][0]].decode("utf-8", "surrogatepass") if 10 in event else None
        category = state[1][event[3][0]].decode() if 3 in event else ""
        arguments = {state[3][message(a)[1][0]].decode(): argument(a, state[29]) for a in event[4]}
        if kind == 1:
            self.open[track].append((now, name, category, arguments))
            for number, ends in (47, False), (48, True):
                for flow in event[number]:
                    self.flows[flow].append((ends, name, now))
        elif kind == 2:
            start, name, category, arguments = self.open[track].pop()
            self.events.append(("X", self.path(track), start, now - start, name, category, arguments))
        elif kind == 3:
            self.events.append(("i", self.path(track), now, 0, name, category, arguments))
        else:
            value = signed(event[30][0]) if 30 in event else struct.unpack("<d", event[44][0])[0]
            self.events.append(("C", self.path(track), now, 0, None, "", {"value": (value, False)}))

    def path(self, track):
        name, parent, _, _ = self.tracks[track]
        return (self.tracks[parent][0], name)


def ns(us):
    return int((Decimal(str(us)) * 1000).to_integral_value())


def text_of(value, raw):
    """An argument as Perfetto shows it: (value, whether it is a text)."""
    if isinstance(value, bool) or (isinstance(value, int) and -(1 << 63) <= value < 1 << 63):
        return value, False
    if isinstance(value, (int, float)):
        return float(value), False
    return (value, True) if isinstance(value, str) else (raw, True)


class Timeline:
    def __init__(self, path):
        class Number(str):
            pass
        trace = json.load(open(path), parse_float=Number)
        self.events, self.names, self.flows = [], {}, collections.defaultdict(list)
        self.starts = min([0] + [ns(e["ts"]) for e in trace["traceEvents"] if "ts" in e])
        begun = collections.defaultdict(list)

        def value(v):
            if isinstance(v, Number):
                return float(v), False
            if isinstance(v, (list, dict)) or v is None:
                return "json", True
            return text_of(v, None)

        for e in trace["traceEvents"]:
            if e["ph"] == "M":
                continue
            if "ts" not in e:
                continue
            at, where = ns(e["ts"]) - self.starts, (str(e.get("pid", "")), str(e.get("tid", 0)))
            arguments = {k: value(v) for k, v in (e.get("args") or {}).items()}
            row = [e["ph"], where, at, ns(e.get("dur", 0)), e.get("name", ""), e.get("cat", ""), arguments]
            if e["ph"] in "XiI":
                row[0] = "X" if e["ph"] == "X" else "i"
                self.events.append(row)
            elif e["ph"] == "B":
                begun[where].append(row)
            elif e["ph"] == "E":
                row = begun[where].pop()
                row[0], row[3] = "X", at - row[2]
                self.events.append(row)
            elif e["ph"] == "C":
                for key, v in e["args"].items():
                    if isinstance(v, (int, Number)) and not isinstance(v, bool):
                        self.events.append(["C", where, at, 0, None, "", {"value": value(v)}])


def row_text(event):
    kind, _, start, duration, name, category, arguments = event
    shown = {k: "json" if is_text and isinstance(v, str) and (v[:1] in "[{" or v == "null") else v
             for k, (v, is_text) in arguments.items()}
    return repr((kind, start, duration, name, category, sorted(shown.items())))


def compare(json_path, packets):
    timeline = Timeline(json_path)
    wanted = collections.Counter(map(row_text, timeline.events))
    found = collections.Counter(map(row_text, packets.events))
    for what, rows in ("is missing", wanted - found), ("is too much", found - wanted):
        for row in list(rows)[:3]:
            print(f"{row} {what}")
    return wanted == found


def check_hard(packets):
    """The hard example: names of tracks, lanes, flows."""
    names = {packets.path(t) for t, (_, parent, _, _) in packets.tracks.items() if parent}
    ranks = {name: rank for name, parent, _, rank in packets.tracks.values() if not parent}
    lanes = [t for t, d in packets.tracks.items() if d[1] and packets.path(t) == ("python GPU 0", "stream 7")]
    ok = ("process host", "thread main") in names and ("python GPU 0", "memory used") in names
    ok &= ranks["python GPU 0"] == -3 and len(lanes) == 2
    flows = sorted(sorted(f) for f in packets.flows.values())
    return ok and [[(ends, name) for ends, name, _ in f] for f in flows] == [[(False, "op"), (True, "empty")]]


def main():
    json_path, path, share = sys.argv[1], sys.argv[2], float(sys.argv[3])
    data = open(path, "rb").read()
    packets = Packets(data)
    ok = compare(json_path, packets)
    if any(e[4] == "empty" for e in packets.events) and not check_hard(packets):
        print("tracks or flows differ", packets.tracks, dict(packets.flows))
        ok = False
    size = len(data) / os.path.getsize(json_path)
    if size > share:
        print(f"{size:.3f} of the size of JSON, at most {share} was expected")
        ok = False
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    except ImportError:
        return ok
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(data)
    slices = sum(p.track_event.type == 1 for p in trace.packet if p.HasField("track_event"))
    if len(trace.packet) != packets.n_packets or slices != sum(e[0] == "X" for e in packets.events):
        print("Perfetto's schema reads other packets")
        ok = False
    return ok


sys.exit(not main())
