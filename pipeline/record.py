"""``dataclass`` for classes with slots whose methods are compiled when they are first called.

The standard library compiles six functions for each class while it is imported: half a millisecond each, which for a
hundred classes is a quarter of the time an audit takes, and most of these functions are never called. Type checkers
see the standard ones; ``dataclasses.fields`` and what builds upon it work with these classes too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:

    def dataclass(*, frozen=False, slots, kw_only=False, eq=True, order=False):
        """Like ``dataclasses.dataclass``, of which it has what is used here; ``slots`` must be true."""
        if not slots:
            raise TypeError("only classes with slots")
        return lambda cls: _finished(cls, _Shape(cls, frozen=frozen, kw_only=kw_only), eq=eq, order=order)

    def field(**how):
        """Like ``dataclasses.field``: ``default``, ``default_factory``, ``init``, ``repr`` and ``compare``."""
        return _Field(how)

    def replace(record, /, **changes):
        """Like ``dataclasses.replace``, for these classes only."""
        for name, how in record.__record__.fields.items():
            if how.get("init", True):
                if name not in changes:
                    changes[name] = getattr(record, name)
            elif name in changes:
                raise ValueError(f"{name} is not given but found")
        return type(record)(**changes)

    class _Field:
        """What ``field`` was given, until the class is finished."""

        def __init__(self, how):
            self.how = how

    class _Shape:
        """A class's fields, its bases' first, each with what ``field`` was given for it."""

        def __init__(self, cls, *, frozen, kw_only):
            self.cls, self.frozen, self.kw_only = cls, frozen, kw_only
            inherited = [vars(base)["__record__"].fields for base in cls.__mro__[:0:-1] if "__record__" in vars(base)]
            self.own = {name: _how(cls, name) for name, kind in cls.__annotations__.items() if "ClassVar" not in kind}
            self.fields = {name: how for fields in (*inherited, self.own) for name, how in fields.items()}
            self.given = [name for name, how in self.fields.items() if how.get("init", True)]
            self.compared = [name for name, how in self.fields.items() if how.get("compare", True)]

    class _StandardFields:
        """The standard library's description of a class, made where something asks for it."""

        def __get__(self, _record, cls):
            import dataclasses

            shape = cls.__record__
            fields = [(name, object, dataclasses.field(**how)) for name, how in shape.fields.items()]
            made = dataclasses.make_dataclass(cls.__name__, fields, frozen=shape.frozen, kw_only=True)
            return made.__dataclass_fields__

    def _how(cls, name):
        given = vars(cls).get(name, _Field({}))
        return given.how if isinstance(given, _Field) else {"default": given}

    def _finished(cls, shape, *, eq, order):
        """The class again, now with slots, and with methods that compile themselves."""
        gone = {*shape.own, "__dict__", "__weakref__"}
        names = {name: value for name, value in vars(cls).items() if name not in gone}
        slots = tuple(name for name in shape.own if not any(name in vars(base) for base in cls.__mro__[1:]))
        names |= {"__slots__": slots, "__qualname__": cls.__qualname__}
        names |= {"__record__": shape, "__dataclass_fields__": _StandardFields()}
        names["__match_args__"] = () if shape.kw_only else tuple(shape.given)
        if eq and names.get("__hash__") is None:
            names["__hash__"] = _later("__hash__", _hash_text, shape) if shape.frozen else None
        for name, method in _methods(shape, eq=eq, order=order).items():
            names.setdefault(name, method)
        shape.cls = type(cls)(cls.__name__, cls.__bases__, names)
        return shape.cls

    def _methods(shape, *, eq, order):
        made = {"__init__": _later("__init__", _init_text, shape), "__repr__": _repr}
        made |= {"__getstate__": _getstate, "__setstate__": _setstate}
        if shape.frozen:
            made |= {"__setattr__": _refuse, "__delattr__": _refuse}
        if eq:
            made["__eq__"] = _later("__eq__", _comparison("=="), shape)
        if order:
            signs = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
            made |= {name: _later(name, _comparison(sign), shape) for name, sign in signs.items()}
        return made

    def _later(name, text, shape):
        """A method that puts a compiled one in its place when it is first called."""

        def first(self, *arguments, **named):
            method = _compiled(text(shape), name, shape)
            setattr(shape.cls, name, method)
            return method(self, *arguments, **named)

        return first

    def _compiled(text, name, shape):
        cls = shape.cls
        found = {"_missing": _MISSING, "__name__": cls.__module__}
        for each, how in shape.fields.items():
            found |= {f"_set_{each}": getattr(cls, each).__set__, f"_default_{each}": how.get("default")}
            found[f"_make_{each}"] = how.get("default_factory")
        exec(text, found)  # noqa: S102 - the text is made of the names of the class's fields
        found[name].__qualname__ = f"{cls.__qualname__}.{name}"
        return found[name]

    def _init_text(shape):
        star = ["*"] if shape.kw_only and shape.given else []
        lines = [f"def __init__({', '.join(['self', *star, *(_parameter(shape, name) for name in shape.given)])}):"]
        lines += [_assignment(shape, name) for name in shape.fields if _is_set(shape, name)]
        lines += [" self.__post_init__()"] if hasattr(shape.cls, "__post_init__") else []
        return "\n".join([*lines, " pass"])

    def _parameter(shape, name):
        how = shape.fields[name]
        made = "_missing" if "default_factory" in how else f"_default_{name}"
        return f"{name}={made}" if how.keys() & {"default", "default_factory"} else name

    def _is_set(shape, name):
        how = shape.fields[name]
        return how.get("init", True) or bool(how.keys() & {"default", "default_factory"})

    def _assignment(shape, name):
        how = shape.fields[name]
        value = name if how.get("init", True) else f"_default_{name}"
        if "default_factory" in how:
            value = f"_make_{name}() if {name} is _missing else {name}" if how.get("init", True) else f"_make_{name}()"
        return f" _set_{name}(self, {value})" if shape.frozen else f" self.{name} = {value}"

    def _comparison(sign):
        def text(shape):
            left, right = ("".join(f"{side}.{name}, " for name in shape.compared) for side in ("self", "other"))
            name = {"==": "eq", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}[sign]
            return (
                f"def __{name}__(self, other):\n"
                f" if other.__class__ is not self.__class__: return NotImplemented\n"
                f" return ({left}) {sign} ({right})"
            )

        return text

    def _hash_text(shape):
        return f"def __hash__(self): return hash(({''.join(f'self.{name}, ' for name in shape.compared)}))"

    def _repr(self):
        shown = (name for name, how in self.__record__.fields.items() if how.get("repr", True))
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def _getstate(self):
        return [getattr(self, name) for name in self.__record__.fields]

    def _setstate(self, state):
        for name, value in zip(self.__record__.fields, state, strict=True):
            object.__setattr__(self, name, value)

    def _refuse(_self, name, *_value):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot change field {name!r}")

    _MISSING = object()


__all__ = ["dataclass", "field", "replace"]
