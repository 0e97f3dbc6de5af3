"""From what a compiler sees to a kernel: PTX, CUDA sources, launches."""
