"""Time: one term for each resource, and how the terms combine."""
