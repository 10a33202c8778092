//! Tables that are written as text, in arguments and in the environment.

use std::collections::HashMap;

use dripfeed_job::Rate;

use super::{Folder, Layers, Settings, bucket, layers, load};

#[test]
fn a_table_in_an_argument_or_the_environment_adds_to_what_there_is() {
    let folder = Folder::new();
    let file = folder.file("a.toml", "[buckets.mail]\nupstream = \"http://127.0.0.1:1/\"\nleak.burst = 3\n");
    let settings = load(&Layers {
        environment: Some(HashMap::from([(
            "DRIPFEED__BUCKETS__SMS".to_owned(),
            "{ upstream = \"http://127.0.0.1:2/\", capacity = 7 }".to_owned(),
        )])),
        arguments: vec![
            "buckets.mail.leak={rate=\"1/s\"}".to_owned(),
            "buckets.push={upstream=\"http://127.0.0.1:3/\"}".to_owned(),
            "define={upstreams=[\"https://api.example\"]}".to_owned(),
        ],
        ..layers([file])
    });
    let [mail, sms, push] = ["mail", "sms", "push"].map(|name| bucket(&settings, name));
    assert_eq!((mail.leak.burst, mail.leak.rate), (3, Some("1/s".parse::<Rate>().unwrap())));
    assert_eq!((sms.capacity, push.leak.burst), (7, 1));
    assert!(Settings::load(&Layers { arguments: vec!["buckets.x={broken".to_owned()], ..layers([]) }).is_err());
}
