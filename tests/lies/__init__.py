"""Ways to bend a number, staged for real, and what Assay says to each."""
