#!/usr/bin/env python3
"""Turns the MATLAB files of Facebook100 and LINKX into the NumPy zips that gnarl reads.

    python scripts/mat_to_npz.py facebook100 Penn94.mat penn94.npz
    python scripts/mat_to_npz.py linkx genius.mat genius.npz
    python scripts/mat_to_npz.py linkx deezer-europe.mat deezer-europe.npz --splits deezer-europe-splits.npy

Needs NumPy and SciPy. The files are published with Lim et al., "Large Scale Learning on Non-Homophilous Graphs"
(2021), in the repository CUAI/Non-Homophily-Large-Scale under data/.

What is read: `A` and `local_info` (facebook100); `edge_index` or `A`, `label`, and `node_feat` or `features` (linkx).
What is written is described in crates/gnarl-data/src/linkx.rs: `edge_index`, `local_info` or `label`,
`node_feat` where features are dense and CSR `attr_*` where they are sparse, and with --splits `train_idx`, `val_idx`
and `test_idx`, one row per run. A splits file is a pickle, which can run code: give only one that you trust.
"""

import argparse

import numpy as np
import scipy.io
import scipy.sparse


def edge_index(mat):
    """The arcs as two rows of node ids."""
    if "edge_index" in mat:
        return np.asarray(mat["edge_index"], dtype=np.int64)
    return np.vstack(scipy.sparse.coo_matrix(mat["A"]).nonzero()).astype(np.int64)


def facebook100(mat):
    return {"edge_index": edge_index(mat), "local_info": np.asarray(mat["local_info"], dtype=np.int64)}


def linkx(mat):
    arrays = {"edge_index": edge_index(mat), "label": np.asarray(mat["label"]).ravel().astype(np.int64)}
    features = mat["node_feat"] if "node_feat" in mat else mat.get("features")
    if features is None:
        return arrays
    if not scipy.sparse.issparse(features):
        arrays["node_feat"] = np.asarray(features, dtype=np.float32)
        return arrays
    csr = scipy.sparse.csr_matrix(features)
    csr.sum_duplicates()
    arrays["attr_data"] = csr.data.astype(np.float32)
    arrays["attr_indices"] = csr.indices
    arrays["attr_indptr"] = csr.indptr
    arrays["attr_shape"] = np.array(csr.shape, dtype=np.int64)
    return arrays


def splits(path):
    """LINKX's list of dictionaries as three matrices, a row per run."""
    runs = np.load(path, allow_pickle=True)
    parts = {"train_idx": "train", "val_idx": "valid", "test_idx": "test"}
    return {name: np.stack([np.asarray(run[key], dtype=np.int64) for run in runs]) for name, key in parts.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["facebook100", "linkx"])
    parser.add_argument("mat", help="the MATLAB file to read")
    parser.add_argument("npz", help="the NumPy zip to write")
    parser.add_argument("--splits", help="LINKX's .npy file of splits")
    args = parser.parse_args()

    mat = scipy.io.loadmat(args.mat)
    arrays = facebook100(mat) if args.kind == "facebook100" else linkx(mat)
    if args.splits:
        arrays.update(splits(args.splits))
    np.savez_compressed(args.npz, **arrays)
    for name, array in arrays.items():
        print(f"{name}: {array.dtype} {array.shape}")


if __name__ == "__main__":
    main()
