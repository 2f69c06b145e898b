//! One cell of a table: the full configuration behind it, running it, and keeping what it found.
//!
//! A finished cell is a file `HASH.json`, where the hash is that of its configuration. The file
//! repeats the configuration, and a cell is taken from a file only where that is the one wanted, so
//! that neither another setting nor a collision of hashes can lend a cell a figure that is not its
//! own. It also says which numerics made it: a cell of others is stale, and is run again where it
//! stands.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use gnarl_data::Dataset;
use serde::{Deserialize, Serialize};

use super::measured::Measured;
use super::recipe::Recipe;
use super::table::Spec;
use super::work::Work;
use gnarl::study::attack_cache::AttackCache;
use gnarl_graph::{Error, Result};

/// Raised when the same configuration comes to other figures: cells of an older number are then
/// stale.
pub const NUMERICS: u32 = 4;

/// Everything that decides what a cell finds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellConfig {
    /// The dataset, by its registry name.
    pub dataset: String,
    /// What is done with it.
    pub work: Work,
}

/// The content of a cell's file, as it is written.
#[derive(Serialize)]
struct Stored<'a> {
    numerics: u32,
    config: &'a CellConfig,
    measured: &'a Measured,
}

/// The same as it is read. Whose cell it is shows in the text of the configuration, which no
/// setting has to be read back from.
#[derive(Deserialize)]
struct Kept {
    /// Cells from before the number was written down have none.
    #[serde(default)]
    numerics: u32,
    config: serde_json::Value,
    measured: Measured,
}

impl CellConfig {
    /// The cell of a spec on a dataset (by registry name), with a recipe's settings.
    ///
    /// Fails for an attack whose budget means nothing, and for a share of corrupted edges that is
    /// none.
    pub fn new(spec: Spec, dataset: &str, recipe: Recipe, runs: usize, seed: u64) -> Result<Self> {
        Ok(Self {
            dataset: dataset.to_string(),
            work: Work::new(spec, dataset, recipe, runs, seed)?,
        })
    }

    /// Where it is kept under `folder`.
    pub fn file(&self, folder: &Path) -> Result<PathBuf> {
        Ok(folder.join(format!("{:016x}.json", self.hash()?)))
    }

    /// A number that stands for it, the same everywhere.
    pub(super) fn hash(&self) -> Result<u64> {
        Ok(fnv1a(self.text()?.as_bytes()))
    }

    /// All of it.
    pub(super) fn text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(unserialisable)
    }

    /// What an earlier run found for exactly this configuration with these numerics; `None` where
    /// there is no such file, or it is broken, stale or belongs to another configuration.
    pub fn stored(&self, folder: &Path) -> Result<Option<Measured>> {
        Ok(self
            .kept(folder)?
            .filter(|kept| kept.numerics == NUMERICS)
            .map(|kept| kept.measured))
    }

    /// Whether it was run with other numerics.
    pub fn is_stale(&self, folder: &Path) -> Result<bool> {
        Ok(self
            .kept(folder)?
            .is_some_and(|kept| kept.numerics != NUMERICS))
    }

    fn kept(&self, folder: &Path) -> Result<Option<Kept>> {
        let Ok(text) = std::fs::read(self.file(folder)?) else {
            return Ok(None);
        };
        let own: serde_json::Value = serde_json::from_str(&self.text()?).map_err(unserialisable)?;
        Ok(serde_json::from_slice::<Kept>(&text)
            .ok()
            .filter(|kept| kept.config == own && kept.measured.is_whole()))
    }

    /// Keeps what was found, under a temporary name first: a file is there whole or not at all.
    /// Returns it as it will be read, where a number may differ in its last bit: a run that is
    /// continued prints what one in a go would have.
    pub fn store(&self, measured: Measured, folder: &Path) -> Result<Measured> {
        let file = self.file(folder)?;
        let stored = Stored {
            numerics: NUMERICS,
            config: self,
            measured: &measured,
        };
        let text = serde_json::to_string_pretty(&stored).map_err(unserialisable)?;
        gnarl_graph::files::write_atomically(&file, text.as_bytes())?;
        Ok(self.stored(folder)?.unwrap_or(measured))
    }

    /// Runs it on its dataset. `None` where `stop` was set before all runs were done.
    pub fn run(&self, loaded: &Dataset, stop: &AtomicBool) -> Result<Option<Measured>> {
        self.run_sharing(loaded, &AttackCache::default(), stop)
    }

    /// The same, with the attacked graphs of its dataset that other cells have made, and leaving
    /// its own there.
    pub fn run_sharing(
        &self,
        loaded: &Dataset,
        made: &AttackCache,
        stop: &AtomicBool,
    ) -> Result<Option<Measured>> {
        let start = Instant::now();
        let found = self.work.run(loaded, made, stop)?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(found.map(|found| Measured { seconds, ..found }))
    }
}

/// Cannot happen for the types of a cell; an error is kinder than a promise.
fn unserialisable(e: serde_json::Error) -> Error {
    Error::argument("cell", e.to_string())
}

/// FNV-1a, 64 bits: the same on every machine and in every version, which the standard library's
/// hasher does not promise.
pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_nn::networks::Backbone;
    use gnarl_nn::operator::OperatorChoice;

    fn of(backbone: Backbone) -> Spec {
        Spec::NodeClassification {
            backbone,
            operator: OperatorChoice::Usual,
        }
    }

    /// A row of the thesis' table.
    fn printed(table: &str, label: &str) -> Spec {
        let rows = &crate::tables::find(table).unwrap().rows;
        rows.iter().find(|row| row.label == label).unwrap().spec
    }

    /// The test vectors of the FNV authors.
    #[test]
    fn the_hash_is_fnv1a() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    /// A cell is named by all that decides its figure, and by nothing else.
    #[test]
    fn cells_are_told_apart_by_what_decides_their_figures() {
        let name = |spec, dataset| {
            let file = CellConfig::new(spec, dataset, Recipe::Thesis, 10, 0)
                .unwrap()
                .file(Path::new(""))
                .unwrap();
            file.display().to_string()
        };
        let gratin = printed("results_gcn", "GRATIN");
        let mixture = printed("ablation_GCN", "GMM w/ EM");
        let shared = printed("ablation_GCN", "one Gaussian, shared covariance (ours)");
        assert_eq!(name(mixture, "MUTAG"), name(gratin, "MUTAG"));
        assert_ne!(name(shared, "MUTAG"), name(gratin, "MUTAG"));
        assert_ne!(name(gratin, "PROTEINS"), name(gratin, "MUTAG"));
    }

    #[test]
    fn a_stored_cell_serves_its_own_configuration_alone() {
        let dir = tempfile::tempdir().unwrap();
        let config = CellConfig::new(of(Backbone::GCN), "cora", Recipe::Thesis, 10, 0).unwrap();
        let measured = Measured {
            values: vec![81.3, 80.9],
            splits: vec!["public".into()],
            curve: vec![50.5],
            seconds: 1.5,
            parts: vec![("sparse half".into(), vec![80.0, 81.0])],
            ..Measured::default()
        };
        assert_eq!(config.stored(dir.path()).unwrap(), None);
        assert_eq!(
            config.store(measured.clone(), dir.path()).unwrap(),
            measured
        );
        assert_eq!(config.stored(dir.path()).unwrap(), Some(measured));
        for other in [
            CellConfig::new(of(Backbone::GIN), "cora", Recipe::Thesis, 10, 0).unwrap(),
            CellConfig::new(of(Backbone::GCN), "citeseer", Recipe::Thesis, 10, 0).unwrap(),
            CellConfig::new(of(Backbone::GCN), "cora", Recipe::Default, 10, 0).unwrap(),
            CellConfig::new(of(Backbone::GCN), "cora", Recipe::Thesis, 3, 0).unwrap(),
            CellConfig::new(of(Backbone::GCN), "cora", Recipe::Thesis, 10, 1).unwrap(),
        ] {
            assert_ne!(
                other.file(dir.path()).unwrap(),
                config.file(dir.path()).unwrap()
            );
            // Even under the other's name, the file says whose it is.
            std::fs::copy(
                config.file(dir.path()).unwrap(),
                other.file(dir.path()).unwrap(),
            )
            .unwrap();
            assert_eq!(other.stored(dir.path()).unwrap(), None, "{other:?}");
        }
        let file = config.file(dir.path()).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let older = text.replace(&format!("\"numerics\": {NUMERICS}"), "\"numerics\": 2");
        assert_ne!(older, text);
        std::fs::write(&file, older).unwrap();
        assert!(
            config.is_stale(dir.path()).unwrap() && config.stored(dir.path()).unwrap().is_none()
        );
        std::fs::write(&file, &text).unwrap();
        assert!(
            !config.is_stale(dir.path()).unwrap() && config.stored(dir.path()).unwrap().is_some()
        );
        std::fs::write(&file, &text[..text.len() / 2]).unwrap();
        assert_eq!(
            config.stored(dir.path()).unwrap(),
            None,
            "half a file is no cell"
        );
        for (values, is_whole) in [
            (vec![80.0, 81.0], true),
            (vec![80.0], false),
            (vec![], false),
        ] {
            let splits = vec!["0".to_string(), "1".to_string()];
            config
                .store(
                    Measured {
                        values,
                        splits,
                        ..Measured::default()
                    },
                    dir.path(),
                )
                .unwrap();
            assert_eq!(config.stored(dir.path()).unwrap().is_some(), is_whole);
        }
        let nowhere = dir.path().join("no/such/folder");
        assert!(
            config
                .store(Measured::default(), &nowhere)
                .unwrap_err()
                .to_string()
                .contains("no/such/folder")
        );
    }
}
