"""Products through cuBLASLt, whose kernels a caller may choose: by ctypes, from torch's library."""

import ctypes as c

import torch

LIBRARY = c.CDLL("libcublasLt.so.13")
HANDLE = c.c_void_p()
assert LIBRARY.cublasLtCreate(c.byref(HANDLE)) == 0
WORKSPACE = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
ONE, ZERO = c.c_float(1), c.c_float(0)
BF16, FP32, COMPUTE_FP32 = 14, 0, 68
SPLIT, REDUCTION = 2, 3
CONFIGURATION = ["id", "tile", "split", "reduction", "swizzle", "custom", "stages"]


class Heuristic(c.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algorithm", c.c_uint64 * 8),
        ("workspace", c.c_size_t),
        ("state", c.c_int),
        ("waves", c.c_float),
        ("reserved", c.c_int * 4),
    )


def layout(rows, columns, pitch):
    """Return the layout of a matrix by columns."""
    made = c.c_void_p()
    sizes = c.c_uint64(rows), c.c_uint64(columns), c.c_int64(pitch)
    assert LIBRARY.cublasLtMatrixLayoutCreate(c.byref(made), BF16, *sizes) == 0
    return made


def configuration(algorithm):
    """Return the numbers that make a kernel."""
    found = {}
    for place, name in enumerate(CONFIGURATION):
        value, written = c.c_uint32(0), c.c_size_t()
        LIBRARY.cublasLtMatmulAlgoConfigGetAttribute(
            c.byref(algorithm), place, c.byref(value), c.c_size_t(4), c.byref(written)
        )
        found[name] = value.value
    return found


def split(algorithm, parts, reduction=2):
    """Return the same kernel with K in so many parts."""
    made = (c.c_uint64 * 8)(*algorithm)
    for place, value in ((SPLIT, parts), (REDUCTION, 0 if parts == 1 else reduction)):
        number = c.c_uint32(value)
        LIBRARY.cublasLtMatmulAlgoConfigSetAttribute(
            c.byref(made), place, c.byref(number), c.c_size_t(4)
        )
    return made


class Product:
    """C = A B, row by row: B stored N x K ("linear") or K x N ("matmul")."""

    def __init__(self, operation, m, n, k):
        """Describe it; `fill` makes its operands."""
        self.shape = operation, m, n, k
        self.described = c.c_void_p()
        assert LIBRARY.cublasLtMatmulDescCreate(c.byref(self.described), COMPUTE_FP32, FP32) == 0
        turned = c.c_int(operation == "linear")
        LIBRARY.cublasLtMatmulDescSetAttribute(self.described, 3, c.byref(turned), c.c_size_t(4))
        self.b = layout(k, n, k) if operation == "linear" else layout(n, k, n)
        self.a, self.c = layout(k, m, k), layout(n, m, n)

    def fill(self):
        """Make operands."""
        operation, m, n, k = self.shape
        size = (n, k) if operation == "linear" else (k, n)
        self.weights = torch.randn(size, device="cuda").to(torch.bfloat16)
        self.given = torch.randn((m, k), device="cuda").to(torch.bfloat16)
        self.found = torch.zeros((m, n), device="cuda", dtype=torch.bfloat16)

    def heuristics(self, most):
        """Return what the library would take, best first."""
        wish = c.c_void_p()
        LIBRARY.cublasLtMatmulPreferenceCreate(c.byref(wish))
        size = c.c_size_t(WORKSPACE.numel())
        LIBRARY.cublasLtMatmulPreferenceSetAttribute(wish, 1, c.byref(size), c.c_size_t(8))
        found, count = (Heuristic * most)(), c.c_int()
        matrices = self.b, self.a, self.c, self.c
        code = LIBRARY.cublasLtMatmulAlgoGetHeuristic(
            HANDLE, self.described, *matrices, wish, most, found, c.byref(count)
        )
        return [found[i] for i in range(count.value)] if code == 0 else []

    def run(self, algorithm, stream):
        """Launch; return 0 unless the library refuses."""
        b, a, c_ = (c.c_void_p(t.data_ptr()) for t in (self.weights, self.given, self.found))
        return LIBRARY.cublasLtMatmul(
            HANDLE,
            self.described,
            *(c.byref(ONE), b, self.b, a, self.a),
            *(c.byref(ZERO), c_, self.c, c_, self.c),
            c.byref(algorithm),
            *(c.c_void_p(WORKSPACE.data_ptr()), c.c_size_t(WORKSPACE.numel())),
            c.c_void_p(stream),
        )

    def error(self):
        """Return how far the result is off, of its largest value."""
        n = min(64, self.shape[2])
        b = self.weights[:n].t() if self.shape[0] == "linear" else self.weights[:, :n]
        right = self.given[:2].double() @ b.double()
        return float((self.found[:2, :n].double() - right).abs().max() / right.abs().max())
