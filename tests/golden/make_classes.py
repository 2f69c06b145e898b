"""Writes class_scores.json: balanced accuracy, F1 and the area under the ROC curve by scikit-learn. Run tests/golden/make.sh."""

import numpy as np
from sklearn.metrics import balanced_accuracy_score, f1_score, precision_recall_fscore_support, roc_auc_score

from golden import write

CALLS = {
    "balanced_accuracy": "balanced_accuracy_score(truth, predicted)",
    "macro_f1": "f1_score(truth, predicted, average='macro', zero_division=0)",
    "roc_auc": "roc_auc_score(truth, probabilities[:, 1]) of two classes, the mean of "
    "roc_auc_score(truth == c, probabilities[:, c]) of more, which is multi_class='ovr'",
    "precision, recall, f1, items": "precision_recall_fscore_support(truth, predicted, labels=range(classes), zero_division=0)",
}


def case(name, rng, items, classes, noise, shares=None, digits=3):
    """Answers that are right more or less often; rounded, so that probabilities tie and are the same in 32 bits."""
    truth = rng.choice(classes, items, p=shares)
    truth[:classes] = np.arange(classes)
    scores = rng.normal(size=(items, classes)) * noise
    scores[np.arange(items), truth] += 1
    probabilities = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    probabilities = np.round(probabilities, digits)
    probabilities[:, 0] = 1 - probabilities[:, 1:].sum(1)
    probabilities = probabilities.astype(np.float32).astype(np.float64)
    predicted = probabilities.argmax(1)
    columns = precision_recall_fscore_support(truth, predicted, labels=range(classes), zero_division=0)
    auc = np.mean([roc_auc_score(truth == c, probabilities[:, c]) for c in range(classes)])
    if classes == 2:
        auc = roc_auc_score(truth, probabilities[:, 1])
    else:
        # The call wants rows that sum to one in 64 bits; dividing by the sum parts some of the ties.
        whole = roc_auc_score(truth, probabilities / probabilities.sum(1, keepdims=True), multi_class="ovr")
        assert abs(auc - whole) < 1e-3, (auc, whole)
    return {
        "name": name,
        "classes": classes,
        "truth": truth,
        "predicted": predicted,
        "probabilities": probabilities.ravel(),
        "balanced_accuracy": balanced_accuracy_score(truth, predicted),
        "macro_f1": f1_score(truth, predicted, average="macro", zero_division=0),
        "roc_auc": auc,
        "precision": columns[0],
        "recall": columns[1],
        "f1": columns[2],
        "support": columns[3],
    }


def main():
    rng = np.random.default_rng(22)
    cases = [
        case("two classes", rng, 40, 2, 0.8),
        case("two classes, one rare", rng, 60, 2, 1.0, [0.9, 0.1]),
        case("two classes with ties", rng, 50, 2, 1.2, digits=1),
        case("five classes", rng, 60, 5, 0.7),
        case("five classes, unequal", rng, 60, 5, 1.0, [0.6, 0.2, 0.1, 0.06, 0.04]),
        case("seven classes by chance", rng, 50, 7, 20.0),
    ]
    write("class_scores.json", CALLS, {"cases": cases})


main()
