# ruff: noqa: D103
"""Prints the points of launch.cu: id, block, blocks, n."""


def vec(i, size, b=256):
    n = size // 16
    return (i, b, -(-n // b), n)


K, M = 1 << 10, 1 << 20
P = [(0, b, g, 0) for b in (32, 128, 256, 1024) for g in (1, 132, 264, 1056, 4224)]
P += [(6, 256, g, 0) for g in (1, 132, 1056)] + [
    (8, 256, g, 0) for g in (1, 132, 1056)
]  # no thread has work
P += [
    (1, b, g, t)
    for b, g in ((32, 1), (256, 132))
    for t in (0, 250, 500, 750, 1000, 1500, 2000, 3000)
]
P += [(1, 256, 1056, t) for t in (0, 500, 1000)]
SIZES = [
    512,
    4 * K,
    64 * K,
    256 * K,
    384 * K,
    512 * K,
    768 * K,
    M,
    3 * M // 2,
    2 * M,
    3 * M,
    4 * M,
    6 * M,
    8 * M,
    12 * M,
    16 * M,
]
P += [vec(i, s) for s in SIZES for i in (6, 7, 8)]
P += [vec(i, M, b) for b in (64, 128, 512, 1024) for i in (6, 7, 8)]
P += [vec(8, s * M) for s in (18, 20, 22, 24, 26, 28, 32)]
P += [(i, 256, n // 256, n) for n in (16384, 131072, 1048576) for i in (3, 4, 5)]
P += [(0, 32, 1, 0), (0, 256, 132, 0)]  # again, late
NEAR = [vec(8, s * M // 2) for s in range(26, 70, 3)] + [
    vec(i, s * M) for s in range(26, 68, 3) for i in (6, 7)
]  # as large as L2
FEW = [
    p
    for p in P
    if (p[0] == 0 and p[1] in (32, 256, 1024) and p[2] < 4224) or (p[0] == 1 and p[3] % 500 == 0)
]
FEW += [(6, 256, g, 0) for g in (1, 132, 1056)]
FEW += [
    vec(i, s)
    for s in (512, 64 * K, 256 * K, 512 * K, M, 2 * M, 3 * M, 4 * M, 6 * M, 8 * M)
    for i in (6, 7, 8)
]
if __name__ == "__main__":
    import sys

    for p in {"few": FEW, "near": NEAR, "all": P + NEAR}[sys.argv[1]]:
        print(*p)
