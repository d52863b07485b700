"""What is tried and what must hold: families, checks, and the campaign that runs them."""
