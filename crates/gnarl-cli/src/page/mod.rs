//! Pages to look around in: sections of text, tables and components that scripts of ours draw from
//! data in the page.
//!
//! | file | what |
//! | --- | --- |
//! | `components` | what can be drawn, as data |
//! | `graph` | a graph with everything that may be said of its nodes |
//! | `layout` | where to draw the nodes |
//!
//! A page is one file and asks nothing of any network; its policy forbids it. The style and the
//! scripts are files of their own under `assets/page`, which `tests/browser/check.mjs` tries in a
//! real browser. Without scripts the text and the tables are still there.

mod components;
pub mod graph;
pub mod layout;

pub use self::components::{
    Axis, Calibration, Component, Confusion, DotRow, Dots, Lines, Scatter, Series,
};

use crate::html::{Cell, escape, table};

const STYLE: &str = include_str!("../../assets/page/page.css");
const SCRIPTS: [&str; 4] = [
    include_str!("../../assets/page/base.js"),
    include_str!("../../assets/page/charts.js"),
    include_str!("../../assets/page/graph.js"),
    include_str!("../../assets/page/live.js"),
];
/// Nothing is fetched from anywhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:";

/// A page as it is put together.
#[derive(Debug, Default)]
pub struct Page {
    title: String,
    lead: String,
    sections: Vec<Section>,
    /// Style beside the usual one.
    style: &'static str,
    /// Whether it asks the server that it came from.
    is_live: bool,
}

/// A part of a page with a heading; links find it by its id.
#[derive(Debug)]
pub struct Section {
    id: &'static str,
    title: String,
    body: String,
    components: Vec<Component>,
}

impl Page {
    /// An empty page; the title is text.
    pub fn new(title: &str) -> Self {
        Self {
            title: title.to_string(),
            ..Self::default()
        }
    }

    /// Markup under the title.
    pub fn lead(mut self, markup: &str) -> Self {
        self.lead += markup;
        self
    }

    /// Figures that come first: each a number and what it is, both text.
    pub fn tiles(mut self, tiles: &[(String, String)]) -> Self {
        self.lead += "<ul class=\"tiles\">\n";
        for (figure, what) in tiles {
            self.lead += &format!(
                "<li class=\"tile\"><b>{}</b>{}</li>\n",
                escape(figure),
                escape(what)
            );
        }
        self.lead += "</ul>\n";
        self
    }

    /// Style beside the usual one.
    pub fn style(mut self, style: &'static str) -> Self {
        self.style = style;
        self
    }

    /// Lets it ask the server that it came from.
    pub fn live(mut self) -> Self {
        self.is_live = true;
        self
    }

    /// One more section.
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// The whole file. Fails where data has no place in JSON, which is a fault of ours.
    pub fn render(&self) -> serde_json::Result<String> {
        let links: Vec<String> = (self.sections.iter())
            .map(|s| format!("<a href=\"#{}\">{}</a>", s.id, escape(&s.title)))
            .collect();
        let mut body = String::new();
        let (mut data, mut made) = (String::new(), 0);
        for section in &self.sections {
            let mut markup = section.body.clone();
            for component in &section.components {
                let (kind, json) = (component.kind(), inert(&component.json()?));
                markup = markup.replacen(
                    HERE,
                    &format!("data-component=\"{kind}\" data-from=\"data-{made}\""),
                    1,
                );
                data += &format!(
                    "<script type=\"application/json\" id=\"data-{made}\">{json}</script>\n"
                );
                made += 1;
            }
            let (id, title) = (section.id, escape(&section.title));
            body += &format!(
                "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n{markup}</section>\n"
            );
        }
        let nav = if links.is_empty() {
            String::new()
        } else {
            links.join("\n")
        };
        let page = shell(
            &self.title,
            self.style,
            &nav,
            &format!("{}{body}", self.lead),
            &data,
        );
        Ok(if self.is_live {
            page.replacen(POLICY, &format!("{POLICY}; connect-src 'self'"), 1)
        } else {
            page
        })
    }
}

/// Where a component's name is put once it has one.
const HERE: &str = "data-component-here";

impl Section {
    /// An empty section.
    pub fn new(id: &'static str, title: &str) -> Self {
        Self {
            id,
            title: title.to_string(),
            body: String::new(),
            components: Vec::new(),
        }
    }

    /// A paragraph of text.
    pub fn text(self, text: &str) -> Self {
        let paragraph = format!("<p>{}</p>\n", escape(text));
        self.markup(&paragraph)
    }

    /// Markup as it is.
    pub fn markup(mut self, markup: &str) -> Self {
        self.body += markup;
        self
    }

    /// A table that sorts.
    pub fn table(self, headers: &[&str], rows: &[(String, Vec<Cell>)]) -> Self {
        // Readers of regions tell them apart by their names.
        let number = self.body.matches("<table").count() + 1;
        let label = format!("aria-label=\"{}, table {number}\"", escape(&self.title));
        let markup = table(headers, rows).replacen("aria-label=\"table\"", &label, 1);
        self.markup(&markup)
    }

    /// A drawing.
    pub fn component(mut self, component: impl Into<Component>) -> Self {
        self.components.push(component.into());
        self.markup(&format!("<figure {HERE}></figure>\n"))
    }

    /// Drawings beside each other where there is room.
    pub fn side_by_side(mut self, components: Vec<Component>) -> Self {
        self.body += "<div class=\"cols\">\n";
        for component in components {
            self = self.component(component);
        }
        self.markup("</div>\n")
    }
}

/// JSON that cannot end the element it stands in.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Everything around what a page says: head, bar, scripts. `nav`, `body` and `data` are markup, the
/// title is text.
pub fn shell(title: &str, style: &str, nav: &str, body: &str, data: &str) -> String {
    let title = escape(title);
    let scripts = if data.is_empty() {
        SCRIPTS[0].to_string()
    } else {
        SCRIPTS.join("\n")
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
         <header class=\"bar\"><nav aria-label=\"sections\" tabindex=\"0\">{nav}</nav><button type=\"button\" id=\"theme\">Dark</button></header>\n\
         <main id=\"main\">\n<h1>{title}</h1>\n{body}\
         <noscript><p class=\"note\">The drawings need scripts; the text and the tables do not.</p></noscript>\n</main>\n\
         {data}<script>\n{scripts}\nstart();\n</script>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> String {
        let lines = Lines {
            title: "</script><b>".into(),
            x: Axis::of("epoch"),
            y: Axis::of("%"),
            series: vec![Series {
                name: "one".into(),
                values: vec![1.0, f64::NAN],
                ..Series::default()
            }],
        };
        let section = Section::new("first", "A <first>")
            .text("a < b")
            .component(lines.clone());
        let second =
            Section::new("second", "Second").side_by_side(vec![lines.clone().into(), lines.into()]);
        Page::new("<i>")
            .tiles(&[("1 < 2".into(), "sure".into())])
            .section(section)
            .section(second)
            .render()
            .unwrap()
    }

    #[test]
    fn text_and_data_cannot_become_markup_and_every_component_has_its_data() {
        let page = page();
        assert!(
            !page.contains("</script><b>") && !page.contains("<i>") && !page.contains("<first>"),
            "{page}"
        );
        assert!(page.contains("1 &lt; 2") && page.contains("<p>a &lt; b</p>"));
        for made in 0..3 {
            assert!(
                page.contains(&format!(
                    "data-component=\"lines\" data-from=\"data-{made}\""
                )),
                "{made}"
            );
            assert!(page.contains(&format!("id=\"data-{made}\"")), "{made}");
        }
        assert!(!page.contains(HERE) && page.contains("<a href=\"#second\">Second</a>"));
        // What is not a number has none in JSON.
        assert!(page.contains("\"values\":[1.0,null]"), "{page}");
    }

    #[test]
    fn nothing_comes_from_outside_and_tags_are_closed() {
        let page = page();
        // The name of SVG's namespace looks like an address and is none.
        let own = page.replace("http://www.w3.org/2000/svg", "");
        for foreign in ["http:", "https:", " src=", "@import", "url("] {
            assert!(!own.contains(foreign), "{foreign}");
        }
        for tag in [
            "html", "head", "body", "main", "section", "figure", "div", "script", "nav", "header",
            "ul",
        ] {
            let opened = page.matches(&format!("<{tag}>")).count()
                + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}
