"""PyTorch Geometric's PRBCD and gnarl's, in turn. Called by bench/attack.sh."""

import json
import subprocess
import sys
import time

import numpy as np
import torch
from torch_geometric.contrib.nn import PRBCDAttack
from torch_geometric.nn import GCNConv
from torch_geometric.utils import to_undirected

BUDGET = 0.05
BLOCK = 250_000


def largest_component(n, edges):
    parent = list(range(n))

    def find(u):
        while parent[u] != u:
            parent[u] = parent[parent[u]]
            u = parent[u]
        return u

    for u, v in edges:
        parent[find(u)] = find(v)
    roots = np.array([find(u) for u in range(n)])
    values, counts = np.unique(roots, return_counts=True)
    return np.flatnonzero(roots == values[counts.argmax()])


def cora(folder):
    """The component, its features and classes, and the published split."""
    with np.load(f"{folder}/attacked/cora.npz") as f:
        n = int(f["adj_shape"][0])
        rows = np.repeat(np.arange(n), np.diff(f["adj_indptr"]))
        pairs = {(min(u, v), max(u, v)) for u, v in zip(rows.tolist(), f["adj_indices"].tolist()) if u != v}
        x = np.zeros(tuple(f["attr_shape"]), dtype=np.float32)
        x[np.repeat(np.arange(n), np.diff(f["attr_indptr"])), f["attr_indices"]] = f["attr_data"]
        y = f["labels"]
    keep = largest_component(n, pairs)
    new = {int(u): i for i, u in enumerate(keep)}
    edges = torch.tensor([[new[u], new[v]] for u, v in sorted(pairs) if u in new and v in new]).t()
    with open(f"{folder}/attacked/cora_prognn_splits.json") as f:
        split = json.load(f)
    parts = [torch.tensor(split[name]) for name in ("idx_train", "idx_val", "idx_test")]
    return torch.tensor(x[keep]), to_undirected(edges), torch.tensor(y[keep]).long(), parts, edges.shape[1]


class Gcn(torch.nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.first, self.second = GCNConv(features, 16), GCNConv(16, classes)

    def forward(self, x, edge_index, edge_weight=None):
        h = torch.relu(self.first(x, edge_index, edge_weight))
        return self.second(torch.dropout(h, 0.5, self.training), edge_index, edge_weight)


def theirs(data, seed):
    x, edge_index, y, (train, val, test), num_edges = data
    torch.manual_seed(seed)
    model = Gcn(x.shape[1], int(y.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best, state = 0.0, None
    for _ in range(200):
        model.train()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x, edge_index)[train], y[train]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            right = float((model(x, edge_index)[val].argmax(1) == y[val]).float().mean())
        if right >= best:
            best, state = right, {k: v.clone() for k, v in model.state_dict().items()}
    model.load_state_dict(state)
    model.eval()
    start = time.perf_counter()
    attack = PRBCDAttack(model, block_size=BLOCK, loss="tanh_margin", log=False)
    attacked, _ = attack.attack(x, edge_index, y, budget=int(BUDGET * num_edges), idx_attack=test)
    seconds = time.perf_counter() - start
    with torch.no_grad():
        accuracy = lambda edges: 100 * float((model(x, edges)[test].argmax(1) == y[test]).float().mean())
        return {"clean": accuracy(edge_index), "attacked": accuracy(attacked), "seconds": seconds}


def ours(binary, folder, seed):
    args = ["attack", "--data", "cora-metattack-0", "--model", "gcn", "--hidden", "16", "--features", "as-loaded",
            "--attack", "prbcd", "--budget", str(BUDGET), "--block-size", str(BLOCK), "--seed", str(seed),
            "--data-dir", folder, "--json"]
    report = json.loads(subprocess.run([binary, *args], check=True, capture_output=True).stdout)
    return {"clean": report["clean_accuracy"]["mean"], "attacked": report["attacked_accuracy"]["mean"],
            "seconds": report["attack_seconds"]}


def main(folder, runs, out, binary):
    torch.set_num_threads(2)
    data = cora(folder)
    found = {"gnarl": [], "pyg": []}
    for seed in range(int(runs)):
        found["gnarl"].append(ours(binary, folder, seed))
        found["pyg"].append(theirs(data, seed))
    mean = lambda rows, key: sum(row[key] for row in rows) / len(rows)
    print(f"{'':8}{'clean':>8}{'attacked':>10}{'seconds':>10}")
    for name, rows in found.items():
        print(f"{name:8}{mean(rows, 'clean'):8.2f}{mean(rows, 'attacked'):10.2f}{mean(rows, 'seconds'):10.2f}")
    ratio = mean(found["pyg"], "seconds") / mean(found["gnarl"], "seconds")
    print(f"gnarl is {ratio:.1f} times as fast")
    with open(out, "w") as f:
        json.dump({"runs": found, "ratio": ratio}, f, indent=1)


main(*sys.argv[1:])
