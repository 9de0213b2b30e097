"""The package's version: the single source (the build reads it from here)."""

__version__ = "0.1.0"
