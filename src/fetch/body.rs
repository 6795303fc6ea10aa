//! A response body on its way: read once, while it arrives, and held to its limits.
//!
//! A body is whole or an error: if the transfer breaks, runs out of time, grows too large or does not decompress, then
//! [`Body::read_with`] fails, whatever the parser made of the part it saw. A parser that stops early on its own (it met
//! a fatal error in the document) is no failure of the body, and the rest is not read.
//!
//! The one rule: a body holds its host's turn, and its time is running since the request was made. So read it (or drop
//! it) at once, and before asking the same host for anything else.

use std::io::BufRead;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::decode::{self, Bounds, Coding, Fault, GZIP_MAGIC, Piece};
use super::errand::Errand;
use super::error::{FetchError, Slowness};
use super::pace::Slot;

/// So much is collected before a parser starts: most documents are smaller and need no thread of their own.
const SMALL_BODY: usize = 65_536;

/// Chunks on their way to the parser; with the 8 to 64 KiB that the client reads at once, well below 1 MiB.
const CHUNKS_AHEAD: usize = 8;

/// A body that does not compress may be a little larger on the wire than decoded.
const WIRE_SLACK: u64 = 65_536;

/// How much was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BodyStats {
    /// Bytes as they came over the network.
    pub wire_bytes: u64,
    /// Bytes after decompression.
    pub decoded_bytes: u64,
}

/// What a body is held to.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimits {
    /// As it comes over the network.
    pub(super) max_wire_bytes: u64,
    /// Decoded.
    pub(super) decoded: Bounds,
    pub(super) idle: Duration,
    /// The whole time that the request may take, for the error's sentence, and when it ends.
    pub(super) total: Duration,
    pub(super) deadline: Instant,
}

/// A response body that was not read yet.
#[derive(Debug)]
pub struct Body {
    response: Box<reqwest::Response>,
    url: String,
    coding: Coding,
    limits: BodyLimits,
    wire_bytes: u64,
    errand: Errand,
    _slot: Slot,
}

impl Body {
    pub(super) fn new(
        response: reqwest::Response,
        coding: Coding,
        limits: BodyLimits,
        slot: Slot,
        errand: Errand,
    ) -> Result<Self, FetchError> {
        let url = response.url().to_string();
        let body = Self {
            response: Box::new(response),
            url,
            coding,
            limits,
            wire_bytes: 0,
            errand,
            _slot: slot,
        };
        // The length is only believed when it is bad news.
        match body.response.content_length() {
            Some(length) if length > body.max_wire_bytes() => Err(body.too_large_to_come()),
            _ => Ok(body),
        }
    }

    /// Lets `parse` read the decoded bytes while they arrive, and returns what it made of them.
    ///
    /// A body that is small and not compressed is parsed in place; all others on a thread for blocking work, because
    /// 64 KiB can become 50 MiB. Dropping the future ends the thread: its next read fails.
    pub async fn read_with<T, F>(mut self, parse: F) -> Result<(T, BodyStats), FetchError>
    where
        F: FnOnce(&mut dyn BufRead) -> T + Send + 'static,
        T: Send + 'static,
    {
        // A small document mostly comes in one piece, and is read where it is.
        let mut first = Bytes::new();
        let mut at_end = false;
        while !at_end && first.len() < SMALL_BODY {
            match self.chunk().await? {
                Some(chunk) if first.is_empty() => first = chunk,
                Some(chunk) => {
                    let mut both = BytesMut::from(first);
                    both.extend_from_slice(&chunk);
                    first = both.freeze();
                }
                None => at_end = true,
            }
        }
        let (coding, bounds) = (self.coding, self.limits.decoded);
        let is_plain = coding == Coding::Identity && !first.starts_with(&GZIP_MAGIC);
        let outcome = if at_end && is_plain {
            catch_unwind(AssertUnwindSafe(|| {
                decode::read_plain(&first, bounds.max_bytes, parse)
            }))
            .ok()
        } else {
            let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
            let task = tokio::task::spawn_blocking(move || {
                decode::read(first, Some(receiver), coding, bounds, parse)
            });
            let fed = self.feed(sender, at_end).await;
            let outcome = task.await.ok();
            // The failed transfer is the cause of whatever the parser met.
            fed?;
            outcome
        };
        match outcome {
            Some(Ok((value, decoded_bytes))) => Ok((
                value,
                BodyStats {
                    wire_bytes: self.wire_bytes,
                    decoded_bytes,
                },
            )),
            Some(Err(fault)) => Err(self.fault(fault)),
            None => Err(FetchError::ReaderPanicked { url: self.url }),
        }
    }

    /// The whole body, decoded. For small ones: a document is better read as a stream.
    pub async fn bytes(self) -> Result<(Vec<u8>, BodyStats), FetchError> {
        self.read_with(|reader| {
            let mut bytes = Vec::new();
            // An error here is a fault of the body, and comes back as such.
            let _ = reader.read_to_end(&mut bytes);
            bytes
        })
        .await
    }

    /// Hands chunks to the parser until the end, or until it wants no more.
    async fn feed(
        &mut self,
        sender: mpsc::Sender<Piece>,
        mut at_end: bool,
    ) -> Result<(), FetchError> {
        while !at_end {
            let chunk = tokio::select! {
                biased;
                () = sender.closed() => return Ok(()),
                chunk = self.chunk() => chunk?,
            };
            at_end = chunk.is_none();
            let Some(chunk) = chunk else { break };
            if sender.send(Piece::Bytes(chunk)).await.is_err() {
                return Ok(());
            }
        }
        // Nobody is there to hear it if the parser has finished early, which is fine.
        let _ = sender.send(Piece::End).await;
        Ok(())
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, FetchError> {
        let BodyLimits {
            idle,
            total,
            deadline,
            ..
        } = self.limits;
        let silence_ends = Instant::now() + idle;
        let chunk = match timeout_at(silence_ends.min(deadline), self.response.chunk()).await {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(error)) => {
                return Err(FetchError::Broken {
                    url: self.url.clone(),
                    source: error.without_url().into(),
                });
            }
            Err(_) => {
                let which = if deadline <= silence_ends {
                    Slowness::Total(total)
                } else {
                    Slowness::Silence(idle)
                };
                return Err(FetchError::Timeout {
                    host: self
                        .response
                        .url()
                        .host_str()
                        .unwrap_or_default()
                        .to_owned(),
                    which,
                });
            }
        };
        let length = chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        self.wire_bytes += length;
        if !self.errand.count_bytes(length) {
            return Err(FetchError::OverBudget {
                limit: self.errand.max_bytes(),
            });
        }
        if self.wire_bytes > self.max_wire_bytes() {
            return Err(self.too_large_to_come());
        }
        Ok(chunk)
    }

    fn max_wire_bytes(&self) -> u64 {
        self.limits.max_wire_bytes.saturating_add(WIRE_SLACK)
    }

    fn too_large_to_come(&self) -> FetchError {
        self.too_large(self.limits.max_wire_bytes)
    }

    fn too_large(&self, limit: u64) -> FetchError {
        FetchError::TooLarge {
            url: self.url.clone(),
            limit,
        }
    }

    fn fault(self, fault: Fault) -> FetchError {
        match fault {
            Fault::TooLarge => self.too_large(self.limits.decoded.max_bytes),
            Fault::Coding(reason) => FetchError::Encoding {
                url: self.url,
                reason,
            },
            Fault::Transfer => FetchError::Broken {
                url: self.url,
                source: "the transfer was given up".into(),
            },
        }
    }
}
