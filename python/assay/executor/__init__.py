"""Who computes: this process, processes of this machine, or whoever a room above finds; the same answers either way."""
