"""The command ``gnarl``, the same program as the one in Rust."""

from __future__ import annotations

import sys

from gnarl import _gnarl


def main(arguments: list[str] | None = None) -> int:
    """Run a command line, by default the process's own, and give its exit code.

    >>> main(["centrality", "--kind", "nobody"])
    2
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    return _gnarl.run_command(["gnarl", *words])


if __name__ == "__main__":
    sys.exit(main())
