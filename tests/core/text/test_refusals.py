"""Texts that decline to answer, and texts that only look like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.core.errors import ConfigError
from rag.core.text.refusals import refusals, refused

REFUSAL = "That is not in this book. Ask the harbour."


@pytest.mark.parametrize(
    "text",
    [
        *("", " \n", "[1]", "I don't know.", "I don’t know [1]."),
        *("I do not know. Would you like to ask something else?", "The sources do not mention dogs."),
        *("The depth of the well is not specified in the notes provided.", "The documents you provided don't say."),
        *("There is no mention of dogs in the provided sources.", "I don't have enough information to answer that."),
        *("I cannot determine the price from this.", "I apologize, but I can't assist with that."),
        *("**That is not in this book.** Ask the harbour!", "That is not in this book.", "that is not in this book [2]"),
        *("Ich weiß es leider nicht.", "Die Frage kann ich anhand der Auszüge nicht beantworten."),
        "Dazu gibt es keine weiteren Angaben.",
        "Der Preis wird in den Dokumenten nicht genannt. Im Kontext ist der Preis nicht angegeben.",
        *("Je ne sais pas.", "Il n'y a pas assez d'informations. Le prix n’est pas mentionné dans les documents."),
        *("No lo sé.", "No puedo responder a esa pregunta. El precio no se menciona en los documentos."),
    ],
)
def test_refusals(text: str) -> None:
    assert refused(text, REFUSAL)


@pytest.mark.parametrize(
    "text",
    [
        *("Dogs travel free [1].", "I don't know the price. Dogs travel free [1]."),
        *("That is not in this book. Dogs travel free.", "Who knows?", "The notes of the meeting are kept for a year."),
        *("Dogs are mentioned in the sources.", "We do not have a dog.", "Hunde können die Fähre nicht benutzen."),
        *("Ich weiß, dass Hunde frei fahren.", "Les chiens ne paient pas. Je ne le crois pas cher."),
        *("No hay perros en el barco.", "No."),
    ],
)
def test_a_text_with_a_claim_is_no_refusal(text: str) -> None:
    assert not refused(text, REFUSAL)


def test_a_quotation_is_no_refusal() -> None:
    text = "We cannot answer the telephone on Sundays. [1]"
    assert refused(text)
    assert not refused(text, contexts=["# Hours\n\nWe cannot answer the telephone\non Sundays. Write to us."])


@given(st.text(max_size=40))
def test_a_prompts_own_refusal_is_one(text: str) -> None:
    assert refused(text, text) or "[" in text or not any(character.isalnum() for character in text) or "?" in text


def test_further_patterns_must_be_regular_expressions() -> None:
    assert any(pattern.search("No idea!") for pattern in refusals(["no idea"]))
    with pytest.raises(ConfigError, match=r"judge\.abstentions"):
        refusals(["("])
