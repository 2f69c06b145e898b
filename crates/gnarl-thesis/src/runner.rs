//! Reproduces a table: all cells in parallel, each stored as soon as it is done.
//!
//! Run `i` of every cell of a column takes the same split and the same seed, so the rows of a table
//! can be compared run by run. A missing dataset leaves a hole, a failed cell leaves its message;
//! the rest is run.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gnarl_data as dataset;
use gnarl_data::load::is_embedded;
use gnarl_data::{Dataset, registry};
use serde::Serialize;

use super::cell::CellConfig;
use super::kept::ResultStore;
use super::measured::Measured;
use super::recipe::Recipe;
use super::report::{Report, Status};
use super::table::{Table, dataset_name};
use super::work::{Work, folds_of};
use gnarl::study::attack::AttackCache;
use gnarl_graph::{Error, Result};

/// Settings of a reproduction.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Number of runs of a trained cell; the thesis has ten.
    pub runs: usize,
    /// Seed of the first run.
    pub seed: u64,
    /// Recipes of trained rows; results of several are shown next to each other.
    pub recipes: Vec<Recipe>,
    /// Datasets to run, by name or alias; empty for all.
    pub columns: Vec<String>,
    /// Rows to run: the row with this label, else all rows whose labels contain the text, ignoring
    /// case.
    pub rows: Option<String>,
    /// Folder of the datasets.
    pub data_dir: PathBuf,
    /// Folder of finished cells, stored in its subfolder `cells/`.
    pub out: PathBuf,
    /// The part of the cells that is run here; all by default.
    pub shard: Option<Shard>,
    /// Folder of stored results ([`ResultStore`]), which are not run again.
    pub results: Option<PathBuf>,
}

/// A part of all cells of any tables: folders of different parts hold different files, and are
/// merged by copying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    part: usize,
    of: usize,
}

impl Shard {
    fn has(self, config: &CellConfig) -> Result<bool> {
        Ok(config.hash()? % self.of as u64 == self.part as u64 - 1)
    }
}

impl FromStr for Shard {
    type Err = gnarl_graph::Error;

    /// Parses a part such as `2/3`: the second of three.
    fn from_str(text: &str) -> gnarl_graph::Result<Self> {
        let parts = text
            .split_once('/')
            .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((part, of)) if (1..=of).contains(&part) => Ok(Self { part, of }),
            _ => Err(Error::argument(
                "shard",
                format!("'{text}' is none; 2/3 is the second of three"),
            )),
        }
    }
}

impl Settings {
    /// Number of runs of a full reproduction.
    pub const RUNS: usize = 10;
    /// Number of runs of a quick reproduction.
    pub const QUICK_RUNS: usize = 3;

    /// Settings of ten runs of everything with the thesis' recipe.
    pub fn new(data_dir: PathBuf, out: PathBuf) -> Self {
        Self {
            runs: Self::RUNS,
            seed: 0,
            recipes: vec![Recipe::Thesis],
            columns: Vec::new(),
            rows: None,
            data_dir,
            out,
            shard: None,
            results: None,
        }
    }
}

/// Progress of a reproduction, reported after every cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Number of finished cells, earlier runs' included.
    pub done: usize,
    /// Number of all cells, of the shard if there is one.
    pub total: usize,
    /// Number of finished cells that an earlier run had stored.
    pub reused: usize,
    /// Number of cells to run that an earlier run had stored with other numerics.
    pub stale: usize,
    /// Estimated seconds left, once a cell was timed. Cells count by the size of their dataset and
    /// network.
    pub seconds_left: Option<f64>,
}

/// Callbacks of the runner: progress and cancellation.
pub struct RunnerCallbacks<'a> {
    /// Called after every cell.
    pub on_cell: &'a (dyn Fn(&Progress) + Sync),
    /// Set to stop: unfinished cells are left for the next time.
    pub stop: &'a AtomicBool,
}

/// The outcome of a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The cell was run, now or earlier.
    Measured(Box<Measured>),
    /// The dataset is missing, with a hint.
    Hole(String),
    /// The cell failed, with the reason.
    Failed(String),
    /// The reproduction was stopped before.
    NotRun,
}

impl Outcome {
    pub(super) fn measured(measured: Measured) -> Self {
        Outcome::Measured(Box::new(measured))
    }
}

/// A cell to run: its position and its configuration.
#[derive(Debug)]
pub struct Plan {
    /// Index of the row in the table.
    pub row: usize,
    /// Index of the column in the table.
    pub column: usize,
    /// The recipe, for a trained row.
    pub recipe: Option<Recipe>,
    /// The configuration to run.
    pub config: CellConfig,
}

/// Runs the cells of a table that are not stored by an earlier run, and reports on all.
///
/// Fails for a table with a flaw, for a selection without rows or columns, and for a folder that is
/// not writable.
pub fn reproduce(
    table: &'static Table,
    settings: &Settings,
    watch: &RunnerCallbacks<'_>,
) -> Result<Report> {
    let mut reports = reproduce_all(&[table], settings, watch)?;
    Ok(reports.swap_remove(0))
}

/// Reproduces several tables at once: shared cells are run once, and the cheapest tables first.
pub fn reproduce_all(
    tables: &[&'static Table],
    settings: &Settings,
    watch: &RunnerCallbacks<'_>,
) -> Result<Vec<Report>> {
    let start = Instant::now();
    let mut cells = Cells::new(tables, settings)?;
    std::fs::create_dir_all(&cells.folder).map_err(|e| Error::io(&cells.folder, e))?;
    let clock = cells.clock();
    (watch.on_cell)(&clock.progress());
    cells.run(settings, &clock, watch)?;
    let seconds = start.elapsed().as_secs_f64();
    let report = |(table, planned): (&&'static Table, &Vec<Planned>)| {
        let outcomes = planned
            .iter()
            .map(|planned| cells.outcome(planned))
            .collect();
        let plans: Vec<&Plan> = planned.iter().map(|planned| &planned.plan).collect();
        let report = Report::new(table, settings, &plans, outcomes, seconds)?;
        // Cells of another shard are no interruption.
        let was_stopped = watch.stop.load(Ordering::Relaxed);
        Ok(Report {
            interrupted: report.interrupted && was_stopped,
            ..report
        })
    };
    tables.iter().zip(&cells.plans).map(report).collect()
}

/// Forecasts a reproduction without running anything. The seconds are estimated from cells that
/// were timed before.
pub fn dry_run(tables: &[&Table], settings: &Settings) -> Result<Progress> {
    Ok(Cells::new(tables, settings)?.clock().progress())
}

/// The cells of some tables, each once however often it is shown.
struct Cells {
    folder: PathBuf,
    configs: Vec<CellConfig>,
    /// The known outcome of each cell.
    outcomes: Vec<Option<Outcome>>,
    /// The plans of each table.
    plans: Vec<Vec<Planned>>,
    /// The cells to run here, in this order.
    open: Vec<usize>,
    /// The cells of this shard, finished or not.
    here: usize,
    /// Number of cells with other numerics.
    stale: usize,
}

/// A plan, the index of its cell, and its stored short results, if any.
struct Planned {
    plan: Plan,
    cell: usize,
    kept: Option<Measured>,
}

/// The stored short results. Fails if results of these tables and settings would replace others.
fn shelf_of(tables: &[&Table], settings: &Settings) -> Result<ResultStore> {
    let Some(folder) = &settings.results else {
        return Ok(ResultStore::default());
    };
    let shelf = ResultStore::with(folder, tables)?;
    tables
        .iter()
        .try_for_each(|table| shelf.check(table, settings))?;
    Ok(shelf)
}

impl Cells {
    fn new(tables: &[&Table], settings: &Settings) -> Result<Self> {
        let folder = settings.out.join("cells");
        let mut cells = Self {
            folder,
            configs: Vec::new(),
            outcomes: Vec::new(),
            plans: Vec::new(),
            open: Vec::new(),
            here: 0,
            stale: 0,
        };
        check_columns(tables, &settings.columns)?;
        let in_short = shelf_of(tables, settings)?;
        let mut known: HashMap<String, usize> = HashMap::new();
        for table in tables {
            let mut of_table = Vec::new();
            for plan in plan(table, settings)? {
                let text = plan.config.text()?;
                let at = match known.get(&text) {
                    Some(&at) => at,
                    None => cells.add(&plan.config)?,
                };
                known.insert(text, at);
                let kept = in_short.measured(table, &plan)?;
                of_table.push(Planned {
                    plan,
                    cell: at,
                    kept,
                });
            }
            cells.plans.push(of_table);
        }
        cells.order(settings)?;
        Ok(cells)
    }

    fn add(&mut self, config: &CellConfig) -> Result<usize> {
        let outcome = config.stored(&self.folder)?.map(Outcome::measured);
        self.stale += usize::from(outcome.is_none() && config.is_stale(&self.folder)?);
        self.configs.push(config.clone());
        self.outcomes.push(outcome);
        Ok(self.configs.len() - 1)
    }

    /// Sorts the cells: cheapest tables first, and within a table the cheapest of its columns'
    /// datasets.
    fn order(&mut self, settings: &Settings) -> Result<()> {
        let is_here =
            |config: &CellConfig| settings.shard.map_or(Ok(true), |shard| shard.has(config));
        let here = self
            .configs
            .iter()
            .map(is_here)
            .collect::<Result<Vec<bool>>>()?;
        self.here = here.iter().filter(|is_here| **is_here).count();
        let mut open = vec![false; self.configs.len()];
        for planned in self
            .plans
            .iter()
            .flatten()
            .filter(|planned| planned.kept.is_none())
        {
            open[planned.cell] = here[planned.cell] && self.outcomes[planned.cell].is_none();
        }
        let needs = |planned: &[Planned]| {
            let mut of: Vec<usize> = planned
                .iter()
                .map(|planned| planned.cell)
                .filter(|&at| open[at])
                .collect();
            of.sort_unstable();
            of.dedup();
            of.into_iter()
                .map(|at| Amount::of(&self.configs[at]).work)
                .sum::<f64>()
        };
        let mut tables: Vec<(f64, usize)> = self
            .plans
            .iter()
            .map(|plans| needs(plans))
            .zip(0..)
            .collect();
        tables.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut taken = vec![false; self.configs.len()];
        for (_, table) in tables {
            for at in self.plans[table].iter().map(|planned| planned.cell) {
                if open[at] && !std::mem::replace(&mut taken[at], true) {
                    self.open.push(at);
                }
            }
        }
        Ok(())
    }

    /// The known outcome of a plan: its cell's, else the stored short results.
    fn outcome(&self, planned: &Planned) -> Outcome {
        let kept = || planned.kept.clone().map(Outcome::measured);
        self.outcomes[planned.cell]
            .clone()
            .or_else(kept)
            .unwrap_or(Outcome::NotRun)
    }

    fn clock(&self) -> Clock {
        Clock::new(self)
    }

    /// Runs the open cells in parallel, and stores each as soon as it is done.
    fn run(
        &mut self,
        settings: &Settings,
        clock: &Clock,
        watch: &RunnerCallbacks<'_>,
    ) -> Result<()> {
        let queue = Queue {
            cells: self,
            sources: Sources::new(&self.configs, &self.open, settings),
            clock,
            watch,
            next: AtomicUsize::new(0),
            found: Mutex::default(),
            broken: Mutex::default(),
        };
        // Plain threads that hand their work to rayon's pool: a pool thread that waits inside one
        // cell would start another cell within it, and hold up the first until that is done.
        let workers = rayon::current_num_threads().min(self.open.len());
        std::thread::scope(|scope| {
            let working: Vec<_> = (0..workers)
                .map(|_| scope.spawn(|| queue.work_off()))
                .collect();
            help_the_pool(|| working.iter().all(|worker| worker.is_finished()));
        });
        for (at, outcome) in queue.finished()? {
            self.outcomes[at] = Some(outcome);
        }
        Ok(())
    }
}

/// The open cells, which several threads take one after another.
struct Queue<'a> {
    cells: &'a Cells,
    sources: Sources<'a>,
    clock: &'a Clock,
    watch: &'a RunnerCallbacks<'a>,
    /// Position of the next open cell.
    next: AtomicUsize,
    found: Mutex<Vec<(usize, Outcome)>>,
    /// The first failure to store a cell, which ends the run.
    broken: Mutex<Option<Error>>,
}

impl Queue<'_> {
    /// Runs cells until none is left, the run is stopped, or a cell cannot be stored.
    fn work_off(&self) {
        while !self.watch.stop.load(Ordering::Relaxed) && lock(&self.broken).is_none() {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&at) = self.cells.open.get(next) else {
                return;
            };
            match self.run_cell(&self.cells.configs[at]) {
                Ok(Outcome::NotRun) => return,
                Ok(outcome) => {
                    let progress = self.clock.advance(&self.cells.configs[at], &outcome);
                    (self.watch.on_cell)(&progress);
                    lock(&self.found).push((at, outcome));
                }
                Err(e) => {
                    lock(&self.broken).get_or_insert(e);
                    return;
                }
            }
        }
    }

    /// Runs a cell and stores its result; fails if it cannot be stored.
    fn run_cell(&self, config: &CellConfig) -> Result<Outcome> {
        match run_cell(config, &self.sources, self.watch.stop) {
            Outcome::Measured(measured) => Ok(Outcome::measured(
                config.store(*measured, &self.cells.folder)?,
            )),
            other => Ok(other),
        }
    }

    /// Returns the outcomes by cell.
    fn finished(self) -> Result<Vec<(usize, Outcome)>> {
        match lock(&self.broken).take() {
            Some(e) => Err(e),
            None => Ok(std::mem::take(&mut *lock(&self.found))),
        }
    }
}

/// Waits until the work is done. A thread of the pool takes part in the pool's work, which would
/// otherwise have one thread less.
fn help_the_pool(is_done: impl Fn() -> bool) {
    while rayon::current_thread_index().is_some() && !is_done() {
        if rayon::yield_now() != Some(rayon::Yield::Executed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The report with all other cells of the table that are stored under the same runs and seed, for
/// any recipe: results of earlier selections are shown next to the current ones. Nothing is run;
/// rows and columns without a cell are left out.
pub fn with_stored(table: &'static Table, settings: &Settings, report: &Report) -> Result<Report> {
    let mut recipes = settings.recipes.clone();
    recipes.extend(
        [Recipe::Thesis, Recipe::Default]
            .into_iter()
            .filter(|r| !settings.recipes.contains(r)),
    );
    let everything = Settings {
        recipes,
        columns: Vec::new(),
        rows: None,
        ..settings.clone()
    };
    let folder = settings.out.join("cells");
    let in_short = shelf_of(&[table], settings)?;
    let mut found = Vec::new();
    for plan in plan(table, &everything)? {
        let same_recipe = report.rows.iter().filter(|row| row.recipe == plan.recipe);
        let asked = same_recipe
            .flat_map(|row| &row.cells)
            .find(|cell| cell.config == plan.config);
        let message = || {
            asked
                .and_then(|cell| cell.message.clone())
                .unwrap_or_default()
        };
        let outcome = match asked.map(|cell| cell.status) {
            Some(Status::Hole) => Outcome::Hole(message()),
            Some(Status::Failed) => Outcome::Failed(message()),
            _ => {
                let kept = in_short.measured(table, &plan)?;
                plan.config
                    .stored(&folder)?
                    .or(kept)
                    .map_or(Outcome::NotRun, Outcome::measured)
            }
        };
        let is_shown = asked.is_some() || outcome != Outcome::NotRun;
        found.push((plan, outcome, is_shown));
    }
    let shown = || {
        found
            .iter()
            .filter(|(.., is_shown)| *is_shown)
            .map(|(plan, ..)| plan)
    };
    let rows: HashSet<_> = shown().map(|plan| (plan.recipe, plan.row)).collect();
    let columns: HashSet<_> = shown().map(|plan| plan.column).collect();
    found.retain(|(plan, ..)| {
        rows.contains(&(plan.recipe, plan.row)) && columns.contains(&plan.column)
    });
    let (plans, outcomes): (Vec<_>, Vec<_>) = found
        .iter()
        .map(|(plan, outcome, _)| (plan, outcome.clone()))
        .unzip();
    let whole = Report::new(table, &everything, &plans, outcomes, report.seconds)?;
    // A cell outside the selection is no interruption.
    Ok(Report {
        interrupted: report.interrupted,
        ..whole
    })
}

/// Number of runs of a table's cells for a requested number: folds of sets are runs, so there are
/// no more runs than folds.
pub(super) fn runs_of(table: &Table, asked: usize) -> usize {
    let datasets = table
        .columns
        .iter()
        .filter_map(|column| dataset_name(column));
    datasets
        .map(folds_of)
        .max()
        .map_or(asked, |most| asked.min(most))
}

/// Refuses an empty name of rows.
fn check_rows(settings: &Settings) -> Result<()> {
    if settings
        .rows
        .as_deref()
        .is_some_and(|rows| rows.trim().is_empty())
    {
        let what = "an empty part of rows' names stands in all of them: leave it out for all rows";
        Err(Error::argument("reproduce", what))
    } else {
        Ok(())
    }
}

/// The cells to run, column by column, so that a dataset is in memory for as short a time as
/// possible.
pub(super) fn plan(table: &Table, settings: &Settings) -> Result<Vec<Plan>> {
    let refuse = |what: String| Err(Error::argument("reproduce", what));
    if let Some(flaw) = table.flaw() {
        return refuse(format!("table {}: {flaw}", table.name));
    }
    if settings.runs == 0 || settings.recipes.is_empty() {
        return refuse(format!(
            "{} runs of {} recipes: at least one of each",
            settings.runs,
            settings.recipes.len()
        ));
    }
    check_rows(settings)?;
    let columns = select_columns(table, &settings.columns)?;
    let wanted = settings.rows.as_deref().unwrap_or("").to_lowercase();
    let labels: Vec<String> = table
        .rows
        .iter()
        .map(|row| row.label.to_lowercase())
        .collect();
    // A full label selects its row alone: GCN is part of many labels.
    let is_label = labels.contains(&wanted);
    let is_wanted = |label: &String| {
        if is_label {
            *label == wanted
        } else {
            label.contains(&wanted)
        }
    };
    let rows: Vec<usize> = (0..labels.len())
        .filter(|&r| is_wanted(&labels[r]))
        .collect();
    if rows.is_empty() {
        let labels: Vec<&str> = table.rows.iter().map(|row| row.label.as_str()).collect();
        return refuse(format!(
            "no row of {} has '{wanted}' in it; there are {}",
            table.name,
            labels.join(", ")
        ));
    }
    let mut plans = Vec::new();
    for &column in &columns {
        let name = dataset_name(&table.columns[column]).expect("the table has no flaw");
        for &row in &rows {
            let spec = table.rows[row].spec;
            let recipes: Vec<Option<Recipe>> = if spec.is_trained() {
                settings.recipes.iter().copied().map(Some).collect()
            } else {
                vec![None]
            };
            for recipe in recipes {
                let by = recipe.unwrap_or(Recipe::Thesis);
                let config = CellConfig::new(spec, name, by, settings.runs, settings.seed)?;
                plans.push(Plan {
                    row,
                    column,
                    recipe,
                    config,
                });
            }
        }
    }
    Ok(plans)
}

/// Indices of the requested columns, in the table's order; fails if it has none of them.
fn select_columns(table: &Table, asked: &[String]) -> Result<Vec<usize>> {
    let mut chosen = vec![asked.is_empty(); table.columns.len()];
    for at in asked.iter().filter_map(|name| column(table, name)) {
        chosen[at] = true;
    }
    let chosen: Vec<usize> = (0..chosen.len()).filter(|&i| chosen[i]).collect();
    match asked.first() {
        Some(name) if chosen.is_empty() => {
            let columns = table.columns.iter().map(String::as_str);
            Err(Error::unknown("column", name, columns))
        }
        _ => Ok(chosen),
    }
}

fn column(table: &Table, name: &str) -> Option<usize> {
    let dataset = dataset_name(name);
    table.columns.iter().position(|c| {
        c.eq_ignore_ascii_case(name) || (dataset.is_some() && dataset_name(c) == dataset)
    })
}

/// Fails for a column that none of the tables has.
fn check_columns(tables: &[&Table], asked: &[String]) -> Result<()> {
    let Some(name) = asked
        .iter()
        .find(|name| tables.iter().all(|table| column(table, name).is_none()))
    else {
        return Ok(());
    };
    let mut known: Vec<&str> = tables
        .iter()
        .flat_map(|table| table.columns.iter().map(String::as_str))
        .collect();
    known.sort_unstable();
    known.dedup();
    Err(Error::unknown("column", name, known))
}

/// The tables that have any of the requested rows and any of the requested columns. Fails for a
/// column that none of them has, and if no table is left.
pub fn narrowed<'t>(tables: &[&'t Table], settings: &Settings) -> Result<Vec<&'t Table>> {
    check_columns(tables, &settings.columns)?;
    check_rows(settings)?;
    let fits = |table: &&&Table| plan(table, settings).is_ok();
    let left: Vec<&Table> = tables.iter().filter(fits).copied().collect();
    if left.is_empty() {
        Err(Error::argument(
            "reproduce",
            "none of the tables has such rows and columns",
        ))
    } else {
        Ok(left)
    }
}

fn run_cell(config: &CellConfig, sources: &Sources<'_>, stop: &AtomicBool) -> Outcome {
    let outcome = sources.get(&config.dataset).and_then(|(loaded, made)| {
        match config.run_sharing(&loaded, &made, stop) {
            Ok(Some(measured)) => Ok(Outcome::measured(measured)),
            Ok(None) => Ok(Outcome::NotRun),
            Err(e) => Err(Outcome::Failed(e.to_string())),
        }
    });
    sources.release(&config.dataset);
    outcome.unwrap_or_else(|why| why)
}

/// Datasets, loaded for their first cell and dropped after the last.
struct Sources<'a> {
    settings: &'a Settings,
    by_name: HashMap<&'a str, Mutex<Source>>,
}

/// A dataset and its cache.
struct Source {
    loaded: Option<std::result::Result<Arc<Dataset>, Outcome>>,
    /// Cache of attacked versions of its graph.
    made: Arc<AttackCache>,
    cells_left: usize,
}

impl<'a> Sources<'a> {
    fn new(configs: &'a [CellConfig], open: &[usize], settings: &'a Settings) -> Self {
        let mut cells: HashMap<&str, usize> = HashMap::new();
        for &at in open {
            *cells.entry(configs[at].dataset.as_str()).or_default() += 1;
        }
        let source = |cells_left| {
            Mutex::new(Source {
                loaded: None,
                made: Arc::default(),
                cells_left,
            })
        };
        Self {
            settings,
            by_name: cells
                .into_iter()
                .map(|(name, count)| (name, source(count)))
                .collect(),
        }
    }

    /// The dataset and its cache, or the outcome of the cells that need it.
    fn get(&self, name: &str) -> std::result::Result<(Arc<Dataset>, Arc<AttackCache>), Outcome> {
        let mut source = lock(&self.by_name[name]);
        let data_dir = &self.settings.data_dir;
        let hole = || {
            Err(Outcome::Hole(format!(
                "not in the data folder; gnarl data get {name}"
            )))
        };
        let load = || match dataset::load(name, data_dir, self.settings.seed) {
            // A table is run on the files themselves: the source of its figures must not depend on
            // the machine.
            Ok(loaded)
                if loaded
                    .entry
                    .is_some_and(|entry| is_embedded(entry, data_dir)) =>
            {
                hole()
            }
            Ok(loaded) => Ok(Arc::new(loaded)),
            Err(Error::Absent { .. }) => hole(),
            Err(e) => Err(Outcome::Failed(e.to_string())),
        };
        let loaded = source.loaded.get_or_insert_with(load).clone()?;
        Ok((loaded, Arc::clone(&source.made)))
    }

    fn release(&self, name: &str) {
        let mut source = lock(&self.by_name[name]);
        source.cells_left -= 1;
        if source.cells_left == 0 {
            source.loaded = None;
            source.made = Arc::default();
        }
    }
}

/// Estimates the time left from cells that were timed, now or by earlier runs: seconds for the
/// entries touched in an epoch, times width, epochs and runs. It prefers cells of the same kind of
/// work, and gives most weight to datasets of about the same size: on a small dataset, most of a
/// step does not depend on the entries.
struct Clock {
    total: usize,
    reused: usize,
    stale: usize,
    workers: usize,
    tally: Mutex<Tally>,
}

struct Tally {
    done: usize,
    pace: Pace,
    /// The remaining work of each kind.
    left: BTreeMap<&'static str, Vec<Amount>>,
}

/// Work and seconds of the timed cells of each kind. Summed in an order, so that rounding is
/// reproducible.
#[derive(Default)]
pub(super) struct Pace {
    timed: BTreeMap<&'static str, Vec<(f64, Amount)>>,
}

/// Fixed cost of a training step on any graph, in entries: cells of a thousand entries take about
/// as long as those of ten thousand.
const STEP: f64 = 8000.0;

/// Amount of work of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Amount {
    /// Number of entries of its dataset.
    size: f64,
    /// Entries plus the fixed cost of a step, times the work on each.
    work: f64,
}

impl Amount {
    fn of(config: &CellConfig) -> Self {
        let size = registry::get(&config.dataset).map_or(1.0, |entry| {
            (entry.expected.nodes
                + 2 * entry
                    .expected
                    .undirected_edges
                    .unwrap_or(entry.expected.nodes)) as f64
        });
        Self {
            size,
            work: (size + STEP) * config.work.effort(),
        }
    }

    /// Weight of another cell's pace for this one: a tenth for a dataset about twice as large.
    fn nearness(&self, other: &Self) -> f64 {
        1.0 / (0.05 + (self.size / other.size).ln().powi(2))
    }
}

impl Clock {
    fn new(cells: &Cells) -> Self {
        let mut tally = Tally {
            done: 0,
            pace: Pace::default(),
            left: BTreeMap::new(),
        };
        for &at in &cells.open {
            let config = &cells.configs[at];
            tally
                .left
                .entry(config.work.kind())
                .or_default()
                .push(Amount::of(config));
        }
        for (config, outcome) in cells.configs.iter().zip(&cells.outcomes) {
            if let Some(Outcome::Measured(measured)) = outcome {
                tally.pace.time(config, measured);
            }
        }
        // Stored short results were timed, too; a cell of several tables counts once.
        let mut in_short: BTreeMap<usize, &Measured> = BTreeMap::new();
        for planned in cells
            .plans
            .iter()
            .flatten()
            .filter(|planned| cells.outcomes[planned.cell].is_none())
        {
            if let Some(kept) = &planned.kept {
                in_short.entry(planned.cell).or_insert(kept);
            }
        }
        for (cell, kept) in in_short {
            tally.pace.time(&cells.configs[cell], kept);
        }
        let workers = rayon::current_num_threads().min(cells.open.len()).max(1);
        let (total, stale) = (cells.here, cells.stale);
        Self {
            total,
            reused: total - cells.open.len(),
            stale,
            workers,
            tally: Mutex::new(tally),
        }
    }

    /// Counts one more finished cell; one that was not measured took no time.
    fn advance(&self, config: &CellConfig, outcome: &Outcome) -> Progress {
        let mut tally = lock(&self.tally);
        tally.done += 1;
        let amount = Amount::of(config);
        if let Some(left) = tally.left.get_mut(config.work.kind())
            && let Some(at) = left.iter().position(|open| *open == amount)
        {
            left.remove(at);
        }
        if let Outcome::Measured(measured) = outcome {
            tally.pace.time(config, measured);
        }
        drop(tally);
        self.progress()
    }

    fn progress(&self) -> Progress {
        let tally = lock(&self.tally);
        let seconds_left = tally
            .seconds_left()
            .map(|seconds| seconds / self.workers as f64);
        let done = self.reused + tally.done;
        Progress {
            done,
            total: self.total,
            reused: self.reused,
            stale: self.stale,
            seconds_left,
        }
    }
}

impl Tally {
    /// Estimated seconds of sequential runs; `None` without a comparable timed cell.
    fn seconds_left(&self) -> Option<f64> {
        let all = self
            .left
            .iter()
            .flat_map(|(kind, left)| left.iter().map(move |amount| (kind, amount)));
        all.map(|(kind, amount)| self.pace.judge(kind, amount))
            .sum()
    }
}

impl Pace {
    /// The pace of some cells with their results.
    pub(super) fn of<'a>(cells: impl Iterator<Item = (&'a CellConfig, &'a Measured)>) -> Self {
        let mut pace = Self::default();
        cells.for_each(|(config, measured)| pace.time(config, measured));
        pace
    }

    fn time(&mut self, config: &CellConfig, measured: &Measured) {
        let amount = Amount::of(config);
        if amount.work > 0.0 {
            self.timed
                .entry(config.work.kind())
                .or_default()
                .push((measured.seconds, amount));
        }
    }

    /// Estimated seconds of a cell; `None` without a comparable timed cell.
    pub(super) fn seconds(&self, config: &CellConfig) -> Option<f64> {
        self.judge(config.work.kind(), &Amount::of(config))
    }

    fn judge(&self, kind: &str, amount: &Amount) -> Option<f64> {
        let timed: Vec<&(f64, Amount)> = match self.timed.get(kind) {
            Some(timed) => timed.iter().collect(),
            // A property takes longer for its effort than a training, and gives no estimate of it.
            None => self
                .timed
                .iter()
                .filter(|(kind, _)| **kind != Work::PROPERTY)
                .flat_map(|(_, t)| t)
                .collect(),
        };
        (!timed.is_empty()).then(|| judged(amount, &timed))
    }
}

/// Estimated seconds of a cell at the pace of the timed ones.
fn judged(amount: &Amount, timed: &[&(f64, Amount)]) -> f64 {
    let (seconds, work) = timed
        .iter()
        .fold((0.0, 0.0), |(seconds, work), (took, of)| {
            let nearness = amount.nearness(of);
            (seconds + nearness * took, work + nearness * of.work)
        });
    amount.work * seconds / work
}

/// Locks a mutex. A panicked worker leaves nothing half done: the guarded value is replaced whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
