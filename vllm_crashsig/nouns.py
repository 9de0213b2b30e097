"""`dataclass` with less to compile: the standard one builds six functions for each class, and that for sixty classes takes
longer than classifying a small log. Here only ``__init__`` is built; all else is shared. Type checkers see the standard one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    _NO_DEFAULT = object()

    class _Field:
        __slots__ = ("default", "default_factory")

        def __init__(self, default, default_factory):
            self.default = default
            self.default_factory = default_factory

    def field(*, default=_NO_DEFAULT, default_factory=_NO_DEFAULT):
        """Takes the place of `dataclasses.field`."""
        return _Field(default, default_factory)

    def replace(record, **changes):
        """Takes the place of `dataclasses.replace`."""
        return type(record)(**{name: getattr(record, name) for name in record.__match_args__} | changes)

    def dataclass(cls=None, *, frozen=False, slots=False, eq=True):
        """Takes the place of `dataclasses.dataclass`, for simple ones: no fields from bases, no order, no keyword-only."""

        def decorate(cls):
            return _built(cls, frozen=frozen, slots=slots, eq=eq)

        return decorate if cls is None else decorate(cls)

    def _built(cls, *, frozen, slots, eq):
        own = dict(cls.__dict__) if slots else {}
        names = tuple(n for n, told in cls.__annotations__.items() if not told.startswith("ClassVar"))
        defaults = {n: cls.__dict__[n] for n in names if n in cls.__dict__}
        own["__match_args__"] = names
        own["__init__"] = _init(cls, names, defaults, frozen=frozen)
        if "__repr__" not in cls.__dict__:
            own["__repr__"] = _repr
        if eq:
            own["__eq__"] = _eq
            own["__hash__"] = _hash if frozen else None
        if frozen:
            own["__setattr__"], own["__delattr__"] = _refuse, _refuse
        if not slots:
            for name, value in own.items():
                setattr(cls, name, value)
            for name, default in defaults.items():
                if isinstance(default, _Field):
                    delattr(cls, name)
            return cls
        for name in (*defaults, "__dict__", "__weakref__"):
            own.pop(name, None)
        own["__slots__"], own["__qualname__"] = names, cls.__qualname__
        if frozen:
            own["__getstate__"], own["__setstate__"] = _getstate, _setstate
        return type(cls)(cls.__name__, cls.__bases__, own)

    def _init(cls, names, defaults, *, frozen):
        """The only function that is made for the class."""
        scope = {"_set": object.__setattr__, "_given": _NO_DEFAULT}
        head, body = [], []
        for name in names:
            default = defaults.get(name, _NO_DEFAULT)
            value = name
            if isinstance(default, _Field) and default.default_factory is not _NO_DEFAULT:
                scope[f"_make_{name}"] = default.default_factory
                head.append(f"{name}=_given")
                value = f"_make_{name}() if {name} is _given else {name}"
            elif default is _NO_DEFAULT:
                head.append(name)
            else:
                scope[f"_default_{name}"] = default.default if isinstance(default, _Field) else default
                head.append(f"{name}=_default_{name}")
            body.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
        if "__post_init__" in cls.__dict__:
            body.append(" self.__post_init__()")
        exec(f"def __init__(self, {', '.join(head)}):\n" + ("\n".join(body) or " pass"), scope)  # noqa: S102 - as dataclasses do
        init = scope["__init__"]
        init.__qualname__ = f"{cls.__qualname__}.__init__"
        return init

    def _repr(self):
        return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__match_args__)})"

    def _values(self):
        return tuple([getattr(self, name) for name in self.__match_args__])

    def _eq(self, other):
        return _values(self) == _values(other) if type(other) is type(self) else NotImplemented

    def _hash(self):
        return hash(_values(self))

    def _refuse(self, name: str, *_: Any):
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be changed")

    def _getstate(self):
        return _values(self)

    def _setstate(self, state):
        for name, value in zip(self.__match_args__, state, strict=True):
            object.__setattr__(self, name, value)


__all__ = ["dataclass", "field", "replace"]
