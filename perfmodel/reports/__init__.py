"""Reports: predictions, devices and kernels as text, Markdown, figures and pages.

Nothing here prints: a text is a `perfmodel.reports.lines.Piece`, which gives its lines.
"""
