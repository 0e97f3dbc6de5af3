"""Sampled blocks of a PTX kernel, run on arrays, where symbols end."""
