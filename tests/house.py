"""Whether the house stands: no room includes from a floor above its own, no struct, enum or union has two meanings, and
prose keeps to its width.

    python3 tests/house.py [FOLDER]     of a source tree; what is wrong is told line by line, and the exit status is 1

A room is a folder of host/, or cuda/. Includes of the same floor but another room go sideways, which is wrong as well:
so no rooms can include each other in a ring, and each floor can be read knowing those below it only.
"""

import os
import re
import sys

# From bottom to top. A room of several folders stands with its folder; analyses do not know each other.
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
    ["link"],
    ["legacy"],
    ["tree"],
    ["simulate"],
    ["analyze"],
    ["analyze/hta", "analyze/dlrm"],
    ["analyze/overview"],
    ["compare"],
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

FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
SOURCE = re.compile(r"\.(c|h|cu|cpp)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
WIDTH = 120
LAID_OUT = re.compile(r'"|\S  +\S')
DEFINITION = re.compile(r"\b(struct|enum|union)\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w+)\s*\{")


def sources(top):
    """Paths of all sources of the three folders, as they are included."""
    for folder in ("cuda", "host", "include"):
        for path, _, names in os.walk(os.path.join(top, folder)):
            for name in sorted(names):
                if SOURCE.search(name):
                    yield os.path.relpath(os.path.join(path, name), top)


def room_of(path):
    """The room of "read/fields.h", or of "analyze/hta/hta.h"; None: it is none of the house's."""
    folder = os.path.dirname(path)
    while folder and folder not in FLOOR_OF:
        folder = os.path.dirname(folder)
    return folder or None


def include_is_wrong(room, target, path):
    """Why `room` may not include `path` of the room `target`; None: it may."""
    if target == room:
        return None
    if room in ONLY and target not in ONLY[room]:
        return f"{room}/ includes {', '.join(sorted(ONLY[room]))} only"
    if target in DOORS and DOORS[target].get(room) != path:
        return f"{target}/ is behind {', '.join(DOORS[target].values())}"
    if FLOOR_OF[target] >= FLOOR_OF[room]:
        return f"{target}/ does not stand below {room}/"
    return None


def check_includes(path, text):
    room = room_of(path.removeprefix("host/"))
    if path.startswith("host/") and room is None:
        yield f"{path}: no floor is known for this folder"
    for name in INCLUDE.findall(text):
        target = room_of(name)
        why = room and target and include_is_wrong(room, target, name)
        if why:
            yield f"{path}: includes {name}: {why}"


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


def main():
    top = sys.argv[1] if len(sys.argv) > 1 else "."
    texts = {}
    for path in sources(top):
        with open(os.path.join(top, path), encoding="utf-8") as file:
            texts[path] = file.read()
    wrong = [line for path, text in texts.items() for line in check_includes(path, text)]
    wrong += check_tags(texts)
    wrong += [line for path, text in texts.items() for line in check_width(path, text)]
    print("\n".join(wrong) if wrong else f"{len(texts)} files: all is well")
    return 1 if wrong else 0


sys.exit(main())
