"""The main job through the command line, with real servers, archives and engines."""
