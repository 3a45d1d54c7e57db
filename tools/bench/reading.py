"""The read job: megabytes of data text a second."""

from __future__ import annotations

import statistics
import subprocess
import time
from typing import Any

from tools.bench import datasets
from tools.bench.measure import environment, measure
from tools.bench.report import aligned

FILES = ("a9a", "letter.scale", "madelon", "reuters-money-fx", "mnist.scale")
EXPLANATION = """\
libsvmx: libsvmx.io.svmlight.read_data; scikit-learn: load_svmlight_file; each in a process of its own, the call alone.
LIBSVM's reader in C cannot be called from outside. `svm-train -c 0 FILE` reads FILE, then refuses C = 0 before it
trains: the time of that whole command is the time of reading, with about a millisecond to start a process in C."""
TIMEOUT_SECONDS = 600


def run(options) -> list[dict[str, Any]]:
    print(EXPLANATION)
    if options.svm_train is None:
        print("LIBSVM's reader: NOT RUN: it needs --svm-train PATH")
    readers = ["libsvmx", "scikit-learn", *(["LIBSVM"] if options.svm_train else [])]
    rows, records = [("MB/s, median", "MB", *readers)], []
    for name in FILES:
        source = datasets.find(options.data, name)
        if source is None:
            print(f"{name}: NOT RUN: it is not in {options.data}")
            continue
        path = datasets.plain_text(source, options.cache)
        size = path.stat().st_size / 1e6
        path.read_bytes()  # everyone finds it in the page cache
        times: dict[str, list[float]] = {reader: [] for reader in readers}
        for _ in range(options.repeat):
            for reader in readers:
                result = c_reader(options.svm_train, path) if reader == "LIBSVM" else python_reader(reader, path)
                if "cannot" in result:
                    print(f"{name}, {reader}: NOT RUN: {result['cannot']}")
                else:
                    times[reader].append(result["seconds"])
        rates = [f"{size / statistics.median(found):.0f}" if found else "-" for found in times.values()]
        rows.append((name, f"{size:.1f}", *rates))
        records.append({"file": name, "bytes": path.stat().st_size, "seconds": times})
    print("\n".join(aligned(rows)))
    return records


def python_reader(reader, path) -> dict[str, Any]:
    return measure({"task": "read", "reader": reader, "path": str(path)}, 1, TIMEOUT_SECONDS)


def c_reader(svm_train, path) -> dict[str, Any]:
    start = time.perf_counter()
    done = subprocess.run([svm_train, "-c", "0", path], capture_output=True, text=True, env=environment(1))
    seconds = time.perf_counter() - start
    if "C <= 0" not in done.stderr:
        return {"cannot": f"svm-train said {done.stderr.strip()[:80]!r}, not that C <= 0"}
    return {"seconds": seconds}
