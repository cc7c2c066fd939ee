"""The kinds of TCP that the figures compare, as changes of a scenario: the paper's two, and modern ones."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of TCP: a recovery and a congestion control."""

    name: str
    recovery: str
    congestion: str

    def changes(self, where: str) -> dict[str, str]:
        """Changes in the table `where` of a scenario, such as ``tcp``."""
        return {
            f"{where}.recovery": self.recovery,
            f"{where}.congestion": self.congestion,
        }


def _ratcp(beta: int) -> str:
    return f'{{ ratcp = {{ beta = "{beta} packets", rtt = "base" }} }}'


RATCP = Kind("RATCP (beta = 1)", "reno", _ratcp(1))
RATCP_4 = Kind("RATCP (beta = 4)", "reno", _ratcp(4))
TCP = Kind("TCP-Reno", "reno", "reno")
NEWRENO = Kind("NewReno", "newreno", "reno")
VEGAS = Kind("Vegas", "reno", "vegas")
SACK = Kind("SACK", "sack", "reno")
CUBIC = Kind("CUBIC", "sack", "cubic")
