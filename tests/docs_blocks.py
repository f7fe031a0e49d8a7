"""Runs the code blocks of the documentation and compares their output with the pages.

    python3 tests/docs_blocks.py [--update] [PAGE...]      the program is $SUTRA, its build directory $SUTRA_BUILD

Each page is read from top to bottom. Its blocks run in one scratch directory, in one shell and one Python session, with
sutra on PATH and tests/ of the repository as tests/. The language of a block selects what happens:

    console         commands after "$ ", each followed by its output (both streams)
    sh              a script without output; the exit code of each command must be 0, as in console blocks
    pycon, python   statements after ">>> " with their output; statements without output
    text            a diagram, not run
    other           must be written to a file that later commands use, or not run

A line "..." in an output matches any number of lines. The line with the measured time, speed and memory, versions and
dates are not compared; all other numbers are. Comments directly above a block change what happens:

    <!-- file: NAME -->         write the block to NAME before the other blocks run, instead of running it
    <!-- needs: NAME... -->     run the block only where these programs or Python modules exist; libsutra: where SUTRA_BUILD
                                has no sanitizers, after an installation of that build; SQLite: where the program has it
    <!-- not run: REASON -->    do not run the block, and list the reason

"<!-- not run on this page: REASON -->" in a page holds for all its blocks. --update replaces the outputs in the pages by
the actual outputs.

The runner also checks relative links with their headings, commands and options in examples, the list of directories and
the functions of files in docs/architecture.md, and the lines of records in docs/job-records.md. The exit status is 1 if
a check fails.
"""

import ast
import contextlib
import difflib
import doctest
import fcntl
import glob
import importlib.util
import io
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import traceback

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RUN_PAGES = ["README.md", "docs/*.md", "python/README.md", "bench/README.md", "CONTRIBUTING.md"]
MEASURED = [
    (re.compile(r"^ *\d\S* s,? +(at \S+ [kMG]?B/s of input, )?\S+ [kMG]?B (of memory at the peak|peak memory)$"), "TIME, MEMORY"),
    (re.compile(r"\bsutra \d+\.\d+\.\d+\b"), "sutra VERSION"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "DATE"),
]
MARKER = re.compile(r"<!-- (file|needs|not run): (.*) -->$")
PAGE_MARKER = re.compile(r"^<!-- not run on this page: (.*) -->$", re.MULTILINE)
END = "end-of-command-output"

# Replaces sbatch of Slurm: runs a script immediately, with the variables of each task of its array.
SBATCH = r"""#!/bin/bash
while [[ ${1-} == --* ]]; do
    case $1 in
    --parsable | --dependency=afterany:[0-9]*) ;;
    --wrap) exec bash -ec "$2" >/dev/null ;;
    *) echo "sbatch: unknown option $1" >&2 && exit 1 ;;
    esac
    shift
done
array=$(sed -n 's/^#SBATCH --array=1-\([0-9]*\)$/\1/p' "$1")
for task in $(seq "${array:-1}"); do
    [ -z "$array" ] || export SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_COUNT=$array
    bash -e "$1" >"slurm-$task.out" 2>&1 || { cat "slurm-$task.out" >&2 && exit 1; }
done
echo 1
"""


class Block:
    """A fenced block: its language, the number of its first line in the page, its lines, and its markers."""

    def __init__(self, language, first, lines, markers):
        self.language, self.first, self.lines, self.markers = language, first, lines, markers


def blocks_of(lines):
    """The fenced blocks of a page, from top to bottom."""
    blocks, i = [], 0
    while i < len(lines):
        if not lines[i].lstrip().startswith("```"):
            i += 1
            continue
        end = next(j for j in range(i + 1, len(lines)) if lines[j].strip() == "```")
        markers, above = {}, i - 1
        while above >= 0 and MARKER.match(lines[above]):
            key, value = MARKER.match(lines[above]).groups()
            markers[key] = value
            above -= 1
        blocks.append(Block(lines[i].lstrip()[3:], i + 1, lines[i + 1 : end], markers))
        i = end + 1
    return blocks


def commands_of(lines):
    """[(command, row after the command, row after its output)] of a console block."""
    commands, i = [], 0
    while i < len(lines):
        command = [lines[i][2:]]
        i += 1
        while command[-1].endswith("\\"):
            command.append(lines[i])
            i += 1
        start = i
        while i < len(lines) and not lines[i].startswith("$ "):
            i += 1
        commands.append(("\n".join(command), start, i))
    return commands


def comparable(line):
    for regex, word in MEASURED:
        line = regex.sub(word, line)
    return line.rstrip()


def chunks_of(lines):
    """Lists of lines between the lines "..."."""
    chunks = [[]]
    for line in lines:
        if line == "...":
            chunks.append([])
        else:
            chunks[-1].append(line)
    return chunks


def matches(expected, actual):
    """Whether the lines `expected`, in which "..." matches any lines, match `actual`."""
    expected = [comparable(line) for line in expected]
    actual = [comparable(line) for line in actual]
    chunks = chunks_of(expected)
    if len(chunks) == 1:
        return expected == actual
    first, last = chunks[0], chunks[-1]
    if len(first) + len(last) > len(actual) or actual[: len(first)] != first or actual[len(actual) - len(last) :] != last:
        return False
    at, end = len(first), len(actual) - len(last)
    for chunk in chunks[1:-1]:
        at = next((i + len(chunk) for i in range(at, end - len(chunk) + 1) if actual[i : i + len(chunk)] == chunk), None)
        if at is None:
            return False
    return True


def updated(expected, actual):
    """`actual`, shortened by "..." where `expected` is: each chunk becomes the actual lines that are most like it."""
    if matches(expected, actual):
        return expected
    chunks = chunks_of(expected)
    if len(chunks) == 1:
        return actual
    ratio = lambda a, b: difflib.SequenceMatcher(None, a, b, autojunk=False).ratio() if a and b else float(a == b)
    # best[at]: the likeness and the starts of the chunks so far, of which the last one ends at row `at` or before.
    best = {0: (0.0, [])}
    for number, chunk in enumerate(chunks):
        size = min(len(chunk), len(actual))
        starts = range(len(actual) - size + 1)
        if number == 0:
            starts = [0]
        elif number == len(chunks) - 1:
            starts = [len(actual) - size]
        new = {}
        for start in starts:
            before = max((value for end, value in best.items() if end <= start), default=None, key=lambda value: value[0])
            if before:
                like = sum(ratio(a, b) for a, b in zip(chunk, actual[start : start + size]))
                new[start + size] = (before[0] + like, before[1] + [start])
        best = new or best
    starts = max(best.values(), key=lambda value: value[0])[1]
    result = []
    for number, (chunk, start) in enumerate(zip(chunks, starts)):
        result += ["..."] * (number > 0) + actual[start : start + len(chunk)]
    return result


class Shell:
    """One bash for all commands of a page, on a terminal of 80 columns."""

    def __init__(self, folder, environment):
        self.terminal, side = os.openpty()
        attributes = termios.tcgetattr(side)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(side, termios.TCSANOW, attributes)
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
        self.bash = subprocess.Popen(["bash", "--norc"], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=side,
                                     stderr=side, encoding="utf-8")
        os.close(side)

    def run(self, command):
        """(lines of output, exit code)"""
        self.bash.stdin.write(f"trap 'failed=$?' ERR; failed=0; {{\n{command}\n}} </dev/null\n"
                              f"printf '\\n{END} %d\\n' $failed\n")
        self.bash.stdin.flush()
        text = b""
        while not (end := re.search(rb"\n" + END.encode() + rb" (\d+)\n$", text)):
            try:
                text += os.read(self.terminal, 65536)
            except OSError:
                return text.decode(errors="replace").split("\n") + ["the shell ended"], 255
        return text[: end.start()].decode(errors="replace").split("\n"), int(end.group(1))

    def close(self):
        self.bash.stdin.close()
        self.bash.wait()
        os.close(self.terminal)


class Page:
    """A page whose blocks run."""

    def __init__(self, path, runner):
        self.path, self.runner = path, runner
        with open(os.path.join(TOP, path), encoding="utf-8") as file:
            self.lines = file.read().split("\n")
        self.changes = []  # (first row, row after the last, new lines)
        self.names = {"__name__": "__main__"}

    def fail(self, row, text):
        self.runner.failures.append(f"{self.path}:{row + 1}: {text}")

    def compare(self, row, expected, actual, what):
        """The rows from `row` on hold `expected`; `actual` is the output of `what`."""
        while actual and not actual[-1].strip():
            actual.pop()
        if matches(expected, actual):
            return
        if self.runner.update:
            self.changes.append((row, row + len(expected), [line.rstrip() for line in updated(expected, actual)]))
            return
        lines = difflib.unified_diff([comparable(line) for line in expected], [comparable(line) for line in actual],
                                     "page", "actual output", lineterm="")
        self.fail(row, f"other output of: {what}\n    " + "\n    ".join(lines))

    def run(self):
        everything = PAGE_MARKER.search("\n".join(self.lines))
        blocks = blocks_of(self.lines)
        if everything:
            self.runner.skipped.append(f"{self.path}: not run: {everything.group(1)}")
            blocks = []
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.join(TOP, "tests"), os.path.join(folder, "tests"))
            self.folder = folder
            reasons = [self.why_not(block) for block in blocks]
            self.shell = Shell(folder, self.runner.environment)
            for block in blocks:
                if "file" in block.markers:
                    with open(os.path.join(folder, block.markers["file"]), "w", encoding="utf-8") as file:
                        file.write("\n".join(block.lines) + "\n")
            for block, reason in zip(blocks, reasons):
                if "file" in block.markers:
                    continue
                if reason:
                    self.runner.skipped.append(f"{self.path}:{block.first}: not run: {reason}")
                    if block.language == "sh":
                        self.is_well_formed(block.first, "\n".join(block.lines))
                elif self.check(block):
                    self.run_block(block)
            self.shell.close()
        if self.changes:
            for start, end, lines in sorted(self.changes, reverse=True):
                self.lines[start:end] = lines
            with open(os.path.join(TOP, self.path), "w", encoding="utf-8") as file:
                file.write("\n".join(self.lines))

    def check(self, block):
        """Whether the block's language is known."""
        if block.language == "console" and not block.lines[0].startswith("$ "):
            self.fail(block.first, "the block does not begin with '$ '")
            return False
        if block.language not in ("console", "sh", "pycon", "python", "text") and "file" not in block.markers:
            self.fail(block.first - 1, f"unknown language '{block.language}': mark the block with 'file:' or 'not run:'")
            return False
        return True

    def why_not(self, block):
        """Why the block cannot run here, None: it can."""
        if "not run" in block.markers:
            return block.markers["not run"]
        needs = block.markers.get("needs", "").split()
        if block.language in ("python", "pycon") and "file" not in block.markers:
            needs.append("pysutra")
        missing = [name for name in needs if not self.runner.has(name)]
        return "needs " + ", ".join(missing) if missing else None

    def run_block(self, block):
        text = "\n".join(block.lines) + "\n"
        if block.language == "console":
            for command, start, end in commands_of(block.lines):
                self.run_command(block.first + start - 1, command, block.lines[start:end], block.first + start)
        elif block.language == "sh":
            self.run_command(block.first, text.rstrip("\n"), None, block.first)
        elif block.language == "pycon":
            for example in doctest.DocTestParser().get_examples(text):
                row = block.first + example.lineno + example.source.count("\n")
                output = self.run_python(row, example.source, "single")
                if output is not None:
                    expected = example.want.rstrip("\n").split("\n") if example.want else []
                    self.compare(row, expected, output, example.source.split("\n")[0])
        elif block.language == "python":
            self.run_python(block.first, text, "exec")

    def is_well_formed(self, row, command):
        done = subprocess.run(["bash", "-n"], input=command, text=True, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, check=False)
        if done.returncode:
            self.fail(row, f"malformed command: {command}\n    {done.stdout}")
        return done.returncode == 0

    def run_command(self, row, command, expected, output_row):
        if not self.is_well_formed(row, command):
            return
        output, code = self.shell.run(command)
        if code:
            self.fail(row, f"exit code {code} of: {command}\n    " + "\n    ".join(output))
        elif expected is not None:
            self.compare(output_row, expected, output, command)

    def run_python(self, row, source, mode):
        """The lines that the statements print, None: they fail."""
        printed = io.StringIO()
        before, path = os.getcwd(), os.environ["PATH"]
        os.environ["PATH"] = self.runner.environment["PATH"]
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(source, f"{self.path}:{row}", mode), self.names)  # pylint: disable=exec-used
        except Exception:  # pylint: disable=broad-except
            self.fail(row, traceback.format_exc())
            return None
        finally:
            os.chdir(before)
            os.environ["PATH"] = path
        return printed.getvalue().split("\n")


class Runner:
    """What all pages share: programs, failures, and blocks that are not run."""

    def __init__(self, update, folder):
        self.update, self.folder = update, folder
        self.failures, self.skipped, self.found = [], [], {}
        self.program = os.path.abspath(os.environ["SUTRA"])
        self.build = os.environ.get("SUTRA_BUILD", "")
        programs = os.path.join(folder, "bin")
        os.mkdir(programs)
        for name in ("sutra", "chakra_trace_link", "trace_link", "chakra_converter", "chakra_jsonizer"):
            os.symlink(self.program, os.path.join(programs, name))
        if os.access(os.path.join(os.path.dirname(self.program), "sutra-mpi"), os.X_OK):
            os.symlink(os.path.join(os.path.dirname(self.program), "sutra-mpi"), os.path.join(programs, "sutra-mpi"))
        scripts = {"python3": f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', "sbatch": SBATCH}
        if shutil.which("cc"):
            scripts["cc"] = f'#!/bin/sh\nexec {shlex.quote(shutil.which("cc"))} -Wall -Wextra -Werror "$@"\n'
        for name, text in scripts.items():
            with open(os.path.join(programs, name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(os.path.join(programs, name), 0o755)
        self.environment = dict(os.environ, PATH=programs + ":" + os.environ["PATH"], LC_ALL="C.UTF-8", TERM="dumb",
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_rmaps_base_oversubscribe="1")

    def has(self, name):
        """Whether a block that needs `name` can run."""
        if name not in self.found:
            if name == "libsutra":
                self.found[name] = self.install_library()
            elif name == "SQLite":
                self.found[name] = self.has_sqlite()
            else:
                program = shutil.which(name, path=self.environment["PATH"])
                self.found[name] = bool(program or importlib.util.find_spec(name))
        return self.found[name]

    def has_sqlite(self):
        """Whether the program reads SQLite databases: then it refuses an empty one for its schema."""
        path = os.path.join(self.folder, "empty.sqlite")
        with open(path, "wb") as file:
            file.write(b"SQLite format 3\0" + bytes(84))
        found = subprocess.run([self.program, "info", path], capture_output=True, check=False)
        os.remove(path)
        return found.returncode == 65

    def install_library(self):
        """Installs the library of the build for compilers; false: there is none, or it has sanitizers."""
        try:
            with open(os.path.join(self.build, "CMakeCache.txt"), encoding="utf-8") as file:
                if "-fsanitize" in file.read():
                    return False
        except OSError:
            return False
        prefix = os.path.join(self.folder, "prefix")
        subprocess.run(["cmake", "--install", self.build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        (description,) = glob.glob(os.path.join(prefix, "**", "sutra.pc"), recursive=True)
        self.environment["PKG_CONFIG_PATH"] = os.path.dirname(description)
        self.environment["LD_LIBRARY_PATH"] = os.path.dirname(os.path.dirname(description))
        return True


# ---- Links, options and directories ----


def anchors_of(text):
    """The headings of a page, as they appear after # in links."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(pages, runner):
    for path, text in pages.items():
        for link in re.findall(r"\]\(([^)]*)\)", text):
            if re.match(r"[a-z]*:", link):
                continue
            name, _, heading = link.partition("#")
            file = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if not os.path.exists(os.path.join(TOP, file)):
                runner.failures.append(f"{path}: no file for the link {link}")
            elif heading and heading not in anchors_of(pages.get(file, "")):
                runner.failures.append(f"{path}: no heading for the link {link}")


def examples_of(text):
    """The arguments after the program's name in code, one use a line."""
    code = False
    for line in text.replace("\\\n", " ").split("\n"):
        if line.lstrip().startswith("```"):
            code = not code
        elif code:
            yield from re.findall(r"^(?:\$ )?(?:build/)?sutra ([a-z][^|#]*)", line)
        else:
            yield from re.findall(r"`sutra ([a-z][^`|#]*)`", line)


def check_options(pages, runner):
    helps = {}

    def help_of(words):
        for name in (" ".join(words[:2]), words[0]):
            if name not in helps:
                done = subprocess.run([runner.program, "man"] + name.split(), capture_output=True, text=True, check=False)
                page = re.sub(r"\\f[BIR]", "", done.stdout).replace("\\-", "-")
                helps[name] = page if done.returncode == 0 else None
            if helps[name] is not None:
                return helps[name]
        return None

    for path, text in pages.items():
        for example in examples_of(text):
            words = example.split()
            help_text = help_of(words)
            if help_text is None:
                runner.failures.append(f"{path}: no command '{words[0]}'")
                continue
            for word in words:
                option = re.match(r"--?[a-z][a-z0-9-]*", word)
                if option and not re.search(r"(?:^|[ ,])" + re.escape(option.group()) + r"(?:[ ,]|$)", help_text, re.MULTILINE):
                    runner.failures.append(f"{path}: {words[0]} has no option {option.group()}")


def check_directories(runner):
    """The list of directories in docs/architecture.md and the one in tests/house.py have the same order."""
    with open(os.path.join(TOP, "docs", "architecture.md"), encoding="utf-8") as file:
        section = file.read().partition("\n## Layers\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.split("\n") if line.startswith("| `")]
    documented = [name for row in rows for name in re.findall(r"`([a-z_]+)/`", row)]
    with open(os.path.join(TOP, "tests", "house.py"), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    (floors,) = [ast.literal_eval(node.value) for node in tree.body
                 if isinstance(node, ast.Assign) and node.targets[0].id == "FLOORS"]
    checked = [name for floor in floors for name in floor if "/" not in name and name != "cuda"]
    if documented != checked:
        runner.failures.append(f"docs/architecture.md: directories {documented}, tests/house.py: {checked}")


def check_functions(pages, runner):
    """The functions that docs/architecture.md lists behind a file, `host/read/source.c`: `source_read()`, are in the file."""
    for path, function in re.findall(r"`((?:host|cuda)/[a-z_0-9/.]+)`: `(\w+)\(\)`", pages["docs/architecture.md"]):
        with open(os.path.join(TOP, path), encoding="utf-8") as file:
            if not re.search(rf"^\w.*\b{function}\(", file.read(), re.MULTILINE):
                runner.failures.append(f"docs/architecture.md: {path} does not define {function}()")


def check_records(runner):
    """The tables of docs/job-records.md have the lines of the reader in host/job/record.c, with their numbers of fields."""
    with open(os.path.join(TOP, "docs", "job-records.md"), encoding="utf-8") as file:
        section = file.read().partition("\n## Records\n")[2].partition("\n## ")[0]
    documented = [(words[0], len(words) - 1) for words in map(str.split, re.findall(r"^\| `([^`]*)`", section, re.MULTILINE))]
    with open(os.path.join(TOP, "host", "job", "record.c"), encoding="utf-8") as file:
        forms = re.findall(r'\[(?:RECORD|PLAN)_\w+\] = \{"(\w+)", "([a-z?]*)"', file.read())
    checked = [(word, len(fields.replace("?", ""))) for word, fields in forms]
    if documented != checked:
        runner.failures.append(f"docs/job-records.md: lines {documented}, host/job/record.c: {checked}")


def markdown_files():
    for folder, folders, names in os.walk(TOP):
        folders[:] = [name for name in folders if not name.startswith((".", "build"))]
        yield from (os.path.relpath(os.path.join(folder, name), TOP) for name in names if name.endswith(".md"))


def main():
    arguments = sys.argv[1:]
    update = "--update" in arguments
    named = [name for name in arguments if name != "--update"]
    if not os.environ.get("SUTRA"):
        print("the program was not built")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(update, folder)
        pages = {}
        for path in sorted(markdown_files()):
            with open(os.path.join(TOP, path), encoding="utf-8") as file:
                pages[path] = file.read()
        if not named:
            check_links(pages, runner)
            check_options(pages, runner)
            check_directories(runner)
            check_functions(pages, runner)
            check_records(runner)
        found = [os.path.relpath(path, TOP) for pattern in RUN_PAGES for path in sorted(glob.glob(os.path.join(TOP, pattern)))]
        for path in named or found:
            Page(path, runner).run()
        print("\n".join(runner.skipped + runner.failures))
        print(f"{len(named or found)} pages, {len(runner.failures)} failures")
        return 1 if runner.failures else 0


sys.exit(main())
