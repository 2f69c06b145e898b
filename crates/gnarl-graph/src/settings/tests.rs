//! Two small lists of choices, their errors and their files.

use super::*;
use serde::{Deserialize, Serialize};

use crate::choices;
use crate::error::{Error, Result};

crate::named! {
    /// A colour.
    pub enum Colour as "colour" {
        /// Red.
        Red = "red",
        /// Blue.
        Blue = "blue",
    }
}

/// Paints a wall.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[choice(name = "paint", about = "colours it", check = Self::is_dry)]
pub struct Paint {
    /// Colour of the paint.
    #[setting(default = Colour::Red)]
    pub colour: Colour,
    /// Number of coats.
    #[setting(default = 2, range = 1.., was = "layers")]
    pub coats: usize,
    /// Share of the wall.
    #[setting(default = 0.5, above = 0.0, range = ..=1.0)]
    pub share: f64,
    /// Hours between coats.
    #[setting(open = "as the colour needs", range = 0.0..)]
    pub pause: Option<f64>,
}

impl Paint {
    fn is_dry(&self) -> Result<()> {
        if self.coats > 1 && self.pause == Some(0.0) {
            return Err(Error::setting("pause", "0 hours between several coats"));
        }
        Ok(())
    }
}

/// Leaves a wall as it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
#[choice(name = "leave", about = "as it is")]
pub struct Leave {}

choices! {
    /// A job for a wall.
    pub enum Deed as "deed" { Leave(Leave), Paint(Paint) }
}

fn given(pairs: &[(&str, &str)]) -> Vec<SettingText> {
    pairs
        .iter()
        .map(|(a, b)| (a.to_string(), b.to_string()))
        .collect()
}

#[test]
fn names_are_read_whatever_their_case_and_near_misses_are_named() {
    assert_eq!("BLUE".parse::<Colour>().unwrap(), Colour::Blue);
    assert_eq!(format!("{:>5}", Colour::Red), "  red");
    assert_eq!(
        "bleu".parse::<Colour>().unwrap_err().to_string(),
        "unknown colour 'bleu'; did you mean blue?"
    );
    assert_eq!(
        serde_json::from_str::<Colour>("\"blue\"").unwrap(),
        Colour::Blue
    );
    assert!(
        serde_json::from_str::<Colour>("\"bleu\"")
            .unwrap_err()
            .to_string()
            .contains("did you mean blue?")
    );
    assert_eq!(
        "Paint".parse::<Deed>().unwrap(),
        Deed::Paint(Paint::default())
    );
}

#[test]
fn settings_are_put_over_the_usual_ones_and_strays_refused() {
    let paint = "paint".parse::<Deed>().unwrap();
    let wide = paint
        .with(&given(&[
            ("coats", "3"),
            ("colour", "blue"),
            ("share", "1"),
        ]))
        .unwrap();
    assert_eq!(
        wide,
        Deed::Paint(Paint {
            colour: Colour::Blue,
            coats: 3,
            share: 1.0,
            pause: None,
        })
    );
    let fail = |deed: &str, pairs: &[(&str, &str)]| {
        deed.parse::<Deed>()
            .unwrap()
            .with(&given(pairs))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        fail("leave", &[("coats", "3")]),
        "coats: belongs to paint, and the deed is leave"
    );
    assert_eq!(
        fail("paint", &[("coat", "3")]),
        "unknown setting 'coat'; did you mean coats?"
    );
    for (name, value, message) in [
        ("coats", "0", "coats must be in [1, 1000000] (got 0)"),
        (
            "coats",
            "1000001",
            "coats: 1000001 is beyond 1000000, the most that is taken; take fewer",
        ),
        ("coats", "-1", "coats must be a whole number (got '-1')"),
        ("share", "0", "share must be in (0, 1] (got 0)"),
        ("share", "1.5", "share must be in (0, 1] (got 1.5)"),
        ("share", "2", "share must be in (0, 1] (got 2)"),
        ("share", "much", "share must be a number (got 'much')"),
        ("pause", "-2", "pause must be >= 0 (got -2)"),
        ("pause", "0", "pause: 0 hours between several coats"),
        (
            "colour",
            "bleu",
            "colour: unknown colour 'bleu'; did you mean blue?",
        ),
        ("layers", "2", "layers: is now coats of paint"),
    ] {
        assert_eq!(fail("paint", &[(name, value)]), message);
    }
    assert!(
        Paint {
            share: f64::NAN,
            ..Paint::default()
        }
        .check()
        .is_err()
    );
}

#[test]
fn choices_are_stored_with_their_name_and_read_back() {
    let deed = Deed::Paint(Paint {
        coats: 1,
        ..Paint::default()
    });
    let text = serde_json::to_string(&deed).unwrap();
    assert_eq!(
        text,
        r#"{"kind":"paint","colour":"red","coats":1,"share":0.5,"pause":null}"#
    );
    assert_eq!(serde_json::from_str::<Deed>(&text).unwrap(), deed);
    assert_eq!(
        serde_json::from_str::<Deed>("\"paint\"").unwrap(),
        Deed::Paint(Paint::default())
    );
    assert_eq!(
        serde_json::from_str::<Deed>(r#"{"kind":"leave"}"#).unwrap(),
        Deed::Leave(Leave {})
    );
    // A file with an earlier name of a setting is still read.
    let old = r#"{"kind":"paint","layers":3}"#;
    let three = Deed::Paint(Paint {
        coats: 3,
        ..Paint::default()
    });
    assert_eq!(serde_json::from_str::<Deed>(old).unwrap(), three);
    for (broken, what) in [
        ("3", "is not a deed"),
        (r#"{"coats":1}"#, "needs a kind"),
        (r#"{"kind":"paint","coat":1}"#, "did you mean coats?"),
        (
            r#"{"kind":"paint","coats":0}"#,
            "coats must be in [1, 1000000] (got 0)",
        ),
        (r#"{"kind":"paint","coats":"x"}"#, "a whole number"),
        (r#"{"kind":"leave","coats":1}"#, "unknown setting 'coats'"),
    ] {
        let e = serde_json::from_str::<Deed>(broken)
            .unwrap_err()
            .to_string();
        assert!(e.contains(what), "{broken}: {e}");
    }
}

#[test]
fn lists_say_what_is_stored() {
    assert_listed(Deed::LIST, Deed::all().map(|deed| deed.stored()));
    assert_eq!(
        Deed::all().map(|deed| deed.about()).collect::<Vec<_>>(),
        ["as it is", "colours it"]
    );
    assert_eq!(join_names(&["a", "b", "c"]), "a, b and c");
}

#[test]
fn earlier_names_and_options_are_known() {
    let coats = Paint::SETTINGS[1];
    let wall = Setting {
        flag: "wall-coats",
        ..coats
    };
    assert!(coats.replaces("layers") && !coats.replaces("wall-layers"));
    assert!(wall.replaces("layers") && wall.replaces("wall-layers"));
    assert!(!wall.replaces("coats") && !wall.replaces("wall-coats"));
    assert!(!Paint::SETTINGS[0].replaces(""));
}

#[test]
fn help_and_schema_come_from_the_declaration() {
    let paint = Deed::LIST[1];
    let help: Vec<String> = paint.settings.iter().map(|s| paint.help(s)).collect();
    assert_eq!(
        help,
        [
            "Colour of the paint: red, blue [default: red]",
            "Number of coats [default: 2]",
            "Share of the wall, in (0, 1] [default: 0.5]",
            "Hours between coats, >= 0 [default: as the colour needs]",
        ]
    );
    let schema = schema(Deed::LIST);
    let properties = &schema["anyOf"][2]["properties"];
    assert_eq!(properties["kind"], serde_json::json!({"const": "paint"}));
    assert_eq!(
        properties["colour"]["enum"],
        serde_json::json!(["red", "blue"])
    );
    assert_eq!(properties["coats"]["minimum"], 1);
    assert_eq!(properties["coats"]["maximum"], 1_000_000);
    assert_eq!(properties["share"]["exclusiveMinimum"], 0.0);
    assert_eq!(properties["share"]["default"], 0.5);
    assert!(properties["pause"].get("default").is_none());
}
