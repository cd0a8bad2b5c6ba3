"""Tools of a policy over a few passages, with a ranking by shared words; every call is kept."""

from collections.abc import Sequence

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.records.database import RecordDatabase
from rag.core.records.queries import RecordQuery, Result
from rag.core.records.sets import RecordSet
from rag.core.types import Document, Framed, Query, Sought, Span
from rag.pipeline.search.steps import by_turns


class WordTools:
    """Searches by the number of shared words; `withheld` are words of texts that a guard takes out."""

    def __init__(self, question: str, texts: Sequence[str], records: RecordSet | None = None, withheld: str = "") -> None:
        documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
        self.corpus = Corpus.of(documents, [Span(each.doc_id, 0, len(each.text)) for each in documents])
        self.records, self.k, self.withheld = records or RecordSet(), 2, withheld
        self.sought = Sought(question, (question,))
        self.searched, self.queries = list[tuple[str, ...]](), list[RecordQuery]()

    def search(self, texts: Sequence[str]) -> Rankings:
        self.searched.append(tuple(texts))
        asked = {word.strip("?.,").lower() for text in texts for word in text.split()}
        shared = [len(asked & {word.strip("?.,").lower() for word in text.split()}) for text in self.corpus.texts]
        best = sorted((-count, place) for place, count in enumerate(shared) if count)
        return Rankings.pack([[(place, -count) for count, place in best]])

    def rerank(self, question: str, found: Sequence[Rankings]) -> Rankings:
        return by_turns(found, 10)

    def read(self, ranking: Rankings | None, results: Sequence[str] = ()) -> Framed:
        row = ranking.first(self.k).row(0) if ranking is not None else ()
        texts = (*(self.corpus.text(place) for place, _ in row), *results)
        return Framed(tuple(f"<{text}>" for text in texts if not self.withheld or self.withheld not in text), after="Quoted.")

    def query_records(self, query: RecordQuery) -> Result:
        self.queries.append(query)
        return RecordDatabase(self.records).run(query)

    def asked(self) -> Query:
        return Query("q", self.sought.question)
