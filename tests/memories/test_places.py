import pytest

from memories import projects
from memories.errors import Rejected
from memories.models import ProjectAlias
from memories.places import project_to_read, project_to_write

pytestmark = pytest.mark.django_db


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """The folder of a repository whose origin is acme/shop."""
    monkeypatch.setattr(projects, "_TEMPORARY", ("/nowhere",))
    monkeypatch.setattr(projects.tempfile, "gettempdir", lambda: "/nowhere")
    git = tmp_path / "somewhere" / ".git"
    git.mkdir(parents=True)
    (git / "config").write_text('[remote "origin"]\n\turl = git@github.com:Acme/Shop.git\n')
    return str(git.parent)


def written(project, *, cwd=None, scope="default"):
    return project_to_write(project, cwd=cwd, scope=scope)


def read(project, *, cwd=None, scope="default"):
    return project_to_read(project, cwd=cwd, scope=scope)


@pytest.mark.parametrize("nothing", [None, "", " ", "\x00"])
def test_without_a_project_the_folder_decides(clone, nothing):
    assert written(nothing, cwd=clone) == read(nothing, cwd=clone) == "acme/shop"


@pytest.mark.parametrize("nothing", [None, ""])
@pytest.mark.parametrize("cwd", [None, "", "/", "relative/path", "/tmp/x", "\x00"])
def test_without_either_it_holds_everywhere_and_the_whole_scope_is_read(nothing, cwd):
    assert written(nothing, cwd=cwd) == ""
    assert read(nothing, cwd=cwd) == "*"


def test_a_star_means_everywhere_also_within_a_project(clone):
    assert written("*", cwd=clone) == ""
    assert read("*", cwd=clone) == "*"


def test_an_explicit_project_wins_over_the_folder(clone):
    assert written("acme/web", cwd=clone) == read("acme/web", cwd=clone) == "acme/web"


def test_an_absolute_path_is_resolved_like_the_folder(clone):
    assert written(clone) == read(clone) == "acme/shop"
    assert written(f"{clone}/src/deep") == "acme/shop"


@pytest.mark.parametrize("path", ["/", "~/code", "C:\\code"])
def test_a_path_that_names_no_project_leaves_it_to_the_folder(clone, path):
    assert written(path, cwd=clone) == read(path, cwd=clone) == "acme/shop"
    assert written(path) == ""
    assert read(path) == "*"


def test_a_bare_name_is_the_only_known_project_that_ends_in_it(remembered):
    remembered("one", project="acme/shop")
    remembered("two", project="acme/shop")
    remembered("three", project="acme/workshop")
    remembered("four", project="other/web", scope="team")

    assert written("shop") == read("shop") == "acme/shop"
    assert written("web") == "web"
    assert written("web", scope="team") == "other/web"


def test_a_bare_name_that_could_mean_two_stays_as_it_is(remembered):
    remembered("one", project="acme/shop")
    remembered("two", project="other/shop")

    assert written("shop") == read("shop") == "shop"


def test_a_bare_name_that_is_known_itself_is_meant(remembered):
    remembered("one", project="acme/shop")
    remembered("two", project="x")
    remembered("three", project="acme/x")

    assert written("x") == "x"


@pytest.mark.parametrize("name", ["%", "_", "sho_", "s%p"])
def test_a_bare_name_is_no_pattern(remembered, name):
    remembered("one", project="acme/shop")

    assert written(name) == name


def test_an_alias_leads_to_its_project_in_its_scope(clone):
    ProjectAlias.objects.create(scope="default", alias="acme/shop", project="acme/store")
    ProjectAlias.objects.create(scope="default", alias="old", project="acme/store")

    for name in ("acme/shop", "old", clone):
        assert written(name) == read(name) == "acme/store"
    assert written(None, cwd=clone) == "acme/store"
    assert written("acme/shop", scope="team") == "acme/shop"


def test_a_long_name_is_refused():
    with pytest.raises(Rejected):
        written("x" * 300)
    assert written("x" * 200) == "x" * 200
