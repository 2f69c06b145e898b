"""PyTorch Geometric's side of bench/pyg.sh, and the comparison.

Beside the four datasets with 20 training nodes per class stand four where most nodes train, so that the receptive field is the whole
graph: chameleon and squirrel with their own splits (48 %), Photo and CS with 60 % (`photo-60`, `cs-60`).

    pyg_side.py measure DATA_DIR DATASET MODEL                    one JSON line: every form's median epoch, peak memory
    pyg_side.py compare DATA_DIR ROUNDS OUT.json GNARL_BINARY     both tools in turn, the table of ratios

A form is one of the ways PyTorch Geometric can be given the same network: edge index or CSR adjacency, dense or sparse
features. The fastest that works is the one compared.
"""

import json
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import time

DATASETS = os.environ.get("DATASETS", "cora,citeseer,photo,cs,chameleon,squirrel,photo-60,cs-60").split(",")
MODELS = os.environ.get("MODELS", "gcn,gatv2,gin").split(",")
HIDDEN, HEADS, DROPOUT = 64, 8, 0.5
SECONDS, MIN_EPOCHS, MAX_EPOCHS = float(os.environ.get("MEASURE_SECONDS", "12")), 5, 100


def load(data_dir, name):
    """Features (SciPy CSR), an undirected simple adjacency, classes, training rows: 20 per class, or most."""
    import numpy as np
    import scipy.sparse as sp

    if name in ("chameleon", "squirrel"):
        lines = open(f"{data_dir}/geom-gcn/{name}/out1_node_feature_label.txt").read().splitlines()[1:]
        parts = sorted((line.split("\t") for line in lines), key=lambda part: int(part[0]))
        n = len(parts)
        features = sp.csr_matrix(np.array([words.split(",") for _, words, _ in parts], dtype=np.float32))
        classes = np.array([int(label) for _, _, label in parts])
        edges = np.loadtxt(f"{data_dir}/geom-gcn/{name}/out1_graph_edges.txt", dtype=np.int64, skiprows=1)
        rows, cols = edges.T
        split = np.load(f"{data_dir}/geom-gcn/splits/{name}_split_0.6_0.2_0.npz")
        train = np.flatnonzero(split["train_mask"])
    elif name in ("cora", "citeseer"):
        def part(p):
            with open(f"{data_dir}/planetoid/ind.{name}.{p}", "rb") as f:
                return pickle.load(f, encoding="latin1")

        x, tx, allx, y, ty, ally, graph = map(part, ["x", "tx", "allx", "y", "ty", "ally", "graph"])
        test = [int(line) for line in open(f"{data_dir}/planetoid/ind.{name}.test.index")]
        n = max(max(test) + 1, len(graph))
        features = sp.lil_matrix((n, allx.shape[1]), dtype=np.float32)
        features[: allx.shape[0]] = allx
        features[test] = tx
        classes = np.zeros(n, dtype=np.int64)
        classes[: ally.shape[0]] = ally.argmax(1)
        classes[test] = ty.argmax(1)
        rows = [u for u, vs in graph.items() for _ in vs]
        cols = [v for vs in graph.values() for v in vs]
        train = np.arange(y.shape[0])
        features = sp.csr_matrix(features)
    else:
        kind, _, percent = name.partition("-")
        file = {"photo": "amazon_electronics_photo", "cs": "ms_academic_cs"}[kind]
        z = np.load(f"{data_dir}/npz/{file}.npz")
        csr = lambda k: sp.csr_matrix((z[f"{k}_data"], z[f"{k}_indices"], z[f"{k}_indptr"]), shape=z[f"{k}_shape"])
        features, adjacency = csr("attr"), csr("adj").tocoo()
        features.data[:] = 1
        classes, n = z["labels"].astype(np.int64), adjacency.shape[0]
        rows, cols = adjacency.row, adjacency.col
        train = np.concatenate([np.flatnonzero(classes == c)[:20] for c in range(classes.max() + 1)])
        if percent:
            train = np.sort(np.random.default_rng(0).permutation(n)[: n * int(percent) // 100])
    rows, cols = np.concatenate([rows, cols]), np.concatenate([cols, rows])
    keep = rows != cols
    adjacency = sp.csr_matrix((np.ones(keep.sum(), dtype=np.float32), (rows[keep], cols[keep])), shape=(n, n))
    adjacency.data[:] = 1
    return features.astype(np.float32), adjacency, classes, train


def for_gnarl(data_dir, name, folder):
    """What gnarl is given as --data: the name it knows, or the same as files, of which it takes 60 % to train on."""
    if not name.endswith("-60"):
        return name
    import scipy.sparse as sp

    features, adjacency, classes, _ = load(data_dir, name)
    place = os.path.join(folder, name)
    os.makedirs(place, exist_ok=True)
    sp.save_npz(os.path.join(place, "edges.npz"), adjacency)
    sp.save_npz(os.path.join(place, "features.npz"), features)
    with open(os.path.join(place, "labels.csv"), "w") as f:
        f.writelines(f"{label}\n" for label in classes)
    return place


def network(model, in_dim, num_classes):
    import torch.nn as nn
    from torch_geometric.nn import GATv2Conv, GCNConv, GINConv

    if model == "gcn":
        return GCNConv(in_dim, HIDDEN, cached=True), GCNConv(HIDDEN, num_classes, cached=True)
    if model == "gatv2":
        return GATv2Conv(in_dim, HIDDEN // HEADS, heads=HEADS), GATv2Conv(HIDDEN, num_classes, heads=1, concat=False)
    mlp = lambda a, b: nn.Sequential(nn.Linear(a, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, b))
    return GINConv(mlp(in_dim, HIDDEN)), GINConv(mlp(HIDDEN, num_classes))


def epoch_ms(model, x, edges, classes, train, num_classes):
    """Median milliseconds of forward, backward and Adam's step, after two epochs to warm up."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    first, second = network(model, x.shape[1], num_classes)
    parameters = [*first.parameters(), *second.parameters()]
    adam = torch.optim.Adam(parameters, lr=0.01, weight_decay=5e-4)
    times, begun = [], time.perf_counter()
    while len(times) < MAX_EPOCHS and (len(times) < MIN_EPOCHS or time.perf_counter() - begun < SECONDS):
        start = time.perf_counter()
        adam.zero_grad()
        h = F.dropout(F.relu(first(x, edges)), DROPOUT, training=True)
        loss = F.cross_entropy(second(h, edges)[train], classes[train])
        loss.backward()
        adam.step()
        float(loss)
        times.append((time.perf_counter() - start) * 1e3)
    times = sorted(times[2:])
    return times[len(times) // 2]


def measure(data_dir, name, model):
    import resource

    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    features, adjacency, classes, train = load(data_dir, name)
    coo = adjacency.tocoo()
    edge_index = torch.tensor([coo.row.tolist(), coo.col.tolist()])
    tensor = lambda m: torch.sparse_csr_tensor(
        torch.tensor(m.indptr.astype("int64")), torch.tensor(m.indices.astype("int64")), torch.tensor(m.data), m.shape
    )
    classes, train = torch.tensor(classes), torch.tensor(train)
    forms = {}
    for x_form in ("dense", "sparse"):
        x = torch.tensor(features.todense()) if x_form == "dense" else tensor(features)
        for edge_form in ("edge index", "csr"):
            edges = edge_index if edge_form == "edge index" else tensor(adjacency)
            try:
                forms[f"{edge_form}, {x_form}"] = epoch_ms(model, x, edges, classes, train, int(classes.max()) + 1)
            except Exception as error:  # not every form exists for every layer
                print(f"{name} {model} {edge_form} {x_form}: {type(error).__name__}", file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    best = min(forms, key=forms.get)
    print(json.dumps({"epoch_ms": forms[best], "form": best, "forms": forms, "peak_bytes": peak}))


def run(command):
    """The command's last line as JSON, and its peak memory."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return json.loads(out), usage.ru_maxrss * 1024


def compare(data_dir, rounds, out_file, gnarl):
    median = lambda values: sorted(values)[len(values) // 2]
    rows = []
    folder = tempfile.TemporaryDirectory()
    for name in DATASETS:
        known_as = for_gnarl(data_dir, name, folder.name)
        for model in MODELS:
            ours, theirs, dense, our_peak, their_peak, form = [], [], [], 0, 0, ""
            for _ in range(rounds):
                found, peak = run([sys.executable, __file__, "measure", data_dir, name, model])
                theirs.append(found["epoch_ms"])
                dense.append(min(ms for form, ms in found["forms"].items() if form.endswith("dense")))
                their_peak, form = max(their_peak, peak), found["form"]
                command = [gnarl, "bench", "epoch", "--data", known_as, "--model", model, "--json", "--threads", "2"]
                found, peak = run([*command, "--hidden", str(HIDDEN), "--epochs", "100", "--data-dir", data_dir])
                ours.append(found["epoch_ms"])
                our_peak = max(our_peak, peak)
            row = {
                "dataset": name, "model": model, "pyg_ms": median(theirs), "pyg_form": form, "gnarl_ms": median(ours),
                "pyg_peak_bytes": their_peak, "gnarl_peak_bytes": our_peak,
            }
            row["ratio"] = row["pyg_ms"] / row["gnarl_ms"]
            row["ratio_to_dense"] = median(dense) / row["gnarl_ms"]
            row["memory_ratio"] = their_peak / our_peak
            rows.append(row)
            print(
                f"{name:9} {model:6} PyG {row['pyg_ms']:9.2f} ms ({form})  gnarl {row['gnarl_ms']:8.3f} ms"
                f"  ratio {row['ratio']:6.1f} ({row['ratio_to_dense']:.1f} to dense features)  memory {row['memory_ratio']:5.1f}",
                flush=True,
            )
    machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count(), "rounds": rounds}
    with open(out_file + ".part", "w") as f:
        json.dump({"machine": machine, "rows": rows}, f, indent=1)
    os.replace(out_file + ".part", out_file)


if __name__ == "__main__":
    if sys.argv[1] == "measure":
        measure(*sys.argv[2:5])
    else:
        compare(sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5])
