"""What was seen: writers over the event stream."""
