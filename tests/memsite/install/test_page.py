"""docs/install.md and README name what install really writes."""

from pathlib import Path

import pytest

from memsite.install.harnesses import HARNESSES
from memsite.install.places import Places
from memsite.management.install_command import installer
from tests.memsite.user import User

TOP = Path(__file__).parents[3]
PAGE = (TOP / "docs/install.md").read_text()


@pytest.mark.parametrize("name", sorted(HARNESSES))
def test_every_file_is_named(user: User, name: str) -> None:
    harness = HARNESSES[name]
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {harness.title} |")]
    wiring = installer(Places.of({}), stdio=False, authenticated=False).wiring
    for patch in harness.patches(Places.of({}), wiring, frozenset()):
        assert f"~/{patch.path.relative_to(user.home)}" in row
    here = Path.cwd()
    for patch in harness.patches(Places.of({}, project=here), wiring, frozenset()):
        assert str(patch.path.relative_to(here)) in row
    assert f"memory-mcp install {name} " in (TOP / "README.md").read_text()
