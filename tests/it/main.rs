//! What Sitebell does, seen from outside.
#![allow(clippy::unwrap_used)] // A test that cannot go on should say where.

mod accounts; // the way in and out: sign up, sign in, sign out, recover
mod admin; // what those see and do who run the instance
mod any_document; // documents of every kind, made up for the properties
mod api; // the JSON API
mod ask; // a client that shows every byte
mod bombs; // documents that would fill the memory
mod browser; // the pages in a real browser
mod command_line; // the program itself: what it prints, and how it ends
mod crashing; // the real program, killed again and again
mod demo; // the sample site that keeps changing
mod den; // a small site with everything in its place
mod disguise; // the same document in other XML
mod doors; // every route, as nobody, as somebody else and as an admin
mod fake_site; // a website on loopback, told what to serve
mod feeds; // what feed readers get
mod fetching; // requests: where they go, how politely, and what comes back
mod following; // a followed site: every change is announced once
mod handbook; // our own pages, which can be followed
mod histories; // any history of a site, against a model of what must be announced
mod hostile; // documents that were made to do harm
mod layout; // which part of the source may use which, and what the README promises
mod listing; // sites that list their pages: what becomes of two lists
mod lists; // lists of pages in every format
mod names; // resolvers
mod naming; // what changed pages are called
mod operating; // what programs of the operator are told
mod parts; // sitemaps and folders of a site, followed by themselves
mod person; // somebody with cookies who fills in forms
mod pinging; // authors who tell that their site has changed
mod properties; // what holds for any document: written and read back, disguised, cut off, mutilated
mod publishing; // the author's side: folders that become followable
mod reading; // reads a document and keeps everything that comes out
mod reporting; // the report for authors, and what they take from it
mod rounds; // sites of which nothing is new
mod rules; // proposal IFCC-0001, rule by rule
mod scheduling; // what is due is read in good time
mod settings; // what is one's own, and how it is changed
mod storing; // what is kept, and what becomes of it
mod sweep; // every document in tests/data against its stored expectation
mod throttling; // too much of something is answered with when to come back
mod visiting; // pages without scripts: looking, following, the timeline, lists
mod walking; // one check of a site, from what was typed to its changes
mod world; // the whole service with a clock of its own
