"""What times.py launches: tuples of part, id, n, run, bytes, x, cold, in two sessions."""

M = 1 << 20
FIRST = []
for n in (
    8448,
    33792,
    67584,
    135168,
    202752,
    270336,
    337920,
    405504,
    435643,
    540672,
    811008,
    1081344,
    2162688,
    4325376,
    17301504,
):
    for k in (0, 1, 2, 3, 4, 5, 6, 7):
        FIRST.append(("small", k, n, 8, 2 * M, 0, 0))
    for k in (3, 5):
        FIRST.append(("small", k, n, 48, 2 * M, 0, 0))
    for run in (1, 2, 4):
        FIRST.append(("small", 5, n, run, 2 * M, 0, 0))
    FIRST.append(("small", 6, n, 1, 2 * M, 0, 0))
for n in (4224, 16896, 67584, 117031, 270336):
    for mib in (2, 8, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384):
        FIRST.append(("pages", 5, n, 1, mib * M, 0, 0))
        if mib in (2, 32, 128, 512, 2048, 16384):
            FIRST.append(("pages", 5, n, 1, mib * M, 0, 1))
            FIRST.append(("pages", 5, n * 8, 8, mib * M, 0, 0))
for mib in (64, 512, 2048, 4096, 8192, 16384):
    for n, run in ((4 << 20, 1), (16 << 20, 1), (16 << 20, 8), (16 << 20, 32)):
        FIRST.append(("pages", 5, n, run, mib * M, 0, 1))
for run in (1, 2, 4, 8, 16, 24, 32, 48, 64, 128):
    for mib in (1, 3.25, 8, 16, 32, 40, 64, 256):
        for cold in (0, 1):
            FIRST.append(("large", 5, 16 << 20, run, int(mib * M), 0, cold))
    for cold in (0, 1):
        FIRST.append(("large", 3, 16 << 20, run, 2 * M, 0, cold))
        FIRST.append(("large", 6, 16 << 20, run, int(3.25 * M), 0, cold))
        FIRST.append(("large", 6, 16 << 20, run, int(32 * M), 0, cold))
for k in (0, 1, 4):
    for cold in (0, 1):
        FIRST.append(("large", k, 16 << 20, 1, 64 * M, 0, cold))
for kib in (
    32,
    64,
    128,
    192,
    208,
    224,
    240,
    256,
    288,
    320,
    384,
    448,
    512,
    768,
    1024,
    2048,
    4096,
    8192,
    16384,
    24576,
    32768,
    40960,
):
    for reads in (4, 64):
        for blocks in (132, 528, 1056, 4224):
            FIRST.append(("reads", 9, reads, 1, kib << 10, blocks, 0))
    FIRST.append(("lines", 9, 64, 32, kib << 10, 4224, 0))
    FIRST.append(("sectors", 9, 64, 8, kib << 10, 4224, 0))
AGAIN = []
for blocks in (1, 8, 16, 32, 66, 132, 264, 528, 1056, 2112):
    for mib in (2, 64, 160, 256, 384, 512, 1024, 4096, 16384):
        AGAIN.append(("pages", 5, blocks * 256, 1, mib * M, 0, 0))
for n in (270336, 540672, 1081344, 2162688):
    for run in (1, 4, 8, 32):
        for mib in (2, 32, 128, 192, 256, 512, 1024, 4096, 16384):
            AGAIN.append(("pages", 5, n, run, mib * M, 0, 0))
for n in (33792, 135168, 270336):  # without indices, so that only the table is translated
    for mib in (2, 64, 128, 160, 192, 256, 512, 1024, 4096, 8192):
        AGAIN.append(("pages", 6, n, 1, mib * M, 0, 0))
for reads in (16, 64):
    for blocks in (132, 1056):
        for mib in (4, 16, 64, 128, 160, 192, 256, 512, 1024, 4096, 8192):
            AGAIN.append(("pages", 9, reads, 1, mib * M, blocks, 0))
for n in (8448, 33792, 135168, 435643, 1081344, 4325376):
    for k in (0, 1, 2, 3, 4, 5):
        AGAIN.append(("starts", k, n, 8, 2 * M, 0, 0))
        AGAIN.append(("starts", k, n, 8, 2 * M, 0, 1))
