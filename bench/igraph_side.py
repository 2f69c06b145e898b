"""igraph's side of bench/igraph.sh, and the table of both.

    igraph_side.py measure DIR               measures once, prints one JSON object
    igraph_side.py compare DIR ROUNDS OUT    reads every round of both tools, prints the ratios, writes OUT
"""

import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path

import igraph
import numpy as np

NUM_NODES = 1_000_000


def timed(work):
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def measure(folder):
    seconds = {}
    graph, seconds["load from text"] = timed(lambda: igraph.Graph.Read_Edgelist(str(folder / "edges.txt"), directed=False))
    assert graph.vcount() == NUM_NODES
    del graph
    # The layout that igraph copies without going through Python objects.
    edges = np.fromfile(folder / "edges.u32", dtype="<u4").reshape(-1, 2).astype(np.int64)
    graph, seconds["load from array"] = timed(lambda: igraph.Graph(n=NUM_NODES, edges=edges))
    del edges
    degree, seconds["degree"] = timed(graph.degree)
    core, seconds["core numbers"] = timed(graph.coreness)
    scores, seconds["PageRank"] = timed(graph.pagerank)
    np.asarray(scores, dtype="<f8").tofile(folder / "igraph.pagerank")
    check = {
        "nodes": graph.vcount(),
        "edges": graph.ecount(),
        "sum of squared degrees": float(np.square(degree, dtype=float).sum()),
        "sum of core numbers": int(np.sum(core)),
    }
    print(json.dumps({"seconds": seconds, "check": check}))


def compare(folder, rounds, out):
    runs = {
        tool: [json.loads((folder / f"{tool}.{i}.json").read_text()) for i in range(1, rounds + 1)]
        for tool in ("igraph", "gnarl")
    }
    checks = [run["check"] for tool in runs.values() for run in tool]
    if any(check != checks[0] for check in checks):
        sys.exit(f"the tools disagree on the graph: {checks}")
    scores = [np.fromfile(folder / f"{tool}.pagerank", dtype="<f8") for tool in ("igraph", "gnarl")]
    difference = float(np.abs(scores[0] - scores[1]).max())
    if difference > 1e-9:
        sys.exit(f"the tools disagree on PageRank by {difference}")

    rows = []
    for what in runs["gnarl"][0]["seconds"]:
        times = {tool: [run["seconds"][what] for run in of] for tool, of in runs.items()}
        medians = {tool: statistics.median(of) for tool, of in times.items()}
        rows.append({"what": what, **medians, "ratio": medians["igraph"] / medians["gnarl"], "runs": times})
    memory = runs["gnarl"][-1]["extra memory"]
    machine = {"processor": processor(), "cores": os.cpu_count(), "threads": int(os.environ["RAYON_NUM_THREADS"])}
    report = {
        "machine": machine,
        "igraph": igraph.__version__,
        "rounds": rounds,
        "graph": checks[0],
        "rows": rows,
        "pagerank_largest_difference": difference,
        "extra_memory": memory,
        "adjacency_bytes": runs["gnarl"][-1]["adjacency bytes"],
    }
    Path(out).write_text(json.dumps(report, indent=1) + "\n")

    print(f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} threads, python-igraph {igraph.__version__}")
    print(f"medians of {rounds} alternating rounds; ratio = igraph / gnarl, above 1 gnarl is faster\n")
    print("| step | igraph, s | gnarl, s | ratio |\n| --- | ---: | ---: | ---: |")
    for row in rows:
        print(f"| {row['what']} | {row['igraph']:.4f} | {row['gnarl']:.4f} | {row['ratio']:.1f} |")
    print(f"\nlargest difference between the PageRanks: {difference:.1e}")
    shares = ", ".join(f"{what} {share:.2f}" for what, share in memory.items())
    print(f"gnarl's peak extra memory, as a share of the adjacency's {report['adjacency_bytes'] / 1e6:.0f} MB: {shares}")


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if sys.argv[1] == "measure":
    measure(Path(sys.argv[2]))
else:
    compare(Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
