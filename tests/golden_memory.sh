# Results of `sutra analyze memory` equal those of the reference model, for any number of threads.
#
# A case is a folder with case.json (input, exit code), the input, and expected.json, of which every key must have the
# same value in the program's JSON; real numbers may differ by 0.006. $DATA may name another folder of cases.
set -u
command -v python3 >/dev/null || { echo "needs the program python3"; exit 77; }
exec python3 - "$SUTRA" "${DATA:-tests/data}/memory" <<'END'
import json, os, subprocess, sys

sutra, data = sys.argv[1:]
n_checks, failed = 0, []


def differences(path, expected, got):
    if isinstance(expected, dict):
        if not isinstance(got, dict):
            return [f"{path}: not an object"]
        return [d for k in expected for d in differences(f"{path}.{k}", expected[k], got.get(k, "(absent)"))]
    if isinstance(expected, list):
        if not isinstance(got, list) or len(got) != len(expected):
            return [f"{path}: not a list of {len(expected)} rows"]
        return [d for i, e in enumerate(expected) for d in differences(f"{path}[{i}]", e, got[i])]
    if isinstance(expected, float) and isinstance(got, (int, float)) and not isinstance(got, bool):
        return [] if abs(expected - got) <= 0.006 else [f"{path}: {got}, expected {expected}"]
    same = expected == got and isinstance(expected, bool) == isinstance(got, bool)
    return [] if same else [f"{path}: {got!r}, expected {expected!r}"]


for name in sorted(os.listdir(data)):
    folder = os.path.join(data, name)
    case = json.load(open(os.path.join(folder, "case.json")))
    words = [sutra, "analyze", "memory", os.path.join(folder, case["input"]), "--format", "json"]
    if "against" in case:
        words += ["--against", os.path.join(folder, case["against"])]
    for threads in ("1", "3"):
        n_checks += 1
        done = subprocess.run(words + ["--threads", threads], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != case["exit"]:
            failed.append(f"{name}: exit code {done.returncode}, {done.stderr.decode()}")
        elif case["exit"]:
            if done.stdout or done.stderr.count(b"\n") != 1:
                failed.append(f"{name}: expected one line on standard error")
        else:
            expected = json.load(open(os.path.join(folder, "expected.json")))
            failed += [f"{name}{d}" for d in differences("", expected, json.loads(done.stdout))[:3]]

for line in failed:
    print("FAILED", line)
print(f"{n_checks} checks, {len(failed)} failed")
sys.exit(n_checks == 0 or len(failed) > 0)
END
