.PHONY: install test lint types fix check

install:
	uv sync --extra dev

test:
	uv run --extra dev pytest

lint:
	uv run --extra dev ruff check .
	uv run --extra dev ruff format --check .
	uv run --extra dev lint-imports
	uv run --extra dev python manage.py makemigrations --check --dry-run
	uv run --extra dev python manage.py check --fail-level WARNING

types:
	uv run --extra dev mypy

fix:
	uv run --extra dev ruff check --fix .
	uv run --extra dev ruff format .

check: lint types test
