"""From a lane to its bundle: fetch the source, render the Dockerfile, build, collect, pack."""
