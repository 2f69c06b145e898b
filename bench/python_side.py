"""PyTorch Geometric and gnarl on the same Data objects, in one process: accuracy, wall time, and what RobustCRF costs around a PyTorch model.

    python bench/python_side.py --data cora,citeseer,pubmed,photo --seeds 10

Both train a GCN of 64 hidden units for 200 epochs with dropout 0.5, Adam at 0.01 and a decay of 5e-4 on row-normalised features, look at the
validation nodes after every epoch and keep the best one. It needs the wheel, torch and torch_geometric; GNARL_DATA names the data folder.
"""

from __future__ import annotations

import argparse
import copy
import json
import time

import gnarl
import numpy as np
import torch
from torch_geometric.nn import GCNConv
from torch_geometric.transforms import NormalizeFeatures

EPOCHS, HIDDEN = 200, 64


class GCN(torch.nn.Module):
    def __init__(self, columns: int, classes: int) -> None:
        super().__init__()
        self.one, self.two = GCNConv(columns, HIDDEN, cached=True), GCNConv(HIDDEN, classes, cached=True)

    def forward(self, x, edge_index):
        x = torch.nn.functional.dropout(x, 0.0, self.training)
        x = torch.nn.functional.dropout(self.one(x, edge_index).relu(), 0.5, self.training)
        return self.two(x, edge_index)


def theirs(data, seed: int):
    torch.manual_seed(seed)
    model = GCN(data.num_features, int(data.y.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best, kept = (-1.0, 0.0), None
    for _ in range(EPOCHS):
        model.train()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask])
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(data.x, data.edge_index)[data.val_mask]
            accuracy = (out.argmax(1) == data.y[data.val_mask]).float().mean().item()
            found = (accuracy, -torch.nn.functional.cross_entropy(out, data.y[data.val_mask]).item())
        if found > best:
            best, kept = found, copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    model.eval()
    with torch.no_grad():
        right = model(data.x, data.edge_index).argmax(1) == data.y
    return model, right[data.test_mask].float().mean().item()


def ours(data, seed: int) -> float:
    model = gnarl.NodeClassifier("gcn", features="row-normalised", hidden=HIDDEN, epochs=EPOCHS, random_state=seed).fit(data)
    return model.score(data, mask=data.test_mask)


def side_by_side(name: str, seeds: int) -> dict:
    graph, (split, train, val, test) = gnarl.load(name).protocol(0)
    graph = graph._replace(splits=[(split, train, val, test)], registered=False)
    data = graph.to_pyg()
    normal = NormalizeFeatures()(copy.copy(data))
    theirs(normal, 0), ours(data, 0)  # warm
    times, accuracies = {}, {}
    for side, run in (("gnarl", lambda seed: ours(data, seed)), ("pyg", lambda seed: theirs(normal, seed)[1])):
        start = time.perf_counter()
        accuracies[side] = [100 * run(seed) for seed in range(seeds)]
        times[side] = time.perf_counter() - start
    both = {side: f"{np.mean(a):.2f} ± {np.std(a):.2f}" for side, a in accuracies.items()}
    return {"data": name, "seeds": seeds, "accuracy": both, "seconds": times, "ratio": times["pyg"] / times["gnarl"]}


def around(name: str) -> dict:
    """31 evaluations of RobustCRF against 31 forward passes."""
    graph, (split, train, val, test) = gnarl.load(name).protocol(0)
    graph = graph._replace(splits=[(split, train, val, test)], registered=False)
    data = NormalizeFeatures()(graph.to_pyg())
    model, _ = theirs(data, 0)
    model.one.cached = model.two.cached = False
    model.one._cached_edge_index = model.two._cached_edge_index = None
    dense = gnarl.Graph(graph, x=data.x)

    def scores(graph):
        with torch.no_grad():
            return model(torch.from_numpy(graph.x), torch.from_numpy(graph.edge_index))

    defended = gnarl.RobustCRF(samples=5, iterations=2, radius=0.1)(scores)
    plain, whole = [], []
    for _ in range(5):
        start = time.perf_counter()
        with torch.no_grad():
            for _ in range(31):
                model(data.x, data.edge_index)
        plain.append(time.perf_counter() - start)
        start = time.perf_counter()
        defended.predict_proba(dense)
        whole.append(time.perf_counter() - start)
    return {"data": name, "evaluations": 31, "plain": min(plain), "robust_crf": min(whole), "ratio": min(whole) / min(plain)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="cora,citeseer,pubmed,photo")
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    print(json.dumps(around("cora")), flush=True)
    for name in given.data.split(","):
        print(json.dumps(side_by_side(name, given.seeds)), flush=True)
