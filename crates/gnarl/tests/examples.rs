//! Runs the programs under `examples/`: each asserts what its first lines describe.

macro_rules! examples {
    ($($name:ident = $file:literal),+ $(,)?) => {$(
        #[path = $file]
        mod $name;

        #[test]
        fn $name() -> gnarl_graph::Result<()> {
            $name::main()
        }
    )+};
}

examples! {
    operator = "../examples/operator.rs",
    depth = "../examples/depth.rs",
    weights = "../examples/weights.rs",
    inference = "../examples/inference.rs",
    data = "../examples/data.rs",
    joined = "../examples/joined.rs",
    outside_model = "../examples/outside_model.rs",
}

/// A new example is run, too.
#[test]
fn every_example_is_in_the_list() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let list = include_str!("examples.rs");
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".rs") {
            assert!(
                list.contains(&format!("/examples/{name}\"")),
                "{name} is not run"
            );
        }
    }
}
