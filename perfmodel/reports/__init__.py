"""Reports: predictions, devices and kernels for a terminal or a pipe.

Nothing here prints: each function returns a `perfmodel.reports.lines.Piece`, whose lines go into a
pipe, and which `rich.console.Console.print` draws on a terminal.
"""
