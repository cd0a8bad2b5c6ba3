"""What the words of a question may mean for a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product

from rag.core.records.display import SIGNS
from rag.plugins.table_questions.question_parts import Part
from rag.plugins.table_questions.record_words import Lexicon, Phrases, Stems, Token, Tokenizer, singulars

MOST_READINGS, MOST_MEANINGS = 48, 4
"""The most readings of a question for a table, and the most meanings of some of its words."""
USES = ("joints", "by", "links", "verbs", "layout")
"""Uses of words that may stand in any question."""
Related = Mapping[str, Sequence[str]]
CONTENT = ("value", "field", "number")
"""Kinds of parts that a table explains by its fields and values."""


class Labeller:
    """Finds what the words of a question may mean for a table, by `words`, `nouns` and `related` of `RulesRouter`."""

    def __init__(self, tokens: Tokenizer, phrases: Phrases, words: Mapping[str, str], *groups: Related) -> None:
        self.tokens, self.phrases = tokens, phrases
        self._words = {name: frozenset(tokens.stems(each)) for name, each in words.items()}
        self._free = frozenset[str]().union(*(self._words[use] for use in ("stop", "filler", *USES)))
        self._nouns, self._related = (
            {tokens.stems(word): [*map(tokens.stems, named)] for key, named in group.items() for word in key.split(",")}
            for group in groups
        )
        named = {stem for stems in (*self._related, *self._nouns) for stem in stems}
        self._known = named.union(self._free, self._words["rows"], self._words["requests"])

    def needed(self, tokens: Sequence[Token]) -> frozenset[str]:
        """The stems that only a table can explain."""
        words = (token for token in tokens if token.number is None and token.word not in self.phrases.words)
        return frozenset(token.stem for token in words if token.stem not in self._known)

    def readings(self, tokens: Sequence[Token], lexicon: Lexicon) -> Iterator[tuple[Part, ...]]:
        """The parts of a question by each reading; none if a word means nothing for the table."""
        spans: list[list[Part]] = []
        start = 0
        while start < len(tokens):
            meanings = self._longest(tokens, start, lexicon) or self._plain(tokens, start, lexicon, spans)
            before = next((each[0].kind for each in reversed(spans) if each[0].kind != "stop"), "")
            if before == "comparison" and (number := tokens[start].number) is not None:
                fields = self._measured(tokens, start, lexicon)
                meanings = [Part("number", start, start + 1, number=number, fields=fields)]
            if not meanings:
                return
            spans.append([replace(part, has_comma=tokens[start].has_comma) for part in meanings])
            start = meanings[0].end
        if any(part.kind in CONTENT or part.kind == "title" for meanings in spans for part in meanings):
            yield from islice(product(*spans), MOST_READINGS)

    def _longest(self, tokens: Sequence[Token], start: int, lexicon: Lexicon) -> list[Part]:
        phrase = self.phrases.at(tokens, start)
        if phrase and phrase[1][0] == "comparison" and not any(token.number for token in tokens[phrase[0] : phrase[0] + 3]):
            phrase = None
        if self._is_unit(tokens, start, lexicon):
            return [Part("stop", start, start + 1)]
        for end in range(min(len(tokens), start + 6), start, -1):
            stems = tuple(token.stem for token in tokens[start:end])
            found = list(self._schema(stems, start, end, tokens, lexicon))
            if phrase and phrase[0] == end:
                found = [part for part in found if not part.is_part]
                kind, meaning = phrase[1]
                found.append(self._phrase(kind, meaning, stems, start, end, lexicon))
            if found:
                is_loose = len(stems) == 1 and stems[0] in lexicon.title and stems not in lexicon.fields
                return [*found, *([Part("title", start, end)] if is_loose else [])][:MOST_MEANINGS]
        return []

    def _plain(self, tokens: Sequence[Token], start: int, lexicon: Lexicon, before: Sequence[Sequence[Part]]) -> list[Part]:
        """The meaning of a word that no field, value or phrase has; a word that is counted is no filler."""
        stem, last = tokens[start].stem, before[-1][0].meaning if before else ""
        if stem in self._words["rows"] or self._is_noun(stem, lexicon):
            return [Part("rows", start, start + 1)]
        is_end = start + 1 == len(tokens) and stem in self._words["ends"]
        if is_end or (last in ("count", "total") and stem in self._words["filler"]):
            return []
        is_first = last == "joints" or not any(part.kind in (*CONTENT, "title") for parts in before for part in parts)
        if stem in self._free or (is_first and stem in self._words["requests"]):
            return [Part("stop", start, start + 1, next((each for each in USES if stem in self._words[each]), ""))]
        return [Part("title", start, start + 1)] if stem in lexicon.title else []

    def _schema(self, stems: Stems, start: int, end: int, tokens: Sequence[Token], lexicon: Lexicon) -> Iterator[Part]:
        """Fields, values and numbers."""
        if len(stems) == 1 and stems[0] in self._words["stop"] and stems not in self._related:
            return
        number = tokens[start].number if len(stems) == 1 else None
        places, is_name = lexicon.named(stems)
        is_derived = bool(places) and any(not singulars(token.word) & lexicon.names for token in tokens[start:end])
        related = [place for each in self._related.get(stems, []) for place in lexicon.named(each)[0]]
        for place in places or dict.fromkeys(related):
            part = Part("field", start, end, place=place, number=number or 0, is_part=bool(places) and not is_name)
            yield replace(part, is_derived=is_derived)
        if units := self._units(stems, lexicon):
            yield Part("unit", start, end, fields=units)
        links = lexicon.links(stems) if self._is_written(tokens[start:end], lexicon) else {}
        whole = {place: link.whole for place, link in links.items() if link.whole}
        held = [*(whole or {place: link.part for place, link in links.items() if not is_name}).items()]
        longer = ((place, rows, links[place].part) for place, rows in whole.items() if place != lexicon.key)
        held += [(place, rows | part) for place, rows, part in longer if part - rows]
        for place, rows in held:
            of_source = lexicon.table.fields[place].name == "source"
            kind = "title" if of_source and len(rows) == len(lexicon.table.records) else "value"
            is_part = not whole and not of_source
            items = tuple(lexicon.items.get((place, stems), ()))
            yield Part(kind, start, end, place=place, rows=frozenset(rows), number=number or 0, is_part=is_part, items=items)
        if number is not None:
            yield Part("number", start, end, number=number, fields=self._measured(tokens, start, lexicon))

    def _is_written(self, tokens: Sequence[Token], lexicon: Lexicon) -> bool:
        """True unless a word that may say nothing is in cells in another form only: `running` is not `run`."""
        return all(token.stem not in self._words["filler"] or singulars(token.word) & lexicon.written for token in tokens)

    def _phrase(self, kind: str, meaning: str, stems: Stems, start: int, end: int, lexicon: Lexicon) -> Part:
        hints = [self.tokens.stems(word) for word in meaning.split()[1:]] if kind == "order" else self._related.get(stems, [])
        fields = tuple(place for hint in hints for place in lexicon.named(hint)[0])
        return Part(kind, start, end, meaning, fields=tuple(dict.fromkeys(fields)))

    def _units(self, stems: Stems, lexicon: Lexicon) -> tuple[int, ...]:
        """The fields with a unit that words name, themselves or a related one."""
        words = [stems, *self._related.get(stems, [])]
        units = enumerate(self.tokens.stems(each.unit) for each in lexicon.table.fields)
        return tuple(place for place, unit in units if unit and unit in words)

    def _measured(self, tokens: Sequence[Token], at: int, lexicon: Lexicon) -> tuple[int, ...]:
        """The fields whose unit stands around a number."""
        around = {token.stem for token in (*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 2])}
        return tuple(place for place, each in enumerate(lexicon.table.fields) if around & {*self.tokens.stems(each.unit)[:1]})

    def _is_noun(self, stem: str, lexicon: Lexicon) -> bool:
        """True for a word for the records of this table: one of its fields is there, and no date twice."""
        named = any(each in lexicon.fields for each in self._nouns.get((stem,), []))
        return named and all(map(lexicon.is_key, lexicon.fields.get(self.tokens.stems("date"), [])))

    def _is_unit(self, tokens: Sequence[Token], at: int, lexicon: Lexicon) -> bool:
        near = [*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 2]]
        units = {stem for each in lexicon.table.fields for stem in self.tokens.stems(each.unit)}
        return any(token.number is not None for token in near) and (tokens[at].stem in units or tokens[at].word in SIGNS)
