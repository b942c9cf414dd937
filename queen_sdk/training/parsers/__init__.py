"""Training of the embedded parsers on treebanks."""
