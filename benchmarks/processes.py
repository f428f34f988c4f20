"""What only a process of its own can tell: peak memory, and the time of an import; and the size of a wheel."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import zipfile
from base64 import urlsafe_b64encode
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path

import cenote as cn
from cenote import _core
from peers import cenote
from rows import THREADS, Row, rows

STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")

IMPORT = """
import time
import numpy
start = time.perf_counter()
import cenote
print(time.perf_counter() - start)
"""


def resident(field: str) -> int:
    """Bytes of this process that are in memory: VmRSS now, VmHWM at most so far."""
    (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith(f"{field}:")]
    return int(line.split()[1]) * 1024


def extra(row: Row) -> int:
    """How far the peak of one call lies above what it is given and what it gives, in bytes."""
    assert row.case is not None
    cn.set_num_threads(THREADS)
    small, case = row.case.small(), row.case
    first = cenote(small, small.data(), small.cotangent())
    first.run()  # the code is loaded
    x, g = case.data(), case.cotangent() if case.mode == "vjp" else None
    work = cenote(case, x, g)
    FORGET.write_text("5")  # the peak is now
    before = resident("VmRSS")
    result = work.run()
    peak = resident("VmHWM")
    return peak - before - sum(int(array.nbytes) for array in work.read(result))


def peak_memory(row: Row) -> float:
    """:func:`extra` in MiB, from a process that does nothing else."""
    done = subprocess.run([sys.executable, __file__, row.key], capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.stderr.strip().splitlines()[-1])
    return int(done.stdout) / 2**20


def import_time(runs: int) -> float:
    """Milliseconds that importing cenote takes after NumPy, with bytecode, which the first run makes."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-X", f"pycache_prefix={cache}", "-c", IMPORT]
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        done = [subprocess.run(command, env=kept, capture_output=True, text=True, check=True) for _ in range(runs + 1)]
    return 1e3 * min(float(run.stdout) for run in done[1:])


def wheel_size() -> float:
    """MB of a wheel: the package's files, the compiled core, and what a wheel says of itself and of each of them."""
    package = Path(str(cn.__file__)).parent
    files = {
        f"cenote/{path.relative_to(package).as_posix()}": path.read_bytes()
        for path in package.rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".so")
    }
    core = Path(_core.__file__)
    files[f"cenote/{core.name}"] = core.read_bytes()
    about = distribution("cenote")
    for name in ("METADATA", "licenses/LICENSE", "WHEEL", "entry_points.txt"):
        files[f"cenote.dist-info/{name}"] = (about.read_text(name) or "").encode()
    record = [
        f"{name},sha256={urlsafe_b64encode(sha256(data).digest()).decode()},{len(data)}" for name, data in files.items()
    ]
    files["cenote.dist-info/RECORD"] = "\n".join(record).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)
    return len(packed.getvalue()) / 1e6


if __name__ == "__main__":
    (chosen,) = [row for row in rows() if row.key == sys.argv[1]]
    print(extra(chosen))
