"""The server under Ray Serve: copies of the same application on many machines.

    ETX_PROGRAMS="chat=/models/chat.pte embed=/models/embed.pte" ETX_REPLICAS=4 \\
        serve run --app-dir samples/server ray_app:app

Each copy loads the programs and has a worker of its own; Ray gives a request to the
copy with the fewest running ones. `ETX_THREADS` is the number of processors of a copy.
"""

from __future__ import annotations

import os

from ray import serve


def make_asgi():
    """The application, made in the process of a copy."""
    from served_models import Limits, ServedModels, named_programs
    from server_app import ServerApp

    threads = int(os.environ.get("ETX_THREADS", "1"))
    programs = named_programs(os.environ["ETX_PROGRAMS"].split())
    models = ServedModels(programs, Limits(threads=threads))
    return ServerApp(models, api_key=os.environ.get("ETX_API_KEY")).asgi


@serve.deployment(
    num_replicas=int(os.environ.get("ETX_REPLICAS", "1")),
    # Texts wait in the queue of the copy, which knows how many rows it has.
    max_ongoing_requests=int(os.environ.get("ETX_REQUESTS", "64")),
    ray_actor_options={"num_cpus": int(os.environ.get("ETX_THREADS", "1"))},
    graceful_shutdown_timeout_s=40,
)
@serve.ingress(make_asgi)
class EtxServer:
    """A copy of the application."""


app = EtxServer.bind()
