"""Write the async handles, src/rowlock/aio/_generated.py, from the source of the plain ones.

With --check nothing is written; the exit status says whether the file is what it should be.
"""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

from rowlock import engine
from rowlock.engine import Engine

TARGET = Path(__file__).parents[1] / "src" / "rowlock" / "aio" / "_generated.py"
NAMES = [name for name in engine.__all__ if name != "BatchedFunction"]
# Methods that call no database, and so are called directly instead of in a thread.
DIRECT = {
    "Claim": {"__iter__", "done", "fail", "move", "retry", "say"},
    "Engine": {"acting", "counter", "rejoin", "schedule", "session", "topic"},
    "Grouped": {"ask", "awaited", "counter", "together"},
    "RedisCounters": {"counter"},
    "Tokens": {"recall"},
    "Transaction": {"counter", "schedule", "topic"},
}
DUNDERS = ("__enter__", "__exit__", "__getitem__", "__iter__", "__len__")
# The types of public attributes that are not parameters of the constructor.
ATTRIBUTES = {
    "closing": "threading.Event",
    "database": "Database",
    "holder": "str",
    "id": "str",
    "lost": "threading.Event",
}
IMPORTS = {
    "AbstractAsyncContextManager": "from contextlib import AbstractAsyncContextManager",
    "AsyncGenerator": "from collections.abc import AsyncGenerator",
    "Database": "from rowlock.db import Database",
    "asyncio": "import asyncio",
    "threading": "import threading",
    **{name: f"from rowlock.engine import {name}" for name in NAMES},
    **{name: f"from rowlock.aio.handle import {name}" for name in ("AsyncHandle", "AsyncThreadPool", "plain", "same")},
}
HEAD = '''"""Async handles, written by tools/async_handles.py from the plain ones. Not to be changed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING
'''

_HANDLE = re.compile(rf"\b({'|'.join(NAMES)})\b")


class PlainClass:
    """A plain handle as it is written, with the classes of ours that it inherits from."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.plain: type = getattr(engine, name)
        self.is_root = self.plain is Engine
        ours = [each for each in self.plain.__mro__ if each.__module__.startswith("rowlock.")]
        self.modules = {each.__module__: ast.parse(inspect.getsource(sys.modules[each.__module__])) for each in ours}
        self.nodes = [_class(self.modules[each.__module__], each.__name__) for each in ours]

    def imports(self) -> dict[str, str]:
        """Return every name that the class's modules know, with the line that imports it."""
        known = {}
        for module_name, module in self.modules.items():
            for node in ast.walk(module):
                if isinstance(node, ast.ImportFrom):
                    known |= {each.name: f"from {node.module} import {each.name}" for each in node.names}
            for node in module.body:
                names = [target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)]
                names += [node.name] if isinstance(node, ast.ClassDef) else []
                known |= {name: f"from {module_name} import {name}" for name in names}
        return known

    def written(self) -> str:
        """Return the source of the async class."""
        members = [*self._attributes(), *self._methods()]
        if self.is_root:
            members = ["_ends_threads = True", self._constructor(), *members]
        body = "\n\n".join([_docstring(self.nodes[0]), *members])
        return f"class Async{self.name}(AsyncHandle[{self.name}]):\n{indent(body, '    ')}\n"

    def _constructor(self) -> str:
        methods = (each for each in self.nodes[0].body if isinstance(each, ast.FunctionDef))
        node = next(each for each in methods if each.name == "__init__")
        made = f"{self.name}({_passed(node.args, handles=())})"
        return f"def __init__({_declared(node.args, handles=())}) -> None:\n    self._bind({made}, AsyncThreadPool())"

    def _attributes(self) -> Iterator[str]:
        inside = [each for node in self.nodes for each in ast.walk(node)]
        constructors = [each for each in inside if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        parameters = [each for node in constructors for each in [*node.args.args, *node.args.kwonlyargs]]
        types = {each.arg: _type(each.annotation) for each in parameters}
        seen = {
            node.attr
            for node in inside
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and ast.unparse(node.value) == "self"
            and not node.attr.startswith("_")
        }
        for name in sorted(seen):
            kind = types.get(name) if name in types else ATTRIBUTES.get(name)
            if kind is None:
                sys.exit(f"{self.name} has the attribute {name}: name its type in tools/async_handles.py")
            yield f"@property\ndef {name}(self) -> {kind}:\n    return self._plain.{name}"

    def _methods(self) -> Iterator[str]:
        seen = set[str]()
        for node in (each for kind in self.nodes for each in kind.body):
            public = not getattr(node, "name", "_").startswith("_") or getattr(node, "name", "") in DUNDERS
            if isinstance(node, ast.FunctionDef) and public and node.name not in seen:
                seen.add(node.name)
                yield Method(self.name, node).written()


class Method:
    """A method or property of a plain handle, and how the async one calls it."""

    def __init__(self, owner: str, node: ast.FunctionDef) -> None:
        self.owner = owner
        self.name = node.name
        self.documentation = _docstring(node)
        self.decorators = {ast.unparse(each) for each in node.decorator_list}
        self.returns = _type(node.returns)
        self.handles = [each.arg for each in _parameters(node.args) if _may_be_handle(each)]
        self.declared = _declared(node.args, handles=self.handles)
        self.call = self._call(_passed(node.args, handles=self.handles))
        self.is_generator = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node))

    @property
    def work(self) -> str:
        """The call as a function without arguments."""
        return self.call.removesuffix("()") if self.call.endswith(f".{self.name}()") else f"lambda: {self.call}"

    def _call(self, passed: str) -> str:
        match self.name:
            case "__getitem__":
                return f"self._plain[{passed}]"
            case "__iter__":
                return "iter(self._plain)"
            case "__len__":
                return "len(self._plain)"
        return f"self._plain.{self.name}" if "property" in self.decorators else f"self._plain.{self.name}({passed})"

    def written(self) -> str:
        """Return the source of the async method."""
        if "property" in self.decorators:
            return self._function("@property\ndef", _async(self.returns), self._viewed(self.call))
        if self.name in ("__getitem__", "__len__") or self.name in DIRECT.get(self.owner, ()):
            return self._function("def", _async(self.returns), self._viewed(self.call))
        if "contextmanager" in self.decorators:
            inner = _inner(self.returns)
            block = f"return self._block({self.work}, {_view(inner)})"
            return self._function("def", f"AbstractAsyncContextManager[{_async(inner)}, bool | None]", [block])
        if self.is_generator or self.name == "__iter__":
            inner = _inner(self.returns)
            steps = f"return self._iterate({self.work}, {_view(inner)})"
            return self._function("def", f"AsyncGenerator[{_async(inner)}, None]", [steps])
        if self.name in ("__exit__", "close"):
            return self._function("async def", "None", [f"await self._finish({self.work})"])
        given = "".join(f", {handle}" for handle in self.handles)
        awaited = f"await self._run({self.work}{given})"
        return self._function("async def", _async(self.returns), self._viewed(awaited))

    def _function(self, kind: str, returns: str, body: list[str]) -> str:
        name = {"__enter__": "__aenter__", "__exit__": "__aexit__"}.get(self.name, self.name)
        if self.name == "__iter__" and "AsyncGenerator" in returns:
            name = "__aiter__"
        lines = [self.documentation, *body] if self.documentation else body
        return f"{kind} {name}({self.declared}) -> {returns}:\n{indent(chr(10).join(lines), '    ')}"

    def _viewed(self, call: str) -> list[str]:
        """Return the lines that give what the call returns, a handle as an async one."""
        plain, _, optional = self.returns.partition(" | ")
        if plain == "None":
            return [call]
        if plain == self.owner:
            return [call, "return self"]
        if plain not in NAMES:
            return [f"return {call}"]
        if optional:
            return [f"found = {call}", f"return None if found is None else Async{plain}._view(found, self._threads)"]
        return [f"return Async{plain}._view({call}, self._threads)"]


def _class(module: ast.Module, name: str) -> ast.ClassDef:
    return next(each for each in module.body if isinstance(each, ast.ClassDef) and each.name == name)


def _docstring(node: ast.ClassDef | ast.FunctionDef) -> str:
    text = ast.get_docstring(node) or ""
    return f'"""{text}\n"""' if "\n" in text else f'"""{text}"""' if text else ""


def _type(annotation: ast.expr | None) -> str:
    """Return a type as text, without quotes: no annotation of the written module is evaluated."""
    return "Any" if annotation is None else re.sub(r"""["'](?=\w)|(?<=[\w\]])["']""", "", ast.unparse(annotation))


def _async(kind: str) -> str:
    return _HANDLE.sub(r"Async\1", kind)


def _inner(kind: str) -> str:
    """Return what an iterator or a context gives: the type within the brackets."""
    return kind[kind.index("[") + 1 : kind.rindex("]")]


def _view(kind: str) -> str:
    return f"Async{kind}._view" if kind in NAMES else "same"


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _may_be_handle(parameter: ast.arg) -> bool:
    parts = _type(parameter.annotation).split(" | ")
    return parameter.arg == "using" or any(part in NAMES for part in parts)


def _declared(arguments: ast.arguments, *, handles: list[str] | tuple[()]) -> str:
    for each in ast.walk(arguments):
        if isinstance(each, ast.arg) and each.annotation is not None:
            kind = _type(each.annotation)
            each.annotation = ast.Name(_async(kind) if each.arg in handles else kind)
    return ast.unparse(arguments)


def _passed(arguments: ast.arguments, *, handles: list[str] | tuple[()]) -> str:
    def value(name: str) -> str:
        return f"plain({name})" if name in handles else name

    passed = [value(each.arg) for each in [*arguments.posonlyargs, *arguments.args][1:]]
    passed += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    passed += [f"{each.arg}={value(each.arg)}" for each in arguments.kwonlyargs]
    passed += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    return ", ".join(passed)


def _names(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def _evaluated(source: str) -> set[str]:
    """Return the names that are needed when the module is imported or runs, and not in annotations alone."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    return _names(ast.unparse(tree))


def written() -> str:
    """Return the module, formatted by ruff."""
    classes = {name: PlainClass(name) for name in NAMES}
    sources = {name: plain.written() for name, plain in classes.items()}
    known = dict[str, str]()
    for name, plain in classes.items():
        # A name is looked up in the modules of the class that uses it: elsewhere it may mean something else.
        found = plain.imports() | IMPORTS
        known |= {each: found[each] for each in _names(sources[name]) if each in found}
    source = "\n\n".join(sources.values())
    runtime = {known[name] for name in known.keys() & _evaluated(source)}
    typing = set(known.values()) - runtime
    imports = "\n".join([*sorted(runtime), "if TYPE_CHECKING:", *(f"    {line}" for line in sorted(typing))])
    public = f"__all__ = {[f'Async{name}' for name in NAMES]}"
    text = f"{HEAD}\n{imports}\n\n{public}\n\n\n{source}"
    for command in (["check", "--quiet", "--fix-only", "--select", "F401,I"], ["format", "--quiet"]):
        ruff = [str(Path(sys.executable).parent / "ruff"), *command, "--stdin-filename", str(TARGET), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return text


if __name__ == "__main__":
    if "--check" not in sys.argv:
        TARGET.write_text(written())
    elif not TARGET.exists() or TARGET.read_text() != written():
        sys.exit("the async handles are out of date: run python tools/async_handles.py")
