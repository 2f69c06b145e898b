//! `#[derive(Settings)]`: one declaration of a setting, from which all other code is derived.
//!
//! A choice of gnarl is a struct with typed fields. A field's doc comment is its help, and its
//! `#[setting(…)]` attribute holds the remaining properties:
//!
//! | attribute | meaning |
//! | --- | --- |
//! | `default = 0.1` | the default, a constant expression; an `Option` is `None` without one |
//! | `range = 0.0..=1.0` | the allowed values, any range of numbers |
//! | `above = 0.0`, `below = 1.0` | an open end of the allowed values |
//! | `open = "1 for sets"` | the meaning of `None`, if an `Option` is left unset |
//! | `flag = "attack-epochs"` | the command-line option, if it is not the field's name |
//! | `value = "SHARE"` | the placeholder in help, if it is not the type's |
//! | `was = "strength"` | an earlier name, refused with the new one |
//! | `skip` | marks a field that is not a setting |
//!
//! `#[choice(name = "appnp", about = "predict, then propagate")]` on the struct makes it an entry
//! of a list of choices. `check = Self::fits` adds a check of several settings together, and
//! `constant` a constant `DEFAULT` with the default settings.
//! `#[partial(NetworkOptions, NetworkSetting)]` makes a second struct whose fields are all
//! optional, for the settings that a user gave before defaults are filled in. It also makes an enum
//! of the settings' names.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Expr, ExprRange, Field, Fields, LitStr, RangeLimits, Type,
};

/// Derives `Settings` and `Default`, and `Choice` if the struct has a `#[choice]`.
#[proc_macro_derive(Settings, attributes(setting, choice, partial))]
pub fn settings(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input)
        .unwrap_or_else(|e| e.to_compile_error())
        .into()
}

fn expand(input: &DeriveInput) -> syn::Result<Tokens> {
    let fields = declared(input)?;
    let name = &input.ident;
    let defaults = fields.iter().map(Declared::default);
    let listed = fields.iter().filter(|f| !f.skip).map(Declared::listed);
    let checks = fields.iter().filter(|f| !f.skip).map(Declared::check);
    let choice = choice(input, &fields)?;
    let partial = partial(input, &fields)?;
    Ok(quote! {
        impl ::core::default::Default for #name {
            fn default() -> Self {
                Self { #(#defaults),* }
            }
        }

        impl ::gnarl_graph::settings::Settings for #name {
            const SETTINGS: &'static [::gnarl_graph::settings::Setting] = &[#(#listed),*];

            fn check_ranges(&self) -> ::gnarl_graph::Result<()> {
                #(#checks)*
                ::core::result::Result::Ok(())
            }
        }

        #choice
        #partial
    })
}

/// A field with its attribute.
struct Declared<'a> {
    field: &'a Field,
    about: String,
    skip: bool,
    default: Option<Expr>,
    range: Option<ExprRange>,
    above: Option<Expr>,
    below: Option<Expr>,
    open: Option<LitStr>,
    flag: Option<LitStr>,
    value: Option<LitStr>,
    was: Option<LitStr>,
}

fn declared(input: &DeriveInput) -> syn::Result<Vec<Declared<'_>>> {
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new(
            input.span(),
            "settings are the fields of a struct",
        ));
    };
    match &data.fields {
        Fields::Named(fields) => fields.named.iter().map(Declared::of).collect(),
        Fields::Unit => Ok(Vec::new()),
        Fields::Unnamed(_) => Err(syn::Error::new(input.span(), "a setting needs a name")),
    }
}

impl<'a> Declared<'a> {
    fn of(field: &'a Field) -> syn::Result<Self> {
        let mut declared = Self {
            field,
            about: first_paragraph(&field.attrs),
            skip: false,
            default: None,
            range: None,
            above: None,
            below: None,
            open: None,
            flag: None,
            value: None,
            was: None,
        };
        for attribute in field.attrs.iter().filter(|a| a.path().is_ident("setting")) {
            attribute.parse_nested_meta(|meta| {
                let Some(key) = meta.path.get_ident().map(ToString::to_string) else {
                    return Err(meta.error("expected a name"));
                };
                match key.as_str() {
                    "skip" => declared.skip = true,
                    "default" => declared.default = Some(meta.value()?.parse()?),
                    "range" => declared.range = Some(meta.value()?.parse()?),
                    "above" => declared.above = Some(meta.value()?.parse()?),
                    "below" => declared.below = Some(meta.value()?.parse()?),
                    "open" => declared.open = Some(meta.value()?.parse()?),
                    "flag" => declared.flag = Some(meta.value()?.parse()?),
                    "value" => declared.value = Some(meta.value()?.parse()?),
                    "was" => declared.was = Some(meta.value()?.parse()?),
                    other => return Err(meta.error(format!("unknown attribute `{other}`"))),
                }
                Ok(())
            })?;
        }
        let needs_default = !declared.skip && declared.option().is_none();
        if needs_default && declared.default.is_none() {
            return Err(syn::Error::new(
                field.span(),
                "a setting needs `default = …`",
            ));
        }
        if !declared.skip && declared.about.is_empty() {
            return Err(syn::Error::new(
                field.span(),
                "a setting needs a doc comment: its help",
            ));
        }
        Ok(declared)
    }

    fn ident(&self) -> &syn::Ident {
        self.field.ident.as_ref().expect("named fields only")
    }

    /// Returns the name in files: lower case with hyphens.
    fn name(&self) -> String {
        let name = self.ident().to_string();
        name.strip_prefix("r#").unwrap_or(&name).replace('_', "-")
    }

    fn flag(&self) -> String {
        self.flag
            .as_ref()
            .map_or_else(|| self.name(), LitStr::value)
    }

    /// Returns the earlier name, for readers of files.
    fn alias(&self) -> Tokens {
        self.was
            .as_ref()
            .map_or_else(Tokens::new, |was| quote!(alias = #was,))
    }

    /// Returns the type within an `Option`.
    fn option(&self) -> Option<&Type> {
        within_option(&self.field.ty)
    }

    /// Returns the type of the setting's values: the field's, or that within its `Option`.
    fn inner(&self) -> &Type {
        self.option().unwrap_or(&self.field.ty)
    }

    fn default(&self) -> Tokens {
        let ident = self.ident();
        match &self.default {
            Some(default) => quote!(#ident: #default),
            None if self.option().is_some() => quote!(#ident: ::core::option::Option::None),
            None => quote!(#ident: ::core::default::Default::default()),
        }
    }

    /// Returns the bounds of the allowed values, if there are any.
    fn bounds(&self) -> Option<Tokens> {
        if self.range.is_none() && self.above.is_none() && self.below.is_none() {
            return None;
        }
        let range = self.range.as_ref();
        let end = |closed: Option<&Expr>, open: Option<&Expr>| {
            let open = open.map(|end| quote!((#end as f64, false)));
            optional(open.or_else(|| closed.map(|end| quote!((#end as f64, true)))))
        };
        let half_open = range.is_some_and(|r| matches!(r.limits, RangeLimits::HalfOpen(_)));
        let most = range.and_then(|r| r.end.as_deref());
        let least = end(range.and_then(|r| r.start.as_deref()), self.above.as_ref());
        let below = self.below.as_ref().or(most.filter(|_| half_open));
        let most = end(most.filter(|_| !half_open), below);
        Some(quote!(::gnarl_graph::settings::Bounds { least: #least, most: #most }))
    }

    /// Generates the entry in the list of settings.
    fn listed(&self) -> Tokens {
        let (name, flag, about, of) = (self.name(), self.flag(), &self.about, self.inner());
        let is_optional = self.option().is_some();
        let text = |text: &Option<LitStr>| optional(text.as_ref().map(|text| quote!(#text)));
        let (open, value, was) = (text(&self.open), text(&self.value), text(&self.was));
        let bounds = optional(self.bounds());
        quote! {
            ::gnarl_graph::settings::Setting {
                name: #name,
                flag: #flag,
                about: #about,
                kind: <#of as ::gnarl_graph::settings::Value>::KIND,
                bounds: #bounds,
                optional: #is_optional,
                open: #open,
                placeholder: #value,
                was: #was,
            }
        }
    }

    /// Generates the check of the field.
    fn check(&self) -> Tokens {
        let (ident, check) = (self.ident(), self.check_call());
        if self.option().is_some() {
            quote!(if let ::core::option::Option::Some(value) = &self.#ident { #check })
        } else {
            quote!({ let value = &self.#ident; #check })
        }
    }

    /// Generates the check of a reference `value` to a value that is set.
    fn check_call(&self) -> Tokens {
        let (flag, of, bounds) = (self.flag(), self.inner(), optional(self.bounds()));
        quote!(::gnarl_graph::settings::check_value::<#of>(#flag, value, #bounds)?;)
    }
}

/// Generates an `Option`.
fn optional(of: Option<Tokens>) -> Tokens {
    match of {
        Some(of) => quote!(::core::option::Option::Some(#of)),
        None => quote!(::core::option::Option::None),
    }
}

fn within_option(of: &Type) -> Option<&Type> {
    let Type::Path(path) = of else { return None };
    let last = path
        .path
        .segments
        .last()
        .filter(|last| last.ident == "Option")?;
    match &last.arguments {
        syn::PathArguments::AngleBracketed(inner) => match inner.args.first() {
            Some(syn::GenericArgument::Type(of)) => Some(of),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the first paragraph of a doc comment on one line, without its full stop and without
/// links.
fn first_paragraph(attributes: &[Attribute]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        let syn::Meta::NameValue(pair) = &attribute.meta else {
            continue;
        };
        let Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) = &pair.value
        else {
            continue;
        };
        let line = text.value().trim().to_string();
        if line.is_empty() && !lines.is_empty() {
            break;
        }
        lines.push(line);
    }
    let text = lines.join(" ");
    text.strip_suffix('.').unwrap_or(&text).to_string()
}

/// Generates the `Choice` implementation of a struct with a name of its own.
fn choice(input: &DeriveInput, fields: &[Declared<'_>]) -> syn::Result<Tokens> {
    let defaults = fields.iter().map(Declared::default);
    let Some(attribute) = input.attrs.iter().find(|a| a.path().is_ident("choice")) else {
        return Ok(Tokens::new());
    };
    let (mut name, mut about, mut check, mut constant) = (None, None, None::<Expr>, false);
    attribute.parse_nested_meta(|meta| {
        if meta.path.is_ident("name") {
            name = Some(meta.value()?.parse::<LitStr>()?);
        } else if meta.path.is_ident("about") {
            about = Some(meta.value()?.parse::<LitStr>()?);
        } else if meta.path.is_ident("check") {
            check = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("constant") {
            constant = true;
        } else {
            return Err(meta.error("expected `name`, `about`, `check` or `constant`"));
        }
        Ok(())
    })?;
    let Some(name) = name else {
        return Err(syn::Error::new(
            attribute.span(),
            "a choice needs `name = \"…\"`",
        ));
    };
    let about = about.map_or_else(|| first_paragraph(&input.attrs), |about| about.value());
    let of = &input.ident;
    let constant = constant.then(|| {
        quote! {
            impl #of {
                /// The default settings.
                pub const DEFAULT: Self = Self { #(#defaults),* };
            }
        }
    });
    let check = match check {
        Some(check) => quote!((#check)(self)),
        None => quote!(::core::result::Result::Ok(())),
    };
    Ok(quote! {
        #constant

        impl ::gnarl_graph::settings::Choice for #of {
            const NAME: &'static str = #name;
            const ABOUT: &'static str = #about;

            fn check(&self) -> ::gnarl_graph::Result<()> {
                ::gnarl_graph::settings::Settings::check_ranges(self)?;
                #check
            }
        }
    })
}

/// Generates a struct of the settings with every field optional, and an enum of their names.
fn partial(input: &DeriveInput, fields: &[Declared<'_>]) -> syn::Result<Tokens> {
    let Some(attribute) = input.attrs.iter().find(|a| a.path().is_ident("partial")) else {
        return Ok(Tokens::new());
    };
    type Idents = syn::punctuated::Punctuated<syn::Ident, syn::Token![,]>;
    let given = attribute.parse_args_with(Idents::parse_terminated)?;
    let (Some(partial), Some(listed), 2) = (given.first(), given.last(), given.len()) else {
        return Err(syn::Error::new(
            attribute.span(),
            "expected `partial(Options, Setting)`",
        ));
    };
    let partial = Partial {
        input,
        partial,
        listed,
        settings: fields.iter().filter(|f| !f.skip).collect(),
        has_skipped: fields.iter().any(|f| f.skip),
    };
    let (names, structure, methods) = (
        partial.enum_of_names(),
        partial.structure(),
        partial.methods(),
    );
    Ok(quote!(#names #structure #methods))
}

/// The parts of `#[partial(Options, Setting)]` on a struct of settings.
struct Partial<'a> {
    input: &'a DeriveInput,
    /// Name of the struct whose fields are optional.
    partial: &'a syn::Ident,
    /// Name of the enum of the settings' names.
    listed: &'a syn::Ident,
    settings: Vec<&'a Declared<'a>>,
    /// True if the struct has fields that are not settings.
    has_skipped: bool,
}

impl Partial<'_> {
    fn idents(&self) -> Vec<&syn::Ident> {
        self.settings.iter().map(|f| f.ident()).collect()
    }

    /// Returns the variants of the enum: the names of the settings in camel case.
    fn variants(&self) -> Vec<syn::Ident> {
        self.settings
            .iter()
            .map(|f| format_ident!("{}", camel(&f.name())))
            .collect()
    }

    fn enum_of_names(&self) -> Tokens {
        let (of, vis, listed) = (&self.input.ident, &self.input.vis, self.listed);
        let doc = format!("The settings of [`{of}`] by name.");
        let what = format!("{} setting", of.to_string().to_lowercase());
        let abouts = self.settings.iter().map(|f| &f.about);
        let names = self.settings.iter().map(|f| f.name());
        let variants = self.variants();
        quote! {
            ::gnarl_graph::named! {
                #[doc = #doc]
                #vis enum #listed as #what {
                    #(#[doc = #abouts] #variants = #names),*
                }
            }
        }
    }

    fn structure(&self) -> Tokens {
        let (of, vis, partial) = (&self.input.ident, &self.input.vis, self.partial);
        let doc = format!("The settings of [`{of}`] that were given; the others are left open.");
        let members = self.settings.iter().map(|f| {
            let (ident, vis, inner) = (f.ident(), &f.field.vis, f.inner());
            let docs = f.field.attrs.iter().filter(|a| a.path().is_ident("doc"));
            let alias = f.alias();
            quote! {
                #(#docs)*
                #[serde(#alias skip_serializing_if = "Option::is_none")]
                #vis #ident: ::core::option::Option<#inner>
            }
        });
        quote! {
            #[doc = #doc]
            #[derive(Debug, Clone, Copy, PartialEq, Default, ::serde::Serialize, ::serde::Deserialize)]
            #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
            #vis struct #partial { #(#members),* }
        }
    }

    fn methods(&self) -> Tokens {
        let (of, partial, listed) = (&self.input.ident, self.partial, self.listed);
        let (idents, variants) = (self.idents(), self.variants());
        let resolve = self.resolve();
        let full = self.full();
        let checks = self.settings.iter().map(|f| {
            let (ident, check) = (f.ident(), f.check_call());
            quote!(if let ::core::option::Option::Some(value) = &self.#ident { #check })
        });
        quote! {
            impl #partial {
                /// Settings by the names under which they are stored.
                pub const SETTINGS: &'static [::gnarl_graph::settings::Setting] =
                    <#of as ::gnarl_graph::settings::Settings>::SETTINGS;

                /// Returns the settings that were given.
                pub fn set(&self) -> ::std::vec::Vec<#listed> {
                    let mut found = ::std::vec::Vec::new();
                    #(if self.#idents.is_some() { found.push(#listed::#variants); })*
                    found
                }

                /// Fills unset settings from other values.
                #[must_use]
                pub fn or(self, other: Self) -> Self {
                    Self { #(#idents: self.#idents.or(other.#idents)),* }
                }

                /// Keeps the settings that pass, and unsets the others.
                #[must_use]
                pub fn only(self, keeps: impl Fn(#listed) -> bool) -> Self {
                    Self { #(#idents: self.#idents.filter(|_| keeps(#listed::#variants))),* }
                }

                #resolve

                /// Fails for a value outside its range, naming the option.
                pub fn check(&self) -> ::gnarl_graph::Result<()> {
                    #(#checks)*
                    ::core::result::Result::Ok(())
                }
            }

            impl ::core::convert::From<&#of> for #partial {
                fn from(from: &#of) -> Self {
                    Self { #(#full),* }
                }
            }
        }
    }

    /// Generates the method that fills unset settings from defaults.
    fn resolve(&self) -> Tokens {
        let of = &self.input.ident;
        let resolved = self.settings.iter().map(|f| {
            let ident = f.ident();
            if f.option().is_some() {
                quote!(#ident: self.#ident.or(defaults.#ident))
            } else {
                quote!(#ident: self.#ident.unwrap_or(defaults.#ident))
            }
        });
        let rest = self.has_skipped.then(|| quote!(..defaults.clone()));
        quote! {
            /// Fills all unset settings from `defaults`.
            #[must_use]
            pub fn resolve(self, defaults: &#of) -> #of {
                #of { #(#resolved,)* #rest }
            }
        }
    }

    /// Generates the fields of the struct in which every setting is given.
    fn full(&self) -> impl Iterator<Item = Tokens> {
        self.settings.iter().map(|f| {
            let ident = f.ident();
            if f.option().is_some() {
                quote!(#ident: from.#ident)
            } else {
                quote!(#ident: ::core::option::Option::Some(from.#ident))
            }
        })
    }
}

/// Converts `input-dropout` to `InputDropout`.
fn camel(name: &str) -> String {
    let upper = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| {
            first.to_uppercase().collect::<String>() + letters.as_str()
        })
    };
    name.split('-').map(upper).collect()
}
