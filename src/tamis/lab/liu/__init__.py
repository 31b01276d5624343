"""Liu et al.: shared evaluation of expensive operators by overlapping subscriptions."""
