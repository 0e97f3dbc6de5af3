# ruff: noqa: D103, E501
"""Prints the points of streams.cu: kind (0 empty, 1 write, 2 read, 3 copy), bytes a thread, block, blocks, threads with work."""

K, M = 1 << 10, 1 << 20


def vec(kind, width, block, size):
    n = size // width
    return (kind, width, block, -(-n // block), n)


EMPTY = [(0, 0, b, g, 0) for b in (64, 256, 1024) for g in (1, 132, 264, 528, 1056, 2112, 4224)]
SIZES = [64 * K, 256 * K, 512 * K, M, 2 * M, 4 * M, 8 * M]
P = EMPTY + [
    vec(k, w, b, s) for s in SIZES for w in (4, 8, 16) for b in (64, 256, 1024) for k in (1, 2, 3)
]
P += [
    vec(k, w, b, s)
    for s in (512 * K, 2 * M)
    for w in (4, 8, 16)
    for b in (128, 512)
    for k in (1, 2, 3)
]
FEW = EMPTY[::2] + [
    vec(k, w, b, s)
    for s in (256 * K, M, 4 * M)
    for w, b in ((4, 256), (8, 64), (16, 64), (16, 1024))
    for k in (1, 2, 3)
]
LIVES = [
    vec(2, w, b, s)
    for w, b, s in (
        (16, 64, M),
        (16, 256, M),
        (16, 1024, M),
        (4, 256, M),
        (16, 256, 4 * M),
        (16, 32, 132 * 512),
    )
]
if __name__ == "__main__":
    import sys

    for p in {"few": FEW, "lives": LIVES, "all": P}[sys.argv[1]]:
        print(*p)
