//! The HTML page of the five axes.

use gnarl::study::portrait::Portrait;
use gnarl_graph::metrics::PairedDifference;

use super::text::{accuracy, minus};
use super::{AxesTour, NEXT, PageData, Row, WithDifference};
use crate::html::{Cell, escape};
use crate::output::count;
use crate::page::graph::{GraphData, propagation_steps, rounded};
use crate::page::{
    Axis, Calibration, Component, Confusion, DotRow, Dots, Lines, Page, Scatter, Section, Series,
};

/// Selects one result of a row.
type Of = fn(&Row) -> &WithDifference;

/// Renders the whole page.
pub fn page(report: &AxesTour, data: &PageData<'_>) -> anyhow::Result<String> {
    let [what, protocol, spread] = report.protocol_text();
    let lead = format!("<p>{}</p>\n", escape(&capital(&what)));
    let mut tiles = vec![(
        percent(&report.rows[0].clean),
        "test accuracy of a plain GCN".to_string(),
    )];
    let best = |of: Of| {
        let rows = report
            .rows
            .iter()
            .filter(|row| of(row).minus_plain.is_some());
        rows.max_by(|a, b| of(a).accuracy.mean.total_cmp(&of(b).accuracy.mean))
    };
    let parts: [(&str, Of); 3] = [
        ("on clean data", |r| &r.clean),
        ("under noise", |r| &r.noise),
        ("under flipped edges", |r| &r.flips),
    ];
    for (when, of) in parts {
        if let Some(row) = best(of) {
            let difference = minus(of(row).minus_plain.as_ref())
                .replace('*', "")
                .trim()
                .to_string();
            tiles.push((
                difference,
                format!("points {when} by {} ({})", row.axis, row.choice),
            ));
        }
    }
    let page = Page::new("Five axes of a graph neural network, on Cora")
        .lead(&lead)
        .tiles(&tiles)
        .section(graph_section(report, data)?)
        .section(axes_section(report, &[protocol, spread]))
        .section(attack_section(report))
        .section(depth_section(report, data))
        .section(certificate_section(report))
        .section(predictions_section(data))
        .section(mutag_section(report))
        .section(next_section(report));
    Ok(page.render()?)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

fn percent(of: &WithDifference) -> String {
    format!("{} %", accuracy(&of.accuracy))
}

/// Builds the section with the graph and the predictions of the first runs.
fn graph_section(report: &AxesTour, data: &PageData<'_>) -> anyhow::Result<Section> {
    let PageData {
        graph,
        split,
        plain,
        deep,
    } = data;
    let mut data = GraphData::new("Cora", "paper", graph, report.seed)?;
    data.add_predictions("prediction of a plain GCN", plain);
    data.add_exits("depth of each paper", deep);
    data.add_margin(plain);
    if let Some(row) = report.certificates.last() {
        let mut radii = vec![None; graph.num_nodes()];
        row.nodes
            .iter()
            .for_each(|node| radii[node.node as usize] = Some(rounded(node.radius as f32)));
        let about = "largest L2 norm of a change of one paper's features that cannot change this prediction, with orthonormal weights";
        let radii = data.of_shown(&radii);
        data.number_channel(
            "radius",
            "certified radius",
            about,
            radii,
            Some("not a test paper"),
        );
    }
    data.add_pagerank(graph)?;
    data.add_parts(graph, split);
    data.add_words("rarest words", graph);
    data.add_walk(
        &format!(
            "a greedy attack on the plain GCN, up to {} % of the edges",
            100.0 * super::WALKED
        ),
        &report.walk,
    );
    Ok(Section::new("graph", "The citation graph")
        .text("Every dot is a paper and every line a citation; larger dots have more citations. Colours show a single run.")
        .component(data))
}

/// Builds the section with every axis alone and all together.
fn axes_section(report: &AxesTour, lines: &[String]) -> Section {
    let heads = [
        "axis",
        "switched to",
        "clean, %",
        "minus plain",
        "noise, %",
        "minus plain",
        "flips, %",
        "minus plain",
    ];
    let rows: Vec<(String, Vec<Cell>)> = (report.rows.iter())
        .map(|row| {
            let mut cells = vec![Cell::text(&row.choice)];
            for evaluated in [&row.clean, &row.noise, &row.flips] {
                cells.extend([
                    Cell::text(&accuracy(&evaluated.accuracy)),
                    difference(evaluated.minus_plain.as_ref()),
                ]);
            }
            (row.axis.to_string(), cells)
        })
        .collect();
    let dots = |title: &str, of: Of| -> Component {
        let row = |row: &Row| DotRow {
            name: name(row),
            values: of(row).accuracy.runs.clone(),
        };
        Dots {
            title: title.into(),
            x: Axis::of("test accuracy, %"),
            rows: report.rows.iter().map(row).collect(),
        }
        .into()
    };
    let curves: Vec<Series> = (report.rows.iter())
        .filter(|row| !row.curve.is_empty())
        .map(|row| Series {
            name: name(row),
            values: row.curve.clone(),
            ..Series::default()
        })
        .collect();
    let noise = format!(
        "Noise is Gaussian noise on every feature, with an expected norm of {} per paper. Flips (DICE) are {} % of the edges: edges within a field are \
         removed and edges between fields are added. Models are trained on clean data (evasion), and no setting was tuned.",
        super::NOISE,
        100.0 * super::FLIPS
    );
    Section::new("axes", "Each axis alone, and all together")
        .text(&format!("{}. {}.", capital(&lines[0]), capital(&lines[1])))
        .text(&noise)
        .table(&heads, &rows)
        .side_by_side(vec![
            dots("Clean: every run and the mean", |r| &r.clean),
            dots("Under noise", |r| &r.noise),
            dots("Under flipped edges", |r| &r.flips),
            Lines {
                title: "Learning, mean over runs; models that train once".into(),
                x: Axis::of("epoch"),
                y: Axis::of("validation accuracy, %"),
                series: curves,
            }
            .into(),
        ])
}

fn name(row: &Row) -> String {
    format!("{}: {}", row.axis, row.choice)
}

/// Formats a difference as a cell, coloured if it is significant.
fn difference(of: Option<&PairedDifference>) -> Cell {
    let class = match of {
        Some(d) if d.is_clear() && d.mean > 0.0 => "above",
        Some(d) if d.is_clear() => "below",
        _ => "",
    };
    Cell {
        markup: escape(minus(of).trim_end()),
        class,
    }
}

fn attack_section(report: &AxesTour) -> Section {
    let steps = &report.walk.steps;
    let share = |flips: usize| 100.0 * flips as f64 / report.cora.edges as f64;
    let line = Lines {
        title: "Accuracy by budget, one run".into(),
        x: Axis::at(
            "share of the edges flipped, %",
            steps.iter().map(|s| share(s.flips)).collect(),
        ),
        y: Axis::of("test accuracy, %"),
        series: vec![Series {
            name: "plain GCN".into(),
            values: steps.iter().map(|s| s.accuracy).collect(),
            ..Series::default()
        }],
    };
    let changed = Lines {
        title: "Papers whose prediction changed".into(),
        x: Axis::at(
            "share of the edges flipped, %",
            steps.iter().map(|s| share(s.flips)).collect(),
        ),
        y: Axis {
            low: Some(0.0),
            ..Axis::of("papers")
        },
        series: vec![Series {
            name: "of all papers".into(),
            values: steps.iter().map(|s| s.turned.len() as f64).collect(),
            ..Series::default()
        }],
    };
    Section::new("attack", "White-box attack")
        .text(
            "GRBCD flips edges one after the other, by the gradients of the evaluated model (evasion). The slider above the graph shows the same flips.",
        )
        .side_by_side(vec![line.into(), changed.into()])
}

fn depth_section(report: &AxesTour, data: &PageData<'_>) -> Section {
    let depth = &report.depth;
    let row = |(exit, of): (usize, &gnarl::study::Accuracy)| {
        let taken = count(depth.taken[exit].round() as u64);
        (
            propagation_steps(exit),
            vec![Cell::text(&accuracy(of)), Cell::text(&taken)],
        )
    };
    let mut rows: Vec<(String, Vec<Cell>)> =
        depth.exit_accuracy.iter().enumerate().map(row).collect();
    rows.push((
        "best single depth".into(),
        vec![
            Cell::text(&accuracy(&depth.single_layer_accuracy)),
            Cell::text("-"),
        ],
    ));
    for (policy, of) in &depth.policy_accuracy {
        rows.push((
            format!("an exit for each paper ({policy})"),
            vec![Cell::text(&accuracy(&of.accuracy)), Cell::text("all")],
        ));
    }
    rows.push((
        "oracle (any depth correct)".into(),
        vec![
            Cell::text(&accuracy(&depth.oracle_accuracy)),
            Cell::text("-"),
        ],
    ));
    let section = Section::new("depth", "Adaptive depth")
        .text(&format!(
            "{}. The oracle counts a paper as correct if any depth is correct; it is an upper bound for every policy.",
            capital(&report.depth_text())
        ))
        .table(&["exit", "test accuracy, %", "papers that take it"], &rows);
    match &data.deep.exits {
        Some(_) => section.component(confusion(
            "Confusion matrix with adaptive depth (one run)",
            data,
            &data.deep,
        )),
        None => section,
    }
}

fn confusion(title: &str, data: &PageData<'_>, portrait: &Portrait) -> Confusion {
    let classes = data.graph.labels().map_or_else(Vec::new, |labels| {
        (0..labels.num_classes() as u32)
            .map(|class| labels.name(class))
            .collect()
    });
    Confusion {
        title: title.into(),
        classes,
        counts: portrait.confusion.clone(),
    }
}

fn certificate_section(report: &AxesTour) -> Section {
    let series = |row: &super::CertificateRow| Series {
        name: format!("{} weights", weights_name(row)),
        values: row.certified.iter().map(|a| a.mean).collect(),
        low: Some(row.certified.iter().map(|a| a.mean - a.std).collect()),
        high: Some(row.certified.iter().map(|a| a.mean + a.std).collect()),
    };
    let shares = report.certificates.first().map_or_else(Vec::new, |row| {
        row.shares.iter().map(|s| 100.0 * s).collect()
    });
    Section::new("certificate", "Certified accuracy")
        .text(&format!("{}.", capital(&report.certificate_text())))
        .text("The radius is the L2 norm of a change of one paper's features, in per cent of the median norm of a paper's features. Bands are one standard deviation over runs.")
        .component(Lines {
            title: "Certified accuracy by radius".into(),
            x: Axis::at("radius, % of the median norm", shares),
            y: Axis { low: Some(0.0), high: Some(100.0), ..Axis::of("test papers, %") },
            series: report.certificates.iter().map(series).collect(),
        })
}

/// Returns the name of the weights of a row in the legend.
fn weights_name(row: &super::CertificateRow) -> &str {
    match row.weights {
        "free" => "unconstrained",
        other => other,
    }
}

fn predictions_section(data: &PageData<'_>) -> Section {
    let Portrait {
        calibration,
        plane,
        predicted,
        ..
    } = &data.plain;
    let labels = data.graph.labels();
    let confusion = confusion("Confusion matrix", data, &data.plain);
    let wrong =
        |(u, &class): (usize, &u32)| u8::from(labels.and_then(|l| l.get(u as u32)) != Some(class));
    let scatter = Scatter {
        title: "Embedding (PCA)".into(),
        label: "papers by the first two principal components of their class probabilities (square roots), coloured by true field".into(),
        x: plane.iter().map(|p| rounded(p[0])).collect(),
        y: plane.iter().map(|p| rounded(p[1])).collect(),
        classes: confusion.classes.clone(),
        values: (0..plane.len()).map(|u| labels.and_then(|l| l.get(u as u32)).unwrap_or(0)).collect(),
        wrong: predicted.iter().enumerate().map(wrong).collect(),
    };
    let calibration = Calibration::of("Calibration", calibration);
    Section::new("predictions", "Predictions of a plain GCN")
        .text("Calibration and confusion matrix of the first run on test papers, and the embedding of all papers.")
        .side_by_side(vec![calibration.into(), confusion.into()])
        .component(scatter)
}

fn mutag_section(report: &AxesTour) -> Section {
    let m = &report.mutag;
    let mut rows = vec![DotRow {
        name: "GIN".into(),
        values: m.augmentation.none_test_accuracy.runs.clone(),
    }];
    if let Some(control) = &m.augmentation.retrain_test_accuracy {
        rows.push(DotRow {
            name: "retrained head".into(),
            values: control.runs.clone(),
        });
    }
    rows.push(DotRow {
        name: "retrained head, sampled vectors".into(),
        values: m.with.runs.clone(),
    });
    Section::new("mutag", "Graph classification: MUTAG")
        .text(&format!("{}.", capital(&report.mutag_text())))
        .component(Dots {
            title: "Every fold and the mean".into(),
            x: Axis::of("test accuracy, %"),
            rows,
        })
}

fn next_section(report: &AxesTour) -> Section {
    let note = format!(
        "<p>Made by <code>gnarl --seed {}</code>: the same seed gives the same page for any number of threads.</p>\n",
        report.seed
    );
    Section::new("next", "Next commands")
        .markup(&super::super::next_markup(&NEXT))
        .markup(&note)
}
