"""PyTorch Geometric's GCN on the literature's attacked graphs of Cora, to tell what a published figure owes to the graph and what to
the code that trained on it.

    bench/.venv-pyg/bin/python bench/literature_side.py DATA_DIR [SEEDS]

16 units, features as loaded, dropout 0.5, Adam at 0.01 with a decay of 5e-4, 200 epochs, the weights of the best validation accuracy (ties by the
loss). The environment is the one that bench/pyg.sh makes. Beside it: gnarl train --data cora-metattack-0.2 --model gcn --hidden 16
--features as-loaded --runs 10.
"""

import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from scipy.sparse.csgraph import connected_components
from torch_geometric.nn import GCNConv


def sparse(archive, name):
    parts = (archive[f"{name}_data"], archive[f"{name}_indices"], archive[f"{name}_indptr"])
    return sp.csr_matrix(parts, shape=tuple(archive[f"{name}_shape"]))


def load(folder):
    with np.load(folder / "cora.npz", allow_pickle=True) as archive:
        adjacency, features, labels = sparse(archive, "adj"), sparse(archive, "attr"), archive["labels"]
    adjacency = adjacency.maximum(adjacency.T)
    adjacency.setdiag(0)
    adjacency.eliminate_zeros()
    _, component = connected_components(adjacency)
    kept = np.flatnonzero(component == np.bincount(component).argmax())
    split = json.loads((folder / "cora_prognn_splits.json").read_text())
    return adjacency[kept][:, kept].tocsr(), features[kept], labels[kept], split


class Network(torch.nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.first, self.second = GCNConv(inputs, 16), GCNConv(16, classes)

    def forward(self, x, edges):
        x = F.dropout(F.relu(self.first(x, edges)), 0.5, self.training)
        return self.second(x, edges)


def accuracy(answers, labels, nodes):
    return (answers[nodes].argmax(1) == labels[nodes]).double().mean().item() * 100


def train(x, edges, labels, split, seed):
    torch.manual_seed(seed)
    network = Network(x.shape[1], int(labels.max()) + 1)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)
    best, kept = (-1.0, 0.0), 0.0
    for _ in range(200):
        network.train()
        optimizer.zero_grad()
        F.cross_entropy(network(x, edges)[split["idx_train"]], labels[split["idx_train"]]).backward()
        optimizer.step()
        network.eval()
        with torch.no_grad():
            answers = network(x, edges)
        loss = F.cross_entropy(answers[split["idx_val"]], labels[split["idx_val"]]).item()
        here = (accuracy(answers, labels, split["idx_val"]), -loss)
        if here > best:
            best, kept = here, accuracy(answers, labels, split["idx_test"])
    return kept


def main():
    folder = Path(sys.argv[1]) / "attacked"
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    torch.set_num_threads(2)
    clean, features, labels, split = load(folder)
    x, labels = torch.tensor(features.toarray(), dtype=torch.float32), torch.tensor(labels, dtype=torch.long)
    for rate in ["0", "0.05", "0.1", "0.15", "0.2", "0.25"]:
        graph = clean if rate == "0" else sp.load_npz(folder / f"cora_meta_adj_{rate}.npz").tocsr()
        edges = torch.tensor(np.vstack(graph.tocoo().coords), dtype=torch.long)
        found = np.array([train(x, edges, labels, split, seed) for seed in range(seeds)])
        print(f"{rate}: {found.mean():.1f} ± {found.std(ddof=1) if seeds > 1 else 0.0:.1f}", flush=True)


main()
