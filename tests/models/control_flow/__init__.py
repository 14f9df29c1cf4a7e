"""The models of check_control_flow.py."""

import torch

from . import (alignment_flows, choice_flows, decoding_flows, detection_flows,
               filter_flows, generation_flows, in_place_flows, layer_flows,
               machine_flows, numeric_flows, routing_flows, search_flows,
               sequence_flows)
from .flow_model import MODELS

if torch.__version__ >= "2.14":
    from . import associative_flows

try:
    from . import transformers_flows
except ImportError:  # the package transformers is not installed
    transformers_flows = None
