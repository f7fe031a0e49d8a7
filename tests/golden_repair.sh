# golden_repair.sh - tests `sutra repair` on a recorded pair: the output is JSON for Python, and only damaged elements
# differ.
#
# In both traces of $DATA/link/torch_mlp_nosync a random byte of a string is replaced, 8 times, and the trace is
# truncated at 4 random offsets (seeded). Undamaged traces must not change.
set -u
command -v python3 >/dev/null || { echo "needs the program python3"; exit 77; }
exec python3 - "$SUTRA" "${DATA:-tests/data}" <<'END'
import glob, gzip, json, os, random, re, subprocess, sys, tempfile

sutra, data = sys.argv[1:]
n_checks, n_refused, n_repaired, failed = 0, 0, 0, []


def repair(text):
    """What is written, or None where the trace is refused."""
    done = subprocess.run([sutra, "repair", "-", "-q"], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout if done.returncode == 0 else None


def elements(text):
    trace = json.loads(text)
    return [json.dumps(e) for e in trace["traceEvents" if "traceEvents" in trace else "nodes"]]


def check(name, good):
    global n_checks
    n_checks += 1
    if not good:
        failed.append(name)


def lost(before, after):
    """How many elements of `before` are not in `after`."""
    there = set(after)
    return sum(e not in there for e in before)


def damage(name, text, before, strings, rng):
    global n_refused, n_repaired
    begin, end = rng.choice(strings)
    at = rng.randrange(begin, end)
    with_ = bytes([rng.choice(b'"\\\n\x01\xff{}[],:x')])
    broken = text[:at] + with_ + text[at + 1:]
    good = repair(broken)
    n_refused += good is None
    if good is None:
        return
    n_repaired += good != broken
    after = elements(good)
    check(f"{name}: byte {at}, now {with_}: {lost(before, after)} lost", lost(before, after) <= 2)
    check(f"{name}: byte {at}, now {with_}: again", repair(good) == good)


def cut(name, text, before, rng):
    at = rng.randrange(len(text) // 3, len(text))
    good = repair(text[:at])
    if good is not None:
        after = elements(good)
        check(f"{name}: cut at {at}", after == before[:len(after)])


for path in sorted(glob.glob(f"{data}/link/torch_mlp_nosync/*.json.gz")):
    name, rng = os.path.relpath(path, data), random.Random(7)
    text = gzip.open(path).read()
    before = elements(text)
    strings = [m.span() for m in re.finditer(rb'"(?:[^"\\\n]|\\.)*"', text)]
    check(f"{name}: as it is", repair(text) == text)
    for _ in range(8):
        damage(name, text, before, strings, rng)
    for _ in range(4):
        cut(name, text, before, rng)
print(f"{n_checks} checks, {n_repaired} mended, {n_refused} refused, {len(failed)} failed", *failed[:9], sep="\n")
sys.exit(bool(failed) or n_checks == 0)
END
