"""The image operations of training-time augmentations, numbered: kernels branch on the number."""

OPERATIONS = (
    "identity", "invert", "solarize", "posterize", "brightness", "contrast", "color", "sharpness",
    "autocontrast", "equalize", "shear_x", "shear_y", "translate_x", "translate_y", "rotate",
)  # fmt: skip
CODES = {name: code for code, name in enumerate(OPERATIONS)}
LOOKUPS = ("invert", "solarize", "posterize", "brightness", "contrast", "autocontrast", "equalize")
BLENDS = ("color", "sharpness")
WARPS = OPERATIONS[CODES["shear_x"] :]
