"""Models of sentence-transformers, loaded from a folder without code of their own."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from rag.core.errors import ConfigError


def load_model(where: str, kind: str, folder: Path, device: str, **settings: Any) -> Any:
    """The model of the class `kind` in a folder, from safetensors; ConfigError at `where` if it cannot be loaded."""
    import sentence_transformers
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # a sweep shows its own progress
    settings |= {"trust_remote_code": False, "local_files_only": True, "model_kwargs": {"use_safetensors": True}}
    try:
        return getattr(sentence_transformers, kind)(str(folder), device=device, **settings)
    except (OSError, ValueError, RuntimeError, AssertionError) as error:
        reason = f"{folder} cannot be loaded on {device!r}: {str(error).strip().splitlines()[0]}"
        raise ConfigError(where, reason, f"a {kind} without code of its own, and a device") from error


@lru_cache(maxsize=2)
def load_cross_encoder(where: str, folder: Path, device: str, max_length: int) -> Any:
    """The cross-encoder in a folder, with logits as outputs; ConfigError at `where` if it fails, or reads fewer tokens."""
    from torch.nn import Identity

    model = load_model(where, "CrossEncoder", folder, device, max_length=max_length, activation_fn=Identity())
    most = getattr(model.config, "max_position_embeddings", max_length)
    if 0 < most < max_length:
        raise ConfigError(f"{where}.max_length", f"{max_length} is more than the model reads", f"at most {most}")
    return model
