"""DeepRobust's Nettack and Metattack and gnarl's, in turn. Called by bench/deeprobust.sh."""

import builtins
import json
import subprocess
import sys
import tempfile
import time
import types
import warnings

import numpy as np
import scipy.sparse as sp
import torch

# Its embeddings of nodes need gensim, and its PRBCD extensions of PyTorch Geometric, which it warns of by a module that it forgot to import: nothing here has
# a use for either.
sys.modules["gensim"] = types.ModuleType("gensim")
sys.modules["gensim.models"] = types.SimpleNamespace(Word2Vec=None, KeyedVectors=None)
sys.modules["torch_scatter"] = types.SimpleNamespace(scatter_add=None)
builtins.warnings = warnings

from deeprobust.graph.defense import GCN  # noqa: E402
from deeprobust.graph.global_attack import Metattack  # noqa: E402
from deeprobust.graph.targeted_attack import Nettack  # noqa: E402

FLIPS_OF_A_TARGET = 5


def component(folder):
    """The largest component in the published order, its features and classes, the published split and targets."""
    with np.load(f"{folder}/attacked/cora.npz") as f:
        shapes = {name: tuple(f[f"{name}_shape"]) for name in ("adj", "attr")}
        parts = {name: sp.csr_matrix((f[f"{name}_data"], f[f"{name}_indices"], f[f"{name}_indptr"]), shapes[name]) for name in shapes}
        labels = f["labels"]
    adjacency = parts["adj"] + parts["adj"].T
    adjacency.data[:] = 1
    adjacency.setdiag(0)
    adjacency.eliminate_zeros()
    _, of = sp.csgraph.connected_components(adjacency)
    keep = np.flatnonzero(of == np.bincount(of).argmax())
    adjacency = adjacency[keep][:, keep].tocsr().astype(np.float32)
    with open(f"{folder}/attacked/cora_prognn_splits.json") as f:
        split = json.load(f)
    with open(f"{folder}/attacked/cora_nettacked_nodes.json") as f:
        targets = json.load(f)["attacked_test_nodes"]
    features = parts["attr"][keep].tocsr().astype(np.float32)
    return adjacency, features, labels[keep].astype(np.int64), [np.array(split[f"idx_{p}"]) for p in ("train", "val", "test")], targets


def theirs(data, targets, flips):
    """Seconds a target and a flip."""
    adjacency, features, labels, (train, val, test), _ = data
    torch.manual_seed(0)
    np.random.seed(0)
    n = adjacency.shape[0]
    surrogate = GCN(nfeat=features.shape[1], nclass=int(labels.max()) + 1, nhid=16, dropout=0, with_relu=False, with_bias=False, device="cpu")
    surrogate.fit(features, adjacency, labels, train, val, patience=30)
    start = time.perf_counter()
    for target in targets:
        attack = Nettack(surrogate, nnodes=n, attack_structure=True, attack_features=False, device="cpu")
        attack.attack(features, adjacency, labels, target, FLIPS_OF_A_TARGET, verbose=False)
    nettack = (time.perf_counter() - start) / len(targets)
    attack = Metattack(
        surrogate, nnodes=n, feature_shape=features.shape, attack_structure=True, attack_features=False, device="cpu", lambda_=0
    )
    unlabelled = np.union1d(val, test)
    start = time.perf_counter()
    attack.attack(features, adjacency, labels, train, unlabelled, flips, ll_constraint=False)
    return nettack, (time.perf_counter() - start) / flips


def ours(gnarl, folder, targets, flips, edges):
    """The same, from the reports of two commands."""

    def seconds(*args):
        common = ["--data-dir", folder, "--data", "cora-metattack-0", "--model", "gcn", "--features", "as-loaded", "--json", "--quiet"]
        done = subprocess.run([gnarl, "attack", *common, *args], check=True, capture_output=True, text=True)
        report = json.loads(done.stdout)
        return report["attack_seconds"], report["flips"]

    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(targets, file)
        file.flush()
        took, _ = seconds("--attack", "nettack", "--budget", str(FLIPS_OF_A_TARGET), "--targets", file.name)
    # Half a flip more, so that rounding down leaves as many as were asked for.
    of_all, made = seconds("--attack", "mettack", "--mode", "poisoning", "--budget", str((flips + 0.5) / edges))
    assert made == flips, (made, flips)
    return took / len(targets), of_all / flips


def main():
    folder, targets, flips, out, gnarl = sys.argv[1:]
    data = component(folder)
    targets, flips = data[-1][: int(targets)], int(flips)
    found = {"theirs": theirs(data, targets, flips), "ours": ours(gnarl, folder, targets, flips, data[0].nnz // 2)}
    rows = [("nettack, a target of five flips", 0), ("metattack, a flip", 1)]
    print(f"{'seconds':34}{'DeepRobust':>12}{'gnarl':>12}{'times':>8}")
    for name, at in rows:
        a, b = found["theirs"][at], found["ours"][at]
        print(f"{name:34}{a:12.3f}{b:12.4f}{a / b:8.0f}")
    with open(out, "w") as f:
        json.dump({"targets": len(targets), "flips": flips, **found}, f, indent=1)


if __name__ == "__main__":
    main()
