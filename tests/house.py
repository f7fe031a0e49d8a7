"""Checks the source tree: the order of includes between folders, unique names of structs, enums and unions, the width of
prose, the project's terms in documentation and messages, files named in comments and in docs/architecture.md, how finely
the code is cut, and which object files need each other.

    python3 tests/house.py [DIRECTORY [BUILD]]     prints one line per error; the exit status is then 1

A room is a folder of host/, or cuda/. A file includes only from its own room and from rooms on lower floors, so that
includes between rooms have no cycles. The same holds for the symbols that object files need, which nm lists if BUILD
(DIRECTORY/build) contains objects. A declaration copied into a source file is no include, but a symbol.
"""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

# From bottom to top. A room of several folders stands with its folder; rooms on one floor do not know each other.
FLOORS = [
    ["base"],
    ["text"],
    ["columns"],
    ["match"],
    ["cuda"],
    ["context"],
    ["read"],
    ["facts"],
    ["write"],
    ["critical_path"],
    ["align"],
    ["link"],
    ["legacy"],
    ["tree"],
    ["simulate"],
    ["analyze/launches"],
    ["analyze"],
    ["analyze/operators", "analyze/collectives", "analyze/memory", "analyze/nsys"],
    ["analyze/overview"],
    ["analyze/compat/tracelens"],
    ["compare"],
    ["analyze/compat/hta", "analyze/compat/dlrm"],
    ["run"],
    ["analyze/hang"],
    ["job"],
    ["rewrite"],
    ["arrow"],
    ["report"],
    ["generate"],
    ["cli"],
]
# Rooms that may not include from all floors below, and doors that only one room may use.
ONLY = {"cuda": {"base", "columns", "match"}}
DOORS = {"cuda": {"context": "cuda/engine_cuda.h"}}
# The rooms that include the analyses which reproduce other programs.
COMPAT_CLIENTS = {"arrow", "cli", "report"}

# Floors inside a room: its files by pattern, of object files only. Files that no pattern names are on no floor.
FILE_FLOORS = {
    "simulate": [
        ["et", "et_format", "et_graph", "et_json", "et_read", "et_write"],
        ["et_plus*", "node_graph", "communication", "et_make"],
        ["et_timeline", "timeline*"],
        ["check", "convert", "full_path", "job_files", "measured_et", "program*", "rank_graph", "replay", "scale",
         "simulation*", "what_if"],
    ],
}

FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
SOURCE = re.compile(r"\.(c|h|cu|cpp)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
WIDTH = 120
LAID_OUT = re.compile(r'"|\S  +\S')
# Phrases that users cannot search for, and the term to write instead; for documentation and string literals.
PHRASES = [(re.compile(pattern, re.IGNORECASE), term) for pattern, term in (
    (r"\b(?:is|are|was|were) told\b|\btells?\b(?! apart)|\buntold\b", "report, record, contain, show"),
    (r"\bleft out\b|\bleaves? (?:it |them |out )*out\b", "skipped"),
    (r"\bmend(?:s|ed|ing)?\b", "repair"),
    (r"\b(?:nobody|whoever|whom)\b", "name the rank, operator or caller"),
    (r"\bholds? (?:the others|launches|all) up\b", "straggler, blocks"),
    (r"\bcharged? to\b", "attributed to"),
    (r"\bstretch(?:es)? of\b", "interval, range"),
    (r"\bside by side\b|\bbeside\b", "next to, in parallel, overlapping"),
    (r"\bwhole or not at all\b", "atomically"),
    (r"\bbroken (?:trace|file|rank|text)s?\b", "malformed, truncated"),
    (r"\blonely\b", "unmatched"),
    (r"\bmade[- ]up\b", "synthetic, generated"),
    (r"\bprocessors?\b(?! time)", "CPU, CPU thread"),
    (r"\bso many\b", "N"),
    (r"\bthe reference's\b|\bthe original's\b", "name the tool"),
    (r"\brising\b|\bfalling\b", "ascending, descending"),
    (r"\bcopies and sets of memory\b", "memcpy and memset"),
    (r"\bedition\b", "version"),
    (r"\bmeetings?\b", "collective, match"),
    (r"\bstands? (?:in|below|above|behind|there)\b", "is in, follows"),
)]
CODE_IN_PROSE = re.compile(r"```.*?```|`[^`\n]*`|<!--.*?-->", re.DOTALL)
STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"((?:\\.|[^"\\\n])*)"', re.DOTALL)
# Texts of other programs that are reproduced byte for byte.
OTHER_PROGRAMS = ("host/legacy/advise.c", "host/legacy/legacy.c")
# How finely the code may be cut: values of today, which a change may lower but not raise.
MAX_LINES = 1000
LIMITS = {
    "files": 536,
    "files below 60 lines": 14,
    "headers with one client": 6,
    "percent of static functions called once": 42,
    "object files in a circle": 7,
    "source files with one name": 2,
}
SHORT_FILE = 60
NOT_CODE = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*', re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
FILE_IN_COMMENT = re.compile(r"(?<![\w/.<-])([a-z_0-9]+(?:/[a-z_0-9]+)*\.(?:c|h|cu))\b")
PATH_IN_PAGE = re.compile(r"`((?:host|cuda|include|tests)/[a-z_0-9/.]+)`")
DEFINITION = re.compile(r"\b(struct|enum|union)\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w+)\s*\{")


def sources(top):
    """Paths of all sources of the three folders, as they are included."""
    for folder in ("cuda", "host", "include"):
        for path, _, names in os.walk(os.path.join(top, folder)):
            for name in sorted(names):
                if SOURCE.search(name):
                    yield os.path.relpath(os.path.join(path, name), top)


def room_of(path):
    """The room of "read/fields.h", or of "analyze/compat/hta/hta.h"; None: it is none of the house's."""
    folder = os.path.dirname(path)
    while folder and folder not in FLOOR_OF:
        folder = os.path.dirname(folder)
    return folder or None


def use_is_wrong(room, target, path):
    """Why `room` may not use `path` of the room `target`; None: it may."""
    if target == room:
        return None
    if room in ONLY and target not in ONLY[room]:
        return f"{room}/ uses {', '.join(sorted(ONLY[room]))} only"
    if target in DOORS and DOORS[target].get(room) != path:
        return f"{target}/ is behind {', '.join(DOORS[target].values())}"
    if target.startswith("analyze/compat/") and room not in COMPAT_CLIENTS:
        return f"{target}/ is used by {', '.join(sorted(COMPAT_CLIENTS))} only"
    if FLOOR_OF[target] >= FLOOR_OF[room]:
        return f"{target}/ does not stand below {room}/"
    return None


def check_includes(path, text):
    room = room_of(path.removeprefix("host/"))
    if path.startswith("host/") and room is None:
        yield f"{path}: no floor is known for this folder"
    for name in INCLUDE.findall(text):
        target = room_of(name)
        why = room and target and use_is_wrong(room, target, name)
        if why:
            yield f"{path}: includes {name}: {why}"


def symbol_uses(build, texts):
    """For each file of host/, the files of which its object file needs symbols, with these symbols."""
    objects = os.path.join(build, "CMakeFiles", "sutra_host.dir")
    source_of = {os.path.join(objects, f"{path}.o"): path.removeprefix("host/") for path in texts}
    present = [path for path in source_of if os.path.exists(path)]
    if not present or not shutil.which("nm"):
        return {}
    lines = subprocess.run(["nm", "-A", "-g", *present], capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = [(source_of[line.partition(":")[0]], *line.split()[-2:]) for line in lines]
    home = {symbol: path for path, kind, symbol in symbols if kind != "U"}
    uses = {}
    for path, kind, symbol in symbols:
        if kind == "U" and home.get(symbol, path) != path:
            uses.setdefault(path, {}).setdefault(home[symbol], []).append(symbol)
    return uses


def file_floor(path):
    """The floor of a file in its room; None: it has none."""
    stem = os.path.splitext(os.path.basename(path))[0]
    for floor, patterns in enumerate(FILE_FLOORS.get(room_of(path), ())):
        if any(fnmatch.fnmatchcase(stem, pattern) for pattern in patterns):
            return floor
    return None


def check_symbols(uses):
    for path, targets in sorted(uses.items()):
        for target, symbols in sorted(targets.items()):
            why = use_is_wrong(room_of(path), room_of(target), target)
            floors = [file_floor(path), file_floor(target)]
            if room_of(path) == room_of(target) and None not in floors and floors[0] < floors[1]:
                why = "a file does not stand below it"
            if why:
                yield f"{path}: its object file needs {', '.join(sorted(symbols))} of {target}: {why}"


def reachable(uses, start):
    found, left = set(), [start]
    while left:
        new = set(uses.get(left.pop(), ())) - found
        found |= new
        left += new
    return found


def check_circles(uses):
    reach = {path: reachable(uses, path) for path in uses}
    circles = {tuple(sorted(other for other in reach[path] if path in reach.get(other, ()))) for path in uses}
    limit = LIMITS["object files in a circle"]
    for circle in sorted(circles):
        if len(circle) > limit:
            yield f"{len(circle)} object files in a circle; at most {limit}"
            for path in circle:
                needs = [f"{', '.join(uses[path][other])} of {other}" for other in circle if other in uses[path]]
                yield f"    {path} needs {'; '.join(needs)}"


def check_tags(texts):
    homes = {}
    for path, text in texts.items():
        for kind, tag in DEFINITION.findall(COMMENT_OR_TEXT.sub(" ", text)):
            homes.setdefault((kind, tag), []).append(path)
    for (kind, tag), paths in sorted(homes.items()):
        if len(paths) > 1:
            yield f"{kind} {tag} is defined in {' and in '.join(paths)}"


def check_width(path, text):
    """Lines of prose, which no program sets; texts and tables may be longer."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > WIDTH and not LAID_OUT.search(line):
            yield f"{path}:{number}: {len(line)} columns"


def messages(text):
    """Line number and content of each string literal with at least two words."""
    for match in STRING.finditer(text):
        if match[1] and " " in match[1].strip():
            yield text.count("\n", 0, match.start()) + 1, match[1]


def prose(text):
    """Line number and content of each line of a page, without code."""
    text = CODE_IN_PROSE.sub(lambda match: "\n" * match[0].count("\n"), text)
    return enumerate(text.splitlines(), 1)


def check_phrases(path, lines):
    for number, line in lines:
        for pattern, term in PHRASES:
            found = pattern.search(line)
            if found:
                yield f"{path}:{number}: '{found[0]}': write: {term}"


def blank_non_code(text):
    """The text with comments, strings and preprocessor lines replaced by spaces and line breaks."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def static_functions(code):
    """Names of the static functions that `code` defines, and the spans of their heads."""
    depth, head = 0, 0
    for match in re.finditer(r"[{};]", code):
        if match[0] == "{":
            name = re.search(r"(\w+)\s*\(", code[head : match.start()]) if depth == 0 else None
            before = code[head : head + name.start()] if name else ""
            if name and "=" not in before and re.search(r"\b(?:static|SHARED)\b", before):
                yield name[1], (head, match.start())
            depth += 1
        elif match[0] == "}":
            depth = max(0, depth - 1)
        if depth == 0:
            head = match.end()


def is_called_once(code, name, definition):
    """Whether the only use of a static function in its file is a call; prototypes do not count."""
    uses = []
    for match in re.finditer(rf"\b{name}\b", code):
        is_prototype = re.match(r"\([^;{}]*\);", code[match.end() :]) and re.search(r"static[^;{}=]*$", code[: match.start()])
        if not definition[0] <= match.start() < definition[1] and not is_prototype:
            uses.append(code[match.end() :].lstrip().startswith("("))
    return uses == [True]


def clients(texts):
    """Number of files that include each header, without the source file of the same name."""
    found = {}
    for path, text in texts.items():
        for name in INCLUDE.findall(text):
            stem = os.path.splitext(path.removeprefix("host/"))[0]
            if os.path.splitext(name)[0] != stem:
                found[name] = found.get(name, 0) + 1
    return found


def check_structure(texts):
    once = statics = 0
    for path, text in texts.items():
        n_lines = text.count("\n")
        if n_lines > MAX_LINES:
            yield f"{path}: {n_lines} lines; at most {MAX_LINES}"
        if path.endswith((".c", ".cu")):
            code = blank_non_code(text)
            for name, definition in static_functions(code):
                statics += 1
                once += is_called_once(code, name, definition)
    used = clients(texts)
    internal = [path.removeprefix("host/") for path in texts if path.endswith(".h") and not path.startswith("include/")]
    values = {
        "files": len(texts),
        "files below 60 lines": sum(text.count("\n") < SHORT_FILE for text in texts.values()),
        "headers with one client": sum(used.get(name) == 1 for name in internal),
        "percent of static functions called once": round(100 * once / max(1, statics)),
        "source files with one name": max(Counter(os.path.basename(path) for path in texts if path.endswith(".c")).values()),
    }
    for name, value in values.items():
        if value > LIMITS[name]:
            yield f"{value} {name}; at most {LIMITS[name]} (see 'Size' in CONTRIBUTING.md)"


def check_file_names(top, path, text, names):
    """Source files named in comments, as "rules.h" or "match/rules.h"."""
    for comment in COMMENT.finditer(text):
        for match in FILE_IN_COMMENT.finditer(comment[0]):
            if match[1] not in names and not os.path.exists(os.path.join(top, match[1])):
                number = text.count("\n", 0, comment.start() + match.start()) + 1
                yield f"{path}:{number}: {match[1]} does not exist"


def check_paths(top, page):
    with open(os.path.join(top, page), encoding="utf-8") as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            for path in PATH_IN_PAGE.findall(line):
                if not os.path.exists(os.path.join(top, path)):
                    yield f"{page}:{number}: {path} does not exist"


def pages(top):
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "bench/README.md", "python/README.md"):
        if os.path.isfile(os.path.join(top, name)):
            yield name
    for name in sorted(os.listdir(os.path.join(top, "docs"))):
        if name.endswith(".md"):
            yield os.path.join("docs", name)


def main():
    top = sys.argv[1] if len(sys.argv) > 1 else "."
    texts = {}
    for path in sources(top):
        with open(os.path.join(top, path), encoding="utf-8") as file:
            texts[path] = file.read()
    wrong = [line for path, text in texts.items() for line in check_includes(path, text)]
    uses = symbol_uses(sys.argv[2] if len(sys.argv) > 2 else os.path.join(top, "build"), texts)
    if len(sys.argv) > 2 and not uses:
        wrong.append(f"{sys.argv[2]}: no object files that nm can read")
    wrong += check_symbols(uses)
    wrong += check_circles(uses)
    wrong += check_tags(texts)
    wrong += [line for path, text in texts.items() for line in check_width(path, text)]
    wrong += check_structure(texts)
    names = set(texts) | {path.removeprefix("host/").removeprefix("include/") for path in texts}
    names |= {os.path.basename(path) for path in texts}
    wrong += [line for path, text in texts.items() for line in check_file_names(top, path, text, names)]
    wrong += check_paths(top, "docs/architecture.md")
    for path, text in texts.items():
        if path not in OTHER_PROGRAMS:
            wrong += check_phrases(path, messages(text))
    for path in pages(top):
        with open(os.path.join(top, path), encoding="utf-8") as file:
            wrong += check_phrases(path, prose(file.read()))
    print("\n".join(wrong) if wrong else f"{len(texts)} files, {len(uses)} object files: all is well")
    return 1 if wrong else 0


sys.exit(main())
