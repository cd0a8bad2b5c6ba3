"""Files made to harm the program that reads them, and files damaged at random. Small on disk, all built here."""

import io
import os
import random
import socket
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from support.sample_files import SAMPLES, parts_of

Build = Callable[[str], bytes]
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))


@dataclass(frozen=True)
class Stream:
    """A deflate stream, and the checksum and size that an archive states for it."""

    data: bytes
    checksum: int
    size: int


def deflated(head: bytes, block: bytes = b"", times: int = 0, tail: bytes = b"") -> Stream:
    """`head`, a block many times, and `tail`; the block is compressed once."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = squeeze.compress(head) + squeeze.flush(zlib.Z_FULL_FLUSH)
    middle = squeeze.compress(block) + squeeze.flush(zlib.Z_FULL_FLUSH)
    checksum = zlib.crc32(head)
    for _ in range(times):
        checksum = zlib.crc32(block, checksum)
    end = squeeze.compress(tail) + squeeze.flush()
    return Stream(start + middle * times + end, zlib.crc32(tail, checksum), len(head) + len(block) * times + len(tail))


def packed(entries: list[tuple[str, Stream]], flags: int = 0, shared: bool = False) -> bytes:
    """A ZIP archive of deflate streams; `shared`: all entries are the bytes of the first."""
    body, index, place = bytearray(), bytearray(), 0
    for number, (name, stream) in enumerate(entries):
        encoded = name.encode()
        sizes = (stream.checksum, len(stream.data), stream.size, len(encoded), 0)
        fields = struct.pack("<HHHHHIIIHH", 20, flags, 8, 0, 33, *sizes)
        if not shared or number == 0:
            place = len(body)
            body += b"PK\3\4" + fields + encoded + stream.data
        index += b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, place) + encoded
    count = min(len(entries), 0xFFFF)
    return bytes(body + index + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, count, count, len(index), len(body), 0))


@cache
def sample(suffix: str) -> bytes:
    return SAMPLES[suffix]()


@cache
def parts(suffix: str) -> Mapping[str, Stream]:
    return {name: deflated(part) for name, part in parts_of(sample(suffix)).items()}


def replaced(suffix: str, part: str, content: bytes | Stream) -> bytes:
    """A sample of an Office format with another part, or one part more."""
    stream = content if isinstance(content, Stream) else deflated(content)
    return packed([*{**parts(suffix), part: stream}.items()])


def word(body: str, prolog: str = "") -> bytes:
    xml = f'<?xml version="1.0"?>{prolog}<w:document {W}><w:body>{body}</w:body></w:document>'
    return replaced("docx", "word/document.xml", xml.encode())


def sheet(rows: str, prolog: str = "") -> bytes:
    xml = f'<?xml version="1.0"?>{prolog}<worksheet {S}><sheetData>{rows}</sheetData></worksheet>'
    return replaced("xlsx", "xl/worksheets/sheet1.xml", xml.encode())


def million_rows() -> bytes:
    head, tail = f"<worksheet {S}><sheetData>".encode(), b"</sheetData></worksheet>"
    rows = b"<row><c><v>1</v></c><c><v>2</v></c></row>" * 1000
    return replaced("xlsx", "xl/worksheets/sheet1.xml", deflated(head, rows, 1000, tail))


def pdf(*objects: str | tuple[str, bytes], root: str = "1 0 R", trailer: str = "") -> bytes:
    """A PDF of these objects, numbered from 1; a stream is its dictionary and its bytes."""
    data, places = bytearray(b"%PDF-1.7\n"), []
    for number, each in enumerate(objects, 1):
        places.append(len(data))
        if isinstance(each, str):
            data += f"{number} 0 obj\n{each}\nendobj\n".encode()
        else:
            entries, stream = each
            data += f"{number} 0 obj\n<< {entries} /Length {len(stream)} >>\nstream\n".encode() + stream
            data += b"\nendstream\nendobj\n"
    start = len(data)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    data += f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n{table}".encode()
    data += f"trailer << /Size {len(places) + 1} /Root {root} {trailer} >>\nstartxref\n{start}\n%%EOF".encode()
    return bytes(data)


def page(content: bytes, filters: str = "", resources: str = "", box: str = "0 0 612 792", more: str = "") -> bytes:
    """A PDF of one page."""
    return pdf(
        f"<< /Type /Catalog /Pages 2 0 R {more} >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [{box}] /Contents 4 0 R /Resources << {resources} /Font << /F 5 0 R >> >> >>",
        (filters, content),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )


@cache
def bomb() -> Stream:
    """A gigabyte of zeros in a megabyte."""
    return deflated(b"", bytes(1 << 20), 1000)


def zeros() -> bytes:
    """The same as zlib writes it."""
    return b"\x78\xda" + bomb().data + struct.pack(">I", 1 + ((1000 << 20) % 65521 << 16))


def pdf_encrypted(_: str) -> bytes:
    import pypdf

    writer = pypdf.PdfWriter(clone_from=io.BytesIO(sample("pdf")))
    writer.encrypt("user", "owner", algorithm="RC4-128")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


HELLO = b"BT /F 12 Tf 72 720 Td (hello) Tj ET"
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PDF_FILES: Mapping[str, Build] = {
    "page_tree_loop": lambda _: pdf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"),
    "page_parent_loop": lambda _: pdf(
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 /Parent 3 0 R >>",
        "<< /Type /Pages /Kids [2 0 R] /Count 1 /Parent 2 0 R >>",
    ),
    "object_stream_loop": lambda _: pdf(
        "<< /Type /Catalog /Pages 2 0 R >>", ("/Type /ObjStm /N 2 /First 8 /Extends 2 0 R", b"1 0 2 4 << >> << >>")
    ),
    "stream_bomb": lambda _: page(zeros(), "/Filter /FlateDecode"),
    "previous_table_loop": lambda _: pdf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] >>", trailer="/Prev 9"),
    "billion_pages": lambda _: pdf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 999999999 >>"),
    "script": lambda url: page(HELLO, more=f"/OpenAction << /S /JavaScript /JS (app.launchURL\\('{url}'\\)) >>"),
    "launch": lambda _: page(HELLO, more="/OpenAction << /S /Launch /F (/usr/bin/touch) /Win << /P (owned) >> >>"),
    "remote": lambda url: page(HELLO, more=f"/OpenAction << /S /URI /URI ({url}) >> /AA << /O << /S /GoToR /F ({url}) >> >>"),
    "endless_page": lambda _: page(HELLO, box="0 0 1e38 1e38"),
    "nested_arrays": lambda _: page(HELLO, more="/X " + "[" * 100_000),
    "huge_image": lambda _: page(b"q BI /W 99999 /H 99999 /CS /RGB /BPC 8 /F /RL ID " + b"\x81\0" * 9999 + b" EI Q " + HELLO),
    "codes_bomb": lambda _: pdf(
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
        ("", HELLO),
        "<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /DescendantFonts [] /ToUnicode 6 0 R >>",
        ("", b"1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfrange <0000> <FFFFFFFF> <0041> endbfrange"),
    ),
    "header_only": lambda _: b"%PDF-1.7\n",
    "encrypted": pdf_encrypted,
    "truncated": lambda _: sample("pdf")[:-400],
    "really_html": lambda url: f"<html><img src='{url}'><p>hello</p></html>".encode(),
    "really_zip": lambda _: sample("docx"),
}
OFFICE_FILES: Mapping[str, Build] = {
    "flat_bomb.docx": lambda _: replaced("docx", "word/document.xml", bomb()),
    "lying_bomb.docx": lambda _: replaced("docx", "word/document.xml", replace(bomb(), size=999)),
    "nested_bomb.docx": lambda _: replaced("docx", "word/document.xml", packed([("a", bomb())])),
    "shared_entries.xlsx": lambda _: packed([(f"{n}.xml", bomb()) for n in range(5000)], shared=True),
    "parent_names.docx": lambda _: replaced("docx", "../../../tmp/owned.xml", b"<a/>"),
    "encrypted_entries.docx": lambda _: packed([("word/document.xml", deflated(b""))], flags=1),
    "encrypted.docx": lambda _: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4096),
    "truncated.docx": lambda _: sample("docx")[:-200],
    "truncated.pptx": lambda _: sample("pptx")[:2000],
    "truncated.xlsx": lambda _: sample("xlsx")[:-30],
    "entity_bomb.docx": lambda _: word("<w:p><w:r><w:t>&l11;</w:t></w:r></w:p>", f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]>'),
    "entity_bomb.xlsx": lambda _: sheet("<row><c><v>&l11;</v></c></row>", f'<!DOCTYPE a [<!ENTITY l0 "1">{LAUGHS}]>'),
    "quadratic.docx": lambda _: word(f"<w:p>{'&a;' * 50_000}</w:p>", f'<!DOCTYPE a [<!ENTITY a "{"x" * 50_000}">]>'),
    "entity_file.docx": lambda _: word(
        "<w:p><w:r><w:t>&a;</w:t></w:r></w:p>", '<!DOCTYPE a [<!ENTITY a SYSTEM "/etc/passwd">]>'
    ),
    "entity_remote.xlsx": lambda url: sheet("<row><c><v>&a;</v></c></row>", f'<!DOCTYPE a [<!ENTITY a SYSTEM "{url}">]>'),
    "entity_remote.pptx": lambda url: replaced(
        "pptx", "ppt/slides/slide1.xml", f'<!DOCTYPE a [<!ENTITY % p SYSTEM "{url}"> %p;]><a/>'.encode()
    ),
    "deep.docx": lambda _: word("<w:p>" * 200_000),
    "deep_tables.docx": lambda _: word("<w:tbl><w:tr><w:tc>" * 3000 + "<w:p/>" + "</w:tc></w:tr></w:tbl>" * 3000),
    "attributes.docx": lambda _: word("<w:p " + " ".join(f"w:a{n}='1'" for n in range(200_000)) + "/>"),
    "wide_cell.docx": lambda _: word(
        '<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="99999999"/></w:tcPr><w:p/></w:tc></w:tr></w:tbl>'
    ),
    "remote_picture.docx": lambda url: replaced(
        "docx",
        "word/_rels/document.xml.rels",
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
        f'Type="{RELATION}/image" Target="{url}" TargetMode="External"/></Relationships>'.encode(),
    ),
    "remote_template.docx": lambda url: replaced(
        "docx", "word/settings.xml", f'<w:settings {W}><w:attachedTemplate w:val="{url}"/></w:settings>'.encode()
    ),
    "macro.docx": lambda _: replaced("docx", "word/vbaProject.bin", b"\xd0\xcf\x11\xe0" + b"Shell(touch)" * 99),
    "macro.xlsx": lambda _: replaced("xlsx", "xl/vbaProject.bin", b"\xd0\xcf\x11\xe0" + b"Shell(touch)" * 99),
    "formula.xlsx": lambda url: sheet(f'<row><c><f>WEBSERVICE("{url}")</f></c><c><f>cmd|/c touch!A1</f></c></row>'),
    "million_rows.xlsx": lambda _: million_rows(),
    "far_cell.xlsx": lambda _: sheet(
        '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row><row r="1"><c r="A1"><v>1</v></c></row>'
    ),
    "missing_string.xlsx": lambda _: sheet('<row><c t="s"><v>999999999</v></c></row>'),
    "program.xlsx": lambda _: b"MZ" + bytes(range(256)) * 40,
    "really_pdf.docx": lambda _: sample("pdf"),
    "not_a_deck.pptx": lambda _: sample("docx"),
}
TEXT_FILES: Mapping[str, Build] = {
    "million_rows.csv": lambda _: b"number,word\n" + b"1,a\n" * 1_000_000,
    "wide.csv": lambda _: b"a," * 1_000_000,
    "open_quote.csv": lambda _: b'a,b\n1,"' + b"word,\n" * 1_000_000,
    "nul.csv": lambda _: b"a,b\n1,\0\n" * 10,
    "packed.csv": lambda _: b"\x1f\x8b\x08\0" + bytes(range(256)),
    "deep.html": lambda _: b"<div>" * 200_000 + b"hello",
    "remote.html": lambda url: (
        f"<meta http-equiv=refresh content='0;url={url}'><link rel=stylesheet href='{url}'><base href='{url}'>"
        f"<script src='{url}'>fetch('{url}')</script><iframe src='{url}'></iframe><img src='{url}' onerror='x()'><p>hello</p>"
    ).encode(),
    "vector.html": lambda url: (
        f"<!DOCTYPE svg [<!ENTITY a SYSTEM '{url}'>]><svg xmlns:xlink='http://www.w3.org/1999/xlink'>"
        f"<image xlink:href='{url}'/><use xlink:href='#u' id='u'/><text>&a;</text></svg>"
    ).encode(),
    "open_tags.html": lambda _: b"<a b" * 500_000,
    "open_comment.html": lambda _: b"<!-- " * 400_000,
    "wrong_encoding.html": lambda _: b"<meta charset=utf-16><p>hello caf\xe9</p>",
    "wide_table.html": lambda _: b"<table><tr><td colspan=99999999 rowspan=99999999>a</td></tr></table>",
    "formatting.html": lambda _: b"<table><b><i><a>" * 3000,
    "deep.json": lambda _: b"[" * 300_000,
    "deep_objects.json": lambda _: b'{"a":' * 300_000 + b"1" + b"}" * 300_000,
    "digits.json": lambda _: b'{"number": ' + b"9" * 3_000_000 + b"}",
    "half_pair.json": lambda _: b'{"text": "a \\ud800 b"}',
    "infinite.json": lambda _: b"[NaN, Infinity, 1e999999]",
    "not_utf8.jsonl": lambda _: b'{"a": "\xff\xfe"}\n' * 3,
    "aliases.yml": lambda _: (
        b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 12))
    ),
    "tags.yml": lambda _: b"!!python/object/apply:os.system ['touch owned']\n",
    "deep.yml": lambda _: b"[" * 50_000,
    "deep_lists.yml": lambda _: b"- " * 20_000 + b"a",
    "merges.yml": lambda _: b"a: &a {x: 1}\n" + b"".join(b"b%d: &b%d {<<: [*a, *a]}\n" % (n, n) for n in range(2000)),
    "deep.ipynb": lambda _: b'{"cells":' * 100_000,
    "output.ipynb": lambda _: (
        b'{"nbformat":4,"metadata":{},"cells":[{"cell_type":"code","source":"","outputs":[{"output_type":"stream","text":"'
        + b"A" * 20_000_000
        + b'"}]}]}'
    ),
    "odd_types.ipynb": lambda _: b'{"nbformat": 4, "cells": [1, null, {"cell_type": [], "source": {"a": 1}}], "metadata": 3}',
    "messages.eml": lambda _: b"Content-Type: message/rfc822\n\n" * 2000,
    "addresses.eml": lambda _: b"From: " + b"(" * 100_000 + b"\nTo: " + b"<a@b>," * 50_000 + b"\n\nhello",
    "charset.eml": lambda _: b"Content-Type: text/plain; charset=none-such\n\nhello \xff",
    "remote.eml": lambda url: (
        f"Content-Type: message/external-body; access-type=URL; URL='{url}'\n\n<img src='{url}'>".encode()
    ),
    "include.rst": lambda _: b".. include:: /etc/passwd\n\n.. literalinclude:: /etc/passwd\n\nhello\n",
    "remote.rst": lambda url: f".. raw:: html\n   :url: {url}\n\n.. csv-table::\n   :url: {url}\n\n.. image:: {url}\n".encode(),
    "latin.md": lambda _: b"caf\xe9",
    "two_bytes.txt": lambda _: "\ufeffhello".encode("utf-16"),
    "nul.txt": lambda _: b"a\0b" * 1000,
    "brackets.md": lambda _: b"[" * 200_000 + b"#" * 200_000,
    "bidi.md": lambda _: "\u202eevil\u202c \U000e0041\U000e007f hello".encode(),
}
HOSTILE: Mapping[str, Build] = OFFICE_FILES | TEXT_FILES


def hostile(url: str) -> Iterator[tuple[str, bytes]]:
    """Every hostile file by name; `url` is asked for by some, and nothing may ask for it."""
    for name, build in PDF_FILES.items():
        yield f"{name}.pdf", build(url)
    for name, build in HOSTILE.items():
        yield name, build(url)
    for suffix in SAMPLES:
        yield f"empty.{suffix}", b""


def mutated(count: int, seed: int = 13) -> Iterator[tuple[str, bytes]]:
    """Samples with flipped bytes, cuts, splices of other samples, repeats and holes."""
    chance = random.Random(seed)
    samples = {suffix: sample(suffix) for suffix in SAMPLES}
    for number in range(count):
        suffix = chance.choice(sorted(samples))
        # Every second archive is damaged in a part of it: checksums hide the other damage from what is behind them.
        part = chance.choice(sorted(parts(suffix))) if samples[suffix].startswith(b"PK") and chance.random() < 0.5 else ""
        data = bytearray(zlib.decompress(parts(suffix)[part].data, -15) if part else samples[suffix])
        for _ in range(chance.choice((1, 1, 2, 4))):
            _mutate(data, chance, samples[chance.choice(sorted(samples))])
        yield f"{number:04}.{suffix}", replaced(suffix, part, bytes(data)) if part else bytes(data)


def _mutate(data: bytearray, chance: random.Random, other: bytes) -> None:
    start = chance.randrange(len(data) + 1)
    end = min(len(data), start + chance.choice((1, 8, 100, 1000)))
    deed = chance.randrange(5)
    if deed == 0:
        for _ in range(chance.choice((1, 4, 32)) if data else 0):
            data[chance.randrange(len(data))] = chance.randrange(256)
    elif deed == 1:
        del data[start:]
    elif deed == 2:
        data[start:end] = other[chance.randrange(len(other)) :][:1000]
    elif deed == 3:
        data[start:start] = data[start:end] * chance.choice((2, 50))
    else:
        data[start:end] = bytes(end - start)


def add_odd_entries(folder: Path, outside: Path) -> None:
    """Add what is no regular file, links and odd names to a folder."""
    os.mkfifo(folder / "pipe.pdf")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket.docx"))
    (folder / "folder.pdf").mkdir()
    (folder / "link.md").symlink_to(folder / "plain.md")
    (folder / "dangling.md").symlink_to(folder / "absent.md")
    (folder / "loop.md").symlink_to(folder / "loop.md")
    (folder / "device.txt").symlink_to("/dev/zero")
    (folder / "out.md").symlink_to(outside)
    (folder / "plain.md").write_text("hello")
    (folder / "line\nfeed.md").write_text("hello")
    (folder / ("n" * 252 + ".md")).write_text("hello")
    Path(os.fsdecode(os.fsencode(folder) + b"/not\xffutf8.md")).write_text("hello")
    with (folder / "sparse.txt").open("wb") as file:
        file.truncate(1 << 40)
