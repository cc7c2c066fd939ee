"""Parts of the engine as values, by hand: TCP, a channel, an estimator of rates, policies of load-reactive links."""
