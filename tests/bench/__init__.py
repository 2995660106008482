"""The figures of docs/benchmarks.md, measured: `nox -s bench`, or `nox -s bench -- NAME…` for some of them."""
