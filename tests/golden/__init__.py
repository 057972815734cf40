"""Statistics of the original implementations, and the pictures that they were measured on."""
