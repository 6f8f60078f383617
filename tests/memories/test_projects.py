import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories import projects
from memories.projects import project_of
from tests.growth import is_linear

ORIGIN = "git@github.com:Acme/Shop.git"


def repository(root, url=ORIGIN, *, config=None):
    (root / ".git").mkdir(parents=True)
    text = f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n\tfetch = +refs/*\n' if url else "[core]\n"
    (root / ".git" / "config").write_text(text if config is None else config)
    return root


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder that counts as no temporary one."""
    monkeypatch.setattr(projects, "_TEMPORARY", ("/nowhere",))
    monkeypatch.setattr(projects.tempfile, "gettempdir", lambda: "/nowhere")
    folder = tmp_path / "code"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("url", "project"),
    [
        ("https://github.com/Acme/Shop.git", "acme/shop"),
        ("https://ada:pw@github.com:8443/acme/shop/", "acme/shop"),
        ("ssh://git@github.com:22/acme/shop.git/", "acme/shop"),
        ("git@github.com:acme/shop.git", "acme/shop"),
        ("git@[::1]:acme/shop.git", "acme/shop"),
        ("github:acme/shop", "acme/shop"),
        ("https://gitlab.com/group/sub/name.git", "sub/name"),
        ("file:///srv/git/acme/shop.git", "acme/shop"),
        ("/srv/git/acme/shop/.git", "acme/shop"),
        ("../../acme/shop.git", "acme/shop"),
        (r"C:\\repos\\acme\\shop.git", "acme/shop"),
        ("C:/repos/acme/shop", "acme/shop"),
        ("https://dev.azure.com/org/My%20Project/_git/repo", "my project/repo"),
        ("https://host/name.git", "name"),
        ('"https://github.com/acme/shop.git"', "acme/shop"),
        ("https://github.com/acme/shop.git # mine", "acme/shop"),
        ("https://github.com/acme/mem-palace", "acme/mem-palace"),
    ],
)
def test_the_origin_names_the_project(tmp_path, url, project):
    root = repository(tmp_path / "work" / "clone", url)

    assert project_of(str(root)) == project


def test_a_folder_deep_inside_belongs_to_its_repository(tmp_path):
    root = repository(tmp_path / "clone")
    (root / "a b" / "ü").mkdir(parents=True)

    assert project_of(str(root / "a b" / "ü")) == "acme/shop"
    assert project_of(f"{root}/gone/missing/") == "acme/shop"
    assert project_of(f"{root}/.git/hooks") == "acme/shop"


def test_without_an_origin_the_root_names_the_project(tmp_path):
    root = repository(tmp_path / "Acme" / "Shop", url=None)
    (root / "src").mkdir()

    assert project_of(str(root / "src")) == "Acme/Shop"


def test_a_git_folder_without_a_configuration_is_a_repository(tmp_path):
    (tmp_path / "acme" / "shop" / ".git").mkdir(parents=True)

    assert project_of(str(tmp_path / "acme" / "shop")) == "acme/shop"


@pytest.mark.parametrize(
    "config",
    [
        '[remote "upstream"]\nurl = h/x/y\n[REMOTE "origin"]\n  URL=https://h/acme/shop ; 1\n url = z\n',
        '; [remote "origin"]\n# url = a/b\n[remote "origin"] url = https://h/acme/shop\n',
        "[remote.origin]\r\n\turl = https://h/acme/shop\r\n",
        '\ufeff[alias]\n\tx = "!f() { :; }"\n[remote "origin"]\n\turl = https://h/\\\nacme/shop\n',
        '[a]\nbroken line\n[remote "or\\igin"]\nurl = "https://h/acme"/shop\n',
        '[remote "origin"]\n\tfetch\n\turl = https://h/acme/shop\n[remote "Origin"]\nurl = x/y\n',
    ],
)
def test_real_configurations_are_understood(tmp_path, config):
    assert project_of(str(repository(tmp_path / "clone", config=config))) == "acme/shop"


def git(*arguments, cwd):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True, env=environment)


@pytest.fixture
def main(tmp_path):
    root = tmp_path / "acme" / "shop"
    root.mkdir(parents=True)
    git("init", "-q", cwd=root)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=root)
    return root


@pytest.mark.parametrize("origin", [None, "https://github.com/Acme/Store.git"])
def test_a_worktree_is_its_main_worktree(tmp_path, main, origin):
    if origin:
        git("remote", "add", "origin", origin, cwd=main)
    git("worktree", "add", "-q", str(tmp_path / "trees" / "feature"), cwd=main)

    assert project_of(str(tmp_path / "trees" / "feature")) == ("acme/store" if origin else "acme/shop")


def test_a_worktree_of_a_bare_repository_is_that_repository(tmp_path, main):
    git("clone", "-q", "--bare", str(main), "bare/shop.git", cwd=tmp_path)
    git("remote", "remove", "origin", cwd=tmp_path / "bare" / "shop.git")
    git("worktree", "add", "-q", str(tmp_path / "tree"), cwd=tmp_path / "bare" / "shop.git")

    assert project_of(str(tmp_path / "tree")) == "bare/shop"


def test_a_submodule_is_a_project_of_its_own(tmp_path, main):
    git("clone", "-q", str(main), "lib", cwd=tmp_path)
    git("remote", "add", "origin", "https://h/acme/whole", cwd=main)
    git("submodule", "add", "-q", str(tmp_path / "lib"), "vendored", cwd=main)

    assert project_of(str(main / "vendored")) == f"{tmp_path.name}/lib".casefold()
    assert project_of(str(main)) == "acme/whole"


@pytest.mark.parametrize("cwd", [None, "", "relative/path", ".", "~", "/tmp\0x", "/", "/tmp", "/tmp/x/y", "/var/tmp/z"])
def test_some_places_are_no_project(cwd):
    assert project_of(cwd) == ""


def test_home_and_temporary_folders_are_no_project_but_what_is_below_home_is(elsewhere, monkeypatch):
    monkeypatch.setenv("HOME", str(elsewhere))
    (elsewhere / "notes" / "2026").mkdir(parents=True)

    assert project_of(str(elsewhere)) == ""
    assert project_of(str(elsewhere / "notes" / "2026")) == "notes/2026"
    assert project_of(str(elsewhere / "notes")) == "code/notes"


def test_a_temporary_folder_is_recognised_through_a_link(tmp_path, elsewhere, monkeypatch):
    (tmp_path / "link").symlink_to(elsewhere)
    monkeypatch.setattr(projects.tempfile, "gettempdir", lambda: str(tmp_path / "link"))

    assert project_of(str(elsewhere / "a" / "b")) == ""


def test_a_repository_of_dotfiles_in_home_does_not_swallow_what_is_below(elsewhere, monkeypatch):
    monkeypatch.setenv("HOME", str(repository(elsewhere / "ada")))

    assert project_of(str(elsewhere / "ada")) == ""
    assert project_of(str(elsewhere / "ada" / "src" / "tool")) == "src/tool"


def test_a_link_leads_to_the_real_repository(tmp_path):
    repository(tmp_path / "clone")
    (tmp_path / "link").symlink_to(tmp_path / "clone")

    assert project_of(str(tmp_path / "link")) == "acme/shop"


def too_big(config):
    config.write_text(config.read_text() + "#" * 65_536)


def a_link(config):
    config.rename(config.with_name("target"))
    config.symlink_to(config.with_name("target"))


def a_pipe(config):
    config.unlink()
    os.mkfifo(config)


def a_folder(config):
    config.unlink()
    config.mkdir()


@pytest.mark.parametrize("spoil", [too_big, a_link, a_pipe, a_folder])
def test_a_configuration_that_is_no_small_regular_file_makes_no_repository(tmp_path, spoil):
    inner = repository(repository(tmp_path / "outer", "https://h/acme/outer") / "inner")
    spoil(inner / ".git" / "config")

    assert project_of(str(inner)) == "acme/outer"


def test_a_repository_of_somebody_else_does_not_count(tmp_path, monkeypatch):
    root = repository(tmp_path / "clone")
    monkeypatch.setattr(projects.os, "getuid", lambda: root.stat().st_uid + 1)

    assert project_of(str(root)) == ""


def test_where_there_are_no_owners_they_are_not_asked_for(tmp_path, monkeypatch):
    monkeypatch.delattr(projects.os, "getuid")

    assert project_of(str(repository(tmp_path / "clone"))) == "acme/shop"


@pytest.mark.parametrize(
    "content", ["", "nonsense", "gitdir: ", "gitdir: ../missing", "gitdir: \0", "gitdir: /dev/zero"]
)
def test_a_broken_git_file_makes_no_repository(tmp_path, content):
    root = repository(tmp_path / "outer") / "inner"
    root.mkdir()
    (root / ".git").write_text(content)

    assert project_of(str(root)) == "acme/shop"


def test_a_name_is_one_line_of_at_most_200_characters(elsewhere):
    assert project_of(str(elsewhere / "a\n\tb" / "c\u202ed")) == "a b/cd"
    assert len(project_of(str(elsewhere / ("x" * 150) / ("y" * 150)))) == 200


def test_the_walk_upward_ends(tmp_path):
    deep = repository(tmp_path / "clone").joinpath(*["d"] * 70)

    assert project_of(str(deep)) == ""


@given(st.text().map(lambda text: f"/{text}"))
def test_any_path_has_an_answer(cwd):
    assert "\n" not in project_of(cwd)


@given(st.text(max_size=60))
def test_any_configuration_has_an_answer(text):
    assert isinstance(projects._origin(f'[remote "origin"]\n{text}\nurl = {text}'), str)
    assert isinstance(projects._owner_and_name(text, Path("/a/b")), str)


def test_a_path_that_no_system_opens_is_no_project_and_costs_nothing():
    assert project_of("/" + "a/" * 20_000) == ""
    assert project_of("/" + "a/" * 2_000)
    assert is_linear(project_of, "/" + "a/" * 20_000)
