"""What kind of atomic an access is, with numbers put in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = int | npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AtomicValues:
    """What kind of atomic an access is."""

    dtype: Integers  # position in `DATA_TYPES`
    # 1 if so, else 0.
    returns: Integers
    aggregated: Integers
