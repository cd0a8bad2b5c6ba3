"""Models of sentence-transformers, loaded without code of their own."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from rag.core.errors import ConfigError


@lru_cache(maxsize=2)
def load_cross_encoder(where: str, folder: Path, device: str, max_length: int) -> Any:
    """The cross-encoder in a folder, with logits as outputs; ConfigError at `where` if it fails, or reads fewer tokens."""
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # a sweep shows its own progress
    try:
        model = CrossEncoder(
            str(folder),
            device=device,
            max_length=max_length,
            activation_fn=Identity(),
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )
    except (OSError, ValueError, RuntimeError, AssertionError) as error:
        reason = f"{folder} cannot be loaded on {device!r}: {str(error).strip().splitlines()[0]}"
        raise ConfigError(where, reason, "a cross-encoder without code of its own, and a device") from error
    most = getattr(model.config, "max_position_embeddings", max_length)
    if 0 < most < max_length:
        raise ConfigError(f"{where}.max_length", f"{max_length} is more than the model reads", f"at most {most}")
    return model
