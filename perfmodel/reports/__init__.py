"""Reports: predictions, devices and kernels as rich renderables for a terminal or a pipe.

Nothing here prints: each function returns what `rich.console.Console.print` takes. Import the
modules one by one, for rich costs time.
"""
