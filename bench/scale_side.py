"""DGL's side of bench/scale.sh, and the comparison.

    scale_side.py measure FOLDER [EPOCHS]             one JSON object: seconds an epoch of the loader alone and of training
    scale_side.py compare DIR ROUNDS OUT.json         the table of what both tools printed, from DIR/gnarl.N.json, DIR/loader.N.json and DIR/dgl.N.json

FOLDER is a graph that `gnarl data import` made: its arrays are read into memory. A form is a loader (dgl.dataloading or
GraphBolt) with 0, 1 or 2 processes of its own; each is tried for some steps, and the one whose training is fastest is
measured. TRY_STEPS (12) is how many steps that are; FORM (as in "graphbolt 1") measures one without trying; with STEPS, an
epoch is so many steps, and its time, the start of workers with it, is carried over to a whole one. Processor seconds of the process that trains are
given beside those of the clock: on a machine that others use they say more.
"""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time

BATCH, HIDDEN, DROPOUT, RATE = 1024, 64, 0.5, 0.01
# Both loaders take the layers' fan-outs from the input on: 15 neighbours of a training node, 10 of each of those.
FANOUT = [10, 15]
THREADS = int(os.environ.get("OMP_NUM_THREADS", "2"))
TRY_STEPS = int(os.environ.get("TRY_STEPS", "12"))
STEPS = int(os.environ.get("STEPS", str(1 << 40)))


def load(folder):
    import numpy as np
    import torch

    array = lambda name: torch.from_numpy(np.load(f"{folder}/{name}.npy"))
    splits = array("splits").reshape(-1, array("labels").shape[0])
    return {
        "offsets": array("offsets"),
        "neighbours": array("neighbours"),
        "x": array("features"),
        "labels": array("labels").long(),
        "train": (splits[0] == 1).nonzero().flatten(),
    }


def dataloading(data, workers, with_features):
    """Batches of dgl.dataloading: (blocks, features, classes)."""
    import dgl

    # Numbers of eight bytes: with those of four and all formats created, DGL 2.1.0 aborted in training (COOToCSR).
    graph = dgl.graph(("csc", (data["offsets"], data["neighbours"].long(), [])), num_nodes=len(data["labels"]))
    sampler = dgl.dataloading.NeighborSampler(FANOUT)
    more = {"persistent_workers": True} if workers else {}
    loader = dgl.dataloading.DataLoader(
        graph, data["train"], sampler, batch_size=BATCH, shuffle=True, num_workers=workers, **more
    )

    def batches():
        for inputs, outputs, blocks in loader:
            yield blocks, data["x"][inputs] if with_features else None, data["labels"][outputs]

    return batches


def graphbolt(data, workers, with_features):
    """Batches of GraphBolt."""
    import dgl.graphbolt as gb

    graph = gb.fused_csc_sampling_graph(data["offsets"], data["neighbours"].long())
    train = data["train"]
    items = gb.ItemSet((train, data["labels"][train]), names=("seed_nodes", "labels"))
    pipe = gb.ItemSampler(items, batch_size=BATCH, shuffle=True).sample_neighbor(graph, FANOUT)
    if with_features:
        store = gb.BasicFeatureStore({("node", None, "x"): gb.TorchBasedFeature(data["x"])})
        pipe = pipe.fetch_feature(store, node_feature_keys=["x"])
    loader = gb.DataLoader(pipe, num_workers=workers)

    def batches():
        for batch in loader:
            yield batch.blocks, batch.node_features["x"] if with_features else None, batch.labels

    return batches


LOADERS = {"dataloading": dataloading, "graphbolt": graphbolt}
FORMS = [(name, workers) for name in LOADERS for workers in (0, 1, 2)]


def network(in_dim, num_classes):
    import dgl.nn as dnn
    import torch.nn as nn
    import torch.nn.functional as F

    class Sage(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = dnn.SAGEConv(in_dim, HIDDEN, "mean")
            self.second = dnn.SAGEConv(HIDDEN, num_classes, "mean")

        def forward(self, blocks, x):
            x = F.dropout(F.relu(self.first(blocks[0], x)), DROPOUT, self.training)
            return self.second(blocks[1], x)

    return Sage()


def trainer(data):
    """A step of training: its loss."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    model = network(data["x"].shape[1], int(data["labels"].max()) + 1)
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)

    def step(blocks, x, classes):
        optimiser.zero_grad()
        loss = F.cross_entropy(model(blocks, x), classes)
        loss.backward()
        optimiser.step()
        return loss.item()

    return step


def tried(folder, name, workers):
    """Seconds a step of training, without the first three, in this process."""
    data = load(folder)
    step = trainer(data)
    start = None
    for i, batch in enumerate(LOADERS[name](data, workers, True)()):
        if i == 3:
            start = time.perf_counter()
        elif i == 3 + TRY_STEPS:
            break
        step(*batch)
    return (time.perf_counter() - start) / TRY_STEPS


def tried_apart(folder, name, workers):
    """The same in a process of its own, as one that aborts takes its process with it; or what it failed with."""
    run = [sys.executable, __file__, "try", folder, name, str(workers)]
    done = subprocess.run(run, capture_output=True, text=True)
    if done.returncode == 0:
        return float(done.stdout.split()[-1])
    return f"exit {done.returncode}: {done.stderr.strip()[-300:]}"


def processor_seconds():
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def epochs(batches, count, whole, step=None):
    """Seconds and processor seconds of this process in every epoch, edges drawn in the last, mean loss of the last."""
    seconds, processor = [], []
    for _ in range(count):
        drawn, steps, losses = 0, 0, []
        start, busy = time.perf_counter(), processor_seconds()
        for blocks, x, classes in batches():
            drawn += sum(block.num_edges() for block in blocks)
            if step is not None:
                losses.append(step(blocks, x, classes))
            steps += 1
            if steps == STEPS:
                break
        scale = whole / steps
        seconds.append((time.perf_counter() - start) * scale)
        processor.append((processor_seconds() - busy) * scale)
    return seconds, processor, round(drawn * scale), statistics.mean(losses) if losses else None


def measure(folder, count):
    import dgl
    import torch

    torch.set_num_threads(THREADS)
    wanted = os.environ.get("FORM")
    if wanted:
        name, workers = wanted.split()
        best, steps = (name, int(workers)), {}
    else:
        steps = {}
        for name, workers in FORMS:
            steps[f"{name} {workers}"] = tried_apart(folder, name, workers)
            print(f"{name}, {workers} workers: {steps[f'{name} {workers}']}", file=sys.stderr)
        working = [form for form in FORMS if isinstance(steps["{} {}".format(*form)], float)]
        best = min(working, key=lambda form: steps["{} {}".format(*form)])
    data = load(folder)
    make, whole = LOADERS[best[0]], -(-len(data["train"]) // BATCH)
    sampling, sampling_busy, drawn, _ = epochs(make(data, best[1], False), count, whole)
    loading, loading_busy, _, _ = epochs(make(data, best[1], True), count, whole)
    training, training_busy, _, loss = epochs(make(data, best[1], True), count, whole, trainer(data))
    median = statistics.median
    return {
        "library": "dgl",
        "version": dgl.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "threads": THREADS,
        "form": "{} {}".format(*best),
        "seconds_a_step_by_form": steps,
        "train_nodes": len(data["train"]),
        "edges_an_epoch": drawn,
        "sampling_seconds": median(sampling),
        "loader_seconds": median(loading),
        "training_seconds": median(training),
        "edges_a_second_sampling": drawn / median(sampling),
        "edges_a_second_loader": drawn / median(loading),
        "edges_a_second_training": drawn / median(training),
        "seconds": {"sampling": sampling, "loader": loading, "training": training},
        # Of the process that trains: where the form has workers, theirs are not counted.
        "processor_seconds": {"sampling": sampling_busy, "loader": loading_busy, "training": training_busy},
        "steps_measured": min(STEPS, whole),
        "loss": loss,
    }


def read(path):
    with open(path) as f:
        return json.load(f)


def compare(directory, rounds, out):
    ours = [read(f"{directory}/gnarl.{i}.json") for i in range(1, rounds + 1)]
    theirs = [read(f"{directory}/dgl.{i}.json") for i in range(1, rounds + 1)]
    alone = [read(f"{directory}/loader.{i}.json") for i in range(1, rounds + 1)]
    gnarl = [run["epoch_ms"] / 1e3 for run in ours]
    dgl = [run["training_seconds"] for run in theirs]
    ratios = [d / g for d, g in zip(dgl, gnarl)]
    edges = theirs[0]["edges_an_epoch"]
    print(f"{'seconds an epoch':42}" + "".join(f"{'round ' + str(i + 1):>10}" for i in range(rounds)))
    row = lambda name, values: print(f"{name:42}" + "".join(f"{value:10.2f}" for value in values))
    row("gnarl, training", gnarl)
    row(f"DGL {theirs[0]['version']}, training", dgl)
    row("training, DGL / gnarl", ratios)
    for what, name in (("loader", "sampling and features"), ("sampling", "sampling alone")):
        ours_here, theirs_here = ([run[f"edges_a_second_{what}"] / 1e6 for run in runs] for runs in (alone, theirs))
        row(f"gnarl, {name}, million edges/s", ours_here)
        row(f"DGL, {name}, million edges/s", theirs_here)
        row(f"{name}, gnarl / DGL", [a / b for a, b in zip(ours_here, theirs_here)])
    print(f"{edges / 1e6:.1f} million edges drawn in an epoch of DGL's; its form: {', '.join(run['form'] for run in theirs)}")
    with open(out, "w") as f:
        json.dump({"machine": platform.machine(), "cores": os.cpu_count(), "ratios": ratios, "gnarl": ours, "loader": alone, "dgl": theirs}, f, indent=1)


if __name__ == "__main__":
    if len(sys.argv) in (3, 4) and sys.argv[1] == "measure":
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]) if len(sys.argv) == 4 else 3)))
    elif len(sys.argv) == 5 and sys.argv[1] == "try":
        import torch

        torch.set_num_threads(THREADS)
        print(tried(sys.argv[2], sys.argv[3], int(sys.argv[4])))
    elif len(sys.argv) == 5 and sys.argv[1] == "compare":
        compare(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        sys.exit(__doc__)
