//! Limits on memory, time and counts. A size that depends on user input or on a file is estimated
//! and checked here before anything is allocated: [`Demand`] for memory and work, [`MOST`] for
//! counts.

use std::sync::RwLock;

use crate::error::{Error, Result};

/// Largest value of a count (steps, samples, columns or layers), unless its setting declares
/// another bound.
pub const MOST: u64 = 1_000_000;

/// Environment variable that limits memory, as in `8G`.
pub const VARIABLE: &str = "GNARL_MEMORY";

/// Operations per second of one thread, at best: an estimate by this speed is a lower bound.
const SPEED: f64 = 1e10;
/// Longest allowed estimate of running time, 30 days.
const LONGEST_SECONDS: f64 = 30.0 * 86_400.0;

/// Assumed memory of a system that does not report it: more than most have, and less than typing
/// errors request.
const UNKNOWN_MEMORY: u64 = 1 << 40;

/// Callback for exceeded estimates; `None` if they are errors.
static FORCED: RwLock<Option<fn(&Error)>> = RwLock::new(None);

/// Lets work that [`Demand::check`] would refuse continue in this process, and passes the error to
/// `tell` instead. With `None`, checks refuse again. Use it if you know better than the estimate:
/// results do not depend on it.
pub fn force(tell: Option<fn(&Error)>) {
    *FORCED.write().unwrap_or_else(|broken| broken.into_inner()) = tell;
}

/// Resource demand of a piece of work, estimated from below: refused work would not have finished.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    what: String,
    /// Peak memory in bytes.
    pub bytes: f64,
    /// Number of additions and multiplications.
    pub operations: f64,
}

impl Demand {
    /// Makes an empty demand; `what` names the work in messages.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            bytes: 0.0,
            operations: 0.0,
        }
    }

    /// Adds memory.
    pub fn and_bytes(mut self, bytes: f64) -> Self {
        self.bytes += bytes;
        self
    }

    /// Adds work.
    pub fn and_operations(mut self, operations: f64) -> Self {
        self.operations += operations;
        self
    }

    /// Fails if the demand exceeds this machine's memory or a month of its time, unless [`force`]d;
    /// `remedy` is the advice in the message.
    pub fn check(&self, remedy: &str) -> Result<()> {
        let checked = self.check_with(memory(), rayon::current_num_threads(), remedy);
        let forced = *FORCED.read().unwrap_or_else(|broken| broken.into_inner());
        match (checked, forced) {
            (Err(refusal), Some(tell)) => {
                tell(&refusal);
                Ok(())
            }
            (checked, _) => checked,
        }
    }

    /// Fails if the demand exceeds `most` bytes of memory, regardless of the memory available.
    pub fn check_within(&self, most: u64, remedy: &str) -> Result<()> {
        if self.bytes <= most as f64 {
            Ok(())
        } else {
            let (needed, most) = (bytes(self.bytes), bytes(most as f64));
            Err(Error::argument(
                "memory",
                format!(
                    "{} needs about {needed}, more than {most}; {remedy}",
                    self.what
                ),
            ))
        }
    }

    fn check_with(&self, memory: Option<u64>, threads: usize, remedy: &str) -> Result<()> {
        let refuse = |op: &'static str, what: String| {
            Err(Error::argument(
                op,
                format!("{} {what}; {remedy}", self.what),
            ))
        };
        if let Some(free) = memory.filter(|&free| self.bytes.is_nan() || self.bytes > free as f64) {
            let (needed, free) = (bytes(self.bytes), bytes(free as f64));
            return refuse(
                "memory",
                format!("needs at least {needed}, and {free} are free (or as {VARIABLE} says)"),
            );
        }
        let seconds = self.operations / (SPEED * threads.max(1) as f64);
        if seconds <= LONGEST_SECONDS {
            Ok(())
        } else {
            refuse("time", format!("takes at least {}", duration(seconds)))
        }
    }
}

/// Fails for a count beyond `most`, by the name of its setting.
pub fn check_count(name: &str, count: u64, most: u64) -> Result<()> {
    if count <= most {
        Ok(())
    } else {
        Err(Error::setting(
            name,
            format!("{count} is beyond {most}, the most that is taken; take fewer"),
        ))
    }
}

/// Returns the usable memory in bytes: the value of [`VARIABLE`], else the free memory of the
/// system and the process' group, else a terabyte.
pub fn memory() -> Option<u64> {
    if let Some(said) = std::env::var(VARIABLE)
        .ok()
        .and_then(|text| parse_bytes(&text))
    {
        return Some(said);
    }
    let number = |file: &str| {
        std::fs::read_to_string(file)
            .ok()
            .and_then(|text| text.trim().parse::<u64>().ok())
    };
    let available = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| available(&text));
    let group = match (
        number("/sys/fs/cgroup/memory.max"),
        number("/sys/fs/cgroup/memory.current"),
    ) {
        (Some(most), Some(used)) => Some(most.saturating_sub(used)),
        _ => None,
    };
    [available, group]
        .into_iter()
        .flatten()
        .min()
        .or(Some(UNKNOWN_MEMORY))
}

/// Parses the line `MemAvailable` of Linux' `/proc/meminfo`.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kilobytes| kilobytes * 1024)
}

/// Parses `8G`, `512M` or a number of bytes.
fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let units = [
        ('K', 1u64 << 10),
        ('M', 1 << 20),
        ('G', 1 << 30),
        ('T', 1 << 40),
    ];
    let unit = units
        .iter()
        .find(|(letter, _)| text.ends_with([*letter, letter.to_ascii_lowercase()]));
    let (digits, factor) = match unit {
        Some((_, factor)) => (&text[..text.len() - 1], *factor),
        None => (text, 1),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(factor)
}

/// Formats bytes in words.
fn bytes(count: f64) -> String {
    let units = ["bytes", "kB", "MB", "GB", "TB"];
    let power = (count.max(1.0).log10() / 3.0).floor().clamp(0.0, 4.0);
    let value = count / 1000f64.powf(power);
    match value {
        1e6.. => format!("{value:.1e} {}", units[power as usize]),
        10.0.. => format!("{value:.0} {}", units[power as usize]),
        _ => format!("{value:.1} {}", units[power as usize]),
    }
}

/// Formats seconds in words, for durations of months and more.
fn duration(seconds: f64) -> String {
    let days = seconds / 86_400.0;
    match days / 365.25 {
        years @ 1e6.. => format!("{years:.0e} years"),
        years @ 2.0.. => format!("{years:.0} years"),
        _ => format!("{days:.0} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_above_the_limit_is_refused_with_the_estimate() {
        let demand = Demand::new("gcn on karate")
            .and_bytes(3e9)
            .and_operations(1e9);
        assert!(demand.check_with(Some(4 << 30), 1, "fewer").is_ok());
        let e = demand
            .check_with(Some(2 << 30), 1, "take fewer columns")
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "memory: gcn on karate needs at least 3.0 GB, and 2.1 GB are free (or as GNARL_MEMORY says); take fewer columns"
        );
        assert!(
            demand.check_with(None, 1, "fewer").is_ok(),
            "a system that does not tell"
        );
        assert!(demand.check_within(3_000_000_000, "fewer").is_ok());
        let e = demand
            .check_within(2_000_000_000, "take fewer")
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "memory: gcn on karate needs about 3.0 GB, more than 2.0 GB; take fewer"
        );
        assert!(
            Demand::new("x")
                .and_bytes(f64::INFINITY)
                .check_with(Some(u64::MAX), 1, "y")
                .is_err()
        );
        assert!(
            Demand::new("x")
                .and_bytes(f64::NAN)
                .check_with(Some(u64::MAX), 1, "y")
                .is_err()
        );
    }

    /// At 10^10 a second, 10^18 operations are 10^8 s, 1157 days: on forty cores 29.
    #[test]
    fn work_of_more_than_a_month_is_refused() {
        let demand = Demand::new("gcn on karate").and_operations(1e18);
        let e = demand
            .check_with(None, 1, "take fewer epochs")
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "time: gcn on karate takes at least 3 years; take fewer epochs"
        );
        assert!(demand.check_with(None, 40, "").is_ok());
        assert_eq!(duration(40.0 * 86_400.0), "40 days");
        assert_eq!(duration(1e20), "3e12 years");
        assert!(
            Demand::new("x")
                .and_operations(f64::NAN)
                .check_with(None, 1, "y")
                .is_err()
        );
    }

    #[test]
    fn sizes_are_read_and_said() {
        assert_eq!(parse_bytes("8G"), Some(8 << 30));
        assert_eq!(parse_bytes(" 512m "), Some(512 << 20));
        assert_eq!(parse_bytes("1000"), Some(1000));
        assert_eq!(
            (
                parse_bytes("much"),
                parse_bytes("-1"),
                parse_bytes("99999999999T")
            ),
            (None, None, None)
        );
        assert_eq!(bytes(999.0), "999 bytes");
        assert_eq!(bytes(2.25e10), "22 GB");
        assert_eq!(bytes(1e30), "1.0e18 TB");
        assert_eq!(
            available("MemTotal: 9 kB\nMemAvailable:   20 kB\n"),
            Some(20480)
        );
        assert_eq!(available("nothing"), None);
    }

    #[test]
    fn counts_have_an_end() {
        assert!(check_count("steps", MOST, MOST).is_ok());
        let e = check_count("steps", 1_000_000_000, MOST)
            .unwrap_err()
            .to_string();
        assert_eq!(
            e,
            "steps: 1000000000 is beyond 1000000, the most that is taken; take fewer"
        );
    }
}
