"""Data that is used again: how long it lies, and who meets at it."""
