"""`python -m assay` is the command line."""

import sys


def main() -> int:
    """Ctrl-C while modules are still being read is an interrupt like any other."""
    try:
        from assay.cli import main as command_line

        return command_line()
    except KeyboardInterrupt:
        print("error: interrupted before anything was measured", file=sys.stderr)
        return 3


if __name__ == "__main__":
    raise SystemExit(main())
