//! A single table of nodes instead of several files: classes, parts of a split and features side by
//! side.

use super::Sources;
use super::columns;
use super::table::Table;
use gnarl_graph::error::Result;

/// Titles of the node column; a column without title is a pandas index.
const IDS: [&str; 6] = ["node", "id", "node_id", "nodeid", "name", ""];
/// Titles of the class column.
const CLASSES: [&str; 4] = ["label", "labels", "class", "classes"];
/// Titles of the part column.
const PARTS: [&str; 2] = ["part", "split"];

/// Contents of a table of nodes, as separate tables.
#[derive(Default)]
pub(super) struct NodeTable {
    pub features: Option<Table>,
    pub labels: Option<Table>,
    pub splits: Option<Table>,
}

impl NodeTable {
    /// Splits a table. The features, labels and splits that are `wanted` are read; the others have
    /// files of their own and are reported as unused. A column of words that is neither class nor
    /// part is not read.
    pub fn parse(table: &Table, wanted: [bool; 3], sources: &mut Sources) -> Result<Self> {
        let titles: Vec<String> = table
            .first()?
            .iter()
            .map(|title| title.to_ascii_lowercase())
            .collect();
        let is_one_of = |title: &String, known: &[&str]| known.contains(&title.as_str());
        if titles.len() < 2 || !is_one_of(&titles[0], &IDS) {
            let why =
                "not read: its first line must name its columns, the first of them node or id";
            sources.unused(&table.path, why);
            return Ok(Self::default());
        }
        let find = |known: &[&str]| {
            titles
                .iter()
                .skip(1)
                .position(|title| is_one_of(title, known))
                .map(|at| at + 1)
        };
        let (class, part) = (find(&CLASSES), find(&PARTS));
        let numbers = Numbers::of(table, titles.len())?;
        let others = (1..titles.len()).filter(|&at| Some(at) != class && Some(at) != part);
        let (features, words): (Vec<usize>, Vec<usize>) = others.partition(|&at| numbers.is_in(at));
        let mut leave = |columns_left: &[usize], why: &str| {
            let names: Vec<String> = columns_left.iter().map(|&at| titles[at].clone()).collect();
            if !names.is_empty() {
                sources.unused(&table.path, columns(&names, why));
            }
        };
        leave(&words, "words, where features are numbers");
        let mut part_of = |which: usize, at: &[usize]| {
            if !wanted[which] {
                leave(at, "there is a file for it");
            }
            wanted[which] && !at.is_empty()
        };
        let [has_features, has_class, has_part] = [
            part_of(0, &features),
            part_of(1, &class.into_iter().collect::<Vec<_>>()),
            part_of(2, &part.into_iter().collect::<Vec<_>>()),
        ];
        let one = |at: Option<usize>, title: &str, blank: bool| match at {
            Some(at) => {
                Ok(Some(table.columns(&[0, at], title, |fields| {
                    blank || !fields[at].is_empty()
                })?))
            }
            None => Ok(None),
        };
        let all: Vec<usize> = std::iter::once(0).chain(features).collect();
        Ok(Self {
            features: if has_features {
                Some(table.columns(&all, "feature", |_| true)?)
            } else {
                None
            },
            labels: one(class.filter(|_| has_class), "class", true)?,
            // A node without a part is in none.
            splits: one(part.filter(|_| has_part), "part", false)?,
        })
    }
}

/// Flags of the columns with at least one number in them, so that a typo in a column of numbers is
/// found and the column not taken for words.
struct Numbers(Vec<bool>);

impl Numbers {
    fn of(table: &Table, num_columns: usize) -> Result<Self> {
        let mut found = vec![false; num_columns];
        let mut is_title = true;
        table.each_row(|line, fields| {
            if std::mem::take(&mut is_title) {
                return Ok(());
            }
            if fields.len() != num_columns {
                let what = format!("{} fields, but the header has {num_columns}", fields.len());
                return Err(crate::text::at_line(&table.path, line, what));
            }
            found
                .iter_mut()
                .zip(fields)
                .for_each(|(found, field)| *found |= field.parse::<f64>().is_ok());
            Ok(())
        })?;
        Ok(Self(found))
    }

    fn is_in(&self, column: usize) -> bool {
        self.0[column]
    }
}
