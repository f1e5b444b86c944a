"""Published figures as claims that can be tried: on twins of their hardware, and here."""
