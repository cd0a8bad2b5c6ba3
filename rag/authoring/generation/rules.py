"""The candidates of one document that rules make: tables, lists, abbreviations and statements."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import dropwhile, pairwise

from rag.authoring.candidates import Candidate
from rag.authoring.generation import table_rules
from rag.authoring.generation.english import English
from rag.authoring.generation.pages import Page, Statement, unnumbered
from rag.authoring.generation.proposals import Proposal, Refusal
from rag.authoring.generation.table_rules import shown
from rag.authoring.generation.titles import organisation
from rag.authoring.generation.wording import Wording, short_title
from rag.core.text.sentences import trimmed
from rag.core.text.templates import fill
from rag.core.types import Span

ACRONYM = re.compile(r"(?<![\w/-])(?<!['’]s )\(((?=\w{3})[A-Z][A-Za-z]?[A-Z]{1,4})s?\)")
SMALL = ("of", "the", "and", "for", "in", "to", "on")
FULL = re.compile(r"\b((?:[A-Z][a-zà-ž'’-]+ ){1,3}(?:[A-Z]\. )?)([A-ZÀ-Ž][\w-]*[a-zà-ž])\b(?! [A-Z])")
NO_FIRST = re.compile(
    r"(?:\S+['’]s|Mrs?|Ms|Dr|Sir|Lady|Lord|The|New|North|South|East|West|Latin|St|Los|San|And|But|In|On|At|When)\b"
)
"""The names of people, and words with a capital that are no first name."""
CAPITALS = re.compile(r"(?<![\w.])(?<!\. )[A-Z][\w-]*(?: [A-Z][\w.-]*)*")
NAME = re.compile(r"(?:(?P<call>\w[\w.:$]*)\(.*\)|--?[a-z][\w-]+|[a-z]\w*(?:[._]\w+)+|[A-Z]+(?:_[A-Z]+)+)(?=$|[ ,=])")
"""The name of a function, an option, a setting or a variable."""
FILE = re.compile(r"\.(?:json|[cm]?js|ts|py|rs|md|rst|txt|ya?ml|toml|html?|xml|cfg|ini|lock|sh|sr|org|com|net|io)\b")
TOLD = re.compile(r"(\S+(?:\([^()]*\))?)(?: ?[<\[=]\S+)?(?::| [–—-]{1,2}) (.+)")
TELLS = re.compile(r"(?i)descriptions?|meaning|purpose|effect|what it (?:does|is)|details")
"""An item of a list, and the name of a column, that say what a name stands for."""
LINE = 50
"""A line of a paragraph that is shorter, in front of a capital, is a heading or an item of a menu."""
ITEMS, ITEM, LIST = range(3, 13), 120, 900
"""Items of a list, and the most characters of an item, and of a list or a section."""


def questions(page: Page, wording: Wording, english: English | None) -> Iterator[Proposal]:
    """The candidates of one document, in reading order within each rule."""
    for grid in () if organisation(page, wording) else table_rules.grids(page):  # Its figures say of which table they are.
        yield from table_rules.questions(grid, wording)
    yield from _lists(page, wording)
    yield from _names(page, wording)
    yield from _sections(page, wording, english.common if english else ())
    names = _full_names(page.document.text, english.common) if english else {}
    for statement in page.statements:
        yield from _acronyms(page, statement, wording)
        lines = page.document.text[statement.span.start : statement.span.end].split("\n")
        is_headed = any(len(line) < LINE and following.strip()[:1].isupper() for line, following in pairwise(lines))
        for asked in english.questions(statement.text) if english and not is_headed else ():
            kind = "definition" if asked.rule == "definition" else "factoid"
            is_one_of_several = page.title.endswith(")") and short_title(page.title).casefold() in asked.text.casefold()
            if is_one_of_several or (english and english.points_back(asked.text, page.document.text, page.title)):
                yield Refusal("no context", f"rule:{asked.rule}")
            elif not asked.answer.endswith((" as well", " too")):
                first, _, rest = asked.text.partition(" ")
                text = CAPITALS.sub(lambda run: names.get(run[0], run[0]), rest)
                yield _candidate(page, f"{first} {text}", kind, asked.rule, statement, asked.answer)


def common_words(pages: Sequence[Page]) -> frozenset[str]:
    """The words that the documents write in lower case more often than with a capital inside of a sentence."""
    small, large = Counter[str](), Counter[str]()
    for page in pages:
        small.update(re.findall(r"(?<![\w.-])[a-z]+(?![\w.-]*\w)", page.document.text))
        large.update(map(str.lower, re.findall(r"(?<=[a-z,] )[A-Z][a-z]+(?![\w.-]*\w)", page.document.text)))
    return frozenset(word for word, count in small.items() if count > large[word])


def _full_names(text: str, common: Collection[str]) -> dict[str, str]:
    """The last word of each name of a person → the name, where a document gives it one first name only, and that first."""
    names: dict[str, dict[str, int]] = defaultdict(dict)
    for found in FULL.finditer(text):
        first = " ".join(dropwhile(lambda word: word.lower() in common or NO_FIRST.match(word), found[1].split()))
        names[found[2]].setdefault(f"{first} {found[2]}" if first else "", found.start())
    places = {*common, *re.findall(r"\b(?:in|from|to) ([A-Z][\w-]*)", text)}
    sure = [
        (last, *one) for last, own in names.items() if len({*own} - {""}) == 1 and last not in places for one in own.items()
    ]
    return {last: name for last, name, at in sure if name and text.find(f" {last}", 0, at) < 0}


def _candidate(page: Page, text: str, kind: str, rule: str, statement: Statement, answer: str) -> Candidate:
    where = page.cluster(statement.span.start)
    return Candidate(text, kind, f"rule:{rule}", "", ((statement.span,),), (answer,), cluster=where)


def _acronyms(page: Page, statement: Statement, wording: Wording) -> Iterator[Candidate]:
    """An abbreviation in brackets behind words that begin with its letters."""
    for found in ACRONYM.finditer(statement.text):
        letters, before = found[1].lower(), statement.text[: found.start()].split()
        for size in range(len(letters), min(len(letters) + 3, len(before) + 1)):
            words = [part for word in before[-size:] for part in word.split("-")]
            if "".join(word[:1].lower() for word in words if word.lower() not in SMALL) == letters:
                first = next(at for at, word in enumerate(before[-size:]) if word.lower() not in SMALL)
                meaning = " ".join(before[len(before) - size + first :]).strip("\"'“”‘’(),-•* ")
                text = wording.text("acronym", term=found[1])
                yield _candidate(page, text, "definition", "abbreviation", statement, meaning)
                break


def _lists(page: Page, wording: Wording) -> Iterator[Candidate]:
    """A list that the line above it asks for, or the only list of a section, if nothing stands above it."""
    in_section = Counter(each.section.start for each in page.lists)
    for each in page.lists:
        heading = unnumbered(page.heading(each.section))
        items = tuple(item.rstrip(".;, ") for item in each.items)
        is_short = each.span.end - each.span.start <= LIST and max(map(len, items)) <= ITEM and len(items) in ITEMS
        is_first = not page.document.text[each.section.body : each.span.start].strip()
        is_headed = is_first and in_section[each.section.start] == 1 and not heading.endswith("?") and 0 < len(heading) <= 60
        text = _asked_by(each.intro, wording)
        if not text and is_headed and (name := _plural(heading, wording)):
            text = wording.text("list", heading=name)
        if text and is_short:
            where, expects = page.cluster(each.span.start), {"values": list(items)}
            yield Candidate(text, "list", "rule:list", "", ((each.span,),), ("; ".join(items),), expects, cluster=where)


def _names(page: Page, wording: Wording) -> Iterator[Candidate]:
    """What an option, a setting, a variable or a function is or does, by the items of lists and the rows of tables."""
    told: list[tuple[str, str, Span]] = []
    for each in page.lists:
        found = ((TOLD.fullmatch(item), span) for item, span in zip(each.items, each.spans, strict=True))
        told += [(item[1], item[2], span) for item, span in found if item]
    for table in page.tables:
        column = next((at for at, name in enumerate(table.names) if at and TELLS.fullmatch(shown(name))), 0)
        rows = (row for row in table.rows if 0 < column < len(row.cells))
        told += [(shown(row.cells[0]), shown(row.cells[column]), page.span((row.start, row.end))) for row in rows]
    often = Counter(term for term, *_ in told)
    for term, answer, span in told:
        text = _headed(term, wording, ())[1] if NAME.match(term) and often[term] == 1 else ""
        is_told = len(answer.split()) > 3 and len(answer) <= 2 * ITEM and not answer.endswith(":")
        if text and is_told and re.search(str(wording.texts["name_answer"]), answer):
            yield Candidate(text, "factoid", "rule:name", "", ((span,),), (answer,), cluster=page.cluster(span.start))


def _sections(page: Page, wording: Wording, common: Collection[str]) -> Iterator[Candidate]:
    """A section whose heading asks or names a task; the first paragraph below the name of an option or a function."""
    document, found, paragraphs = page.document, [*page.stretches()], [*page.parts_of("text")]
    for (section, end), (following, _) in zip(found, [*found[1:], found[-1]], strict=True):
        rule, text = _headed(unnumbered(page.heading(section)), wording, common)
        if not text or (rule != "name" and following.path.startswith(f"{section.path} > ")):
            continue
        first = next((part for part in paragraphs if section.body <= part.start < end), None) if rule == "name" else None
        start, stop = (first.start, first.end) if first else trimmed(document.text, section.body, end)
        if stop - start > LIST:
            continue
        answer = page.shown((start, stop))
        is_told = answer[:1].isupper() and answer.endswith((".", "!", ")", "`")) and len(answer.split()) > 5
        if is_told and re.search(str(wording.texts.get(f"{rule}_answer", "")), document.text[start:stop]):
            span = page.span((start, stop))
            yield Candidate(text, "factoid", f"rule:{rule}", "", ((span,),), (answer,), cluster=page.cluster(start))


def _headed(heading: str, wording: Wording, common: Collection[str]) -> tuple[str, str]:
    """The rule and the question of a heading: its own, the task that it names, or what a thing does; empty without one."""
    if heading.endswith("?"):
        is_clear = len(heading.split()) > 3 and not re.search(str(wording.texts.get("heading_points", "(?!)")), heading)
        return "heading", heading if is_clear else ""
    if (name := NAME.match(heading)) and wording.has("name") and not FILE.search(name[0]):
        term = name["call"] + "()" if name["call"] else name[0]
        return "name", wording.text("action" if name["call"] else "option" if term.startswith("-") else "name", term=term)
    first, _, rest = heading.partition(" ")
    task = wording.tasks.get(first.lower(), "")
    if not task or not rest or re.search(str(wording.texts["heading_points"]), rest):
        return "task", ""
    words = (word.lower() if word.lower() in common else word for word in rest.split())
    return "task", re.sub(r"\byour\b", "my", wording.text("task", heading=" ".join([task, *words])))


def _asked_by(intro: str, wording: Wording) -> str:
    """The question to which the items below a line are the answer, empty without one."""
    last = re.split(r"(?<=[.!?]) ", intro)[-1]
    for rule in wording.texts.get("list_intros", ()):
        if (found := re.fullmatch(rule["line"], last)) and len(last) <= ITEM:
            values = found.groupdict()
            first = values.get("subject") or ""
            values |= {"subject": first[:1].lower() + first[1:]} if re.match(r"(?:The|An?|You)\b", first) else {}
            text = fill(rule["ask"], {name: value or "" for name, value in values.items()})
            return re.sub(r"\byou\b", "I", re.sub(r"\byour\b", "my", text))
    return ""


def _plural(heading: str, wording: Wording) -> str:
    """A heading inside of a question: in English only a noun in the plural."""
    if "list_heading" not in wording.texts:
        return heading
    is_noun = re.fullmatch(str(wording.texts["list_heading"]), heading) and not heading.isupper()
    return f"{heading[0].lower()}{heading[1:]}" if is_noun else ""
