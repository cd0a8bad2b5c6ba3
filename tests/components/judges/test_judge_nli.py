"""Natural language inference, on a tiny model made here."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag.components.judges.nli import NliJudge
from rag.core.assessments import Case
from rag.core.errors import ConfigError

ASKED = "This answers: {question}"
CONTEXTS = ("Cats sleep all day long. Dogs bark at night.", "A door was red.")


def test_support_is_the_best_entailment(tiny_nli: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    (claim,) = NliJudge(str(tiny_nli), ASKED, max_length=64).judge([Case("The red door sleeps.", CONTEXTS)])[0].claims
    model = AutoModelForSequenceClassification.from_pretrained(tiny_nli).eval()
    tokenizer = AutoTokenizer.from_pretrained(tiny_nli)
    passages = [CONTEXTS[0], "Dogs bark at night.", CONTEXTS[1]]
    with torch.inference_mode():
        rows = [
            model(**tokenizer([[text, "The red door sleeps."]], return_tensors="pt")).logits.softmax(-1) for text in passages
        ]
    entailed = [row[0, 1].item() for row in rows]
    assert claim.support == pytest.approx(max(entailed), abs=1e-5)
    (where,) = claim.evidence
    assert CONTEXTS[where.context - 1][where.start : where.end] == passages[int(np.argmax(entailed))]


def test_relevance_is_entailment_by_the_text(tiny_nli: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    (value, empty) = NliJudge(str(tiny_nli), ASKED, max_length=64).relate([("who barks?", CONTEXTS[0]), ("who barks?", " ")])
    model = AutoModelForSequenceClassification.from_pretrained(tiny_nli).eval()
    pair = AutoTokenizer.from_pretrained(tiny_nli)([[CONTEXTS[0], "This answers: who barks?"]], return_tensors="pt")
    with torch.inference_mode():
        assert value == pytest.approx(model(**pair).logits.softmax(-1)[0, 1].item(), abs=1e-5)
    assert empty == 0


def test_a_quotation_needs_no_model(tiny_nli: Path) -> None:
    (verdict,) = NliJudge(str(tiny_nli), ASKED, max_length=64).judge([Case("a door was red", CONTEXTS)])
    assert verdict.faithfulness == 1.0


def test_a_model_without_entailment_is_refused(save_nli: Callable[[tuple[str, ...]], Path]) -> None:
    with pytest.raises(ConfigError, match=r"judge\.model: .* has the labels bad, good"):
        NliJudge(str(save_nli(("bad", "good"))), ASKED, max_length=64).judge([Case("A cat.", CONTEXTS)])


def test_more_tokens_than_the_model_reads(tiny_nli: Path) -> None:
    with pytest.raises(ConfigError, match=r"judge\.max_length: 512 .*\n.*at most 64"):
        NliJudge(str(tiny_nli), ASKED).judge([Case("A cat.", CONTEXTS)])
