from pathlib import Path

import pytest

from rag.core.errors import DataError
from rag.documents.folder.files import read_lines, read_text


def test_text_has_one_kind_of_line_end_and_no_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes("\ufeffone\r\ntwo\rthree\n\u2028four".encode())
    assert read_text(file) == "one\ntwo\nthree\n\u2028four"
    assert read_text(file) == file.read_text(encoding="utf-8-sig")


def test_bad_byte_in_a_line_is_named_by_line_and_offset_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"{}\n\n{}\xfe\n")
    with pytest.raises(DataError, match=r"byte 0xfe at byte offset 6") as caught:
        list(read_lines(file))
    assert caught.value.where == f"{file}:3"


def test_lines_end_at_line_feeds_only_and_blank_ones_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes("\ufeffa\u2028b\u0085c\r\n \nd".encode())
    assert list(read_lines(file)) == [(f"{file}:1", "a\u2028b\u0085c"), (f"{file}:3", "d")]


def test_the_error_of_a_missing_file_lists_its_folder(tmp_path: Path) -> None:
    (tmp_path / "question.jsonl").touch()
    with pytest.raises(DataError, match=r"question\.jsonl"):
        list(read_lines(tmp_path / "questions.jsonl"))
    with pytest.raises(DataError, match=r"there is no .*deep"):
        read_text(tmp_path / "deep" / "a.md")
