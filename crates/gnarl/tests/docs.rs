//! The pages say what is there: links lead somewhere, and the model of docs/model.md can be read and planned.

use std::path::{Path, PathBuf};

use gnarl::graph::dataset::Task;
use gnarl::prelude::*;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn pages() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|file| file.unwrap().path());
    let all = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root.join(name)).into_iter().chain(docs);
    all.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// What stands in the brackets of `](…)`, without what is not a file of ours.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|link| !link.contains("://") && !link.starts_with('#')).collect()
}

#[test]
fn links_lead_somewhere() {
    assert_eq!(links("[a](b.md), [c](https://d) and [e](#f)"), ["b.md"]);
    let pages = pages();
    assert!(pages.len() > 15, "{pages:?}");
    for page in &pages {
        let text = std::fs::read_to_string(page).unwrap();
        for link in links(&text) {
            let file = link.split('#').next().unwrap();
            assert!(page.parent().unwrap().join(file).exists(), "{}: {link}", page.display());
        }
    }
}

#[test]
fn every_page_is_listed() {
    let list = std::fs::read_to_string(Path::new(ROOT).join("docs/README.md")).unwrap();
    for page in std::fs::read_dir(Path::new(ROOT).join("docs")).unwrap() {
        let name = page.unwrap().file_name().into_string().unwrap();
        assert!(name == "README.md" || list.contains(&format!("({name})")), "{name}");
    }
}

#[test]
fn the_model_of_the_page_is_one() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/model.md")).unwrap();
    let text = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let model = Model::from_toml(text).unwrap();
    let plan = model.plan(Task::Node).unwrap();
    assert_eq!(plan.network.layers, 3);
    // Five axes and a defence, none of them at its plain choice.
    let plain = Model::new(Backbone::Gcn);
    assert!(model.operator != plain.operator && model.depth != plain.depth && model.weights != plain.weights);
    assert!(model.inference != plain.inference && model.augment != plain.augment && model.defense != plain.defense);
    // The file says nothing that the model does not keep.
    assert_eq!(Model::from_toml(&model.to_toml().unwrap()).unwrap(), model);
}
