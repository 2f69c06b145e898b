//! Splits of a user's own graph: `node,split,part`, or `node,part` for a single split.

use std::collections::HashMap;

use super::nodes::Nodes;
use super::table::{Table, is_header};
use crate::text::{at_line, quoted};
use gnarl_graph::error::Result;
use gnarl_graph::split::Split;

/// Largest number of splits; more are an error in the file.
const MAX_SPLITS: usize = 1000;

pub(super) fn parse(table: &Table, nodes: &Nodes) -> Result<Vec<Split>> {
    let mut splits: Vec<(String, [Vec<u32>; 3])> = Vec::new();
    let mut number: HashMap<String, usize> = HashMap::new();
    let first = table.first()?;
    let mut is_title =
        is_header(&first) && first.last().is_some_and(|field| part_of(field).is_none());
    table.each_row(|line, fields| {
        if std::mem::take(&mut is_title) {
            return Ok(());
        }
        let (node, split, part) = match *fields {
            [node, split, part] => (node, split, part),
            [node, part] => (node, "own", part),
            _ => {
                let what = format!(
                    "{} is neither 'node,part' nor 'node,split,part'",
                    quoted(&fields.join(","))
                );
                return Err(at_line(&table.path, line, what));
            }
        };
        let node = nodes.get(table, line, node)?;
        let part = part_of(part).ok_or_else(|| {
            at_line(
                &table.path,
                line,
                format!("{} is not train, val or test", quoted(part)),
            )
        })?;
        let k = *number.entry(split.to_string()).or_insert_with(|| {
            splits.push((split.to_string(), Default::default()));
            splits.len() - 1
        });
        if splits.len() > MAX_SPLITS {
            return Err(at_line(
                &table.path,
                line,
                format!("more than {MAX_SPLITS} splits"),
            ));
        }
        splits[k].1[part].push(node);
        Ok(())
    })?;
    splits
        .into_iter()
        .map(|(name, [train, val, test])| {
            Split::new(name, train, val, test).map_err(|e| table.fault(e.to_string()))
        })
        .collect()
}

fn part_of(name: &str) -> Option<usize> {
    match name.to_ascii_lowercase().as_str() {
        "train" => Some(0),
        "val" | "valid" | "validation" => Some(1),
        "test" => Some(2),
        _ => None,
    }
}
