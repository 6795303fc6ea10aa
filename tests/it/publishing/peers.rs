//! Other people's programs read what is published.

use std::path::Path;
use std::process::Command;

use super::Author;

#[tokio::test]
async fn the_resync_library_reads_every_list() {
    let mut author = Author::with_nothing();
    for page in 0..600 {
        author.page(&format!("p{page}.html"), "words");
    }
    author.publish();
    author.order.notes = sitebell::publish::notes::Notes::general("Redrew the vixen");
    author.page("a & b.html", "new");
    author.page("p7.html", "other words");
    author.remove("p8.html");
    author.publish();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(root.join("target/readers/bin/python"))
        .arg(root.join("tests/it/publishing/read_with_resync.py"))
        .arg(author.path(""))
        .output()
        .expect("tests/run installs the resync library");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let site = &author.order.site;
    let index = site.address("sitebell/changelist-index.xml");
    assert_eq!(lines[0], format!("capabilitylist changelist {index}"));
    assert_eq!(lines.len(), 1 + 600 + 3);
    let at = author.now.format("%FT%TZ");
    let told =
        |kind: &str, page: &str| format!("changelist.xml {kind} {} {at}", site.address(page));
    assert_eq!(
        lines[601..],
        [
            told("created", "a%20&%20b.html"),
            told("updated", "p7.html"),
            told("deleted", "p8.html")
        ]
    );
}
