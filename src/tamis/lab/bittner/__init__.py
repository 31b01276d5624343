"""S. Bittner, thesis (2008): general Boolean filtering, and routing in a network of brokers."""
