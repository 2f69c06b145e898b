"""PyTorch Geometric's side of bench/graphs.sh, and the comparison.

    graphs_side.py measure DATA_DIR DATASET MODEL                    one JSON line: every form's median epoch, peak memory
    graphs_side.py compare DATA_DIR ROUNDS OUT.json GNARL_BINARY     both tools in turn, the table of ratios

Forms: `loader` is a DataLoader over graphs in memory, without worker processes, which makes new batches every epoch as gnarl
does; `precollated` makes its batches once before the clock starts and takes them in another order every epoch, which is less
than was asked for. The ratio is given to both.
"""

import json
import os
import platform
import sys
import time

from pyg_side import run

DATASETS = os.environ.get("DATASETS", "proteins").split(",")
MODELS = os.environ.get("MODELS", "gcn").split(",")
HIDDEN, DROPOUT, BATCH, TRAIN_SHARE = 32, 0.5, 256, 0.8
SECONDS, MIN_EPOCHS, MAX_EPOCHS = float(os.environ.get("MEASURE_SECONDS", "12")), 5, 100
FOLDERS = {"mutag": "MUTAG", "proteins": "PROTEINS", "nci1": "NCI1", "dd": "DD"}


def load(data_dir, name):
    """The training share of a TU set, drawn at random, as PyTorch Geometric's graphs with one-hot node labels."""
    import numpy as np
    import torch
    from torch_geometric.data import Data

    folder = FOLDERS[name]
    read = lambda part: np.loadtxt(f"{data_dir}/tu/{folder}/{folder}_{part}.txt", delimiter=",", dtype=np.int64)
    arcs, graph_of = read("A") - 1, read("graph_indicator") - 1
    classes = np.unique(read("graph_labels"), return_inverse=True)[1]
    labels = np.unique(read("node_labels"), return_inverse=True)[1]
    x = np.eye(labels.max() + 1, dtype=np.float32)[labels]
    first = np.searchsorted(graph_of, np.arange(len(classes) + 1))
    arcs = arcs[np.argsort(graph_of[arcs[:, 0]], kind="stable")]
    first_arc = np.searchsorted(graph_of[arcs[:, 0]], np.arange(len(classes) + 1))
    graphs = []
    for g in np.random.default_rng(0).permutation(len(classes))[: round(TRAIN_SHARE * len(classes))]:
        edges = torch.tensor(arcs[first_arc[g] : first_arc[g + 1]].T - first[g]).contiguous()
        features = torch.tensor(x[first[g] : first[g + 1]])
        graphs.append(Data(x=features, edge_index=edges, y=torch.tensor([classes[g]])))
    return graphs, int(classes.max()) + 1


def network(model, in_dim, num_classes):
    import torch.nn as nn
    import torch.nn.functional as F
    from torch_geometric.nn import GCNConv, GINConv, global_mean_pool

    mlp = lambda a: nn.Sequential(nn.Linear(a, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN))
    layer = (lambda a: GCNConv(a, HIDDEN)) if model == "gcn" else (lambda a: GINConv(mlp(a)))

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.head = layer(in_dim), layer(HIDDEN), nn.Linear(HIDDEN, num_classes)

        def forward(self, batch):
            h = F.relu(self.first(batch.x, batch.edge_index))
            h = F.relu(self.second(h, batch.edge_index))
            h = global_mean_pool(h, batch.batch, batch.num_graphs)
            return self.head(F.dropout(h, DROPOUT, training=self.training))

    return Classifier()


def epoch_ms(model, batches_of_epoch, in_dim, num_classes):
    """Median milliseconds of an epoch: batches, forward, backward and Adam's steps, after two epochs to warm up."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    net = network(model, in_dim, num_classes)
    adam = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
    times, begun = [], time.perf_counter()
    while len(times) < MAX_EPOCHS and (len(times) < MIN_EPOCHS or time.perf_counter() - begun < SECONDS):
        start = time.perf_counter()
        for batch in batches_of_epoch():
            adam.zero_grad()
            loss = F.cross_entropy(net(batch), batch.y)
            loss.backward()
            adam.step()
            float(loss)
        times.append((time.perf_counter() - start) * 1e3)
    times = sorted(times[2:])
    return times[len(times) // 2]


def measure(data_dir, name, model):
    import random
    import resource

    import torch
    from torch_geometric.loader import DataLoader

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    graphs, num_classes = load(data_dir, name)
    loader = DataLoader(graphs, batch_size=BATCH, shuffle=True, num_workers=0)
    kept = list(loader)
    forms = {
        "loader": epoch_ms(model, lambda: loader, graphs[0].x.shape[1], num_classes),
        "precollated": epoch_ms(model, lambda: random.sample(kept, len(kept)), graphs[0].x.shape[1], num_classes),
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"forms": forms, "graphs": len(graphs), "peak_bytes": peak}))


def compare(data_dir, rounds, out_file, gnarl):
    median = lambda values: sorted(values)[len(values) // 2]
    rows = []
    for name in DATASETS:
        for model in MODELS:
            ours, theirs, our_peak, their_peak = [], {"loader": [], "precollated": []}, 0, 0
            for _ in range(rounds):
                found, peak = run([sys.executable, __file__, "measure", data_dir, name, model])
                their_peak = max(their_peak, peak)
                for form, ms in found["forms"].items():
                    theirs[form].append(ms)
                command = [gnarl, "bench", "epoch", "--data", name, "--model", model, "--json", "--threads", "2"]
                options = ["--hidden", str(HIDDEN), "--batch-size", str(BATCH), "--epochs", "100"]
                found, peak = run([*command, *options, "--data-dir", data_dir])
                ours.append(found["epoch_ms"])
                our_peak = max(our_peak, peak)
            row = {
                "dataset": name, "model": model, "graphs": found["train_size"], "gnarl_ms": median(ours),
                "pyg_loader_ms": median(theirs["loader"]), "pyg_precollated_ms": median(theirs["precollated"]),
                "pyg_peak_bytes": their_peak, "gnarl_peak_bytes": our_peak,
            }
            row["ratio"] = row["pyg_loader_ms"] / row["gnarl_ms"]
            row["ratio_precollated"] = row["pyg_precollated_ms"] / row["gnarl_ms"]
            rows.append(row)
            print(
                f"{name:9} {model:4} PyG {row['pyg_loader_ms']:8.2f} ms, precollated {row['pyg_precollated_ms']:8.2f} ms"
                f"  gnarl {row['gnarl_ms']:8.3f} ms  ratio {row['ratio']:5.1f}, {row['ratio_precollated']:5.1f}"
                f"  memory {their_peak / 2**20:.0f} and {our_peak / 2**20:.0f} MiB",
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
