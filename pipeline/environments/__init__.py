"""Virtual environments, images, wheels and lock files as sets of distributions, each with the files it brought."""

from pipeline.environments.find import distributions_of

__all__ = ["distributions_of"]
