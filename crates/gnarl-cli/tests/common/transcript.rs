//! Compares the output shown on a page with the output of the command.

/// Returns the fenced blocks of a page in this language.
pub fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    page.split(&format!("```{language}\n"))
        .skip(1)
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

/// Compares output with the lines shown on a page. A line `…` stands for any number of lines.
/// `slack` gives the tolerance of a shown line's decimal numbers, which are measured, or `None` if
/// the line must be equal. In a line with slack a `…` stands for any part of a word.
#[track_caller]
pub fn assert_transcript(
    command: &str,
    printed: &str,
    shown: &str,
    slack: impl Fn(&str) -> Option<f64>,
) {
    let is_shown = |printed: &str, line: &str| match slack(line) {
        None => printed == line,
        Some(slack) => is_about(printed, line, slack),
    };
    let mut rest = printed.lines().peekable();
    let mut skipping = false;
    for line in shown.lines() {
        if line == "…" {
            skipping = true;
            continue;
        }
        if skipping {
            while rest.peek().is_some_and(|printed| !is_shown(printed, line)) {
                rest.next();
            }
            skipping = false;
        }
        let next = rest.next();
        assert!(
            next.is_some_and(|printed| is_shown(printed, line)),
            "{command} prints\n{printed}\n{next:?}\nand not\n{line}"
        );
    }
    assert!(
        skipping || rest.next().is_none(),
        "{command} prints more:\n{printed}"
    );
}

fn is_about(printed: &str, shown: &str, slack: f64) -> bool {
    let number = |word: &str| {
        word.contains('.')
            .then(|| word.parse::<f64>().ok())
            .flatten()
    };
    let same = |(a, b): (&str, &str)| match (number(a), number(b)) {
        (Some(a), Some(b)) => (a - b).abs() <= slack,
        _ => match b.split_once('…') {
            Some((before, after)) => {
                a.len() >= before.len() + after.len() && a.starts_with(before) && a.ends_with(after)
            }
            None => a == b,
        },
    };
    let (printed, shown) = (words(printed), words(shown));
    printed.len() == shown.len() && printed.into_iter().zip(shown).all(same)
}

/// A mark of significance may appear or disappear with the numbers.
fn words(line: &str) -> Vec<&str> {
    let separates = |c: char| c.is_whitespace() || ",()".contains(c);
    line.split(separates)
        .filter(|word| !word.is_empty() && *word != "*")
        .collect()
}
