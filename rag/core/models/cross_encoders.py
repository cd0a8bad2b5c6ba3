"""Cross-encoders of sentence-transformers, opened without code of their own: rerankers and judges read two texts at once."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from rag.core.errors import ConfigError


@lru_cache(maxsize=2)
def opened(where: str, folder: Path, device: str, max_length: int) -> Any:
    """The model in a folder, its outputs as logits; ConfigError naming `where` if it cannot be, or reads fewer tokens."""
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # one bar per load says nothing that the progress of a sweep does not
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
