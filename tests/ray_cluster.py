"""A Ray cluster of several raylets on this machine, for tests and benchmarks: ``python ray_cluster.py NODES``.

Prints the head's address when all nodes are up. The head works on nothing itself. Each line on standard input kills the node
whose raylet has that process id, as a power cut does; the cluster ends with standard input.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def main(count: int) -> None:
    """Runs until standard input ends."""
    cluster_type: Any = import_module("ray.cluster_utils").Cluster
    store = 80_000_000
    head = {"num_cpus": 0, "object_store_memory": store, "include_dashboard": False}
    cluster = cluster_type(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=store) for _ in range(count)]
    cluster.wait_for_nodes()
    print(cluster.address, flush=True)
    for line in sys.stdin:
        (node,) = (n for n in nodes if n.all_processes["raylet"][0].process.pid == int(line))
        nodes.remove(node)
        cluster.remove_node(node, allow_graceful=False)
        print("gone", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]))
