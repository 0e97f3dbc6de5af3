"""The array of all models: numbers of any kind, one a configuration unless said otherwise."""

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
