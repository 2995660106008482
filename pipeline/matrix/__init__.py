"""matrix.yaml → lanes, reporting every mistake at once, each with its line."""
