"""Every drill that comes along, against values worked out by hand here or cited."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfmodel.drills import (
    ChoiceAnswer,
    NumberAnswer,
    WordAnswer,
    check,
    depends_on_device,
    load_drills,
    work,
)
from perfmodel.drills.quantity import Quantity
from perfmodel.errors import PerfmodelError
from perfmodel.hardware import device_names

DRILLS = {drill.id: drill for drill in load_drills()}

# independent: arithmetic by hand, in SI. Sectors have 32 B, lines 128 B, a warp 32 lanes.
BY_HAND: dict[str, tuple[float, ...]] = {
    # 2 tensors x 32 layers x 4096 tokens x 4096 columns x 2 B = 2 x 32 x 16,777,216 x 2
    "decode-cache-bytes": (2_147_483_648,),
    # 2.147483648e9 B / 2e12 B/s
    "decode-cache-time": (1.073741824e-3,),
    # a layer: 4 x 4096^2 = 67,108,864 and 3 x 4096 x 11008 = 135,266,304, together 202,375,168;
    # 32 of them 6,476,005,376; head 4096 x 32000 = 131,072,000; 6,607,077,376 weights, 2 B each:
    # 13.214154752e9 B; with the cache 15.3616384e9 B, over 2e12
    "decode-token-time": (7.6808192e-3,),
    # NVIDIA A100 data sheet: 312 TFLOP/s / 2.039 TB/s
    "machine-balance": (153.016,),
    # 2048 MiB / 40 MiB
    "llama-cache-in-l2": (51.2,),
    # 4096 x 16384 = 67,108,864 numbers of 2 B = 128 MiB
    "ffn-weights": (128 * 2**20,),
    # 32 x 4 B = 128 B = 4 sectors
    "contiguous": (4,),
    # 32 sectors x 32 B
    "strided": (1024,),
    # 1024 B / 128 B
    "strided-cost": (8,),
    # 60 MiB less 24 of the 30 set aside
    "left-persisting": (36 * 2**20,),
    # (290 + 470)/2
    "near-and-far": (380,),
    # one address, one sector
    "broadcast": (1,),
    # bytes 4 to 131: sectors 0 to 4, five against four
    "off-by-one": (5 / 4,),
    # 32 x 2 B = 64 B
    "half-precision": (2,),
    # 32 x 1 B
    "int8": (1,),
    # last byte 31 x 28 + 3 = 871, sector 27: 28 of them, all touched since 28 < 32
    "stride-7-sectors": (28,),
    # 128 B of 28 x 32 = 896 B
    "stride-7-share": (1 / 7,),
    # 4 B of 32 B
    "stride-32-share": (1 / 8,),
    # 4 GB of 6 GB
    "over-fetch": (2 / 3,),
    # floats 0, 8, 16, 24 in lines of 4: lines 0, 2, 4, 6
    "miniature-strided": (4,),
    # floats 0 to 3, line 0: 16 of 16 B
    "miniature-contiguous": (1,),
    # 32 x 32 B / 128 B
    "miniature-scaled": (8,),
    # 33 = 1 x 32 + 1
    "remap": (1, 1),
    # the article: A and C splinter into 32, B is a broadcast
    "naive-sectors": (32, 1, 32),
    # A is a broadcast; B and C are 128 B in a row
    "coalesced-sectors": (1, 4, 4),
    # (32 + 1) / (1 + 4)
    "load-sectors-saved": (33 / 5,),
    # 4 turns at one slice against 1 at each of four
    "four-adds": (4,),
    # 262144 x 3.47 / 1.98e9 = 909,639.68 / 1.98e9
    "one-counter-time": (459.41e-6,),
    # 16,777,216 / 256
    "privatised-atomics": (65_536,),
    # the article on persistence: 31.25 MB (MiB) of an H100's 50 can be set aside, under 37.5
    "set-aside-size": (31.25 * 2**20,),
    # half of 32 KiB
    "hit-ratio-half-marks": (16 * 1024,),
    # 128 of 256 lines are kept, and fit 128 ways: they hit, the others never
    "lru-half": (0.5,),
    # 256 lines round a queue of 128: each is gone when its turn comes
    "lru-full": (0,),
    # 2 x 16 KiB x r = 16 KiB
    "two-kernels": (0.5,),
    # 8 MiB / 16 MiB
    "hit-ratio-for-16-mib": (0.5,),
    # (8 + 1)/16
    "hit-ratio-in-sixteenths": (9 / 16,),
    # the exam table: 0
    "exam-close-window": (0,),
    # 3 x 8 MiB / 2
    "exam-concurrent": (12 * 2**20,),
    # 2 x 4096^3 floats of 4 B: 2^37 x 4
    "n-cubed-floats": (2**39,),
    # 2^39 B / 3.352e12 B/s = 164.0083 ms, over 22.032288 ms
    "n-cubed-from-hbm": (7.44400,),
    # 309.0 and 1986.5 over 23249.6
    "shares-of-cublas": (0.0132906, 0.0854423),
    # 132 x 256 KiB, 132 x 228 KiB
    "draw-sizes": (33 * 2**20, 30_096 * 2**10, 50 * 2**20),
    # arXiv 2501.12084: 29.5; latency.csv of an H100: loads past L1 of 2 MiB and of 512 MiB and more
    "draw-latencies": (29.5, 284.6, 688.0),
    # 132 SMs x 32 banks x 4 B x 1.98 GHz; working-set-read.csv of an H100; its memory at 2619 MHz
    "draw-bandwidths": (33.45408e12, 7.4e12, 2619e6 * 2 * 5120 / 8),
    # 3 x 41 = 123 KiB, carved 132 of 256
    "carve-out": (124 * 2**10,),
    # 488.644608e6 + 4 GiB = 4,783,611,904 over 4 GiB + 8 MiB = 4,303,355,904
    "data-reset-missing-gain": (1.111600,),
    # 3.1e12 x 350e-9 = 1.085 MB over 132
    "bytes-in-flight": (8219.697,),
    # 8220/128 and a quarter of it
    "occupancy-for-loads": (64.21875, 16.0546875),
}

# What the model says here was published or measured; the tolerance is how far apart they may be.
PUBLISHED: dict[str, tuple[float, float]] = {
    # measurements/suite/h200-sxm/foundation/streams.csv: 2**30 B in 233.344 us, 4601.5 of 4814.3
    # GB/s
    "reads-of-the-peak": (0.9558, 0.03),
    # measurements/suite/h200-sxm/foundation/strided.csv: 296.32 us and 135.008 us
    "stride-8-to-32": (2.1948, 0.08),
    # strided-granularity.csv: a copy of 4 Mi floats takes 126.4 us at 128 B and 65.92 us at 32 B
    "granularity-time": (1.917, 0.05),
    # an article: "100 times"; README of this project, from the catalogue: about 200 on an H100
    "global-against-shared": (200, 0.1),
    # an article: 3.26 ms and 2.81 ms on an H100 80GB
    "stream-persistent-gain": (1.160, 0.03),
    # measurements/l2/h100-sxm/set-aside/set-aside-streams.csv: 429.408 us and 162.336 us
    "cost-of-a-set-aside": (2.6452, 0.05),
    # measurements/suite/h100-sxm/sweeps/gemm.csv: 273.753 ms and 22.032 ms
    "remap-gain": (12.425, 0.06),
    # the same, and cublas-fp32/sgemm.csv: 2.658 ms of 22.032 ms
    "shares-on-an-h100": (0.12064, 0.06),
    # measurements/l2/h200-sxm/set-aside/compression.csv: 118.112 us and 88.8 us
    "compressible": (1.3301, 0.001),
}

CHOSEN = {
    "minigpt-cache-in-l2": "yes, all of it",  # 16 of 40 MiB
    "who-shares-a-warp": "one threadIdx.y, all 32 of threadIdx.x",  # CUDA guide: x runs fastest
    "where-atomics-serialise": "in the L2 line that owns the address",  # the article
    "data-reset-gain": "up to a quarter",  # 420.8 / 345.392 us = 1.218, grid.csv
    "embedding": "no",  # 8 + 40 = 48 < 50
    "who-answers": "L1",  # gemm.csv of an H200: 10,237,452,069 of 10,737,418,240 sectors
    "l1-bound": "requests to L1",  # DRAM's 4.3 GB take 1.3 ms of 22
    "remap-line": "m from threadIdx.y, n from threadIdx.x",  # CUDA guide: x runs fastest
    "largest-step": "shared memory to L2",  # 33.45 over 7.4; 133.8/33.45 is 4, 7.4/3.352 is 2.2
    "exam-mig": "disabled",  # the exam table, as all that follow
    "exam-hit-ratio": "about the share of the window's lines, picked at random, that get hitProp",
    "exam-half-or-full": "it marks more than fits, so lines are evicted, and the last 16 KiB used "
    "stay",
    "exam-below-one": "so that what is marked fits and does not evict itself or other streams' "
    "lines",
    "exam-automatic-reset": "it is not known how long that takes",
}

# published: the exam table of the article on L2 cache control
NAMED = {
    "exam-capability": "8.0",
    "exam-runtime-version": "11.0",
    "exam-annotated-pointer": "cuda::annotated_ptr",
    "exam-set-aside-call": "cudaDeviceSetLimit(), cudaLimitPersistingL2CacheSize",
    "exam-set-aside-limit": "cudaDeviceProp::persistingL2CacheMaxSize",
    "exam-mps": "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT",
    "exam-window-fields": "base_ptr num_bytes hitRatio hitProp missProp",
    "exam-window-limit": "accessPolicyMaxWindowSize",
    "exam-properties": "Streaming, Persisting, Normal",
    "exam-window-objects": "CUDA stream and graph kernel node",
    "exam-reset": "cudaCtxResetPersistingL2Cache()",
    "exam-query": "cudaGetDeviceProperties",
    "exam-query-fields": "l2CacheSize, persistingL2CacheMaxSize, accessPolicyMaxWindowSize",
    "exam-reset-ways": "cudaAccessPropertyNormal, cudaCtxResetPersistingL2Cache, waiting",
}


def numbers(name: str, device: str = "") -> list[float]:
    found = []
    for each in work(DRILLS[name], device).answer:
        assert isinstance(each, Quantity)
        found.append(float(each.value))
    return found


def test_every_drill_has_an_expected_answer() -> None:
    kinds = {NumberAnswer: {*BY_HAND, *PUBLISHED}, ChoiceAnswer: {*CHOSEN}, WordAnswer: {*NAMED}}
    for kind, expected in kinds.items():
        assert {d.id for d in DRILLS.values() if isinstance(d.answer, kind)} == expected


@pytest.mark.parametrize("name", BY_HAND)
def test_answers_by_hand(name: str) -> None:
    assert numbers(name) == pytest.approx(BY_HAND[name], rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("name", PUBLISHED)
def test_answers_beside_what_was_measured(name: str) -> None:
    expected, within = PUBLISHED[name]
    assert numbers(name)[0] == pytest.approx(expected, rel=within)
    # Who knows the measurement is right too.
    unit = " times" if DRILLS[name].answer.unit == "times" else ""  # type: ignore[union-attr]
    assert check(work(DRILLS[name]), f"{expected}{unit}").right


@pytest.mark.parametrize("name", CHOSEN)
def test_choices(name: str) -> None:
    solution = work(DRILLS[name])
    assert solution.answer == (CHOSEN[name],)
    answer = DRILLS[name].answer
    assert isinstance(answer, ChoiceAnswer)
    for place, choice in enumerate(answer.choices):
        right = choice == CHOSEN[name]
        assert check(solution, choice).right is right
        assert check(solution, chr(ord("a") + place)).right is right


@pytest.mark.parametrize("name", NAMED)
def test_words(name: str) -> None:
    solution = work(DRILLS[name])
    assert check(solution, NAMED[name]).right
    assert check(solution, ", ".join(map(str, solution.answer))).right
    assert not check(solution, "cudaMalloc").right


@pytest.mark.parametrize("name", DRILLS)
def test_mistakes_are_wrong_and_known(name: str) -> None:
    from perfmodel.drills.work import value

    solution = work(DRILLS[name])
    answer = DRILLS[name].answer
    for mistake in DRILLS[name].mistakes:
        wrong = mistake.word
        if mistake.value is not None:
            assert isinstance(answer, NumberAnswer)
            # Without a prefix, so that what is typed is the value in SI.
            unit = {"GB": "B", "MiB": "B", "B": "B", "ms": "s", "KiB": "B"}.get(answer.unit, "")
            wrong = f"{value(mistake.value, solution.known, 'here'):.15g}{unit}"
        verdict = check(solution, wrong)
        assert not verdict.right
        assert verdict.mistake == mistake


@pytest.mark.parametrize("device", device_names())
def test_any_gpu_will_do(device: str) -> None:
    # published (CUDA device properties in the catalogue): an RTX A6000 can set 4.125 MiB aside
    small = device == "rtx-a6000"
    set_aside = {"stream-persistent-gain", "cost-of-a-set-aside"}
    for drill in DRILLS.values():
        if not depends_on_device(drill):
            continue
        if small and drill.id in set_aside:
            with pytest.raises(PerfmodelError, match="that rtx-a6000 can set aside"):
                work(drill, device)
        else:
            assert work(drill, device).device == device


def test_another_gpu_gives_another_answer() -> None:
    # 2048 MiB over 50 MiB of L2; 989.4 TFLOP/s over 3.352 TB/s (data sheet, deviceQuery)
    assert numbers("llama-cache-in-l2", "h100-sxm") == pytest.approx([40.96])
    assert numbers("machine-balance", "h100-sxm") == pytest.approx([295.2], rel=1e-3)
    # an A100's largest set-aside is three quarters of its L2: 30 MiB
    assert numbers("set-aside-size", "a100-sxm-80") == [30 * 2**20]


def test_order_of_topics_and_sources() -> None:
    topics = list(dict.fromkeys(drill.topic for drill in DRILLS.values()))
    assert topics == [
        *("memory hierarchy", "sectors", "matrix product", "atomics", "residency", "exam"),
        *("persistence", "ladder", "levels"),
    ]
    assert all(drill.source and drill.hint for drill in DRILLS.values())


def test_drills_come_along_with_the_package() -> None:
    import perfmodel.drills

    folder = Path(perfmodel.drills.__file__).parent / "library"
    assert {drill.file.parent for drill in DRILLS.values()} == {folder}
    assert (folder / "README.md").is_file()
