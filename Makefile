.PHONY: install test lint types fix check

install:
	uv sync

test:
	uv run pytest -n auto --dist worksteal

lint:
	uv run ruff check .
	uv run ruff format --check .
	uv run lint-imports
	uv run python manage.py makemigrations --check --dry-run
	uv run python manage.py check --fail-level WARNING

types:
	uv run mypy

fix:
	uv run ruff check --fix .
	uv run ruff format .

check: lint types test
