"""Two sides against each other: are they different, equivalent, or can it not be told."""
