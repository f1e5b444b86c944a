"""Statistics that more than one room asks: tests of pairs, intervals, corrections, spreads."""
