//! When certificates are replaced, and by what.
//!
//! An authority gets a successor while a tenth of its life is left. The successor is published
//! beside it and signs nothing for half of that time; then the server's certificate is signed by
//! it; the old one stays published until its own end. kube-scheduler's authorities need no such
//! wait, since it is the server that has to know them, and it knows them at once.

use std::sync::Arc;

use jiff::Timestamp;

use super::bundle::{new_authority, new_scheduler_authority, newest};
use super::{Bundle, CertificateError, Names, SigningAuthority, Validity};

/// The bundle that should follow `bundle` at `now`, or `None` while it is good as it is.
///
/// # Errors
///
/// Where a key or a certificate cannot be made.
pub fn next(
    now: Timestamp,
    bundle: &Bundle,
    names: &Names,
    validity: &Validity,
) -> Result<Option<Bundle>, CertificateError> {
    let authorities = renew(now, &bundle.authorities, validity, new_authority)?;
    let scheduler = renew(now, &bundle.scheduler, validity, new_scheduler_authority)?;
    let in_use = authorities.as_deref().unwrap_or(&bundle.authorities);
    let signer = signer(now, in_use, validity);
    let leaf = if bundle.leaf.can_stay(now, names, signer, validity) {
        None
    } else {
        Some(Arc::new(signer.issue_server(
            names,
            now,
            validity.leaf(),
        )?))
    };
    if authorities.is_none() && scheduler.is_none() && leaf.is_none() {
        return Ok(None);
    }
    Ok(Some(Bundle {
        authorities: authorities.unwrap_or_else(|| bundle.authorities.clone()),
        leaf: leaf.unwrap_or_else(|| bundle.leaf.clone()),
        scheduler: scheduler.unwrap_or_else(|| bundle.scheduler.clone()),
    }))
}

type Authorities = Vec<Arc<SigningAuthority>>;

/// Takes expired authorities away and adds a successor where the newest nears its end; `None`
/// where neither is due.
fn renew(
    now: Timestamp,
    authorities: &[Arc<SigningAuthority>],
    validity: &Validity,
    successor: fn(Timestamp, &Validity) -> Result<Arc<SigningAuthority>, CertificateError>,
) -> Result<Option<Authorities>, CertificateError> {
    let mut renewed: Authorities = authorities
        .iter()
        .filter(|authority| authority.not_after > now)
        .cloned()
        .collect();
    let lasts = renewed.iter().any(|authority| {
        authority
            .not_after
            .saturating_sub(validity.renew_authority_before())
            .is_ok_and(|due| due > now)
    });
    if !lasts {
        renewed.push(successor(now, validity)?);
    }
    let changed = !lasts || renewed.len() != authorities.len();
    Ok(changed.then_some(renewed))
}

/// The authority that signs at `now`: the newest that has been published long enough. Where none
/// has (the first of all, or a service that slept through the renewal) the oldest that outlives
/// the next rotation, and else the newest.
fn signer<'a>(
    now: Timestamp,
    authorities: &'a [Arc<SigningAuthority>],
    validity: &Validity,
) -> &'a SigningAuthority {
    let known = |authority: &SigningAuthority| {
        authority
            .published()
            .saturating_add(validity.overlap())
            .is_ok_and(|settled| settled <= now)
    };
    let lasts = |authority: &SigningAuthority| {
        authority
            .not_after
            .saturating_sub(validity.rotate_before())
            .is_ok_and(|due| due > now)
    };
    authorities
        .iter()
        .rev()
        .find(|authority| known(authority) && lasts(authority))
        .or_else(|| authorities.iter().find(|authority| lasts(authority)))
        .map_or_else(|| newest(authorities), Arc::as_ref)
}

#[cfg(test)]
mod tests;
