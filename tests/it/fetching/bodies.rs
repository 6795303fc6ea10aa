//! What comes back: whole or an error, in every coding, at every speed.

use std::io::Read;
use std::sync::mpsc;

use super::*;
use sitebell::fetch::BodyStats;

const GIB: u64 = 1 << 30;

async fn bytes(reply: Reply) -> Result<(Vec<u8>, BodyStats), FetchError> {
    bytes_with(settings(), reply).await
}

async fn bytes_with(
    settings: FetchSettings,
    reply: Reply,
) -> Result<(Vec<u8>, BodyStats), FetchError> {
    let site = FakeSite::start();
    site.serve("/", reply);
    let fetched = Fetcher::new(settings)
        .unwrap()
        .get(document(site.url("/")))
        .await?;
    fetched.answer.into_body().unwrap().bytes().await
}

fn sample(size: usize) -> Vec<u8> {
    (0..size).map(|number| b'a' + (number % 23) as u8).collect()
}

fn coded(coding: &str, body: &[u8]) -> Reply {
    Reply::xml(body).header("Content-Encoding", coding)
}

fn brotli(reader: &mut impl Read) -> Vec<u8> {
    let mut out = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: 1,
        ..Default::default()
    };
    brotli::BrotliCompress(reader, &mut out, &parameters).unwrap();
    out
}

#[tokio::test]
async fn small_and_large_bodies_come_whole_however_they_are_sent() {
    for size in [0, 1, 65_535, 65_536, 65_537, 3_000_000] {
        let body = sample(size);
        for reply in [
            Reply::xml(body.clone()),
            Reply::xml(body.clone()).chunked(),
            Reply::xml(body.clone()).without_length(),
            Reply::xml(body.clone()).gzip(),
            coded("zstd", &zstd::encode_all(&body[..], 1).unwrap()),
            coded("br", &brotli(&mut &body[..])),
        ] {
            let (found, stats) = bytes(reply).await.unwrap();
            assert!(found == body, "{size} bytes");
            assert_eq!(stats.decoded_bytes, size as u64);
        }
    }
}

#[tokio::test]
async fn a_gzip_file_is_opened_whatever_the_server_calls_it() {
    let body = sample(100_000);
    let file = zipped(&body);
    let served = Reply::new(200, "application/gzip", file.clone());
    assert!(bytes(served.clone()).await.unwrap().0 == body);
    assert!(
        bytes(served.gzip()).await.unwrap().0 == body,
        "compressed on the way as well"
    );
    let (_, stats) = bytes(Reply::xml(file.clone())).await.unwrap();
    assert_eq!(
        stats,
        BodyStats {
            wire_bytes: file.len() as u64,
            decoded_bytes: 100_000
        }
    );
}

fn zipped(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    flate2::read::GzEncoder::new(body, flate2::Compression::best())
        .read_to_end(&mut out)
        .unwrap();
    out
}

#[tokio::test]
async fn a_body_that_breaks_off_is_never_a_document() {
    for size in [100, 500_000] {
        for reply in [
            Reply::xml(sample(size)).cut_after(size - 1),
            Reply::xml(sample(size)).cut_after(0),
            Reply::xml(sample(size)).bad_chunk(),
            Reply::xml(sample(size)).gzip().bad_chunk(),
        ] {
            let error = bytes(reply).await.unwrap_err();
            assert!(matches!(error, FetchError::Broken { .. }), "{error:?}");
            assert!(error.is_temporary());
        }
    }
}

#[tokio::test]
async fn what_cannot_be_decoded_is_an_error_that_says_so() {
    let body = sample(200_000);
    let mut cut = zipped(&body);
    cut.pop();
    for reply in [
        coded("gzip, gzip", &zipped(&zipped(&body))),
        Reply::xml(zipped(&body))
            .header("Content-Encoding", "gzip")
            .header("Content-Encoding", "gzip"),
        coded("compress", &body),
        coded("gzip", &body),
        coded("br", &body),
        coded("zstd", &body),
        coded("deflate", b"\xff\xff\xff\xff"),
        coded("gzip", &cut),
        Reply::xml(cut.clone()),
    ] {
        let error = bytes(reply).await.unwrap_err();
        assert!(matches!(error, FetchError::Encoding { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_an_error_and_one_at_the_limit_is_not() {
    let limited = || FetchSettings {
        max_document_bytes: 100_000,
        ..settings()
    };
    for (size, fits) in [(100_000, true), (100_001, false), (300_000, false)] {
        for reply in [
            Reply::xml(sample(size)),
            Reply::xml(sample(size)).chunked(),
            Reply::xml(sample(size)).gzip(),
        ] {
            match bytes_with(limited(), reply).await {
                Ok((found, _)) => assert!(fits && found.len() == size),
                Err(error) => {
                    assert!(
                        !fits && matches!(error, FetchError::TooLarge { limit: 100_000, .. }),
                        "{size}: {error:?}"
                    );
                }
            }
        }
    }
    let error = bytes_with(limited(), Reply::xml(sample(1_000)).endless())
        .await
        .unwrap_err();
    assert!(matches!(error, FetchError::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn other_things_have_a_smaller_limit_than_documents() {
    let site = FakeSite::start();
    site.serve("/", Reply::html(sample((1 << 20) + 1)));
    let request = |limit| Request::new(site.url("/"), limit);
    let fetched = fetcher().get(request(Limit::Document)).await.unwrap();
    assert!(fetched.answer.into_body().unwrap().bytes().await.is_ok());
    let fetched = fetcher().get(request(Limit::Other)).await.unwrap();
    let error = fetched
        .answer
        .into_body()
        .unwrap()
        .bytes()
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            FetchError::TooLarge {
                limit: 1_048_576,
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_gibibyte_in_a_mebibyte_is_cut_at_the_limit() {
    let eight_mib = vec![0; 8 << 20];
    let bombs = [
        ("gzip", zipped(&eight_mib).repeat(128)),
        (
            "zstd",
            zstd::encode_all(&eight_mib[..], 1).unwrap().repeat(128),
        ),
        ("br", brotli(&mut std::io::repeat(0).take(GIB))),
        ("gzip", zipped(&zipped(&eight_mib).repeat(128))),
    ];
    for (coding, bomb) in bombs {
        assert!(bomb.len() < 6 << 20, "{coding}: {} bytes", bomb.len());
        let site = FakeSite::start();
        site.serve("/", coded(coding, &bomb));
        let fetched = fetcher().get(document(site.url("/"))).await.unwrap();
        let (sender, receiver) = mpsc::channel();
        let read = fetched
            .answer
            .into_body()
            .unwrap()
            .read_with(move |reader| {
                let mut seen = 0;
                while let Ok(buffer) = reader.fill_buf()
                    && !buffer.is_empty()
                {
                    let count = buffer.len();
                    seen += count as u64;
                    assert!(count <= 1 << 20, "memory stays flat");
                    reader.consume(count);
                }
                sender.send(seen).unwrap();
            });
        let error = read.await.unwrap_err();
        assert!(
            matches!(
                error,
                FetchError::TooLarge {
                    limit: 52_428_800,
                    ..
                }
            ),
            "{coding}: {error:?}"
        );
        assert!(receiver.recv().unwrap() <= 52_428_800);
    }
}

#[tokio::test]
async fn silence_in_the_middle_of_a_body_is_given_up() {
    let settings = FetchSettings {
        idle_timeout: Duration::from_millis(100),
        ..settings()
    };
    for size in [1_000, 300_000] {
        let error = bytes_with(
            settings.clone(),
            Reply::xml(sample(size)).stall_after(size - 10),
        )
        .await
        .unwrap_err();
        assert!(
            matches!(
                error,
                FetchError::Timeout {
                    which: Slowness::Silence(_),
                    ..
                }
            ),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_body_that_drips_is_given_up_after_the_whole_time() {
    let settings = FetchSettings {
        total_timeout: Duration::from_millis(300),
        ..settings()
    };
    let drip = Reply::xml(sample(100_000)).drip(1, Duration::from_millis(5));
    let error = bytes_with(settings, drip).await.unwrap_err();
    assert!(
        matches!(
            error,
            FetchError::Timeout {
                which: Slowness::Total(_),
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_document_is_parsed_while_it_arrives() {
    let site = FakeSite::start();
    site.serve("/", Reply::xml(sample(200_000)).stall_after(150_000));
    let fetched = fetcher().get(document(site.url("/"))).await.unwrap();
    let (start, _) = fetched
        .answer
        .into_body()
        .unwrap()
        .read_with(|reader| {
            let mut start = vec![0; 100_000];
            reader.read_exact(&mut start).map(|()| start)
        })
        .await
        .expect("a parser that stops early is no error, and does not wait for the rest");
    assert!(start.unwrap() == sample(100_000));
}

#[tokio::test]
async fn a_failed_transfer_wins_over_what_the_parser_made_of_it() {
    let site = FakeSite::start();
    site.serve("/", Reply::xml(sample(200_000)).cut_after(199_999));
    let fetched = fetcher().get(document(site.url("/"))).await.unwrap();
    let read = fetched.answer.into_body().unwrap().read_with(|reader| {
        let mut all = Vec::new();
        let _ = reader.read_to_end(&mut all);
        "all is well"
    });
    assert!(matches!(read.await.unwrap_err(), FetchError::Broken { .. }));
}

#[tokio::test]
async fn a_parser_that_panics_is_an_error_and_nothing_more() {
    for size in [10, 200_000] {
        let site = FakeSite::start();
        site.serve("/", Reply::xml(sample(size)));
        let fetcher = fetcher();
        let fetched = fetcher.get(document(site.url("/"))).await.unwrap();
        let read = fetched
            .answer
            .into_body()
            .unwrap()
            .read_with(|_| -> () { panic!("a bug in the parser") });
        assert!(matches!(
            read.await.unwrap_err(),
            FetchError::ReaderPanicked { .. }
        ));
        assert!(
            fetcher.get(document(site.url("/"))).await.is_ok(),
            "the host's turn is given back"
        );
    }
}

#[tokio::test]
async fn dropping_the_request_ends_the_parser() {
    let site = FakeSite::start();
    site.serve("/", Reply::xml(sample(200_000)).stall_after(100_000));
    let fetched = fetcher().get(document(site.url("/"))).await.unwrap();
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let body = fetched.answer.into_body().unwrap();
    let reading = tokio::spawn(body.read_with(move |reader| {
        sender.send("started").unwrap();
        assert!(
            reader.read_to_end(&mut Vec::new()).is_err(),
            "a document that was given up is not whole"
        );
        sender.send("ended").unwrap();
    }));
    assert_eq!(receiver.recv().await, Some("started"));
    reading.abort();
    assert_eq!(receiver.recv().await, Some("ended"));
}
