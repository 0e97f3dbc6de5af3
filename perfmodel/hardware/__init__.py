"""What a GPU is: devices, their files and the catalogue."""

from perfmodel.hardware.device import Device
from perfmodel.hardware.figure import Figure
from perfmodel.hardware.files import load_device
from perfmodel.hardware.hierarchy import Level, hierarchy
from perfmodel.names import device_names

__all__ = ["Device", "Figure", "Level", "device_names", "hierarchy", "load_device"]
