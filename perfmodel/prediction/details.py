"""Details: the arrays and records behind a prediction, which explanations are made from."""

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.launch.occupancy import Occupancy
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.time.stage import TimeModel
from perfmodel.prediction.l2_rules import AS_THE_DRIVER, L2Setting
from perfmodel.records import record
from perfmodel.traffic import Traffic


@record
class Details:
    """The arrays and records behind a prediction, for explanations; not part of the JSON.

    `notes` are warnings about how the traffic was counted. ``requests`` are those of global memory,
    ``on_chip`` those of shared memory. ``simulated`` is simulated traffic as it was counted: in
    ``traffic`` reads of several SMs are merged.
    """

    instance: Instance
    device: Device
    occupied: Occupancy
    requests: tuple[Requests, ...]
    traffic: Traffic
    time: TimeModel
    setting: L2Setting = AS_THE_DRIVER
    notes: tuple[str, ...] = ()
    on_chip: tuple[Requests, ...] = ()
    simulated: Traffic | None = None
