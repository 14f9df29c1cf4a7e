"""The models of check_control_flow.py."""

from . import (choice_flows, decoding_flows, detection_flows, filter_flows,
               generation_flows, machine_flows, numeric_flows, routing_flows,
               search_flows, sequence_flows)
from .flow_model import MODELS

try:
    from . import transformers_flows
except ImportError:  # the package transformers is not installed
    transformers_flows = None
