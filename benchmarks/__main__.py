"""`make bench`: every benchmark, or the named ones. Each measures ratios within one run and prints what it measured."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from pathlib import Path


def names() -> list[str]:
    return sorted(
        module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if not module.name.startswith("_")
    )


def main() -> None:
    os.environ["COURSE_WARM"] = "0"  # what a benchmark starts, it also pays for
    chosen = sys.argv[1:] or names()
    unknown = [name for name in chosen if name not in names()]
    if unknown:
        sys.exit(f"benchmarks: no benchmark named {', '.join(unknown)}; there are: {', '.join(names())}")
    for name in chosen:
        print(f"== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
