"""What maintainers and workflows run beside the package itself."""
