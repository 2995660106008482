"""Start the bundle's server, wait, ask for one token, compare it with the known one, tear down."""
