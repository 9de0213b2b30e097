"""What declared shapes are made of: pydantic's models, or plain objects in a process that chose them (see `plain`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import plain

if TYPE_CHECKING or not plain.chosen():
    from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
else:
    from .plain import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

__all__ = ["AfterValidator", "BaseModel", "ConfigDict", "Field", "StringConstraints", "model_validator"]
