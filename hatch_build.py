"""Hatchling's hook: `make wheel` puts compiled kernels into the wheel, for one platform and Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface[Any]):
    """Includes the folder that TAMIS_WHEEL_KERNELS names; without it the wheel is the same for every platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("TAMIS_WHEEL_KERNELS")
        if not folder or version == "editable":
            return
        if not any(Path(folder).glob("*.kernel")):
            msg = f"there are no compiled kernels in {folder}"
            raise FileNotFoundError(msg)
        build_data["force_include"][folder] = "tamis/compiled"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
