//! One check of a site, from what was typed to its changes.

mod bounds; // how much one check takes, whatever a site offers
mod canaries; // where no document may lead
mod damage; // what broken documents cost
mod discovery; // from what was typed to the root document
mod identities; // which collection is which, and whose
mod indexes; // lists of lists
mod shared_hosts; // a page that speaks for itself on a host of many
mod steps; // the steps of the proposal
mod titles; // what sites and collections are called
