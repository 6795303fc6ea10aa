//! Passwords, recovery codes and tokens: what may be one, how one is made, and what of it may be kept.
//!
//! Only hashes leave this module for the store. A password is chosen by a person, so its hash is slow (Argon2id);
//! recovery codes and tokens are random, so a fast one (SHA-256) is as good. Nothing here can be printed by accident:
//! the text of a secret is only given by `reveal`.

use std::fmt;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{Error as HashError, PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use icu_normalizer::ComposingNormalizerBorrowed;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// The shortest password, in characters.
pub const MIN_PASSWORD_CHARS: usize = 8;
/// What is advised.
pub const GOOD_PASSWORD_CHARS: usize = 15;
/// The longest password: far more than anybody types, and no work to hash.
pub const MAX_PASSWORD_CHARS: usize = 1_000;

/// What OWASP asks for at least: 19 MiB, twice, on one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// Hashes under way at the same time. Each needs its memory, and there is one core or two.
static HASHING: Semaphore = Semaphore::const_new(2);

/// The commonest passwords that are long enough, in lower case and in order: the first 3,000 of the list that Django
/// has and the first 3,000 of the one that zxcvbn has.
const COMMON: &str = include_str!("secret/common.txt");

/// Digits and letters of which no two look alike (Crockford's base 32): five bits each.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 140 bits, in groups of four.
const RECOVERY_CHARS: usize = 28;
const GROUP_CHARS: usize = 4;
/// How a token says what it is, to people and to programs that look for secrets in the wrong place.
const TOKEN_PREFIX: &str = "sbt_";
const FEED_KEY_PREFIX: &str = "sbf_";
const SESSION_PREFIX: &str = "sbs_";
const VISIT_PREFIX: &str = "sbv_";
const INVITE_PREFIX: &str = "sbi_";
const FIRST_PREFIX: &str = "sb1_";
/// 160 bits.
const TOKEN_CHARS: usize = 32;
/// 80 bits: enough where nothing but a report is behind it, and still an address to be sent around.
const NAME_CHARS: usize = 16;

/// Why something cannot be a secret, or none could be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// A short password.
    #[error(
        "the password is too short; take at least {MIN_PASSWORD_CHARS} characters, better {GOOD_PASSWORD_CHARS}"
    )]
    Short,
    /// A password that is not meant to be one.
    #[error("the password is too long; take at most {MAX_PASSWORD_CHARS} characters")]
    Long,
    /// A password that is tried first.
    #[error("the password is one of the commonest; take one that nobody else would think of")]
    Common,
    /// Not a recovery code.
    #[error("that is not a recovery code; it has seven groups of four letters and digits")]
    NotARecoveryCode,
    /// The operating system gave none.
    #[error("the operating system gives no random numbers; try again later")]
    NoRandomness,
    /// There was no memory for it.
    #[error("there is too little memory to hash a password (19 MiB); try again later")]
    NoMemory,
    /// Nothing is hashed any more.
    #[error("the program is about to end; try again later")]
    Stopped,
    /// What is kept is not the hash of a password.
    #[error(
        "the password kept for this account cannot be read; set a new one with sitebell account reset-password"
    )]
    Unreadable,
}

/// A password that may be given to an account.
pub struct Password(String);

impl Password {
    /// The rules for a new password: long enough, and not among the commonest. Every character counts and none is
    /// asked for.
    pub fn parse(text: &str) -> Result<Password, SecretError> {
        let text = composed(text);
        let count = text.chars().take(MAX_PASSWORD_CHARS + 1).count();
        if count < MIN_PASSWORD_CHARS {
            return Err(SecretError::Short);
        }
        if count > MAX_PASSWORD_CHARS {
            return Err(SecretError::Long);
        }
        if is_common(&text.to_lowercase()) {
            return Err(SecretError::Common);
        }
        Ok(Password(text))
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// The same letters give the same bytes on every keyboard (NFC, as RFC 8265 asks).
fn composed(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc()
        .normalize(text)
        .into_owned()
}

/// Whether a password in lower case is on the list.
fn is_common(password: &str) -> bool {
    // One of these at a time, and rarely: a look through 46 kB is cheaper than keeping them sorted in memory.
    COMMON.lines().any(|line| line == password)
}

/// What is kept of a password: a text that also says how it was made.
pub async fn hash_password(password: &Password) -> Result<String, SecretError> {
    let text = password.0.clone();
    hashing(move || match hasher().hash_password(text.as_bytes()) {
        Ok(hash) => Ok(hash.to_string()),
        Err(error) => Err(fault(error)),
    })
    .await
}

/// Whether what somebody typed is the password that is kept. Without one (nobody has that name) it takes as long, and
/// is not.
pub async fn verify_password(typed: &str, kept: Option<&str>) -> Result<bool, SecretError> {
    // Nobody's password is longer, and hashing megabytes would be work.
    let is_possible = typed.chars().take(MAX_PASSWORD_CHARS + 1).count() <= MAX_PASSWORD_CHARS;
    let typed = match is_possible {
        true => composed(typed),
        false => String::new(),
    };
    let kept = kept.map(str::to_owned);
    hashing(move || {
        let Some(kept) = kept else {
            let salt = [0; 16];
            let hash = hasher().hash_password_with_salt(typed.as_bytes(), &salt);
            return hash.map(|_| false).map_err(fault);
        };
        let kept = PasswordHash::new(&kept).map_err(|_| SecretError::Unreadable)?;
        match hasher().verify_password(typed.as_bytes(), &kept) {
            Ok(()) => Ok(is_possible),
            Err(HashError::PasswordInvalid) => Ok(false),
            Err(error) => Err(fault(error)),
        }
    })
    .await
}

/// Whether a hash was made in another way than they are made now, so that the next sign-in should make a new one.
pub fn is_outdated(kept: &str) -> bool {
    let now = PasswordHash::new(kept).ok().and_then(|hash| {
        let params = Params::try_from(&hash).ok()?;
        let is_id = hash.algorithm == Algorithm::Argon2id.ident();
        let costs = (params.m_cost(), params.t_cost(), params.p_cost());
        Some(is_id && costs == (MEMORY_KIB, PASSES, LANES))
    });
    now != Some(true)
}

fn hasher() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).expect("they are within the bounds");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

fn fault(error: HashError) -> SecretError {
    match error {
        HashError::OutOfMemory => SecretError::NoMemory,
        HashError::RngFailure => SecretError::NoRandomness,
        _ => SecretError::Unreadable,
    }
}

/// Waits for its turn, then works on a thread where that holds up nobody.
async fn hashing<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SecretError> + Send + 'static,
) -> Result<T, SecretError> {
    let turn = HASHING.acquire().await.expect("it is never closed");
    let work = spawn_blocking(move || {
        // Held by the work and not by whoever waits for it, who may leave.
        let _turn = turn;
        work()
    });
    match work.await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(SecretError::Stopped),
    }
}

/// What lets a person in who forgot the password: shown once, and kept as a hash.
pub struct RecoveryCode(String);

impl RecoveryCode {
    /// A new one.
    pub fn make() -> Result<RecoveryCode, SecretError> {
        random_text(RECOVERY_CHARS).map(RecoveryCode)
    }

    /// What somebody typed, however it was written down.
    pub fn parse(text: &str) -> Result<RecoveryCode, SecretError> {
        let counts = |c: &char| !c.is_whitespace() && *c != '-';
        let read = |c: char| match c.to_ascii_lowercase() {
            'o' => '0',
            'i' | 'l' => '1',
            other => other,
        };
        let code: String = (text.chars().filter(counts).map(read))
            .take(RECOVERY_CHARS + 1)
            .collect();
        match is_random_text(&code, RECOVERY_CHARS) {
            true => Ok(RecoveryCode(code)),
            false => Err(SecretError::NotARecoveryCode),
        }
    }

    /// As a person reads it: `4K2P-…`.
    pub fn reveal(&self) -> String {
        let upper = self.0.to_ascii_uppercase();
        let groups = upper.as_bytes().chunks(GROUP_CHARS);
        let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
        groups.join("-")
    }

    /// What is kept of it.
    pub fn hash(&self) -> String {
        hex(sha256(&self.0))
    }

    /// Whether it is the one that is kept, which takes the same time whichever it is.
    pub fn is(&self, kept: &str) -> bool {
        is_same(&self.hash(), kept)
    }
}

impl fmt::Debug for RecoveryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryCode(…)")
    }
}

macro_rules! random_secrets {
    ($($(#[doc = $doc:literal])+ $name:ident: $prefix:ident;)+) => {$(
        $(#[doc = $doc])+
        pub struct $name(String);

        impl $name {
            /// A new one.
            pub fn make() -> Result<$name, SecretError> {
                Ok($name($prefix.to_owned() + &random_text(TOKEN_CHARS)?))
            }

            /// What somebody showed, if it can be one at all.
            pub fn parse(text: &str) -> Option<$name> {
                let random = text.strip_prefix($prefix)?;
                is_random_text(random, TOKEN_CHARS).then(|| $name(text.to_owned()))
            }

            /// The secret itself.
            pub fn reveal(&self) -> &str {
                &self.0
            }

            /// What is kept of it.
            pub fn hash(&self) -> [u8; 32] {
                sha256(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    )+};
}

random_secrets! {
    /// What a program shows to act for an account: shown once, and kept as a hash.
    Token: TOKEN_PREFIX;
    /// What opens the private feed of an account, and nothing else: a part of its address, because feed readers can
    /// show nothing else. Shown once, and kept as a hash.
    FeedKey: FEED_KEY_PREFIX;
    /// What a browser shows in which somebody is signed in: in a cookie, and kept as a hash.
    SessionKey: SESSION_PREFIX;
    /// What a browser shows in which nobody is signed in, so that forms can be told from forgeries. Kept nowhere.
    VisitKey: VISIT_PREFIX;
    /// What lets somebody make an account: shown once, kept as a hash, and good for one.
    InviteKey: INVITE_PREFIX;
    /// What makes the first account: printed when the service starts without any, and good until there is one.
    FirstKey: FIRST_PREFIX;
}

/// What the forms of a browser carry that shows this secret in its cookie. Others cannot know it, and it does not tell
/// the secret.
pub fn form_token(secret: &str) -> String {
    hex(sha256(&format!("form {secret}")))
}

/// Whether two texts are the same, which takes the same time whatever is in them.
pub fn is_same(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    let differences = pairs.map(|(one, other)| one ^ other);
    one.len() == other.len() && differences.fold(0, |sum, bits| sum | bits) == 0
}

fn hex(bytes: [u8; 32]) -> String {
    bytes.map(|byte| format!("{byte:02x}")).concat()
}

fn sha256(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// A part of an address that nobody guesses, of something that whoever has the address may see.
pub fn unguessable_name() -> Result<String, SecretError> {
    random_text(NAME_CHARS)
}

/// Five bits of the operating system's randomness for each character.
fn random_text(chars: usize) -> Result<String, SecretError> {
    let mut bytes = vec![0; chars];
    getrandom::fill(&mut bytes).map_err(|_| SecretError::NoRandomness)?;
    let letter = |byte: u8| char::from(ALPHABET[usize::from(byte % 32)]);
    Ok(bytes.into_iter().map(letter).collect())
}

fn is_random_text(text: &str, chars: usize) -> bool {
    text.len() == chars && text.bytes().all(|byte| ALPHABET.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_enough_and_not_among_the_commonest() {
        for good in [
            "fox-den8",
            "        ",
            "zu kurz, aber nicht zu kurz",
            "狐狐狐狐狐狐狐狐",
            "\u{7}\u{0}tabs\tand bells",
            &"x".repeat(64),
            &"y".repeat(MAX_PASSWORD_CHARS),
        ] {
            assert!(Password::parse(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("", SecretError::Short),
            ("1234567", SecretError::Short),
            ("狐狐狐狐狐狐狐", SecretError::Short),
            // Seven letters, whichever way they are typed.
            (
                "ae\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}",
                SecretError::Short,
            ),
            ("password", SecretError::Common),
            ("PassWord123", SecretError::Common),
            ("12345678", SecretError::Common),
            ("Jennifer", SecretError::Common),
            ("trustno1", SecretError::Common),
            (&"x".repeat(MAX_PASSWORD_CHARS + 1), SecretError::Long),
        ] {
            assert_eq!(Password::parse(bad).unwrap_err(), why, "{bad}");
        }
    }

    #[test]
    fn the_list_of_common_passwords_is_what_it_says() {
        let lines: Vec<&str> = COMMON.lines().collect();
        assert!(lines.len() >= 3_000);
        assert!(lines.is_sorted());
        for line in lines {
            assert!(line.chars().count() >= MIN_PASSWORD_CHARS, "{line}");
            assert_eq!(line, composed(line).to_lowercase());
        }
    }

    #[tokio::test]
    async fn a_hash_says_how_it_was_made_and_only_the_password_fits() {
        let password = Password::parse("fox-dén8").unwrap();
        let hash = hash_password(&password).await.unwrap();
        assert!(
            hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{hash}"
        );
        assert!(!is_outdated(&hash));
        let fits = async |typed: &str| verify_password(typed, Some(&hash)).await.unwrap();
        assert!(fits("fox-dén8").await);
        assert!(fits("fox-de\u{301}n8").await, "typed on another keyboard");
        for wrong in ["", "fox-dén9", "Fox-dén8", "fox-dén8 ", &"x".repeat(5_000)] {
            assert!(!fits(wrong).await, "{wrong}");
        }
        let again = hash_password(&password).await.unwrap();
        assert_ne!(again, hash, "each has salt of its own");
    }

    #[tokio::test]
    async fn nobody_has_no_password_and_what_cannot_be_read_is_told() {
        assert_eq!(verify_password("fox-den8", None).await, Ok(false));
        assert_eq!(verify_password("", None).await, Ok(false));
        for kept in ["", "junk", "$argon2id$"] {
            let told = verify_password("fox-den8", Some(kept)).await;
            assert_eq!(told, Err(SecretError::Unreadable), "{kept}");
            assert!(is_outdated(kept));
        }
        assert!(is_outdated(
            "$argon2id$v=19$m=4096,t=3,p=1$c29tZXNhbHRzb21lc2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g"
        ));
    }

    #[test]
    fn a_recovery_code_is_read_however_it_was_written_down() {
        let code = RecoveryCode::make().unwrap();
        let shown = code.reveal();
        assert_eq!(shown.len(), 34, "{shown}");
        assert!(shown.split('-').all(|group| group.len() == 4));
        assert!(!shown.contains(['I', 'L', 'O', 'U']), "{shown}");
        let sloppy = format!(" {}\n", shown.to_lowercase().replace('-', " "));
        for text in [&shown, &sloppy, &shown.replace('0', "O").replace('1', "l")] {
            assert!(
                RecoveryCode::parse(text).unwrap().is(&code.hash()),
                "{text}"
            );
        }
        assert!(!RecoveryCode::make().unwrap().is(&code.hash()));
        assert!(!code.is("") && !code.is("junk"));
        for bad in ["", "4K2P", &format!("{shown}0"), &shown.replace('-', "u")] {
            let refused = RecoveryCode::parse(bad).unwrap_err();
            assert_eq!(refused, SecretError::NotARecoveryCode);
        }
    }

    #[test]
    fn a_token_is_random_and_knows_its_own_shape() {
        let token = Token::make().unwrap();
        assert!(token.reveal().starts_with("sbt_") && token.reveal().len() == 36);
        assert_ne!(token.reveal(), Token::make().unwrap().reveal());
        let parsed = Token::parse(token.reveal()).unwrap();
        assert_eq!(parsed.hash(), token.hash());
        for bad in [
            "",
            "sbt_",
            &token.reveal()[4..],
            &format!("{}0", token.reveal()),
        ] {
            assert!(Token::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn nothing_is_printed_by_accident() {
        let (token, code) = (Token::make().unwrap(), RecoveryCode::make().unwrap());
        let password = Password::parse("fox-den8").unwrap();
        let printed = format!("{token:?} {code:?} {password:?}");
        assert_eq!(printed, "Token(…) RecoveryCode(…) Password(…)");
    }
}
