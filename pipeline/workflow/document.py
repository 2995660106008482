"""A workflow or action file as far as its safety depends on it: triggers, jobs, steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_LITERAL = re.compile(r"'([^']*)'")


@dataclass(frozen=True, slots=True)
class Step:
    """One step: ``place`` says which, ``content`` is its mapping."""

    place: str
    content: Json

    @property
    def uses(self) -> str:
        """The action, ``owner/name@ref``; empty for a step that runs a script."""
        return str(self.content.get("uses") or "")

    @property
    def run(self) -> str:
        """The script; empty for a step that uses an action."""
        return str(self.content.get("run") or "")

    @property
    def inputs(self) -> Json:
        """What the action is given."""
        return _mapping(self.content.get("with"))

    @property
    def decides(self) -> bool:
        """Whether its job fails whenever it does: it is not skipped, let pass, or swallowed by its own script."""
        swallowed = "||" in self.run or "set +e" in self.run
        return "if" not in self.content and not _tolerates(self.content) and not swallowed

    def is_action(self, name: str) -> bool:
        """Whether it uses action ``name``, of whatever version."""
        return self.uses.partition("@")[0] == name


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a workflow."""

    id: str
    content: Json

    @property
    def steps(self) -> tuple[Step, ...]:
        """Its steps, none where it calls another workflow."""
        return _steps(f"job {self.id}", self.content.get("steps"))

    @property
    def needs(self) -> tuple[str, ...]:
        """The jobs that it waits for."""
        return _words(self.content.get("needs"))

    @property
    def condition(self) -> str:
        """Its ``if``, without the braces."""
        return re.sub(r"^\$\{\{|\}\}$", "", str(self.content.get("if") or "").strip()).strip()

    @property
    def may_fail(self) -> bool:
        """Whether the jobs that need it may be told of a success when it failed."""
        return _tolerates(self.content)

    @property
    def permissions(self) -> dict[str, str] | None:
        """What its token may do; ``None`` where the job does not say."""
        return _permissions(self.content.get("permissions"))

    @property
    def environment(self) -> str:
        """The deployment environment that guards it; empty for none."""
        named = self.content.get("environment") or ""
        return str(named.get("name") or "" if isinstance(named, dict) else named)

    def hosted(self, labels: frozenset[str]) -> bool:
        """Whether, whatever it evaluates to, it runs on one of GitHub's machines with these ``labels``."""
        wanted = self.content.get("runs-on")
        if not isinstance(wanted, str):
            return False
        whole = _EXPRESSION.fullmatch(wanted.strip())
        if whole is None:
            return wanted in labels
        # `… && 'a' || 'b'` is one of its literals; comparisons stand before the `&&`.
        values = [_LITERAL.fullmatch(part.rpartition("&&")[2].strip()) for part in whole[1].split("||")]
        return all(value is not None and value[1] in labels for value in values)

    @property
    def text(self) -> str:
        """All of it, to look for words in."""
        return yaml.safe_dump(self.content, width=10_000)


@dataclass(frozen=True, slots=True)
class Document:
    """A workflow, or (without jobs and triggers) a composite action."""

    content: Json
    triggers: tuple[str, ...]
    jobs: tuple[Job, ...]
    own_steps: tuple[Step, ...]

    @property
    def steps(self) -> Iterator[Step]:
        """The steps of all jobs, or of the action."""
        yield from self.own_steps
        for job in self.jobs:
            yield from job.steps

    @property
    def calls(self) -> Iterator[Step]:
        """Whatever is used: the steps' actions and the jobs' reusable workflows."""
        yield from (step for step in self.steps if step.uses)
        yield from (Step(f"job {job.id}", job.content) for job in self.jobs if job.content.get("uses"))

    @property
    def permissions(self) -> dict[str, str] | None:
        """What tokens may do by default; ``None`` where the workflow leaves that to the repository's settings."""
        return _permissions(self.content.get("permissions"))


def expressions(text: str) -> tuple[str, ...]:
    """What GitHub evaluates in ``text``, without literals."""
    return tuple(_LITERAL.sub("", each) for each in _EXPRESSION.findall(text))


def read_document(text: str) -> Document:
    """The file's content; ``UsageError`` when it is neither a workflow nor an action."""
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date that no calendar has is a ValueError
        raise UsageError(f"not YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(content, dict) or not {"jobs", "runs"} & content.keys():
        raise UsageError("neither a workflow nor an action")
    # YAML 1.1 reads the key `on` as a truth value.
    triggers = _words(content.get(True, content.get("on")))
    jobs = tuple(Job(str(name), job) for name, job in _mapping(content.get("jobs")).items() if isinstance(job, dict))
    return Document(content, triggers, jobs, _steps("the action", _mapping(content.get("runs")).get("steps")))


def _tolerates(content: Json) -> bool:
    return content.get("continue-on-error", False) is not False


def _mapping(written: Any) -> Json:
    return written if isinstance(written, dict) else {}


def _words(written: Any) -> tuple[str, ...]:
    """One word, a list of them, or the keys of a mapping."""
    return tuple(map(str, written)) if isinstance(written, list | dict) else (str(written),) if written else ()


def _steps(where: str, steps: Any) -> tuple[Step, ...]:
    found = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    return tuple(Step(f"{where}, step {number}", step) for number, step in enumerate(found, 1))


def _permissions(written: Any) -> dict[str, str] | None:
    """By name; the words ``read-all`` and ``write-all`` stand under ``all``."""
    if written is None:
        return None
    if isinstance(written, dict):
        return {str(name): str(level) for name, level in written.items()}
    return {"all": str(written).removesuffix("-all")}
