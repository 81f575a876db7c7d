"""Write the types of the async face, src/rowlock/aio/__init__.pyi, from the source of the plain classes.

The face is made while the program runs, where no type checker looks. With --check nothing is written; the exit status
tells whether the file is what it should be.
"""

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rowlock import aio
from rowlock.aio.faces import Colour, async_name

STUB = Path(__file__).parents[1] / "src" / "rowlock" / "aio" / "__init__.pyi"
FACES = [getattr(aio, name) for name in aio.__all__]
RENAMED = {face._plain_class.__name__: face.__name__ for face in FACES}

HEAD = '''"""Types of the async face, written by tools/stubs.py from the plain classes. Not to be changed by hand."""
'''
# What the plain constructors keep in sight.
ATTRIBUTES = {
    "Claim": {"taken": "ClaimedItems"},
    "Counter": {"name": "str"},
    "Engine": {"database": "Database", "environment": "Environment"},
    "Grouped": {},
    "List": {"name": "str"},
    "Schedule": {"name": "str"},
    "RedisCounters": {},
    "Session": {
        "closing": "threading.Event",
        "holder": "str",
        "id": "str",
        "lost": "threading.Event",
    },
    "Tokens": {},
    "Topic": {"name": "str"},
    "Transaction": {},
}
IMPORTS = {
    "AbstractAsyncContextManager": "from contextlib import AbstractAsyncContextManager",
    "AsyncGenerator": "from collections.abc import AsyncGenerator",
    "Database": "from rowlock.db import Database",
    "Self": "from typing import Self",
    "ClaimedItems": "from rowlock.claims import ClaimedItems",
    "asyncio": "import asyncio",
    "threading": "import threading",
}


class Renaming(ast.NodeTransformer):
    """Types as the face gives them: its own classes, also where they were in quotes."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """A class of ours."""
        return ast.Name(RENAMED.get(node.id, node.id))

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """A type in quotes."""
        return self.visit(ast.parse(node.value, mode="eval").body) if isinstance(node.value, str) else node


class Source:
    """A plain class as it is written, and what its module calls things."""

    def __init__(self, face: type) -> None:
        self.face = face
        self.plain: type = face._plain_class  # type: ignore[attr-defined]
        ours = [each for each in self.plain.__mro__ if each.__module__.startswith("rowlock.")]
        self.modules = {each: ast.parse(inspect.getsource(sys.modules[each.__module__])) for each in ours}
        self.nodes = [_class(module, each.__name__) for each, module in self.modules.items()]
        self.node = self.nodes[0]

    def imports(self) -> dict[str, str]:
        """Every name that the class's modules know, with the line that brings it."""
        known = {}
        for kind, module in self.modules.items():
            for node in ast.walk(module):
                if isinstance(node, ast.ImportFrom):
                    known |= {each.name: f"from {node.module} import {each.name}" for each in node.names}
            for node in module.body:
                names = [target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)]
                known |= {name: f"from {kind.__module__} import {name}" for name in names}
        return known

    def attributes(self) -> dict[str, str]:
        """What an instance keeps in sight; a new one must be given its type above."""
        types = ATTRIBUTES[self.plain.__name__]
        seen = {
            node.attr
            for node in ast.walk(self.node)
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and ast.unparse(node.value) == "self"
            and not node.attr.startswith("_")
        }
        if seen != set(types):
            sys.exit(f"{self.plain.__name__} has the attributes {sorted(seen)}: name them in tools/stubs.py")
        return types

    def body(self) -> Iterator[ast.stmt]:
        """The class, statement by statement, as the face has it."""
        if documentation := ast.get_docstring(self.node):
            yield ast.Expr(_documenting(documentation, 1))
        if "__init__" in vars(self.face):
            yield from self.root()
        for name, kind in {"plain": self.plain.__name__, **self.attributes()}.items():
            yield _property(name, kind)
        for node in self.methods():
            if node.name in self.face._colours:  # type: ignore[attr-defined]
                yield self.method(node, self.face._colours[node.name])  # type: ignore[attr-defined]

    def methods(self) -> Iterator[ast.FunctionDef]:
        """The functions of the class, its own and then those that it has from others; each once."""
        seen = set[str]()
        for node in (each for kind in self.nodes for each in kind.body):
            if isinstance(node, ast.FunctionDef) and node.name not in seen:
                seen.add(node.name)
                yield node

    def root(self) -> Iterator[ast.stmt]:
        """What only a face has that users make themselves."""
        functions = (each for each in self.node.body if isinstance(each, ast.FunctionDef))
        yield self.method(next(each for each in functions if each.name == "__init__"), Colour.HERE)
        over = f"@classmethod\ndef over(cls, plain: {self.plain.__name__}) -> Self: ..."
        yield from ast.parse(over).body

    def method(self, node: ast.FunctionDef, colour: Colour) -> ast.stmt:
        """One method's signature, coloured."""
        renaming = Renaming()
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg) and argument.annotation is not None:
                argument.annotation = renaming.visit(argument.annotation)
        returns = _returned(renaming.visit(node.returns or ast.Name("Any")), colour)
        name = async_name(node.name, colour)
        documentation = ast.get_docstring(node)
        line = _documenting(documentation, 2) if documentation else ast.Constant(...)
        kind = ast.AsyncFunctionDef if colour in (Colour.AWAITED, Colour.FINISHED) else ast.FunctionDef
        kept = [each for each in node.decorator_list if ast.unparse(each) == "property"]
        return kind(name, node.args, [ast.Expr(line)], kept, returns)


def _class(module: ast.Module, name: str) -> ast.ClassDef:
    found = (each for each in module.body if isinstance(each, ast.ClassDef))
    return next(each for each in found if each.name == name)


def _documenting(documentation: str, depth: int) -> ast.Constant:
    lines = [*documentation.split("\n"), ""] if "\n" in documentation else [documentation]
    return ast.Constant(f"\n{'    ' * depth}".join(lines))


def _returned(returns: ast.expr, colour: Colour) -> ast.expr:
    inner = returns.slice if isinstance(returns, ast.Subscript) else returns
    match colour:
        case Colour.STEPS:
            return ast.parse(f"AsyncGenerator[{ast.unparse(inner)}]", mode="eval").body
        case Colour.BLOCK:
            return ast.parse(f"AbstractAsyncContextManager[{ast.unparse(inner)}]", mode="eval").body
    return returns


def _property(name: str, kind: str) -> ast.stmt:
    return ast.parse(f"@property\ndef {name}(self) -> {kind}: ...").body[0]


def written() -> str:
    """The stub, formatted as ruff would."""
    classes, imports = [], dict[str, str]()
    for face in FACES:
        source = Source(face)
        made = ast.ClassDef(face.__name__, [], [], list(source.body()), [])
        classes.append(ast.unparse(ast.fix_missing_locations(made)))
        names = {node.id for node in ast.walk(ast.parse(classes[-1])) if isinstance(node, ast.Name)}
        known = {source.plain.__name__: f"from rowlock.engine import {source.plain.__name__}"}
        known |= source.imports() | IMPORTS
        imports = {name: known[name] for name in names if name in known} | imports
    text = "\n".join([HEAD, *sorted(set(imports.values())), f"__all__ = {aio.__all__!r}", *classes])
    for command in (["check", "--quiet", "--fix-only", "--select", "I"], ["format", "--quiet"]):
        ruff = [str(Path(sys.executable).parent / "ruff"), *command, "--stdin-filename", str(STUB), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return text


if __name__ == "__main__":
    if "--check" not in sys.argv:
        STUB.write_text(written())
    elif not STUB.exists() or STUB.read_text() != written():
        sys.exit("the types of the async face are out of date: run python tools/stubs.py")
