"""Small tables by columns, written by pyarrow: what `crates/gnarl-data/tests/columnar.rs` reads.

    pip install pyarrow numpy && python tests/golden/make_columnar.py
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet

here = Path(__file__).parents[2] / "crates/gnarl-data/tests/golden/columnar"


def main() -> None:
    names = ["ada", "bob", "çelik", "dan", "eve"]
    pairs = [(0, 1), (1, 2), (2, 2), (4, 0), (1, 0), (3, 4)]
    named = here / "named"
    named.mkdir(parents=True, exist_ok=True)
    edges = pa.table(
        {
            "since": pa.array([1999, 2001, 2002, None, 2004, 2005], pa.int16()),
            "source": pa.array([names[u] for u, _ in pairs]).dictionary_encode(),
            "target": pa.array([names[v] for _, v in pairs], pa.large_string()),
            "weight": pa.array([0.5, 2, 1, 3, 7, 1], pa.float32()),
        }
    )
    # Several row groups, compressed in the ways that are met most.
    parquet.write_table(edges, named / "edges.parquet", row_group_size=2, compression="zstd")
    labels = pa.table({"node": names, "class": ["cat", "dog", None, "dog", "cat"]})
    parquet.write_table(labels, named / "labels.parquet", compression="snappy")
    numbers = np.arange(15, dtype=np.float64).reshape(5, 3) / 4
    features = pa.table({"node": names[::-1], **{f"x{c}": numbers[::-1, c] for c in range(3)}})
    feather.write_feather(features, str(named / "features.arrow"), compression="uncompressed")

    numbered = here / "numbered"
    numbered.mkdir(exist_ok=True)
    ids = pa.table({"u": pa.array([0, 3, 1, 2], pa.uint32()), "v": pa.array([1, 2, 2, 2], pa.int64())})
    parquet.write_table(ids, numbered / "edges.parquet", compression="gzip")

    broken = here / "broken"
    broken.mkdir(exist_ok=True)
    holes = pa.table({"u": pa.array([0, None], pa.int64()), "v": pa.array([1, 2], pa.int64())})
    parquet.write_table(holes, broken / "hole.parquet")
    parquet.write_table(pa.table({"u": [1, 2]}), broken / "one.parquet")
    negative = pa.table({"u": [0, -1], "v": [1, 2]})
    parquet.write_table(negative, broken / "negative.parquet")


if __name__ == "__main__":
    main()
