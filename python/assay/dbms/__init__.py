"""Real databases on storage targets: how much of a device's difference survives in them."""
