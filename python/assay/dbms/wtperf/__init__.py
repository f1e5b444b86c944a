"""WiredTiger's own benchmark, wtperf: built or found, run per target, read, compared."""
