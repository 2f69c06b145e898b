//! [`Backbone`]: the one list of networks, by the layer they are made of or by how they combine layers.
//!
//! To add one: a file with its layer (here) or its body (in [`bodies`]) and its `ENTRY`, the file's
//! `mod` line, and a line in the list below. Names, help, files, networks, options and the tests
//! over every backbone come from the list.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

// Every file of layers and bodies, so that a new one needs its line in the list alone.
use super::bodies::*;
use super::entry::{Entry, FirstAggregation, NetworkOption, UsualOperator};
use super::*;

/// The enum, its entries and `ALL` from lines of a variant and its entry.
macro_rules! backbones {
    ($($(#[$doc:meta])* $Variant:ident => $entry:path),+ $(,)?) => {
        /// The kinds of network. Stored by their names.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub enum Backbone { $($(#[$doc])* $Variant),+ }

        impl Backbone {
            /// Every backbone with its name.
            pub const ALL: [(&'static str, Backbone); [$(Backbone::$Variant),+].len()] =
                [$(($entry.name, Backbone::$Variant)),+];

            pub(crate) fn entry(self) -> &'static Entry {
                match self { $(Self::$Variant => &$entry),+ }
            }
        }
    };
}

backbones! {
    /// Graph convolutions (Kipf and Welling 2017).
    Gcn => gcn::ENTRY,
    /// Graph attention (Veličković et al. 2018).
    Gat => gat::ENTRY,
    /// Graph attention with dynamic ranking (Brody et al. 2022).
    GatV2 => gatv2::ENTRY,
    /// Graph isomorphism network (Xu et al. 2019).
    Gin => gin::ENTRY,
    /// GraphSAGE with mean aggregation (Hamilton et al. 2017).
    Sage => sage::ENTRY,
    /// Simple graph convolution (Wu et al. 2019).
    Sgc => sgc::ENTRY,
    /// Predict, then propagate (Gasteiger et al. 2019).
    Appnp => appnp::ENTRY,
    /// Principal neighbourhood aggregation (Corso et al. 2020).
    Pna => pna::ENTRY,
    /// Heterophily-aware GCN (Zhu et al. 2020).
    H2gcn => h2gcn::ENTRY,
    /// Features alone.
    Mlp => mlp::ENTRY,
    /// Jumping knowledge (Xu et al. 2018) over GCN layers: all representations side by side.
    JkCat => jumping::CAT,
    /// Jumping knowledge over GCN layers: the largest of each entry.
    JkMax => jumping::MAX,
    /// Jumping knowledge over GCN layers: LSTM attention.
    JkLstm => jumping::LSTM,
    /// Jumping knowledge over GIN layers: all representations side by side.
    JkCatGin => jumping::CAT_GIN,
    /// Jumping knowledge over GIN layers: the largest of each entry.
    JkMaxGin => jumping::MAX_GIN,
    /// Jumping knowledge over GIN layers: LSTM attention.
    JkLstmGin => jumping::LSTM_GIN,
    /// Initial residual and identity mapping (Chen et al. 2020).
    Gcnii => gcnii::ENTRY,
    /// Generalised PageRank with learned weights (Chien et al. 2021).
    GprGnn => gpr::ENTRY,
    /// Learned weights over GIN layers.
    GprGin => gpr::OVER_GIN,
    /// Gaussian representations that weigh uncertain neighbours less (Zhu et al. 2019, RGCN).
    Rgcn => rgcn::ENTRY,
    /// AdaBoost over depths (Sun et al. 2021).
    AdaGcn => boosted::ENTRY,
    /// Unbiased robust aggregation (Hou et al. 2024).
    Rung => rung::ENTRY,
    /// Graph convolutions that aggregate by a soft median (Geisler et al. 2021).
    SoftMedian => soft_median::ENTRY,
    /// Edges weighed by how alike their ends are (Zhang and Zitnik 2020).
    GnnGuard => guard::ENTRY,
    /// Elastic message passing (Liu et al. 2021).
    ElasticGnn => elastic::ENTRY,
    /// Even powers of the operator alone (Lei et al. 2022).
    EvenNet => evennet::ENTRY,
    /// Adaptive residual (Liu et al. 2021).
    AirGnn => air::ENTRY,
    /// Graph convolutions with a kernel of node features (Seddik et al. 2022).
    GcnK => kernel::ENTRY,
}

impl Backbone {
    /// What it is called.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        self.entry().about
    }

    /// The operator its paper uses.
    pub fn usual_operator(self) -> UsualOperator {
        self.entry().usual_operator
    }

    /// Whether it passes messages at all: false for a perceptron of the features.
    pub fn uses_operator(self) -> bool {
        self.entry().uses_operator
    }

    /// Whether the values of an operator matter to it, and not only which nodes it joins.
    pub fn uses_operator_values(self) -> bool {
        self.entry().uses_values
    }

    /// Why it cannot learn its operator; `None` where it can.
    pub fn fixed_operator(self) -> Option<&'static str> {
        self.entry().fixed_operator
    }

    /// Whether it is layer after layer.
    pub fn is_stack(self) -> bool {
        self.entry().layer.is_some()
    }

    /// The settings it uses.
    pub fn options(self) -> &'static [NetworkOption] {
        self.entry().options
    }

    /// Whether a setting makes any difference to it.
    pub fn takes(self, option: NetworkOption) -> bool {
        // Learners that are trained one after the other have no scores in common.
        self.options().contains(&option) || option == NetworkOption::Gain && !self.has_learners()
    }

    /// The least number of layers it can have.
    pub fn min_layers(self) -> usize {
        self.entry().min_layers
    }

    /// Whether an exit can be put at every layer (thesis ch. 4).
    pub fn can_have_exits(self) -> bool {
        self.entry().exits
    }

    /// Whether training one graph of a batch depends on the others, batch normalisation apart.
    pub fn couples_graphs(self) -> bool {
        self.entry().couples_graphs
    }

    /// Whether it can be trained on sampled neighbourhoods and computed one layer after the other.
    pub fn can_be_sampled(self) -> bool {
        self.entry().sampled
    }

    /// Whether it is made of learners that are trained one after the other (AdaGCN).
    pub fn has_learners(self) -> bool {
        self.entry().has_learners
    }

    /// Whether it can classify the graphs of a set: neither learners one after the other, nor all
    /// nodes compared with each other.
    pub fn works_on_sets(self) -> bool {
        !self.has_learners() && !self.entry().one_graph
    }

    /// Whether all it does with an operator is to apply it, so that one without entries will do.
    pub fn applies_alone(self) -> bool {
        self.entry().applies_alone
    }

    /// Whether classes may be read off its vectors by a linear map that is trained again by itself:
    /// one that it has, or a head that a stack is given.
    pub fn can_have_head(self) -> bool {
        self.entry().has_head || self.takes(NetworkOption::Head)
    }

    /// Whether it has such a map without being given one: where weights are free, the last thing
    /// that a layer does may be it.
    pub fn has_head(self, free_weights: bool) -> bool {
        self.entry().has_head || self.entry().last_map && free_weights
    }

    /// What its first layer computes of constant features before its weights come in.
    pub fn first_aggregation(self) -> FirstAggregation {
        self.entry().first_aggregation
    }
}

impl TryFrom<String> for Backbone {
    type Error = gnarl_graph::Error;

    fn try_from(name: String) -> gnarl_graph::Result<Self> {
        name.parse()
    }
}

impl From<Backbone> for String {
    fn from(backbone: Backbone) -> Self {
        backbone.to_string()
    }
}

impl fmt::Display for Backbone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Backbone {
    type Err = gnarl_graph::Error;

    fn from_str(name: &str) -> gnarl_graph::Result<Self> {
        let found = Self::ALL
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, backbone)| *backbone).ok_or_else(|| {
            gnarl_graph::Error::unknown("model", name, Self::ALL.iter().map(|(known, _)| *known))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for (name, backbone) in Backbone::ALL {
            assert_eq!(name.to_uppercase().parse::<Backbone>().unwrap(), backbone);
            assert_eq!(backbone.to_string(), name);
            assert_eq!(
                serde_json::to_string(&backbone).unwrap(),
                format!("\"{name}\"")
            );
            assert!(
                name.chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
                "{name}"
            );
            assert!(!backbone.about().is_empty(), "{name}");
        }
        let e = "gcm".parse::<Backbone>().unwrap_err().to_string();
        assert!(e.contains("gcm") && e.contains("gcn"), "{e}");
    }

    #[test]
    fn names_are_unique_and_exits_need_layers() {
        for (i, (name, backbone)) in Backbone::ALL.into_iter().enumerate() {
            assert!(
                Backbone::ALL[..i]
                    .iter()
                    .all(|(earlier, _)| *earlier != name),
                "{name} stands twice"
            );
            assert!(
                !backbone.can_have_exits() || backbone.is_stack(),
                "{name}: exits are put on layers"
            );
        }
    }
}
