"""Draw docs/architecture.svg from the imports: packages in their layers, arrows down to imports.

The layers are those of the import contract in pyproject.toml. An import that others imply (a
package imports what one of its imports imports) has no arrow.

    python docs/architecture_picture.py          # write the picture
    python docs/architecture_picture.py --check  # exit 1 if it is out of date
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "perfmodel"
PICTURE: Final = Path(__file__).with_name("architecture.svg")

ROW, COLUMN, WIDTH, HEIGHT, MARGIN = 74, 200, 116, 34, 24
COLUMNS: Final = {
    **{"cli": 1.5, "reports": 1.5, "calibration": 3.0},
    **{"operators": 0.0, "drills": 1.0, "validation": 3.0},
    **{"prediction": 0.5, "cuda": 1.6},
    **{"models": 0.0, "trace": 1.0, "measure": 2.8},
    **{"hardware": 0.5, "kernels": 1.7, "expressions": 1.7},
}
"""Columns in which no arrow crosses a box; other packages are put in the middle of their layer."""

Imports = dict[str, set[str]]


def layers() -> list[list[str]]:
    """Return the names in each layer of the contract that exist, top first; files without names."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (contract,) = table["tool"]["importlinter"]["contracts"]
    rows = [[name.strip() for name in row.split("|")] for row in contract["layers"]]
    found = [[name for name in row if (PACKAGE / name).is_dir()] for row in rows]
    return [row for row in found if row]


def imports() -> Imports:
    """Return which packages each package imports from, at any place of its modules."""
    names = {name for row in layers() for name in row}
    found: Imports = {name: set() for name in sorted(names)}
    for name in found:
        for path in sorted((PACKAGE / name).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            found[name].update(other for other in _imported(tree) if other in names)
        found[name].discard(name)
    return found


def _imported(tree: ast.AST) -> Iterator[str]:
    """Yield the packages of perfmodel that a module imports from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            modules = [node.module]
            if node.module == "perfmodel":
                modules = [f"perfmodel.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            continue
        for module in modules:
            parts = module.split(".")
            if parts[0] == "perfmodel" and len(parts) > 1:
                yield parts[1]


def drawn(found: Imports, rank: dict[str, int]) -> Imports:
    """Return the downward imports that no way over other packages implies."""
    down = {a: {b for b in others if rank[b] > rank[a]} for a, others in found.items()}

    def reached(name: str) -> set[str]:
        return set().union(*({other} | reached(other) for other in down[name]), set())

    implied = {a: set().union(*(reached(b) for b in others), set()) for a, others in down.items()}
    return {a: others - implied[a] for a, others in down.items()}


def picture() -> str:
    """Return the picture as SVG."""
    rows = layers()
    rank = {name: at for at, row in enumerate(rows) for name in row}
    across = (max(COLUMNS.values()) + 1) * COLUMN + 2 * MARGIN
    high = len(rows) * ROW + MARGIN
    place = {
        name: (MARGIN + (COLUMNS.get(name, 1.5) + 0.5) * COLUMN, MARGIN + at * ROW + HEIGHT / 2)
        for at, row in enumerate(rows)
        for name in row
    }
    arrows = [
        _arrow(place[a], place[b])
        for a, others in sorted(drawn(imports(), rank).items())
        for b in sorted(others)
    ]
    boxes = [_box(name, *place[name]) for row in rows for name in row]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across:g} {high}" '
            f'width="{across:g}" height="{high}" font-family="sans-serif" font-size="14">',
            "<title>Packages of perfmodel: each imports only from those below it</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#56606b"/>'
            "</marker></defs>",
            f'<rect width="{across:g}" height="{high}" fill="#ffffff"/>',
            *arrows,
            *boxes,
            "</svg>",
            "",
        ]
    )


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """Return an arrow from the bottom of one box to the top of another."""
    (x, y), (to_x, to_y) = start, end
    return (
        f'<path d="M{x:g},{y + HEIGHT / 2:g} L{to_x:g},{to_y - HEIGHT / 2:g}" fill="none" '
        'stroke="#56606b" marker-end="url(#tip)"/>'
    )


def _box(name: str, x: float, y: float) -> str:
    """Return a package's box around a place."""
    left, top = x - WIDTH / 2, y - HEIGHT / 2
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{WIDTH}" height="{HEIGHT}" rx="5" '
        f'fill="#e8eef4" stroke="#33475b"/>'
        f'<text x="{x:g}" y="{y + 5:g}" text-anchor="middle" fill="#1b2733">{name}</text>'
    )


def main() -> int:
    """Write the picture, or check it."""
    if "--check" in sys.argv[1:]:
        return 0 if PICTURE.read_text("utf-8") == picture() else 1
    PICTURE.write_text(picture(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
