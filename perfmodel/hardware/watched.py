"""A device that notes which of its figures are read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from perfmodel.hardware.device import Device, quantities


def watched(device: Device) -> tuple[Device, set[str]]:
    """Return a device of the same figures, and the set in which it notes those that are read."""
    read: set[str] = set()
    known = quantities().keys()

    class Watched(Device):
        def __getattribute__(self, name: str) -> Any:
            if name in known:
                read.add(name)
            return super().__getattribute__(name)

    values: dict[str, Any] = {f.name: getattr(device, f.name) for f in fields(Device)}
    return Watched(**values), read
