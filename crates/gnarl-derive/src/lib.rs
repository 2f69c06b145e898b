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

#![forbid(unsafe_code)]

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

        impl ::gnarl_graph::names::Settings for #name {
            const SETTINGS: &'static [::gnarl_graph::names::Setting] = &[#(#listed),*];

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
        let end = |closed: Option<&Expr>, open: Option<&Expr>| match (open, closed) {
            (Some(end), _) => quote!(::core::option::Option::Some((#end as f64, false))),
            (None, Some(end)) => quote!(::core::option::Option::Some((#end as f64, true))),
            (None, None) => quote!(::core::option::Option::None),
        };
        let half_open = range.is_some_and(|r| matches!(r.limits, RangeLimits::HalfOpen(_)));
        let most = range.and_then(|r| r.end.as_deref());
        let least = end(range.and_then(|r| r.start.as_deref()), self.above.as_ref());
        let below = self.below.as_ref().or(most.filter(|_| half_open));
        let most = end(most.filter(|_| !half_open), below);
        Some(quote!(::gnarl_graph::names::Bounds { least: #least, most: #most }))
    }

    fn listed(&self) -> Tokens {
        let (name, flag, about) = (self.name(), self.flag(), &self.about);
        let of = self.option().unwrap_or(&self.field.ty);
        let optional = self.option().is_some();
        let text = |text: &Option<LitStr>| match text {
            Some(text) => quote!(::core::option::Option::Some(#text)),
            None => quote!(::core::option::Option::None),
        };
        let (open, value, was) = (text(&self.open), text(&self.value), text(&self.was));
        let bounds = match self.bounds() {
            Some(bounds) => quote!(::core::option::Option::Some(#bounds)),
            None => quote!(::core::option::Option::None),
        };
        quote! {
            ::gnarl_graph::names::Setting {
                name: #name,
                flag: #flag,
                about: #about,
                kind: <#of as ::gnarl_graph::names::Value>::KIND,
                bounds: #bounds,
                optional: #optional,
                open: #open,
                placeholder: #value,
                was: #was,
            }
        }
    }

    fn check(&self) -> Tokens {
        let (ident, flag) = (self.ident(), self.flag());
        let of = self.option().unwrap_or(&self.field.ty);
        let bounds = match self.bounds() {
            Some(bounds) => quote!(::core::option::Option::Some(#bounds)),
            None => quote!(::core::option::Option::None),
        };
        let check = quote!(::gnarl_graph::names::check_value::<#of>(#flag, value, #bounds)?;);
        match self.option() {
            Some(_) => quote!(if let ::core::option::Option::Some(value) = &self.#ident { #check }),
            None => quote!({ let value = &self.#ident; #check }),
        }
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

        impl ::gnarl_graph::names::Choice for #of {
            const NAME: &'static str = #name;
            const ABOUT: &'static str = #about;

            fn check(&self) -> ::gnarl_graph::Result<()> {
                ::gnarl_graph::names::Settings::check_ranges(self)?;
                #check
            }
        }
    })
}

/// Generates a struct of the settings with every field optional.
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
    let (of, vis) = (&input.ident, &input.vis);
    let doc = format!("The settings of [`{of}`] that were given; the others are left open.");
    let settings: Vec<&Declared<'_>> = fields.iter().filter(|f| !f.skip).collect();
    let idents: Vec<_> = settings.iter().map(|f| f.ident()).collect();
    let names: Vec<String> = settings.iter().map(|f| f.name()).collect();
    let members = settings.iter().map(|f| {
        let (ident, vis, inner) = (f.ident(), &f.field.vis, f.option().unwrap_or(&f.field.ty));
        let docs = f.field.attrs.iter().filter(|a| a.path().is_ident("doc"));
        let alias = f.alias();
        quote! {
            #(#docs)*
            #[serde(#alias skip_serializing_if = "Option::is_none")]
            #vis #ident: ::core::option::Option<#inner>
        }
    });
    let resolved = settings.iter().map(|f| {
        let ident = f.ident();
        match f.option() {
            Some(_) => quote!(#ident: self.#ident.or(usual.#ident)),
            None => quote!(#ident: self.#ident.unwrap_or(usual.#ident)),
        }
    });
    let full = settings.iter().map(|f| {
        let ident = f.ident();
        match f.option() {
            Some(_) => quote!(#ident: from.#ident),
            None => quote!(#ident: ::core::option::Option::Some(from.#ident)),
        }
    });
    let checks = settings.iter().map(|f| {
        let (ident, flag) = (f.ident(), f.flag());
        let inner = f.option().unwrap_or(&f.field.ty);
        let bounds = match f.bounds() {
            Some(bounds) => quote!(::core::option::Option::Some(#bounds)),
            None => quote!(::core::option::Option::None),
        };
        quote! {
            if let ::core::option::Option::Some(value) = &self.#ident {
                ::gnarl_graph::names::check_value::<#inner>(#flag, value, #bounds)?;
            }
        }
    });
    let rest = fields
        .iter()
        .any(|f| f.skip)
        .then(|| quote!(..usual.clone()));
    let variants: Vec<_> = names
        .iter()
        .map(|name| format_ident!("{}", camel(name)))
        .collect();
    let about: Vec<&String> = settings.iter().map(|f| &f.about).collect();
    let what = format!("{} setting", of.to_string().to_lowercase());
    let listed_doc = format!("The settings of [`{of}`] by name.");
    Ok(quote! {
        ::gnarl_graph::named! {
            #[doc = #listed_doc]
            #vis enum #listed as #what {
                #(#[doc = #about] #variants = #names),*
            }
        }

        #[doc = #doc]
        #[derive(Debug, Clone, Copy, PartialEq, Default, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        #vis struct #partial { #(#members),* }

        impl #partial {
            /// Settings by the names under which they are stored.
            pub const SETTINGS: &'static [::gnarl_graph::names::Setting] =
                <#of as ::gnarl_graph::names::Settings>::SETTINGS;

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

            /// Fills all unset settings from `usual`.
            #[must_use]
            pub fn resolve(self, usual: &#of) -> #of {
                #of { #(#resolved,)* #rest }
            }

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
    })
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
