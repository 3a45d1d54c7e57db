# functions for other Cython modules only
