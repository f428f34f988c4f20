"""How Sphinx builds the site: ``make docs``.

The pages are the Markdown files of this folder, and those of the repository that are listed in ``OTHERS``, of which
copies are written to ``generated/``. The reference is made from docstrings.
"""

import os
import re
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
OTHERS = {
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "SECURITY.md": "security",
    "cpp/README.md": "core",
    "cpp/conv/README.md": "convolution",
    "cpp/experiments.md": "experiments",
}

project = "cenote"
author = "the cenote maintainers"
release = metadata.version("cenote")

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
autodoc_typehints = "none"  # the docstrings have them in words
numpydoc_show_class_members = False

html_theme = "furo"
html_title = "cenote"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False


def on_the_site(text: str, source: Path, page: Path) -> str:
    """The text of a file of the repository with its links as they are on a page of the site.

    A file that is a page is linked as that page, another one as a download, and the name of a folder stays as text.
    """

    def link(found: re.Match[str]) -> str:
        label, target, anchor = found[1], found[2], found[3] or ""
        path = (source.parent / target).resolve()
        name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
        if name in OTHERS:
            path = HERE / "generated" / f"{OTHERS[name]}.md"
        elif name == "README.md":
            path = HERE / "index.md"
            anchor = ""
        elif path.is_dir():
            return f"{label} (`{name}/`)" if label.strip("`/") != name else label
        return f"[{label}]({os.path.relpath(path, page.parent)}{anchor})"

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^):#]+)(#[^)]*)?\)", link, text)


(HERE / "generated").mkdir(exist_ok=True)
for name, page in OTHERS.items():
    path = HERE / "generated" / f"{page}.md"
    text = on_the_site((ROOT / name).read_text(encoding="utf-8"), ROOT / name, path)
    if not path.exists() or path.read_text(encoding="utf-8") != text:  # Sphinx builds again what is newer
        path.write_text(text, encoding="utf-8")


def rewrite_links(app, docname, content):
    if not docname.startswith("generated/"):
        page = HERE / f"{docname}.md"
        content[0] = on_the_site(content[0], page, page)


def setup(app):
    app.connect("source-read", rewrite_links)
