//! The HTML page of the karate demo: the graph, the table, the curves, and the misclassified
//! members.

use gnarl_graph::Graph;

use super::entries::PLAIN;
use super::layout::layout;
use super::{DemoReport, Difference, NEXT, Predictions, Row, facts};
use crate::html::{COLOURS, Cell, escape};
use crate::output::real;
use crate::page::{Axis, DotRow, Dots, Lines, Page, Section, Series};

/// Renders the whole page.
pub fn page(report: &DemoReport, graph: &Graph) -> serde_json::Result<String> {
    let at = layout(graph);
    let graphs = Section::new("graphs", "Built-in graphs").markup(&facts::markup(&report.graphs));
    let next = Section::new("next", "Next commands").markup(&super::super::next_markup(&NEXT));
    Page::new("Node classification on Zachary's karate club")
        .style(STYLE)
        .lead(LEAD)
        .section(club_section(report, graph, &at))
        .section(models_section(report))
        .section(learning_section(report))
        .section(errors_section(report, graph, &at))
        .section(graphs)
        .section(next)
        .render()
}

/// Styles that only this page has.
const STYLE: &str = ".pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 1rem; } .node:hover { opacity: .7; }\nsvg .node text { fill: #fff; font-size: inherit; }\n";

const LEAD: &str = "<p>In the 1970s Wayne Zachary recorded which of the 34 members of a karate club met outside the club: 78 ties. \
     A model has these ties and the community of a few members, and predicts the community of all others. \
     The features are one-hot identities, so any accuracy above guessing comes from the ties.</p>\n";

/// Builds the section with the misclassified members of a plain GCN.
fn club_section(report: &DemoReport, graph: &Graph, at: &[(f64, f64)]) -> Section {
    let plain = &report.rows[PLAIN];
    Section::new("club", "Errors of a plain GCN")
        .markup(&picture(graph, at, &plain.predictions, 640.0, true))
        .text(
            "Colours are communities, larger circles have more ties. The dark arc around a member is the share of tests in which the GCN \
             misclassified it: a closed ring is always misclassified. Hover over a member for the numbers.",
        )
        .markup(&misclassified(graph, &plain.predictions))
}

/// Builds the section with the accuracy of every model.
fn models_section(report: &DemoReport) -> Section {
    let protocol = report
        .protocol_text()
        .map(|line| escape(&line))
        .join(".<br>");
    let mut models =
        Section::new("models", "Accuracy of the models").markup(&format!("<p>{protocol}.</p>\n"));
    if report.interrupted {
        models =
            models.markup("<p class=\"note\"><strong>Interrupted: these are the epochs done so far.</strong></p>\n");
    }
    let majority = DotRow {
        name: "largest community".into(),
        values: report.majority.runs.clone(),
    };
    let of = |row: &Row| DotRow {
        name: row.entry.name(),
        values: row.test_accuracy.runs.clone(),
    };
    accuracy_table(report, models).component(Dots {
        title: "Test accuracy of every split, and the mean".into(),
        x: Axis {
            low: Some(0.0),
            high: Some(100.0),
            ..Axis::of("test accuracy, %")
        },
        rows: std::iter::once(majority)
            .chain(report.rows.iter().map(of))
            .collect(),
    })
}

/// Builds the section with the learning curves.
fn learning_section(report: &DemoReport) -> Section {
    let lines = |title: &str, label: &str, curve: fn(&Row) -> &[f64]| Lines {
        title: title.into(),
        x: Axis::of("epoch"),
        y: Axis::of(label),
        series: (report.rows.iter())
            .map(|row| Series {
                name: row.entry.name(),
                values: curve(row).to_vec(),
                ..Series::default()
            })
            .collect(),
    };
    Section::new("learning", "Learning curves").side_by_side(vec![
        lines("Validation accuracy, mean over splits", "%", |row| {
            &row.val_curve
        })
        .into(),
        lines("Training loss, mean over splits", "loss", |row| {
            &row.loss_curve
        })
        .into(),
    ])
}

/// Builds the section with a picture of every model's errors.
fn errors_section(report: &DemoReport, graph: &Graph, at: &[(f64, f64)]) -> Section {
    let mut pictures = String::from("<div class=\"pictures\">\n");
    for row in &report.rows {
        let accuracy = escape(&format!(
            "{}: {:.1} %",
            row.entry.name(),
            row.test_accuracy.mean
        ));
        pictures += &format!(
            "<figure>{}<figcaption>{accuracy}</figcaption></figure>\n",
            picture(graph, at, &row.predictions, 260.0, false)
        );
    }
    Section::new("errors", "Errors of every model").markup(&(pictures + "</div>\n"))
}

fn accuracy_table(report: &DemoReport, section: Section) -> Section {
    let of_majority = format!("{:.1} ± {:.1}", report.majority.mean, report.majority.std);
    let dash = || Cell::text("-");
    let mut rows = vec![(
        "largest community".to_string(),
        vec![dash(), Cell::text(&of_majority), dash(), dash()],
    )];
    for row in &report.rows {
        let accuracy = format!(
            "{:.1} ± {:.1}",
            row.test_accuracy.mean, row.test_accuracy.std
        );
        let difference = row.minus_plain.as_ref().map_or_else(dash, difference_cell);
        let fields = vec![
            Cell::text(row.entry.operator),
            Cell::text(&accuracy),
            difference,
            Cell::text(&real(row.epoch_ms)),
        ];
        rows.push((row.entry.model.to_string(), fields));
    }
    section.table(
        &[
            "model",
            "operator",
            "test accuracy, %",
            "minus plain GCN",
            "ms an epoch",
        ],
        &rows,
    )
}

fn difference_cell(difference: &Difference) -> Cell {
    let class = match (difference.is_clear, difference.mean > 0.0) {
        (false, _) => "",
        (true, true) => "above",
        (true, false) => "below",
    };
    Cell {
        markup: escape(difference.text().trim_end()),
        class,
    }
}

/// Lists the most often misclassified members and their predicted classes.
fn misclassified(graph: &Graph, predictions: &[Predictions]) -> String {
    let mut worst: Vec<u32> = (0..predictions.len() as u32)
        .filter(|&u| predictions[u as usize].wrong > 0)
        .collect();
    worst.sort_by(|&a, &b| {
        predictions[b as usize]
            .share_wrong()
            .total_cmp(&predictions[a as usize].share_wrong())
            .then(a.cmp(&b))
    });
    let items: Vec<String> = worst
        .iter()
        .take(5)
        .map(|&u| format!("<li>{}</li>\n", escape(&describe(graph, predictions, u))))
        .collect();
    if items.is_empty() {
        return "<p>No member was misclassified.</p>\n".to_string();
    }
    format!(
        "<p>Most often misclassified:</p>\n<ul>\n{}</ul>\n",
        items.concat()
    )
}

/// Describes a member, as in `member 9 of community 0: misclassified in 7 of 11 tests, mostly
/// as 1; 1 of 2 ties inside the community`.
fn describe(graph: &Graph, predictions: &[Predictions], u: u32) -> String {
    let class = |u: u32| graph.labels().and_then(|labels| labels.get(u));
    let of_node = &predictions[u as usize];
    let own = class(u);
    let mut text = format!("member {u}");
    if let Some(own) = own {
        text += &format!(" of community {own}");
    }
    text += &format!(
        ": misclassified in {} of {} tests",
        of_node.wrong,
        of_node.tested()
    );
    let others =
        (0..of_node.counts.len()).filter(|&c| Some(c as u32) != own && of_node.counts[c] > 0);
    if let Some(class) = others.max_by_key(|&c| (of_node.counts[c], std::cmp::Reverse(c))) {
        text += &format!(", mostly as {class}");
    }
    let inside = graph
        .neighbours(u)
        .iter()
        .filter(|&&v| class(v) == own)
        .count();
    text + &format!(
        "; {inside} of {} ties inside the community",
        graph.degree(u)
    )
}

/// Draws the graph with its classes as colours, and an arc around each node for the share of wrong
/// predictions.
fn picture(
    graph: &Graph,
    at: &[(f64, f64)],
    predictions: &[Predictions],
    size: f64,
    with_names: bool,
) -> String {
    let radius = |u: u32| size * (0.012 + 0.0035 * (graph.degree(u) as f64).sqrt());
    let margin = size * 0.06;
    let place = |u: u32| {
        let (x, y) = at[u as usize];
        (
            margin + x * (size - 2.0 * margin),
            margin + y * (size - 2.0 * margin),
        )
    };
    let mut svg = format!(
        "<svg viewBox=\"0 0 {size} {size}\" width=\"{size}\" role=\"img\" aria-label=\"the graph, its classes and the errors\" \
         font-size=\"{:.1}\" text-anchor=\"middle\">\n<g stroke=\"#888\" stroke-opacity=\"0.45\">\n",
        size * 0.017
    );
    for (u, v) in graph.edges() {
        let ((x1, y1), (x2, y2)) = (place(u), place(v));
        svg += &format!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n");
    }
    svg += "</g>\n";
    for u in 0..graph.num_nodes() as u32 {
        let ((x, y), r) = (place(u), radius(u));
        let class = graph.labels().and_then(|labels| labels.get(u)).unwrap_or(0) as usize;
        let colour = COLOURS[class % COLOURS.len()];
        svg += &format!(
            "<g class=\"node\"><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\" fill=\"{colour}\"/>"
        );
        let wrong = 100.0 * predictions[u as usize].share_wrong();
        if wrong > 0.0 {
            svg += &format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"{:.1}\" \
                 pathLength=\"100\" stroke-dasharray=\"{wrong:.0} 100\" transform=\"rotate(-90 {x:.1} {y:.1})\"/>",
                r + size * 0.006,
                size * 0.006
            );
        }
        if with_names {
            svg += &format!(
                "<text x=\"{x:.1}\" y=\"{:.1}\" >{u}</text>",
                y + size * 0.006
            );
        }
        svg += &format!(
            "<title>{}</title></g>\n",
            escape(&describe(graph, predictions, u))
        );
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl_data::embedded::karate;

    #[test]
    fn a_picture_has_every_node_and_edge_and_an_arc_for_who_is_wrong() {
        let graph = karate();
        let mut predictions = vec![
            Predictions {
                counts: vec![4, 0, 0, 0],
                wrong: 0
            };
            34
        ];
        predictions[9] = Predictions {
            counts: vec![1, 3, 0, 0],
            wrong: 3,
        };
        let svg = picture(&graph, &layout(&graph), &predictions, 640.0, true);
        assert_eq!(
            (
                svg.matches("<line").count(),
                svg.matches("class=\"node\"").count()
            ),
            (78, 34)
        );
        assert_eq!(
            (
                svg.matches("stroke-dasharray").count(),
                svg.matches("<text").count()
            ),
            (1, 34)
        );
        assert!(svg.contains("stroke-dasharray=\"75 100\""), "{svg}");
        let described = "member 9 of community 0: misclassified in 3 of 4 tests, mostly as 1; 1 of 2 ties inside the community";
        assert!(svg.contains(described), "{svg}");
        assert!(misclassified(&graph, &predictions).contains(described));
        assert!(misclassified(&graph, &predictions[..9]).contains("No member"));
    }
}
