"""A network of brokers in one process: subscriptions and advertisements forwarded, pruned and covered."""
