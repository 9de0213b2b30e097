"""Many cases at once: an archive of old crash logs, classified, grouped and counted, by a pool or by a Ray cluster.

Left empty, since the worker processes pass through here as they start; `api` has the library's door, `run` the command's.
"""
