"""What Dask is told. Its defaults are for computing, where a task may run twice and anywhere; a measurement may not."""

from __future__ import annotations

import importlib.util
import socket
from typing import Any

from assay.fleet.error import FleetError

WORKERS_TIMEOUT_S = 30
"""A cell whose host is gone waits no longer for it."""
WORKER_TTL_S = 15
"""A host that is not heard of for so long is lost."""

# What runs code or writes files on somebody's word, and is of no use here. Dask's own list of what to refuse.
_REFUSED_BY_WORKERS = [
    *("run", "run_coroutine", "upload_file", "plugin-add", "plugin-remove", "actor_execute", "actor_attribute"),
    *("update_data", "call_stack", "profile", "profile_metadata", "get_logs"),
    *("benchmark_disk", "benchmark_memory", "benchmark_network"),
]
_REFUSED_BY_SCHEDULERS = [
    *("run_function", "broadcast", "proxy", "scatter", "update_data", "terminate", "restart", "restart_workers"),
    *("register_scheduler_plugin", "unregister_scheduler_plugin", "register_worker_plugin"),
    *("unregister_worker_plugin", "register_nanny_plugin", "unregister_nanny_plugin", "register_nanny"),
    *("dump_cluster_state_to_url", "performance_report", "benchmark_hardware", "rebalance", "replicate"),
    *("call_stack", "profile", "get_logs", "logs", "worker_logs", "retire_workers", "register_worker_plugin"),
]
_LOGGING = dict.fromkeys(("distributed", "distributed.client", "tornado", "tornado.application"), "critical")

CONFIG: dict[str, Any] = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.no-workers-timeout": f"{WORKERS_TIMEOUT_S}s",
    "distributed.scheduler.worker-ttl": f"{WORKER_TTL_S}s",
    "distributed.scheduler.blocked-handlers": _REFUSED_BY_SCHEDULERS,
    "distributed.worker.blocked-handlers": _REFUSED_BY_WORKERS,
    # No pages over HTTP but where they are asked for: they are open to everybody who reaches the port.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # Nothing of somebody's configuration is loaded as code.
    "distributed.scheduler.preload": [],
    "distributed.worker.preload": [],
    "distributed.client.preload": [],
    "distributed.client.security-loader": None,
    # What looks at the worker a hundred times a second beside the measurement.
    "distributed.worker.profile.enabled": False,
    # And what wakes it fifty times a second to see whether it still wakes: nobody reads that here.
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.tick.cycle": "10s",
    "distributed.admin.tick.limit": "60s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.diagnostics.computations.nframes": 0,
    "distributed.comm.timeouts.connect": "15s",
    "logging": _LOGGING,
}


def apply() -> None:
    """Sets them for this process. Before `distributed` is imported, which reads some of them then."""
    import dask

    dask.config.set(CONFIG)


def allow_pages(port: int) -> None:
    """Dask's live pages on a port of the loopback, and their data to no other page of a browser there.

    Raises:
        FleetError: where bokeh, which draws them, is not installed, or the port is not free.
    """
    import dask

    if importlib.util.find_spec("bokeh") is None:
        raise FleetError("Dask's live pages are drawn by bokeh, which is not installed", "pip install 'bokeh>=3.1'")
    try:
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(("127.0.0.1", port))
    except OSError as error:
        raise FleetError(f"port {port} of 127.0.0.1: {error.strerror}", "give another with --pages") from error
    own = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
    dask.config.set(
        {
            "distributed.scheduler.http.routes": ["distributed.http.statics"],
            "distributed.scheduler.dashboard.bokeh-application.allow_websocket_origin": own,
        }
    )
