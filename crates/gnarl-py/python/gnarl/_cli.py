"""The command ``gnarl``, equal to the program built by Cargo."""

from __future__ import annotations

import sys

from gnarl import _gnarl


def main(arguments: list[str] | None = None) -> int:
    """Runs a command line.

    Parameters
    ----------
    arguments : list of str, default=None
        Arguments. None: those of the process.

    Returns
    -------
    int
        Exit code.

    Examples
    --------
    >>> main(["centrality", "--kind", "nobody"])
    2
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    return _gnarl.run_command(["gnarl", *given])


if __name__ == "__main__":
    sys.exit(main())
