"""A network with an exit after every layer and orthonormal weights, fitted, saved and read back: more than half of held-out nodes are right."""

import tempfile

import gnarl

graph = gnarl.csbm(600, random_state=0)
model = gnarl.NodeClassifier("gcn", depth="admp-st", weights=gnarl.Orthonormal(), epochs=40).fit(graph)
assert model.exits_ is not None
print(f"{model.score(graph):.1%} of held-out nodes are right; {int((model.exits_ > 1).sum())} nodes take a late exit")
with tempfile.TemporaryDirectory() as folder:
    model.save(f"{folder}/model.safetensors")
    again = gnarl.NodeClassifier.load(f"{folder}/model.safetensors")
assert (again.predict(graph) == model.predict(graph)).all()
assert model.score(graph) > 0.5
