import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from memsite import env
from memsite.env import BadConfiguration, load_env, settings_table

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def load(tmp_path):
    """Read a configuration made of a config.toml and some environment variables."""

    def read(toml=None, **environ):
        if toml is not None:
            file = env.config_file({"XDG_CONFIG_HOME": str(tmp_path)})
            file.parent.mkdir(exist_ok=True)
            file.write_text(toml, encoding="utf-8")
        return load_env({"XDG_CONFIG_HOME": str(tmp_path), **environ})

    return read


def test_without_any_configuration_the_defaults_hold(load):
    found = load()

    assert found.database == Path("~/.local/share/memory-mcp/memory.db").expanduser()
    assert found.discovery == Path(f"{found.database}.server.json")
    assert (found.scope, found.host, found.port, found.token) == ("default", "127.0.0.1", 8765, "")
    assert (found.reinject_after, found.ttl_artifact_days, found.max_content_chars) == (20, 90, 2_000_000)


def test_the_environment_wins_over_the_file(load):
    found = load('port = 9000\nscope = "team"\nallowed_hosts = ["a.example"]', MEMORY_PORT="9001")

    assert (found.port, found.scope, found.allowed_hosts) == (9001, "team", ("a.example",))


def test_an_empty_variable_counts_as_unset(load):
    assert load("port = 9000", MEMORY_PORT=" ").port == 9000


def test_values_are_read_as_their_types(load):
    found = load(
        MEMORY_ALLOWED_HOSTS=" a.example, b.example:8080 ,,",
        MEMORY_REDACT_SECRETS="0",
        MEMORY_MAINTENANCE_ON_START="true",
        MEMORY_TTL_ARTIFACT_DAYS="1.5",
        MEMORY_SCOPE=" team ",
    )

    assert found.allowed_hosts == ("a.example", "b.example:8080")
    assert (found.redact_secrets, found.maintenance_on_start, found.ttl_artifact_days) == (False, True, 1.5)
    assert found.scope == "team"


def test_paths_know_the_home_and_need_no_quoting(load, monkeypatch, tmp_path):
    home = tmp_path / "a b'c ü"
    monkeypatch.setenv("HOME", str(home))

    found = load(MEMORY_DB_PATH="~/x/y.db", MEMORY_DISCOVERY_FILE="~/where.json")

    assert found.database == home / "x" / "y.db"
    assert found.discovery == home / "where.json"


def test_a_database_url_beats_a_path(load):
    assert load(MEMORY_DB_PATH="/a.db", DATABASE_URL="sqlite:////srv/b.db").database == Path("/srv/b.db")


def test_the_address_need_not_be_published(load):
    assert load(MEMORY_DISCOVERY_FILE="off").discovery is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMORY_PORT", "70000"),
        ("MEMORY_PORT", "-1"),
        ("MEMORY_PORT", "http"),
        ("MEMORY_PORT", "80\n81"),
        ("MEMORY_REINJECT_AFTER", "1.5"),
        ("MEMORY_INJECT_MIN_RELEVANCE", "1.1"),
        ("MEMORY_INJECT_MIN_RELEVANCE", "nan"),
        ("MEMORY_INJECT_BOOST", "inf"),
        ("MEMORY_INJECT_BOOST", "nan"),
        ("MEMORY_TTL_ARTIFACT_DAYS", "-1"),
        ("MEMORY_TTL_ARTIFACT_DAYS", "inf"),
        ("MEMORY_REDACT_SECRETS", "maybe"),
        ("MEMORY_MAX_CONTENT_CHARS", "1e3"),
        ("MEMORY_SCOPE", "x" * 201),
        ("DATABASE_URL", "postgres://localhost/memories"),
        ("DATABASE_URL", "sqlite:///"),
        ("DATABASE_URL", "sqlite:///:memory:"),
    ],
)
def test_a_bad_value_stops_the_start_with_one_line_that_names_it(load, name, value):
    with pytest.raises(BadConfiguration) as error:
        load(**{name: value})

    line = str(error.value)
    assert line.startswith(f"{name}={value!r} ")
    assert len(line.splitlines()) == 1
    assert "allowed" in line


def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(load):
    with pytest.raises(BadConfiguration) as error:
        load(MEMORY_TOKEN="sécret")
    assert "ASCII" in str(error.value)
    assert "cret" not in str(error.value)


def test_a_misspelt_setting_of_the_file_is_guessed(load, capsys):
    load("prot = 9")
    assert "prot is not a setting; did you mean port?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("toml", "name"),
    [
        ("port = 70000", "MEMORY_PORT"),
        ("port = {a = 1}", "MEMORY_PORT"),
        ("allowed_hosts = 1", "MEMORY_ALLOWED_HOSTS"),
        ("scope = 1", "MEMORY_SCOPE"),
        ("db_path = 1", "MEMORY_DB_PATH"),
        ("db_path = ['a']", "MEMORY_DB_PATH"),
    ],
)
def test_a_bad_value_in_the_file_is_named_like_a_variable(load, toml, name):
    with pytest.raises(BadConfiguration) as error:
        load(toml)

    assert str(error.value).startswith(f"{name}=")
    assert len(str(error.value).splitlines()) == 1


def test_a_token_is_never_shown(load):
    with pytest.raises(BadConfiguration) as error:
        load("token = 4711")

    assert "4711" not in str(error.value)
    assert "swordfish" not in repr(load("", MEMORY_TOKEN="swordfish"))


@pytest.mark.parametrize("toml", ["port = ", "port", "\x00", "[", "a = 1\na = 2"])
def test_a_file_that_is_no_toml_stops_the_start_with_one_line(load, toml):
    with pytest.raises(BadConfiguration) as error:
        load(toml)

    assert "config.toml" in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_file_that_cannot_be_read_stops_the_start(load, tmp_path):
    (tmp_path / "memory-mcp" / "config.toml").mkdir(parents=True)

    with pytest.raises(BadConfiguration):
        load()


def test_a_file_in_another_encoding_stops_the_start(load, tmp_path):
    load("")
    (tmp_path / "memory-mcp" / "config.toml").write_bytes(b'scope = "\xff"')

    with pytest.raises(BadConfiguration):
        load()


def test_a_near_miss_is_warned_of_once_and_stops_nothing(load, capsys):
    assert load("max_content_char = 9000", MEMORY_DB_PTAH="/x.db").max_content_chars == 2_000_000

    warned = capsys.readouterr().err.splitlines()
    assert len(warned) == 2
    assert "MEMORY_DB_PTAH" in warned[0]
    assert "MEMORY_DB_PATH" in warned[0]
    assert "max_content_char " in warned[1]


def test_names_of_others_are_left_alone(load, capsys):
    load("something = 1\n[else]\na = 1", MEMORY_PLUGIN_URL="http://x", MEMORY_LANE="1", PORT="1", HOME="/root")

    assert capsys.readouterr().err == ""


def test_a_configuration_does_not_change(load):
    with pytest.raises(ValidationError):
        load().port = 1


def test_every_setting_has_a_meaning_and_a_variable():
    rows = settings_table().splitlines()[2:]

    assert len(rows) == len(env.Env.model_fields)
    assert all(re.fullmatch(r"\| `(MEMORY_[A-Z_]+|DATABASE_URL)` \| (`.+`)? \| .+ \|", row) for row in rows)


def test_the_readme_shows_the_settings_as_they_are():
    shown = re.search(r"<!-- settings -->\n+(.*?)\n*<!-- /settings -->", README.read_text(encoding="utf-8"), re.DOTALL)

    assert shown, "README has no table of settings"
    assert shown[1].strip() == settings_table().strip()


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"MEMORY_JUDGE": "http"}, ("MEMORY_JUDGE_URL", "MEMORY_JUDGE_MODEL")),
        ({"MEMORY_JUDGE": "http", "MEMORY_JUDGE_URL": "http://localhost:11434/v1"}, ("MEMORY_JUDGE_MODEL",)),
        ({"MEMORY_JUDGE": "http", "MEMORY_JUDGE_MODEL": "m", "MEMORY_JUDGE_API_KEY": "secret"}, ("MEMORY_JUDGE_URL",)),
        ({"MEMORY_JUDGE": "llama"}, ("MEMORY_JUDGE_PATH",)),
    ],
)
def test_a_judge_without_what_it_needs_stops_the_start_with_one_line(load, given, missing):
    with pytest.raises(BadConfiguration) as error:
        load(**given)

    line = str(error.value)
    assert line == f"MEMORY_JUDGE={given['MEMORY_JUDGE']!r} needs {' and '.join(missing)}."


def test_a_judge_with_all_it_needs_is_taken(load, tmp_path):
    found = load(
        MEMORY_JUDGE="http",
        MEMORY_JUDGE_URL="https://api.example/v1",
        MEMORY_JUDGE_MODEL="m",
        MEMORY_JUDGE_API_KEY="sk-hidden",
    )

    assert (found.judge, found.judge_model, found.judge_per_hour) == ("http", "m", 60)
    assert "sk-hidden" not in repr(found)
    assert load(MEMORY_JUDGE="llama", MEMORY_JUDGE_PATH=str(tmp_path)).judge_path == tmp_path
    assert load(MEMORY_JUDGE="newest").judge == "newest"
    assert load(OPENAI_API_KEY="for others").judge == "none"


def test_the_key_of_the_judge_is_never_shown(load):
    with pytest.raises(BadConfiguration) as error:
        load("judge_api_key = 4711")

    assert "4711" not in str(error.value)


@pytest.mark.parametrize("name", ["MEMORY_JUDGE_URL", "MEMORY_EMBED_URL"])
@pytest.mark.parametrize("url", ["localhost:11434", "ftp://a.example"])
def test_a_server_is_named_by_a_url(load, name, url):
    with pytest.raises(BadConfiguration, match=f"{name}="):
        load(**{name: url})
