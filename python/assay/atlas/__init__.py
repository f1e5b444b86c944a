"""The atlas: a static site with a page for each drive and instance, out of passports, results and the catalog."""
