"""Imported first: the packages that checks against the stock tools need, and
their chatter off. Ends the program with 77 (skipped) if one is not there.
"""

import logging
import sys
import warnings

try:
    import torch  # noqa: F401
    logging.disable(logging.WARNING)
    warnings.filterwarnings("ignore")
    import executorch.exir  # noqa: F401
    import executorch.runtime  # noqa: F401
    import safetensors  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
