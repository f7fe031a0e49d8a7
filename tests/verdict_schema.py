"""Checks `sutra analyze --format json` against the schema in docs/findings.md, and the verdict's arithmetic.

    python3 tests/verdict_schema.py docs/findings.md FILE.json...     prints one line per error; the exit status is then 1

A line of the schema is a path and its members; [] marks a list of objects, ? an optional member. Objects whose members are
not listed (numbers, phases, unexplained) are free.
"""
import json
import re
import sys


def schema_of(page):
    """{path: (is a list, required members, optional members)} of the page's block."""
    text = re.search(r"<!-- schema -->\n```text\n(.*?)```", open(page, encoding="utf-8").read(), re.DOTALL)[1]
    schema = {}
    for line in text.splitlines():
        words = line.split()
        if not line.startswith(" "):
            path = words.pop(0)
            is_list = words[:1] == ["[]"]
            words = words[1:] if is_list else words
            schema[path] = (is_list, set(), set())
        schema[path][1].update(word for word in words if not word.endswith("?"))
        schema[path][2].update(word[:-1] for word in words if word.endswith("?"))
    return schema


def values_at(document, path):
    """All values at a dotted path; lists on the way are walked."""
    found = [document]
    for name in path.split("."):
        items = [item for value in found for item in (value if isinstance(value, list) else [value])]
        found = [item[name] for item in items if isinstance(item, dict) and name in item]
    return [value for value in found if value is not None]


def check(document, schema):
    for path, (is_list, required, optional) in schema.items():
        for value in values_at(document, path):
            if isinstance(value, list) != is_list:
                yield f"{path}: {'a' if is_list else 'no'} list expected"
                continue
            for item in value if is_list else [value]:
                keys = set(item)
                if not required <= keys <= required | optional:
                    yield f"{path}: missing {sorted(required - keys)}, unknown {sorted(keys - required - optional)}"
    top = {path.split(".")[0] for path in schema}
    if set(document) != top:
        yield f"members {sorted(document)}, not {sorted(top)}"
    verdict, findings = document["verdict"], document["findings"]
    if (verdict["kind"] == "steps") != ("shares" in verdict):
        yield "shares: only with steps"
    if "shares" in verdict:
        if abs(sum(verdict["shares"].values()) - 100) > 0.001:
            yield f"shares add up to {sum(verdict['shares'].values())}"
        steps = [verdict["step_us"]] + [fix["step_us"] for fix in verdict["achievable"]]
        if steps != sorted(steps, reverse=True):
            yield f"achievable steps ascend: {steps}"
        savings = [finding["rule"] for finding in findings if finding["saving_percent"] is not None]
        savings.sort(key=lambda rule: rule == "host_gaps")  # its cause is unknown
        if [fix["fixed"] for fix in verdict["achievable"]] != [savings[: i + 1] for i in range(len(savings))]:
            yield "achievable: not the findings in their order"
        rest = 100 - verdict["shares"]["compute"]
        if not -0.001 <= verdict["unexplained_percent"] <= rest + 0.001:
            yield f"unexplained {verdict['unexplained_percent']} of {rest}"
    for finding in findings:
        if any(ord(letter) > 126 for letter in finding["text"]):
            yield f"{finding['rule']}: not ASCII"
        if finding["rule"] == "no_kernels":  # its evidence names the remedies
            continue
        evidence, sentences = finding["evidence"], re.split(r"(?<=[a-z%)])\. ", finding["seen"])
        if evidence and not 0 <= evidence["from_us"] < evidence["to_us"] <= evidence["from_us"] + 60000:
            yield f"{finding['rule']}: range {evidence['from_us']} to {evidence['to_us']}"
        if any(len(sentence.split()) > 30 for sentence in sentences) or len(sentences) > 4:
            yield f"{finding['rule']}: long evidence: {finding['seen']}"
        if not finding["do"] or not finding["check"]["metric"] or not finding["check"]["now"]:
            yield f"{finding['rule']}: no remedy, or nothing to check"
    for command in document["next"]:
        if re.search(r"\bTRACE\b", command["command"]):
            yield f"next: {command['command']}"


if __name__ == "__main__":
    errors = []
    for name in sys.argv[2:]:
        with open(name, encoding="utf-8") as file:
            errors += [f"{name}: {error}" for error in check(json.load(file), schema_of(sys.argv[1]))]
    print("\n".join(errors))
    sys.exit(bool(errors))
