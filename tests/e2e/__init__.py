"""The whole program, driven for real: verdicts provoked, targets that break, runs that are killed."""
