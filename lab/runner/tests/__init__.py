"""The runner's tests: no network, no wall clock; runtimes are scripts that speak the adapters' protocol."""
