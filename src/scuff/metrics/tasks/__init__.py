"""How well detectors and segmenters do, clean and corrupted."""
