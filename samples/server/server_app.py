"""The server as an ASGI application: the paths of the API of OpenAI."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from api_error import ApiError, overloaded
from openai_answers import TextAnswer, event
from openai_requests import TextRequest, read_chat, read_completion, read_embedding, wrong
from served_calls import EmbeddingModel, SpeechModel
from served_models import ServedModels
from served_text import Piece, RunningTexts, TextModel
from server_metrics import Metrics

Handler = Callable[[Request], Awaitable[Any]]


class EventStream(Response):
    """Server-sent events. It ends the texts if the client goes away."""

    media_type = "text/event-stream"

    def __init__(self, running: RunningTexts, events: AsyncIterator[bytes]) -> None:
        super().__init__(headers={"cache-control": "no-cache", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._running, self._events = running, events

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with texts_of_client(self._running, receive):
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async for part in self._events:
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


@contextlib.asynccontextmanager
async def texts_of_client(running: RunningTexts, receive: Any) -> AsyncIterator[None]:
    """Ends the texts when the client disconnects, or when the block ends for any reason."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        running.cancel()

    watcher = asyncio.ensure_future(watch())
    try:
        yield
    finally:
        running.cancel()
        watcher.cancel()


class ServerApp:
    """The handlers of all paths, over the models."""

    def __init__(
        self, models: ServedModels, *, api_key: str | None = None, most_bytes: int = 2**20,
        most_sound_bytes: int = 25 * 2**20, read_seconds: float = 30.0,
    ) -> None:
        """Makes the application, `asgi`.

        Args:
          models: what is served; closed when the application ends.
          api_key: clients must send it as a bearer token; None: anyone may come.
          most_bytes: of a request; most_sound_bytes: of one with sound.
          read_seconds: in which a request must have arrived.
        """
        self.models, self._key, self._read_seconds = models, api_key, read_seconds
        self._most_bytes, self._most_sound_bytes = most_bytes, most_sound_bytes
        self.metrics = Metrics(models)
        posts = {
            "/v1/chat/completions": self.chat, "/v1/completions": self.completion,
            "/v1/embeddings": self.embedding, "/v1/audio/transcriptions": self.transcription,
        }
        routes = [Route(path, self._guarded(path, run), methods=["POST"]) for path, run in posts.items()]
        routes += [
            Route("/v1/models", self._guarded("/v1/models", self.list_models)),
            Route("/v1/models/{name:path}", self._guarded("/v1/models/", self.model)),
            Route("/health", self.health),
            Route("/metrics", self.show_metrics),
        ]
        self.asgi = Starlette(
            routes=routes, lifespan=self._lifespan, exception_handlers={HTTPException: _http_error}
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(self.models.close)

    def _guarded(self, path: str, run: Handler) -> Handler:
        """The handler with a check of the key, errors as JSON, and metrics."""

        async def handle(request: Request) -> Response:
            with self.metrics.request(path) as record:
                try:
                    self._check_key(request)
                    response = await run(request)
                except ApiError as error:
                    response = JSONResponse(error.body, error.status, error.headers)
                record.status = response.status_code
                return response

        return handle

    def _check_key(self, request: Request) -> None:
        if self._key is None:
            return
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self._key.encode()):
            raise ApiError("Incorrect API key provided", status=401, code="invalid_api_key")

    async def _body(self, request: Request) -> bytes:
        """The body of a request, of limited size and within limited time."""
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._read_seconds):
                async for part in request.stream():
                    size += len(part)
                    if size > self._most_bytes:
                        raise _too_large(self._most_bytes)
                    parts.append(part)
        except TimeoutError:
            raise ApiError("the request did not arrive in time", status=408, code="timeout") from None
        return b"".join(parts)

    async def list_models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": self.models.descriptions()})

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        found = [about for about in self.models.descriptions() if about["id"] == name]
        if not found:
            raise self.models.missing(name)
        return JSONResponse(found[0])

    async def health(self, request: Request) -> Response:
        is_well = self.models.is_alive
        return JSONResponse({"status": "ok" if is_well else "closing"}, 200 if is_well else 503)

    async def show_metrics(self, request: Request) -> Response:
        return PlainTextResponse(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def chat(self, request: Request) -> Response:
        wanted = read_chat(await self._body(request))
        model = self.models.find(wanted.model, TextModel)
        return await self._generate(request, wanted, model, [model.chat_prompt(wanted.messages)])

    async def completion(self, request: Request) -> Response:
        wanted = read_completion(await self._body(request))
        model = self.models.find(wanted.model, TextModel)
        return await self._generate(request, wanted, model, [*map(model.prompt, wanted.prompts)])

    async def _generate(
        self, request: Request, wanted: TextRequest, model: TextModel, prompts: list[list[int]]
    ) -> Response:
        answer = TextAnswer(
            model.name, model.tokenizer, is_chat=not wanted.prompts,
            wants_logprobs=wanted.logprobs is not None,
        )
        running = model.start(wanted, prompts)
        if wanted.stream:
            return EventStream(running, self._events(running, answer, wanted))
        async with texts_of_client(running, request.receive):
            pieces = await _last_pieces(running)
        return JSONResponse(answer.whole(pieces, running.usage))

    async def _events(
        self, running: RunningTexts, answer: TextAnswer, wanted: TextRequest
    ) -> AsyncIterator[bytes]:
        """Events of a stream; those that wait for the client together are one part."""
        if not wanted.prompts:
            yield b"".join(map(answer.first, range(len(running.texts))))
        left = len(running.texts)
        while left:
            events = []
            for item in await running.take():
                if isinstance(item, ApiError):
                    yield b"".join([*events, event(item.body)])
                    return
                events.append(answer.events(item))
                left -= item.finish_reason is not None
            if not left:
                if wanted.include_usage:
                    events.append(answer.usage(running.usage))
                events.append(b"data: [DONE]\n\n")
            yield b"".join(events)

    async def embedding(self, request: Request) -> Response:
        wanted = read_embedding(await self._body(request))
        model = self.models.find(wanted.model, EmbeddingModel)
        texts = model.ids(wanted.inputs)
        vectors = await model.embed(texts)
        count = sum(map(len, texts))
        return JSONResponse({
            "object": "list", "model": model.name,
            "data": [
                {"object": "embedding", "index": index, "embedding":
                 base64.b64encode(vector.astype("<f4").tobytes()).decode() if wanted.is_base64
                 else vector.tolist()}
                for index, vector in enumerate(vectors)
            ],
            "usage": {"prompt_tokens": count, "total_tokens": count},
        })

    async def transcription(self, request: Request) -> Response:
        fields, sound = await self._form(request)
        form = fields.pop("response_format", "json")
        if form not in ("json", "text"):
            raise wrong("response_format", form, "json or text")
        if fields.pop("stream", "false").lower() != "false":
            raise ApiError("'stream' is not supported for transcriptions", param="stream")
        model = self.models.find(fields.pop("model", ""), SpeechModel)
        try:
            temperature = float(fields.pop("temperature", "0"))
        except ValueError:
            temperature = -1.0
        if not 0 <= temperature <= 1:
            raise ApiError("'temperature' is no number from 0 to 1", param="temperature")
        language = fields.pop("language", None)
        for name in fields:
            raise ApiError(f"'{name}' is not supported by this server", param=name)
        samples = await asyncio.to_thread(model.read_sound, sound)
        text = await model.transcribe(samples, language, temperature)
        return PlainTextResponse(text + "\n") if form == "text" else JSONResponse({"text": text})

    async def _form(self, request: Request) -> tuple[dict[str, str], bytes]:
        """The fields of a form, and its file."""
        most, size, receive = self._most_sound_bytes, 0, request.receive

        async def limited() -> Any:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > most:
                raise _too_large(most)
            return message

        try:
            async with asyncio.timeout(self._read_seconds):
                async with Request(request.scope, limited).form(max_files=1, max_fields=16) as form:
                    file = form.get("file")
                    if file is None or isinstance(file, str):
                        raise wrong("file", None, "a file of a form (multipart/form-data)")
                    fields = {name: value for name, value in form.items() if isinstance(value, str)}
                    return fields, await file.read()
        except TimeoutError:
            raise ApiError("the request did not arrive in time", status=408, code="timeout") from None
        except (MultiPartException, HTTPException, AssertionError) as cause:
            raise ApiError(f"the form cannot be read: {cause}", code="invalid_form") from None


async def _last_pieces(running: RunningTexts) -> list[Piece]:
    """The pieces of texts that are not streamed. Raises ApiError if one fails."""
    found: list[Piece] = []
    while len(found) < len(running.texts):
        for item in await running.take():
            if isinstance(item, ApiError):
                raise item
            found.append(item)
    return found


def _too_large(most: int) -> ApiError:
    return ApiError(f"the request is larger than {most} bytes", status=413, code="too_large")


async def _http_error(request: Request, cause: Exception) -> Response:
    """Errors of starlette: no such path, another method."""
    error = ApiError(
        f"{request.method} {request.url.path}: {cause.detail}", status=cause.status_code,
        code="unknown_url" if cause.status_code == 404 else None,
    )
    return JSONResponse(error.body, error.status, cause.headers)
