"""The recipes of docs/python.md give what they say."""

import doctest
import os

import pytest
from conftest import TOP


@pytest.mark.filterwarnings("ignore::pysutra.SutraWarning")
def test_recipes(monkeypatch):
    monkeypatch.chdir(TOP)
    with open(os.path.join("docs", "python.md"), encoding="utf-8") as file:
        text = "\n".join("" if line.startswith("```") else line for line in file.read().split("\n"))
    test = doctest.DocTestParser().get_doctest(text, {}, "python.md", "docs/python.md", 0)
    assert len(test.examples) > 20
    said = []
    doctest.DocTestRunner().run(test, out=said.append)
    assert not said, "".join(said)
