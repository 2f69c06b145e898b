//! Refusals of a build without the features `parquet` and `download`.

use gnarl_graph::Error;

#[cfg(not(feature = "parquet"))]
#[test]
fn columnar_files_are_refused_by_the_name_of_the_feature() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/columnar");
    for file in ["named/edges.parquet", "named/features.arrow"] {
        let file = folder.join(file);
        let e = gnarl_data::edge_list::load(&file).unwrap_err();
        assert!(matches!(e, Error::Unsupported { .. }), "{e}");
        let what =
            "this build reads no Parquet or Arrow files: enable the feature parquet of gnarl-data";
        assert_eq!(e.to_string(), format!("{}: {what}", file.display()));
    }
    let e = gnarl_data::columnar::parquet(Vec::new()).unwrap_err();
    assert!(
        e.to_string()
            .ends_with("enable the feature parquet of gnarl-data"),
        "{e}"
    );
}

#[cfg(not(feature = "download"))]
#[test]
fn downloads_are_refused_by_the_name_of_the_feature() {
    use gnarl_data::download::{Silent, fetch};
    let entry = gnarl_data::registry::get("cora").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let e = fetch(entry, dir.path(), &Silent).unwrap_err();
    assert!(matches!(e, Error::Unsupported { .. }), "{e}");
    assert!(
        e.to_string()
            .ends_with("enable the feature download of gnarl-data"),
        "{e}"
    );
}
