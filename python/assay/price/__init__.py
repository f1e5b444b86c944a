"""What storage costs, and which hardware is worth its price. Every price has a source and a date."""
