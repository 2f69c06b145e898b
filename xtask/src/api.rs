//! Counts the public items of the crate `gnarl`.
//!
//! An item is a module, type, trait, function, constant, type alias or macro that a path from the
//! crate's root reaches in rustdoc's JSON; hidden items are not in it. Methods, fields and variants
//! belong to their type and are not counted; an item with several paths counts once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Largest number of items.
const MAX_ITEMS: usize = 350;
/// Largest number of modules.
const MAX_MODULES: usize = 25;

/// Prints the counts, and returns a complaint for each that is too large.
pub fn check(root: &Path) -> Result<Vec<String>, String> {
    let built = Command::new("cargo")
        .args(["rustdoc", "--quiet", "--package", "gnarl", "--lib", "--"])
        .args(["-Z", "unstable-options", "--output-format", "json"])
        // Rustdoc's JSON is not stable yet; it is read by this task alone.
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(root)
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if !built.success() {
        return Err("cargo rustdoc failed".into());
    }
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".into());
    let file = root.join(target).join("doc/gnarl.json");
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let json: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let mut found = Found::default();
    let start = json["root"].to_string();
    found.module(&json["index"], start.trim_matches('"'), "gnarl");
    for (module, items) in &found.by_module {
        println!("{:5}  {module}", items.len());
    }
    let (items, modules) = (found.items.len(), found.by_module.len() - 1);
    println!("{items} items and {modules} modules");
    let mut complaints = Vec::new();
    if items > MAX_ITEMS {
        complaints.push(format!(
            "{items} public items, at most {MAX_ITEMS} are meant"
        ));
    }
    if modules > MAX_MODULES {
        complaints.push(format!(
            "{modules} public modules, at most {MAX_MODULES} are meant"
        ));
    }
    Ok(complaints)
}

/// Items by identifier, and names by module.
#[derive(Default)]
struct Found {
    items: BTreeSet<String>,
    by_module: BTreeMap<String, BTreeSet<String>>,
}

impl Found {
    fn module(&mut self, index: &Value, id: &str, path: &str) {
        self.by_module.entry(path.to_string()).or_default();
        let members = index[id]["inner"]["module"]["items"].as_array();
        for member in members.into_iter().flatten() {
            let id = member.to_string().trim_matches('"').to_string();
            self.member(index, &id, path);
        }
    }

    fn member(&mut self, index: &Value, id: &str, path: &str) {
        let item = &index[id];
        let Some((kind, inner)) = item["inner"]
            .as_object()
            .and_then(|inner| inner.iter().next())
        else {
            return;
        };
        match kind.as_str() {
            "module" => {
                let name = item["name"].as_str().unwrap_or_default();
                self.items.insert(id.to_string());
                self.module(index, id, &format!("{path}::{name}"));
            }
            "use" => {
                let name = inner["name"].as_str().unwrap_or_default();
                let of = inner["id"].to_string().trim_matches('"').to_string();
                if inner["is_glob"].as_bool() == Some(true) {
                    self.module(index, &of, path);
                } else if index[&of]["inner"]["module"].is_object() {
                    self.items.insert(of.clone());
                    self.module(index, &of, &format!("{path}::{name}"));
                } else {
                    self.items.insert(of);
                    self.named(path, name);
                }
            }
            "impl" => {}
            _ => {
                self.items.insert(id.to_string());
                self.named(path, item["name"].as_str().unwrap_or_default());
            }
        }
    }

    fn named(&mut self, path: &str, name: &str) {
        self.by_module
            .entry(path.to_string())
            .or_default()
            .insert(name.to_string());
    }
}
