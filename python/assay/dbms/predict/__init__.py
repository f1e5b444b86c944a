"""What a database's run would take on another device: from a measured run and a twin."""
