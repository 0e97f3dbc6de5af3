"""What runs.py launches: id, n, run, granularity, table bytes, cold; clocks: without the id."""

M = 1 << 20
POINTS = []
for n in (M, 2 * M, 4 * M, 12 * M, 24 * M):
    for run in (1, 8, 16, 32, 64):
        for mib in (1, 4, 16, 32, 64, 2048):
            for cold in (0, 1):
                POINTS.append((5, n, run, 64, mib * M, cold))
for n in (2 * M, 12 * M):
    for run in (1, 8, 16, 32):
        for mib in (32, 2048):
            for g in (32, 128):
                for cold in (0, 1):
                    POINTS.append((5, n, run, g, mib * M, cold))
for n in (4 * M, 16 * M):
    for run in (1, 8, 32, 128):
        for cold in (0, 1):
            POINTS.append((3, n, run, 64, M, cold))
    for k in (0, 1, 2, 4):
        for cold in (0, 1):
            POINTS.append((k, n, 32, 64, 64 * M, cold))
    for run in (8, 32):
        for mib in (4, 2048):
            for cold in (0, 1):
                POINTS.append((6, n, run, 64, mib * M, cold))
CLOCKS = []
for n in (33792, 270336, 4 * M, 16 * M):
    for run in (8, 32):
        for mib in (2, 2048):
            for cold in (0, 1):
                CLOCKS.append((n, run, 64, mib * M, cold))
for g in (32, 128):
    for run in (8, 32):
        CLOCKS.append((4 * M, run, g, 2048 * M, 1))
