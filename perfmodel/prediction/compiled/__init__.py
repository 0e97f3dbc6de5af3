"""Compiled predictions: the derivation of one kernel's form as straight code on floats."""
