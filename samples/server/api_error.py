"""Errors as the API of OpenAI writes them."""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """An answer that is an error.

    Attributes:
      status: HTTP status.
      param: name of the field of the request that is wrong, or None.
      code: short name of the error for programs, or None.
    """

    def __init__(
        self, message: str, *, status: int = 400, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.param, self.code = message, status, param, code

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object of the answer."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {
            "message": self.message, "type": kind, "param": self.param, "code": self.code,
        }}

    @property
    def headers(self) -> dict[str, str]:
        return {"retry-after": "1"} if self.status == 503 else {}


def overloaded(message: str) -> ApiError:
    return ApiError(message, status=503, code="overloaded")
