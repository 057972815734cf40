"""Reports of overlap studies."""
