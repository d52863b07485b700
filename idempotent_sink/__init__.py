"""The world outside: applies effects, counts them, and keeps its own durable log."""
