"""The suites: one module of checks each."""
