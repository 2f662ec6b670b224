from collections.abc import Awaitable, Callable, Iterable
from typing import Any, List, Optional, Protocol, SupportsIndex, Union, overload

__version__: str
__all__ = ["add_all", "build", "check", "load", "loadable_path"]

class _Asynchronous(Protocol):
    """A connection of aiosqlite."""

    async def enable_load_extension(self, value: bool) -> None: ...
    async def load_extension(self, path: str) -> None: ...

class _AsynchronousAlchemy(Protocol):
    """An AsyncConnection of SQLAlchemy."""

    @property
    def sync_connection(self) -> Any: ...

def loadable_path() -> str: ...
@overload
def load(connection: _Asynchronous) -> Awaitable[None]: ...  # type: ignore
@overload
def load(connection: _AsynchronousAlchemy) -> Awaitable[None]: ...  # type: ignore
@overload
def load(connection: object) -> None: ...
def build(
    keys: Iterable[Union[str, bytes, SupportsIndex, float, None]],
    n: Optional[int] = None,
    p: Optional[float] = 0.01,
    options: Optional[str] = None,
    *,
    progress: Optional[Callable[[int], object]] = None,
) -> bytes: ...
def add_all(
    connection: object,
    table: str,
    keys: Iterable[Union[str, bytes, SupportsIndex, float, None]],
    *,
    progress: Optional[Callable[[int], object]] = None,
) -> int: ...
@overload
def check(
    filter: Union[bytes, bytearray, memoryview], column: List[Any]
) -> List[Optional[bool]]: ...
@overload
def check(filter: Union[bytes, bytearray, memoryview], column: Iterable[Any]) -> Any: ...
