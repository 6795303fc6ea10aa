//! Every coding: whole, cut, broken, doubled, too large.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::*;

const LIMIT: u64 = 1 << 20;

fn up_to(max_bytes: u64) -> Bounds {
    Bounds {
        max_bytes,
        max_ratio: None,
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &bytes[..], &mut out, &Default::default()).unwrap();
    out
}

fn sample() -> Vec<u8> {
    (0..2_000)
        .flat_map(|number| format!("<loc>https://example.org/{number}</loc>\n").into_bytes())
        .collect()
}

fn decode_limited(coding: Coding, bytes: &[u8], limit: u64) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    read(
        Bytes::copy_from_slice(bytes),
        None,
        coding,
        up_to(limit),
        move |reader| {
            // The error is thrown away on purpose: the fault must win all the same.
            let _ = reader.read_to_end(&mut out);
            out
        },
    )
    .map(|(out, count)| {
        assert_eq!(out.len() as u64, count);
        out
    })
}

fn decode(coding: Coding, bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    decode_limited(coding, bytes, LIMIT)
}

fn all(bytes: &[u8]) -> [(&'static str, Coding, Vec<u8>); 6] {
    [
        ("gzip", Coding::Gzip, gzip(bytes)),
        ("zlib", Coding::Deflate, zlib(bytes)),
        ("raw deflate", Coding::Deflate, raw_deflate(bytes)),
        ("brotli", Coding::Brotli, brotli(bytes)),
        ("zstd", Coding::Zstd, zstd(bytes)),
        ("gzip file", Coding::Identity, gzip(bytes)),
    ]
}

#[test]
fn every_coding_is_undone() {
    for (name, coding, packed) in all(&sample()) {
        assert_eq!(decode(coding, &packed).unwrap(), sample(), "{name}");
    }
    for (name, coding, packed) in all(b"") {
        assert_eq!(decode(coding, &packed).unwrap(), b"", "{name} of nothing");
    }
    assert_eq!(decode(Coding::Identity, b"plain").unwrap(), b"plain");
}

#[test]
fn an_empty_body_is_empty_in_every_coding() {
    for coding in [
        Coding::Identity,
        Coding::Gzip,
        Coding::Deflate,
        Coding::Brotli,
        Coding::Zstd,
    ] {
        assert_eq!(decode(coding, b""), Ok(vec![]), "{coding:?}");
    }
}

#[test]
fn a_cut_body_is_never_a_whole_one() {
    for (name, coding, packed) in all(&sample()[..3_000]) {
        // From 2 on: what is left of a gzip file by then can still be told from plain text.
        for length in 2..packed.len() {
            let result = decode(coding, &packed[..length]);
            assert!(
                matches!(result, Err(Fault::Coding(_))),
                "{name} cut at {length}: {result:?}"
            );
        }
    }
}

#[test]
fn a_flipped_byte_in_gzip_is_found() {
    let packed = gzip(&sample());
    for place in [12, packed.len() / 2, packed.len() - 5] {
        let mut broken = packed.clone();
        broken[place] ^= 0xff;
        assert!(
            matches!(decode(Coding::Gzip, &broken), Err(Fault::Coding(_))),
            "{place}"
        );
    }
}

#[test]
fn gzip_may_have_several_members_and_junk_after_them() {
    let joined = [gzip(b"one "), gzip(b"two "), gzip(b""), gzip(b"three")].concat();
    assert_eq!(decode(Coding::Gzip, &joined).unwrap(), b"one two three");
    for junk in [&b"\0\0\0\0"[..], b"junk", b"\x1f", b"\x1f\0"] {
        let with_junk = [&joined[..], junk].concat();
        assert_eq!(decode(Coding::Gzip, &with_junk).unwrap(), b"one two three");
    }
    assert!(
        decode(Coding::Gzip, &[&joined[..], &GZIP_MAGIC].concat()).is_err(),
        "a cut member is not junk"
    );
}

#[test]
fn members_without_end_are_refused() {
    let endless = gzip(b"").repeat(MAX_MEMBERS as usize + 1);
    assert_eq!(
        decode(Coding::Gzip, &endless),
        Err(Fault::Coding("too many gzip members".into()))
    );
}

#[test]
fn a_gzip_file_inside_of_a_coding_is_undone_once_and_no_deeper() {
    let file = gzip(&sample());
    for packed in [gzip(&file), zlib(&file)] {
        let coding = if packed.starts_with(&GZIP_MAGIC) {
            Coding::Gzip
        } else {
            Coding::Deflate
        };
        assert_eq!(decode(coding, &packed).unwrap(), sample());
    }
    assert_eq!(
        decode(Coding::Gzip, &gzip(&gzip(&file))).unwrap(),
        file,
        "the third level stays closed"
    );
}

#[test]
fn the_limit_is_exact_in_every_coding() {
    let sample = sample();
    let size = sample.len() as u64;
    for (name, coding, packed) in
        all(&sample)
            .into_iter()
            .chain([("plain", Coding::Identity, sample.clone())])
    {
        assert!(decode_limited(coding, &packed, size).is_ok(), "{name}");
        assert_eq!(
            decode_limited(coding, &packed, size - 1),
            Err(Fault::TooLarge),
            "{name}"
        );
    }
}

#[test]
fn the_parser_is_stopped_at_the_limit() {
    let mut seen = 0;
    let packed = gzip(&vec![0; 64 << 20]);
    let result = read(packed.into(), None, Coding::Gzip, up_to(LIMIT), |reader| {
        while let Ok(buffer) = reader.fill_buf() {
            let count = buffer.len();
            assert!(count > 0, "the end was never reached");
            reader.consume(count);
            seen += count as u64;
        }
        assert!(reader.fill_buf().is_err(), "the fault stays");
    });
    assert_eq!(result, Err(Fault::TooLarge));
    assert!(seen <= LIMIT);
}

#[test]
fn where_a_ratio_holds_a_bomb_is_refused_as_soon_as_it_goes_off() {
    let bounds = Bounds {
        max_bytes: 64 << 20,
        max_ratio: Some(100),
    };
    let read_to_end = |coding: Coding, packed: Vec<u8>| {
        let mut seen = 0;
        let result = read(packed.into(), None, coding, bounds, |reader| {
            while let Ok(buffer @ [_, ..]) = reader.fill_buf() {
                let count = buffer.len();
                reader.consume(count);
                seen += count as u64;
            }
        });
        (result.map(|_| ()), seen)
    };
    let zeros = vec![0; 32 << 20];
    let twice = ("twice", Coding::Gzip, gzip(&gzip(&zeros)));
    for (name, coding, packed) in all(&zeros).into_iter().chain([twice]) {
        let (result, seen) = read_to_end(coding, packed);
        let Err(Fault::Coding(reason)) = result else {
            panic!("{name}: {result:?}")
        };
        assert!(reason.contains("100 to 1"), "{name}: {reason}");
        assert!(seen < 4 << 20, "{name}: {seen}");
    }
    for (name, coding, packed) in all(&sample()) {
        assert_eq!(read_to_end(coding, packed).0, Ok(()), "{name}");
    }
}

#[test]
fn a_zstd_window_beyond_eight_mebibytes_is_refused() {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(ZSTD_WINDOW_LOG + 1).unwrap();
    encoder.include_contentsize(false).unwrap();
    encoder.write_all(b"small").unwrap();
    encoder.flush().unwrap();
    let packed = encoder.finish().unwrap();
    assert!(matches!(
        decode(Coding::Zstd, &packed),
        Err(Fault::Coding(_))
    ));
}

#[test]
fn a_large_window_brotli_stream_is_refused() {
    // 0x11 starts the extension that lets the window grow to 1 GiB.
    assert!(matches!(
        decode(Coding::Brotli, &[0x11, 0x1e, 0x03, 0, 0, 0]),
        Err(Fault::Coding(_))
    ));
}

#[test]
fn a_parser_that_stops_early_is_no_fault() {
    let result = read(
        gzip(&sample()).into(),
        None,
        Coding::Gzip,
        up_to(LIMIT),
        |reader| {
            let mut start = [0; 5];
            reader.read_exact(&mut start).unwrap();
            start
        },
    );
    assert_eq!(&result.unwrap().0, b"<loc>");
}

#[test]
fn content_encoding_fields_are_read_in_all_their_forms() {
    let parse = |fields: &[&str]| Coding::parse(fields.iter().map(|field| field.as_bytes()));
    assert_eq!(parse(&[]), Ok(Coding::Identity));
    assert_eq!(parse(&["", "identity"]), Ok(Coding::Identity));
    assert_eq!(parse(&["GZip"]), Ok(Coding::Gzip));
    assert_eq!(parse(&["x-gzip, identity"]), Ok(Coding::Gzip));
    assert_eq!(parse(&["deflate"]), Ok(Coding::Deflate));
    assert_eq!(parse(&["br"]), Ok(Coding::Brotli));
    assert_eq!(parse(&["zstd"]), Ok(Coding::Zstd));
    for refused in [
        &["gzip, gzip"][..],
        &["gzip", "br"],
        &["compress"],
        &["gzip\u{7}"],
        &["utf-8"],
    ] {
        assert!(parse(refused).is_err(), "{refused:?}");
    }
}
