use super::*;

fn only(job: JobId) -> (Vec<JobId>, SettlingBatch) {
    (vec![job], SettlingBatch::default())
}

#[test]
fn a_job_is_known_as_long_as_its_claim_lives() {
    let (open_claims, job) = (OpenClaims::default(), JobId::new(1, 0));
    let claim = open_claims.add(job);
    assert_eq!(open_claims.known(), only(job));
    drop(claim);
    assert_eq!(open_claims.known(), (Vec::new(), SettlingBatch::default()));
}

#[test]
fn a_doubt_that_comes_while_another_is_looked_into_stays() {
    let open_claims = OpenClaims::default();
    assert_eq!(open_claims.doubts(), None);
    open_claims.doubt();
    assert_eq!(open_claims.doubts(), Some(1));
    open_claims.doubt();
    open_claims.clear(1);
    assert_eq!(open_claims.doubts(), Some(2));
    open_claims.clear(2);
    assert_eq!(open_claims.doubts(), None);
}

#[test]
fn a_job_that_is_parked_and_taken_again_is_known_apart_from_its_settlement() {
    let (open_claims, job) = (OpenClaims::default(), JobId::new(1, 0));
    let mut parked = open_claims.add(job);
    parked.join_batch(7);
    let settling = SettlingBatch { batch: 7, jobs: HashSet::from([job]) };
    assert_eq!(open_claims.known(), (Vec::new(), settling.clone()));
    let again = open_claims.add(job);
    assert_eq!(open_claims.known(), (vec![job], settling));
    drop(parked);
    assert_eq!(open_claims.known(), (vec![job], SettlingBatch { batch: 7, jobs: HashSet::new() }));
    drop(again);
}
