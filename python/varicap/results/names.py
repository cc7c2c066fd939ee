"""The names of what varicap writes into folders of results and of studies, and a look at what has these names."""

from varicap._folders import Folder

TABLES = ("flows", "links", "groups", "flow_series", "link_series", "packets")
"""The tables that runs leave."""
UNFINISHED = "unfinished"
"""The folder, in that of a command's results, of the runs that it has finished while others go on."""

_FILES = (
    *(f"{name}.parquet" for name in (*TABLES, "summary", "models")),
    *(f"{name}.json" for name in ("manifest", "summary", "plan", "points", "design", "models")),
    *("lock", "report.html", "plot.png", "chart.png", "windows.png"),
)
_FOLDERS = ("parts", "traces", UNFINISHED)


def refuse_foreign(folder: Folder) -> None:
    """Raise `FolderError` where a link, a device or the like has a name of ours, before anything is written."""
    there = set(folder.names())
    for name in _FILES:
        for used in (name, f".{name}.tmp"):
            if used in there:
                folder.is_file(used)
    for name in _FOLDERS:
        if name in there:
            folder.is_folder(name)
