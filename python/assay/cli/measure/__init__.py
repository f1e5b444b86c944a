"""Commands that measure: their options, and what they print."""
