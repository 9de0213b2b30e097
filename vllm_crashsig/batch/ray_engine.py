"""The same batch on a Ray cluster that is there already, through Ray Data. `ray` is imported in here alone, when it is used.

Each row of the dataset is a chunk of cases, each task answers one through an `Attendant` of its node's worker process, and what
comes back is the journal's lines. Ray does again what was lost with a process or a node; should a whole run of the dataset
break off, what is left is begun anew for as long as something comes of it.
"""

from __future__ import annotations

import atexit
import logging
import os
import socket
import tempfile
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine import Classifier
from ..errors import CrashsigError, OptionError
from .attendant import Attendant
from .work import Settings, cases_of, cases_text

if TYPE_CHECKING:
    from .cases import Case
    from .pool import Done

CONNECT_SECONDS = 5.0
"""How long the address may take to answer before Ray, which waits for many minutes, is asked at all."""
_RESERVED = ("RAY_DATA_AUTOSCALING_REQUEST_EXPIRE_TIME_S", "30")
"""How long Ray Data keeps the share of the cluster of a driver that was killed from the next one, who could do nothing for the
three minutes that Ray takes by itself. The driver asks anew every few seconds while it lives."""
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
"""How HTTP/2 connections begin (RFC 9113, section 3.4): the preface and an empty SETTINGS frame."""

_attendants: dict[Settings, Attendant] = {}
"""Those of this process, when it is one of Ray's workers: they outlive the task, so that a catalogue is loaded but once."""


class Cluster:
    """A connection to a cluster. Raises OptionError when Ray is not installed or nobody answers at the address.

    address: as `ray.init` takes it; None means the environment's RAY_ADDRESS, or else the cluster that this machine is part of.
    runtime_env: for the tasks, as Ray documents it; needed where the nodes do not have this package.
    """

    def __init__(self, address: str | None = None, runtime_env: Mapping[str, Any] | None = None) -> None:
        os.environ.setdefault(*_RESERVED)
        try:
            ray = import_module("ray")
            import_module("ray.data")
        except ImportError as error:
            raise OptionError(
                f"the engine 'ray' needs the extra 'ray' ({error}); run: pip install 'vllm-crashsig[ray]'"
            ) from error
        self._ray = ray
        self._owned = not ray.is_initialized()
        if self._owned:
            self._connect(address or os.environ.get("RAY_ADDRESS") or "auto", runtime_env)
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.ERROR)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False

    @property
    def cpus(self) -> int:
        """Processors that the cluster has now, at least 1."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def run(self, chunks: Sequence[Sequence[Case]], settings: Settings, jobs: int | None = None) -> Generator[Done, None, None]:
        """The results of all cases, in groups as they come. jobs: tasks that run at the same time at most.

        Raises CrashsigError when the nodes cannot do it, or when the cluster is gone.
        """
        settings = replace(settings, folder=settings.folder or str(Path.cwd()))
        shipped = _read_folders(settings.fingerprints)
        left = dict(enumerate(chunks))
        while left:
            before = len(left)
            try:
                for row in self._dataset(left, settings, shipped, jobs).iter_rows():
                    if row["failed"]:
                        raise CrashsigError(f"{row['failed']} (on node {row['node']})")
                    chunk = left.pop(row["chunk"], None)
                    if chunk is not None:
                        yield list(zip(chunk, row["lines"].splitlines(keepends=True), strict=True))
            except CrashsigError:
                raise
            except Exception as error:
                if len(left) == before:
                    raise CrashsigError(f"Ray could not go on: {_advice(error)}") from error
                continue
            if len(left) == before:
                raise CrashsigError("Ray ended without an answer")

    def close(self) -> None:
        """Leaves the cluster, if it was not joined by somebody else before."""
        if self._owned:
            self._ray.shutdown()

    def _connect(self, address: str, runtime_env: Mapping[str, Any] | None) -> None:
        _knock(address)
        try:
            self._ray.init(
                address=address, runtime_env=dict(runtime_env or {}), log_to_driver=False, logging_level=logging.CRITICAL
            )
        except Exception as error:
            raise OptionError(f"no Ray cluster at {address}: {_advice(error)}") from error

    def _dataset(
        self, chunks: Mapping[int, Sequence[Case]], settings: Settings, shipped: Mapping[str, bytes], jobs: int | None
    ) -> Any:
        data = self._ray.data
        rows = [{"chunk": number, "cases": cases_text(chunk)} for number, chunk in chunks.items()]
        told: dict[str, Any] = {}
        if jobs is not None:
            strategy = getattr(data, "TaskPoolStrategy", None)  # older versions of Ray Data do not tell of it
            told = {"compute": strategy(size=jobs)} if strategy is not None else {"concurrency": jobs}
        return data.from_items(rows, override_num_blocks=len(rows)).map(
            answer, fn_kwargs={"settings": settings, "shipped": shipped}, num_cpus=1, **told
        )


def answer(row: dict[str, Any], settings: Settings, shipped: Mapping[str, bytes]) -> dict[str, Any]:
    """A chunk, answered on a node."""
    told = {"chunk": row["chunk"], "lines": b"", "failed": "", "node": socket.gethostname()}
    try:
        attendant = _attendants.get(settings)
        if attendant is None:
            attendant = _attendants[settings] = Attendant(_unpack(settings, shipped))
            atexit.register(attendant.close)
        told["lines"] = b"".join(line for _, line in attendant.answer(cases_of(row["cases"])))
    except CrashsigError as error:
        told["failed"] = str(error)
    return told


def _read_folders(folders: Sequence[str]) -> dict[str, bytes]:
    """The files of the user's own fingerprints, which the nodes do not have, by a name that begins with the folder's number."""
    return {
        f"{number}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for number, folder in enumerate(folders)
        for path in sorted(Path(folder).rglob("*.y*ml"))
    }


def _unpack(settings: Settings, shipped: Mapping[str, bytes]) -> Settings:
    """The settings with those files in a folder of this node, which goes away with this process."""
    if not settings.fingerprints:
        return settings
    home = tempfile.TemporaryDirectory(prefix="vllm-crashsig-")
    atexit.register(home.cleanup)
    for name, data in shipped.items():
        path = Path(home.name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return replace(settings, fingerprints=tuple(str(Path(home.name, str(n))) for n in range(len(settings.fingerprints))))


def _knock(address: str) -> None:
    """Raises OptionError when nobody answers there as gRPC servers do, of which Ray's head is one."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # auto, local, or something that Ray will refuse
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS) as connection:
            if os.environ.get("RAY_USE_TLS", "0") in ("", "0"):
                connection.settimeout(CONNECT_SECONDS)
                connection.sendall(_PREFACE)
                if connection.recv(9)[3:4] != b"\x04":  # the type of the frame that comes first: SETTINGS
                    raise OSError("what answers is no gRPC server")
    except (OSError, OverflowError) as error:
        unreachable = ConnectionError(f"Failed to connect to Ray cluster at {address.removeprefix('ray://')}")
        raise OptionError(f"no Ray cluster answers at {address} ({error}). {_advice(unreachable)}") from None


def _advice(error: Exception) -> str:
    """What Ray says, and what our own catalogue knows about it, on one line."""
    text = " ".join(str(error).split())
    cause = Classifier().classify(f"{type(error).__name__}: {error}").cause
    steps = cause.remediation.immediate if cause is not None else []
    if cause is None or not steps:
        return f"{type(error).__name__}: {text[:300]}"
    return f"{cause.title}: {' '.join(steps[0].text.split())}"
