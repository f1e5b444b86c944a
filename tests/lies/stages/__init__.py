"""The stages, by what is bent."""
