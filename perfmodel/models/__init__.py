"""Closed forms of launches, requests, L1, L2, DRAM, latency and time, by stage.

Those that may be switched off are mechanisms: see `perfmodel.models.mechanism`.
"""
