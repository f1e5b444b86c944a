"""An emulated machine with persistent memory, NVMe drives and arrays, for what this machine lacks."""
