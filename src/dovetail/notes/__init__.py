"""Notes: what a person corrects, defines or remarks, in one file beside the catalog."""
