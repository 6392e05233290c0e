"""Changes of a database that an update must notice, whichever server it is on."""

from __future__ import annotations

# What happens, the statements, and the tables that are to be read again: of tables a, b and c with
# an `id` and a `v`, the first two rows of which are (1, 'one') and (2, 'two').
CHANGES: list[tuple[str, list[str], set[str]]] = [
    ("nothing", [], set()),
    ("insert", ["INSERT INTO a VALUES (9, 'new')"], {"a"}),
    ("update", ["UPDATE a SET v = 'changed' WHERE id = 9"], {"a"}),
    ("an update within the same second", ["UPDATE a SET v = 'again' WHERE id = 9"], {"a"}),
    (
        "a swap of two values",
        ["UPDATE b SET v = CASE id WHEN 1 THEN 'two' ELSE 'one' END"],
        {"b"},
    ),
    (
        "a row in place of another",
        ["DELETE FROM c WHERE id = 1", "INSERT INTO c VALUES (1, 'other')"],
        {"c"},
    ),
    ("delete", ["DELETE FROM c WHERE id = 2"], {"c"}),
    ("two tables", ["DELETE FROM a WHERE id = 9", "INSERT INTO c VALUES (5, 'x')"], {"a", "c"}),
    ("a column more", ["ALTER TABLE a ADD COLUMN w int DEFAULT 5"], {"a"}),
    (
        "a column dropped and made again",
        ["ALTER TABLE a DROP COLUMN w", "ALTER TABLE a ADD COLUMN w int DEFAULT 6"],
        {"a"},
    ),
]
