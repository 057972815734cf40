"""Reports of distances between augmentations and corruptions, and of benchmarks that are designed by them."""
