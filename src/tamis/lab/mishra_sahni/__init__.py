"""T. Banerjee Mishra and S. Sahni: PUBSUB, an attribute structure for each attribute, with buckets (`buckets`)."""
