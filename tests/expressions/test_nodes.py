"""The tree as a tree: text and back, equality, copies."""

import copy
import pickle

import pytest
from expression_trees import any_trees
from hypothesis import given, settings

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Number, Operation, names, parse, substitute, text


@settings(deadline=None)
@given(any_trees)
def test_text_parses_back_to_the_same_tree(tree):  # property
    assert parse(text(tree)) == tree


@settings(deadline=None)
@given(any_trees)
def test_copies_are_equal_and_hash_alike(tree):  # property
    for twin in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert twin == tree
        assert hash(twin) == hash(tree)


@pytest.mark.parametrize(
    "written",  # by hand: each is as short as Python's precedence allows
    [
        "a + b * c",
        "(a + b) * c",
        "a - (b - c)",
        "a - b - c",
        "-a ** 2",
        "(-a) ** 2",
        "a ** -b",
        "(a ** b) ** c",
        "a ** b ** c",
        "--a",
        "a << (b << c)",
        "a & b | c ^ d",
        "(a | b) & c",
        "not a < b",
        "-(not a)",
        "(a < b) < c",
        "a and b or c",
        "a and (b or c)",
        "a and (b and c)",
        "not (a or b)",
        "where(a < b, a, b) + 1",
        "max(a, b, c + 1)",
        "1e+16 / 0.5",
    ],
)
def test_text_has_no_spare_parentheses(written):
    assert text(parse(written)) == written


def test_negative_numbers_keep_their_value_in_text():
    assert text(Operation("**", (Number(-2), Number(2)))) == "(-2) ** 2"
    assert text(Operation("-", (Number(1), Number(-2)))) == "1 - -2"


def test_integer_and_float_literals_differ():
    assert Number(1) != Number(1.0)
    assert len({Number(1), Number(1.0), Number(1)}) == 2


def test_names_and_substitute():
    tree = parse("threadIdx.x + n * (n - k)")
    assert names(tree) == {"threadIdx.x", "n", "k"}
    assert substitute(tree, {"n": Name("k"), "k": Number(2)}) == parse("threadIdx.x + k * (k - 2)")
    assert substitute(tree, {"other": Number(1)}) is tree


def test_substitute_is_quick_on_shared_parts():
    # 2**60 leaves as a tree, 60 nodes as a graph: only sharing finishes.
    tree = Name("x")
    for _ in range(60):
        tree = substitute(parse("x + x"), {"x": tree})
    other = substitute(tree, {"x": Name("y")})
    assert names(other) == {"y"}
    assert substitute(other, {"y": Name("x")}) == tree
    assert tree.size == 2**61 - 1
    with pytest.raises(PerfmodelError, match="too long to write"):
        text(tree)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Number(True),
        lambda: Number("1"),
        lambda: Number(float("nan")),
        lambda: Number(2**63),
        lambda: Name("a.b"),
        lambda: Name("threadIdx"),
        lambda: Name("lambda"),
        lambda: Name("min"),
        lambda: Name("\u0430"),
        lambda: Name("a b"),
        lambda: Operation("@", (Name("a"), Name("b"))),
        lambda: Operation("+", (Name("a"),)),
        lambda: Operation("min", (Name("a"),)),
    ],
)
def test_nodes_that_could_not_be_written_are_refused(make):
    with pytest.raises(PerfmodelError):
        make()
