"""One file per artifact kind: recognize it by content, read its facts, offer its children."""
