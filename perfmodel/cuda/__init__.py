"""From what a compiler sees to a kernel: CUDA sources, PTX, machine code, launches."""
