"""What each kernel of this folder should have written: formulas of CuPy.

`EXPECTED[kernel](a)` gives a pair of what came and what should have, by the arguments' names;
output buffers come as bytes.
"""

import cupy as cp

F, H, N, D = cp.float32, cp.float16, cp.int32, cp.float64


def periodic(a):
    return a["d_out"].view(F), cp.resize(a["d_in"], a["n"])


def sum_of_both(a):
    return a["d_out"].view(F), cp.resize(a["d_in_persistent"], a["n"]) + a["d_in_streaming"]


def product(a):
    return a["C"].view(F), a["A"].reshape(a["M"], -1) @ a["B"].reshape(a["K"], -1)


def added(a):
    return a["out"].view(H), a["x"] + a["y"]


def biased(a):
    return a["out"].view(H), a["x"] + cp.resize(a["bias"], a["n"])


def gelu(x):
    return 0.5 * x * (1 + cp.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def bfloat(x):
    return (x.view(cp.uint16).astype(cp.uint32) << 16).view(F)


def gelu_of_bfloat(a):
    return bfloat(a["out"]), gelu(bfloat(a["x"]))


def gelu_of_float(a):
    return a["out"].view(F), gelu(a["x"])


def scaled(a):
    return a["out"].view(N), a["x"] * a["factor"]


def widened(a):
    return a["out"].view(F), a["x"].astype(F) * a["scale"]


def norms(a):
    return a["out"].view(D), a["x"] ** 2 + a["y"] ** 2


EXPECTED = {
    "data_reset_kernel": periodic,
    "stream_and_persistent_kernel": sum_of_both,
    "sgemm_naive": product,
    "sgemm_coalesced": product,
    **dict.fromkeys(("add_half", "add_half2", "add_half8"), added),
    **dict.fromkeys(("bias_half", "bias_half2"), biased),
    **dict.fromkeys(("gelu_bfloat", "gelu_bfloat2"), gelu_of_bfloat),
    **dict.fromkeys(("gelu_float", "gelu_float4"), gelu_of_float),
    **dict.fromkeys(("scale_int", "scale_int4", "scale_int_in_fours"), scaled),
    **dict.fromkeys(("widen_bytes", "widen_bytes4"), widened),
    **dict.fromkeys(("norm_double", "norm_double2"), norms),
}
LOOSE = dict.fromkeys(("gelu_bfloat", "gelu_bfloat2"), 5e-3)
