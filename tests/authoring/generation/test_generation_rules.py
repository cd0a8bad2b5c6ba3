"""Questions about tables, lists, abbreviations and several documents, on texts small enough to count."""

from collections.abc import Mapping

import pytest

from rag.authoring.candidates import Candidate
from rag.authoring.generation import corpus_rules, figures, rules, table_rules
from rag.authoring.generation.filters import Filters, Passages
from rag.authoring.generation.generate import generate
from rag.authoring.generation.pages import Page
from rag.authoring.generation.titles import titles
from rag.authoring.generation.wording import Wording
from rag.core.types import Document

RATES = """# Boat hire: price list {year}

## Rates

| Boat | Price | Owner |
|---|---|---|
| Tern | £{tern} | Ruth |
| Heron | £30 | Asta |
| Otter | £9.50 | Tom |
{more}"""
OLD = RATES.format(year="2024 (expired)", tern=20, more="| Kestrel | £12 | Ruth |\n")
NEW = RATES.format(year="2025", tern=25, more="")


LAKE, RIVER = (
    f"# Rules of {name}\n\n## Late return\n\nLate boats are charged at {rate} times the day rate.\n"
    for name, rate in (("lake", 2), ("river", 3))
)
DEPOT = "# Depot\n\n## Closing\n\n- lights off\n- gate locked\n- key to Ruth\n\nThe local area network (LAN) is slow."


def found(**texts: str) -> list[str]:
    """The questions of all rules over documents: `rule: turns → answer ← quotes`, with the value that is expected, if any."""
    pages = [Page(Document(name, text), "english") for name, text in texts.items()]
    wording, passages = Wording("english"), Passages(pages, "english")
    grids = [grid for page in pages for grid in table_rules.grids(page)]
    made = [*figures.questions(pages, passages, wording), *corpus_rules.questions(pages, grids, passages, wording)]
    made += [candidate for page in pages for candidate in rules.questions(page, wording, None)]
    assert all(each.unanswerable != bool(each.evidence) for each in made)
    return [
        f"{each.method.removeprefix('rule:')}: {' / '.join([*(turn.text for turn in each.history), each.text])}"
        f" → {' | '.join(map(str, [*each.answers, *each.expects.values()]))}"
        f" ← {' + '.join(passages.text(span) for group in each.evidence for span in group) or each.documents[0]}"
        for each in made
    ]


def of(rule: str, **texts: str) -> list[str]:
    return [line for line in found(**texts) if line.startswith(f"{rule}: ")]


def test_a_table_is_asked_about_by_rows_and_columns() -> None:
    tern, heron, otter = "| Tern | £25 | Ruth |", "| Heron | £30 | Asta |", "| Otter | £9.50 | Tom |"
    assert found(new=NEW) == [
        f"cell: What is the price for Tern? → £25 ← {tern}",
        f"follow-up: What is the price for Tern? / £25 / And for Heron? → £30 ← {heron}",
        f"cell: Who is the owner for Heron? → Asta ← {heron}",
        f"follow-up: Who is the owner for Heron? / Asta / What about the price? → £30 ← {heron}",
        f"cell: Who is the owner for Otter? → Tom ← {otter}",
        f"follow-up: Who is the owner for Otter? / Tom / And for Tern? → Ruth ← {tern}",
        f"highest: Which boat has the highest price? → Heron | Heron ← {tern} + {heron} + {otter}",
        f"lowest: Which boat has the lowest price? → Otter | Otter ← {tern} + {heron} + {otter}",
        # Otter, and Tern in the middle
        f"difference: By how much do Otter and Tern differ in price? → £15.50 | £15.50 ← {otter} + {tern}",
    ]


def test_lists_abbreviations_and_sections_of_two_documents() -> None:
    assert found(depot=DEPOT.replace("Closing", "Last tasks")) == [
        "list: What are the last tasks? → lights off; gate locked; key to Ruth"
        " | ['lights off', 'gate locked', 'key to Ruth'] ← - lights off\n- gate locked\n- key to Ruth",
        "abbreviation: What does LAN stand for? → local area network ← The local area network (LAN) is slow.",
    ]
    assert of("abbreviation", depot=DEPOT.replace("(LAN)", "(LAX)")) == []
    assert of("list", depot=DEPOT) == []  # closing is no noun in the plural
    for line, asked in (
        ("To close it, follow these steps:", 0),
        ("To close the depot:", 1),
        ("The following keys must be left:", 1),
    ):
        assert len(of("list", depot=DEPOT.replace("- l", f"{line}\n\n- l"))) == asked
    (line,) = of("list", depot=DEPOT.replace("- l", "It rains. The depot may be closed if:\n\n- l"))
    assert line.startswith("list: When may the depot be closed? → lights off")
    twice, thrice = (f"Late boats are charged at {rate} times the day rate." for rate in (2, 3))
    both = f"How do “Rules of lake” and “Rules of river” differ on “Late return”? → {twice} / {thrice} ← {twice} + {thrice}"
    assert found(lake=LAKE, river=RIVER) == [f"sections: {both}"]
    assert found(lake=LAKE, river=RIVER, sea=LAKE.replace("lake", "sea")) == []
    more = f"{LAKE}\n## Holidays\n\nA late return is free at Easter.\n"
    assert found(lake=more, river=RIVER) == []  # its evidence would not be whole


@pytest.mark.parametrize(
    ("heading", "text", "asked"),
    [
        ("Why does the gate close at nine?", "The ferry leaves then, and none comes until the morning.", "heading"),
        ("Why does the gate close at nine?", "It does so, I think, because of the ferry.", ""),  # an interview
        ("Why does it close?", "The ferry leaves then, and none comes until the morning.", ""),
        ("Removing your old key", "You can hand it in at the desk, or post it.", "task: How do I remove my old key?"),
        ("Running the pump", "Run the small pump first, then the large one.", "task: How do I run the pump?"),
        ("Running the pump", "The small pump is older than the large one.", ""),
        ("Debugging tips", "You can hand it in at the desk, or post it.", ""),
        ("gate.close(at[, by])", "Closes the gate for all boats of a kind.", "name: What does gate.close() do?"),
        ("--dry-run", "Prints what would be done, and does nothing.", "name: What is --dry-run for?"),
        ("net.retry", "Number of times that a call is made again.", "name: What is net.retry?"),
        ("net.retry", "See the manual of the net for all of this.", ""),
    ],
)
def test_headings_that_ask_or_name_a_task_or_a_thing(heading: str, text: str, asked: str) -> None:
    made = [line for rule in ("heading", "task", "name") for line in of(rule, depot=f"# Depot\n\n## {heading}\n\n{text}\n")]
    asked = f"heading: {heading}" if asked == "heading" else asked
    assert made == ([f"{asked} → {text} ← {text}"] if asked else [])
    row, item = (
        "| `net.retry` | Number of times that a call is made again. |",
        "- `net.retry`: Number of times that a call is made again.",
    )
    for told in (f"| Setting | Description |\n|---|---|\n{row}", f"{item}\n- `net.wait`: Seconds"):
        (line,) = of("name", depot=f"# Depot\n\n{told}\n")
        assert line == f"name: What is net.retry? → Number of times that a call is made again. ← {row if '|' in told else item}"
    inner = of("task", depot="# Depot\n\n## Running the pump\n\nRun the small pump first.\n\n### Then\n\nRun the large one.\n")
    assert inner == []  # a section with sections does not hold its whole answer


def test_editions() -> None:
    assert of("edition", old=OLD, new=NEW) == ["edition: Tern: which price applies now? → £25 ← | Tern | £25 | Ruth |"]
    assert of("edition", old=OLD.replace("2024 (expired)", "of the museum"), new=NEW) == []


@pytest.mark.parametrize(
    ("cell", "amount"),
    [("£1,200", (1200.0, "£")), ("4.5 m", (4.5, "m")), ("2 to 3", None), ("£8 a month", None), ("M8", None), ("2nd", None)],
)
def test_a_number_has_one_unit(cell: str, amount: tuple[float, str] | None) -> None:
    assert table_rules.amount(cell) == amount


@pytest.mark.parametrize(
    ("column", "value", "question"),
    [
        ("price", "£5", "cell"),
        ("weight", "5 kg", "cell_of"),
        ("owner", "Ruth", "cell_who"),
        ("copies", "3", "cell_many"),
        ("copies", "one for each", ""),
        ("what to do", "ring Ruth", "cell_any"),
        ("registration", "A 12", "cell"),
        ("day", "195", ""),
        ("amber", "2.05 m", ""),
        ("price", "", ""),
    ],
)
def test_a_column_is_asked_about_in_a_sentence(column: str, value: str, question: str) -> None:
    assert table_rules.asks(column, value, Wording("english")) == question


@pytest.mark.parametrize(
    ("name", "is_asked"),
    [
        ("Heron", True),
        ("Dip tape, 50 m", True),
        ("above £60", False),
        ("1 to 3 years", False),
        ("D7", False),
        ("Second", False),
    ],
)
def test_a_row_needs_the_name_of_a_thing(name: str, is_asked: bool) -> None:
    text = f"# Hire\n\n| Boat | Price |\n|---|---|\n| Tern | £5 |\n| Coot | £6 |\n| Mink | £8 |\n| {name} | £7 |\n"
    text = text.replace("Boat", "Code") if name == "D7" else text
    assert any("→ £7 ←" in each for each in of("cell", hire=text)) == is_asked


def reasons(texts: Mapping[str, str], *proposed: tuple[str, str, str]) -> list[str]:
    """What a filter says about questions with their quotes and answers, in the first document."""
    pages = [Page(Document(f"{name}.md", text), "english") for name, text in texts.items()]
    filters = Filters(pages, Passages(pages, "english"), Wording("english"))
    found = []
    for text, evidence, answer in proposed:
        start = pages[0].document.text.index(evidence)
        span = pages[0].span((start, start + len(evidence)))
        fitted = filters.fitted(Candidate(text, "factoid", "rule:x", "", ((span,),), (answer,)))
        found.append(fitted if isinstance(fitted, str) else fitted.text)
    return found


MILL = (
    "The Pellham mill was sold to Asta Holm in 1931.\n\nIts wheel is nine feet wide.\n\nThe Hallow forge burned down in 1931."
)


def test_filters() -> None:
    mill, sold = MILL.partition("\n")[0], "When was the Pellham mill sold?"
    assert reasons({"a": MILL}, (sold, mill, "in 1931")) == [sold]
    assert reasons({"a": MILL}, (sold, mill, "in 1931"), (sold, mill, "in 1931")) == [sold, "twin"]
    assert reasons({"a": MILL}, ("Was the Pellham mill sold in 1931?", mill, "in 1931")) == ["gives its answer away"]
    assert reasons({"a": MILL}, ("Which Pellham mill was sold?", mill, "Pellham mill sold")) == ["gives its answer away"]
    assert reasons({"a": MILL}, ("Who bought Pellham mill?", mill, "Asta Holm of Pellham")) == ["Who bought Pellham mill?"]
    three = [(f"When was the {name} Pellham mill sold?", mill, "in 1931") for name in ("old Asta", "big wide", "Holm")]
    assert reasons({"a": MILL}, *three) == [three[0][0], three[1][0], "enough about its place"]
    assert reasons({"a": MILL}, ("{title}: the Pellham mill?", mill, "in 1931")) == ["wording"]
    assert reasons({"a": f"{mill}\n\n{mill}"}, (sold, mill, "in 1931")) == [sold]  # either place
    again = "In 1931 the mill of Pellham was sold again."
    assert reasons({"a": MILL, "b": again}, (sold, mill, "in 1931")) == ["no context"]
    assert reasons({"a": f"# Mills\n\n{MILL}", "b": again}, (sold, mill, "in 1931")) == ["answered elsewhere"]


FORGE = "The forge at Hallow opens at 07:15. {next}\n\nThe Pellham mill has a wheel."


@pytest.mark.parametrize(
    ("following", "is_kept"),
    [
        ("However, it is shut in June.", False),
        ("\nExcept in June.", False),
        ("\n\nExcept in June.", True),  # another paragraph
        ("Butter is sold there.", True),
    ],
)
def test_a_condition_in_the_next_sentence(following: str, is_kept: bool) -> None:
    text, asked = FORGE.format(next=following), "At what time is Hallow's forge open?"
    (found,) = reasons({"a": text}, (asked, "The forge at Hallow opens at 07:15.", "at 07:15"))
    assert found == (asked if is_kept else "limited by its context")


def test_an_exception_in_the_sentence_belongs_to_the_answer() -> None:
    told, asked = "The forge at Hallow opens at 07:15 unless it snows.", "At what time is Hallow's forge open?"
    assert reasons({"a": told}, (asked, told, "at 07:15")) == ["limited by its context"]
    assert reasons({"a": told}, (asked, told, "at 07:15 unless it snows")) == [asked]


def test_a_document_is_named_where_a_question_needs_it() -> None:
    wide, texts = (
        "The wheel is nine feet wide.",
        {"a": "# Pellham mill\n\nThe wheel is nine feet wide.", "b": "# Hallow forge\n\nThe wheel is small."},
    )
    (named,) = reasons(texts, ("How wide is the wheel?", wide, "nine feet"))
    assert "Pellham mill" in named
    assert reasons({"a": f"{FILING}\n{wide}"}, ("How wide is the wheel of Pellham?", wide, "nine feet")) == ["no context"]


def test_names_and_titles_that_say_too_little() -> None:
    ship = "# Tern{}\n\nTern is a ship for the coal of the mines of Kent.\n"
    asked = [
        {each.text for each in generate([Document("a.md", ship.format(kind))]).questions.values()} for kind in ("", " (ship)")
    ]
    assert asked == [{"What is Tern?"}, set()]  # there are other Terns
    late = Page(Document("a.md", f"{'Rain. ' * 900}\n\n# Closing the depot\n\nAt nine."), "english")
    assert titles(late, Wording("english")) == []
    assert titles(Page(Document("a.md", "# CD64 marks cells\n\nIt does."), "english"), Wording("english")) == [
        "CD64 marks cells"
    ]
    assert [table_rules.asks(column, "2,80", Wording("german")) for column in ("Zone A", "Preis")] == ["", "cell"]


@pytest.mark.parametrize(
    "texts", [[""], ["One line."], ["x" * 200_000], ["Was?" * 5000], ["# {title}\n\n| a | b |\n|---|---|\n| \x07 | <b> |\n"]]
)
def test_texts_without_anything_to_ask(texts: list[str]) -> None:
    made = generate([Document(f"{number}.md", text) for number, text in enumerate(texts)])
    assert not made.questions
    assert made.notes


def test_copies_are_asked_about_once() -> None:
    made = generate([Document("a.md", NEW), Document("b.md", NEW), Document("c.md", OLD)])
    assert {span.doc_id for each in made.questions.values() for group in each.evidence for span in group} <= {"a.md", "c.md"}
    assert any("not asked about: 1" in note for note in made.notes)


@pytest.mark.parametrize("language", ["german", "spanish", "finnish"])
def test_other_languages(language: str) -> None:
    made = generate([Document("a.md", NEW), Document("c.md", OLD)], language)
    assert {"table", "follow_up"} <= {each.kind for each in made.questions.values()}
    assert any("no templates" in note for note in made.notes) == (language == "finnish")
    assert not any("What" in each.text for each in made.questions.values())


FILING = """Kite Mills, Inc. sells. Kite Mills, Inc. is in Kent. We are Kite Mills, Inc.

CONSOLIDATED STATEMENTS OF INCOME (in millions)
2016 2017
Total net sales $ 95.5 $ 118
Other income 3 4
Interest expense (459) (484)

RESULTS OF JOINT VENTURES
2016 2017
Operating income 4 6
"""
SHEET = "| Kite | Built | Age |\n|---|---|---|\n| Red Tern | 4 May 1931 | 9 |\n| Blue Coot | once | 8 |\n| Otter | 1950 | 7 |\n"


def test_figures_name_subject_period_and_unit() -> None:
    figure, change, absent = found(kite=FILING)
    row, unit = "Total net sales $ 95.5 $ 118", "in millions of dollars"
    assert figure == f"figure: What were the total net sales of Kite Mills, Inc. in 2016, {unit}? → 95.5 ← {row}"
    assert change.endswith(f"of Kite Mills, Inc. increase from 2016 to 2017, {unit}? → 22.5 | 22.5 ← {row}")
    assert absent.startswith(f"no-period: What were the total net sales of Kite Mills, Inc. in 2009, {unit}?")
    assert found(kite=FILING.replace("Other", "Total net sales 1 118\nOther")) == []  # two values
    assert len(found(kite=FILING.replace("Other income", "Goodwill"))) == 3  # goodwill is of a day, not of a year


def test_named_things_are_asked_about_without_a_title() -> None:
    line = "attribute: When was Red Tern built? → 4 May 1931 ← | Red Tern | 4 May 1931 | 9 |"
    assert of("attribute", kites=SHEET) == [line]
    assert of("attribute", kites=SHEET, more=SHEET) == []  # which one?
    shires = "| County | Population (2011) |\n|---|---|\n| Kent | 911 |\n| Surrey | 802 |\n| Avon | 703 |\n"
    asked = "attribute: What was the population of the county of Kent in 2011? → 911 ← | Kent | 911 |"
    assert of("attribute", shires=shires)[0] == asked
