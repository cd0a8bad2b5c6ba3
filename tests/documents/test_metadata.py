"""Metadata from front matter, paths and tables, their types, precedence and errors."""

import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.corpora import text_folder

from rag.core.errors import ConfigError, DataError
from rag.core.headings import title
from rag.core.types import Value
from rag.documents import metadata_table
from rag.documents.metadata import PathPatterns, front_matter
from rag.documents.metadata_table import read_table, typed

HEAD = "---\n{}\n---\n# Heading\n\nWords.\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024", 2024), ("-3", -3), ("0", 0), ("007", "007"), ("1.50", 1.5), ("1.", "1."), ("1e5", "1e5"), ("nan", "nan"),
        ("True", True), ("false", False), ("yes", "yes"), ("2024-05-01", "2024-05-01"), (" a ", "a"), ("", ""),
        ("9" * 18, 10**18 - 1), ("9" * 19, "9" * 19), ("1,5", "1,5"), ("٣", "٣"),
    ],
)  # fmt: skip
def test_the_type_of_a_value_is_seen_from_its_shape(text: str, value: Value) -> None:
    assert typed(text) == value
    assert type(typed(text)) is type(value)


def test_front_matter_is_typed_without_the_rules_of_yaml() -> None:
    lines = (
        'date: 2024-05-01\nyear: 2024\nrate: 1.5\nopen: no\ntime: 12:30\ncode: "12"\ntags: [a, b]\nmore: {x: 1}\nempty:\nno: ~'
    )
    assert front_matter("a.md", HEAD.format(lines)) == {
        "date": "2024-05-01", "year": 2024, "rate": 1.5, "open": "no", "time": "12:30", "code": "12", "tags": "a, b",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", "---\n", "---\nno pair\n---\n", "# Heading\n---\na: 1\n---\n", "---\n- a\n- b\n---\n"])
def test_text_without_front_matter(text: str) -> None:
    assert front_matter("a.md", text) == {}
    assert front_matter("a.txt", HEAD.format("a: 1")) == {}


def test_broken_yaml_is_read_by_lines() -> None:
    assert front_matter("a.md", HEAD.format("title: Leave: who gets it\nyear: 2024\nlist: [a")) == {
        "title": "Leave: who gets it", "year": 2024, "list": "[a",
    }  # fmt: skip


@given(st.text(max_size=200))
def test_no_front_matter_breaks_a_corpus(text: str) -> None:
    found = front_matter("a.md", HEAD.format(f"a: {text}"))
    assert all(isinstance(value, str | int | float | bool) for value in found.values())


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.from_regex(r"[A-Za-z][\w: -]{0,20}", fullmatch=True), min_size=1
    )
)
def test_texts_that_a_writer_of_yaml_quotes_come_back(fields: dict[str, str]) -> None:
    written = yaml.safe_dump(fields, default_style='"', allow_unicode=True, width=10_000)
    assert front_matter("a.md", f"---\nfirst: 1\n{written}---\n") == {"first": 1, **fields}


def test_nested_aliases_and_depth_cost_nothing() -> None:
    bomb = "a: &a [x, x]\n" + "\n".join(f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]" for n in range(20))
    assert front_matter("a.md", HEAD.format(bomb)) == {"a": "x, x"}
    assert "a" in front_matter("a.md", HEAD.format("a: 1\nb: " + "[" * 5000))


def test_paths_give_metadata_by_the_first_pattern_that_matches() -> None:
    patterns = PathPatterns(["{department}/{year}/**", "{department}/{name}-{year}.md"])
    found = patterns.read(["hr/2024/a/b.md", "hr/leave-2023.md", "top.md"])
    assert found == {
        "hr/2024/a/b.md": {"department": "hr", "year": 2024},
        "hr/leave-2023.md": {"department": "hr", "name": "leave", "year": 2023},
    }
    with pytest.raises(DataError, match=r"'\{a\}/x' matches no path[\s\S]*'b\.md'"):
        PathPatterns(["{a}/x"]).read(["b.md"])


@pytest.mark.parametrize("pattern", ["a/b", "{a}/{a}", "{a}{b}.md", "*{a}", "", 5])
def test_patterns_that_cannot_be_meant_are_refused(pattern: object) -> None:
    with pytest.raises(ConfigError, match=r"loader\.path_metadata"):
        PathPatterns([pattern])  # type: ignore[list-item]  # a config holds anything


def table(folder: Path, text: str) -> dict[str, dict[str, Value]]:
    (folder / "metadata.csv").write_text(text, "utf-8")
    return read_table(folder / "metadata.csv", ["a.md", "b/c.md", "b/d.md"], ["skipped.png"])


def test_a_table_names_files_and_patterns_and_later_rows_win(tmp_path: Path) -> None:
    found = table(
        tmp_path, 'path,year,note,code:text\n**/*.md,2020,,\nB/*.md,,"x, ""y""\nz",007\nb/c.md,2024,,1.0\nskipped.png,1,,\n'
    )
    assert found == {
        "a.md": {"year": 2020},
        "b/c.md": {"year": 2024, "note": 'x, "y"\nz', "code": "1.0"},
        "b/d.md": {"year": 2020, "note": 'x, "y"\nz', "code": "007"},
    }


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "no column 'path'"),
        ("file,year\na.md,1\n", 1, "no column 'path', but 'file', 'year'"),
        ("path,x,x\n", 1, "'x' has no name or occurs twice"),
        ("path,x:int\n", 1, "unknown type 'int'"),
        ("path,x\na.md,1,2\n", 2, "has 3 cells, and the header has 2"),
        ("path,x\n\na.md\n", 3, "has 1 cells"),
        ("path,x\nq.md,1\n", 2, "no file matches 'q.md'"),
        ("path,x\n,1\n", 2, "no file matches ''"),
        ("path,x:number\na.md,1\nb/c.md,many\n", 3, "'x' is 'many'"),
        ("path,x:number\na.md,true\n", 2, "'x' is 'true'"),
        ("path,x:boolean\na.md,1\n", 2, "'x' is '1'"),
        ('path,x:date,y\na.md,2024-01-01,"1\n2"\nb/c.md,1.2.24,\n', 4, "'x' is '1.2.24'"),
        ('path,x\na.md,"1\n', 2, "is no row of CSV"),
        (f"path,x\na.md,1\n{'*a' * 501},1\n", 3, "has a path of 1,002 characters"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    with pytest.raises(DataError) as caught:
        table(tmp_path, text)
    assert caught.value.where == f"{tmp_path / 'metadata.csv'}:{line}"
    assert what in caught.value.what


@pytest.mark.parametrize("form", ["f{}-*.md", "**/F{}-?.md"])
def test_patterns_cost_little_for_each_name(tmp_path: Path, form: str) -> None:
    names = [f"f{number}-a.md" if form[0] == "f" else f"{number % 7}/f{number}-a.md" for number in range(2000)]
    (tmp_path / "metadata.csv").write_text("path,x\n" + "".join(f"{form.format(number)},1\n" for number in range(2000)))
    began = time.process_time()
    found = read_table(tmp_path / "metadata.csv", names)
    assert time.process_time() - began < 5, "20 s and more with a comparison of each pattern with each name"
    assert found == {name: {"x": 1} for name in names}


def test_a_pattern_of_many_folders_ends(tmp_path: Path) -> None:
    name = "a/" * 34 + "x.md"
    (tmp_path / "metadata.csv").write_text(f"path,x\n{'**/a/' * 14}b.md,1\n")
    with pytest.raises(DataError, match="no file matches"):
        read_table(tmp_path / "metadata.csv", [name])
    with pytest.raises(DataError, match="matches no path"):
        PathPatterns(["**/a/" * 14 + "{x}.txt"]).read([name])


def test_patterns_for_too_many_names_are_refused_with_their_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_table, "WORK", 20)
    (tmp_path / "metadata.csv").write_text("path,x\na.md,1\nA.md,1\n*.md,1\n*.md,1\n*.md,1\n")
    with pytest.raises(DataError, match=r"metadata.csv:6: has too many patterns before it"):
        read_table(tmp_path / "metadata.csv", ["a.md", "b"])


def test_later_sources_overrule_earlier_ones(tmp_path: Path) -> None:
    (tmp_path / "hr").mkdir()
    text = HEAD.format("title: A `title`\nyear: 2\nb: front\nc: front")
    (tmp_path / "hr" / "a.md").write_text(text, "utf-8")
    (tmp_path / "hr" / "b.txt").write_text(text, "utf-8")
    (tmp_path / "metadata.csv").write_text("path,c\nhr/a.md,table\n", "utf-8")
    loader = text_folder(str(tmp_path), path_metadata=["{b}/{year}.*"])
    first, second = loader.load()
    assert first.metadata == {"title": title(text), "b": "front", "year": 2, "c": "table"}
    assert second.metadata == {"title": title(text), "b": "hr", "year": "b"}
    assert first.text == text, "the text of Markdown stays as it is"
    assert loader.skipped == ()
    assert [line.reason for line in loader.manifest if line.path == "metadata.csv"] == ["metadata of other files"]


def test_a_table_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("# A", "utf-8")
    (tmp_path / "metadata.csv").write_text("an,other,table\n", "utf-8")
    assert [one.metadata for one in text_folder(str(tmp_path), metadata_table=None).load()] == [{"title": "A"}]
    with pytest.raises(DataError, match="no such file"):
        list(text_folder(str(tmp_path), metadata_table="other.csv").load())
    for table in ("../x.csv", "/x.csv", ""):
        with pytest.raises(ConfigError, match="leaves the folder"):
            text_folder(str(tmp_path), metadata_table=table)
    with monkeypatch.context() as patched:  # the tests may run as root, whom no permission stops
        patched.setattr("os.access", lambda *_: False)
        assert len([*(loader := text_folder(str(tmp_path))).load()]) == 1
    assert [(each.name, each.reason, each.wanted) for each in loader.skipped] == [("metadata.csv", "not readable", True)]
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.md").write_text("# A", "utf-8")
    (tmp_path / "inner" / "metadata.csv").symlink_to(tmp_path / "metadata.csv")
    with pytest.raises(DataError, match="leaves its folder"):
        list(text_folder(str(tmp_path / "inner")).load())
