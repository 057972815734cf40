"""The few hot primitives, each with up to three back ends that must agree.

===========  ================================================  =====================
back end     where it runs                                     role
===========  ================================================  =====================
`reference`  any device, plain torch                           the definition
`numba_cpu`  CPU, compiled loops without temporaries           speed on a CPU
`triton_gpu` CUDA, fused kernels                               speed on a GPU
===========  ================================================  =====================

A kernel is a function in `reference/` with the decorator `@kernel`; a faster version has the same name and decorator in
a file of its back end. Callers never learn which one answered; where a fast version is missing, the reference does, so
a new kernel can start its life there. It also answers for the first few pictures on a CPU, which are done before a
compiler is loaded.
"""

from scuff.kernels.dispatch import BACKENDS as BACKENDS
from scuff.kernels.dispatch import backend_name as backend_name
from scuff.kernels.dispatch import sparing_compiler as sparing_compiler
from scuff.kernels.dispatch import use_backend as use_backend
from scuff.kernels.reference.colours import *
from scuff.kernels.reference.drops import *
from scuff.kernels.reference.films import *
from scuff.kernels.reference.filters import *
from scuff.kernels.reference.functions import *
from scuff.kernels.reference.hues import *
from scuff.kernels.reference.jpeg import *
from scuff.kernels.reference.matrices import *
from scuff.kernels.reference.operations import *
from scuff.kernels.reference.pixels import *
from scuff.kernels.reference.places import *
from scuff.kernels.reference.random import *
from scuff.kernels.reference.relief import *
from scuff.kernels.reference.resizing import *
from scuff.kernels.reference.shapes import *
from scuff.kernels.reference.skies import *
from scuff.kernels.reference.spectra import *
from scuff.kernels.reference.splines import *
from scuff.kernels.reference.squares import *
from scuff.kernels.reference.stars import *
from scuff.kernels.reference.textures import *
from scuff.kernels.reference.warps import *
