"""A passport: what a volume did, under which conditions, in one file that its owner signed."""
