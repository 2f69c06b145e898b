#!/usr/bin/env python3
"""Small files of every format as first inputs, into fuzz/corpus/TARGET/, which git ignores.

Nothing but Python's library is needed. With a program in GNARL (or target/debug/gnarl) there are seeds of saved models and checkpoints, with
GNARL_DATA those of Planetoid's pickles; without, those targets start from less.
"""

import collections
import io
import os
import pathlib
import pickle
import shutil
import struct
import subprocess
import tempfile
import zipfile

FUZZ = pathlib.Path(__file__).resolve().parent


def seed(target, name, content):
    folder = FUZZ / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed-{name}").write_bytes(content if isinstance(content, bytes) else content.encode())


def npy(values, shape, kind):
    """An array as NumPy stores it."""
    codes = {"<i4": "i", "<i8": "q", "<f4": "f", "<f8": "d", "|b1": "?", "|u1": "B"}
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 16) + "\n"
    data = struct.pack(f"<{len(values)}{codes[kind]}", *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def npz(members, packed=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packed) as archive:
        for name, array in members.items():
            archive.writestr(f"{name}.npy", npy(*array))
    return out.getvalue()


# A path of three nodes and back.
INDPTR, INDICES = ([0, 1, 3, 4], "(4,)", "<i4"), ([1, 0, 2, 1], "(4,)", "<i4")
ONES = ([1.0] * 4, "(4,)", "<f4")


def archives():
    graph = {"adj_data": ONES, "adj_indices": INDICES, "adj_indptr": INDPTR, "adj_shape": ([3, 3], "(2,)", "<i8")}
    sparse = {"attr_data": ONES, "attr_indices": INDICES, "attr_indptr": INDPTR, "attr_shape": ([3, 3], "(2,)", "<i8")}
    dense = {"attr_matrix": ([0.0, 1.0, 2.0, 0.5, 0.0, 1.0], "(3, 2)", "<f8")}
    labels = {"labels": ([0, 1, 1], "(3,)", "<i8"), "train_mask": ([1, 0, 1], "(3,)", "|b1")}
    for packed, name in [(zipfile.ZIP_STORED, "stored"), (zipfile.ZIP_DEFLATED, "packed")]:
        for features, kind in [(sparse, "sparse"), (dense, "dense")]:
            seed("npz", f"{name}-{kind}", npz({**graph, **features, **labels}, packed))
        seed("geom_gcn", f"masks-{name}", npz({f"{p}_mask": ([1, 0] * 50, "(100,)", "|b1") for p in ["train", "val", "test"]}, packed))
        csr = {"indices": INDICES, "indptr": INDPTR, "format": None, "shape": ([3, 3], "(2,)", "<i8"), "data": ONES}
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", packed) as archive:
            for member, array in csr.items():
                # The name of the format is a byte string of three letters.
                text = npy(list(b"csr"), "()", "|u1").replace(b"|u1", b"|S3")
                archive.writestr(f"{member}.npy", text if array is None else npy(*array))
        seed("scipy", name, out.getvalue())
    seed("npz", "array", npy([1, 2, 3], "(3,)", "<i8"))
    edges = {"edge_index": ([0, 1, 1, 2], "(2, 2)", "<i8"), "node_feat": ([1.0, 0.0, 0.5], "(3, 1)", "<f4"), "label": ([0, 1, 0], "(3,)", "<i8")}
    seed("linkx", "edges", npz(edges))
    local = {"A_indices": INDICES, "A_indptr": INDPTR, "A_shape": ([3, 3], "(2,)", "<i8"), "local_info": ([1, 2, 0, 1, 2, 1], "(3, 2)", "<i4")}
    seed("linkx", "friends", npz(local))


def texts():
    join = "\0".join
    seed("edge_list", "named", join(["source,target,weight\nann,bob,1.5\nbob,\"c, d\",2\n", "node,a,b\nann,1,0\nbob,0,1\n\"c, d\",1,1\n", "node,class\nann,x\nbob,y\n", "node,split\nann,train\nbob,test\n"]))
    seed("edge_list", "nodes", join(["ann,bob\nbob,cyd\n", "", "", "", "id,label,split,age,town\nann,x,train,3,Rome\nbob,y,test,4,Oslo\ncyd,,,5,Bonn\n"]))
    seed("edge_list", "numbered", join(["0 1\n1 2\n2 0\n# a remark\n", "1 0 0.5\n0 1 0\n0 0 1e-3\n", "0\n1\n1\n"]))
    seed("tu", "set", join(["1, 2\n2, 1\n3, 4\n4, 3\n", "1\n1\n2\n2\n", "1\n-1\n", "0\n1\n0\n1\n", "0.5, 1\n1, 2\n0, 0\n1, 1\n", '[{"test": [0], "model_selection": [{"train": [1], "validation": []}]}]']))
    seed("geom_gcn", "nodes", "node_id\tfeature\tlabel\n0\t1,0,1\t0\n1\t0,1,0\t1\n")
    seed("geom_gcn", "edges", "node_id\tnode_id\n0\t1\n1\t2\n")
    seed("ogb", "files", join(["3\n", "2\n", "0,1\n1,2\n", "0\n1\n0\n", "2017\n2018\n2019\n", "0.5,1\n1,0\n0,0\n", "0\n", "1\n", "2\n"]))
    seed("planetoid", "index", "3\n1\n2\n")
    for protocol in [0, 2]:
        lists = collections.defaultdict(list, {0: [1, 2], 1: [0], 2: [0]})
        seed("planetoid", f"lists-{protocol}", pickle.dumps(lists, protocol))
    seed("disk", "folder", '{"version": 1, "nodes": 3, "arcs": 4}\0' + "\0")
    seed("spec", "plain", 'backbone = "gcn"\n')
    seed("spec", "full", """backbone = "gatv2"
features = "row-normalised"
augment = { kind = "dropedge", p = 0.1 }
defense = { kind = "jaccard", jaccard-threshold = 0.05 }
depth = { kind = "admp-st", max-depth = 3, policy = "centrality-degree" }
inference = { kind = "robust-crf", crf-sigma = 0.5 }
weights = { kind = "orthonormal", order = 3 }
[operator]
centrality = "core"
init = "A_hat"
[network]
hidden = 16
heads = 4
[training]
epochs = 50
schedule = "50:0.6"
fanout = "15,10"
class-weights = "1,5,2.5"
""")
    seed("outside", "answers", '{"num_classes": 2}\n{"scores": [[1, 2], [0.5, -1e3], [NaN, 0]]}\n{"scores": [[1, 2], [3, 4], [5, 6]]}\n{"error": "tired"}\n')
    seed("request", "page", "GET /0123456789abcdef/ HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n\r\n")
    seed("request", "change", 'POST /0123456789abcdef/change HTTP/1.1\r\nHost: localhost:8000\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"edges":[[0,1]]}')


def saved():
    program = os.environ.get("GNARL", FUZZ.parent / "target/debug/gnarl")
    if not shutil.which(str(program)):
        print(f"no seeds of models and checkpoints: {program} is not there; give GNARL=…")
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        kinds = {
            "gcn": [],
            "exits": ["--depth", "admp-st", "--max-depth", "2"],
            "cgso": ["--operator", "cgso", "--init", "A_hat", "--weights", "orthonormal"],
            "crf": ["--inference", "robust-crf", "--defense", "jaccard"],
        }
        for name, options in kinds.items():
            file = folder / name
            train = [program, "train", "--data", "karate", "--model", "gcn", "--hidden", "2", "--epochs", "2", "--save", file]
            subprocess.run(train + options + ["--checkpoint", folder / "journal" / name], check=True, stdout=subprocess.DEVNULL)
            seed("model_file", name, file.read_bytes())
        for file in (folder / "journal").glob("*/*.safetensors"):
            seed("journal", file.stem, file.read_bytes())
        disk = folder / "disk"
        edges = folder / "edges.csv"
        edges.write_text("0,1\n1,2\n")
        subprocess.run([program, "data", "import", edges, "--out", disk], check=True, stdout=subprocess.DEVNULL)
        description = next(disk.glob("*.json")).read_bytes()
        seed("disk", "imported", b"\0".join([description, (disk / "offsets.npy").read_bytes(), (disk / "neighbours.npy").read_bytes()]))


def real():
    data = pathlib.Path(os.environ.get("GNARL_DATA", "/nowhere")) / "planetoid"
    for name in ["ind.cora.y", "ind.cora.x"]:
        if (data / name).is_file():
            seed("planetoid", name, (data / name).read_bytes())


if __name__ == "__main__":
    archives()
    texts()
    saved()
    real()
