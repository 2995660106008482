"""The container engine and the plain process behind one small interface: build, start, watch, copy out, stop."""
