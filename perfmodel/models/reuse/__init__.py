"""Data that is used again: after how much else, and by whom."""
