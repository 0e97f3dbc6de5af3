"""Latency: what one block waits for, one thing after the other."""
