//! Examples at the foot of every command's help. A test parses each example exactly as printed.

/// Examples of `gnarl`.
pub const GNARL: &str = "\
Examples:
  gnarl                                                       a first look, on built-in graphs
  gnarl train --data karate --model gcn                       train and evaluate
  gnarl train --data mine/ --model gcn --save m.safetensors   your own files (docs/data.md)
  gnarl advise --data mine/                                   recommend axes";

/// Examples of `gnarl train`: one for each axis.
pub const TRAIN: &str = "\
Examples:
  gnarl train --data cora --model gcn --runs 10               10 runs: mean and standard deviation
  gnarl train --data texas --model gcn --operator cgso        operator: learned
  gnarl train --data photo --model gcn --depth admp-st        depth: an exit for every node
  gnarl train --data cora --model gcn --weights orthonormal   weights: 1-Lipschitz layers
  gnarl train --data cora --model gcn --inference robust-crf  inference: CRF over nearby inputs
  gnarl train --data mutag --model gin --augment gratin       data: sampled vectors are added
  gnarl train --data cora --model gcn --defense jaccard       a defence before the model
  gnarl train --data cora --model gcn --runs 10 --save m.safetensors --save-run best";

/// Examples of `gnarl attack`.
pub const ATTACK: &str = "\
Examples:
  gnarl attack --data cora --model gcn --attack pgd-features --runs 10
  gnarl attack --data cora --model gcn,mlp --attack prbcd --budget 0,0.05,0.1 --plot curves
  gnarl attack --data cora --model gcn --defense jaccard --attack dice --mode poisoning";

/// Examples of `gnarl predict`.
pub const PREDICT: &str = "\
Examples:
  gnarl predict --load m.safetensors --data mine/ --output predictions.csv
  gnarl predict --load m.safetensors --data mine/ --embeddings vectors.npy
  gnarl predict --load m.safetensors --data cora --inference robust-crf";

/// Examples of `gnarl explore`.
pub const EXPLORE: &str = "\
Examples:
  gnarl explore --data cora
  gnarl explore --data mine/ --load m.safetensors --port 8080";

/// Examples of `gnarl robustness`.
pub const ROBUSTNESS: &str = "\
Examples:
  gnarl robustness --data cora --model gcn --epsilon 1,5,10 --output cora-gcn
  gnarl robustness --data cora --model gcn --target structure --epsilon 50
  gnarl robustness --data cora --model gcn --weights orthonormal --page gcorn.html";

/// Examples of `gnarl certify`.
pub const CERTIFY: &str = "\
Examples:
  gnarl certify --data cora --model gcn --method smoothing --p-plus 0.01 --p-minus 0.6
  gnarl certify --data cora --model gcn --weights orthonormal --method lipschitz
  gnarl certify --data cora --model appnp --method exact";

/// Examples of `gnarl advise`.
pub const ADVISE: &str = "\
Examples:
  gnarl advise --data texas
  gnarl advise --data mine/ --write advised.toml";

/// Examples of `gnarl axes`.
pub const AXES: &str = "\
Examples:
  gnarl axes --data cora --model gcn --runs 10
  gnarl axes --data cora --model gcn --attack pgd-features --write axes.md
  gnarl axes --data cora --model gcn --rows cgso+dropedge,all
  gnarl axes --data cora --model gcn --runs 10 --dry-run";

/// Examples of `gnarl centrality`.
pub const CENTRALITY: &str = "\
Example:
  gnarl centrality --data karate --kind pagerank --top 3";

/// Examples of `gnarl spectrum`.
pub const SPECTRUM: &str = "\
Example:
  gnarl spectrum --data karate --centrality core --plot eigenvalues";

/// Examples of `gnarl energy`.
pub const ENERGY: &str = "\
Example:
  gnarl energy --data cora --centrality degree --depth 16 --plot energy";

/// Examples of `gnarl cluster`.
pub const CLUSTER: &str = "\
Example:
  gnarl cluster --data karate --method walktrap";

/// Examples of `gnarl reproduce`.
pub const REPRODUCE: &str = "\
Examples:
  gnarl reproduce list
  gnarl reproduce topological_GCN --quick
  gnarl reproduce all --dry-run";

/// Examples of `gnarl schema`.
pub const SCHEMA: &str = "\
Examples:
  gnarl schema > model.schema.json
  gnarl schema attack";

/// Examples of `gnarl completions`.
pub const COMPLETIONS: &str = "\
Examples:
  gnarl completions bash > ~/.local/share/bash-completion/completions/gnarl
  gnarl completions zsh > ~/.zfunc/_gnarl
  gnarl completions fish > ~/.config/fish/completions/gnarl.fish";

/// Examples of `gnarl man`.
pub const MAN: &str = "\
Example:
  gnarl man --out ~/.local/share/man/man1";
