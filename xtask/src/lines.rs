//! Counts lines of code per crate.

use std::path::Path;

use super::files;

/// Prints code, comment and test lines of every crate.
pub fn print(root: &Path) -> Result<Vec<String>, String> {
    println!(
        "{:16}{:>8}{:>10}{:>8}{:>8}",
        "crate", "code", "comments", "unit", "tests"
    );
    let mut crates: Vec<_> = std::fs::read_dir(root.join("crates"))
        .map_err(|e| e.to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    crates.sort();
    for folder in crates {
        let mut counts = [0; 4];
        for file in files(&folder, &["rs"])? {
            let text =
                std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            let is_source = file.starts_with(folder.join("src"));
            let (code, unit) = match text.find("#[cfg(test)]\nmod tests") {
                Some(at) if is_source => text.split_at(at),
                _ => (text.as_str(), ""),
            };
            for line in code.lines().map(str::trim).filter(|line| !line.is_empty()) {
                let kind = match (is_source, line.starts_with("//")) {
                    (false, _) => 3,
                    (true, true) => 1,
                    (true, false) => 0,
                };
                counts[kind] += 1;
            }
            counts[2] += unit.lines().filter(|line| !line.trim().is_empty()).count();
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let [code, comments, unit, tests] = counts;
        println!("{name:16}{code:>8}{comments:>10}{unit:>8}{tests:>8}");
    }
    Ok(Vec::new())
}
