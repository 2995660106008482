"""One file per output; values in, text out."""
