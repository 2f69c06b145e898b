//! `gnarl schema`: prints the JSON schema of the files that gnarl reads, for editors and other
//! programs.

use clap::Args;
use gnarl::model::Model;
use gnarl::study::certify::Certificate;
use gnarl_graph::settings::{self, ChoiceInfo};
use gnarl_robust::attack::Attack;
use serde::Serialize;
use serde_json::{Value, json};

use crate::output::Report;

/// Arguments of `gnarl schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Kind of file: model (a spec file, which --spec reads), attack or certificate
    #[arg(default_value = "model")]
    pub of: SchemaName,
}

gnarl_graph::named! {
    /// Kinds of file with a schema.
    pub enum SchemaName as "schema" {
        /// Model spec file.
        Model = "model",
        /// Attack file.
        Attack = "attack",
        /// Certificate file.
        Certificate = "certificate",
    }
}

/// A JSON schema.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct SchemaReport {
    schema: Value,
}

/// Returns the schema of a kind of file.
pub fn run(args: &SchemaArgs) -> SchemaReport {
    let schema = match args.of {
        SchemaName::Model => Model::schema(),
        SchemaName::Attack => of_list("An attack of gnarl", Attack::LIST),
        SchemaName::Certificate => of_list("A certificate of gnarl", Certificate::LIST),
    };
    SchemaReport { schema }
}

fn of_list(title: &str, list: &[ChoiceInfo]) -> Value {
    let mut schema = settings::schema(list);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(title);
    schema
}

impl Report for SchemaReport {
    fn text(&self) -> String {
        format!("{:#}\n", self.schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gnarl::augment::Augment;
    use gnarl_data::Task;
    use gnarl_nn::networks::Backbone;
    use gnarl_robust::inference::Inference;

    /// Checks a value against the part of JSON Schema that gnarl's schemas use.
    fn check(schema: &Value, value: &Value, place: &str) -> Result<(), String> {
        let refuse = |what: &str| Err(format!("{place}: {value} {what}"));
        if let Some(any) = schema["anyOf"].as_array() {
            let mut failures = any.iter().map(|schema| check(schema, value, place));
            if !failures.any(|checked| checked.is_ok()) {
                return refuse("fits no alternative");
            }
        }
        if let Some(names) = schema["enum"].as_array()
            && !names.contains(value)
        {
            return refuse("is not one of the names");
        }
        if !schema["const"].is_null() && schema["const"] != *value {
            return refuse("is not the constant");
        }
        if !schema["type"].is_null() && !is_of_type(&schema["type"], value) {
            return refuse("has another type");
        }
        check_bounds(schema, value, place)?;
        let Some(fields) = value
            .as_object()
            .filter(|_| schema["properties"].is_object())
        else {
            return Ok(());
        };
        for name in schema["required"].as_array().into_iter().flatten() {
            if !fields.contains_key(name.as_str().unwrap_or_default()) {
                return refuse(&format!("lacks {name}"));
            }
        }
        for (name, value) in fields {
            match schema["properties"].get(name) {
                Some(schema) => check(schema, value, &format!("{place}.{name}"))?,
                None if schema["additionalProperties"] == false => {
                    return refuse(&format!("has an unknown {name}"));
                }
                None => {}
            }
        }
        Ok(())
    }

    fn is_of_type(schema: &Value, value: &Value) -> bool {
        let is = |name: &Value| match name.as_str() {
            Some("object") => value.is_object(),
            Some("string") => value.is_string(),
            Some("number") => value.is_number(),
            Some("integer") => value.is_u64(),
            Some("boolean") => value.is_boolean(),
            other => panic!("no type of a schema: {other:?}"),
        };
        match schema {
            Value::Array(names) => names.iter().any(is),
            name => is(name),
        }
    }

    fn check_bounds(schema: &Value, value: &Value, place: &str) -> Result<(), String> {
        let Some(number) = value.as_f64() else {
            return Ok(());
        };
        let holds = |name: &str, within: fn(f64, f64) -> bool| {
            schema[name].as_f64().is_none_or(|end| within(number, end))
        };
        let fits = holds("minimum", |x, end| x >= end)
            && holds("maximum", |x, end| x <= end)
            && holds("exclusiveMinimum", |x, end| x > end)
            && holds("exclusiveMaximum", |x, end| x < end);
        if fits {
            return Ok(());
        }
        Err(format!("{place}: {number} is out of bounds"))
    }

    /// Serialises a value as a file has it: without settings left open.
    fn stored(value: &impl Serialize) -> Value {
        without_nulls(serde_json::to_value(value).unwrap())
    }

    fn without_nulls(value: Value) -> Value {
        match value {
            Value::Object(fields) => {
                let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
                kept.map(|(name, value)| (name, without_nulls(value)))
                    .collect()
            }
            other => other,
        }
    }

    #[test]
    fn specs_fit_their_schema() {
        let schema = Model::schema();
        let plain = Model::new(Backbone::GCN);
        let models = Backbone::all()
            .map(Model::new)
            .chain(Augment::all().map(|augment| plain.augment(augment)))
            .chain(Inference::all().map(|inference| plain.inference(inference)));
        let mut count = 0;
        for model in models {
            check(&schema, &stored(&model), "model").unwrap();
            // Every default that applies to the model is filled in.
            for task in [Task::Node, Task::Graph] {
                if let Ok(plan) = model.plan(task) {
                    check(&schema, &stored(&plan.model), "plan").unwrap();
                    count += 1;
                }
            }
        }
        assert!(count > 40, "{count}");
    }

    #[test]
    fn models_that_gnarl_refuses_do_not_fit() {
        let schema = Model::schema();
        for (value, what) in [
            (json!({"features": "auto"}), "lacks"),
            (json!({"backbone": "gnc"}), "fits no alternative"),
            (json!({"backbone": "gcn", "hiden": 3}), "an unknown hiden"),
            (
                json!({"backbone": "gcn", "network": {"hidden": "x"}}),
                "another type",
            ),
            (
                json!({"backbone": "gcn", "augment": {"kind": "dropedge", "p": 2}}),
                "fits no alternative",
            ),
        ] {
            let e = check(&schema, &value, "model").unwrap_err();
            assert!(e.contains(what), "{value}: {e}");
            assert!(serde_json::from_value::<Model>(value).is_err());
        }
    }

    fn schema_of(of: SchemaName) -> Value {
        run(&SchemaArgs { of }).schema
    }

    #[test]
    fn attacks_and_certificates_fit_their_schema() {
        let schema = schema_of(SchemaName::Attack);
        for attack in Attack::all() {
            check(&schema, &stored(&attack), "attack").unwrap();
            check(&schema, &attack.name().into(), "attack").unwrap();
        }
        assert!(check(&schema, &json!({"kind": "dise"}), "attack").is_err());
        let schema = schema_of(SchemaName::Certificate);
        for certificate in Certificate::all() {
            check(&schema, &stored(&certificate), "certificate").unwrap();
        }
    }
}
