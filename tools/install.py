"""Build cenote, install it editable, and show how far the compiler has come.

    python tools/install.py LEVELS [cmake.define.NAME=VALUE ...]

LEVELS is ``all``, every SIMD level of the architecture, or ``native``, what this CPU runs. On a terminal the count is
one line that is written over; elsewhere a line is printed every quarter. When the build fails, all that it printed is
printed.
"""

import re
import subprocess
import sys
import time


def main(levels: str, *settings: str) -> int:
    command = [sys.executable, "-m", "pip", "install", "--verbose", "--disable-pip-version-check"]
    command += ["--no-build-isolation", "--no-deps", "--editable", "."]
    for setting in (f"cmake.define.CENOTE_LEVELS={levels}", *settings):
        command.append(f"--config-settings={setting}")
    start, printed, quarter = time.monotonic(), [], 0
    live = sys.stdout.isatty()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    assert process.stdout is not None
    for line in process.stdout:
        printed.append(line)
        found = re.match(r"\s*\[(\d+)/(\d+)\]", line)
        if not found:
            continue
        done, total = int(found[1]), int(found[2])
        text = f"  compiled {done} of {total} files, {time.monotonic() - start:.0f} s"
        if live:
            print(f"\r{text}", end="", flush=True)
        elif 4 * done // total > quarter:
            quarter = 4 * done // total
            print(text, flush=True)
    if live:
        print()
    if process.wait():
        print("".join(printed))
        print("The build failed: the compiler's messages are above. GCC 12 or Clang 15, or newer, is needed.")
        return 1
    print(f"  installed after {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
