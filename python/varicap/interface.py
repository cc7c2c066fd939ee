"""What products over the library build on, beside its documented modules.

`varicap.papers`, `varicap.dialogue`, `varicap.gym`, `varicap.explore` and `varicap.widget` import public names alone,
so that each could be a distribution of its own.  These are the ones that have no other public place: reading what
strangers made, up to a bound and without following a link; exceptions whose text is safe to show; how much memory and
time is left to a call; episodes of the simulator.
"""

from varicap._core import Budget as Budget
from varicap._core import Episodes as Episodes
from varicap._core import LimitError as LimitError
from varicap._core import Scenario as Scenario
from varicap._core import ScenarioError as ScenarioError
from varicap._core import __version__ as __version__
from varicap._core import left as left
from varicap._files import UnreadableError as UnreadableError
from varicap._files import read_scenario as read_scenario
from varicap._files import read_whole as read_whole
from varicap._folders import Folder as Folder
from varicap._folders import FolderError as FolderError
from varicap._folders import parsed as parsed
from varicap._limits import MAX_MEMORY as MAX_MEMORY
from varicap._limits import MAX_TIME as MAX_TIME
from varicap._printable import PrintableError as PrintableError
