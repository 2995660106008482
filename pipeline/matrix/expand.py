"""GitHub's matrix semantics: combinations in the order of declaration, exclude before include.

Source: https://docs.github.com/en/actions/how-tos/write-workflows/choose-what-workflows-do/run-job-variations and
actions/runner, src/Sdk/WorkflowParser/Conversion/MatrixBuilder.cs.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from typing import TYPE_CHECKING

from pipeline.matrix.equality import AxisIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pipeline.matrix.nodes import Node

Combination = dict[str, "Node"]


def expand(
    axes: Mapping[str, Sequence[Node]],
    exclude: Sequence[Mapping[str, Node]] = (),
    include: Sequence[Mapping[str, Node]] = (),
) -> Iterator[Combination]:
    """The rows of the matrix. Keys of ``exclude`` must be axes; a filter without keys fits every combination.

    An include adds its other keys to every combination whose *original* values it fits (a later one over an earlier
    one); one that fits none becomes a row of its own, after the combinations.
    """
    names = tuple(axes)
    places = [range(len(axes[name])) for name in names] if names else [range(0)]
    excluded = _Filters(axes, exclude)
    included = _Filters(axes, [{name: entry[name] for name in entry if name in axes} for entry in include])
    extras = [{name: entry[name] for name in entry if name not in axes} for entry in include]
    matched: set[int] = set()
    for combination in product(*places):
        if excluded.fitting(combination):
            continue
        row = {name: axes[name][place] for name, place in zip(names, combination, strict=True)}
        for number in included.fitting(combination):
            row.update(extras[number])
            matched.add(number)
        yield row
    yield from (dict(entry) for number, entry in enumerate(include) if number not in matched)


class _Filters:
    """Filters indexed by the axes they name, so that a combination is looked up and not compared with each."""

    def __init__(self, axes: Mapping[str, Sequence[Node]], filters: Sequence[Mapping[str, Node]]) -> None:
        indexes = [AxisIndex(values) for values in axes.values()]
        numbers = {name: number for number, name in enumerate(axes)}
        # (which axes) → (places on those axes) → which filters, in order
        self._groups: defaultdict[tuple[int, ...], defaultdict[tuple[int, ...], list[int]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for number, wanted in enumerate(filters):
            group = self._groups[tuple(numbers[name] for name in wanted)]
            for places in product(*(indexes[numbers[name]].fitting(value) for name, value in wanted.items())):
                group[places].append(number)

    def fitting(self, combination: tuple[int, ...]) -> list[int]:
        """The numbers of the filters that the combination fits, in order."""
        found: list[int] = []
        for axes, group in self._groups.items():
            found += group.get(tuple([combination[axis] for axis in axes]), ())
        return sorted(found) if len(found) > 1 else found
