"""Wildcards over known paths, held against `glob` over files of those names."""

from __future__ import annotations

from glob import glob
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st

from dovetail.sources.walk import fits

NAMES = st.sampled_from(["a", "b", "ab", "a.csv", "b.csv", ".h", ".h.csv", "x=1"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PARTS = st.sampled_from(
    ["*", "**", "?", "a", "a*", "*.csv", "[ab]", "[!a]*", ".*", "**.csv", "x=*", "[a-b].csv"]
)
PATTERNS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)


@given(paths=st.lists(PATHS, max_size=8), pattern=PATTERNS)
@example(paths=["a/b/a.csv"], pattern="**/**/*.csv")
@example(paths=["a/b/a.csv", "a.csv"], pattern="**/a/**")
@settings(max_examples=150, deadline=None)
def test_a_pattern_stands_for_the_files_that_glob_finds(paths: list[str], pattern: str) -> None:
    with TemporaryDirectory() as folder:
        top = Path(folder)
        for path in paths:
            place = top / path
            if not place.exists() and not any(above.is_file() for above in place.parents):
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(b"")
        found = glob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207 - the meaning we hold to
        files = [path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file()]
        assert {path for path in files if fits(path, pattern)} == {
            path for path in found if (top / path).is_file()
        }


def test_many_folders_of_any_depth_take_no_time() -> None:
    path = "/".join("a" * 200)
    assert fits(path, "/".join(["**", "a"] * 60))
    assert not fits(path, "/".join(["**", "a"] * 60 + ["b"]))
