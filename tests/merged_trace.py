#!/usr/bin/env python3
"""merged_trace.py TRACE...: writes the device traces of several ranks as one trace, whose pids have the rank as prefix:
"[TP01] 4001", as SGLang's merged traces have."""
import json
import sys

events = []
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    for event in trace["traceEvents"]:
        event["pid"] = f"[TP{trace['distributedInfo']['rank']:02}] {event['pid']}"
        events.append(event)
print(json.dumps({"traceEvents": events}))
