//! Backbones: [`Backbone`] lists the networks, each with its own settings.
//!
//! To add a network: a file with its settings and its layer (here) or its body (in
//! [`bodies`]), the file's `mod` line, and a line in the list below. Names, help,
//! files, options and the tests over every network come from the list.

use gnarl_graph::Error;
use gnarl_graph::settings::join_names;

use super::bodies::*;
use super::config::NetworkSetting;
use super::entry::{Architecture, Capability, DefaultOperator, FirstAggregation};
use super::*;

/// Stores a network in a report by name only.
#[doc(hidden)]
pub fn by_name<S: serde::Serializer>(
    backbone: &Option<Backbone>,
    s: S,
) -> std::result::Result<S::Ok, S::Error> {
    match backbone {
        Some(backbone) => s.serialize_str(backbone.name()),
        None => s.serialize_none(),
    }
}

/// Declares the list, and a constant with the default settings for each line.
macro_rules! backbones {
    ($(#[$meta:meta])* $($CONSTANT:ident = $Variant:ident($module:ident::$Type:ident)),+ $(,)?) => {
        gnarl_graph::choices! {
            $(#[$meta])*
            pub enum Backbone: dyn Architecture as "model" { $($Variant($module::$Type)),+ }
        }

        /// The settings of each network.
        pub mod settings {
            use super::*;

            $(pub use $module::$Type;)+
        }

        impl Backbone {
            $(
                #[doc = concat!("[`", stringify!($Variant), "`](Self::", stringify!($Variant), ") with its default settings.")]
                pub const $CONSTANT: Self = Self::$Variant(<$module::$Type>::DEFAULT);
            )+
        }
    };
}

backbones! {
    /// Network with its own settings.
    GCN = Gcn(gcn::Gcn),
    GAT = Gat(gat::Gat),
    GATV2 = GatV2(gatv2::GatV2),
    GIN = Gin(gin::Gin),
    SAGE = Sage(sage::Sage),
    SGC = Sgc(sgc::Sgc),
    APPNP = Appnp(appnp::Appnp),
    PNA = Pna(pna::Pna),
    H2GCN = H2gcn(h2gcn::H2gcn),
    MLP = Mlp(mlp::Mlp),
    JK_CAT = JkCat(jumping::JkCat),
    JK_MAX = JkMax(jumping::JkMax),
    JK_LSTM = JkLstm(jumping::JkLstm),
    JK_CAT_GIN = JkCatGin(jumping::JkCatGin),
    JK_MAX_GIN = JkMaxGin(jumping::JkMaxGin),
    JK_LSTM_GIN = JkLstmGin(jumping::JkLstmGin),
    GCNII = Gcnii(gcnii::Gcnii),
    GPR_GNN = GprGnn(gpr::GprGnn),
    GPR_GIN = GprGin(gpr::GprGin),
    RGCN = Rgcn(rgcn::Rgcn),
    ADAGCN = AdaGcn(boosted::AdaGcn),
    RUNG = Rung(rung::Rung),
    SOFT_MEDIAN = SoftMedian(soft_median::SoftMedian),
    GNNGUARD = GnnGuard(guard::GnnGuard),
    ELASTIC_GNN = ElasticGnn(elastic::ElasticGnn),
    EVENNET = EvenNet(evennet::EvenNet),
    AIRGNN = AirGnn(air::AirGnn),
    GCN_K = GcnK(kernel::GcnK),
}

impl Default for Backbone {
    fn default() -> Self {
        Self::GCN
    }
}

impl Backbone {
    /// Returns the capabilities: the declared ones, and those that follow from them.
    pub fn capabilities(&self) -> gnarl_graph::sets::Set<Capability> {
        let entry = self.entry();
        let mut all = entry.provides;
        let uses_edges = all.contains(Capability::MessagePassing);
        let uses_values = all.contains(Capability::EdgeWeights);
        if entry.fixed_operator.is_none() {
            all = all.with(Capability::LearnableOperator);
        }
        if uses_edges
            && uses_values
            && matches!(entry.default_operator, DefaultOperator::Classical(_))
        {
            all = all.with(Capability::AnyOperator);
        }
        if self.can_have_head() {
            all = all.with(Capability::HeadTraining);
        }
        all
    }

    /// Every network by name, with default settings.
    pub fn named() -> impl Iterator<Item = (&'static str, Self)> {
        Self::all().map(|backbone| (backbone.name(), backbone))
    }

    /// Sets one of its own settings by name, if the network has it.
    #[doc(hidden)]
    #[must_use]
    pub fn where_taken(self, setting: &str, value: impl ToString) -> Self {
        let given = [(setting.to_string(), value.to_string())];
        self.with(&given).unwrap_or(self)
    }

    /// Returns the properties that do not depend on its settings.
    pub fn entry(&self) -> super::entry::Entry {
        self.method().entry()
    }

    /// Returns true if both are the same network, whatever their settings.
    pub fn is(&self, other: Self) -> bool {
        self.name() == other.name()
    }

    /// Returns true if the network has a capability.
    pub fn provides(&self, capability: Capability) -> bool {
        self.entry().provides.contains(capability)
    }

    /// Returns the names of the networks with a property, as `a, b and c`, or
    /// `every model but a and b`.
    pub fn names_of(has: impl Fn(&Self) -> bool) -> String {
        let (with, without): (Vec<Self>, Vec<Self>) = Self::all().partition(has);
        let names = |of: &[Self]| join_names(&of.iter().map(Self::name).collect::<Vec<_>>());
        if without.len() < with.len() && !without.is_empty() {
            return format!("every model but {}", names(&without));
        }
        names(&with)
    }

    /// Returns the operator of its paper.
    pub fn default_operator(&self) -> DefaultOperator {
        self.entry().default_operator
    }

    /// Returns the reason why it cannot learn its operator; `None` if it can.
    pub fn fixed_operator(&self) -> Option<&'static str> {
        self.entry().fixed_operator
    }

    /// Returns true if a shared setting changes the network.
    pub fn takes(&self, setting: NetworkSetting) -> bool {
        match setting {
            // Learners that are trained one after another have no common scores.
            NetworkSetting::Gain => self.provides(Capability::JointTraining),
            NetworkSetting::Readout | NetworkSetting::HeadDropout => true,
            _ => self.entry().uses.contains(&setting),
        }
    }

    /// The refusal of a shared setting that would change nothing.
    #[doc(hidden)]
    pub fn refuse(&self, setting: NetworkSetting) -> Error {
        let takers = Self::names_of(|other| other.takes(setting));
        let why = format!("belongs to {takers}, and the model is {self}");
        Error::unsupported(setting.name(), why)
    }

    /// Returns the smallest number of layers.
    pub fn min_layers(&self) -> usize {
        self.entry().min_layers
    }

    /// Returns true if a linear head that is trained separately can predict classes from its
    /// vectors. Either the network has such a head, or a stack is given one.
    pub fn can_have_head(&self) -> bool {
        self.provides(Capability::Head) || self.takes(NetworkSetting::Head)
    }

    /// Returns true if it has a linear head by default: with unconstrained weights, the last layer
    /// may end in one.
    pub fn has_head(&self, free_weights: bool) -> bool {
        self.provides(Capability::Head) || self.provides(Capability::LastMap) && free_weights
    }

    /// Returns the product with constant features that its first layer begins with.
    pub fn first_aggregation(&self) -> FirstAggregation {
        self.entry().first_aggregation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sound() {
        gnarl_graph::settings::assert_listed(Backbone::LIST, Backbone::all().map(|b| b.stored()));
        let names: Vec<&str> = Backbone::all().map(|backbone| backbone.name()).collect();
        for (i, backbone) in Backbone::all().enumerate() {
            let name = backbone.name();
            assert!(backbone.check().is_ok(), "{name}");
            assert!(!names[..i].contains(&name), "{name} stands twice");
            assert_eq!(name.to_uppercase().parse::<Backbone>().unwrap(), backbone);
            let exits = backbone.provides(Capability::Exits);
            assert!(
                !exits || backbone.provides(Capability::Stack),
                "{name}: exits need layers"
            );
        }
        let e = "gcm".parse::<Backbone>().unwrap_err().to_string();
        assert!(e.contains("gcm") && e.contains("gcn"), "{e}");
    }
}
