"""How long the frames of a wireless link with ARQ should be."""

from varicap.design.packet.solve import Design, Frame, packet

__all__ = ["Design", "Frame", "packet"]
