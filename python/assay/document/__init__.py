"""TOML documents: tables with strict keys, the line that a complaint names, and writing them."""
