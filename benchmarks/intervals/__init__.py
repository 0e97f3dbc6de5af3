"""Fitting the 90% intervals of predictions again, after measurements or models changed."""
