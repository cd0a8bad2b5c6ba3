"""The laws of chunkers that keep structure, over random Markdown and parameters, with every passage that writes headers."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.choices import build

from rag.components.chunkers.markdown import MarkdownChunker
from rag.core.types import Document
from rag.testing.retrieval import check_chunks
from rag.testing.structure import check_structure

TEXT = """\
---
title: Marks
---
# Marks

## Peaks

Table 1. Peaks

| Station | Peak |
| --- | --- |
| Southmoor | 3.62 m |
| Hallow Weir | 2.94 m |

### Code

The script:

```
# no heading
| no | table |
```

> All is well.

— Ames

A claim.[^1]

[^1]: A note.

## Last
"""
BLOCKS = (
    *("# Title\n\n", "## Part\n\n", "### Deep\n\n", "#### Deeper\n", "Under\n-----\n\n"),
    *("A word. And more of them.\n\n", "this:\n"),
    "| a | b |\n|--|--|\n| 1 | 2 |\n| 3 | 4 |\n\n",
    "Table 1. Caption\n\n| a b |\n|--|\n| 1 |\n| 2 |\n| 3 |\n",
    "| a |\n|--|\n\n",
    *("| | x |\n|--|--|\n| | y |\n| 1 | 2 | 3 |\n| 4 |\n\n", "Table 2: below\n\n", "**Bold**\n\n"),
    *("```\n# code\nx = 1\n```\n", "~~~\n"),
    *("- one\n- two\n  - inner\n", "1. first\n2. second\n", "> said\n", "— Ames\n\n", "A claim.[^1]\n\n", "[^1]: A note.\n\n"),
    *("日本語の文。次の文。\n", "نص عربي. آخر\n", "x" * 70, "\r\n", "\n", "    indented\n", "1.2 Numbered\n\n", "\x00"),
    *("\u2028", "<b>\n"),
)
TEXTS = st.lists(st.one_of(st.sampled_from(BLOCKS), st.text(max_size=6)), max_size=30).map("".join)
SETTINGS = st.fixed_dictionaries(
    {
        "size": st.integers(1, 120),
        "overlap": st.integers(0, 60),
        "kept": st.sampled_from([[], ["code", "quote"], ["table", "code", "quote"]]),
        "whole": st.integers(0, 200),
        "rows": st.sampled_from([None, 1, 2]),
    }
)


@given(text=TEXTS, values=SETTINGS, passage=st.sampled_from(["titled", "row"]))
@example(TEXT, {"size": 60, "overlap": 0, "kept": [], "whole": 0, "rows": None}, "row")
@settings(max_examples=120, deadline=None)
def test_laws(text: str, values: dict[str, Any], passage: str) -> None:
    chunker = MarkdownChunker(**values | {"overlap": min(values["overlap"], values["size"] - 1)})
    check_chunks(chunker, Document("d", text))
    check_structure(chunker, build("passage", passage), Document("d", text), chunker.size)
