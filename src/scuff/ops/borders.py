"""What lies beyond the edge of an image. Corruptions differ in this, and the difference shows.

==========  ====================  ====================================
name        pattern for abcd      also known as
==========  ====================  ====================================
`edge`      aaa [abcd] ddd        replicate, nearest
`reflect`   cba [abcd] dcb        half-sample symmetric, scipy reflect
`mirror`    dcb [abcd] cba        whole-sample, OpenCV reflect101
==========  ====================  ====================================

Any width works, also wider than the image: reflections repeat.
"""

from __future__ import annotations

from scuff.kernels.borders import fold, pad, padded_index

__all__ = ["fold", "pad", "padded_index"]
