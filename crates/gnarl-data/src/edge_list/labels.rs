//! Labels of a user's own graph: a class per row, by number or name, or none.

use super::nodes::{Nodes, RowNodes};
use super::table::{Table, is_data, unquoted, without_mark};
use crate::npz::integer_labels;
use crate::text::at_line;
use gnarl_graph::error::Result;
use gnarl_graph::labels::Labels;

/// Titles of the class column.
const TITLES: [&str; 6] = ["label", "labels", "class", "classes", "y", "target"];

/// The rows of a labels file, `None` for unlabelled, before the number of nodes is known.
pub(super) struct LabelRows {
    nodes: RowNodes,
    classes: Vec<Option<String>>,
    /// Titles of columns that are neither node nor class.
    pub columns_dropped: Vec<String>,
}

impl LabelRows {
    /// Reads the file whose rows are `table` and whose whole text is `text`.
    pub fn parse(table: &Table, text: &str, nodes: &mut Nodes) -> Result<Self> {
        let first = table.first()?;
        if has_nodes(table, &first) {
            return Self::parse_by_node(table, &first, nodes);
        }
        if nodes.is_named() {
            return Err(nodes.needs_header(table));
        }
        let rows = Self::parse_in_order(text);
        nodes.extend_to(rows.nodes.num_rows);
        Ok(rows)
    }

    fn parse_by_node(table: &Table, first: &[String], nodes: &mut Nodes) -> Result<Self> {
        let title = first.first().map_or("", String::as_str);
        let is_titled = match nodes.is_named() {
            true if !title.eq_ignore_ascii_case("node") => return Err(nodes.needs_header(table)),
            true => true,
            false => title.parse::<f64>().is_err(),
        };
        let is_class =
            |title: &String| TITLES.iter().any(|known| known.eq_ignore_ascii_case(title));
        let column = if is_titled {
            first.iter().skip(1).position(is_class).map_or(1, |i| i + 1)
        } else {
            1
        };
        let others = first
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(i, _)| is_titled && *i != column);
        let columns_dropped = others.map(|(_, title)| title.clone()).collect();
        let expected = if is_titled { first.len() } else { 2 };
        let mut rows = Self {
            nodes: RowNodes::by_node(),
            classes: Vec::new(),
            columns_dropped,
        };
        let mut is_title = is_titled;
        table.each_row(|line, fields| {
            if std::mem::take(&mut is_title) {
                return Ok(());
            }
            let joined;
            let class = match fields.len() {
                // No class after the last separator.
                1 => "",
                found if found == expected => fields[column],
                // A class may have spaces in its name.
                _ if table.is_spaced() && expected == 2 => {
                    joined = fields[1..].join(" ");
                    &joined
                }
                found => {
                    let what =
                        format!("{found} fields, {expected} are expected; a class with a comma needs quotation marks");
                    return Err(at_line(&table.path, line, what));
                }
            };
            rows.nodes.push(nodes.get_or_add(table, line, fields[0])?, line);
            rows.classes.push(class_of(class));
            Ok(())
        })?;
        Ok(rows)
    }

    /// Reads one row per node in order; blank rows count and leave their node unlabelled.
    fn parse_in_order(text: &str) -> Self {
        let mut rows = Self {
            nodes: RowNodes::in_order(),
            classes: Vec::new(),
            columns_dropped: Vec::new(),
        };
        let mut title_allowed = true;
        let text = without_mark(text).trim_end();
        for (line, row) in (1..).zip(text.split('\n')).filter(|_| !text.is_empty()) {
            let row = row.trim_matches([' ', '\r']);
            let is_blank = row.trim().is_empty();
            if !is_blank && !is_data(row.as_bytes()) {
                continue;
            }
            let class = unquoted(row.trim());
            let is_title = TITLES[..3]
                .iter()
                .any(|title| class.eq_ignore_ascii_case(title));
            if !is_blank && std::mem::take(&mut title_allowed) && is_title {
                continue;
            }
            rows.classes.push(class_of(&class));
            rows.nodes.push(0, line);
        }
        // A file of comments has no rows, blank or not.
        if rows.classes.iter().all(Option::is_none) && title_allowed {
            return Self {
                nodes: RowNodes::in_order(),
                classes: Vec::new(),
                ..rows
            };
        }
        rows
    }

    /// Returns the class of each node, by number if all are integers.
    pub fn build(self, table: &Table, nodes: &Nodes) -> Result<Labels> {
        let rows = self.nodes.row_of(table, nodes)?;
        let class = |row: &Option<u32>| row.and_then(|row| self.classes[row as usize].as_deref());
        let number = |row| match class(row) {
            None => Some(None),
            Some(class) => class.parse().ok().map(Some),
        };
        if let Some(values) = rows.iter().map(number).collect() {
            return Ok(integer_labels(values));
        }
        let mut names: Vec<&str> = self.classes.iter().flatten().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let index = |name| {
            names
                .binary_search(&name)
                .expect("every name was collected") as u32
        };
        let classes = rows.iter().map(|row| class(row).map(index)).collect();
        Labels::new(classes, names.len())?
            .with_names(names.iter().map(|name| name.to_string()).collect())
    }
}

fn class_of(field: &str) -> Option<String> {
    Some(field)
        .filter(|class| !matches!(*class, "" | "-1" | "?"))
        .map(String::from)
}

/// Returns true if a row has a node next to the class. A space separates them only if the first
/// field can be a node: classes may have spaces in their names.
fn has_nodes(table: &Table, first: &[String]) -> bool {
    let can_be_node =
        |field: &String| field.parse::<f64>().is_ok() || field.eq_ignore_ascii_case("node");
    first.len() > 1 && (!table.is_spaced() || can_be_node(&first[0]))
}
