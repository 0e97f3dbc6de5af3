"""Blocks on SMs: how many fit, how they are handed out, and in how many waves they run."""
