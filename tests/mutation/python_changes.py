"""Changes of Python: other operators, turned conditions, other constants, and statements left out."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.mutation.changes import Change

OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
}
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.NamedExpr)
"""Conditions without an operator of their own: they are turned."""

Span = tuple[int, int]
Found = Iterator[tuple[Span, str]]


def changes(source: str) -> list[Change]:
    """Return the changes of the functions of a module; constants of the module and defaults are left alone."""
    return _Changes(source).found()


class _Changes:
    def __init__(self, source: str) -> None:
        self._source = source
        self._bytes = source.encode()
        lines = self._bytes.splitlines(keepends=True)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))

    def found(self) -> list[Change]:
        spans: dict[tuple[Span, str], None] = {}
        for function in ast.walk(ast.parse(self._source)):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for statement in function.body:
                    spans.update(dict.fromkeys(self._of(statement)))
        return [Change.of(self._source, span, new) for span, new in sorted(spans)]

    def _of(self, node: ast.AST) -> Found:
        if isinstance(node, ast.JoinedStr | ast.Raise | ast.FunctionDef | ast.ClassDef):
            return  # what errors say is for people; functions inside are found by themselves
        yield from self._here(node)
        children = [node.value] if isinstance(node, ast.AnnAssign) and node.value else ast.iter_child_nodes(node)
        for child in children:
            yield from self._of(child)

    def _operators(self, node: ast.AST) -> Found:
        match node:
            case ast.Compare():
                yield from self._between([node.left, *node.comparators], node.ops)
            case ast.BoolOp():
                yield from self._between(node.values, [node.op] * len(node.values))
            case ast.BinOp():
                yield from self._between([node.left, node.right], [node.op])
            case ast.AugAssign():
                yield from self._between([node.target, node.value], [node.op])

    def _here(self, node: ast.AST) -> Found:
        yield from self._operators(node)
        match node:
            case ast.UnaryOp(op=ast.Not() | ast.USub()) if not isinstance(node.operand, ast.Constant):
                start = self._span(node)[0]
                yield (start, start + (3 if isinstance(node.op, ast.Not) else 1)), ""
            case ast.Constant():
                yield from self._constant(node)
            case ast.Name(id=name) if name in FUNCTIONS:
                yield self._span(node), FUNCTIONS[name]
            case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Subscript()]) | ast.Delete():
                yield self._span(node), "pass"
            case ast.If() | ast.IfExp() | ast.While() | ast.comprehension():
                conditions = node.ifs if isinstance(node, ast.comprehension) else [node.test]
                plain = [each for each in conditions if isinstance(each, PLAIN)]
                yield from ((self._span(each), f"not ({self._text(each)})") for each in plain)

    def _between(
        self, operands: list[ast.expr], operators: list[ast.cmpop] | list[ast.boolop] | list[ast.operator]
    ) -> Found:
        for (left, right), operator in zip(pairwise(operands), operators, strict=False):
            if type(operator) not in OPERATORS:
                continue
            old, new = OPERATORS[type(operator)]
            start, end = self._span(left)[1], self._span(right)[0]
            place = re.search(rf"(?<![\w<>=!]){re.escape(old)}(?![\w])", self._source[start:end])
            if place:
                yield (start + place.start(), start + place.end()), new

    def _constant(self, node: ast.Constant) -> Found:
        if isinstance(node.value, bool):
            yield self._span(node), str(not node.value)
        elif isinstance(node.value, int):
            yield self._span(node), str(node.value + 1)

    def _span(self, node: ast.stmt | ast.expr) -> Span:
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        return len(self._bytes[:start].decode()), len(self._bytes[:end].decode())

    def _text(self, node: ast.expr) -> str:
        return self._source[slice(*self._span(node))]
