"""stub to be replaced"""
import numpy as np
def granted(s, c): return s
def best_hit_ratio(s, f): return np.minimum(1.0, s / np.maximum(f,1))
