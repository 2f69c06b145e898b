//! One cell of a table: its full configuration, its run, and the storage of its result.
//!
//! A finished cell is a file `HASH.json`, named by the hash of its configuration. The file repeats
//! the configuration, and a cell is read from a file only if that is the wanted one. So neither
//! another setting nor a collision of hashes can give a cell the result of another. The file also
//! has the version of the numerics: a cell of another version is stale, and is run again in its
//! place.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use gnarl_data::Dataset;
use serde::{Deserialize, Serialize};

use super::measured::Measured;
use super::recipe::Recipe;
use super::work::{CellInput, RunInput, Spec, Work};
use gnarl::study::attack::AttackCache;
use gnarl_graph::{Error, Result};

/// Version of the numerics, raised when the same configuration gives other results: cells of an
/// older version are then stale.
pub const NUMERICS: u32 = 4;

/// The full configuration of a cell: everything that decides its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellConfig {
    /// The dataset, by its registry name.
    pub dataset: String,
    /// The work of the cell.
    pub work: Work,
}

/// The content of a cell's file, as it is written.
#[derive(Serialize)]
struct Stored<'a> {
    numerics: u32,
    config: &'a CellConfig,
    measured: &'a Measured,
}

/// The content of a cell's file, as it is read. The text of the configuration identifies the cell,
/// so no setting has to be parsed.
#[derive(Deserialize)]
struct StoredCell {
    /// Version of the numerics; cells from before it was stored have none.
    #[serde(default)]
    numerics: u32,
    config: serde_json::Value,
    measured: Measured,
}

impl CellConfig {
    /// The cell of a spec on a dataset (by registry name), with a recipe's settings.
    ///
    /// Fails for an attack with an invalid budget, and for an invalid share of corrupted edges.
    pub fn new(spec: Spec, dataset: &str, recipe: Recipe, runs: usize, seed: u64) -> Result<Self> {
        let cell = CellInput {
            dataset,
            recipe,
            runs,
            seed,
        };
        Ok(Self {
            dataset: dataset.to_string(),
            work: Work::new(spec, &cell)?,
        })
    }

    /// The cell's file under `folder`.
    pub fn file(&self, folder: &Path) -> Result<PathBuf> {
        Ok(folder.join(format!("{:016x}.json", self.hash()?)))
    }

    /// The hash of the configuration, equal on all machines.
    pub(super) fn hash(&self) -> Result<u64> {
        Ok(fnv1a(self.text()?.as_bytes()))
    }

    /// The configuration as text.
    pub(super) fn text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(unserialisable)
    }

    /// The stored result of exactly this configuration with these numerics; `None` if there is no
    /// such file, or it is broken, stale or belongs to another configuration.
    pub fn stored(&self, folder: &Path) -> Result<Option<Measured>> {
        Ok(self
            .kept(folder)?
            .filter(|kept| kept.numerics == NUMERICS)
            .map(|kept| kept.measured))
    }

    /// Returns true if the stored result has another version of the numerics.
    pub fn is_stale(&self, folder: &Path) -> Result<bool> {
        Ok(self
            .kept(folder)?
            .is_some_and(|kept| kept.numerics != NUMERICS))
    }

    fn kept(&self, folder: &Path) -> Result<Option<StoredCell>> {
        let Ok(text) = std::fs::read(self.file(folder)?) else {
            return Ok(None);
        };
        let own: serde_json::Value = serde_json::from_str(&self.text()?).map_err(unserialisable)?;
        Ok(serde_json::from_slice::<StoredCell>(&text)
            .ok()
            .filter(|kept| kept.config == own && kept.measured.is_whole()))
    }

    /// Stores a result, under a temporary name first, so that a file is there whole or not at all.
    /// Returns it as it will be read, where a number may differ in its last bit: a continued run
    /// prints the same numbers as an uninterrupted one.
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

    /// Runs the cell on its dataset. `None` if `stop` was set before all runs were done.
    pub fn run(&self, loaded: &Dataset, stop: &AtomicBool) -> Result<Option<Measured>> {
        self.run_sharing(loaded, &AttackCache::default(), stop)
    }

    /// Runs the cell with a cache of attacked graphs that it shares with other cells of the
    /// dataset.
    pub fn run_sharing(
        &self,
        loaded: &Dataset,
        cache: &AttackCache,
        stop: &AtomicBool,
    ) -> Result<Option<Measured>> {
        let start = Instant::now();
        let found = self.work.run(&RunInput {
            loaded,
            cache,
            stop,
        })?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(found.map(|found| Measured { seconds, ..found }))
    }
}

/// The error of a failed serialisation, which cannot happen for the types of a cell.
fn unserialisable(e: serde_json::Error) -> Error {
    Error::argument("cell", e.to_string())
}

/// FNV-1a, 64 bits: equal on all machines and in all versions, which the standard library's hasher
/// does not guarantee.
pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::NodeClassificationRow;
    use gnarl_nn::networks::Backbone;
    use gnarl_nn::operator::OperatorChoice;

    fn of(backbone: Backbone) -> Spec {
        Spec::NodeClassification(NodeClassificationRow {
            backbone,
            operator: OperatorChoice::Default,
        })
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

    /// The name of a cell depends on everything that decides its result, and on nothing else.
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
    fn the_default_operator_has_its_earlier_name() {
        let config = CellConfig::new(of(Backbone::GCN), "cora", Recipe::Thesis, 10, 0).unwrap();
        let Work::NodeClassification(runs) = &config.work else {
            panic!("{config:?}")
        };
        let model = serde_json::to_string(&runs.model).unwrap();
        let earlier = model.replace(r#""operator":"default""#, r#""operator":"usual""#);
        assert_ne!(earlier, model);
        assert!(config.text().unwrap().contains(&earlier));
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
            // Even under another cell's name, the file identifies its own cell.
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
