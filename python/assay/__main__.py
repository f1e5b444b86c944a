"""`python -m assay` is the command line."""

import signal
import sys


def main() -> int:
    """Ctrl-C while modules are still being read is an interrupt like any other."""
    try:
        # The launcher holds it back until somebody can say what it means.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        from assay.cli import overview

        if overview.show(sys.argv[1:]):
            return 0
        from assay.cli import main as command_line

        return command_line()
    except KeyboardInterrupt:
        print("error: interrupted before anything was measured", file=sys.stderr)
        return 3
    finally:
        # From here on only what was made is removed, and who interrupts twice wants that to be over as much as we do.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    raise SystemExit(main())
