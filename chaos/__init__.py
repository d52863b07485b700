"""How a ledger is hurt: nodes, stops, kills, and the events that a run leaves."""
