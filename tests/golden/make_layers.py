"""Writes crates/gnarl/tests/golden/layers.json: layers by PyTorch Geometric in 64-bit arithmetic.

Each case holds a graph's name, the input, the parameters, the output, an upstream gradient G, and the gradients of
sum(output * G) to the input and to every parameter. Parameters carry gnarl's names and shapes: a linear map's matrix is
[in, out], the transpose of PyTorch's. H2GCN, GPR-GNN, RGCN and the defences are not in PyTorch Geometric and are written here with
dense matrices, from the formulas of their papers.
"""

import json
import pathlib

import torch
import torch_geometric
from torch.nn import Linear, ReLU, Sequential
from torch_geometric import nn as pyg
from torch_geometric.utils import degree

torch.set_default_dtype(torch.float64)
RNG = torch.Generator().manual_seed(20)
OUT = pathlib.Path(__file__).resolve().parents[2] / "crates/gnarl/tests/golden/layers.json"

# Undirected and simple; node 8 of the second has no neighbours.
GRAPHS = {
    "house": (6, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5)]),
    "scattered": (9, [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 5), (3, 5), (6, 7)]),
}
IN_DIM, HIDDEN, OUT_DIM = 5, 4, 3


def given(*shape):
    """Uniform in [-1, 1] with three decimals, so that the file says exactly what was used."""
    return (torch.rand(*shape, generator=RNG) * 2 - 1).mul(1000).round().div(1000)


def features(num_nodes, width):
    """About a third zeros, none of the rows all zero."""
    x = given(num_nodes, width)
    x[torch.rand(num_nodes, width, generator=RNG) < 0.35] = 0.0
    x[:, 0] += (x[:, 0] == 0) * 0.5
    return x


def edge_index(edges):
    return torch.tensor(edges + [(v, u) for u, v in edges]).t().contiguous()


def digits(tensor):
    """Nested lists with nine significant digits."""
    if tensor.dim() == 0:
        return float(f"{tensor.item():.9g}")
    return [digits(part) for part in tensor]


def same(tensor):
    return tensor


def matrix(tensor):
    return tensor.t()


def heads(tensor):
    return tensor.squeeze(0)


def linear(name, layer):
    parts = [(f"{name}weight", layer.weight, matrix)]
    return parts + ([(f"{name}bias", layer.bias, same)] if layer.bias is not None else [])


CASES = []


def record(layer, graph, x, forward, parameters, train=False, statistics=(), **settings):
    """Plants parameters, runs forward and backward, and notes everything."""
    for _, parameter, _ in parameters:
        parameter.data = given(*parameter.shape)
    for _, statistic, value in statistics:
        statistic.copy_(value)
    case = {"layer": layer, "graph": graph, "train": train, "settings": settings, "x": digits(x)}
    case["params"] = {name: digits(view(p.detach())) for name, p, view in parameters}
    case["params"] |= {name: digits(statistic) for name, statistic, _ in statistics}
    x = x.clone().requires_grad_()
    out = forward(x)
    upstream = given(*out.shape)
    (out * upstream).sum().backward()
    case["out"], case["upstream"] = digits(out.detach()), digits(upstream)
    case["grad_x"] = digits(x.grad)
    case["grads"] = {name: digits(view(p.grad)) for name, p, view in parameters}
    case["statistics_after"] = {name: digits(statistic) for name, statistic, _ in statistics}
    CASES.append(case)


def normalised(a):
    """D^-1/2 A D^-1/2, with zero rows for nodes without edges."""
    d = a.sum(1)
    scale = torch.where(d > 0, d.clamp(min=1) ** -0.5, torch.zeros_like(d))
    return scale[:, None] * a * scale[None, :]


def h2gcn(x, a, embed, classify, rounds):
    """Zhu et al. 2020: R_0 = ReLU(X W_e); R_k = [A_1 R_{k-1}, A_2 R_{k-1}]; [R_0, .., R_K] W_c."""
    two_hop = ((a @ a > 0) & (a == 0)).to(x.dtype)
    two_hop.fill_diagonal_(0)
    one, two = normalised(a), normalised(two_hop)
    rounds_so_far = [embed(x).relu()]
    for _ in range(rounds):
        last = rounds_so_far[-1]
        rounds_so_far.append(torch.cat([one @ last, two @ last], dim=1))
    return classify(torch.cat(rounds_so_far, dim=1))


def lstm(name, jump, suffix):
    """One direction of PyTorch's LSTM: what it does with the input and with its own last output."""
    parts = []
    for ours, theirs in (("input", "ih"), ("memory", "hh")):
        parts.append((f"{name}.{ours}.weight", getattr(jump.lstm, f"weight_{theirs}_l0{suffix}"), matrix))
        parts.append((f"{name}.{ours}.bias", getattr(jump.lstm, f"bias_{theirs}_l0{suffix}"), same))
    return parts


def jumping_on(run, gin, mode, count):
    """JK-Net: layers with a ReLU each, PyTorch Geometric's JumpingKnowledge, a linear map."""
    convs, own = [], []
    for i in range(count):
        width = IN_DIM if i == 0 else HIDDEN
        if gin:
            first, second = Linear(width, HIDDEN), Linear(HIDDEN, HIDDEN)
            convs.append(pyg.GINConv(Sequential(first, ReLU(), second)))
            own += linear(f"layers.{i}.mlp.0.", first) + linear(f"layers.{i}.mlp.1.", second)
        else:
            conv = pyg.GCNConv(width, HIDDEN)
            convs.append(conv)
            own += [(f"layers.{i}.weight", conv.lin.weight, matrix), (f"layers.{i}.bias", conv.bias, same)]
    jump = pyg.JumpingKnowledge(mode, HIDDEN, count)
    if mode == "lstm":
        own += lstm("jump.up", jump, "") + lstm("jump.down", jump, "_reverse") + linear("jump.score.", jump.att)
    classify = Linear(count * HIDDEN if mode == "cat" else HIDDEN, OUT_DIM)
    own += linear("classify.", classify)

    def forward(x, index):
        heard = []
        for conv in convs:
            x = conv(x, index).relu()
            heard.append(x)
        return classify(jump(heard))

    name = f"jk-{mode}-gin" if gin else f"jk-{mode}"
    run(name, forward, own, hidden=HIDDEN, layers=count, out_dim=OUT_DIM)


def gcnii_on(run, count):
    """GCNII: a linear map, GCN2Conv with shared weights, a linear map."""
    embed, classify = Linear(IN_DIM, HIDDEN), Linear(HIDDEN, OUT_DIM)
    convs = [pyg.GCN2Conv(HIDDEN, alpha=0.1, theta=0.5, layer=i + 1) for i in range(count)]
    own = linear("embed.", embed) + linear("classify.", classify)
    own += [(f"layers.{i}.weight", conv.weight1, same) for i, conv in enumerate(convs)]

    def forward(x, index):
        first = h = embed(x).relu()
        for conv in convs:
            h = conv(h, first, index).relu()
        return classify(h)

    run("gcnii", forward, own, hidden=HIDDEN, layers=count, out_dim=OUT_DIM)


def gpr_on(run, a, count):
    """GPR-GNN (Chien et al. 2021) with A_hat: the sum over k of share_k A_hat^k MLP(X); and the same weights over GIN layers."""
    a_hat = normalised(a + torch.eye(len(a)))
    first, second = Linear(IN_DIM, HIDDEN), Linear(HIDDEN, OUT_DIM)
    shares = torch.nn.Parameter(torch.zeros(count + 1))
    own = linear("mlp.0.", first) + linear("mlp.1.", second) + [("shares", shares, same)]

    def forward(x, _):
        h = second(first(x).relu())
        out = shares[0] * h
        for k in range(count):
            h = a_hat @ h
            out = out + shares[k + 1] * h
        return out

    run("gpr-gnn", forward, own, hidden=HIDDEN, layers=count, out_dim=OUT_DIM)

    convs = []
    for i in range(count):
        inner, outer = Linear(HIDDEN, HIDDEN), Linear(HIDDEN, HIDDEN)
        convs.append(pyg.GINConv(Sequential(inner, ReLU(), outer)))
        own = own + linear(f"layers.{i}.mlp.0.", inner) + linear(f"layers.{i}.mlp.1.", outer)

    def over_layers(x, index):
        h = first(x).relu()
        out = shares[0] * h
        for k, conv in enumerate(convs):
            h = conv(h, index).relu()
            out = out + shares[k + 1] * h
        return second(out)

    for _, parameter, _ in own:
        parameter.grad = None
    run("gpr-gin", over_layers, own, hidden=HIDDEN, layers=count, out_dim=OUT_DIM)


def boosted_on(run, a, count):
    """AdaGCN's votes (Sun et al. 2021), from the softmax as SAMME.R has them."""
    a_hat = normalised(a + torch.eye(len(a)))
    learners = [(Linear(IN_DIM, HIDDEN), Linear(HIDDEN, OUT_DIM)) for _ in range(count + 1)]
    own = []
    for i, (first, second) in enumerate(learners):
        own += linear(f"learners.{i}.0.", first) + linear(f"learners.{i}.1.", second)

    def forward(x, _):
        out = 0
        for first, second in learners:
            log_p = second(first(x).relu()).softmax(dim=1).log()
            out = out + (OUT_DIM - 1) * (log_p - log_p.mean(dim=1, keepdim=True))
            x = a_hat @ x
        return out

    run("adagcn", forward, own, hidden=HIDDEN, layers=count, out_dim=OUT_DIM)


def combinations_on(graph):
    """The ways of combining layers."""
    n, edges = GRAPHS[graph]
    index = edge_index(edges)
    a = torch.zeros(n, n)
    a[index[0], index[1]] = 1

    def run(layer, conv, parameters, **settings):
        record(layer, graph, features(n, IN_DIM), lambda x: conv(x, index), parameters, **settings)

    for count in (1, 3):
        for mode in ("cat", "max", "lstm"):
            for gin in (False, True):
                jumping_on(run, gin, mode, count)
        gcnii_on(run, count)
        gpr_on(run, a, count)
        boosted_on(run, a, count)


def gaussians_on(graph):
    """RGCN (Zhu et al. 2019): the means after two layers of Gaussians."""
    n, edges = GRAPHS[graph]
    index = edge_index(edges)
    a = torch.eye(n)
    a[index[0], index[1]] = 1
    d = a.sum(1)
    for_means, for_variances = d.rsqrt().diag() @ a @ d.rsqrt().diag(), d.reciprocal().diag() @ a @ d.reciprocal().diag()
    widths = [(IN_DIM, HIDDEN), (HIDDEN, OUT_DIM)]
    layers = [(Linear(*w, bias=False), Linear(*w, bias=False)) for w in widths]

    def forward(x):
        mean, variance = x, x
        for by_mean, by_variance in layers:
            mean, variance = torch.nn.functional.elu(by_mean(mean)), by_variance(variance).relu()
            attention = torch.exp(-variance)
            mean, variance = for_means @ (mean * attention), for_variances @ (variance * attention * attention)
        return mean

    own = []
    for i, (by_mean, by_variance) in enumerate(layers):
        own += linear(f"layers.{i}.mean.", by_mean) + linear(f"layers.{i}.variance.", by_variance)
    record("rgcn", graph, features(n, IN_DIM), forward, own, hidden=HIDDEN, layers=2, out_dim=OUT_DIM)


def rung(f0, a, steps, alpha, gamma):
    """Hou et al. 2024: quasi-Newton reweighted least squares of the minimax concave penalty."""
    n, lam = len(a), alpha / (1 - alpha)
    d = a.sum(1) + 1
    f = f0
    for _ in range(steps):
        g = f / d.sqrt()[:, None]
        y = (((g[:, None, :] - g[None, :, :]) ** 2).sum(2) + 0.01).sqrt()
        w = (1 / (2 * y) - 1 / (2 * gamma)).clamp(min=0) * (1 - torch.eye(n))
        q = (w * a).sum(1) / d
        f = ((w * a / (d[:, None] * d[None, :]).sqrt()) @ f + lam * f0) / (q + lam)[:, None]
    return f


def air(h0, a, steps, lam):
    """Liu et al. 2021: the proximal step of the l21 norm of what a node's neighbours add to its own answer."""
    a_hat = normalised(a + torch.eye(len(a)))
    gamma, h = 1 / (2 * (1 - lam)), h0
    for _ in range(steps):
        y = h - 2 * gamma * (1 - lam) * (h - a_hat @ h)
        lengths = (((y - h0) ** 2).sum(1, keepdim=True) + 1e-12).sqrt()
        h = h0 + (1 - gamma * lam / lengths).clamp(min=0) * (y - h0)
    return h


def elastic(f0, a, steps, lam):
    """Liu et al. 2021: elastic message passing, one row of the incidence matrix for each edge."""
    n = len(a)
    pairs = [(u, v) for u in range(n) for v in range(u) if a[u, v] > 0]
    d = a.sum(1) + 1
    incidence = torch.zeros(len(pairs), n)
    for row, (u, v) in enumerate(pairs):
        incidence[row, u], incidence[row, v] = d[u] ** -0.5, -(d[v] ** -0.5)
    a_hat, gamma = normalised(a + torch.eye(n)), 1 / (1 + lam)
    beta, f, z = 1 / (2 * gamma), f0, torch.zeros(len(pairs), f0.shape[1])
    for _ in range(steps):
        y = gamma * f0 + (1 - gamma) * a_hat @ f
        z = z + beta * incidence @ (y - gamma * incidence.t() @ z)
        lengths = ((z**2).sum(1, keepdim=True) + 1e-12).sqrt()
        z = z * torch.where(lengths > lam, lam / lengths.clamp(min=1e-9), torch.ones_like(lengths))
        f = y - gamma * incidence.t() @ z
    return f


def guarded(x, a, layers, memory, threshold):
    """Zhang and Zitnik 2020: attention by similarity, a share of the last round's weights kept."""
    beta, before = torch.sigmoid(memory), None
    for i, layer in enumerate(layers):
        unit = x / ((x**2).sum(1, keepdim=True) + 1e-12).sqrt()
        s = a * (unit @ unit.t())
        s = torch.where(s >= threshold, s, torch.zeros_like(s))
        count = (s > 0).sum(1)
        alpha = s / s.sum(1, keepdim=True).clamp(min=1e-9) * (count / (count + 1))[:, None] + (1.0 / (count + 1)).diag()
        before = alpha if before is None else beta * before + (1 - beta) * alpha
        x = before @ (x @ layer.weight.t()) + layer.bias
        x = x if i + 1 == len(layers) else x.relu()
    return x


def soft_median(x, phi, layer, temperature):
    """Geisler et al. 2021: rows of neighbours weighed by their distance from the weighted median."""
    h = x @ layer.weight.t()
    rows = []
    for weights in phi:
        near = weights.nonzero().flatten()
        w, v = weights[near], h[near]
        order = v.detach().argsort(dim=0)
        reached = w[order].cumsum(0) >= w.sum() / 2 - 1e-9
        median = v[order[reached.long().argmax(0), torch.arange(v.shape[1])], torch.arange(v.shape[1])]
        trust = torch.softmax(-(((v - median) ** 2).mean(1) + 1e-12).sqrt() / temperature, dim=0) * w
        rows.append(w.sum() * (trust / trust.sum()) @ v)
    return torch.stack(rows) + layer.bias


def with_kernel(x, a, layers, share):
    """Seddik et al. 2022: A_hat beside a normalised kernel of features."""
    unit = x / x.norm(dim=1, keepdim=True)
    kernel = unit @ unit.t()
    d = kernel.sum(1)
    scale = torch.where(d > 1e-6, d.clamp(min=1e-6) ** -0.5, torch.zeros_like(d))
    phi = (1 - share) * normalised(a + torch.eye(len(a))) + share * scale[:, None] * kernel * scale[None, :]
    for i, layer in enumerate(layers):
        x = phi @ (x @ layer.weight.t()) + layer.bias
        x = x if i + 1 == len(layers) else x.relu()
    return x


def defences_on(graph):
    """Networks that are made to withstand attacks."""
    n, edges = GRAPHS[graph]
    index = edge_index(edges)
    a = torch.zeros(n, n)
    a[index[0], index[1]] = 1
    widths = [(IN_DIM, HIDDEN), (HIDDEN, OUT_DIM)]

    def behind(name, propagated, **settings):
        """A perceptron, then steps of propagation."""
        first, second = Linear(*widths[0]), Linear(*widths[1])
        own = linear("mlp.0.", first) + linear("mlp.1.", second)
        forward = lambda x: propagated(second(first(x).relu()))
        record(name, graph, features(n, IN_DIM), forward, own, hidden=HIDDEN, out_dim=OUT_DIM, **settings)

    for gamma in (3.0, 0.5):
        behind("rung", lambda f, gamma=gamma: rung(f, a, 4, 0.1, gamma), steps=4, level=gamma)
    behind("airgnn", lambda f: air(f, a, 3, 0.5), steps=3)
    behind("airgnn", lambda f: air(f, a, 3, 0.1), steps=3, level=0.1)
    for lam in (3.0, 0.2):
        behind("elastic-gnn", lambda f, lam=lam: elastic(f, a, 4, lam), steps=4, level=lam)

    first, second, shares = Linear(*widths[0]), Linear(*widths[1]), torch.nn.Parameter(torch.zeros(3))
    own = linear("mlp.0.", first) + linear("mlp.1.", second) + [("shares", shares, same)]
    twice = normalised(a) @ normalised(a)

    def even(x):
        h = second(first(x).relu())
        return shares[0] * h + shares[1] * twice @ h + shares[2] * twice @ twice @ h

    record("evennet", graph, features(n, IN_DIM), even, own, hidden=HIDDEN, out_dim=OUT_DIM, steps=5)

    def layered(name, forward, more=(), **settings):
        layers = [Linear(*w) for w in widths]
        own = [part for i, layer in enumerate(layers) for part in linear(f"layers.{i}.", layer)] + list(more)
        given_x = features(n, IN_DIM)
        record(name, graph, given_x, lambda x: forward(x, layers), own, hidden=HIDDEN, layers=2, out_dim=OUT_DIM, **settings)

    for threshold in (0.1, 0.4):
        memory = torch.nn.Parameter(torch.zeros(1))
        forward = lambda x, layers, t=threshold, m=memory: guarded(x, a, layers, m, t)
        layered("gnnguard", forward, [("memory", memory, same)], level=threshold)
    phi = normalised(a + torch.eye(n))
    for temperature in (0.2, 1.5):
        t = temperature
        layered(
            "soft-median",
            lambda x, layers, t=t: soft_median(soft_median(x, phi, layers[0], t).relu(), phi, layers[1], t),
            level=temperature,
        )
    layered("gcn-k", lambda x, layers: with_kernel(x, a, layers, 0.5))


def layers_on(graph):
    n, edges = GRAPHS[graph]
    index = edge_index(edges)

    def run(layer, conv, parameters, **settings):
        record(layer, graph, features(n, IN_DIM), lambda x: conv(x, index), parameters, **settings)

    # Narrower and wider than the input: the operator comes second, then first.
    for out_dim in (OUT_DIM, IN_DIM + 2):
        conv = pyg.GCNConv(IN_DIM, out_dim)
        run("gcn", conv, [("weight", conv.lin.weight, matrix), ("bias", conv.bias, same)], out_dim=out_dim)

    for concat in (True, False):
        conv = pyg.GATConv(IN_DIM, OUT_DIM, heads=2, concat=concat)
        own = [("weight", conv.lin.weight, matrix), ("bias", conv.bias, same)]
        own += [("att_src", conv.att_src, heads), ("att_dst", conv.att_dst, heads)]
        run("gat", conv, own, out_dim=OUT_DIM, heads=2, concat=concat)

        conv = pyg.GATv2Conv(IN_DIM, OUT_DIM, heads=2, concat=concat)
        own = linear("left.", conv.lin_l) + linear("right.", conv.lin_r)
        own += [("att", conv.att, heads), ("bias", conv.bias, same)]
        run("gatv2", conv, own, out_dim=OUT_DIM, heads=2, concat=concat)

    for train_epsilon in (False, True):
        first, second = Linear(IN_DIM, HIDDEN), Linear(HIDDEN, OUT_DIM)
        conv = pyg.GINConv(Sequential(first, ReLU(), second), train_eps=train_epsilon)
        own = linear("mlp.0.", first) + linear("mlp.1.", second)
        own += [("eps", conv.eps, same)] if train_epsilon else []
        run("gin", conv, own, hidden=HIDDEN, out_dim=OUT_DIM, train_epsilon=train_epsilon)

    for out_dim in (OUT_DIM, IN_DIM + 2):
        conv = pyg.SAGEConv(IN_DIM, out_dim, aggr="mean")
        run("sage", conv, linear("neighbours.", conv.lin_l) + linear("own.", conv.lin_r), out_dim=out_dim)

    histogram = torch.bincount(degree(index[1], n, dtype=torch.long))
    aggregators, scalers = ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"]
    conv = pyg.PNAConv(IN_DIM, OUT_DIM, aggregators, scalers, histogram)
    own = linear("before.", conv.pre_nns[0][0]) + linear("after.", conv.post_nns[0][0]) + linear("mix.", conv.lin)
    run("pna", conv, own, out_dim=OUT_DIM, mean_log_degree=float(conv.aggr_module.avg_deg_log))

    conv = pyg.SGConv(IN_DIM, OUT_DIM, K=2)
    run("sgc", conv, linear("linear.", conv.lin), layers=2, out_dim=OUT_DIM)

    first, second = Linear(IN_DIM, HIDDEN), Linear(HIDDEN, OUT_DIM)
    steps = pyg.APPNP(K=3, alpha=0.1)
    own = linear("mlp.0.", first) + linear("mlp.1.", second)
    run("appnp", lambda x, index: steps(second(first(x).relu()), index), own, hidden=HIDDEN, out_dim=OUT_DIM, steps=3)

    a = torch.zeros(n, n)
    a[index[0], index[1]] = 1
    embed, classify = Linear(IN_DIM, HIDDEN, bias=False), Linear(7 * HIDDEN, OUT_DIM, bias=False)
    own = linear("embed.", embed) + linear("classify.", classify)
    run("h2gcn", lambda x, _: h2gcn(x, a, embed, classify, 2), own, hidden=HIDDEN, layers=2, out_dim=OUT_DIM)

    first, second = Linear(IN_DIM, HIDDEN), Linear(HIDDEN, OUT_DIM)
    own = linear("layers.0.", first) + linear("layers.1.", second)
    run("mlp", lambda x, _: second(first(x).relu()), own, hidden=HIDDEN, layers=2, out_dim=OUT_DIM)


def batch_norm():
    for train in (True, False):
        norm = pyg.BatchNorm(IN_DIM).train(train).module
        own = [("scale", norm.weight, same), ("shift", norm.bias, same)]
        running = [("mean", norm.running_mean, given(IN_DIM)), ("variance", norm.running_var, given(IN_DIM).abs() + 0.5)]
        record("batch_norm", "house", given(6, IN_DIM), norm, own, train=train, statistics=running)


def readouts():
    sizes = [3, 0, 1, 5]
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    pools = {"mean": pyg.global_mean_pool, "sum": pyg.global_add_pool, "max": pyg.global_max_pool}
    for name, pool in pools.items():
        forward = lambda x, pool=pool: pool(x, batch, len(sizes))
        record("readout", "scattered", given(9, IN_DIM), forward, [], readout=name, sizes=sizes)


def main():
    for graph in GRAPHS:
        layers_on(graph)
    batch_norm()
    readouts()
    for graph in GRAPHS:
        combinations_on(graph)
    for graph in GRAPHS:
        gaussians_on(graph)
    for graph in GRAPHS:
        defences_on(graph)
    graphs = {name: {"num_nodes": n, "edges": edges} for name, (n, edges) in GRAPHS.items()}
    made_by = {"torch": torch.__version__.split("+")[0], "torch_geometric": torch_geometric.__version__}
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in CASES)
    head = f'{{"made_by":{json.dumps(made_by)},\n"graphs":{json.dumps(graphs)},\n'
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(f'{head}"cases":[\n{lines}\n]}}\n')
    print(f"{OUT.name}: {len(CASES)} cases, {OUT.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
