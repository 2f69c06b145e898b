"""What SciPy and NumPy find in archives that gnarl wrote: `crates/gnarl-data/tests/golden/written.json`, which loader_scipy.rs reads.

    pip install numpy scipy && python tests/golden/make_written.py

The archives beside it were written by `gnarl attack --data karate --model gcn --attack random-flips --budget 0.2 --write attacked.npz` and, of four nodes
with weights and features, by `gnarl data convert FOLDER weighted.npz`. The test writes them again from what is found here and compares bytes.
"""

import json
from pathlib import Path

import numpy as np
import scipy
import scipy.sparse as sp

here = Path(__file__).parents[2] / "crates/gnarl-data/tests/golden"


def found(path: Path) -> dict:
    adjacency = sp.load_npz(path)
    assert adjacency.format == "csr" and adjacency.has_canonical_format and (adjacency != adjacency.T).nnz == 0
    upper = sp.triu(adjacency).tocoo()
    edges = sorted(zip(upper.row.tolist(), upper.col.tolist(), upper.data.tolist()))
    arrays = np.load(path)
    if "attr_matrix" in arrays:
        features, kind = arrays["attr_matrix"], "dense"
    else:
        parts = arrays["attr_data"], arrays["attr_indices"], arrays["attr_indptr"]
        features, kind = sp.csr_matrix(parts, shape=arrays["attr_shape"]).toarray(), "sparse"
    return {
        "file": path.name,
        "nodes": adjacency.shape[0],
        "edges": edges,
        "kind": kind,
        "columns": features.shape[1],
        "features": features.flatten().astype(float).tolist(),
    }


def main() -> None:
    records = [found(path) for path in sorted((here / "written").glob("*.npz"))]
    head = {"made_by": "tests/golden/make_written.py", "versions": {"numpy": np.__version__, "scipy": scipy.__version__}}
    lines = ",\n  ".join(json.dumps(record, separators=(",", ":")) for record in records)
    (here / "written.json").write_text(json.dumps(head)[:-1] + f', "archives": [\n  {lines}\n]}}\n')


if __name__ == "__main__":
    main()
