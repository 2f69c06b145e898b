//! Reproduces a table: every cell, side by side, each kept as soon as it is done.
//!
//! Run `i` of every cell of a column takes the same split and the same seed, so the rows of a table can be compared run
//! by run. A dataset that is not there leaves a hole, a cell that fails leaves its message; neither ends the rest.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gnarl_graph::dataset::{self, Dataset, registry};
use serde::Serialize;

use super::cell::CellConfig;
use super::measured::Measured;
use super::recipe::Recipe;
use super::report::{Report, Status};
use super::table::{Table, dataset_name};
use super::work::Work;
use crate::error::{Error, Result};

/// How a table is reproduced.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Runs of a trained cell; the thesis has ten.
    pub runs: usize,
    /// The first run's seed.
    pub seed: u64,
    /// Whose settings trained rows use; several stand beside each other.
    pub recipes: Vec<Recipe>,
    /// Datasets to run, by name or alias; all where empty.
    pub columns: Vec<String>,
    /// Rows to run: those whose label has this in it, whatever the case.
    pub rows: Option<String>,
    /// Where datasets are.
    pub data_dir: PathBuf,
    /// Where finished cells are kept: `cells/` in this folder.
    pub out: PathBuf,
}

impl Settings {
    /// Runs of a full reproduction.
    pub const RUNS: usize = 10;
    /// Runs of a quick one.
    pub const QUICK_RUNS: usize = 3;

    /// Ten runs of everything with the thesis' recipe.
    pub fn new(data_dir: PathBuf, out: PathBuf) -> Self {
        Self {
            runs: Self::RUNS,
            seed: 0,
            recipes: vec![Recipe::Thesis],
            columns: Vec::new(),
            rows: None,
            data_dir,
            out,
        }
    }
}

/// Where a reproduction stands, told after every cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Cells done, earlier runs' included.
    pub done: usize,
    /// Cells in all.
    pub total: usize,
    /// Of those done, how many an earlier run had kept.
    pub reused: usize,
    /// Seconds left, once there is something to judge by. Cells count by the size of their dataset and network.
    pub seconds_left: Option<f64>,
}

/// What the runner tells and asks while it works.
pub struct RunnerWatch<'a> {
    /// Called after every cell.
    pub on_cell: &'a (dyn Fn(&Progress) + Sync),
    /// Set to end: cells that are not done are left for the next time.
    pub stop: &'a AtomicBool,
}

/// How a cell ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was run, now or earlier.
    Measured(Box<Measured>),
    /// Its dataset is not here, and what to do; or what it would run is not in gnarl.
    Hole(String),
    /// It failed; why.
    Failed(String),
    /// The reproduction was stopped before.
    NotRun,
}

impl Outcome {
    fn measured(measured: Measured) -> Self {
        Outcome::Measured(Box::new(measured))
    }
}

/// A cell to run: where it stands and what it is.
#[derive(Debug)]
pub struct Plan {
    /// Position among the table's rows.
    pub row: usize,
    /// Position among the table's columns.
    pub column: usize,
    /// The recipe, for a trained row.
    pub recipe: Option<Recipe>,
    /// What to run.
    pub config: CellConfig,
}

/// Runs the cells of a table that are not kept from an earlier run, and reports on all.
///
/// Fails for a table with a flaw, rows or columns that select nothing, and a folder that cannot be written to.
pub fn reproduce(table: &Table, settings: &Settings, watch: &RunnerWatch<'_>) -> Result<Report> {
    let start = Instant::now();
    let plans = plan(table, settings)?;
    let folder = settings.out.join("cells");
    std::fs::create_dir_all(&folder).map_err(|e| gnarl_graph::Error::io(&folder, e))?;

    let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(plans.len());
    for plan in &plans {
        outcomes.push(match &plan.config.work {
            Work::Missing(what) => Some(Outcome::Hole(what.to_string())),
            _ => plan.config.stored(&folder)?.map(Outcome::measured),
        });
    }
    // Rows that show one measure each of the same runs share a cell, which is run once.
    let first = |i: usize| plans.iter().position(|plan| plan.config == plans[i].config).unwrap_or(i);
    let open: Vec<usize> = (0..plans.len()).filter(|&i| outcomes[i].is_none() && first(i) == i).collect();
    let clock = Clock::new(&plans, &open, start);
    (watch.on_cell)(&clock.progress());

    let sources = Sources::new(&plans, &open, settings);
    let found: Mutex<Vec<(usize, Outcome)>> = Mutex::new(Vec::new());
    let broken: Mutex<Option<Error>> = Mutex::new(None);
    let next = AtomicUsize::new(0);
    // Plain threads that hand their work to rayon's pool: a pool thread that waits inside one cell would start another
    // cell within it, and hold up the first until that is done.
    let workers = rayon::current_num_threads().min(open.len());
    std::thread::scope(|scope| {
        let work = || {
            scope.spawn(|| {
                while !watch.stop.load(Ordering::Relaxed) && lock(&broken).is_none() {
                    let Some(&i) = open.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                    let mut outcome = run_cell(&plans[i], &sources, watch.stop);
                    if let Outcome::Measured(measured) = outcome {
                        match plans[i].config.store(*measured, &folder) {
                            Ok(kept) => outcome = Outcome::measured(kept),
                            Err(e) => {
                                lock(&broken).get_or_insert(e);
                                return;
                            }
                        }
                    }
                    if outcome == Outcome::NotRun {
                        return;
                    }
                    let is_measured = matches!(outcome, Outcome::Measured(_));
                    lock(&found).push((i, outcome));
                    (watch.on_cell)(&clock.advance(&plans[i], is_measured));
                }
            })
        };
        let working: Vec<_> = (0..workers).map(|_| work()).collect();
        help_the_pool(|| working.iter().all(|worker| worker.is_finished()));
    });
    if let Some(e) = lock(&broken).take() {
        return Err(e);
    }
    for (i, outcome) in lock(&found).drain(..) {
        outcomes[i] = Some(outcome);
    }
    let outcomes = (0..plans.len()).map(|i| outcomes[first(i)].clone().unwrap_or(Outcome::NotRun)).collect();
    Report::new(table, settings, &plans, outcomes, start.elapsed().as_secs_f64())
}

/// Until it is done: where this thread is one of the pool's, takes part in its work, which would have one thread less otherwise.
fn help_the_pool(is_done: impl Fn() -> bool) {
    while rayon::current_thread_index().is_some() && !is_done() {
        if rayon::yield_now() != Some(rayon::Yield::Executed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The report with every other cell of the table that is kept under the same runs and seed, whatever its recipe: what
/// earlier selections found stands beside what this one did. Nothing is run; rows and columns without a cell stay out.
pub fn with_stored(table: &Table, settings: &Settings, report: &Report) -> Result<Report> {
    let mut recipes = settings.recipes.clone();
    recipes.extend([Recipe::Thesis, Recipe::Default].into_iter().filter(|r| !settings.recipes.contains(r)));
    let everything = Settings { recipes, columns: Vec::new(), rows: None, ..settings.clone() };
    let folder = settings.out.join("cells");
    let mut found = Vec::new();
    for plan in plan(table, &everything)? {
        // What is not in gnarl has no settings to tell its recipe by.
        let same_recipe = report.rows.iter().filter(|row| row.recipe == plan.recipe);
        let asked = same_recipe.flat_map(|row| &row.cells).find(|cell| cell.config == plan.config);
        let message = || asked.and_then(|cell| cell.message.clone()).unwrap_or_default();
        let outcome = match asked.map(|cell| cell.status) {
            Some(Status::Hole) => Outcome::Hole(message()),
            Some(Status::Failed) => Outcome::Failed(message()),
            _ => plan.config.stored(&folder)?.map_or(Outcome::NotRun, Outcome::measured),
        };
        let is_shown = asked.is_some() || outcome != Outcome::NotRun;
        found.push((plan, outcome, is_shown));
    }
    let shown = || found.iter().filter(|(.., is_shown)| *is_shown).map(|(plan, ..)| plan);
    let rows: HashSet<_> = shown().map(|plan| (plan.recipe, plan.row)).collect();
    let columns: HashSet<_> = shown().map(|plan| plan.column).collect();
    found.retain(|(plan, ..)| rows.contains(&(plan.recipe, plan.row)) && columns.contains(&plan.column));
    let (plans, outcomes): (Vec<_>, Vec<_>) = found.into_iter().map(|(plan, outcome, _)| (plan, outcome)).unzip();
    let whole = Report::new(table, &everything, &plans, outcomes, report.seconds)?;
    // A cell that nobody asked for this time is no interruption.
    Ok(Report { interrupted: report.interrupted, ..whole })
}

/// The cells to run, column by column, so that a dataset is needed for as short a time as possible.
fn plan(table: &Table, settings: &Settings) -> Result<Vec<Plan>> {
    let refuse = |what: String| Err(Error::Graph(gnarl_graph::Error::argument("reproduce", what)));
    if let Some(flaw) = table.flaw() {
        return refuse(format!("table {}: {flaw}", table.name));
    }
    if settings.runs == 0 || settings.recipes.is_empty() {
        return refuse(format!("{} runs of {} recipes: at least one of each", settings.runs, settings.recipes.len()));
    }
    let columns = select_columns(table, &settings.columns)?;
    let wanted = settings.rows.as_deref().unwrap_or("").to_lowercase();
    let rows: Vec<usize> =
        (0..table.rows.len()).filter(|&r| table.rows[r].label.to_lowercase().contains(&wanted)).collect();
    if rows.is_empty() {
        let labels: Vec<&str> = table.rows.iter().map(|row| row.label).collect();
        return refuse(format!("no row of {} has '{wanted}' in it; there are {}", table.name, labels.join(", ")));
    }
    let mut plans = Vec::new();
    for &column in &columns {
        let name = dataset_name(table.columns[column]).expect("the table has no flaw");
        for &row in &rows {
            let spec = table.rows[row].spec;
            let recipes: Vec<Option<Recipe>> =
                if spec.is_trained() { settings.recipes.iter().copied().map(Some).collect() } else { vec![None] };
            for recipe in recipes {
                let by = recipe.unwrap_or(Recipe::Thesis);
                let config = CellConfig::new(spec, name, by, settings.runs, settings.seed)?;
                plans.push(Plan { row, column, recipe, config });
            }
        }
    }
    Ok(plans)
}

/// Positions of the columns asked for, in the table's order.
fn select_columns(table: &Table, asked: &[String]) -> Result<Vec<usize>> {
    let mut chosen = vec![asked.is_empty(); table.columns.len()];
    for name in asked {
        let dataset = dataset_name(name);
        let at = (table.columns.iter())
            .position(|c| c.eq_ignore_ascii_case(name) || (dataset.is_some() && dataset_name(c) == dataset));
        match at {
            Some(at) => chosen[at] = true,
            None => return Err(gnarl_graph::Error::unknown("column", name, table.columns.iter().copied()).into()),
        }
    }
    Ok((0..chosen.len()).filter(|&i| chosen[i]).collect())
}

fn run_cell(plan: &Plan, sources: &Sources<'_>, stop: &AtomicBool) -> Outcome {
    let outcome = sources.get(&plan.config.dataset).and_then(|loaded| match plan.config.run(&loaded, stop) {
        Ok(Some(measured)) => Ok(Outcome::measured(measured)),
        Ok(None) => Ok(Outcome::NotRun),
        Err(e) => Err(Outcome::Failed(e.to_string())),
    });
    sources.release(&plan.config.dataset);
    outcome.unwrap_or_else(|why| why)
}

/// Datasets, loaded when the first cell needs them and dropped after the last.
struct Sources<'a> {
    settings: &'a Settings,
    by_name: HashMap<&'a str, Mutex<Source>>,
}

/// What became of a dataset.
struct Source {
    loaded: Option<std::result::Result<Arc<Dataset>, Outcome>>,
    cells_left: usize,
}

impl<'a> Sources<'a> {
    fn new(plans: &'a [Plan], open: &[usize], settings: &'a Settings) -> Self {
        let mut cells: HashMap<&str, usize> = HashMap::new();
        for &i in open {
            *cells.entry(plans[i].config.dataset.as_str()).or_default() += 1;
        }
        let source = |cells_left| Mutex::new(Source { loaded: None, cells_left });
        Self { settings, by_name: cells.into_iter().map(|(name, count)| (name, source(count))).collect() }
    }

    /// The dataset, or what a cell that needs it comes to.
    fn get(&self, name: &str) -> std::result::Result<Arc<Dataset>, Outcome> {
        let mut source = lock(&self.by_name[name]);
        let load = || match dataset::load(name, &self.settings.data_dir, self.settings.seed) {
            Ok(loaded) => Ok(Arc::new(loaded)),
            Err(gnarl_graph::Error::Absent { .. }) => {
                Err(Outcome::Hole(format!("not in the data folder; gnarl data get {name}")))
            }
            Err(e) => Err(Outcome::Failed(e.to_string())),
        };
        source.loaded.get_or_insert_with(load).clone()
    }

    fn release(&self, name: &str) {
        let mut source = lock(&self.by_name[name]);
        source.cells_left -= 1;
        if source.cells_left == 0 {
            source.loaded = None;
        }
    }
}

/// Judges the time left by the work done: entries touched in an epoch, times width, epochs and runs.
struct Clock {
    start: Instant,
    total: usize,
    reused: usize,
    tally: Mutex<Tally>,
}

#[derive(Clone, Copy)]
struct Tally {
    cells: usize,
    work_done: f64,
    work_left: f64,
}

impl Clock {
    fn new(plans: &[Plan], open: &[usize], start: Instant) -> Self {
        let work_left = open.iter().map(|&i| work(&plans[i].config)).sum();
        let tally = Mutex::new(Tally { cells: 0, work_done: 0.0, work_left });
        Self { start, total: plans.len(), reused: plans.len() - open.len(), tally }
    }

    /// One more cell is done; one that was not measured took no work.
    fn advance(&self, plan: &Plan, is_measured: bool) -> Progress {
        let mut tally = lock(&self.tally);
        let work = work(&plan.config);
        tally.cells += 1;
        tally.work_left -= work;
        tally.work_done += if is_measured { work } else { 0.0 };
        drop(tally);
        self.progress()
    }

    fn progress(&self) -> Progress {
        let Tally { cells, work_done, work_left } = *lock(&self.tally);
        let pace = self.start.elapsed().as_secs_f64() / work_done;
        let seconds_left = (work_done > 0.0).then_some(pace * work_left.max(0.0));
        Progress { done: self.reused + cells, total: self.total, reused: self.reused, seconds_left }
    }
}

fn work(config: &CellConfig) -> f64 {
    let size = registry::get(&config.dataset).map_or(1.0, |entry| {
        (entry.expected.nodes + 2 * entry.expected.undirected_edges.unwrap_or(entry.expected.nodes)) as f64
    });
    size * config.work.effort()
}

/// A worker that panicked has left nothing half done: what the lock guards is replaced whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
