"""CUDA sources compiled with NVIDIA's tools: PTX, machine code, registers that kernels take."""
