//! Dependency order of modules, read from the sources. A file imports its own module and those
//! below it, never those above, and no more than three files import each other in a cycle. The
//! tests inside the sources obey the order, too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Maximal number of files in an import cycle: larger groups cannot be read one file at a time.
/// Imports of their tests are ignored: a test of a small item may well use a larger one of its
/// module.
const LARGEST_CIRCLE: usize = 3;

/// A test file that neither its crate's root nor its manifest names is never compiled and never
/// fails.
#[test]
fn every_file_of_tests_is_compiled() {
    for (package, root) in [
        ("gnarl", "library"),
        ("gnarl-cli", "commands"),
        ("gnarl-graph", "graph"),
        ("gnarl-thesis", "thesis"),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .join(package)
            .join("tests");
        let named = std::fs::read_to_string(folder.join(root).with_extension("rs")).unwrap();
        let manifest = std::fs::read_to_string(folder.join("../Cargo.toml")).unwrap();
        for file in std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            let name = file.file_stem().unwrap().to_str().unwrap();
            let is_program = manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
            if file.extension().is_some_and(|e| e == "rs") && !is_program {
                let line = format!("mod {name};");
                assert!(
                    named.lines().any(|l| l == line),
                    "{line} is missing in {package}/tests/{root}.rs"
                );
            }
        }
    }
}

#[test]
fn a_room_of_gnarl_uses_what_is_below_it() {
    let sources = Sources::read("gnarl");
    let order = rooms_of_table(&sources.root);
    assert!(
        order.len() > 15 && order[0] == "error" && order.ends_with(&["study".to_string()]),
        "{order:?}"
    );
    let rank = |room: &str| order.iter().position(|known| known == room);
    let outside = ["prelude", "testing", "operations"];
    for room in sources.rooms() {
        assert!(
            rank(&room).is_some() != outside.contains(&room.as_str()),
            "{room} is not in the table of lib.rs"
        );
    }
    // Items outside the order have no rank, but no file may bypass the order through the prelude.
    let place = |room: &str| {
        if ["prelude", "operations"].contains(&room) {
            Some(usize::MAX)
        } else {
            rank(room)
        }
    };
    sources.assert_ordered(
        |room| {
            if outside.contains(&room) {
                None
            } else {
                rank(room)
            }
        },
        place,
    );
}

#[test]
fn a_room_of_gnarl_graph_uses_what_is_below_it() {
    let sources = Sources::read("gnarl-graph");
    let tiers = tiers_of_prose(&sources.root);
    assert_eq!(tiers.len(), 4, "{tiers:?}");
    let rank = |room: &str| {
        tiers
            .iter()
            .position(|tier| tier.iter().any(|known| known == room))
    };
    for room in sources.rooms() {
        assert!(
            rank(&room).is_some(),
            "{room} has no place in the order that lib.rs states"
        );
    }
    sources.assert_ordered(rank, rank);
}

#[test]
fn commands_are_above_what_they_share() {
    let sources = Sources::read("gnarl-cli");
    let shared = ["global", "output", "progress", "plot", "html", "interrupt"];
    let mut found = Vec::new();
    for (file, imports) in &sources.imports {
        let importer = module_of(file);
        for import in imports {
            let from = importer.first().map_or("main", String::as_str);
            let wrong = match import.first().map(String::as_str) {
                Some("commands") => shared.contains(&from),
                Some("args") => !["main", "args"].contains(&from),
                _ => false,
            };
            if wrong {
                found.push(format!("{} imports {}", file.display(), import.join("::")));
            }
        }
    }
    assert!(
        shared.iter().all(|room| sources.rooms().contains(*room)),
        "a shared file was renamed"
    );
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The Python crate contains conversions and calls, and each of its files depends on the same few
/// modules.
#[test]
fn files_for_python_stand_on_the_same_ground() {
    let sources = Sources::read("gnarl-py");
    let ground = ["errors", "arrays", "work", "graph"];
    let mut found = Vec::new();
    for (file, imports) in &sources.imports {
        let Some(from) = module_of(file).first().cloned() else {
            continue;
        };
        let height = |room: &str| ground.iter().position(|known| *known == room);
        for to in imports
            .iter()
            .filter_map(|import| import.first())
            .filter(|to| **to != from)
        {
            let wrong = match (height(&from), height(to)) {
                (Some(from), Some(to)) => to > from,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                // Fitted models, and user-defined ones, are used by several files.
                (None, None) => to != "model" && (to != "subject" || from == "model"),
            };
            if wrong {
                found.push(format!("{} imports {to}", file.display()));
            }
        }
    }
    assert!(
        ground.iter().all(|room| sources.rooms().contains(*room)),
        "a file was renamed"
    );
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_large_circles_of_files() {
    for name in [
        "gnarl-linalg",
        "gnarl-graph",
        "gnarl-tensor",
        "gnarl",
        "gnarl-thesis",
        "gnarl-cli",
        "gnarl-py",
    ] {
        let circles = Sources::read(name).circles();
        let large: Vec<_> = circles
            .iter()
            .filter(|circle| circle.len() > LARGEST_CIRCLE)
            .collect();
        assert!(
            large.is_empty(),
            "files of {name} that import each other in a circle: {large:#?}"
        );
    }
}

/// Files with `unsafe` code, and its purpose. Every other file must do without.
const UNSAFE: [(&str, &str); 29] = [
    (
        "crates/gnarl-cli/src/main.rs",
        "two settings of the allocator, which it has in C alone",
    ),
    (
        "crates/gnarl-data/examples/scale.rs",
        "an allocator that counts, for a benchmark",
    ),
    (
        "crates/gnarl-graph/src/stored.rs",
        "files mapped into memory",
    ),
    (
        "crates/gnarl-py/src/arrays.rs",
        "NumPy's arrays over memory of ours, which they keep alive",
    ),
    (
        "crates/gnarl-tensor/src/activation.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/array.rs",
        "the promise that fresh memory is written in full",
    ),
    (
        "crates/gnarl-tensor/src/attention.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/bias.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/buffer.rs",
        "memory handed on without being cleared",
    ),
    (
        "crates/gnarl-tensor/src/dense.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/device.rs",
        "rows just written, looked at as numbers",
    ),
    (
        "crates/gnarl-tensor/src/factored.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/gemm.rs",
        "products added to what is there or written to fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/kernels.rs",
        "inner loops without a check per entry: the pattern was checked when it was made",
    ),
    (
        "crates/gnarl-tensor/src/loss.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/operator/gather.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/operator/pairs.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/operator/parts.rs",
        "patterns made of parts of a valid one, without another check",
    ),
    (
        "crates/gnarl-tensor/src/operator/variable.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/ops/arithmetic.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/ops/elementwise.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/ops/layout.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/ops/product.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/ops/select.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/pattern.rs",
        "patterns made of parts of a valid one, without another check",
    ),
    (
        "crates/gnarl-tensor/src/segment.rs",
        "results written once into fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/simd.rs",
        "kernels compiled for registers that the machine was found to have",
    ),
    (
        "crates/gnarl-tensor/src/tape.rs",
        "gradients added to what is there or written to fresh memory",
    ),
    (
        "crates/gnarl-tensor/src/target.rs",
        "fresh memory, written in full or added to",
    ),
];

/// Maximal number of lines between `unsafe` and the comment above that justifies it.
const NEAR: usize = 12;

#[test]
fn unsafe_code_stands_in_named_files_and_says_why_it_is_sound() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut files, mut silent) = (BTreeSet::new(), Vec::new());
    for (file, text) in ["crates", "examples", "fuzz"]
        .iter()
        .flat_map(|folder| sources_below(&root.join(folder)))
    {
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        if tokens(&text).iter().any(|token| token == "unsafe") {
            silent.extend(
                silent_unsafe(&text)
                    .into_iter()
                    .map(|line| format!("{name}:{line}")),
            );
            files.insert(name);
        }
    }
    let named: BTreeSet<String> = UNSAFE.iter().map(|(file, _)| file.to_string()).collect();
    assert_eq!(
        files, named,
        "unsafe code in files that are not named (left), or named files without any (right)"
    );
    assert!(
        silent.is_empty(),
        "no word on why this is sound:\n{}",
        silent.join("\n")
    );
    // Unsafe code is found, and safe code is not.
    assert_eq!(
        silent_unsafe("// SAFETY: so\nlet x = unsafe { y };\n"),
        [0; 0]
    );
    assert_eq!(
        silent_unsafe("let s = \"unsafe\"; // unsafe\nlet x = unsafe { y };\n"),
        [2]
    );
}

/// Lines with unsafe code that no comment nearby justifies. A declaration of foreign functions has
/// no obligations beyond those of its calls, and the functions of an `unsafe impl` share its
/// comment.
fn silent_unsafe(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let is_unsafe = |i: &usize| {
        let tokens = tokens(lines[*i]);
        let at = tokens.iter().position(|token| token == "unsafe");
        at.is_some_and(|at| {
            tokens
                .get(at + 1)
                .is_none_or(|next| next != "extern" && next != "fn")
        })
    };
    let is_told = |i: &usize| {
        lines[i.saturating_sub(NEAR)..*i]
            .iter()
            .any(|line| line.contains("// SAFETY:"))
    };
    (0..lines.len())
        .filter(is_unsafe)
        .filter(|i| !is_told(i))
        .map(|i| i + 1)
        .collect()
}

/// Rust files below a folder with their text, except build outputs.
fn sources_below(folder: &Path) -> Vec<(PathBuf, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(open) = folders.pop() {
        for entry in std::fs::read_dir(&open).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.extend((!path.ends_with("target")).then_some(path));
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found
}

/// The import reader, on a crate of three files.
#[test]
fn imports_are_found_wherever_they_stand() {
    let text = |name: &str| match name {
        "lib.rs" => "pub mod a; pub mod b; pub use b::inner::Deep; pub use a::Plain;",
        "a.rs" => {
            "use crate::{b::{self, Other as Another}, Deep};\n// crate::not::this\nconst S: &str = \"crate::nor::this\";\n\
             fn f<'a>(x: &'a str) -> crate::b::inner::Deep { '{'; self::g(); x.into() }\n\
             mod tests { use super::*; fn t() { super::super::b::call(); } }"
        }
        "b/mod.rs" => "pub mod inner; pub use inner::Deep; use super::Plain; pub struct Other;",
        _ => "use super::Other; pub struct Deep;",
    };
    let files = ["lib.rs", "a.rs", "b/mod.rs", "b/inner.rs"]
        .map(|name| (PathBuf::from(name), text(name).to_string()));
    let sources = Sources::of(files.into_iter().collect());
    let imports = |name: &str| -> Vec<String> {
        let found = sources.imports[Path::new(name)]
            .iter()
            .map(|path| path.join("::"));
        found.collect::<BTreeSet<_>>().into_iter().collect()
    };
    assert_eq!(
        imports("a.rs"),
        ["a", "a::g", "b", "b::Other", "b::call", "b::inner::Deep"]
    );
    assert_eq!(
        imports("b/mod.rs"),
        ["a::Plain"],
        "of its own files a module may name everything"
    );
    assert_eq!(imports("b/inner.rs"), ["b::Other"]);
    assert_eq!(
        sources.circles(),
        [["a.rs", "b/inner.rs", "b/mod.rs"]],
        "a asks inner, inner asks b, b asks a"
    );
}

/// Modules of the table in lib.rs, in order of dependency.
fn rooms_of_table(root: &str) -> Vec<String> {
    let rows = root
        .lines()
        .filter_map(|line| line.strip_prefix("//! | [`")?.split_once("`]"));
    rows.map(|(room, _)| room.to_string()).collect()
}

/// Tiers of the sentence in gnarl-graph's lib.rs: `error, random and names; then features …`.
fn tiers_of_prose(root: &str) -> Vec<Vec<String>> {
    let docs: Vec<&str> = root
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .map(str::trim)
        .collect();
    let docs = docs.join(" ");
    let (_, order) = docs
        .split_once("never those above: ")
        .expect("lib.rs states the order");
    let (order, _) = order.split_once('.').expect("a sentence");
    let rooms = |tier: &str| {
        tier.replace(" and ", ", ")
            .split(", ")
            .map(|room| room.trim().replace(' ', "_"))
            .collect()
    };
    order.split("; then ").map(rooms).collect()
}

/// A path inside a crate, without the `crate`.
type ItemPath = Vec<String>;

/// Files of a crate with their imports.
struct Sources {
    /// The text of lib.rs or main.rs.
    root: String,
    /// Files by their modules.
    modules: BTreeMap<ItemPath, PathBuf>,
    /// Definition of each import of each file: the module of a file, and perhaps an item of it.
    imports: BTreeMap<PathBuf, Vec<ItemPath>>,
    /// Imports without those of tests.
    outside_tests: BTreeMap<PathBuf, Vec<ItemPath>>,
}

impl Sources {
    fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .join(name)
            .join("src");
        let found = sources_below(&folder).into_iter();
        let files: BTreeMap<PathBuf, String> = found
            .map(|(path, text)| (path.strip_prefix(&folder).unwrap().to_path_buf(), text))
            .collect();
        assert!(!files.is_empty(), "{} has no sources", folder.display());
        Self::of(files)
    }

    fn of(files: BTreeMap<PathBuf, String>) -> Self {
        let modules: BTreeMap<ItemPath, PathBuf> = files
            .keys()
            .map(|file| (module_of(file), file.clone()))
            .collect();
        let parsed: BTreeMap<PathBuf, Parsed> = files
            .iter()
            .map(|(file, text)| (file.clone(), Parsed::of(file, text, &modules)))
            .collect();
        let resolve = |path: &ItemPath| resolve(path, &modules, &parsed, 0);
        let imports = |with_tests: bool| {
            let of_file = |(file, parsed): (&PathBuf, &Parsed)| {
                let (own, said) = (
                    module_of(file),
                    parsed
                        .paths
                        .iter()
                        .filter(|(_, in_tests)| with_tests || !in_tests),
                );
                let found = said
                    .map(|(path, _)| resolve(path))
                    .filter(|path| !is_own_part(&own, path, &modules));
                (file.clone(), found.collect())
            };
            parsed.iter().map(of_file).collect()
        };
        let root = files
            .get(Path::new("lib.rs"))
            .or(files.get(Path::new("main.rs")))
            .expect("a root")
            .clone();
        Self {
            root,
            imports: imports(true),
            outside_tests: imports(false),
            modules,
        }
    }

    /// The modules right below the root.
    fn rooms(&self) -> BTreeSet<String> {
        self.modules
            .keys()
            .filter_map(|module| module.first().cloned())
            .collect()
    }

    /// Every file of a ranked module imports modules of its rank and below.
    fn assert_ordered(
        &self,
        rank: impl Fn(&str) -> Option<usize>,
        place: impl Fn(&str) -> Option<usize>,
    ) {
        let mut found = BTreeSet::new();
        for (file, imports) in &self.imports {
            let module = module_of(file);
            let Some(own) = module.first().and_then(|room| rank(room)) else {
                continue;
            };
            for import in imports {
                let other = import.first().and_then(|room| place(room));
                if other.is_some_and(|other| other > own) {
                    found.insert(format!("{} imports {}", file.display(), import.join("::")));
                }
            }
        }
        let found: Vec<String> = found.into_iter().collect();
        assert!(
            found.is_empty(),
            "rooms use rooms above them:\n{}",
            found.join("\n")
        );
    }

    /// Files that import each other, directly or indirectly: the strongly connected components of
    /// more than one file.
    fn circles(&self) -> Vec<Vec<String>> {
        let files: Vec<&PathBuf> = self.outside_tests.keys().collect();
        let at = |file: &PathBuf| files.iter().position(|known| *known == file).unwrap();
        let to = |path: &ItemPath| self.file_of(path).map(at);
        let edges: Vec<BTreeSet<usize>> = files
            .iter()
            .map(|file| self.outside_tests[*file].iter().filter_map(to).collect())
            .collect();
        let reached: Vec<BTreeSet<usize>> =
            (0..files.len()).map(|from| reach(from, &edges)).collect();
        let mut circles = BTreeSet::new();
        for from in 0..files.len() {
            let circle: Vec<usize> = (0..files.len())
                .filter(|&to| reached[from].contains(&to) && reached[to].contains(&from))
                .collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles
            .into_iter()
            .map(|circle| {
                circle
                    .into_iter()
                    .map(|i| files[i].display().to_string())
                    .collect()
            })
            .collect()
    }

    /// File that defines an item: that of the longest module its path begins with. The root only
    /// re-exports.
    fn file_of(&self, path: &ItemPath) -> Option<&PathBuf> {
        (1..=path.len())
            .rev()
            .find_map(|length| self.modules.get(&path[..length]))
    }
}

/// Everything that can be reached in one step or more.
fn reach(from: usize, edges: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        open.extend(edges[at].iter().filter(|&&next| seen.insert(next)));
    }
    seen
}

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`; lib.rs and main.rs are the root.
fn module_of(file: &Path) -> ItemPath {
    let mut parts: Vec<String> = file
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if parts.last().is_some_and(|last| last == "mod")
        || parts.len() == 1 && ["lib", "main"].contains(&parts[0].as_str())
    {
        parts.pop();
    }
    parts
}

/// True for a path to a file inside the importing module: a module may gather and list its own
/// files.
fn is_own_part(module: &ItemPath, path: &ItemPath, modules: &BTreeMap<ItemPath, PathBuf>) -> bool {
    path.len() > module.len()
        && path.starts_with(module)
        && modules.contains_key(&path[..=module.len()])
}

/// Definition of an item, through re-exports.
fn resolve(
    path: &ItemPath,
    modules: &BTreeMap<ItemPath, PathBuf>,
    parsed: &BTreeMap<PathBuf, Parsed>,
    depth: usize,
) -> ItemPath {
    let mut module: ItemPath = Vec::new();
    for (i, part) in path.iter().enumerate() {
        let child = [module.as_slice(), std::slice::from_ref(part)].concat();
        // A name that is a module and a re-exported item (`load`, the function of the module
        // `load`) is the same file either way.
        if modules.contains_key(&child) {
            module = child;
            continue;
        }
        let renamed = modules
            .get(&module)
            .and_then(|file| parsed[file].brought_in.get(part));
        return match renamed {
            Some(target) if depth < 8 => resolve(
                &[target.as_slice(), &path[i + 1..]].concat(),
                modules,
                parsed,
                depth + 1,
            ),
            _ => path.clone(),
        };
    }
    module
}

/// Imports of a file, by paths from the root.
#[derive(Default)]
struct Parsed {
    /// Paths, and true for those in tests.
    paths: Vec<(ItemPath, bool)>,
    /// Names that `use` brings into the file's own module, and their paths.
    brought_in: BTreeMap<String, ItemPath>,
}

impl Parsed {
    fn of(file: &Path, text: &str, modules: &BTreeMap<ItemPath, PathBuf>) -> Self {
        let tokens = tokens(text);
        let own = module_of(file);
        let (mut found, mut inside, mut depth) =
            (Self::default(), Vec::<(String, usize)>::new(), 0);
        let mut i = 0;
        while i < tokens.len() {
            let is_start = i == 0 || tokens[i - 1] != "::";
            let in_use = i > 0 && tokens[i - 1] == "use";
            let here = || {
                [
                    own.clone(),
                    inside.iter().map(|(name, _)| name.clone()).collect(),
                ]
                .concat()
            };
            match tokens[i].as_str() {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    inside.retain(|(_, opened)| *opened <= depth);
                }
                "mod" if tokens.get(i + 2).is_some_and(|next| next == "{") => {
                    depth += 1;
                    inside.push((tokens[i + 1].clone(), depth));
                    i += 3;
                    continue;
                }
                word if is_start && tokens.get(i + 1).is_some_and(|next| next == "::") => {
                    let here: ItemPath = here();
                    let is_child = in_use
                        && modules.contains_key(&[here.as_slice(), &[word.to_string()]].concat());
                    if ["crate", "super", "self"].contains(&word) || is_child {
                        let mut trees = Vec::new();
                        let end = tree(&tokens, i, &[], &mut trees);
                        let is_ours = inside.is_empty() && in_use;
                        for (path, name) in trees {
                            let path = absolute(&path, &here);
                            if let (true, Some(name)) = (is_ours, name) {
                                found.brought_in.insert(name, path.clone());
                            }
                            found.paths.push((path, !inside.is_empty()));
                        }
                        i = end;
                        continue;
                    }
                }
                _ => {}
            }
            i += 1;
        }
        found
    }
}

/// Path from the root for a path used in a module.
fn absolute(path: &[String], here: &ItemPath) -> ItemPath {
    let (mut base, mut rest) = match path[0].as_str() {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (here.clone(), &path[1..]),
        _ => (here.clone(), path),
    };
    while rest.first().is_some_and(|part| part == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    base
}

/// Reads a path or a tree of `use` from token `i` on: all its leaves with the names they introduce,
/// and its end.
fn tree(
    tokens: &[String],
    mut i: usize,
    before: &[String],
    found: &mut Vec<(ItemPath, Option<String>)>,
) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(i).map(String::as_str) {
            Some("{") => {
                i += 1;
                while tokens.get(i).is_some_and(|token| token != "}") {
                    i = if tokens[i] == "," {
                        i + 1
                    } else {
                        tree(tokens, i, &path, found)
                    };
                }
                return i + 1;
            }
            // All of a module, and a group's own module.
            Some("*") => {
                found.push((path, None));
                return i + 1;
            }
            Some("self") if !path.is_empty() => {}
            Some(word) if word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                path.push(word.to_string())
            }
            _ => {
                found.push((path, None));
                return i;
            }
        }
        i += 1;
        if tokens.get(i).is_none_or(|token| token != "::") {
            let renamed = tokens
                .get(i)
                .filter(|token| *token == "as")
                .and_then(|_| tokens.get(i + 1))
                .cloned();
            let end = if renamed.is_some() { i + 2 } else { i };
            let name = renamed.or_else(|| path.last().cloned());
            found.push((path, name));
            return end;
        }
        i += 1;
    }
}

/// Words, `::` and single signs, without comments and literals.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut tokens, mut i) = (Vec::new(), 0);
    while i < chars.len() {
        let c = chars[i];
        if c == '/' && at(i + 1) == '/' {
            while i < chars.len() && chars[i] != '\n' {
                i += 1;
            }
        } else if c == '/' && at(i + 1) == '*' {
            while i < chars.len() && !(chars[i] == '*' && at(i + 1) == '/') {
                i += 1;
            }
            i += 2;
        } else if c == 'r'
            && (at(i + 1) == '"' || at(i + 1) == '#' && (at(i + 2) == '"' || at(i + 2) == '#'))
        {
            let hashes = chars[i + 1..].iter().take_while(|c| **c == '#').count();
            i += hashes + 2;
            while i < chars.len()
                && !(chars[i] == '"'
                    && chars[i + 1..]
                        .iter()
                        .take(hashes)
                        .filter(|c| **c == '#')
                        .count()
                        == hashes)
            {
                i += 1;
            }
            i += 1 + hashes;
        } else if c == '"' {
            i += 1;
            while i < chars.len() && chars[i] != '"' {
                i += if chars[i] == '\\' { 2 } else { 1 };
            }
            i += 1;
        } else if c == '\'' && (at(i + 1) == '\\' || at(i + 2) == '\'') {
            // A character, not a lifetime.
            i += if at(i + 1) == '\\' { 3 } else { 2 };
            while i < chars.len() && chars[i] != '\'' {
                i += 1;
            }
            i += 1;
        } else if is_word(c) {
            let start = i;
            while is_word(at(i)) {
                i += 1;
            }
            tokens.push(chars[start..i].iter().collect());
        } else if c == ':' && at(i + 1) == ':' {
            tokens.push("::".into());
            i += 2;
        } else {
            if !c.is_whitespace() {
                tokens.push(c.into());
            }
            i += 1;
        }
    }
    tokens
}
