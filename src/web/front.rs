//! The front page: one field for an address.

use actix_web::web;
use askama::Template;

use super::error::WebError;
use super::forms::{Field, Form};
use super::frame::{Answer, Frame, form_again, page, see_other};
use super::session::Visitor;
use super::{follow, get_or_head, only, parts};
use crate::site::SiteUrl;

/// The first page, and where its form goes.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(only(
            web::resource("/").route(get_or_head(front)),
            "GET, HEAD",
        ))
        .service(only(
            web::resource("/sites").route(web::post().to(add)),
            "POST",
        ));
}

#[derive(Template)]
#[template(path = "front/front.html")]
struct FrontPage {
    frame: Frame,
    url: Field,
    may_add: bool,
}

impl FrontPage {
    fn new(visitor: &Visitor, url: Field) -> FrontPage {
        FrontPage {
            frame: visitor.frame(),
            url,
            may_add: visitor.service().visitors_add,
        }
    }
}

async fn front(visitor: Visitor) -> Answer {
    page(&FrontPage::new(&visitor, Field::default()))
}

/// Leads to the page of a site, which is added and read if it is not known. Where somebody without an account may not add
/// sites, they still see what there is to be found.
async fn add(visitor: Visitor, form: Form) -> Answer {
    let service = visitor.service();
    let typed = match form.text("folder") {
        "" => form.text("url").to_owned(),
        folder => parts::folder(form.text("url"), folder),
    };
    let wrong = |error: &dyn std::fmt::Display| {
        form_again(&FrontPage::new(&visitor, Field::new(&typed).wrong(error)))
    };
    let site = match SiteUrl::parse(&typed) {
        Ok(site) => site,
        Err(error) => return wrong(&error),
    };
    if let Err(refusal) = service.fetcher.judge(site.url()) {
        return wrong(&refusal);
    }
    let known = service.store.find_site(&site).await?;
    let may_add = visitor.account().is_some() || service.visitors_add;
    // Whoever looks at an address may only want to look; whoever says that they follow it does.
    let follower = visitor.account().filter(|_| form.text("follow") == "1");
    let id = match known {
        Some(id) => id,
        None if may_add => {
            if let Some(account) = follower {
                // Before anything is added that nobody would follow.
                service.may_follow(account, 1).await?;
            }
            visitor.look_up()?;
            let (id, is_new) = service.store.add_site(site, (service.clock)()).await?;
            if is_new {
                service.scheduler.wake();
            }
            id
        }
        None => {
            return see_other(
                service
                    .paths
                    .local(&service.paths.report(site.url().as_str())),
            );
        }
    };
    let row = service.store.site(id).await?;
    let row = row.ok_or(WebError::NotFound("site"))?;
    if let Some(account) = follower {
        follow::follow_as(&visitor, account, &row, None).await?;
    }
    see_other(service.paths.local(&service.paths.site(&row.slug)))
}
