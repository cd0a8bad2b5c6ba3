"""Every file of a folder is read, or named with a reason; files outside the folder are never read."""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import Verb, verb
from support.corpora import text_folder
from support.small_set import write_golden

from rag.components.loaders.native_questions import NativeQuestions
from rag.core.errors import DataError
from rag.documents.folder.file_tree import Names, Skipped, SkippedWarning, listed, matches, tally
from rag.evaluation.data import golden
from rag.plugins.public_sets.loaders.chroma import ChromaLoader

PATTERNS = ("**/*.md", "**/*.txt")


def read(folder: Path, *patterns: str) -> tuple[list[str], tuple[Skipped, ...]]:
    loader = text_folder(str(folder), patterns or PATTERNS)
    return [document.doc_id for document in loader.load()], loader.skipped


def write(folder: Path, **files: bytes) -> None:
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_bytes(content)


def test_every_file_is_read_or_named_with_a_reason(tmp_path: Path) -> None:
    write(tmp_path, a__md=b"A", UPPER__MD=b"B", paper__pdf=b"%PDF", latin__txt=b"caf\xe9", LICENSE=b"x")
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep", page__HTML=b"<p>", b__Txt=b"C")
    (tmp_path / ".git").mkdir()
    write(tmp_path / ".git", config__md=b"x")
    names, skipped = read(tmp_path)
    assert names == ["UPPER.MD", "a.md", "deep/b.Txt"]
    assert skipped == (
        Skipped(".git", "hidden"),
        Skipped("LICENSE", "without suffix (no reader yet)"),
        Skipped("deep/page.HTML", ".html (no reader yet)"),
        Skipped("latin.txt", "not UTF-8", "is not UTF-8: byte 0xe9 at byte offset 3", wanted=True),
        Skipped("paper.pdf", ".pdf (no reader yet)"),
    )
    expected = "8 files: 3 read, 5 not: 1 .html, 1 .pdf, 1 without suffix (no reader yet), 1 hidden, 1 not UTF-8"
    assert tally(len(names), skipped) == expected


def test_a_tally_of_many_kinds_fits_on_a_line() -> None:
    kinds = [f".{suffix}" for suffix in "aabbbccdefghhhh"]
    skipped = [Skipped(f"{number}{kind}", f"{kind} (no reader yet)") for number, kind in enumerate(kinds)]
    assert tally(1, skipped) == "16 files: 1 read, 15 not: 4 .h, 3 .b, 2 .a, 2 .c, 1 .d, 3 of other kinds (no reader yet)"


def test_a_file_without_a_matching_pattern_is_outside_the_patterns(tmp_path: Path) -> None:
    write(tmp_path, a__md=b"A", b__md=b"B")
    assert read(tmp_path, "a*.md") == (["a.md"], (Skipped("b.md", ".md (outside loader.patterns)"),))


@given(
    st.lists(st.sampled_from(["a", "b", "a.md", "b.md", "**"]), min_size=1, max_size=4),
    st.sets(st.lists(st.sampled_from(["a", "b"]), max_size=3).map("/".join), max_size=4),
)
def test_patterns_mean_what_they_mean_to_pathlib(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], folders: set[str]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
        write(root / folder, a__md=b"", b__md=b"")
    pattern = "/".join([*parts, "*.md"])
    found = listed(root, [pattern])[0]
    assert set(found.values()) == {path for path in root.glob(pattern) if path.is_file()}
    names = [path.relative_to(root).as_posix() for path in root.rglob("*.md")]
    assert sorted(Names(names).matching(pattern)) == sorted(found)


@given(st.text("ab*?[]!-", min_size=1, max_size=8), st.sets(st.text("ab]![-", min_size=1, max_size=5), min_size=1, max_size=20))
def test_a_part_of_a_pattern_means_what_it_means_to_fnmatch(pattern: str, names: set[str]) -> None:
    expected = {name for name in names if fnmatchcase(name, pattern)}
    assert {name for name in names if matches(name, pattern)} == expected
    assert set(Names(names).matching(pattern)) == ({pattern} if pattern in names else expected)


@pytest.mark.parametrize("target", ["secret.md", "private", "gone.md"])
def test_a_link_that_leaves_the_folder_is_not_followed(tmp_path: Path, target: str) -> None:
    (tmp_path / "private").mkdir()
    write(tmp_path, secret__md=b"root:x:0:0")
    documents = tmp_path / "corpora"
    documents.mkdir()
    write(documents, a__md=b"A")
    (documents / "zz.md").symlink_to(tmp_path / target)
    what = f"is a link that leaves its folder, to {tmp_path / target}"
    outside = Skipped("zz.md", "link out of the folder", what, wanted=True)
    assert read(documents) == (["a.md"], (Skipped("zz.md", "link to a folder") if target == "private" else outside,))
    with pytest.raises(DataError, match=rf"zz\.md: is a link that leaves its folder, to .*{target}\n.*remove it"):
        list(ChromaLoader(str(tmp_path)).load())


def test_a_folder_of_documents_that_is_a_link_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "set").mkdir()
    write(tmp_path / "private", a__md=b"secret")
    (tmp_path / "set" / "documents").symlink_to(tmp_path / "private")
    with pytest.raises(DataError, match=r"documents: is a link that leaves .*\n.*set loader\.path to its target"):
        read(tmp_path / "set" / "documents")


def test_links_inside_the_folder_are_followed_to_files_only(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep", a__md=b"A")
    (tmp_path / "b.md").symlink_to(tmp_path / "deep" / "a.md")
    (tmp_path / "more").symlink_to(tmp_path / "deep")
    (tmp_path / "loop.md").symlink_to(tmp_path / "loop.md")
    skipped = (Skipped("loop.md", "no regular file", wanted=True), Skipped("more", "link to a folder"))
    assert read(tmp_path, "**/*.md", "*/*.md") == (["b.md", "deep/a.md"], skipped)


def test_a_hidden_file_is_not_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in ("a.md", ".hidden.md", ".git/c.md"):
        (tmp_path / name).write_text("secret" if name[0] == "." else "A")
    (tmp_path / "b.md").symlink_to(".hidden.md")
    (tmp_path / "c.md").symlink_to(tmp_path / ".git" / "c.md")
    names, skipped = read(tmp_path)
    assert names == ["a.md"]
    assert skipped[2:] == tuple(
        Skipped(name, "hidden", f"is a link to the hidden {target}", wanted=True)
        for name, target in (("b.md", ".hidden.md"), ("c.md", ".git/c.md"))
    )


def test_gold_in_an_unreadable_file_names_the_reason(tmp_path: Path) -> None:
    folder = write_golden(tmp_path / "golden")
    (folder / "documents" / "bus.md").write_bytes(b"caf\xe9")
    with (
        pytest.warns(SkippedWarning),
        pytest.raises(DataError, match=r"jsonl:2.*'bus\.md' exists and was not read: is not UTF-8"),
    ):
        golden.load(text_folder(str(folder / "documents")), NativeQuestions(str(folder)))


@pytest.fixture
def rag(here: Path, golden: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    return verb(capsys, monkeypatch)


def test_a_verb_that_loads_a_corpus_counts_the_skipped_files(rag: Verb, golden: Path) -> None:
    write(golden / "documents", old__md=b"caf\xe9", song__mp3=b"ID3")
    notice = "corpus: 6 files: 4 read, 2 not: 1 .mp3 (no reader yet), 1 not UTF-8. `rag data check` lists them\n"
    given = ("dataset=native", "dataset.path=../golden", "embedder=hashing", "latency=0", "generator=none")
    said = rag("search", "ferry", *given)
    assert (said.code, said.err.count(notice)) == (0, 1), said
    assert rag("search", "bus", *given, "chunker=whole").err == "", "the corpus is as it was"
    write(golden / "documents", film__mp4=b"...")
    assert "3 not" in rag("search", "bus", *given).err
    assert rag("search", "bus", *given).err == ""
    (golden / "documents" / "film.mp4").rename(golden / "documents" / "movie.mp4")
    assert rag("search", "bus", *given).err != "", "another file, the same counts"
