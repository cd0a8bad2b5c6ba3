"""A tiny model of sentence-transformers, made on the spot."""

from pathlib import Path
from tempfile import TemporaryDirectory

LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
VOCABULARY = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *LETTERS,
    *[f"##{letter}" for letter in LETTERS],
    *("leave", "days", ".", "?"),
]


def write_tiny(folder: Path) -> Path:
    """Save a BERT of one layer and 16 dimensions with mean pooling, the way the library saves models; the folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    with TemporaryDirectory() as bare:
        torch.manual_seed(7)
        shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        BertModel(BertConfig(vocab_size=len(VOCABULARY), max_position_embeddings=64, **shape)).save_pretrained(bare)
        BertTokenizerFast(vocab={token: number for number, token in enumerate(VOCABULARY)}).save_pretrained(bare)
        modules = [Transformer(str(bare)), Pooling(16)]
        SentenceTransformer(modules=modules, prompts={"query": "leave "}, device="cpu").save(str(folder))
    return folder
