//! The next bundle in a rotation. New authorities of kube-scheduler are in use at once, because
//! only the server has to know them; an old one leaves last. kube-scheduler's file holds both its
//! authority and its certificate, so an old file fails first at the new serving certificate, not at
//! its own.

use std::sync::Arc;

use crate::rotation_plan as rotation;
use crate::rotation_plan::{Lifetime, Renewal, RotationRules, Validity};
use jiff::Timestamp;

use super::authority::SigningAuthority;
use super::bundle::{Bundle, new_authority, new_scheduler_authority};
use super::error::CertificateError;
use super::subject_alt_names::Names;

/// The bundle that should follow `bundle` at `now`, or `None` while it is good as it is.
///
/// # Errors
/// A key or a certificate cannot be made.
pub fn next(
    now: Timestamp,
    bundle: &Bundle,
    names: &Names,
    rules: &RotationRules,
) -> Result<Option<Bundle>, CertificateError> {
    let leaf = &bundle.leaf;
    let settled = rotation::is_settled(now, leaf.life);
    let unused = |position: usize| settled && !bundle.authorities[position].signed(leaf);
    let authorities = renew(now, &bundle.authorities, rules, unused, new_authority)?;
    let replaced = settled && bundle.signed_anew(rules);
    let scheduler = renew(
        now,
        &bundle.scheduler,
        rules,
        |_| replaced,
        new_scheduler_authority,
    )?;
    let in_use = authorities.as_deref().unwrap_or(&bundle.authorities);
    let signer = &in_use[rotation::signer(now, &lives(in_use), rules)];
    let stays = leaf.names == *names
        && signer.signed(leaf)
        && rotation::leaf_stays(now, leaf.life, signer.life, &rules.validity);
    if authorities.is_none() && scheduler.is_none() && stays {
        return Ok(None);
    }
    let leaf = if stays {
        Arc::clone(leaf)
    } else {
        Arc::new(signer.issue_server(names, now, rules.validity.leaf())?)
    };
    Ok(Some(Bundle {
        leaf,
        authorities: authorities.unwrap_or_else(|| bundle.authorities.clone()),
        scheduler: scheduler.unwrap_or_else(|| bundle.scheduler.clone()),
    }))
}

type Authorities = Vec<Arc<SigningAuthority>>;

/// The authorities after the change that is due; `None` where none is.
fn renew(
    now: Timestamp,
    authorities: &[Arc<SigningAuthority>],
    rules: &RotationRules,
    unused: impl Fn(usize) -> bool,
    successor: fn(Timestamp, &Validity) -> Result<Arc<SigningAuthority>, CertificateError>,
) -> Result<Option<Authorities>, CertificateError> {
    let Some(due) = rotation::renewal(now, &lives(authorities), rules, unused) else {
        return Ok(None);
    };
    let Renewal {
        kept,
        successor: lacks,
    } = due;
    let mut renewed: Authorities = kept
        .into_iter()
        .map(|position| Arc::clone(&authorities[position]))
        .collect();
    if lacks {
        renewed.push(successor(now, &rules.validity)?);
    }
    Ok(Some(renewed))
}

pub(crate) fn lives(authorities: &[Arc<SigningAuthority>]) -> Vec<Lifetime> {
    authorities.iter().map(|authority| authority.life).collect()
}

#[cfg(test)]
mod tests;
