"""What is measured: a folder, a file, a device, or a twin of the catalog by its name."""
