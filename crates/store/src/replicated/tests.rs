use super::*;
use crate::script::Script;

static SCRIPT: Script = Script::new("place", &[], "return 1");

#[test]
fn a_bucket_has_one_connection_and_many_buckets_use_them_all() {
    let place = |bucket: u32, argument: &str| {
        let mut call = SCRIPT.on(&[format!("dripfeed:{{b{bucket}}}:jobs")]);
        call.arg(argument);
        index_of(&call)
    };
    let mut used = std::collections::BTreeSet::new();
    for bucket in 0..100 {
        assert_eq!(place(bucket, "first"), place(bucket, "second"), "bucket {bucket}");
        used.insert(place(bucket, ""));
    }
    assert_eq!(u32::try_from(used.len()), Ok(CONNECTIONS));
}
