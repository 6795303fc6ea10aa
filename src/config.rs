//! Every setting, from a flag, the environment or `sitebell.toml`, in that order.
//!
//! [`SETTINGS`] is the one list: the flags, the variables (`SITEBELL_…`), the keys of the file, the help text and the
//! table in the README all come from it. Only the command line reads [`Config`]; everything else is handed its values.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;
use url::Url;

use crate::account::{Allowance, Registration};
use crate::check::CheckSettings;
use crate::fetch::{AllowNet, FetchSettings};
use crate::load::Limits;
use crate::schedule::policy::Policy;
use crate::schedule::upkeep::{Copies, CronLine, Upkeep};
use crate::store::Keep;

/// The file that is read from the working directory where `--config` names no other.
pub const DEFAULT_FILE: &str = "sitebell.toml";

/// The part of the file that is not about settings, but about a site to be published.
pub const PUBLISH_KEY: &str = "publish";

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its name as a flag, without the dashes, and as a key of the file.
    pub name: &'static str,
    /// What kind of value it takes.
    pub value: &'static str,
    /// What holds where nobody says anything else; empty for nothing.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
    /// The commands that take it.
    pub group: Group,
}

/// Settings that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Reading sites: for `check` and `serve`.
    Reading,
    /// Where the data is: for all commands that work on it.
    Data,
    /// The service.
    Service,
}

impl Setting {
    /// Its name in the environment.
    pub fn variable(&self) -> String {
        format!("SITEBELL_{}", self.name.to_uppercase().replace('-', "_"))
    }

    /// Whether it may be given several times.
    pub fn is_list(&self) -> bool {
        matches!(self.name, "allow-net" | "trusted-proxy")
    }
}

macro_rules! settings {
    ($($group:ident { $($name:literal $value:ident $default:literal $help:literal;)+ })+) => {
        /// Every setting.
        pub const SETTINGS: &[Setting] = &[
            $($(Setting {
                name: $name, value: stringify!($value), default: $default, help: $help, group: Group::$group,
            },)+)+
        ];
    };
}

settings! { Service {
    "listen" ADDRESS "127.0.0.1:8080" "The address and port that the service answers at";
    "public-url" URL "" "The address at which people reach the service; http:// and the one above where nothing is given";
    "registration" WHO "closed" "Who may sign up: open, invite or closed";
    "visitors-add" WHETHER "yes" "Whether people without an account may add sites: yes or no; what is known can always be viewed";
    "account-sites" NUMBER "1000" "Sites that an account may follow; admins may follow any number, and give others other quotas";
    "account-lookups" NUMBER "200" "Sites that an account may have read in a day, new ones or again";
    "account-imports" NUMBER "20" "Lists of subscriptions that an account may import in a day";
    "trusted-proxy" NETWORK "" "The address or network (CIDR) of a reverse proxy in front of the service, whose X-Forwarded-For is believed; may be given several times";
    "check-every" DURATION "1d" "How often a site is checked to begin with; those that change are checked more often, others less";
    "check-floor" DURATION "" "The shortest time between two checks of a site; a 24th of check-every where nothing is given";
    "check-ceiling" DURATION "" "The longest time between two checks of a site; seven times check-every where nothing is given";
    "page-titles" WHETHER "yes" "Whether changed pages are asked for their titles where their site does not tell them: yes or no; robots.txt is obeyed, and at most 20 are asked after a check";
    "max-hosts" NUMBER "32" "Hosts that are read at the same time";
    "feed-memory" SIZE "32MiB" "Memory for feeds that are ready to be sent";
    "keep-checks" NUMBER "100" "Checks of each site that are remembered";
    "keep-changes" NUMBER "100000" "Changes of each collection that are remembered";
    "keep-reports" NUMBER "10000" "Reports for authors that are kept at addresses of their own until they are removed; visitors without an account take up at most half of them";
    "prune-at" CRON "0 30 3 * * *" "When older ones are forgotten: seconds, minutes, hours, days, months, weekdays, in UTC";
    "backup-to" FOLDER "" "A folder for copies of the data; none are made where nothing is given";
    "backup-at" CRON "0 0 4 * * *" "When a copy is made";
    "keep-backups" NUMBER "7" "Copies that are kept";
    "log" LEVEL "info" "What is logged: error, warn, info, debug or trace, or a filter such as sitebell=debug,warn";
} Data {
    "data" FOLDER "data" "The folder that everything is kept in";
} Reading {
    "allow-net" NETWORK "" "A network outside the public internet that may be fetched from, as CIDR or CIDR:port; may be given several times";
    "contact" TEXT "" "A URL or mail address at which site owners reach the operator; sent in the User-Agent";
    "host-gap" DURATION "500ms" "The least time between two requests to one host name";
    "connect-timeout" DURATION "5s" "The longest time to be connected";
    "idle-timeout" DURATION "10s" "The longest silence in the middle of an answer";
    "request-timeout" DURATION "20s" "The longest time for one whole request";
    "check-timeout" DURATION "60s" "The longest time for one whole check of a site";
    "max-redirects" NUMBER "5" "Redirects that are followed";
    "max-requests" NUMBER "32" "Requests under way at the same time";
    "max-document-size" SIZE "50MiB" "The largest ResourceSync or sitemap document, decompressed";
    "max-page-size" SIZE "1MiB" "The largest page or other file, decompressed";
    "max-check-size" SIZE "200MiB" "The most that one check of a site takes from the network";
    "max-unpacked-size" SIZE "512MiB" "The largest SCP file, unpacked; as it comes over the network it is held to max-document-size";
    "max-documents" NUMBER "100" "Documents that one check of a site reads";
    "max-foreign-documents" NUMBER "20" "Documents of other sites among them";
    "max-collections" NUMBER "100" "Collections of one site that are read";
    "max-changes" NUMBER "250000" "Changes that one check of a site takes in; the rest waits for the next check";
    "max-pages" NUMBER "5000000" "Pages that one check of a site takes in, where the site lists its pages; the rest waits for the next check";
    "max-descriptions" NUMBER "20" "Pages and descriptions that one check reads for titles";
}}

/// A value that cannot be used, and where it came from.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A bad value.
    #[error("{from} is “{text}”: {reason}")]
    Value {
        /// The flag, variable or key.
        from: String,
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that cannot be read.
    #[error("the settings file {path} cannot be read: {reason}")]
    File {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A key that means nothing.
    #[error(
        "the settings file {path} has the key “{key}”, which is not a setting; see `sitebell serve --help`"
    )]
    Key {
        /// The file.
        path: String,
        /// The key.
        key: String,
    },
}

/// All settings, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// How to fetch.
    pub fetch: FetchSettings,
    /// The bounds of one check.
    pub limits: Limits,
    /// Where everything is kept.
    pub data: PathBuf,
    /// The service.
    pub service: ServiceSettings,
    /// Every setting with its value as it was given, for operators to look at.
    pub shown: Vec<(&'static str, String)>,
}

/// How the service runs.
#[derive(Debug, Clone)]
pub struct ServiceSettings {
    /// Where it answers.
    pub listen: SocketAddr,
    /// Where people reach it; ends with a slash.
    pub public_url: Option<Url>,
    /// Who may sign up.
    pub registration: Registration,
    /// Whether people without an account may add sites.
    pub visitors_add: bool,
    /// How much accounts may do.
    pub allowance: Allowance,
    /// Proxies in front of it.
    pub trusted_proxies: Vec<IpNet>,
    /// How often sites are checked.
    pub policy: Policy,
    /// Whether changed pages are asked for their titles.
    pub page_titles: bool,
    /// Reports for authors that are kept.
    pub keep_reports: u32,
    /// Hosts that are read at the same time.
    pub max_hosts: usize,
    /// Memory for feeds that are ready to be sent.
    pub feed_memory: u64,
    /// What happens at night.
    pub upkeep: Upkeep,
    /// What is logged.
    pub log: String,
}

/// Where a value came from.
#[derive(Debug, Clone)]
enum Origin {
    Flag,
    Variable,
    File(String),
    Default,
}

/// The values as they were given.
#[derive(Debug, Clone, Default)]
pub struct Values {
    given: BTreeMap<&'static str, (Origin, Vec<String>)>,
}

impl Values {
    /// Gathers the values of all settings. `flag` gives the values of a flag, `variable` that of a variable.
    pub fn gather(
        flag: impl Fn(&str) -> Vec<String>,
        variable: impl Fn(&str) -> Option<String>,
        file: Option<&Path>,
    ) -> Result<Values, ConfigError> {
        let from_file = read_file(file)?;
        let mut given = BTreeMap::new();
        for setting in SETTINGS {
            let flags = flag(setting.name);
            let found = if !flags.is_empty() {
                (Origin::Flag, flags)
            } else if let Some(value) = variable(&setting.variable()) {
                let values = match setting.is_list() {
                    true => value
                        .split([',', ' '])
                        .filter(|part| !part.is_empty())
                        .map(str::to_owned)
                        .collect(),
                    false => vec![value],
                };
                (Origin::Variable, values)
            } else if let Some((path, values)) = from_file.get(setting.name) {
                (Origin::File(path.clone()), values.clone())
            } else if setting.default.is_empty() {
                continue;
            } else {
                (Origin::Default, vec![setting.default.to_owned()])
            };
            given.insert(setting.name, found);
        }
        Ok(Values { given })
    }

    /// The checked settings.
    pub fn config(&self) -> Result<Config, ConfigError> {
        let fetch = FetchSettings {
            connect_timeout: self.one("connect-timeout", duration)?,
            idle_timeout: self.one("idle-timeout", duration)?,
            total_timeout: self.one("request-timeout", duration)?,
            max_redirects: self.one("max-redirects", number)?,
            max_document_bytes: self.one("max-document-size", size)?,
            max_other_bytes: self.one("max-page-size", size)?,
            host_gap: self.one("host-gap", duration)?,
            max_in_flight: self.one("max-requests", at_least_one)?,
            allow_nets: self.all("allow-net", |text| {
                AllowNet::from_str(text).map_err(|error| error.to_string())
            })?,
            contact: self.optional("contact", |text| Ok(text.to_owned()))?,
            ..FetchSettings::default()
        };
        let limits = Limits {
            documents: self.one("max-documents", number)?,
            foreign_documents: self.one("max-foreign-documents", number)?,
            collections: self.one("max-collections", number)?,
            descriptions: self.one("max-descriptions", number)?,
            changes: self.one("max-changes", number)?,
            pages: self.one("max-pages", number)?,
            bytes: self.one("max-check-size", size)?,
            unpacked_bytes: self.one("max-unpacked-size", size)?,
            time: self.one("check-timeout", duration)?,
            ..Limits::default()
        };
        Ok(Config {
            fetch,
            limits,
            data: self.data()?,
            service: self.service()?,
            shown: self.shown(),
        })
    }

    fn shown(&self) -> Vec<(&'static str, String)> {
        let shown = |setting: &Setting| {
            let values = self
                .given
                .get(setting.name)
                .map(|(_, values)| values.join(", "));
            (setting.name, values.unwrap_or_default())
        };
        SETTINGS.iter().map(shown).collect()
    }

    /// Where the data is.
    pub fn data(&self) -> Result<PathBuf, ConfigError> {
        self.one("data", |text| match text {
            "" => Err("it must be the path of a folder".to_owned()),
            text => Ok(PathBuf::from(text)),
        })
    }

    fn service(&self) -> Result<ServiceSettings, ConfigError> {
        let copies = match self.optional("backup-to", |text| Ok(PathBuf::from(text)))? {
            Some(folder) => Some(Copies {
                folder,
                at: self.one("backup-at", CronLine::from_str)?,
                keep: self.one("keep-backups", at_least_one)?,
            }),
            None => None,
        };
        let every = self.one("check-every", duration)?;
        Ok(ServiceSettings {
            listen: self.one("listen", |text| {
                text.parse().map_err(|_| {
                    "it must be an address and a port such as 127.0.0.1:8080".to_owned()
                })
            })?,
            public_url: self.optional("public-url", public_url)?,
            registration: self.one("registration", |text| {
                Registration::parse(text)
                    .ok_or_else(|| "it must be open, invite or closed".to_owned())
            })?,
            visitors_add: self.one("visitors-add", yes_or_no)?,
            allowance: Allowance {
                sites: self.one("account-sites", number)?,
                lookups: self.one("account-lookups", number)?,
                imports: self.one("account-imports", number)?,
            },
            trusted_proxies: self.all("trusted-proxy", network)?,
            policy: Policy::new(
                every,
                self.optional("check-floor", duration)?,
                self.optional("check-ceiling", duration)?,
            ),
            page_titles: self.one("page-titles", yes_or_no)?,
            keep_reports: self.one("keep-reports", number)?,
            max_hosts: self.one("max-hosts", at_least_one)?,
            feed_memory: self.one("feed-memory", size)?,
            upkeep: Upkeep {
                prune_at: self.one("prune-at", CronLine::from_str)?,
                keep: Keep {
                    checks_per_site: self.one("keep-checks", at_least_one)?,
                    changes_per_collection: self.one("keep-changes", at_least_one)?,
                },
                copies,
            },
            log: self.one("log", |text| Ok(text.to_owned()))?,
        })
    }

    fn all<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, ConfigError> {
        let Some((origin, values)) = self.given.get(name) else {
            return Ok(Vec::new());
        };
        let parse = |text: &String| {
            parse(text.trim()).map_err(|reason| ConfigError::Value {
                from: from(origin, name),
                text: text.clone(),
                reason,
            })
        };
        values.iter().map(parse).collect()
    }

    fn optional<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        Ok(self.all(name, parse)?.pop())
    }

    fn one<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, ConfigError> {
        self.optional(name, parse)?
            .ok_or_else(|| ConfigError::Value {
                from: name.to_owned(),
                text: String::new(),
                reason: "it needs a value".to_owned(),
            })
    }
}

impl Config {
    /// The settings of a check.
    pub fn check_settings(&self) -> CheckSettings {
        CheckSettings {
            limits: self.limits,
            ..CheckSettings::default()
        }
    }
}

fn from(origin: &Origin, name: &str) -> String {
    match origin {
        Origin::Flag | Origin::Default => format!("--{name}"),
        Origin::Variable => {
            let setting = SETTINGS.iter().find(|setting| setting.name == name);
            format!(
                "{} in the environment",
                setting.map(Setting::variable).unwrap_or_default()
            )
        }
        Origin::File(path) => format!("{name} in {path}"),
    }
}

/// The keys of the settings file with their values as text.
fn read_file(file: Option<&Path>) -> Result<BTreeMap<String, (String, Vec<String>)>, ConfigError> {
    let path = file.unwrap_or(Path::new(DEFAULT_FILE));
    let shown = path.display().to_string();
    let fault = |reason: String| ConfigError::File {
        path: shown.clone(),
        reason,
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(BTreeMap::new());
        }
        Err(error) => return Err(fault(error.to_string())),
    };
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| fault(error.message().to_owned()))?;
    let mut values = BTreeMap::new();
    for (key, value) in table {
        // What an author says to `sitebell publish` may stand in the same file.
        if key == PUBLISH_KEY {
            continue;
        }
        if !SETTINGS.iter().any(|setting| setting.name == key) {
            return Err(ConfigError::Key { path: shown, key });
        }
        let texts = match value {
            toml::Value::Array(items) => items.iter().map(plain).collect(),
            value => vec![plain(&value)],
        };
        values.insert(key, (shown.clone(), texts));
    }
    Ok(values)
}

fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("it must be yes or no".to_owned()),
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| "it must be a whole number".to_owned())
}

fn at_least_one<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    match number(text)? {
        count if count < T::from(1) => Err("it must be at least 1".to_owned()),
        count => Ok(count),
    }
}

/// One address, or all of a network.
fn network(text: &str) -> Result<IpNet, String> {
    let one = || text.parse::<IpAddr>().map(IpNet::from);
    let network = text.parse().or_else(|_| one());
    network.map_err(|_| {
        "it must be an address or a network such as 127.0.0.1 or 10.0.0.0/8".to_owned()
    })
}

/// An address that ours can be put behind: http or https, with a path at most.
fn public_url(text: &str) -> Result<Url, String> {
    let fault = || "it must be an address such as https://bell.example.com/".to_owned();
    let mut url = Url::parse(text).map_err(|_| fault())?;
    let is_plain = url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if !matches!(url.scheme(), "http" | "https") || !is_plain {
        return Err(fault());
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// `500ms`, `20s`, `5m`, `12h`, `7d`; several of them are added up.
pub fn duration(text: &str) -> Result<Duration, String> {
    let unit = |unit: &str| match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" | "min" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    sum(text, unit)
        .map(Duration::from_millis)
        .ok_or_else(|| "it must be a time such as 500ms, 20s, 5m, 12h or 7d".to_owned())
}

/// `1000`, `64kB`, `1MiB`; bytes where no unit is given.
fn size(text: &str) -> Result<u64, String> {
    let unit = |unit: &str| match unit.to_ascii_lowercase().as_str() {
        "" | "b" => Some(1),
        "kb" => Some(1_000),
        "mb" => Some(1_000_000),
        "gb" => Some(1_000_000_000),
        "kib" => Some(1 << 10),
        "mib" => Some(1 << 20),
        "gib" => Some(1 << 30),
        _ => None,
    };
    sum(text, unit).ok_or_else(|| "it must be a size such as 64kB or 50MiB".to_owned())
}

/// The sum of numbers with their units.
fn sum(text: &str, unit: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    if rest == "0" {
        return Some(0);
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(rest.len());
        let amount: u64 = rest[..digits].parse().ok()?;
        let after = rest[digits..].trim_start();
        let letters = after
            .find(|character: char| !character.is_ascii_alphabetic())
            .unwrap_or(after.len());
        total = total.checked_add(amount.checked_mul(unit(&after[..letters])?)?)?;
        rest = after[letters..].trim_start();
    }
    (!text.trim().is_empty()).then_some(total)
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [env: {}]", self.help, self.variable())?;
        if !self.default.is_empty() {
            write!(f, " [default: {}]", self.default)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather(
        flags: &[(&str, &str)],
        variables: &[(&str, &str)],
        file: Option<&Path>,
    ) -> Result<Config, ConfigError> {
        let flag = |name: &str| {
            flags
                .iter()
                .filter(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
                .collect()
        };
        let variable = |name: &str| {
            variables
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        };
        Values::gather(flag, variable, file)?.config()
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn the_defaults_in_the_table_are_the_defaults_of_the_parts() {
        let config = gather(&[], &[], None).unwrap();
        assert_eq!(
            format!("{:?}", config.fetch),
            format!("{:?}", FetchSettings::default())
        );
        assert_eq!(
            format!("{:?}", config.limits),
            format!("{:?}", Limits::default())
        );
    }

    #[test]
    fn a_flag_goes_before_the_environment_and_that_before_the_file() {
        let file = file(
            "host-gap = \"3s\"\nmax-documents = 7\nallow-net = [\"10.0.0.0/8\", \"::1:8080\"]\n",
        );
        let environment = [
            ("SITEBELL_HOST_GAP", "2s"),
            ("SITEBELL_CONTACT", "me@example.com"),
        ];
        let config = gather(&[("host-gap", "1s")], &environment, Some(file.path())).unwrap();
        assert_eq!(config.fetch.host_gap, Duration::from_secs(1));
        assert_eq!(config.fetch.contact.as_deref(), Some("me@example.com"));
        assert_eq!(config.limits.documents, 7);
        assert_eq!(config.fetch.allow_nets.len(), 2);
        let config = gather(&[], &environment, Some(file.path())).unwrap();
        assert_eq!(config.fetch.host_gap, Duration::from_secs(2));
    }

    #[test]
    fn a_bad_value_is_named_with_its_place_and_what_would_be_good() {
        let wrong_key = file("hots-gap = \"1s\"");
        let not_toml = file("host-gap = ");
        let bad_value = file("max-documents = \"many\"");
        for (result, parts) in [
            (
                gather(&[("host-gap", "soon")], &[], None),
                ["--host-gap is “soon”", "500ms"],
            ),
            (
                gather(&[], &[("SITEBELL_MAX_PAGE_SIZE", "big")], None),
                ["SITEBELL_MAX_PAGE_SIZE", "64kB"],
            ),
            (
                gather(&[("allow-net", "home")], &[], None),
                ["--allow-net is “home”", ""],
            ),
            (
                gather(&[("max-requests", "0")], &[], None),
                ["--max-requests", "at least 1"],
            ),
            (
                gather(&[("page-titles", "maybe")], &[], None),
                ["--page-titles is “maybe”", "yes or no"],
            ),
            (
                gather(&[], &[], Some(wrong_key.path())),
                ["hots-gap", "not a setting"],
            ),
            (
                gather(&[], &[], Some(not_toml.path())),
                ["settings file", "cannot be read"],
            ),
            (
                gather(&[], &[], Some(bad_value.path())),
                ["max-documents in", "whole number"],
            ),
            (
                gather(&[], &[], Some(Path::new("no/such/file.toml"))),
                ["no/such/file.toml", "cannot be read"],
            ),
        ] {
            let message = result.expect_err(parts[0]).to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        }
    }

    #[test]
    fn times_and_sizes_have_units() {
        assert_eq!(duration("1h 30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        assert_eq!(size("1 MiB"), Ok(1 << 20));
        assert_eq!(size("2048"), Ok(2048));
        for bad in ["", "5", "s", "-1s", "1w", "99999999999999999999d"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert!(size("lots").is_err());
    }
}
