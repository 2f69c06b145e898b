//! Command-line options built from the library's lists of choices.

use std::fmt::Display;

use clap::Arg;
use gnarl::augment::density::Density;
use gnarl::model::{Model, Section};
use gnarl::study::certify::Certificate;
use gnarl_graph::Error;
use gnarl_graph::settings::{ChoiceInfo, Kind, Setting, renamed};
use gnarl_robust::attack::Attack;

/// Builds an option under a heading.
pub fn option(flag: &'static str, heading: &'static str) -> Arg {
    Arg::new(flag)
        .long(flag)
        .help_heading(heading)
        .allow_negative_numbers(true)
}

/// Builds the option that selects a choice of a list.
pub fn choice_option(section: &Section) -> Option<Arg> {
    let name = |(name, about): &(String, &str)| {
        if about.is_empty() {
            name.clone()
        } else {
            format!("{name} ({about})")
        }
    };
    let names: Vec<String> = section.names.iter().map(name).collect();
    let option = option(section.axis?, section.title).value_name("KIND");
    Some(option.help(names.join(", ")))
}

/// Builds the option of a setting. A switch may have no value.
pub fn setting_option(section: &Section, setting: &Setting) -> Arg {
    let option = option(setting.flag, section.title)
        .value_name(setting.placeholder())
        .help(section.help(setting));
    match setting.kind {
        Kind::Switch => option.num_args(0..=1).default_missing_value("true"),
        _ => option,
    }
}

/// Builds the error of a value outside its range: `--workers must be >= 1 (got 0)`.
pub fn out_of_range(option: &str, range: impl Display, got: impl Display) -> Error {
    Error::OutOfRange {
        setting: option.trim_start_matches('-').to_string(),
        range: range.to_string(),
        got: got.to_string(),
    }
}

/// Rewrites an error to name the option as it is typed: `flips: belongs to …` becomes `--flips: …`.
pub fn by_option(error: Error) -> Error {
    error.rename_setting(|setting| format!("--{setting}"))
}

/// Returns the options that replace one of an earlier version, as in `--p of dropedge and dropnode;
/// --alpha of manifold-mixup`.
pub fn new_names(old: &str) -> Option<String> {
    let sections = Model::sections();
    let lists = sections.iter().map(|section| section.list);
    let mut found: Vec<String> = Vec::new();
    for list in lists.chain([Attack::LIST, Density::LIST, Certificate::LIST]) {
        found.extend(new_names_in(list, old));
    }
    let shared = sections
        .iter()
        .filter(|section| section.list.is_empty())
        .flat_map(|section| &section.settings)
        .filter(|setting| setting.replaces(old));
    found.extend(shared.map(|setting| format!("--{}", setting.flag)));
    (!found.is_empty()).then(|| found.join("; "))
}

fn new_names_in(list: &[ChoiceInfo], old: &str) -> Vec<String> {
    let new = renamed(list, old).unwrap_or_default();
    let each = new.split("; ").filter(|name| !name.is_empty());
    each.map(|name| format!("--{name}")).collect()
}
