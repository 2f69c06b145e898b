"""Votes of a GCN over noisy copies of binary features, as the published code of sparse smoothing goes about it (Bojchevski et al. 2020): copies of
the graph are drawn and evaluated in batches, every copy as one more block of a large sparse matrix, ones and additions merged by sorting.

The published code runs on CUDA and an extension that merges indices; here the same steps run on the processor with what PyTorch and PyTorch Geometric bring.
Prints seconds for a sample. Arguments: the npz of Cora-ML, samples, samples of a batch, threads.
"""

import sys
import time

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.nn import GCNConv
from torch_geometric.utils import coalesce, to_undirected

P_PLUS, P_MINUS, HIDDEN = 0.01, 0.6, 64


def load(file):
    with np.load(file, allow_pickle=True) as data:
        part = lambda name: sp.csr_matrix(
            (data[f"{name}_data"], data[f"{name}_indices"], data[f"{name}_indptr"]), shape=data[f"{name}_shape"]
        )
        adjacency, features = part("adj"), part("attr")
    _, component = sp.csgraph.connected_components(adjacency, directed=False)
    kept = np.flatnonzero(component == np.bincount(component).argmax())
    adjacency, features = adjacency[kept][:, kept].tocoo(), features[kept].tocoo()
    edges = to_undirected(torch.tensor(np.stack([adjacency.row, adjacency.col]), dtype=torch.long))
    ones = torch.tensor(np.stack([features.row, features.col]), dtype=torch.long)
    return edges, ones, features.shape


def noisy_copies(ones, nodes, columns, copies):
    """Indices of the ones of so many noisy copies, one below the other."""
    shift = torch.arange(copies).repeat_interleave(ones.shape[1]) * nodes
    there = torch.stack([ones[0].repeat(copies) + shift, ones[1].repeat(copies)])
    stays = torch.bernoulli(torch.full((there.shape[1],), 1.0 - P_MINUS))
    cells = copies * nodes * columns
    drawn = torch.randint(cells, (np.random.binomial(cells, P_PLUS),))
    added = torch.stack([drawn // columns, drawn % columns])
    # A one that went is not added again: of doubles the least counts.
    index, value = coalesce(
        torch.cat([there, added], 1), torch.cat([stays, torch.ones(added.shape[1])]), copies * nodes, reduce="min"
    )
    return index[:, value > 0]


def main():
    file, samples, batch, threads = sys.argv[1], *map(int, sys.argv[2:5])
    torch.set_num_threads(threads)
    edges, ones, (nodes, columns) = load(file)
    classes = 7
    weight = torch.randn(columns, HIDDEN) * 0.1
    first, second = GCNConv(HIDDEN, HIDDEN, bias=False), GCNConv(HIDDEN, classes)
    first.lin.weight.data = torch.eye(HIDDEN)
    votes = torch.zeros(nodes, classes, dtype=torch.long)
    with torch.no_grad():
        start = time.perf_counter()
        for _ in range(samples // batch):
            index = noisy_copies(ones, nodes, columns, batch)
            shift = torch.arange(batch).repeat_interleave(edges.shape[1]) * nodes
            blocks = edges.repeat(1, batch) + shift
            x = torch.sparse_coo_tensor(index, torch.ones(index.shape[1]), (batch * nodes, columns), is_coalesced=True)
            hidden = first(torch.sparse.mm(x, weight), blocks).relu()
            said = second(hidden, blocks).argmax(1)
            votes += torch.nn.functional.one_hot(said, classes).reshape(batch, nodes, classes).sum(0)
        print((time.perf_counter() - start) / (samples // batch * batch))


main()
