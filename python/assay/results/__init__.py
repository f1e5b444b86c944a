"""Reading any result folder: records, rows, histograms, labels, conditions, and tables over all of them."""
