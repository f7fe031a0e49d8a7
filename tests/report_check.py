#!/usr/bin/env python3
"""report_check.py FOLDER... - whether the report in each folder is sound, and says what the tables beside it say.

The page and its charts must be well-formed, load nothing, be small, and name what they show for those who do not see it.
Numbers are read back from the page's tables, figures and bars and compared with the CSV or JSON files of the analysis.
"""
import base64
import csv
import functools
import hashlib
import json
import math
import os
import re
import statistics
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from html.parser import HTMLParser

SVG = "{http://www.w3.org/2000/svg}"
SIZE_MAX = 2_000_000
PAGES = ["report.html", "hta.html", "operators.html", "kernels.html", "collectives.html", "dlrm.html", "memory.html", "pipeline.html",
         "trend.html"]
VOID = {"meta", "link", "br", "hr", "img", "input"}


def check(holds, *words):
    if not holds:
        raise AssertionError(" ".join(str(word) for word in words))


def near(a, b):
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1)


class Page(HTMLParser):
    """The page as a browser's parser sees it."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.references, self.links = [], [], [], []
        self.tables, self.figures, self.term, self.cell = {}, {}, None, None
        self.text = text
        self.notes = dict(re.findall('<dt>([^<]*)</dt><dd[^>]*>[^<]*(?:<span class="note">([^<]*)</span>)?', text))
        self.findings, self.most, self.pages, self.commands, self.document = [], 200, [], [], None
        self.feed(text)
        self.close()
        check(not self.open, "left open:", self.open)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        check(len(given) == len(attributes), "an attribute twice in", tag)
        check(tag != "script" or not attributes, "a script from elsewhere")
        check(tag not in ("iframe", "object", "embed", "img", "image", "use", "base", "form"), "a tag", tag)
        check(not any(name.startswith("on") or name == "style" for name in given), "attributes", given)
        for name in ("href", "src", "xlink:href", "action"):
            leads = tag == "a" and given.get(name) in PAGES
            check(given.get(name, "#")[0] == "#" or given[name] == "data:," or leads, "loads", given.get(name))
        if "id" in given:
            self.ids.append(given["id"])
        self.references += given.get("aria-labelledby", "").split()
        if tag == "a" and given["href"][0] == "#":
            self.links.append(given["href"][1:])
        elif tag == "a":
            self.pages.append(given["href"])
        if tag == "svg":
            check(given.get("role") == "img" and "aria-labelledby" in given, "a chart without a name")
        if tag == "table":
            self.table = {"caption": "", "columns": [], "rows": []}
            check(given["data-table"] not in self.tables or given["data-table"] == "shares" or
                  given["data-table"].startswith("memory"), "table twice")
            self.tables.setdefault(given["data-table"], []).append(self.table)
        if tag == "tr" and "thead" not in self.open:
            self.table["rows"].append([])
        if tag == "th":
            check(given.get("scope") in ("col", "row"), "a heading without a scope")
        if tag == "th" and given["scope"] == "col":
            self.table["columns"].append(given["data-column"])
        elif tag in ("td", "th"):
            value = given.get("data-value")
            self.cell = [float(value) if value is not None else None, given.get("title", ""), ""]
            self.table["rows"][-1].append(self.cell)
        if tag == "li" and "data-rule" in given:
            self.findings.append([given["data-rule"], float(given["data-value"]), ""])
        if tag == "li" and "data-rule" not in given and "main" in self.open:
            self.commands.append("")
        if tag == "pre":
            self.document = ""
        if tag == "p" and self.findings and "li" in self.open:
            self.findings[-1][2] += " "
        if tag == "dd":
            self.figures[self.term] = float(given["data-value"]) if "data-value" in given else None
        if tag == "dt":
            self.term = ""
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        check(self.open and self.open[-1] == tag, "closed:", tag, "open:", self.open[-3:])
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "dt":
            self.term += data
        if self.open and self.open[-1] in ("td", "th") and self.cell and "thead" not in self.open:
            self.cell[2] += data
        # The text of a finding, or its heading and its labelled lines.
        if self.findings and "li" in self.open and (self.open[-2:] == ["li", "p"] or self.open[-2:] == ["div", "h3"] or
                                                    "p" in self.open[self.open.index("li"):]):
            self.findings[-1][2] += data
        if self.commands and self.open[-2:] == ["li", "code"]:
            self.commands[-1] += data
        if self.open and self.open[-1] == "pre":
            self.document += data
        if "caption" in self.open:
            self.table["caption"] += data

    def rows(self, name, number=0):
        """A table as dictionaries: numbers as they are, texts with their whole."""
        table = self.tables[name][number]
        check(table["caption"].strip(), name, "has no caption")
        for row in table["rows"]:
            check(len(row) == len(table["columns"]), name, "is ragged")
        return [{column: cell[0] if cell[0] is not None else cell[1] or cell[2]
                 for column, cell in zip(table["columns"], row)} for row in table["rows"]]


@functools.lru_cache(10_000)
def shown(text):
    """A text as a page may show it."""
    out = []
    for character in text:
        code = ord(character)
        turns = 0x2028 <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code in (0x200E, 0x200F, 0x61C)
        none = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF or 0x7F < code < 0xA0 or 0xD800 <= code < 0xE000
        out.append("\ufffd" if turns or none else chr(0x2400 + code) if code < 32 else "\u2421" if code == 127 else character)
    return "".join(out)


def text_matches(seen, whole):
    """Whether that is the text, or what is left of it."""
    whole = shown(whole)
    front, dots, back = seen.partition("…")
    return seen == whole or (dots and whole.startswith(front) and whole.endswith(back) and len(seen) < len(whole))


# The prefix of text that a spreadsheet would run as a formula; the bytes of a lone surrogate, as CSV escapes them.
FORMULA = re.compile("^'(?=[=+@\\t\\r-])")
SURROGATE = re.compile(r"\\xed\\x[ab][0-9a-f]\\x[89ab][0-9a-f]")


def read_csv(path):
    with open(path, newline="", encoding="utf-8", errors="surrogatepass") as file:
        lines = [[SURROGATE.sub("\ufffd", FORMULA.sub("", cell)) for cell in line] for line in csv.reader(file)]
    if len(lines) == 2 and lines[0][0] == "":  # describe() of nothing: two lines of headings
        return []
    if len(lines) > 2 and lines[0][0] == "":  # its three lines of headings
        return [dict(zip(lines[2][:2] + lines[1][2:], line)) for line in lines[3:]]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def number(text):
    return float(text) if text != "" else math.nan


def same_rows(page, name, expected, number_in_page=0):
    """The rows of the page's table are the first of those, with the columns that the page has."""
    rows = page.rows(name, number_in_page)
    check(len(rows) == min(len(expected), page.most), name, "has", len(rows), "rows of", len(expected))
    for seen, row in zip(rows, expected):
        for column, value in seen.items():
            want = row[column]
            if isinstance(value, float):
                check(near(value, number(want) if isinstance(want, str) else want), name, column, value, want)
            else:
                check(text_matches(value, want), name, column, value, want)


# ---- What the tables of the page are made from ----


def check_hta(page, folder, whole=True):
    table = csv_tables(folder)
    ranks = table("rank_summary")
    sums = {column: sum(number(row[column]) for row in ranks) for column in ranks[0] if column != "file"}
    for name, column in {"Time span": "kernel_time_us", "Idle": "idle_us", "Compute": "compute_us",
                         "Communication": "communication_us",
                         "Exposed communication": "exposed_communication_us"}.items() if whole else ():
        check(near(page.figures[name], sums[column] / len(ranks)), name, "is no mean per rank", page.figures[name])
    if whole:
        check(page.figures["Ranks"] == len(ranks), "ranks")
        check(page.figures["Kernels and memcpys"] == sums["kernels"], "kernels")
        check(near(page.figures["GPU busy"], (sums["kernel_time_us"] - sums["idle_us"]) / len(ranks)), "busy")
    busy = [row for row in ranks if number(row["kernels"]) > 0]
    expected = []
    for row in busy:
        parts = [number(row[c]) for c in ("compute_us", "exposed_communication_us", "exposed_memory_us", "idle_us")]
        expected.append(dict(row, other_us=max(0, number(row["kernel_time_us"]) - sum(parts))))
    if expected and whole:
        same_rows(page, "time", expected)
    shares = {row["rank"]: row["comp_comm_overlap_pctg"] for row in table("comm_comp_overlap")}
    expected = [dict(row, comp_comm_overlap_pctg=shares[row["rank"]]) for row in busy if number(row["communication_us"]) > 0]
    if expected and whole:
        for row, seen in zip(expected, page.rows("overlap")):
            row.update(hidden_us=seen["hidden_us"], exposed_us=seen["communication_us"] - seen["hidden_us"])
            share = 100 * seen["hidden_us"] / seen["communication_us"]
            check(abs(share - number(row["comp_comm_overlap_pctg"])) < 0.0051, "overlap", share)
        same_rows(page, "overlap", expected)
    gaps = defaultdict(lambda: defaultdict(float))
    for row in table("idle_time_breakdown.rows"):
        gaps[row["rank"], row["stream"]][row["idle_category"] + "_us"] += number(row["idle_time"])
    expected = [dict({"host_wait_us": 0.0, "kernel_wait_us": 0.0, "other_us": 0.0}, rank=rank, stream=stream, **us)
                for (rank, stream), us in gaps.items()]
    expected.sort(key=lambda row: -(row["host_wait_us"] + row["kernel_wait_us"] + row["other_us"]))
    if expected:
        same_rows(page, "idle", expected)
    kernels = defaultdict(lambda: {"sum (us)": 0.0, "ranks": 0})
    for row in table("gpu_kernel_breakdown_mem.kernels"):
        kernels[row["name"], row["kernel_type"]]["sum (us)"] += number(row["sum (us)"])
        kernels[row["name"], row["kernel_type"]]["ranks"] += 1
    total = sum(row["sum (us)"] for row in kernels.values())
    expected = [dict(row, name=name, kernel_type=kind, share_pctg=100 * row["sum (us)"] / total if total > 0 else 0)
                for (name, kind), row in kernels.items()]
    expected.sort(key=lambda row: -row["sum (us)"])
    if expected and whole:
        same_rows(page, "kernels", expected)
    for name in ("gpu_kernel_breakdown_mem.types",) * whole + ("queue_length_summary", "launch_calls", "memory_bw_summary"):
        expected = table(name)
        check((name in page.tables) == bool(expected), name, "is missing, or should be")
        if expected:
            same_rows(page, name, expected)


def check_dlrm(page, folder):
    def load(name):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return json.load(file)

    headline = load("qps.json")
    check(near(page.figures["Queries per second"], headline["QPS"] if headline["QPS"] is not None else math.nan), "qps")
    expected = [{"stream": name, "active_us": row["active_us"], "idle_us": row["idle_us"], "active_pctg": row["active_pct"]}
                for name, row in load("breakdown.json").items()]
    expected.sort(key=lambda row: -row["active_us"])
    if expected:
        same_rows(page, "streams", expected)
    times = load("op_device_time_by_name.json")
    total = sum(row["device_us"] for row in times.values())
    expected = [dict(row, name=name, share_pctg=100 * row["device_us"] / total if total else math.nan)
                for name, row in times.items()]
    expected.sort(key=lambda row: -row["device_us"])
    if expected:
        same_rows(page, "operators", expected)
    overheads = load("overheads.json")
    if "overheads" in page.tables:
        kinds = defaultdict(lambda: [0, 0.0])
        for row in page.rows("overheads"):
            mean, std = overheads["t1"] if row["kind"] == "T1" else next(
                values for name, values in overheads[row["kind"].lower()].items() if text_matches(row["name"], name))
            check(near(row["mean_us"], mean) and near(row["std_us"], std), row)
            check(near(row["total_us"], row["samples"] * mean), row)
            kinds[row["kind"]][0] += row["samples"]
            kinds[row["kind"]][1] += row["total_us"]
        if sum(len(rows) for rows in overheads.values() if isinstance(rows, dict)) < 200:
            for row in page.rows("overhead_kinds"):
                check(row["samples"] == kinds[row["kind"]][0] and near(row["total_us"], kinds[row["kind"]][1]), row)
                check(near(row["mean_us"], row["total_us"] / row["samples"]) if row["samples"] else True, row)
    drawn = sorted(load("breakdown.json").items(), key=lambda item: -item[1]["active_us"])
    charts = {name: groups for name, groups in load("chart.json").items() if groups}
    names = [name for name, _ in drawn if name in charts][:6]
    check(len(page.tables.get("shares", [])) == len(names), "streams are missing")
    for i, name in enumerate(names):
        expected = [{"operator": group["group"] or "labels (## ...)", "variant": number, "kernel": part["name"],
                     "legend": part["legend"], "share_pctg": 100 * part["share"]}
                    for group in charts[name] for number, variant in enumerate(group["variants"], 1) for part in variant]
        rows = page.rows("shares", i)
        same_rows(page, "shares", expected[:len(rows)], i)
        n_cells = len({(row["operator"], row["variant"]) for row in rows})
        check(len(rows) == min(len(expected), 200) or 30 < n_cells <= 48, "shares", len(rows), len(expected))


def csv_tables(folder):
    def table(name):
        path = os.path.join(folder, name + ".csv")
        return read_csv(path) if os.path.exists(path) else []

    return table


def check_durations(page, rows):
    """The bins of all ranks, by where they end."""
    bins = defaultdict(lambda: {"kernels": 0, "device_us": 0.0})
    for row in rows:
        below = max(1, number(row["below_us"]))  # shorter ones are one bin
        bins[below]["kernels"] += int(row["kernels"])
        bins[below]["device_us"] += number(row["device_us"])
    check(("durations" in page.tables) == bool(bins), "durations are missing, or should be")
    if not bins:
        return
    seen = page.rows("durations")
    check(len(seen) == len(bins), "durations has", len(seen), "rows of", len(bins))
    n, us = (sum(row[column] for row in bins.values()) for column in ("kernels", "device_us"))
    for row, (_, want) in zip(seen, sorted(bins.items())):
        check(row["kernels"] == want["kernels"] and near(row["device_us"], want["device_us"]), row, want)
        check(near(row["percent"], 100 * want["kernels"] / n), row, want)
        check(us == 0 or near(row["device_percent"], 100 * want["device_us"] / us), row, want)


def check_kernels(page, folder):
    check_operators(page, folder, only_kernels=True)


def check_operators(page, folder, whole=True, only_kernels=False):
    table = csv_tables(folder)

    def summed(rows, group, count, value):
        sums = {}
        for row in rows:
            name = next(row[name] for name in ("full_name", "name", "module") if name in row)
            key = name.replace("nn.Module: ", "", 1) if "module" in row else name, row[group]
            into = sums.setdefault(key, {"name": key[0], "group": key[1], "count": 0, "device_us": 0.0})
            into["count"] += int(row[count])
            into["device_us"] += number(row[value])
        total = sum(row["device_us"] for row in sums.values())
        for row in sums.values():
            row["share_pctg"] = 100 * row["device_us"] / total if total > 0 else 0
        return sorted(sums.values(), key=lambda row: -row["device_us"])

    lines = defaultdict(float)
    for row in table("gpu_timeline"):
        lines[row["type"]] += number(row["time_us"])
    for name, line in {"GPU time": "total", "Busy": "busy", "All GPU activity": "all GPU activity",
                       "Unattributed": "unattributed"}.items() if whole else ():
        check(near(page.figures[name], lines[line]), name, page.figures[name], lines[line])
    check(near(lines["attributed to operators"] + lines["attributed to calls"] + lines["unattributed"], lines["all GPU activity"]),
          "what is charged and what is not")
    if whole:
        seen = {row["type"]: row["time_us"] for row in page.rows("timeline")}
        check(seen.keys() == lines.keys() and all(near(seen[name], us) for name, us in lines.items()), "timeline")
    kernels = {"top_kernels": summed(table("kernels"), "operator", "kernels", "device_us")}
    operators = {"top_operators": summed(table("operators"), "category", "calls", "device_us"),
                 "top_modules": summed(table("modules"), "kind", "calls", "own_us")}
    of_kernels = ["kernel_configurations"]
    of_operators = ["operator_categories", "operators_by_arguments", "annotations"]
    if only_kernels or not whole:
        check_durations(page, table("kernel_durations"))
    made = kernels if only_kernels else operators if whole else kernels | operators
    for name, expected in made.items():
        shown_there = any(row["device_us"] > 0 for row in expected)
        check((name in page.tables) == shown_there, name, "is missing, or should be")
        if shown_there:
            same_rows(page, name, expected)
    for name in of_kernels if only_kernels else of_operators if whole else of_kernels + of_operators:
        expected = table(name)
        check((name in page.tables) == bool(expected), name, "is missing, or should be")
        if expected:
            same_rows(page, name, expected)


PARTS = {"compute": ["compute"], "exposed_communication": ["exposed communication"], "exposed_copies": ["exposed memcpy"],
         "idle_host": ["idle: host", "idle: launching", "idle: setup"], "idle_dataloader": ["idle: data loading"],
         "idle_sync": ["idle: synchronizing", "idle: after synchronizing"], "idle_device": ["idle: launched before"],
         "idle_rest": ["idle: unknown launch", "idle: after the last activity"]}
CAUSES = ["compute", "exposed communication", "exposed memcpy", "idle: host", "idle: data loading",
          "idle: synchronizing", "idle: launched before", "idle: unknown cause"]


def check_slowest(row, steps, named, name):
    """What the steps of a rank, or of a place, come to, computed once more."""
    times = [number(step["time_us"]) for step in steps]
    slowest = steps[times.index(max(times))]
    check(near(number(row["mean_us"]), statistics.fmean(times)) and near(number(row["median_us"]), statistics.median(times)), row)
    check(near(number(row["fastest_us"]), min(times)) and near(number(row["slowest_us"]), max(times)), row)
    check(len(times) < 2 or abs(number(row["spread_us"]) - statistics.stdev(times)) <= 1e-6 * max(times), "spread", row)
    more = [number(slowest[part + "_us"]) - statistics.median(number(step[part + "_us"]) for step in steps) for part in PARTS]
    check(near(number(row["more_us"]), max(0, *more)), "more", row, more)
    check(row[named] == slowest[name], "slowest", row, slowest)
    check(row["cause"] == (CAUSES[more.index(max(more))] if max(more) > 0 else ""), "cause", row, more)


def check_verdict(page, events, folder):
    """The Markdown document and the pictures, whose rectangles are the events of the table."""
    check(page.document and page.document.startswith("# Why ") and len(page.document.encode()) <= 8192, "the document")
    check(all(f"## {number}. " in page.document for number in range(1, len(page.findings) + 1)), "findings of the document")
    check(not any(re.search(r"\bTRACE\b", command) for command in page.commands), "a command without a path", page.commands)
    pictures = defaultdict(list)
    for row in events:
        pictures[row["rule"]].append(row)
    for rule, rows in pictures.items():
        path = os.path.join(folder, "charts", f"evidence_{rule}.svg")
        check(os.path.getsize(path) <= 30_000, path, "has", os.path.getsize(path), "bytes")
        rectangles = [r for r in ET.parse(path).getroot().iter(SVG + "rect") if r.get("class").split()[0] != "paper"]
        drawn = [row for row in rows if row["kind"] not in ("range", "step", "track", "arrow to")]
        check(len(rectangles) == len(drawn) <= 300, path, "shows", len(rectangles), "of", len(drawn))
        lanes = {row["lane"] for row in rows if row["lane"] != "-1"}
        check(1 <= len(lanes) <= 7, path, "lanes", lanes)
        begin, end = next((number(row["start_us"]), number(row["duration_us"])) for row in rows if row["kind"] == "range")
        check(all(begin - 1e-6 <= number(row["start_us"]) <= begin + end + 1e-6 for row in drawn if row["kind"] != "arrow from"), path, "range")
    check(set(pictures) <= {rule for rule, _, _ in page.findings}, "pictures of no finding")


def check_overview(page, folder):
    table = csv_tables(folder)
    page.most = 60
    found = table("findings")
    check([rule for rule, _, _ in page.findings] == [row["rule"] for row in found], "rules of findings")
    for (rule, _, seen), row in zip(page.findings, found):  # the heading, the evidence and the fix, on a job after its ranks
        words = re.sub(r"(?<=\d) us\b", " µs", shown(re.sub("^Rank \\d+( and [\\d,]+ other ranks?)?: ", "", row["text"]))).split()
        seen = seen.split()
        check(set(words) <= set(seen) | {word + ":" for word in seen[:8]}, "text of", rule, sorted(set(words) - set(seen))[:5])
    check_verdict(page, table("evidence"), folder)
    check(all(near(win, number(row["saving_percent"])) for (_, win, _), row in zip(page.findings, found)), "wins")
    lines, windows = defaultdict(dict), {row["rank"]: number(row["window_us"]) for row in table("overview_ranks")}
    for row in table("overview_timeline"):
        lines[row["rank"]][row["kind"]] = number(row["time_us"])
    expected = [dict({part + "_us": sum(times[what] for what in whats) for part, whats in PARTS.items()}, rank=rank,
                     window_us=windows[rank]) for rank, times in lines.items()]
    check(("time_of_ranks" in page.tables) == bool(table("overview_kernels")), "time of no work")
    if table("overview_kernels"):
        same_rows(page, "time_of_ranks", expected)
    overlaps = []
    for row, parts in zip(table("overview_ranks"), expected):
        every, exposed = number(row["communication_us"]), parts["exposed_communication_us"]
        if every > 0:
            overlaps.append({"rank": row["rank"], "hidden_us": every - min(every, exposed), "exposed_us": min(every, exposed),
                             "communication_us": every, "overlap_percent": 100 * (every - min(every, exposed)) / every})
    check(("overview_overlap" in page.tables) == bool(overlaps), "communication")
    if overlaps:
        same_rows(page, "overview_overlap", overlaps)
    whole = sum(windows.values())
    for name, parts in {"Compute": ["compute"], "Exposed communication": ["exposed_communication"],
                        "Exposed memcpy": ["exposed_copies"], "GPU idle: host": ["idle_host"],
                        "GPU idle: other": ["idle_dataloader", "idle_sync", "idle_device", "idle_rest"]
                        }.items() if table("overview_kernels") else ():
        us = sum(row[part + "_us"] for row in expected for part in parts)
        check(near(page.figures[name], 100 * us / whole if whole else math.nan), name, page.figures[name], us, whole)
        check(page.notes[name].startswith("total "), name, "does not say that it is a total:", page.notes[name])
    steps = table("steps")
    check(not steps or page.notes["Step"].startswith(("mean of ", "one step")), "Step does not say that it is a mean")
    by_rank, by_place = defaultdict(list), defaultdict(list)
    for row in steps:
        by_place[len(by_rank[row["rank"]])].append(row)
        by_rank[row["rank"]].append(row)
        check(near(sum(number(row[part + "_us"]) for part in PARTS), number(row["time_us"])), "a step is not its parts", row)
    for row in table("step_ranks"):
        check_slowest(row, by_rank[row["rank"]], "slowest_step", "step")
        for part in PARTS:
            check(near(number(row[part + "_us"]), statistics.fmean(number(s[part + "_us"]) for s in by_rank[row["rank"]])), part, row)
    for place, row in enumerate(table("step_indices")):
        check_slowest(row, by_place[place], "slowest_rank", "rank")
    check(len(table("step_ranks")) == len(by_rank) and len(table("step_indices")) == (len(by_place) if len(by_rank) > 1 else 0),
          "ranks or places of steps")
    if steps:
        slowest, several = max(steps, key=lambda row: number(row["time_us"])), len(steps) > len(by_rank)
        same_rows(page, "steps", by_rank[slowest["rank"]] if several else steps)
        check(("step_ranks" in page.tables) == several, "steps of ranks")
        if several:
            same_rows(page, "step_ranks", table("step_ranks"))
    streams = sorted(table("overview_streams"), key=lambda row: -number(row["work_us"]))
    for row in streams:
        check(near(number(row["work_us"]), sum(number(row[kind + "_us"]) for kind in ("compute", "communication", "copies"))), row)
    if streams:
        same_rows(page, "overview_streams", streams)
    check(("collective_waits" in page.tables) == (len(table("collective_waits")) > 1), "waits")
    if len(table("collective_waits")) > 1:
        same_rows(page, "collective_waits", table("collective_waits"))
    check_operators(page, folder, False)
    check_hta(page, folder, False)


def check_nothing(page, folder):
    """Its numbers are not read back."""


def check_diff(page, folder):
    tables = {name: read_csv(os.path.join(folder, name + ".csv"))
              for name in ("diff_steps", "diff_operators", "diff_shapes", "diff_kernels", "diff_paths")}
    for name, expected in tables.items():
        if expected:
            same_rows(page, name, expected)
    step = tables["diff_steps"][0]
    check(near(page.figures["Step of A"], number(step["a_us"])) and near(page.figures["Step of B"], number(step["b_us"])),
          "the steps")
    check(all(note for name, note in page.notes.items() if " of " in name), "a card does not say what it is", page.notes)


# ---- Charts ----


def check_trend(page, folder):
    """The table, and the points of both charts, are rows of windows.csv; the points are a scale."""
    rows = read_csv(os.path.join(folder, "windows.csv"))
    same_rows(page, "windows", rows)
    for name in ("trend_step.svg", "trend_shares.svg"):
        points = defaultdict(list)
        for point in ET.parse(os.path.join(folder, "charts", name)).getroot().iter(SVG + "circle"):
            row, column, value = int(point.get("data-row")), point.get("data-column"), float(point.get("data-value"))
            check(near(number(rows[row][column]), value), name, "has a point of another value", row, column, value)
            points[column].append((value, float(point.get("cy")), float(point.get("cx")), row))
        check(points or all(row["step_us"] == "" for row in rows), name, "has no points")
        for column, places in points.items():
            check(len(places) == sum(row[column] != "" for row in rows), name, column, "lacks points")
            (low, bottom), (high, top) = min(places)[:2], max(places)[:2]
            for value, y, _, _ in places:
                wanted = bottom + (top - bottom) * (value - low) / (high - low) if high > low else bottom
                check(abs(y - wanted) <= 0.11, name, "points are no scale", value, y, wanted)
            by_row = sorted(places, key=lambda place: place[3])
            check([x for _, _, x, _ in by_row] == sorted(x for _, _, x, _ in places), name, "points are not in order")


def texts(element):
    return "".join(element.itertext())


def check_points(root, rates):
    """The points of a roofline are rows of the table, at the height of their rates."""
    points = [point for point in root.iter(SVG + "path") if point.get("data-value")]
    places = []
    for point in points:
        value = float(point.get("data-value"))
        check(near(float(rates[int(point.get("data-row"))]["tflops_per_s"]), value), "a point of another rate", value)
        places.append((math.log10(value), float(point.get("data-y"))))
    places.sort()
    (low, bottom), (high, top) = places[0], places[-1]
    for place, y in places:
        wanted = bottom + (top - bottom) * (place - low) / (high - low) if high > low else bottom
        check(abs(y - wanted) <= 0.11, "points are no scale", place, y, wanted)
    return len(points)


def check_chart(path, page):
    check(os.path.getsize(path) <= SIZE_MAX, path, "is large")
    root = ET.parse(path).getroot()
    check(root.tag == SVG + "svg" and root.get("role") == "img", "no chart")
    ids = {element.get("id"): element for element in root.iter() if element.get("id")}
    check(all(texts(ids[name]).strip() for name in root.get("aria-labelledby").split()), "no name")
    for element in root.iter():
        check(element.tag.split("}")[1] in ("svg", "title", "desc", "style", "rect", "line", "text", "path", "circle"),
              element.tag)
        for name in element.keys():
            check(not name.startswith("on") and "href" not in name, "attribute", name)
    style = "".join(element.text for element in root.iter(SVG + "style"))
    check("@import" not in style and "url(" not in style, "the style loads something")
    rectangles = [r for r in root.iter(SVG + "rect") if r.get("data-value")]
    by_row = defaultdict(list)
    scales, squares = [], defaultdict(list)
    upright = "dominating" in path
    for rectangle in rectangles:
        value, size = float(rectangle.get("data-value")), float(rectangle.get("height" if upright else "width"))
        opacity = rectangle.get("fill-opacity")
        if opacity:  # a square, whose colour is the fuller the larger the value
            by_row[rectangle.get("data-row")].append((rectangle.get("data-column"), value))
            squares[rectangle.get("data-column")].append((value, float(opacity)))
            continue
        if "_areas" in path:  # an area; its sides are told to a tenth of a pixel
            sides = [float(rectangle.get(side)) for side in ("width", "height")]
            check(min(sides) >= 0, "an area of negative size")
            by_row[rectangle.get("data-row")].append((rectangle.get("data-column"), value))
            if value > 0 and min(sides) > 5:
                scales.append((sides[0] * sides[1] / value, 0.06 * sum(sides) / value))
            continue
        by_row[rectangle.get("data-row")].append((rectangle.get("data-column"), value))
        check(size >= 0, "a bar of negative size")
        if value != 0 and size > 5 and "passes" not in path:  # bars of changes lie on both sides
            scales.append((size / abs(value), 0.06 / abs(value)))
    for column, cells in squares.items():
        most = max(value for value, _ in cells)
        check(all(abs(opacity - max(0.05, value / most)) < 0.0051 for value, opacity in cells), path, column, "is no scale")
    if scales:
        scale = scales[0]
        check(all(abs(s - scale[0]) <= e + scale[1] for s, e in scales), path, "bars are no scale", scales)
    return by_row


def check_bars(name, by_row, page):
    tables = {"time_by_rank": "time", "kernel_types": "gpu_kernel_breakdown_mem.types", "top_kernels": "kernels",
              "idle": "idle", "overlap": "overlap", "streams": "streams", "operators": "operators",
              "overheads": "overhead_kinds", "top_operators": "top_operators", "top_modules": "top_modules",
              "kernel_durations": "durations", "changed_operators": "diff_operators", "changed_kernels": "diff_kernels", "changed_paths": "diff_paths"}
    tables |= {"overlap": "overview_overlap", "stream_work": "overview_streams", "time_of_ranks": "time_of_ranks", "steps": "steps", "mean_steps": "step_ranks", "waited_for": "collective_waits"} if page.most == 60 else {}
    if name == "top_kernels" and "top_kernels" in page.tables:
        tables[name] = "top_kernels"
    if name not in tables:
        return 0
    rows = page.rows(tables[name])
    if name.startswith("changed"):  # those that differ come first
        rows = [row for row in rows if row["device_diff_us"] != 0]
    for row, bars in by_row.items():
        for column, value in bars if int(row) < page.most else ():
            check(near(rows[int(row)][column], value), name, row, column, value)
    most = {"time_by_rank": 512, "overlap": 512, "time_of_ranks": 512, "mean_steps": 512, "waited_for": 512, "steps": 48,
            "kernel_durations": 64, "stream_work": 16}.get(
        name, 20 if "st" == name[:2] or name[0] == "o" else 16)
    limit = most
    if name[:4] == "top_" or tables[name] == "kernels" or name == "kernel_types":  # what takes no time has no bar
        column = next(iter(by_row.values()))[0][0]
        most = min(most, max(1, sum(row[column] > 0 for row in rows)))
    check(len(by_row) == min(len(rows), most) or len(by_row) > page.most == len(rows), name, len(by_row), len(rows))
    found = re.search("; [0-9,]+ of ([0-9,]+) rows", page.tables[tables[name]][0]["caption"])
    total = int(found[1].replace(",", "")) if found else len(rows)
    if len(by_row) == limit < total and not name.startswith("changed"):
        check(re.search(f"The chart shows the (first )?{most:,}( largest)? of {total:,} ", page.text), name, "shows", most, "of", total)
    return sum(len(bars) for bars in by_row.values())


COLOURS = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "grey", "pale", "ink", "count", "s0", "s1", "s2", "s3"}


def colour_of(element):
    return next((name for name in element.get("class", "").split() if name in COLOURS), None)


def legend_of(svg):
    """The legend of a drawing: its colors, in order, with their texts."""
    squares = [(i, e) for i, e in enumerate(svg) if e.get("width") == e.get("height") == "11" and not e.get("data-value")]
    return [(colour_of(square), "".join(svg[i + 1].itertext())) for i, square in squares if colour_of(square)]


def check_legend(svg, drawn):
    """A legend has the colors of the drawing: no entry without a bar, no bar without an entry."""
    legend = [colour for colour, _ in legend_of(svg)]
    check(len(legend) == len(set(legend)), drawn, "has two legend entries of one color")
    marks = [e for e in svg if e.tag in ("path", "circle") or (e.tag == "rect" and len(e))]
    seen = {colour_of(e) for e in marks if e.tag != "rect" or min(float(e.get(side)) for side in ("width", "height")) > 0}
    drawn_any = {colour_of(e) for e in marks if e.tag != "rect" or float(e.get("data-value", 1)) != 0}
    if legend and "dominating" not in drawn:
        check(seen - {None} <= set(legend), drawn, "has colors without a legend entry", seen, legend)
        check(set(legend) - {"ink"} <= drawn_any, drawn, "has legend entries without a bar", legend, drawn_any)


def check_key(root):
    """The color legend of the page has only colors of its drawings."""
    used = {colour_of(e) for svg in root.iter("svg") for e in svg} | {"ink"}
    for key in (e for e in root.iter("details") if e.get("class") == "key"):
        for item in key.iter("li"):
            classes = {icon.get("class") for icon in item.iter("i")}
            check(classes & used, "the color legend of the page has", classes)


def check_page(folder, name, check_numbers, charts, prefix=""):
    """One page of the folder, whose charts are those with the prefix."""
    path = os.path.join(folder, name)
    check(os.path.getsize(path) <= SIZE_MAX, "the page has", os.path.getsize(path), "bytes")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    root = ET.fromstring(text.replace("<!DOCTYPE html>", "", 1))  # as XML
    page = Page(text)                                             # and as HTML
    check("http:" not in text and "https:" not in text and "url(" not in text and "@import" not in text, "loads")
    check(len(page.ids) == len(set(page.ids)), "an id twice")
    check(set(page.references) | set(page.links) <= set(page.ids), "a reference to nothing")
    check(all(os.path.exists(os.path.join(folder, other)) for other in page.pages), "leads nowhere", page.pages)
    scripts = ["".join(script.itertext()) for script in root.iter("script")]
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    check(len(scripts) == 1 and f"script-src 'sha256-{digest}'" in text, "a script that the page does not allow")
    check(root.find("head/title").text and root.get("lang") == "en", "no title or language")
    check(root.findall(".//h1") and all(section.find("h2") is not None for section in root.findall(".//section")), "headings")
    for section in root.iter("section"):
        lacks = [part for part in section if part.get("class") == "missing"]
        if lacks and not any(True for tag in ("svg", "table") for _ in section.iter(tag)):
            check(len(section) == 1 + len(lacks) or section.find("h3") is not None, section.get("id"), "introduces nothing")
    check_numbers(page, folder)
    inline = defaultdict(list)
    for svg in root.iter("svg"):
        inline[svg.get("aria-labelledby").split("-" + svg.get("class").split()[1])[0]].append(
            [rectangle.get("data-value") for rectangle in svg.iter("rect") if rectangle.get("data-value")])
        check_legend(svg, svg.get("aria-labelledby"))
    check_key(root)
    if name in ("memory.html", "pipeline.html"):
        meanings = {entry for svg in root.iter("svg") for entry in legend_of(svg)}
        if len({words for _, words in meanings}) <= 8:  # as many as there are colors for layers
            check(len({colour for colour, _ in meanings}) == len({words for _, words in meanings}) == len(meanings),
                  "a color has two meanings", meanings)
    if name == "report.html":
        check(not any(re.match("sutra analyze (?!collectives |hta |dlrm )", command) and " -o " in command
                      for command in page.commands), "advises the page itself", page.commands)
    n_bars = 0
    for chart in charts:
        chart_path, drawn = os.path.join(folder, "charts", prefix + chart), chart[:-4]
        by_row = check_chart(chart_path, page)
        n_bars += check_bars(drawn, by_row, page)
        if chart == "roofline.svg":
            with open(os.path.join(folder, "rates.csv"), encoding="utf-8", newline="") as file:
                check_points(ET.parse(chart_path).getroot(), list(csv.DictReader(file)))
        if drawn in inline:  # charts of an earlier run may lie in the folder
            check(len(inline[drawn]) == 2 and inline[drawn][0] == inline[drawn][1], drawn, "differs in a narrow window")
    check(set(inline) <= {chart[:-4] for chart in charts}, "charts without files")
    print(f"{os.path.basename(folder)}/{name}: {len(page.tables)} kinds of tables, {len(charts)} charts, {n_bars} bars are right")
    return page


def check_folder(folder):
    is_diff = os.path.exists(os.path.join(folder, "diff_steps.csv"))
    numbers_of = {"report.html": check_diff if is_diff else check_overview, "hta.html": check_hta, "operators.html": check_operators,
                  "kernels.html": check_kernels, "collectives.html": check_nothing, "dlrm.html": check_dlrm,
                  "memory.html": check_nothing, "pipeline.html": check_nothing, "trend.html": check_trend}
    there = [name for name in PAGES if os.path.exists(os.path.join(folder, name))]
    check(there, "there is no page")
    prefixes = {name: name[:-5] + "_" for name in PAGES[1:]}
    charts = defaultdict(list)
    for chart in sorted(os.listdir(os.path.join(folder, "charts"))):
        name = next((name for name, prefix in prefixes.items() if chart.startswith(prefix)), "report.html")
        charts[name].append(chart.removeprefix(prefixes.get(name, "")))
    check(set(charts) <= set(there), "charts of no page", set(charts) - set(there))
    for name in there:
        page = check_page(folder, name, numbers_of[name], charts[name], prefixes.get(name, ""))
        check(page.pages == [other for other in there if other != name], name, "leads to", page.pages, "of", there)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: report_check.py FOLDER...")
    sys.stdout.reconfigure(errors="backslashreplace")
    failed = 0
    for where in sys.argv[1:]:
        try:
            check_folder(where.rstrip("/"))
        except (AssertionError, ET.ParseError, OSError) as error:
            print(f"FAILED {where}: {type(error).__name__}: {error}")
            failed += 1
    sys.exit(failed > 0)
