"""Objects with the fields of the declared shapes and no checks: what `shapes` hands out where pydantic is not wanted.

Loading pydantic and building its validators takes several times as long as classifying a small log. The command reads shapes
from the cache, where only validated ones are kept, and prints others that it made itself: nothing is left to be checked.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")

_DATA = "data of fields"
"""Where a shape keeps what it has made no shapes of yet."""

_SHAPES = f"{__package__}.shapes"
_state = {"allowed": False, "chosen": False}


def allow() -> None:
    """Says that this process is the command's: nobody else uses what it makes."""
    _state["allowed"] = True


def choose() -> bool:
    """Makes the shapes of this process plain ones where that is allowed. False too when `shapes` is loaded already."""
    if _state["allowed"] and _SHAPES not in sys.modules:
        _state["chosen"] = True
    return _state["chosen"]


def chosen() -> bool:
    """Whether the shapes of this process are plain."""
    return _state["chosen"]


class Default:
    """What stands for a field that is not given."""

    __slots__ = ("alias", "factory", "value")

    def __init__(self, value: Any = None, factory: Callable[[], Any] | None = None, alias: str | None = None) -> None:
        self.value = value
        self.factory = factory
        self.alias = alias


class BaseModel:
    """Takes the place of `pydantic.BaseModel`."""

    _fields: ClassVar[dict[str, Default]] = {}
    _parts: ClassVar[dict[str, tuple[str, type[BaseModel]]] | None] = None
    """Fields that hold shapes: how (``dict``, ``list`` or one) and which. Worked out when first needed."""

    def __init_subclass__(cls) -> None:
        cls._fields = dict(cls._fields)
        cls._parts = None
        for name in getattr(cls, "__annotations__", {}):  # those of a base, if it has none itself: no harm
            if name in ("model_config", "_fields", "_parts"):
                continue
            default = cls.__dict__.get(name)
            cls._fields[name] = default if isinstance(default, Default) else Default(default)
            if name in cls.__dict__:
                delattr(cls, name)

    def __init__(self, **given: Any) -> None:
        own = self.__dict__
        for name, default in self._fields.items():
            if name in given:
                own[name] = given[name]
            elif default.alias in given:
                own[name] = given[default.alias]
            else:
                own[name] = default.factory() if default.factory else default.value

    def __getattr__(self, name: str) -> Any:
        """Makes the shapes of a field that came as plain data."""
        data = self.__dict__.get(_DATA, {})
        kind, shape = self._shape_parts().get(name, ("", None))
        if shape is None or name not in data:
            raise AttributeError(f"{type(self).__name__} has no {name}")
        content = data[name]
        if kind == "dict":
            made: Any = {key: shape.model_validate(value) for key, value in content.items()}
        else:
            made = list(map(shape.model_validate, content)) if kind == "list" else shape.model_validate(content)
        self.__dict__[name] = made
        return made

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fields}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, BaseModel) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *self._values().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in self._values().items())})"

    @classmethod
    def model_validate(cls: type[T], data: Mapping[str, Any]) -> T:
        """A shape from plain data. Checks nothing, and makes the shapes in it when they are asked for."""
        made = cls(**data)
        parts = cls._shape_parts()  # type: ignore[attr-defined]
        later = {}
        for name, default in cls._fields.items() if parts else ():  # type: ignore[attr-defined]
            content = data.get(default.alias or name)
            if name in parts and content is not None:
                later[name] = content
                del made.__dict__[name]
        if later:
            made.__dict__[_DATA] = later
        return made

    @classmethod
    def _shape_parts(cls) -> dict[str, tuple[str, type[BaseModel]]]:
        """Read from the annotations, which are text: ``dict[Name, Indicator]``, ``list[Step]``, ``Condition | None``."""
        if cls._parts is None:
            parts = {}
            for base in reversed(cls.__mro__):
                home = vars(sys.modules[base.__module__])
                for name, told in getattr(base, "__annotations__", {}).items():
                    for word in re.findall(r"\w+", told if isinstance(told, str) else ""):
                        shape = home.get(word)
                        if isinstance(shape, type) and issubclass(shape, BaseModel) and name in cls._fields:
                            parts[name] = (told.partition("[")[0], shape)
            cls._parts = parts
        return cls._parts

    def model_copy(self: T, *, update: Mapping[str, Any]) -> T:
        """A copy with other values in some fields."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, **update)
        return copy

    def model_dump(self, **_: Any) -> dict[str, Any]:
        """Plain data that JSON can hold."""
        return {name: _dumped(value) for name, value in self._values().items()}

    def model_dump_json(self, *, indent: int | None = None) -> str:
        """The same as JSON."""
        import json

        return json.dumps(self.model_dump(), indent=indent, ensure_ascii=False)


def _dumped(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, list | tuple):
        return [_dumped(v) for v in value]
    if isinstance(value, dict):
        return {k: _dumped(v) for k, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None  # as pydantic does: JSON has no such numbers
    return value


def Field(default: Any = None, *, default_factory: Callable[[], Any] | None = None, alias: str | None = None, **_: Any) -> Any:  # noqa: N802
    """Takes the place of `pydantic.Field`."""
    return Default(default, default_factory, alias)


def _nothing(*_: Any, **__: Any) -> Any:
    """What a check becomes."""
    return None


ConfigDict = StringConstraints = AfterValidator = _nothing


def model_validator(**_: Any) -> Callable[[T], T]:
    """Takes the place of `pydantic.model_validator`: the check is never asked."""
    return lambda function: function
