"""Measurements of GPUs: how they are taken, recorded and read."""
