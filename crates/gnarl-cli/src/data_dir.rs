//! Where datasets live.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The data folder: the option, else `GNARL_DATA`, else the platform's data folder, else (no home folder) `gnarl-data`
/// here. It need not exist yet.
pub fn resolve(option: Option<&Path>) -> PathBuf {
    choose(option, std::env::var_os("GNARL_DATA"))
}

fn choose(option: Option<&Path>, variable: Option<OsString>) -> PathBuf {
    if let Some(dir) = option {
        return dir.to_path_buf();
    }
    if let Some(dir) = variable.filter(|dir| !dir.is_empty()) {
        return PathBuf::from(dir);
    }
    directories::ProjectDirs::from("", "", "gnarl")
        .map_or_else(|| PathBuf::from("gnarl-data"), |dirs| dirs.data_dir().to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_comes_before_the_variable_before_the_platform() {
        assert_eq!(choose(Some(Path::new("a")), Some("b".into())), Path::new("a"));
        assert_eq!(choose(None, Some("b".into())), Path::new("b"));
        let platform = choose(None, None);
        assert_eq!(choose(None, Some("".into())), platform, "an empty variable is no folder");
        assert!(platform.ends_with("gnarl") || platform.ends_with("data") || platform.ends_with("gnarl-data"));
    }
}
