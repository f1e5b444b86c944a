"""What the page shows, ready for the template: words only, no arithmetic left."""
