"""Sizes, times and rates: read from what people write (`parse`) and shown to them (`show`)."""
