//! HTML markup: [`escape`] for text, and tables.
//!
//! A template crate would hold a dozen tags and call back into Rust for all the rest, so markup is
//! written by hand. Whole pages are built by [`page`](crate::page).

/// Escapes characters with a meaning in HTML.
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

/// Cell of a [`table`]: markup, and the class that colours it.
pub struct Cell {
    /// Content of the cell, as markup.
    pub markup: String,
    /// Class of the cell: `agree`, `above`, `below`, `hole`, `failed` or empty.
    pub class: &'static str,
}

impl Cell {
    /// Builds a cell of plain text.
    pub fn text(text: &str) -> Self {
        Self {
            markup: escape(text),
            class: "",
        }
    }
}

/// Builds a sortable table with a header; the first field of a row is its name. Headers and names
/// are text. A table that is too wide scrolls by itself, with the keyboard too.
pub fn table(headers: &[&str], rows: &[(String, Vec<Cell>)]) -> String {
    let mut html = String::from(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\"><table class=\"sortable\">\n<thead><tr>",
    );
    for header in headers {
        html += &format!("<th scope=\"col\">{}</th>", escape(header));
    }
    html += "</tr></thead>\n<tbody>\n";
    for (name, cells) in rows {
        html += &format!("<tr><th scope=\"row\">{}</th>", escape(name));
        for Cell { markup, class } in cells {
            let class = if class.is_empty() {
                String::new()
            } else {
                format!(" class=\"{class}\"")
            };
            html += &format!("<td{class}>{markup}</td>");
        }
        html += "</tr>\n";
    }
    html + "</tbody>\n</table></div>\n"
}

/// Okabe and Ito's colours, which readers with any kind of colour vision can distinguish, and
/// dashes once they run out.
pub const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#777777",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(
            escape("<a href=\"x\">&'"),
            "&lt;a href=&quot;x&quot;&gt;&amp;&#39;"
        );
        let table = table(&["<b>"], &[("<i>".into(), vec![Cell::text("<u>")])]);
        for tag in ["<b>", "<i>", "<u>"] {
            assert!(!table.contains(tag), "{tag} in {table}");
        }
    }

    #[test]
    fn tags_are_closed() {
        let rows = vec![(
            "a".to_string(),
            vec![Cell {
                markup: "<small>1</small>".into(),
                class: "agree",
            }],
        )];
        let table = table(&["", "x"], &rows);
        for tag in ["table", "thead", "tbody", "tr", "th", "td", "small", "div"] {
            let opened = table.matches(&format!("<{tag}>")).count()
                + table.matches(&format!("<{tag} ")).count();
            assert_eq!(
                opened,
                table.matches(&format!("</{tag}>")).count(),
                "{tag} in {table}"
            );
            assert!(opened > 0, "{tag}");
        }
        assert!(table.contains("<td class=\"agree\"><small>1</small></td>"));
    }
}
