"""An OpenAI-compatible server of programs.

    python samples/server/serve.py chat=chat.pte embed=embed.pte --port 8000

Ends at SIGTERM or Ctrl-C: it takes no more requests, finishes those that run for
`--grace` seconds, and answers the rest with an error.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from pathlib import Path
from typing import Any

import uvicorn

from served_models import Limits, ServedModels, named_programs
from server_app import ServerApp


class Server(uvicorn.Server):
    """Lets texts finish as soon as a signal asks the server to end: it waits for
    open connections, and these wait for their texts."""

    def __init__(self, config: uvicorn.Config, models: ServedModels) -> None:
        super().__init__(config)
        self._models = models

    def handle_exit(self, sig: int, frame: Any) -> None:
        super().handle_exit(sig, frame)
        # A second signal ends texts at once.
        grace = 0.0 if self.force_exit else None
        threading.Thread(target=self._models.close, args=(grace,), daemon=True).start()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    limits = Limits()
    parser.add_argument("programs", nargs="+", metavar="[NAME=]PROGRAM",
                        help="a program file, and the name that clients use (default: the file's)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on; 0: a free one")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads of each program")
    parser.add_argument("--queue", type=int, default=limits.queue, help="requests of a model that may wait")
    parser.add_argument("--timeout", type=float, default=limits.timeout, help="seconds for a text")
    parser.add_argument("--sessions", type=int, default=limits.sessions,
                        help="embeddings or transcriptions of a model at the same time")
    parser.add_argument("--grace", type=float, default=limits.grace,
                        help="seconds in which running texts are finished at the end")
    parser.add_argument("--max-bytes", type=int, default=2**20, help="of a request without sound")
    parser.add_argument("--chat-template", type=Path, help="a file, instead of the program's template")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    limits = Limits(given.queue, given.timeout, given.sessions, given.threads, given.grace)
    try:
        template = given.chat_template and given.chat_template.read_text(encoding="utf-8")
        models = ServedModels(named_programs(given.programs), limits, template=template)
    except (ValueError, LookupError, OSError, RuntimeError, ImportError) as cause:  # etx.Error is one of these
        print(f"serve: {cause}", file=sys.stderr)
        return 1
    app = ServerApp(models, api_key=os.environ.get("ETX_API_KEY"), most_bytes=given.max_bytes)
    config = uvicorn.Config(
        app.asgi, host=given.host, port=given.port, access_log=False,
        # Texts end by themselves after the grace; this is for clients that do not read.
        timeout_graceful_shutdown=int(given.grace) + 10,
    )
    Server(config, models).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
