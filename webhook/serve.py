"""Puts one webhook server together and runs it: gunicorn's master here, its workers, and a process for the probes.

The only module that starts processes or touches the environment.
"""

import logging
import logging.config
import os
import shutil
import signal
import socket
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]

from cluster_model.verdict import BadRequest, Problem
from webhook import addresses, gunicorn_conf, logs, tls
from webhook.addresses import Address
from webhook.config import Config

if TYPE_CHECKING:
    from webhook.metrics import Metrics
    from webhook.probes import Readiness

# Where prometheus_client lets several processes meet; its own name, read when it is imported.
SHARED_METRICS = "PROMETHEUS_MULTIPROC_DIR"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """Where one server listens, and where its key pair and its shared counters lie."""

    bind: Address
    probe_bind: Address
    tls: Path
    metrics: Path | None = None


class _Gunicorn(BaseApplication):  # type: ignore[misc]
    """gunicorn's master with settings from us alone: no command line, no file, no environment."""

    def __init__(self, settings: dict[str, Any], load: Any) -> None:
        self._settings = settings
        self._load = load
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        return self._load()


def run(config: Config, options: Options) -> int:
    """Serve until SIGTERM; raise BadRequest where there is nothing to serve with."""
    _check(options)
    logging.config.dictConfig(logs.settings(config.log_level))
    scratch = Path(tempfile.mkdtemp(prefix="gpu-scheduler-webhook-", dir=_memory()))
    metrics, readiness = _observed(options, scratch)
    probing, master = _fork_probes(options, metrics, readiness), os.getpid()
    hooks = gunicorn_conf.Hooks(_reloading(options, metrics).context, _worker_gone(options, scratch))
    place = gunicorn_conf.Place(str(options.bind), options.tls, scratch)
    try:
        _Gunicorn(gunicorn_conf.settings(config, place, hooks), _application(config, metrics, readiness)).run()
    finally:
        # Workers are forks of this frame and leave through it too.
        if os.getpid() == master:
            os.kill(probing, signal.SIGTERM)
            shutil.rmtree(scratch, ignore_errors=True)
    return 0


def _check(options: Options) -> None:
    try:
        tls.load(options.tls)
    except (OSError, ValueError) as error:
        rule = f"must hold a certificate tls.crt and its key tls.key: {error}"
        raise BadRequest(Problem("--tls-dir", str(options.tls), rule)) from error


def _memory() -> str | None:
    """Return a file system in memory, so that a heartbeat never waits for a disk; None: the default one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _observed(options: Options, scratch: Path) -> "tuple[Metrics, Readiness]":
    shared = options.metrics or scratch
    shared.mkdir(parents=True, exist_ok=True)
    for left_over in shared.glob("*.db"):
        left_over.unlink()
    os.environ[SHARED_METRICS] = str(shared)
    # Imported only now, because prometheus_client looks at the environment when it is imported.
    from webhook.metrics import Metrics
    from webhook.probes import Readiness

    return Metrics(shared), Readiness(options.tls, options.bind.to_ourselves)


def _fork_probes(options: Options, metrics: "Metrics", readiness: "Readiness") -> int:
    """Start the process of the plain port; it is forked before gunicorn owns signals and sockets."""
    from webhook import probes

    listener: socket.socket = addresses.listen(options.probe_bind)
    pid = os.fork()
    if pid == 0:
        # Ctrl-C reaches the whole group; until gunicorn has finished, probes are answered.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        probes.serve(listener, probes.create_probe_app(metrics, readiness))
        os._exit(0)
    listener.close()
    return pid


def _reloading(options: Options, metrics: "Metrics") -> tls.Reloading:
    def failed(error: Exception) -> None:
        metrics.errors.labels("certificate").inc()
        _log.error("certificate not loaded, the old one is kept", extra=logs.fields(why=error))

    return tls.Reloading(options.tls, failed, time.monotonic)


def _worker_gone(options: Options, scratch: Path) -> Any:
    from prometheus_client.multiprocess import mark_process_dead

    shared = str(options.metrics or scratch)
    return lambda pid: mark_process_dead(pid, path=shared)  # type: ignore[no-untyped-call]


def _application(config: Config, metrics: "Metrics", readiness: "Readiness") -> Any:
    from webhook.app import create_app

    return lambda: create_app(config, metrics, readiness)
