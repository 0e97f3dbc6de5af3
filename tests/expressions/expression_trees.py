"""Random expression trees for the property tests."""

from hypothesis import strategies as st

from perfmodel.expressions import Name, Number, Operation, names

NAMES = ("n", "k", "threadIdx.x", "blockIdx.y")

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
DIVISIONS = ("//", "%", "ceil_div")
BITS = ("&", "|", "^")

variables = st.sampled_from(NAMES).map(Name)
small = st.one_of(variables, st.integers(0, 70).map(Number))
literals = st.one_of(
    variables,
    st.integers(0, 2**63 - 1).map(Number),
    st.floats(0, allow_nan=False, allow_infinity=False).map(Number),
)
points = st.fixed_dictionaries({name: st.integers(-40, 40) for name in NAMES})


def operation(operators, *operands):
    return st.builds(Operation, st.sampled_from(operators), st.tuples(*operands))


def several(operators, operand):
    operands = st.lists(operand, min_size=2, max_size=4).map(tuple)
    return st.builds(Operation, st.sampled_from(operators), operands)


def _small_amount(node):
    return node if names(node) else Number(3)


def _any_operation(children):
    amount = st.one_of(children.map(_small_amount), st.integers(0, 62).map(Number))
    return st.one_of(
        operation(("+", "-", "*", "/", *DIVISIONS, *BITS, *COMPARISONS), children, children),
        operation(("**", "<<", ">>"), children, amount),
        several(("and", "or", "min", "max"), children),
        operation(("neg", "not", "abs", "floor", "ceil", "log2", "sqrt"), children),
        operation(("where",), children, children, children),
    )


any_trees = st.recursive(literals, _any_operation, max_leaves=15)


def trees(binary, unary=("neg", "abs"), leaves=small, lazy=True, max_leaves=10):
    """Trees in which conditions occur only as conditions, or as the 0 and 1 that they count as.

    So `and`, `or` and `not` mean the same in Python, which would return an operand itself.
    """

    def extend(numbers):
        compared = operation(COMPARISONS, numbers, numbers)
        conditions = st.one_of(
            compared, operation(("not",), compared), several(("and", "or"), compared)
        )
        options = [
            operation(binary, numbers, numbers),
            operation(unary, numbers),
            several(("min", "max"), numbers),
            conditions,
        ]
        if lazy:
            options.append(operation(("where",), conditions, numbers, numbers))
        return st.one_of(options)

    return st.recursive(leaves, extend, max_leaves=max_leaves)
