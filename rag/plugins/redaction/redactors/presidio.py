"""Personal data by presidio-analyzer (MIT), with patterns alone or with a model for names that the user has."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from rag.core.errors import ConfigError, MissingExtraError
from rag.core.secrets.finder import secret_finds
from rag.core.secrets.places import Find, stable
from rag.core.secrets.shapes import rules_digest
from rag.plugins.redaction.keep_policy import KeepPolicy

RANK = 5


class PresidioRedactor:
    """Finds secrets by our rules, and the `entities` of presidio with a score of `threshold` or more.

    `spacy_model` is an installed package or a folder with a spaCy pipeline; null takes a blank pipeline, and then only
    presidio's patterns find something: no names, organisations or places. Nothing is fetched. The parameters that begin with
    `keep` are those of `secrets_and_personal`.
    """

    def __init__(
        self,
        entities: Sequence[str],
        language: str = "en",
        spacy_model: str | None = None,
        threshold: float = 0.4,
        keep_roles: Sequence[str] = (),
        keep_domains: Sequence[str] = (),
        keep_values: Sequence[str] = (),
    ) -> None:
        if not 0 <= threshold <= 1:
            raise ConfigError("loader.redactor.threshold", f"is {threshold}", "a score from 0 to 1")
        self.entities, self.language, self.spacy_model, self.threshold = list(entities), language, spacy_model, threshold
        self.policy = KeepPolicy(keep_roles, keep_domains, keep_values)

    def fingerprint(self) -> str:
        """A sha256 of our rules, and the name and version of the model; the errors of `find`."""
        meta = self._pipeline.meta if self.spacy_model else {}
        return f"{rules_digest()} {meta.get('lang', '')} {meta.get('name', '')} {meta.get('version', '')}".strip()

    def find(self, text: str) -> Sequence[tuple[int, int, str]]:
        """The secrets and the personal data, without overlaps; MissingExtraError, ConfigError for a missing model."""
        return [find[:3] for find in stable(text, self._finds)]

    def _finds(self, text: str) -> Iterator[Find]:
        yield from secret_finds(text)
        found = self._analyzer.analyze(text, self.language, entities=self.entities, score_threshold=self.threshold)
        for result in found:
            if not self.policy.keeps(text[result.start : result.end]):
                yield Find(result.start, result.end, result.entity_type.lower().replace("_", "-"), RANK)

    @cached_property
    def _pipeline(self) -> Any:
        try:
            import spacy

            return spacy.load(self.spacy_model) if self.spacy_model else spacy.blank(self.language)
        except ModuleNotFoundError as error:
            raise MissingExtraError("loader.redactor", "presidio-analyzer", "presidio") from error
        except (OSError, ImportError) as error:
            remedy = "install the model, or set loader.redactor.spacy_model=null for patterns alone"
            raise ConfigError("loader.redactor", f"{self.spacy_model or self.language!r} cannot be loaded", remedy) from error

    @cached_property
    def _analyzer(self) -> Any:
        pipeline = self._pipeline
        from presidio_analyzer import AnalyzerEngine
        from presidio_analyzer.nlp_engine import SpacyNlpEngine

        engine = SpacyNlpEngine()
        engine.nlp = {self.language: pipeline}
        return AnalyzerEngine(nlp_engine=engine, supported_languages=[self.language])
