//! Fuzzes models as TOML: a readable model can be planned or is refused, and is written back
//! unchanged.
#![no_main]

use gnarl::model::Model;
use gnarl_data::Task;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(model) = Model::from_toml(text) else {
        return;
    };
    for task in [Task::Node, Task::Graph] {
        let _ = model.plan(task);
    }
    let written = model.to_toml().expect("a model is written");
    let read = Model::from_toml(&written).expect("what was written is read");
    assert_eq!(read.to_toml().expect("a model is written"), written);
});
