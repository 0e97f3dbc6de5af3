"""Reports: predictions, devices and kernels for a terminal or a pipe.

Nothing here prints: each function returns a `perfmodel.reports.lines.Piece`, which gives its lines.
"""
