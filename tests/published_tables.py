"""Tables of the papers as they are printed: clean errors, relative CE of every corruption, and mCE."""

from __future__ import annotations

import numpy as np

from scuff import metrics
from scuff.suites import load_suite

NOC = ("quantization", "blur", "vertical_artifacts", "rain", "border", "shear", "brightness", "hue")
ENTRIES = {"imagenet-c": tuple(load_suite("imagenet-c").benchmark()), "imagenet-noc": NOC}
ALEXNET = {suite: metrics.load_reference("alexnet", suite) for suite in ENTRIES}
NORMALISERS = {
    suite: np.array([np.mean(ALEXNET[suite].errors[entry]) for entry in entries]) for suite, entries in ENTRIES.items()
}

# name: clean error, CE of every corruption (relative), printed mCE
TABLE_1A = """
standard 0.247 120 119 121 147 121 117 107 97 108 97 93 115 67 78 56 104
mINOC 0.199 92 94 93 102 112 86 78 69 81 67 41 97 63 71 53 81
"""
TABLE_1B = """
standard 0.247 87 122 77 71 67 79 117 88 89
mIC 0.239 44 15 39 58 79 49 72 117 59
"""
TABLE_5 = """
AlexNet 0.435 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100
SqueezeNet 0.418 118 116 114 104 110 106 105 106 110 98 101 100 126 129 229 118
VGG-11 0.310 122 121 125 116 129 121 115 114 113 99 86 102 151 161 174 123
VGG-19-BN 0.258 104 105 114 108 132 114 119 102 100 79 68 89 165 125 144 111
ResNet-18 0.302 104 106 111 100 116 108 112 103 101 89 67 87 133 97 126 104
ResNet-50 0.239 104 107 107 97 126 107 110 101 97 79 62 89 146 111 132 105
DenseNet-121 0.253 84 87 89 97 120 101 104 91 87 61 50 66 147 97 122 94
DenseNet-201 0.228 82 87 87 91 116 100 107 85 82 63 45 62 136 80 113 89
WideResNet-50-2 0.215 91 93 97 93 123 103 109 104 95 81 65 89 146 99 126 101
"""  # its clean errors are printed in Table 6
TABLE_6 = """
AlexNet 0.435 100 100 100 100 100 100 100 100 100
SqueezeNet 0.418 143 97 109 111 93 99 109 86 106
VGG-11 0.310 193 90 156 94 70 107 92 77 110
VGG-19-BN 0.258 175 70 113 77 55 91 71 53 88
ResNet-18 0.302 128 68 103 84 69 92 80 64 86
ResNet-50 0.239 130 60 95 93 53 87 71 58 81
DenseNet-121 0.253 101 58 98 89 55 72 57 54 73
DenseNet-201 0.228 89 54 86 84 49 69 52 50 66
WideResNet-50-2 0.215 112 59 97 92 35 96 72 58 78
"""
TABLE_7 = """
Standard 0.247 121 119 122 147 121 118 107 97 109 98 94 116 68 79 56 104
Gauss 0.264 6 9 8 122 88 100 95 87 93 125 107 129 58 19 15 71
Shot 0.269 10 6 9 125 92 102 96 84 94 126 103 128 59 20 16 71
Impul 0.272 10 11 4 123 88 99 96 91 93 127 102 129 54 17 14 71
Defo 0.300 62 62 63 6 25 36 34 76 77 82 91 93 46 2 50 54
Glass 0.287 74 73 74 24 8 32 30 81 81 83 95 99 34 2 55 56
Motion 0.263 92 92 92 55 41 6 26 76 94 73 97 93 42 10 53 63
Zoom 0.254 98 98 99 60 50 31 6 88 97 77 101 98 45 24 51 68
Snow 0.263 114 113 118 115 91 87 87 5 74 97 84 117 54 40 52 83
Frost 0.259 109 111 112 118 87 99 89 40 9 69 60 108 57 28 84 79
Fog 0.254 117 116 118 136 115 100 86 76 79 2 58 57 73 88 72 86
Bright 0.235 108 111 110 142 113 112 104 86 88 75 7 100 72 60 55 89
Contr 0.282 96 98 100 131 103 97 87 82 76 50 72 2 66 53 50 78
Elastic 0.200 124 122 125 127 92 91 72 92 110 98 104 118 19 22 61 92
Pixel 0.251 99 98 102 129 87 96 93 93 95 90 86 108 53 5 42 85
Jpeg 0.256 86 86 88 143 110 118 113 98 102 120 101 129 66 32 11 94
"""
TABLE_8 = """
standard 0.247 87 122 77 71 67 79 117 88 89
Quant 0.237 9 125 77 90 70 90 124 80 83
Blur 0.251 79 7 61 72 82 90 132 106 79
Vert-Arti 0.242 79 133 4 63 80 84 119 104 83
Rain 0.231 86 131 78 2 73 82 115 97 83
Border 0.241 89 123 71 73 8 74 118 89 81
Shear 0.234 129 127 65 85 75 6 133 102 90
Bright 0.236 75 125 78 77 73 92 21 89 79
Hue 0.261 83 139 91 96 74 101 116 1 88
"""
TABLES = {
    "1a": ("imagenet-c", TABLE_1A),
    "1b": ("imagenet-noc", TABLE_1B),
    "5": ("imagenet-c", TABLE_5),
    "6": ("imagenet-noc", TABLE_6),
    "7": ("imagenet-c", TABLE_7),
    "8": ("imagenet-noc", TABLE_8),
}
TABLE_3 = {  # mCE on ImageNet-C and ImageNet-NOC
    "AlexNet": (100, 100),
    "SqueezeNet": (118, 106),
    "VGG-11": (123, 110),
    "VGG-19-BN": (111, 88),
    "ResNet-18": (104, 86),
    "ResNet-50": (105, 81),
    "DenseNet-121": (94, 73),
    "DenseNet-201": (89, 66),
    "WideResNet-50-2": (101, 78),
}


def read(table: str) -> dict[str, tuple[float, np.ndarray, float]]:
    """The clean error, the cells and the mCE of every line of a table."""
    lines = [line.split() for line in table.strip().splitlines()]
    return {name: (float(clean), np.array(cells, float), float(mce)) for name, clean, *cells, mce in lines}
