"""Comparisons and histories as pages."""
