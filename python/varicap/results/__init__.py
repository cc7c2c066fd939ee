"""What runs found: in memory, in folders, while they go on, and in the formats of other programs."""

from typing import TYPE_CHECKING, Any

from varicap._names import on_first_use

if TYPE_CHECKING:
    from varicap._folders import FolderError
    from varicap.results.result import Result
    from varicap.results.saved import SavedResult, read

__all__ = ["FolderError", "Result", "SavedResult", "read"]

_on_first_use = on_first_use(
    __name__,
    {
        "varicap._folders": ["FolderError"],
        "varicap.results.result": ["Result"],
        "varicap.results.saved": ["SavedResult", "read"],
    },
)


def __getattr__(name: str) -> Any:
    return _on_first_use(name)
