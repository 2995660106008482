"""The GGUFs that smokes serve when nobody names one: tiny, byte for byte the same everywhere, answers known."""
