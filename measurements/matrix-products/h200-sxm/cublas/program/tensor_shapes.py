"""Shapes of products to measure, and which of them may be fitted on: decided before any was run."""

import hashlib
import math
import random

NK = [512, 1024, 2048, 4096, 8192, 16384]
MODELS = [
    (4096, 4096),
    (12288, 4096),
    (4096, 11008),
    (11008, 4096),
    (14336, 4096),
    (4096, 14336),
    (5120, 5120),
    (13824, 5120),
    (5120, 13824),
    (6144, 4096),
    (8192, 8192),
    (10240, 8192),
    (3072, 768),
    (768, 3072),
    (2304, 768),
    (1536, 1536),
    (6400, 1600),
    (1600, 6400),
]


def use(m, n, k):
    """Return "fit" or "validation", by a hash of the shape."""
    return "validation" if hashlib.sha256(f"{m},{n},{k}".encode()).digest()[0] < 115 else "fit"


def op(m, n, k):
    """Return which call a shape is measured with: B stored N x K, or K x N."""
    return "linear" if hashlib.sha256(f"op {m},{n},{k}".encode()).digest()[0] < 128 else "matmul"


def log_uniform(rng, low, high, multiple):
    """Return a multiple between two bounds, its logarithm uniform."""
    x = math.exp(rng.uniform(math.log(low), math.log(high)))
    return int(min(max(round(x / multiple) * multiple, low, multiple), high))


def main_shapes():
    """Return (group, m, n, k), without repeats."""
    rng = random.Random(7)
    found = {}

    def add(group, m, n, k):
        found.setdefault((m, n, k), group)

    for _ in range(430):
        multiple = rng.choice([1, 1, 2, 4, 8, 8, 16, 32, 64, 128, 256])
        m = log_uniform(rng, 1, 8192, 1 if rng.random() < 0.5 else min(multiple, 64))
        add(
            "random",
            m,
            log_uniform(rng, 512, 16384, multiple),
            log_uniform(rng, 512, 16384, multiple),
        )
    grid = [(m, n, k) for m in [2**i for i in range(14)] for n in NK for k in NK]
    for m, n, k in rng.sample(grid, 210):
        add("grid", m, n, k)
    for n, k in MODELS:
        for m in rng.sample(
            [1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 500, 512, 1000, 1024, 2048, 4096, 8192], 5
        ):
            add("model", m, n, k)
    for m, n in [
        (128, 512),
        (512, 512),
        (1024, 1024),
        (2048, 2048),
        (4096, 4096),
        (8192, 8192),
        (64, 4096),
        (1, 4096),
        (16, 8192),
    ]:
        for k in NK:
            add("deep", m, n, k)
    for m in [*range(128, 4097, 192)]:
        add("waves", m, 4096, 4096)
    for m in [1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 32, 33, 48, 64, 65, 96, 128, 129, 192]:
        add("few-rows", m, 4096, 4096)
    for s in [1000, 1500, 2500, 3000, 3500, 5000, 6000, 7000, 1001, 2047, 2049, 4095, 4097]:
        add("square", min(s, 8192), s, s)
    rows = [(g, m, n, k) for (m, n, k), g in found.items()]
    rng.shuffle(rows)
    return rows


def other_shapes():
    """Return shapes for other types: multiples of 16, so that every type takes them."""
    rng = random.Random(11)
    found = {}
    for _ in range(70):
        found[
            log_uniform(rng, 16, 8192, 16),
            log_uniform(rng, 512, 16384, 16),
            log_uniform(rng, 512, 16384, 16),
        ] = "random"
    for m, n, k in [
        (16, 4096, 4096),
        (64, 4096, 4096),
        (256, 4096, 4096),
        (1024, 4096, 4096),
        (2048, 4096, 4096),
        (4096, 4096, 4096),
        (8192, 8192, 8192),
        (8192, 4096, 16384),
        (512, 512, 16384),
        (1024, 1024, 1024),
        (2048, 2048, 2048),
        (16, 16384, 16384),
    ]:
        found[m, n, k] = "grid"
    return [(g, m, n, k) for (m, n, k), g in found.items()]


def fresh_shapes():
    """Return shapes that no model was made on: another generator, and plain ones."""
    rng = random.Random(20261121)
    known = {r[1:] for r in main_shapes()}
    found = {}
    while len(found) < 220:
        m = round(math.exp(rng.uniform(0, math.log(8192))))
        n, k = (rng.choice([64, 64, 32, 16, 8, 1]) for _ in range(2))
        low, high = math.log(512), math.log(16384)
        n, k = (max(512, round(math.exp(rng.uniform(low, high)) / u) * u) for u in (n, k))
        shape = min(m, 8192), min(n, 16384), min(k, 16384)
        if shape not in known:
            found[shape] = "fresh-random"
    plain = [1, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192]
    sizes = [512, 768, 1024, 1536, 2048, 3072, 4096, 5120, 6144, 8192, 11008, 12288, 16384]
    while len(found) < 360:
        shape = rng.choice(plain), rng.choice(sizes), rng.choice(sizes)
        if shape not in known:
            found.setdefault(shape, "fresh-plain")
    return [(g, *s) for s, g in found.items()]


def narrow_shapes():
    """Return shapes whose rows are no whole pieces of 16 bytes, few rows first and foremost."""
    rng = random.Random(20261122)
    known = {r[1:] for r in main_shapes()} | {r[1:] for r in fresh_shapes()}
    found = {}
    while len(found) < 420:
        few = rng.random() < 0.62
        m = round(math.exp(rng.uniform(0, math.log(64 if few else 8192))))
        unit = rng.choice([1, 1, 2, 2, 4])
        low, high = math.log(512), math.log(16384)
        n, k = (max(512, round(math.exp(rng.uniform(low, high)) / unit) * unit) for _ in range(2))
        shape = min(m, 8192), min(n, 16384), min(k, 16384)
        narrow = shape[1] % 8 or shape[2] % 8
        if narrow and shape not in known and m * n * k < 1.5e11:
            found.setdefault(shape, "narrow-few" if few else "narrow")
    return [(g, *s) for s, g in found.items()]


def tf32_shapes():
    """Return shapes for TF32, few rows among them."""
    rng = random.Random(20261123)
    found = {}
    while len(found) < 60:
        m = round(math.exp(rng.uniform(0, math.log(4096))))
        low, high = math.log(512), math.log(16384)
        n, k = (max(512, round(math.exp(rng.uniform(low, high)) / 16) * 16) for _ in range(2))
        if m * n * k < 1e11:
            found.setdefault((m, n, k), "tf32")
    return [(g, *s) for s, g in found.items()]
