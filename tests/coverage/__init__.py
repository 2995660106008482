"""What released libraries leave out for some GPUs, and whether the rules' heuristic calls it by its name."""
