//! HTML pages: sections of text, tables and components that our scripts draw from data in the page.
//!
//! | file | contents |
//! | --- | --- |
//! | `components` | components as data |
//! | `graph` | a graph with the values of every node |
//! | `layout` | positions of the nodes in a drawing |
//!
//! A page is one file and requests nothing from any network; its policy forbids it. The style and
//! the scripts are separate files under `assets/page`, which `tests/browser/check.mjs` tests in a
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
/// Content security policy, which forbids all requests.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:";

/// Page under construction.
#[derive(Debug, Default)]
pub struct Page {
    title: String,
    lead: String,
    sections: Vec<Section>,
    /// Additional style.
    style: &'static str,
    /// True if the page sends requests to the server that it came from.
    is_live: bool,
}

/// Section of a page with a heading; links find it by its id.
#[derive(Debug)]
pub struct Section {
    id: &'static str,
    title: String,
    body: String,
    components: Vec<Component>,
}

impl Page {
    /// Builds an empty page; the title is text.
    pub fn new(title: &str) -> Self {
        Self {
            title: title.to_string(),
            ..Self::default()
        }
    }

    /// Adds markup under the title.
    pub fn lead(mut self, markup: &str) -> Self {
        self.lead += markup;
        self
    }

    /// Adds key figures at the top: each a number and its description, both text.
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

    /// Adds to the default style.
    pub fn style(mut self, style: &'static str) -> Self {
        self.style = style;
        self
    }

    /// Allows requests to the server that the page came from.
    pub fn live(mut self) -> Self {
        self.is_live = true;
        self
    }

    /// Adds a section.
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// Renders the whole file. Fails if data cannot be represented in JSON, which is an internal
    /// error.
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

/// Placeholder for the name of a component.
const HERE: &str = "data-component-here";

impl Section {
    /// Builds an empty section.
    pub fn new(id: &'static str, title: &str) -> Self {
        Self {
            id,
            title: title.to_string(),
            body: String::new(),
            components: Vec::new(),
        }
    }

    /// Adds a paragraph of text.
    pub fn text(self, text: &str) -> Self {
        let paragraph = format!("<p>{}</p>\n", escape(text));
        self.markup(&paragraph)
    }

    /// Adds markup unchanged.
    pub fn markup(mut self, markup: &str) -> Self {
        self.body += markup;
        self
    }

    /// Adds a sortable table.
    pub fn table(self, headers: &[&str], rows: &[(String, Vec<Cell>)]) -> Self {
        // Screen readers distinguish regions by their names.
        let number = self.body.matches("<table").count() + 1;
        let label = format!("aria-label=\"{}, table {number}\"", escape(&self.title));
        let markup = table(headers, rows).replacen("aria-label=\"table\"", &label, 1);
        self.markup(&markup)
    }

    /// Adds a component.
    pub fn component(mut self, component: impl Into<Component>) -> Self {
        self.components.push(component.into());
        self.markup(&format!("<figure {HERE}></figure>\n"))
    }

    /// Adds components next to each other, if the page is wide enough.
    pub fn side_by_side(mut self, components: Vec<Component>) -> Self {
        self.body += "<div class=\"cols\">\n";
        for component in components {
            self = self.component(component);
        }
        self.markup("</div>\n")
    }
}

/// Escapes JSON so that it cannot end the element around it.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Wraps the contents of a page in head, navigation and scripts. `nav`, `body` and `data` are
/// markup, the title is text.
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
        // A number that is not finite becomes null in JSON.
        assert!(page.contains("\"values\":[1.0,null]"), "{page}");
    }

    #[test]
    fn nothing_comes_from_outside_and_tags_are_closed() {
        let page = page();
        // The namespace of SVG looks like an address but is not fetched.
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
