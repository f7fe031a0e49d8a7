"""The Python examples of the documentation run; every public function is documented and typed."""

import importlib
import inspect
import os
import pkgutil
import subprocess
import sys

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


def test_documentation_examples():
    program = os.path.join(os.path.dirname(pysutra.__file__), "bin", "sutra")
    run = subprocess.run([sys.executable, "tests/docs_blocks.py", "README.md", "docs/python.md"], cwd=TOP, text=True,
                         env=dict(os.environ, SUTRA=program), stdout=subprocess.PIPE, check=False)
    assert run.returncode == 0, run.stdout
    assert "needs pysutra" not in run.stdout, run.stdout
