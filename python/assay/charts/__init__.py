"""Charts and the page around them: marks, axes, colours, export; they know nothing of what they show."""
