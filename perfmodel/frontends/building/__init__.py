"""A kernel as models take it, made of what following and emulating found."""
