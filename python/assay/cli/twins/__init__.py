"""Commands that ask twins."""
