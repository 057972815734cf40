"""How near augmentations come to corruptions in the features of a network."""
