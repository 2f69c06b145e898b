//! Consistency of the documentation: links have targets, and the model of docs/model.md can be read
//! and planned.

use std::path::{Path, PathBuf};

use gnarl::prelude::*;
use gnarl_data::Task;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn pages() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let docs = std::fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|file| file.unwrap().path());
    let all = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(|name| root.join(name))
        .into_iter()
        .chain(docs);
    all.filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect()
}

/// Targets in the brackets of `](…)`, without external links.
fn links(text: &str) -> Vec<&str> {
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    targets.filter(|link| !link.contains("://")).collect()
}

/// Anchors of a page's headings: small letters, digits, hyphens and underscores, hyphens for
/// spaces. The second of equal headings has `-1` at its end, and so on.
fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        if is_code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading
            .trim()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept
            .map(|c| {
                if c == ' ' {
                    '-'
                } else {
                    c.to_ascii_lowercase()
                }
            })
            .collect();
        let before = found.iter().filter(|known| **known == anchor).count();
        found.push(if before == 0 {
            anchor
        } else {
            format!("{anchor}-{before}")
        });
    }
    found
}

/// Targets of a page's links that do not exist.
fn dead_links(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let is_alive = |link: &&str| {
        let (file, anchor) = link
            .split_once('#')
            .map_or((*link, None), |(file, anchor)| (file, Some(anchor)));
        let target = if file.is_empty() {
            page.to_path_buf()
        } else {
            page.parent().unwrap().join(file)
        };
        match anchor {
            None => target.exists(),
            Some(anchor) => std::fs::read_to_string(target)
                .is_ok_and(|text| anchors(&text).iter().any(|a| a == anchor)),
        }
    };
    links(&text)
        .into_iter()
        .filter(|link| !is_alive(link))
        .map(|link| format!("{}: {link}", page.display()))
        .collect()
}

#[test]
fn links_have_targets() {
    assert_eq!(
        links("[a](b.md), [c](https://d) and [e](#f)"),
        ["b.md", "#f"]
    );
    let page = "# What the thesis' `x_y` says\n```sh\n# no heading\n```\n## Two\n#tag\n### Two\n";
    assert_eq!(anchors(page), ["what-the-thesis-x_y-says", "two", "two-1"]);
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    std::fs::write(
        &page,
        "# Here\n[1](#here) [2](page.md#here) [3](#there) [4](page.md#there) [5](none.md)",
    )
    .unwrap();
    assert_eq!(dead_links(&page).len(), 3, "{:?}", dead_links(&page));

    let pages = pages();
    assert!(pages.len() > 15, "{pages:?}");
    let dead: Vec<String> = pages.iter().flat_map(|page| dead_links(page)).collect();
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

/// The book (docs/SUMMARY.md) and the list of pages (docs/README.md) contain every page, the book
/// each once. The test above checks that the listed pages exist.
#[test]
fn every_page_is_listed() {
    let read =
        |name: &str| std::fs::read_to_string(Path::new(ROOT).join("docs").join(name)).unwrap();
    let (list, book) = (read("README.md"), read("SUMMARY.md"));
    let chapters = links(&book);
    for page in std::fs::read_dir(Path::new(ROOT).join("docs")).unwrap() {
        let name = page.unwrap().file_name().into_string().unwrap();
        assert!(
            name == "README.md" || list.contains(&format!("({name})")),
            "{name} is not in docs/README.md"
        );
        let times = chapters.iter().filter(|chapter| **chapter == name).count();
        assert_eq!(
            times,
            usize::from(name != "SUMMARY.md"),
            "{name} in docs/SUMMARY.md"
        );
    }
    let settings = std::fs::read_to_string(Path::new(ROOT).join("book.toml")).unwrap();
    assert!(
        settings.lines().any(|line| line == "src = \"docs\""),
        "the book is made of docs/"
    );
}

#[test]
fn the_spec_of_the_model_page_is_valid() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/model.md")).unwrap();
    let text = page
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let model = Model::from_toml(text).unwrap();
    let plan = model.plan(Task::Node).unwrap();
    assert_eq!(plan.network.layers, 3);
    // Five axes and a defence, none of them at its default choice.
    let plain = Model::new(Backbone::GCN);
    assert!(
        model.operator != plain.operator
            && model.depth != plain.depth
            && model.weights != plain.weights
    );
    assert!(
        model.inference != plain.inference
            && model.augment != plain.augment
            && model.defense != plain.defense
    );
    // The file has nothing that the model does not keep.
    assert_eq!(Model::from_toml(&model.to_toml().unwrap()).unwrap(), model);
}
