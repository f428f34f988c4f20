"""Print the requirements of an optional dependency group, so that the Makefile names no package twice."""

import pathlib
import sys
import tomllib

project = tomllib.loads((pathlib.Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
print(*project["optional-dependencies"][sys.argv[1]], sep="\n")
