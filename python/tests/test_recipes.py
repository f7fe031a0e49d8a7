"""The recipes of docs/python.md give what they say."""

import doctest
import importlib
import inspect
import os
import pkgutil

import pytest
from conftest import TOP

import pysutra


def public_of(module):
    """Its public functions and classes, and the methods of these, with their names."""
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(thing) or inspect.isclass(thing):
            yield f"{module.__name__}.{name}", thing
        for inner, method in vars(thing).items() if inspect.isclass(thing) else ():
            method = getattr(method, "fget", method)
            if inspect.isfunction(method) and not inner.startswith("_"):
                yield f"{module.__name__}.{name}.{inner}", method


def test_public_names_have_docstrings_and_types():
    modules = [pysutra] + [importlib.import_module(f"pysutra.{found.name}") for found in pkgutil.iter_modules(pysutra.__path__)
                           if found.name != "_core"]
    things = [pair for module in modules for pair in public_of(module)]
    assert len(things) > 100
    assert not [name for name, thing in things if not thing.__doc__]
    assert not [name for name, thing in things if inspect.isfunction(thing) and "return" not in thing.__annotations__]


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
