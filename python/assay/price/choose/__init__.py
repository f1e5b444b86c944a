"""Which instance, or own machine, serves a workload for the least money, and why the others do not."""
