"""Text to trees: what the grammar takes, and one line for all that it refuses."""

import warnings

import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Number, Operation, parse

HOSTILE = [
    '__import__("os").system("x")',
    "__import__(os)",
    "().__class__",
    "x.__class__",
    "threadIdx.__class__",
    "threadIdx.x.y",
    "a" * 10_000_000,
    "(" * 5000 + "1" + ")" * 4999,
    "(" * 101 + "1" + ")" * 101,
    "(" * 100 + "a b" + ")" * 100,
    "-" * 5000 + "1",
    "-" * 101 + "1",
    "not " * 2000 + "a",
    "1+" * 4999 + "1",
    "1+" * 9000 + "1",
    "2**" * 1000 + "2",
    "min(1," * 1000 + "1" + ")" * 1000,
    "1 if " * 300 + "1" + " else 1" * 300,
    "a and " * 1600 + "a",
    "x " * 4000,
    "x." * 3000 + "x",
    "9" * 5000,
    "9" * 20,
    "0x" + "f" * 17,
    "1e999",
    "a\0b",
    "lambda: 1",
    "lambda",
    "(x:=1)",
    "1 << 63",
    "1 << -1",
    "x >> 99999999",
    "2**999999",
    "2**-999999",
    "\u0430 + 1",  # Cyrillic a
    "\uff41",  # full-width a, which Python would read as a
    "\u0661",  # an Arabic digit
    "a\u202eb",
    "\x1b[31m",
    "",
    " \n\t ",
    "'x'",
    'f"{x}"',
    "[1]",
    "x[0]",
    "{}",
    "{1: 2}",
    "[x for x in y]",
    "True",
    "None",
    "1j",
    "1.0f",
    "16u",
    "1if x else 2",
    "07",
    "f(x)",
    "min(1)",
    "min(*a)",
    "min(a, b, key=c)",
    "floor(1, 2)",
    "min(1, 2)(3)",
    "(min)(1)",
    "min + 1",
    "a if b",
    "a b",
    "2 x",
    "2(x)",
    "a = 1",
    "a && b",
    "a || b",
    "!a",
    "~a",
    "a ? b : c",
    "a @ b",
    "a is b",
    "a in b",
    "(a, b)",
    "a,",
    "*a",
    "a; b",
    "import os",
    "# x",
    "a \\\n b",
    "(",
    "a)",
    ")(",
    "a +",
    "()",
    "yield",
    "await x",
    "...",
]


def refusal(text, **options):
    with pytest.raises(PerfmodelError) as caught:
        parse(text, **options)
    return str(caught.value)


def test_hostile_text_is_refused_in_one_short_line():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in HOSTILE:
            message = refusal(text, where='access "A" index')
            assert message.startswith('access "A" index: ')
            assert len(message) < 300
            assert message.isprintable()


def test_precedence_is_pythons():  # by hand
    a, b, c = map(Name, "abc")
    product = Operation("*", (b, c))
    assert parse("a + b * c") == Operation("+", (a, product))
    assert parse("-a ** 2") == Operation("neg", (Operation("**", (a, Number(2))),))
    assert parse("a << b + c") == Operation("<<", (a, Operation("+", (b, c))))


def test_other_spellings():
    assert parse("0x10") == Number(16)
    assert parse("1_000") == Number(1000)
    assert parse("+n") == Name("n")
    assert parse(" threadIdx.x\n + 1 ") == parse("threadIdx.x+1")
    assert parse("a if c else b") == parse("where(c, a, b)")
    assert parse("a < b < c") == parse("a < b and b < c")
    assert parse("1.5e-3") == Number(0.0015)


def test_limits_themselves_are_allowed():
    assert parse(str(2**63 - 1)) == Number(2**63 - 1)
    parse("(" * 100 + "a" + ")" * 100)
    parse("1+" * 99 + "1")
    parse("-" * 99 + "1")
    parse("x << 62")
    parse("x ** 64")
    parse("min(" + "x, " * 3000 + "x)")


def test_unknown_names_suggest_the_nearest():
    allowed = {"threadIdx.x", "width"}
    assert parse("threadIdx.x * width", allowed=allowed)
    assert "did you mean width?" in refusal("widht", allowed=allowed)
    assert "did you mean threadIdx.x?" in refusal("threadIdx.y", allowed=allowed)
    assert "threadIdx.x, width" in refusal("q", allowed=allowed)
    assert "did you mean ceil_div?" in refusal("ceildiv(a, b)")


@pytest.mark.parametrize(
    "text", ["a / b", "1.5", "a * 2.0", "log2(a)", "sqrt(a)", "floor(a)", "ceil(a)"]
)
def test_integer_expressions_refuse_fractions(text):
    assert parse(text)
    refusal(text, integer=True)


def test_integer_expressions_point_to_whole_division():
    assert "//" in refusal("n / 2", integer=True)
    assert "ceil_div" in refusal("ceil(n)", integer=True)


@pytest.mark.parametrize("text", ["a ** 9", "a ** -1", "a ** b", "2 ** (1 + 1)"])
def test_integer_expressions_have_small_literal_exponents(text):
    assert parse("a ** 8", integer=True)
    refusal(text, integer=True)


@pytest.mark.parametrize("value", [16, None, b"x", ["x"]])
def test_only_text_is_parsed(value):
    assert "must be text" in refusal(value)
