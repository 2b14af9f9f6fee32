"""gunicorn's settings as plain data: threads, keep-alive, shutdown, TLS. Starts nothing."""

import gc
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webhook import logs
from webhook.config import Config


@dataclass(frozen=True, slots=True)
class Hooks:
    """What gunicorn calls back."""

    context: Callable[[], ssl.SSLContext]
    worker_gone: Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Place:
    """Where this server listens and keeps its files."""

    bind: str
    tls: Path
    scratch: Path  # in memory and writable: a worker's heartbeat must not wait for a disk


def settings(config: Config, place: Place, hooks: Hooks) -> dict[str, Any]:
    """Return the settings for one server."""
    server = config.server
    return {
        "bind": [place.bind],
        "worker_class": "gthread",
        "workers": server.workers,
        "threads": server.threads,
        "keepalive": server.keepalive_seconds,
        "graceful_timeout": server.graceful_seconds,
        "timeout": server.timeout_seconds,
        "worker_tmp_dir": str(place.scratch),
        # Wants a writable home, which a read-only root has not.
        "control_socket_disable": True,
        "limit_request_fields": 50,
        "limit_request_field_size": 8190,
        "forwarded_allow_ips": "",
        "proc_name": "gpu-scheduler-webhook",
        "accesslog": None,
        "loglevel": config.log_level,
        "logconfig_dict": logs.settings(config.log_level),
        **_tls(place, hooks),
        **_callbacks(hooks),
    }


def _tls(place: Place, hooks: Hooks) -> dict[str, Any]:
    def context(_conf: Any, _default_factory: Any) -> ssl.SSLContext:
        # Called for every connection, which is what makes a new certificate live without a restart.
        return hooks.context()

    return {
        "certfile": str(place.tls / "tls.crt"),
        "keyfile": str(place.tls / "tls.key"),
        "ssl_context": context,
        # gunicorn then calls do_handshake of our socket class, which is bounded.
        "do_handshake_on_connect": False,
    }


def _callbacks(hooks: Hooks) -> dict[str, Any]:
    def post_worker_init(_worker: Any) -> None:
        # What is loaded now stays: collections under load need not walk it.
        gc.collect()
        gc.freeze()

    def child_exit(_server: Any, worker: Any) -> None:
        hooks.worker_gone(worker.pid)

    return {"post_worker_init": post_worker_init, "child_exit": child_exit}
