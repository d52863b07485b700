"""The network between a client and a server, hurt by a real Toxiproxy of the suite's own."""
