"""Twins: the catalog of modelled devices and hosts, what the names on the command line mean, and questions to them."""
