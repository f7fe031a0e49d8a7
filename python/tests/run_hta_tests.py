"""Runs tests of Holistic Trace Analysis with pysutra.hta.TraceAnalysis in place of HTA's own class.

    python python/tests/run_hta_tests.py FOLDER [TEST_FILE...]     FOLDER: a checkout of HTA; needs pysutra and HTA's dependencies

Each test runs twice: with HTA's class, and with sutra's. Tests that fail with HTA itself (a trace is missing in the checkout,
a newer pandas) are listed and not counted. The exit status is 1 if a test passes with HTA and fails with sutra.
"""

import gzip
import json
import os
import subprocess
import sys
from unittest import mock

TESTS = ("tests/test_trace_analysis.py", "tests/test_cupti_profiler.py")


def replace_trace_analysis():
    """Replaces HTA's class by sutra's, with the rules of the checkout's version."""
    import hta.common.trace
    import hta.trace_analysis
    from hta.version import __version_tuple__

    import pysutra.hta

    class TraceAnalysis(pysutra.hta.TraceAnalysis):
        def __init__(self, *args, **options):
            super().__init__(*args, hta_version="%d.%d" % __version_tuple__[:2], **options)

        def generate_trace_with_counters(self, time_series=None, ranks=None, output_suffix="_with_counters"):
            super().generate_trace_with_counters(time_series, ranks, output_suffix)
            for rank in ranks or [0]:
                hand_over(self.trace_files[rank].replace(".json", f"{output_suffix}.json"))

        def get_frequent_cuda_kernel_sequences(self, operator_name, output_dir, min_pattern_len=3, rank=0, **options):
            frame = super().get_frequent_cuda_kernel_sequences(operator_name, output_dir, min_pattern_len, rank, **options)
            hand_over(os.path.join(output_dir, "overlaid_" + os.path.basename(self.trace_files[rank])))
            return frame

    def hand_over(path):
        """Moves a file that sutra wrote to the test's mock of HTA's writer."""
        writer = hta.common.trace.Trace.write_raw_trace
        if isinstance(writer, mock.Mock) and os.path.exists(path):
            with (gzip.open if path.endswith("gz") else open)(path, "rt", encoding="utf-8") as file:
                content = json.load(file)
            os.remove(path)
            writer(path, content)

    hta.trace_analysis.TraceAnalysis = TraceAnalysis
    hta.trace_analysis.TimeSeriesTypes = pysutra.hta.TimeSeriesTypes


class Outcomes:
    """Collects which tests passed."""

    def __init__(self):
        self.passed = {}

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rsplit("::", 1)[-1]
        self.passed[name] = self.passed.get(name, True) and report.passed


def run_tests(which, tests, path):
    """One run, in a process of its own: the working directory is the checkout."""
    import pytest

    sys.path.insert(0, os.getcwd())
    if which == "sutra":
        replace_trace_analysis()
    outcomes = Outcomes()
    pytest.main(["-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short", *tests], plugins=[outcomes])
    with open(path, "w", encoding="utf-8") as file:
        json.dump(outcomes.passed, file)


def main(folder, *tests):
    passed = {}
    for which in ("hta", "sutra"):
        path = os.path.abspath(f"hta_tests_{which}.{os.getpid()}.json")
        command = [sys.executable, os.path.abspath(__file__), "--run", which, path, *(tests or TESTS)]
        log = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
        if not os.path.exists(path):
            sys.exit(log.stdout)
        with open(path, encoding="utf-8") as file:
            passed[which] = json.load(file)
        os.remove(path)
        if which == "sutra":
            print(log.stdout)
    runnable = [name for name, ok in passed["hta"].items() if ok]
    failed = [name for name in runnable if not passed["sutra"].get(name)]
    print("\n".join(f"not counted, fails with HTA: {name}" for name, ok in passed["hta"].items() if not ok))
    print(f"{len(runnable) - len(failed)} of {len(runnable)} tests that pass with HTA pass with sutra")
    return 1 if failed or not runnable else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--run":
        run_tests(sys.argv[2], sys.argv[4:], sys.argv[3])
    else:
        sys.exit(main(*sys.argv[1:]))
