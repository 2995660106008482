"""What another repository needs to use this tool: told from its files, rendered, written all or not at all."""
