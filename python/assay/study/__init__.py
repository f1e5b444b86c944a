"""Declared studies: files, matrix, plan, execution."""
