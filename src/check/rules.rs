//! The rules that a site was held against, and which of them it keeps: what an author has done right is worth telling too.
//!
//! Every code of a problem breaks exactly one of the rules here.

use crate::problem::{
    Code::{self, *},
    Problem, Severity,
};
use crate::read::list::READERS;
use crate::site::Format;

/// A rule, and how a site kept it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// What should hold, as a sentence.
    pub rule: &'static str,
    /// The worst way in which it does not; none if it does.
    pub broken: Option<Severity>,
}

/// For whom a rule is made.
#[derive(Clone, Copy)]
enum For {
    Everybody,
    /// Sites that tell their changes.
    Logs,
    /// Sites that list their pages.
    Lists,
    /// Sites in this format.
    Only(Format),
}

#[derive(Clone, Copy)]
struct Rule {
    sentence: &'static str,
    made_for: For,
    codes: &'static [Code],
}

/// In the order of reading a site.
const RULES: &[Rule] = &[
    Rule {
        sentence: "Its description is where readers look for it, and tells its changes.",
        made_for: For::Everybody,
        codes: &[NotFound, NotWellKnown, OnlyAList],
    },
    Rule {
        sentence: "Every document can be fetched.",
        made_for: For::Everybody,
        codes: &[
            Unreachable,
            HttpError,
            ForbiddenAddress,
            TooLarge,
            LimitReached,
            BadCompression,
        ],
    },
    Rule {
        sentence: "Every document is well-formed, whole, and in UTF-8.",
        made_for: For::Everybody,
        codes: &[
            NotXml,
            CutOff,
            Malformed,
            BareAmpersand,
            Doctype,
            UnknownPrefix,
            BadEncoding,
            NotUtf8,
            TooComplex,
            BadJson,
            BadYaml,
        ],
    },
    Rule {
        sentence: "Every document says what it is, in the words of ResourceSync 1.1.",
        made_for: For::Logs,
        codes: &[
            WrongNamespace,
            WrongRsNamespace,
            WrongRoot,
            NoCapability,
            WrongCapability,
            OldRoot,
            OldUp,
            OldModified,
            OldCapability,
        ],
    },
    Rule {
        sentence: "The description leads to the collections.",
        made_for: For::Logs,
        codes: &[
            NoCollections,
            EntryWithoutCapability,
            UnexpectedEntry,
            NoDescribesInDescription,
        ],
    },
    Rule {
        sentence: "Every collection has an address of its own.",
        made_for: For::Logs,
        codes: &[
            NoDescribes,
            DescribesConflict,
            DuplicateCollection,
            ForeignCollection,
        ],
    },
    Rule {
        sentence: "Titles and authors are told.",
        made_for: For::Logs,
        codes: &[NoDescribedby, MetadataUnreadable],
    },
    Rule {
        sentence: "Every document names the one above it.",
        made_for: For::Logs,
        codes: &[NoUp, UpMismatch],
    },
    Rule {
        sentence: "Every collection has one Change List.",
        made_for: For::Logs,
        codes: &[NoChangeList, SeveralChangeLists],
    },
    Rule {
        sentence: "Change Lists say which time they cover, and leave no gap.",
        made_for: For::Logs,
        codes: &[NoFrom, BadSpan, UntilBeforeFrom, OutsideSpan, Gap],
    },
    Rule {
        sentence: "The open list is small, and closed ones are listed in an index.",
        made_for: For::Logs,
        codes: &[
            IndexEntryWithoutFrom,
            IndexUntilMismatch,
            NestedIndex,
            IndexAsUrlset,
            LargeChangeList,
            TooManyEntries,
        ],
    },
    Rule {
        sentence: "Every change says what happened and when, oldest first.",
        made_for: For::Logs,
        codes: &[
            NoMetadata,
            RepeatedMetadata,
            ConflictingMetadata,
            NoChange,
            UnknownChange,
            NoDatetime,
            BadDatetime,
            LeapSecond,
            LastmodAccepted,
            FutureDatetime,
            NotOldestFirst,
        ],
    },
    Rule {
        sentence: "Every entry names a page of the site by its whole address.",
        made_for: For::Everybody,
        codes: &[
            EntryNamespace,
            WrongEntryElement,
            NoLoc,
            SeveralLocs,
            BadLoc,
            RelativeLoc,
            BadLink,
            OffSitePages,
            ForeignPages,
        ],
    },
    Rule {
        sentence: "The list has the pages of the site.",
        made_for: For::Lists,
        codes: &[
            NotAList,
            SitemapNamespace,
            NestedSitemaps,
            SitemapTwice,
            EmptyList,
            SitemapsAsPages,
            BareSitemapEntry,
            NoWholeList,
            SectionGap,
            SectionOfAll,
            SectionTwice,
        ],
    },
    Rule {
        sentence: "Dates tell when a page really changed.",
        made_for: For::Lists,
        codes: &[LooseLastmod, BadLastmod, StampedLastmod, MassChange],
    },
];

/// All of them, with those that only one format has.
fn rules() -> impl Iterator<Item = Rule> {
    let of_formats = READERS.iter().filter_map(|reader| {
        let rule = reader.rule.as_ref()?;
        Some(Rule {
            sentence: rule.sentence,
            made_for: For::Only(reader.format),
            codes: rule.codes,
        })
    });
    RULES.iter().copied().chain(of_formats)
}

/// The rules that are made for a site in this format, and those that it breaks all the same. Of a site in which nothing
/// was found to follow, nothing can be said but what is missing.
pub fn judge(format: Option<Format>, problems: &[Problem]) -> Vec<Judged> {
    let judged = rules().filter_map(|rule| {
        let broken = problems
            .iter()
            .filter(|problem| rule.codes.contains(&problem.code))
            .map(Problem::severity)
            .max();
        let applies = format.is_some_and(|format| match rule.made_for {
            For::Everybody => true,
            For::Logs => format == Format::ResourceSync,
            For::Lists => format != Format::ResourceSync,
            For::Only(one) => format == one,
        });
        (applies || broken.is_some()).then_some(Judged {
            rule: rule.sentence,
            broken,
        })
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_breaks_exactly_one_rule() {
        for code in Code::ALL {
            let rules = rules().filter(|rule| rule.codes.contains(code));
            assert_eq!(rules.count(), 1, "{code}");
        }
    }

    #[test]
    fn a_site_is_held_against_the_rules_of_its_format() {
        let url = "https://fox.example/".parse().unwrap();
        let problems = [
            Problem::new(NoUp, &url, ""),
            Problem::new(LargeChangeList, &url, ""),
            Problem::new(IndexUntilMismatch, &url, ""),
        ];
        let broken = |judged: Vec<Judged>| {
            let broken = judged.into_iter().filter_map(|one| one.broken);
            broken.collect::<Vec<_>>()
        };
        let judged = judge(Some(Format::ResourceSync), &problems);
        assert_eq!(judged.len(), 13);
        assert_eq!(broken(judged), [Severity::Warning, Severity::Warning]);
        assert_eq!(judge(Some(Format::Sitemap), &[]).len(), 6);
        assert_eq!(judge(Some(Format::Scp), &[]).len(), 7);
        assert_eq!(judge(None, &[]), []);
        let nothing = [Problem::new(NotFound, &url, "")];
        assert_eq!(broken(judge(None, &nothing)), [Severity::Error]);
    }
}
