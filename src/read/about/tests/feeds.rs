//! Atom and RSS.

use super::*;

#[test]
fn an_atom_feed_describes_itself() {
    let about = about(
        "<?xml version='1.0'?><a:feed xmlns:a='http://www.w3.org/2005/Atom' xml:lang='en'>
         <a:title type='html'>Fox &amp;amp; &lt;b>Den&lt;/b></a:title>
         <a:subtitle type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>A <i>red</i> one</div></a:subtitle>
         <a:author><a:name>Ann</a:name><a:email>ann@example.com</a:email></a:author>
         <a:author><a:name>Bea</a:name></a:author>
         <a:rights>CC0</a:rights>
         <a:entry><a:title>One</a:title><a:author><a:name>Cat</a:name></a:author></a:entry></a:feed>",
    );
    let expected = About {
        title: Some("Fox & Den".into()),
        description: Some("A red one".into()),
        authors: vec!["Ann".into(), "Bea".into()],
        rights: Some("CC0".into()),
        language: Some("en".into()),
    };
    assert_eq!(about, expected);
}

#[test]
fn an_atom_title_of_plain_text_keeps_its_angle_brackets() {
    assert_eq!(
        title("<feed xmlns='http://www.w3.org/2005/Atom'><title>The &lt;b> tag</title></feed>"),
        "The <b> tag"
    );
}

#[test]
fn an_empty_feed_is_empty() {
    assert!(about("<feed xmlns='http://www.w3.org/2005/Atom'/>").is_empty());
    assert!(about("<rss><channel/></rss>").is_empty());
}

#[test]
fn an_rss_channel_describes_itself() {
    let about = about(
        "<rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/'><channel>
         <title>Fox &amp;amp; Den</title><description><![CDATA[<p>All</p><p>foxes</p>]]></description>
         <managingEditor>ann@example.com (Ann)</managingEditor><dc:creator>Bea</dc:creator>
         <copyright>CC0</copyright><language>en-us</language>
         <item><title>One</title></item></channel></rss>",
    );
    let expected = About {
        title: Some("Fox & Den".into()),
        description: Some("All foxes".into()),
        authors: vec!["Ann".into(), "Bea".into()],
        rights: Some("CC0".into()),
        language: Some("en-us".into()),
    };
    assert_eq!(about, expected);
}

#[test]
fn an_e_mail_address_is_not_an_author() {
    let channel =
        |editor| format!("<rss><channel><managingEditor>{editor}</managingEditor></channel></rss>");
    assert!(about(&channel("ann@example.com")).authors.is_empty());
    assert_eq!(about(&channel("Ann")).authors, ["Ann"]);
}
