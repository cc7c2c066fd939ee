"""The memory and the time that whatever runs for a stranger may take, unless it is given more or less."""

MAX_MEMORY = "4 GB"
"""What it may add to the memory of the process."""

MAX_TIME = "1 h"
"""The time on the clock."""
