"""The program: the command ``varicap`` and ``python -m varicap`` are the command line, behind a handler of Ctrl-C.

The handler comes first, since the command line imports for a while; nothing imports this module but the program.
"""

from varicap import _interrupt


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    _interrupt.take_over()
    from varicap import cli

    cli.main()


if __name__ == "__main__":
    main()
