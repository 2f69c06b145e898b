//! Parses requested certificates: methods by name, a target, settings as text.

use gnarl_data::Content;
use gnarl_data::Task;
use gnarl_graph::settings::{SettingText, check_applies, join_names};
use gnarl_graph::{Error, Result};

use super::Certificate;
use super::method::Unused;
use super::threat::{Target, ThreatModel};
use crate::model::Plan;

/// The name of a method, or all methods that cover the target.
#[derive(Debug, Clone, PartialEq)]
pub enum MethodName {
    /// Every certificate that covers the target and the model.
    All,
    /// One certificate.
    One(Box<Certificate>),
}

impl std::str::FromStr for MethodName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if name.eq_ignore_ascii_case("all") {
            Ok(MethodName::All)
        } else {
            Ok(MethodName::One(Box::new(name.parse()?)))
        }
    }
}

/// Requested certificates: open parts are filled in from the data.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The methods, next to each other in one table.
    pub methods: Vec<MethodName>,
    /// The part of the input that an attacker changes; `None` for the default one.
    pub target: Option<Target>,
    /// Settings by their name or their option. Each must change one of the certificates.
    pub settings: Vec<SettingText>,
}

/// A certificate and its settings without effect.
type Built = (Certificate, Vec<Unused>);

impl Request {
    /// Returns true if all methods are requested, so that methods that do not cover the model are
    /// left out.
    pub fn is_all(&self) -> bool {
        self.methods.contains(&MethodName::All)
    }

    /// The threat model on some data; `None` for data that is not loaded yet.
    ///
    /// An open target is the first of features and edges that the data has and every named method
    /// covers.
    pub fn threat(&self, content: Option<&Content>) -> ThreatModel {
        let has_features = content.is_none_or(has_features);
        ThreatModel {
            target: self
                .target
                .unwrap_or_else(|| self.default_target(has_features)),
            task: content.map_or(Task::Node, Content::task),
        }
    }

    fn default_target(&self, has_features: bool) -> Target {
        let covers = |name: &MethodName, target: Target| match name {
            MethodName::All => true,
            MethodName::One(certificate) => certificate.method().targets().contains(target),
        };
        let targets = if has_features {
            &[Target::Features, Target::Edges][..]
        } else {
            &[Target::Edges]
        };
        let is_covered = |target: &&Target| self.methods.iter().all(|name| covers(name, **target));
        *targets.iter().find(is_covered).unwrap_or(&targets[0])
    }

    /// The named certificates, each once, with their default settings.
    fn chosen(&self, target: Target) -> Vec<Certificate> {
        let mut chosen: Vec<Certificate> = Vec::new();
        for name in &self.methods {
            let certificates = match name {
                MethodName::One(certificate) => vec![**certificate],
                MethodName::All => Certificate::all()
                    .filter(|certificate| certificate.method().targets().contains(target))
                    .collect(),
            };
            for certificate in certificates {
                if !chosen
                    .iter()
                    .any(|known| known.name() == certificate.name())
                {
                    chosen.push(certificate);
                }
            }
        }
        chosen
    }

    /// The certificates with their settings, checked. A setting that changes none of them is
    /// refused.
    pub fn certificates(&self, threat: ThreatModel) -> Result<Vec<Certificate>> {
        let chosen = self.chosen(threat.target);
        let given = self.by_name(&chosen)?;
        let built = chosen
            .iter()
            .map(|certificate| self.build(certificate, &given, threat))
            .collect::<Result<Vec<Built>>>()?;
        for (name, _) in &given {
            refuse_unused(name, &built)?;
        }
        built
            .into_iter()
            .map(|(certificate, _)| certificate.check_for(threat).map(|()| certificate))
            .collect()
    }

    /// The settings by the names under which they are stored; settings that belong only to other
    /// certificates are refused.
    fn by_name(&self, chosen: &[Certificate]) -> Result<Vec<SettingText>> {
        let settings = || Certificate::LIST.iter().flat_map(|entry| entry.settings);
        let one = |(key, text): &SettingText| {
            let known = settings().find(|s| s.name == key || s.flag == key);
            let Some(setting) = known else {
                let none = chosen
                    .first()
                    .map_or(Certificate::LIST[0], Certificate::info);
                check_applies(
                    "certificate",
                    Certificate::LIST,
                    &none,
                    &[(key.clone(), text.clone())],
                )?;
                return Err(Error::unknown("setting", key, settings().map(|s| s.flag)));
            };
            if chosen
                .iter()
                .any(|certificate| takes(certificate, setting.name))
            {
                return Ok((setting.name.to_string(), text.clone()));
            }
            let takers = Certificate::names_of(|other| takes(other, setting.name));
            let names: Vec<&str> = chosen.iter().map(Certificate::name).collect();
            let verb = if names.len() == 1 {
                "the method is"
            } else {
                "the methods are"
            };
            let names = join_names(&names);
            let what = format!("belongs to {takers}, and {verb} {names}");
            Err(Error::unsupported(setting.flag, what))
        };
        self.settings.iter().map(one).collect()
    }

    /// Builds one certificate from its settings that have an effect, and returns the others.
    fn build(
        &self,
        certificate: &Certificate,
        given: &[SettingText],
        threat: ThreatModel,
    ) -> Result<Built> {
        certificate.check_target(threat.target)?;
        let own = given.iter().filter(|(name, _)| takes(certificate, name));
        let own: Vec<SettingText> = own.cloned().collect();
        let unused = self
            .with(certificate, &own, threat)?
            .method()
            .unused(threat);
        let has_effect = |(name, _): &SettingText| !unused.iter().any(|(other, _)| other == name);
        let used: Vec<SettingText> = own.into_iter().filter(has_effect).collect();
        Ok((self.with(certificate, &used, threat)?, unused))
    }

    fn with(
        &self,
        certificate: &Certificate,
        given: &[SettingText],
        threat: ThreatModel,
    ) -> Result<Certificate> {
        let with = certificate.with(given)?;
        Ok(if self.is_all() {
            with.side_by_side(threat)
        } else {
            with
        })
    }

    /// Returns the certificates that cover a model and, if all methods are requested, the reasons
    /// why the others do not.
    pub fn covering(
        &self,
        certificates: Vec<Certificate>,
        plan: &Plan,
    ) -> (Vec<Certificate>, Vec<String>) {
        let mut left_out = Vec::new();
        let covers = |certificate: &Certificate| match certificate.unmet(plan) {
            Some(why) if self.is_all() => {
                left_out.push(format!("{certificate} is left out: it covers {why}"));
                false
            }
            _ => true,
        };
        (certificates.into_iter().filter(covers).collect(), left_out)
    }
}

fn has_features(content: &Content) -> bool {
    match content {
        Content::Graph(graph) => graph.features().is_some(),
        Content::Graphs(set) => set.graphs().iter().any(|graph| graph.features().is_some()),
    }
}

fn takes(certificate: &Certificate, setting: &str) -> bool {
    let settings = certificate.info().settings;
    settings.iter().any(|known| known.name == setting)
}

/// Refuses a setting without effect on every certificate that takes it.
fn refuse_unused(name: &str, built: &[Built]) -> Result<()> {
    let mut takers = built
        .iter()
        .filter(|(certificate, _)| takes(certificate, name));
    let unused = |(certificate, unused): &Built| {
        let found = unused.iter().find(|(other, _)| *other == name);
        found.map(|unused| certificate.refuse_unused(*unused))
    };
    let refusals: Option<Vec<Error>> = takers.by_ref().map(unused).collect();
    match refusals.and_then(|refusals| refusals.into_iter().next()) {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::study::certify::threat::Rows;
    use crate::study::certify::{Convex, Exact, Lipschitz, RadiusList};
    use gnarl_nn::networks::Backbone;
    use gnarl_robust::robustness::certify::Threat;

    fn request(methods: &str, target: Option<Target>, settings: &[(&str, &str)]) -> Request {
        Request {
            methods: methods
                .split(',')
                .map(|name| name.parse().unwrap())
                .collect(),
            target,
            settings: settings
                .iter()
                .map(|(name, text)| (name.to_string(), text.to_string()))
                .collect(),
        }
    }

    fn certificates(request: &Request) -> Result<Vec<Certificate>> {
        request.certificates(request.threat(None))
    }

    fn refusal(methods: &str, target: Option<Target>, settings: &[(&str, &str)]) -> String {
        let found = certificates(&request(methods, target, settings));
        found.unwrap_err().to_string()
    }

    #[test]
    fn names_and_options_of_settings_are_read() {
        let settings = [("epsilon", "0,0.1"), ("norm", "inf")];
        let found = certificates(&request("lipschitz", None, &settings)).unwrap();
        let expected = Lipschitz {
            norm: gnarl_robust::perturb::Norm::Infinity,
            radii: Some(RadiusList::new(&[0.0, 0.1]).unwrap()),
            ..Lipschitz::default()
        };
        assert_eq!(found, [expected.into()]);
        let same = [("radii", "0,0.1"), ("norm", "inf")];
        assert_eq!(
            certificates(&request("lipschitz", None, &same)).unwrap(),
            found
        );
    }

    #[test]
    fn all_methods_are_made_comparable() {
        let found = certificates(&request("all", None, &[("max-radius", "3")])).unwrap();
        let names: Vec<&str> = found.iter().map(Certificate::name).collect();
        assert_eq!(names, ["smoothing", "lipschitz", "convex"]);
        let threat = request("all", None, &[]).threat(None);
        assert_eq!(found[1].method().rows(threat), Rows::Flips(3));
        let edges = certificates(&request("all", Some(Target::Edges), &[])).unwrap();
        let both = Exact {
            threat: Some(Threat::Both),
            ..Exact::default()
        };
        assert_eq!(edges[2], both.into());
        let both = certificates(&request("all", Some(Target::Both), &[])).unwrap();
        assert_eq!(both.len(), 1, "smoothing alone covers both");
    }

    #[test]
    fn an_open_target_is_one_that_the_methods_cover() {
        let default = |methods: &str| request(methods, None, &[]).threat(None).target;
        assert_eq!(default("smoothing,lipschitz"), Target::Features);
        assert_eq!(default("exact"), Target::Edges);
        assert_eq!(default("exact,smoothing"), Target::Edges);
        assert_eq!(default("all"), Target::Features);
        let graph = gnarl_graph::generate::cycle(5).unwrap();
        let content = Content::Graph(graph);
        let without = request("smoothing", None, &[]).threat(Some(&content));
        assert_eq!(without.target, Target::Edges);
    }

    #[test]
    fn settings_without_effect_are_refused() {
        for (methods, target, setting, message) in [
            (
                "smoothing",
                None,
                ("threat", "add"),
                "threat: belongs to exact, and the method is smoothing",
            ),
            (
                "smoothing,lipschitz",
                None,
                ("local", "2"),
                "local: belongs to convex, and the methods are smoothing and lipschitz",
            ),
            (
                "smoothing",
                None,
                ("edge-p-plus", "0.1"),
                "edge-p-plus: belongs to smoothing with target both",
            ),
            (
                "smoothing",
                Some(Target::Edges),
                ("gaussian", "0.1"),
                "gaussian: belongs to smoothing of features",
            ),
            (
                "lipschitz",
                Some(Target::Edges),
                ("epsilon", "0.1"),
                "epsilon: belongs to lipschitz on features, by distance",
            ),
            (
                "lipschitz",
                None,
                ("max-radius", "3"),
                "max-radius: belongs to flips by lipschitz, exact and convex",
            ),
            (
                "all",
                None,
                ("norm", "2"),
                "norm: belongs to lipschitz on features, by distance",
            ),
            (
                "lipschitz",
                Some(Target::Both),
                ("norm", "1"),
                "target must be features or edges for lipschitz (got both)",
            ),
            (
                "convex",
                None,
                ("local", "0"),
                "local must be in [1, 1000000] (got 0)",
            ),
            (
                "smoothing",
                None,
                ("sample", "7"),
                "unknown setting 'sample'; did you mean samples?",
            ),
        ] {
            assert_eq!(refusal(methods, target, &[setting]), message);
        }
        let gaussian = [("gaussian", "0.5"), ("p-plus", "0.1")];
        let e = refusal("smoothing", None, &gaussian);
        assert_eq!(e, "p-plus: belongs to smoothing by flips, without gaussian");
        // One of several certificates uses the setting.
        let several = request("lipschitz,convex", None, &[("max-radius", "3")]);
        let found = certificates(&several).unwrap();
        let convex = Convex {
            max_radius: 3,
            ..Convex::default()
        };
        assert_eq!(found, [Lipschitz::default().into(), convex.into()]);
    }

    #[test]
    fn methods_that_do_not_cover_a_model_are_left_out_of_all() {
        let plan = Model::new(Backbone::GAT).plan(Task::Graph).unwrap();
        let all = request("all", Some(Target::Edges), &[]);
        let (kept, left_out) = all.covering(certificates(&all).unwrap(), &plan);
        assert_eq!((kept.len(), left_out.len()), (1, 2));
        assert_eq!(
            left_out,
            [
                "lipschitz is left out: it covers gcn, gin, sgc and mlp, not gat",
                "exact is left out: it covers the nodes of one graph, not a set of graphs",
            ]
        );
        let named = request("exact", None, &[]);
        let (kept, left_out) = named.covering(certificates(&named).unwrap(), &plan);
        assert_eq!((kept.len(), left_out.len()), (1, 0));
        let e = kept[0].check_model(&plan, Target::Edges).unwrap_err();
        assert_eq!(
            e.to_string(),
            "method: exact covers the nodes of one graph, not a set of graphs; smoothing covers this model"
        );
    }
}
