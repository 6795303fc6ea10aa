//! What an account follows. Nobody sees or touches what is another's.

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use url::Url;

use super::input::Json;
use super::shapes::{
    NewSubscription, PrivateFeed, ProblemDetails, SubscriptionShape, Subscriptions,
};
use super::sites::find;
use crate::account::{Subscription, SubscriptionId};
use crate::site::SiteId;
use crate::web::Data;
use crate::web::auth::{Caller, Reader, Writer};
use crate::web::error::WebError;
use crate::web::feeds::{self, Source};

type Answer = Result<HttpResponse, WebError>;

/// Everything that the account follows.
#[utoipa::path(get, path = "/subscriptions", operation_id = "list_subscriptions", tag = "subscriptions", security(("token" = [])), responses(
    (status = 200, description = "All of them", body = Subscriptions),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn list(service: Data, reader: Reader) -> Answer {
    let mut subscriptions = Vec::new();
    for subscription in service.store.subscriptions(reader.0.account.id).await? {
        subscriptions.push(shape(&service, subscription).await?);
    }
    Ok(HttpResponse::Ok().json(Subscriptions { subscriptions }))
}

/// Follows a site, or one collection of it. Doing it again gives the same subscription.
#[utoipa::path(post, path = "/subscriptions", operation_id = "add_subscription", tag = "subscriptions", request_body = NewSubscription,
    security(("token" = [])), responses(
    (status = 201, description = "Followed from now on", body = SubscriptionShape),
    (status = 200, description = "Followed already", body = SubscriptionShape),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn add(service: Data, writer: Writer, body: Json<NewSubscription>) -> Answer {
    let site = find(&service, SiteId(body.0.site)).await?;
    let collection = match &body.0.collection {
        None => None,
        Some(id) => {
            let id = Url::parse(id).map_err(|_| WebError::NotFound("collection"))?;
            let found = service.store.collection(site.id, &id).await?;
            Some(found.ok_or(WebError::NotFound("collection"))?)
        }
    };
    let account = &writer.0.account;
    let (id, is_new) = service.follow(account, site.id, collection).await?;
    service.feeds.changed(Source::Account(account.id));
    let mut response = match is_new {
        true => HttpResponse::Created(),
        false => HttpResponse::Ok(),
    };
    let subscription = own(&service, &writer.0, id).await?;
    Ok(response
        .insert_header((header::LOCATION, service.paths.api_subscription(id.0)))
        .json(SubscriptionShape::new(subscription, Some(&site))))
}

/// Gives the account's private feed a new address; the one from before is dead.
#[utoipa::path(post, path = "/feed-key", operation_id = "renew_feed_key", tag = "subscriptions",
    security(("token" = [])), responses(
    (status = 201, description = "The address, which is shown only now", body = PrivateFeed),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn renew_feed_key(service: Data, writer: Writer) -> Answer {
    let feed_url = feeds::renew(&service, writer.0.account.id).await?;
    Ok(HttpResponse::Created()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(PrivateFeed { feed_url }))
}

/// A subscription of the account.
#[utoipa::path(get, path = "/subscriptions/{subscription}", operation_id = "show_subscription", tag = "subscriptions",
    params(("subscription" = i64, Path, description = "Its number")), security(("token" = [])), responses(
    (status = 200, description = "The subscription", body = SubscriptionShape),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn show(service: Data, reader: Reader, id: web::Path<i64>) -> Answer {
    let subscription = own(&service, &reader.0, SubscriptionId(*id)).await?;
    Ok(HttpResponse::Ok().json(shape(&service, subscription).await?))
}

/// Ends a subscription of the account.
#[utoipa::path(delete, path = "/subscriptions/{subscription}", operation_id = "remove_subscription", tag = "subscriptions",
    params(("subscription" = i64, Path, description = "Its number")), security(("token" = [])), responses(
    (status = 204, description = "Not followed any more"),
    (status = "4XX", description = "Refused", body = ProblemDetails, content_type = "application/problem+json"),
))]
pub async fn remove(service: Data, writer: Writer, id: web::Path<i64>) -> Answer {
    let account = writer.0.account.id;
    match (service.store)
        .unsubscribe(account, SubscriptionId(*id), (service.clock)())
        .await?
    {
        true => {
            service.feeds.changed(Source::Account(account));
            Ok(HttpResponse::NoContent().finish())
        }
        false => Err(WebError::NotFound("subscription")),
    }
}

async fn own(
    service: &Data,
    caller: &Caller,
    id: SubscriptionId,
) -> Result<Subscription, WebError> {
    let all = service.store.subscriptions(caller.account.id).await?;
    let found = all.into_iter().find(|subscription| subscription.id == id);
    found.ok_or(WebError::NotFound("subscription"))
}

async fn shape(service: &Data, subscription: Subscription) -> Result<SubscriptionShape, WebError> {
    let site = service.store.site(subscription.site).await?;
    Ok(SubscriptionShape::new(subscription, site.as_ref()))
}
