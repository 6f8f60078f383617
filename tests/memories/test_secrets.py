import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories import secrets
from memories.secrets import RULES, redact
from tests.growth import is_linear

R = "aZ3bY4cX5dW6eV7fU8gT9hS0iR1jQ2kP3lO4mN5nM6pL7qK8"  # no token, long enough to end one
HEX = "0123456789abcdef" * 2
DASHES = "-" * 5
BEGIN, END = f"{DASHES}BEGIN RSA PRIVATE" + f" KEY{DASHES}", f"{DASHES}END RSA PRIVATE" + f" KEY{DASHES}"

SECRETS = [
    ("aws-access-key", "AKIA" + "IOSFODNN7EXAMPLE"),
    ("aws-secret-key", "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "ABCDEFGHIJ"),
    ("github-token", "ghp" + "_" + R[:36]),
    ("github-token", "gho" + "_" + R[:36]),
    ("github-token", "ghs" + "_" + R[:36]),
    ("github-token", "github" + "_pat_" + R + R[:34]),
    ("gitlab-token", "glpat" + "-" + R[:20]),
    ("slack-token", "xoxb" + "-1234567890-" + R[:12]),
    ("slack-webhook", "https://hooks.slack.com" + "/services/T00000000/B00000000/" + R[:24]),
    ("stripe-key", "sk" + "_live_" + R[:24]),
    ("google-key", "AI" + "za" + R[:35]),
    ("anthropic-key", "sk-" + "ant-api03-" + R),
    ("openai-key", "sk-" + "proj-" + R),
    ("openai-key", "sk-" + R[:40]),
    ("npm-token", "npm" + "_" + R[:36]),
    ("pypi-token", "pypi" + "-AgEIcHlwaS5vcmc" + R + R),
    ("huggingface-token", "hf" + "_" + R[:34]),
    ("sendgrid-key", "SG" + "." + R[:22] + "." + R[:43]),
    ("twilio-key", "TWILIO_AUTH_TOKEN=" + HEX),
    ("telegram-token", "123456789" + ":AA" + R[:33]),
    ("jwt", "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0." + R),
    ("private-key", f"{BEGIN}\nMIIE{R}\n{R}\nabc=\n{END}"),
    ("private-key", f"{BEGIN}\\nMIIE{R}\\n{R}\\n{END}"),
    ("private-key", f"{BEGIN}\nMIIE{R}\n{R}\n{R[:9]}"),
    ("authorization", "Authorization: Bearer " + R[:12]),
    ("authorization", "-H 'authorization: Basic " + "dXNlcjpwYXNz1234" + "'"),
    ("url-password", "postgres://user:" + "pass" + "@host/db"),
    ("url-password", "https://u:" + "p@ss" + "@host"),
    ("password", "password=" + "hunter2"),
    ("password", "password: " + "hunter2"),
    ("password", "PASSWORD=" + "Sup3r$ecret!&x"),
    ("password", "export DB_PASSWORD=" + "swordfish"),
    ("password", "password = '" + "correct horse battery staple'"),
    ("password", "password: str = '" + "hunter2'"),
    ("password", '{\\"password\\": \\"' + 'hunter2\\"}'),
    ("password", "mysql --password " + "hunter22 -v"),
    ("password", "machine github.com login ada password " + "swordfish"),
    ("secret", 'api_key: "' + 'abcd1234efgh5678"'),
    ("secret", "SECRET_KEY = '" + "django-insecure-9x!abc'"),
    ("secret", "?token=" + "abc12345&user=bob"),
    ("secret", "client_secret=" + "abcDEF12345ghi"),
    ("memsite-token", "memsite" + "_" + R[:43]),
]

PLAIN = [
    "the password is stored hashed",
    "rotate the api key weekly",
    "password: see 1Password",
    "password: 1Password vault",
    'password=os.environ["X"]',
    "password: ${DB_PASSWORD}",
    "password = getpass()",
    "password=settings.DB_PASSWORD",
    "password={{ vault_password }}",
    "password=<your password>",
    "f(password=value)",
    "def login(user, password=None):",
    '"password": "The password must have 8 characters"',
    "<input type='password' name='password'>",
    "token=token",
    "api_key=self.api_key",
    "token = request.headers['X-Token']",
    "max_tokens: 4096",
    "token: str",
    "secret: postgres-credentials",
    "POSTGRES_PASSWORD_FILE=/run/secrets/pg",
    "PWD=/home/me/shop",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Bearer authentication is used",
    "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
    "550e8400-e29b-41d4-a716-446655440000",
    "sha256:" + HEX * 2,
    "integrity sha512-" + R + R + "==",
    "task-" + R[:40],
    "https://host:8080/path@foo",
    "http://user@host:80/",
    f"{BEGIN} and {END} frame a key",
    "tests pass: all34 of them",
]


@pytest.mark.parametrize(("kind", "text"), SECRETS)
def test_a_secret_is_replaced_by_its_type(kind, text):
    redacted, kinds = redact(f"see\n{text}\nfor it")

    assert kinds == (kind,)
    assert f"[redacted:{kind}]" in redacted
    assert redacted.startswith("see\n")


@pytest.mark.parametrize("text", PLAIN)
def test_plain_talk_about_keys_stays(text):
    assert redact(text) == (text, ())


@pytest.mark.parametrize(("kind", "text"), SECRETS)
def test_the_secret_itself_is_gone(kind, text):
    redacted, _ = redact(text)

    for fragment in (
        R[:12],
        HEX,
        "hunter2",
        "swordfish",
        "battery",
        "dXNlcjpw",
        "abc12345",
        "abcd1234",
        "9x!abc",
    ):
        assert fragment not in redacted


def test_a_url_keeps_its_user_and_host():
    assert redact("postgres://ada:" + "s3cret@db.local:5432/shop")[0] == (
        "postgres://ada:[redacted:url-password]@db.local:5432/shop"
    )


def test_several_types_are_reported_sorted_and_once():
    _, kinds = redact(" ".join(text for _, text in reversed(SECRETS)))

    assert list(kinds) == sorted(set(kinds))
    assert len(kinds) > 15


def test_a_secret_in_escaped_json_is_found():
    assert redact('{"log": "line\\n' + "ghp" + "_" + R[:36] + '\\nnext"}')[1] == ("github-token",)


def test_the_text_after_a_truncated_key_stays():
    redacted, _ = redact(f"{BEGIN}\nMIIE{R}\n{R}\nThe server fails.")

    assert redacted == "[redacted:private-key]\nThe server fails."


@given(st.lists(st.sampled_from([*(text for _, text in SECRETS), *PLAIN, " ", "\n", "=", ":", '"', "@", "-", "["])))
def test_redacting_redacted_text_changes_nothing(parts):
    redacted, _ = redact("".join(parts))

    assert redact(redacted) == (redacted, ())


@given(st.text())
def test_any_text_can_be_redacted(text):
    redacted, _ = redact(text)

    assert redact(redacted) == (redacted, ())


@given(st.text(alphabet="\u0130aB\u1e9eǅ ", max_size=40))
def test_letters_that_grow_in_lower_case_do_not_shift_a_secret(text):
    redacted, kinds = redact(f"{text} password=" + "hunter2 x")

    assert redacted == f"{text} password=[redacted:password] x"
    assert kinds == ("password",)


@pytest.mark.parametrize(
    "text",
    [
        ("the password is in the token store, the private key and the secret pass through https://x.y/z " * 4_200),
        "a" * 400_000,
        "password=" * 40_000,
        'password="' * 40_000,
        "eyJ" * 120_000,
        "eyJaaaaaaaa." * 32_000,
        BEGIN * 12_000,
        f"{BEGIN}\n" + "A" * 380_000,
        BEGIN + "- " * 180_000,
        "://a:b" * 60_000,
        "twilio" * 60_000,
        "--" * 180_000,
    ],
    ids=range(12),
)
def test_redaction_is_linear(text):
    assert is_linear(redact, text)


def test_the_module_loads_alone():
    code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['redact']('password=' + 'hunter2')[0])"
    command = [sys.executable, "-I", "-S", "-c", code, str(Path(secrets.__file__))]

    assert subprocess.check_output(command, text=True).strip() == "password=[redacted:password]"


def test_every_rule_is_tried():
    assert {rule.name for rule in RULES} == {kind for kind, _ in SECRETS} - {"secret"}
