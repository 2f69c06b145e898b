"""A model in another language, defended by gnarl over its line protocol (docs/inference.md).

    gnarl predict --external "python3 examples/outside_model.py" --data karate --inference robust-crf --inference-target structure
"""

import json
import sys


def scores(graph):
    """The whole of the model: with which of four members, one from each group, does a member share the most friends?"""
    circles = [{u} for u in range(graph["num_nodes"])]
    for u, v in graph["edges"]:
        circles[u].add(v)
        circles[v].add(u)
    return [[len(c & circles[known]) for known in (8, 0, 23, 4)] for c in circles]


for line in sys.stdin:
    request = json.loads(line)
    answer = {"num_classes": 4} if "hello" in request else {"scores": scores(request)}
    print(json.dumps(answer), flush=True)
