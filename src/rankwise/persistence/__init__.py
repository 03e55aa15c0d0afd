"""Models on disk: `save` and `load`, one safetensors file a model, no code in it."""

from rankwise.persistence.models import load, save

__all__ = ["load", "save"]
