//! Pages that need nothing but a browser: one file, inline style, no scripts.
//!
//! Text becomes markup in one place, [`escape`]; everything else here takes text and gives markup. By hand and not by a template
//! crate: a page is a heading, tables whose cells are computed, and drawings that are markup already. A template would hold the
//! dozen tags of [`page`] and call back into Rust for all the rest.

/// Characters that mean something in HTML, made harmless.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

/// A whole page around `body`, which is markup; the title is text.
pub fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{body}</body>\n</html>\n",
        escape(title)
    )
}

const STYLE: &str = "\
body { font: 15px/1.5 system-ui, sans-serif; color: #1c1c1c; background: #fff; margin: 2rem auto; padding: 0 1rem; max-width: 90rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; vertical-align: top; }
th:first-child { text-align: left; }
thead th { border-bottom: 2px solid #888; }
small { color: #555; }
.agree { background: #e6f4e6; } .above { background: #e3edfb; } .below { background: #fdebd9; }
.hole { background: #f3f3f3; color: #666; } .failed { background: #fbe3e3; }
.hole, .failed { white-space: normal; max-width: 14rem; text-align: left; font-size: .85rem; }
.key { padding: .1rem .5rem; }
svg { max-width: 100%; height: auto; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { text-align: center; font-size: .85rem; }
.node:hover { opacity: .7; }
@media (prefers-color-scheme: dark) {
body { color: #e4e4e4; background: #161616; } small { color: #aaa; } th, td { border-color: #3a3a3a; }
.agree { background: #1d3a1f; } .above { background: #1c2f4a; } .below { background: #4a331a; }
.hole { background: #262626; color: #aaa; } .failed { background: #4a2020; }
}
";

/// One cell of a [`table`]: markup, and the class that colours it.
pub struct Cell {
    /// What it shows, as markup.
    pub markup: String,
    /// `agree`, `above`, `below`, `hole`, `failed` or nothing.
    pub class: &'static str,
}

impl Cell {
    /// Plain text.
    pub fn text(text: &str) -> Self {
        Self { markup: escape(text), class: "" }
    }
}

/// A table with a header; the first field of a row is its name. Headers and names are text.
pub fn table(headers: &[&str], rows: &[(String, Vec<Cell>)]) -> String {
    let mut html = String::from("<div class=\"scroll\"><table>\n<thead><tr>");
    for header in headers {
        html += &format!("<th>{}</th>", escape(header));
    }
    html += "</tr></thead>\n<tbody>\n";
    for (name, cells) in rows {
        html += &format!("<tr><th>{}</th>", escape(name));
        for Cell { markup, class } in cells {
            let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
            html += &format!("<td{class}>{markup}</td>");
        }
        html += "</tr>\n";
    }
    html + "</tbody>\n</table></div>\n"
}

/// A line of a [`line_chart`]: its name and one value per step.
pub struct Line<'a> {
    /// In the legend.
    pub name: &'a str,
    /// By step, from 1.
    pub values: &'a [f64],
}

/// Okabe and Ito's colours, which readers with any kind of colour vision can tell apart, and dashes once they run out.
pub const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#777777"];

/// Learning curves as an inline drawing: steps to the right, values upwards, a legend beside. Values that are not finite
/// are left out.
pub fn line_chart(title: &str, y_label: &str, lines: &[Line<'_>]) -> String {
    const LEFT: f64 = 52.0;
    const TOP: f64 = 30.0;
    const WIDTH: f64 = 520.0;
    const HEIGHT: f64 = 260.0;
    const LEGEND: f64 = 170.0;
    let finite = || lines.iter().flat_map(|line| line.values.iter().copied().filter(|v| v.is_finite()));
    let steps = lines.iter().map(|line| line.values.len()).max().unwrap_or(0).max(2);
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    // One value, or none, stands in the middle.
    let only = finite().next().unwrap_or(0.0);
    let (low, high) = if low < high { (low, high) } else { (only - 1.0, only + 1.0) };
    let x = |step: usize| LEFT + WIDTH * step as f64 / (steps - 1) as f64;
    let y = |value: f64| TOP + HEIGHT * (1.0 - (value - low) / (high - low));

    let total = (LEFT + WIDTH + LEGEND, (TOP + HEIGHT + 40.0).max(TOP + 16.0 * lines.len() as f64 + 10.0));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{0}\" role=\"img\" aria-label=\"{2}\" font-size=\"12\" fill=\"currentColor\">\n\
         <text x=\"{LEFT}\" y=\"16\" font-weight=\"bold\">{2}</text>\n",
        total.0,
        total.1,
        escape(title)
    );
    for tick in 0..=4 {
        let value = low + (high - low) * f64::from(tick) / 4.0;
        let at = y(value);
        svg += &format!(
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#8884\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            LEFT + WIDTH,
            LEFT - 6.0,
            at + 4.0,
            crate::output::real(value)
        );
    }
    svg += &format!(
        "<text x=\"{LEFT}\" y=\"{0}\">1</text><text x=\"{1}\" y=\"{0}\" text-anchor=\"end\">epoch {steps}</text>\
         <text x=\"{2}\" y=\"{0}\" text-anchor=\"middle\">{3}</text>\n",
        TOP + HEIGHT + 18.0,
        LEFT + WIDTH,
        LEFT + WIDTH / 2.0,
        escape(y_label)
    );
    for (i, line) in lines.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let dash = if i < COLOURS.len() { "" } else { " stroke-dasharray=\"4 3\"" };
        let points: Vec<String> = (line.values.iter().enumerate())
            .filter(|(_, value)| value.is_finite())
            .map(|(step, value)| format!("{:.1},{:.1}", x(step), y(*value)))
            .collect();
        let (key, at) = (LEFT + WIDTH + 12.0, TOP + 10.0 + 16.0 * i as f64);
        svg += &format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"{dash}/>\
             <line x1=\"{key}\" x2=\"{}\" y1=\"{at}\" y2=\"{at}\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>\
             <text x=\"{}\" y=\"{}\">{}</text>\n",
            points.join(" "),
            key + 18.0,
            key + 24.0,
            at + 4.0,
            escape(line.name)
        );
    }
    svg + "</svg>\n"
}

/// A row of a [`dot_chart`]: its name and its values in per cent.
pub struct Dots<'a> {
    /// To the left.
    pub name: String,
    /// One dot each.
    pub values: &'a [f64],
}

/// Values between 0 and 100, a row of dots each, with a bar at their mean.
pub fn dot_chart(title: &str, x_label: &str, rows: &[Dots<'_>]) -> String {
    const LEFT: f64 = 170.0;
    const TOP: f64 = 30.0;
    const WIDTH: f64 = 520.0;
    const STEP: f64 = 30.0;
    let x = |value: f64| LEFT + WIDTH * value / 100.0;
    let bottom = TOP + STEP * rows.len() as f64;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" role=\"img\" aria-label=\"{2}\" font-size=\"12\" fill=\"currentColor\">\n\
         <text x=\"{LEFT}\" y=\"16\" font-weight=\"bold\">{2}</text>\n",
        LEFT + WIDTH + 60.0,
        bottom + 40.0,
        escape(title)
    );
    for tick in [0.0, 25.0, 50.0, 75.0, 100.0] {
        svg += &format!(
            "<line x1=\"{0}\" x2=\"{0}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke=\"#8884\"/>\
             <text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{tick}</text>\n",
            x(tick),
            bottom + 16.0
        );
    }
    svg +=
        &format!("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(50.0), bottom + 34.0, escape(x_label));
    for (i, Dots { name, values }) in rows.iter().enumerate() {
        let (y, colour) = (TOP + STEP * (i as f64 + 0.5), COLOURS[i % COLOURS.len()]);
        svg += &format!("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", LEFT - 8.0, y + 4.0, escape(name));
        let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        for (k, value) in finite.iter().enumerate() {
            // Equal values stand beside each other.
            let shift = 4.0 * ((k % 5) as f64 - 2.0);
            let at = y + shift;
            svg += &format!(
                "<circle cx=\"{:.1}\" cy=\"{at:.1}\" r=\"2.5\" fill=\"{colour}\" fill-opacity=\"0.5\"/>",
                x(*value)
            );
        }
        if !finite.is_empty() {
            let mean = finite.iter().sum::<f64>() / finite.len() as f64;
            svg += &format!(
                "\n<line x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1}\" y2=\"{2}\" stroke=\"currentColor\" stroke-width=\"2\"/>\
                 <text x=\"{3}\" y=\"{4}\">{mean:.1}</text>\n",
                x(mean),
                y - 12.0,
                y + 12.0,
                LEFT + WIDTH + 12.0,
                y + 4.0
            );
        }
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
        let page = page("<script>", &table(&["<b>"], &[("<i>".into(), vec![Cell::text("<u>")])]));
        for tag in ["<script>", "<b>", "<i>", "<u>"] {
            assert!(!page.contains(tag), "{tag} in {page}");
        }
    }

    #[test]
    fn tags_are_closed() {
        let rows = vec![("a".to_string(), vec![Cell { markup: "<small>1</small>".into(), class: "agree" }])];
        let lines = [Line { name: "one", values: &[1.0, 3.0, 2.0] }, Line { name: "two", values: &[] }];
        let page = page("t", &(table(&["", "x"], &rows) + &line_chart("c", "accuracy", &lines)));
        for tag in ["html", "head", "body", "table", "thead", "tbody", "tr", "th", "td", "small", "svg", "text", "div"]
        {
            let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag} in {page}");
            assert!(opened > 0, "{tag}");
        }
        assert!(page.contains("<td class=\"agree\"><small>1</small></td>"));
    }

    /// 0 to 100 over 520 units from 170; the mean of 50 and 100 at 170 + 390.
    #[test]
    fn dots_stand_at_their_values_and_the_bar_at_the_mean() {
        let rows =
            [Dots { name: "<one>".into(), values: &[50.0, 100.0] }, Dots { name: "none".into(), values: &[f64::NAN] }];
        let svg = dot_chart("c", "accuracy, %", &rows);
        assert!(svg.contains("cx=\"430.0\"") && svg.contains("cx=\"690.0\"") && svg.contains("x1=\"560.0\""), "{svg}");
        assert!(svg.contains(">75.0</text>") && svg.contains("&lt;one&gt;") && !svg.contains("NaN"), "{svg}");
    }

    /// Three steps over 520 units from 52; values 1, 3, 2 over 260 units, the largest at 30.
    #[test]
    fn lines_go_through_their_points() {
        let svg = line_chart("c", "accuracy", &[Line { name: "one", values: &[1.0, 3.0, 2.0] }]);
        assert!(svg.contains("points=\"52.0,290.0 312.0,30.0 572.0,160.0\""), "{svg}");
        let flat = line_chart("c", "accuracy", &[Line { name: "one", values: &[f64::NAN, 5.0] }]);
        assert!(flat.contains("points=\"572.0,160.0\"") && !flat.contains("NaN"), "{flat}");
        assert!(!line_chart("c", "accuracy", &[]).contains("inf"));
    }
}
