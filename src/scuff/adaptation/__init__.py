"""Test-time adaptation: methods that change a model while a stream of images goes by, to be compared with each other.

They are short reference implementations of their papers. A method of your own is a class with two functions: see
`scuff.adaptation.method`.
"""

from scuff.adaptation.cotta import CoTTA
from scuff.adaptation.entropy import Eata, Eta, RDumb, Tent
from scuff.adaptation.method import Method, Network
from scuff.adaptation.methods import METHODS, ask_method, ask_methods, file_name, similar_benchmark
from scuff.adaptation.norm import BatchNorm, PriorNorm, RunningNorm, Source

__all__ = ["METHODS", "BatchNorm", "CoTTA", "Eata", "Eta", "Method", "Network", "PriorNorm", "RDumb", "RunningNorm"]
__all__ += ["Source", "Tent", "ask_method", "ask_methods", "file_name", "similar_benchmark"]
