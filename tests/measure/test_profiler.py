"""The profiler's rows: counts and times in base units, or none at all."""

import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.measure.profiler import read_rows

# By hand, in the form of Nsight Compute's raw CSV page: names, units, then a row a launch.
PAGE = """==PROF== Connected to process 1
"ID","Kernel Name","launch__func_cache_config","dram__bytes_read.sum","gpu__time_duration.sum"
"","","","byte","ns"
"0","copy","CachePreferNone","1,048,576","2,400"
"1","copy","CachePreferNone","32","1500.5"
"""


def test_rows_are_the_numbers_of_each_launch():
    first, second = read_rows(PAGE)
    assert first == {"dram__bytes_read.sum": 1048576.0, "gpu__time_duration.sum": 2400.0}
    assert second == {"dram__bytes_read.sum": 32.0, "gpu__time_duration.sum": 1500.5}


@pytest.mark.parametrize(("base", "scaled"), [("byte", "Mbyte"), ("ns", "us"), ("ns", "ms")])
def test_a_scaled_unit_is_refused(base, scaled):
    with pytest.raises(PerfmodelError, match=f"in {scaled}, not in a base unit"):
        list(read_rows(PAGE.replace(f'"{base}"', f'"{scaled}"')))


def test_no_rows_are_no_launches():
    assert list(read_rows("==PROF== Disconnected")) == []
