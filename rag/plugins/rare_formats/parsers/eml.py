"""E-mails (RFC 5322) → Markdown."""

from email import policy
from email.headerregistry import HeaderRegistry
from email.message import EmailMessage
from email.parser import BytesParser
from functools import cache
from typing import ClassVar

from rag.components.parsers.html_blocks import HtmlBlocks, tree_of
from rag.components.parsers.refusals import refusal, refuse_other
from rag.core.errors import DataError
from rag.core.types import Parsed
from rag.documents.folder.json_rows import shortened
from rag.documents.pages.markdown_text import MarkdownText, cleaned, one_line

SHOWN = ("From", "To", "Cc", "Date")


class EmlParser:
    """E-mails: the subject is the heading, sender, receivers and date are the first lines and metadata.

    The body is the plain text, or else the HTML as text. Attachments are named in notes and not opened.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("eml",)
    in_process: ClassVar[bool] = False

    def parse(self, data: bytes, name: str) -> Parsed:
        """The message; DataError for a file without the headers of one."""
        refuse_other(data, name, "an e-mail")
        with refusal(name, "an e-mail"):
            # The library would parse the type of a part each time that it is asked for.
            cached = policy.default.clone(header_factory=cache(HeaderRegistry()))
            message = BytesParser(EmailMessage, policy=cached).parsebytes(data)
            if not any(message[header] for header in ("From", "Subject", "Date", "Message-ID")):
                raise DataError(name, "is not an e-mail: it has no sender, subject or date", "leave it out")
            return _content(message)


def _content(message: EmailMessage) -> Parsed:
    text, subject = MarkdownText(), one_line(str(message["Subject"] or ""))
    shown = {header: one_line(str(message[header])) for header in SHOWN if message[header]}
    text.heading(1, subject)
    text.add("text", "\n".join(f"{header}: {words}" for header, words in shown.items()))
    body = message.get_body(("plain", "html"))
    words = body.get_content() if body is not None else ""
    if body is not None and body.get_content_type() == "text/html":
        HtmlBlocks(text=text).read(tree_of(cleaned(words)).find("body"))
    else:
        for paragraph in cleaned(words).split("\n\n"):
            text.add("text", paragraph)
    names = [one_line(part.get_filename() or part.get_content_type()) for part in message.iter_attachments()]
    stamp = getattr(message["Date"], "datetime", None)
    metadata = {
        "title": subject,
        "author": shown.get("From"),
        "to": shown.get("To"),
        "date": stamp.isoformat() if stamp else None,
    }
    return text.parsed(metadata, notes=[f"attachments not opened: {shortened(', '.join(names), 300)}"] if names else [])
