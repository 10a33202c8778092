//! Checks that an address is public, and not private, loopback or link-local (SSRF protection).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// The special-purpose registry of the IANA, and the one public address behind which a cloud keeps its metadata.
const CLOSED_V4: [Ipv4Net; 16] = [
    v4([0, 0, 0, 0], 8),        // this network
    v4([10, 0, 0, 0], 8),       // private
    v4([100, 64, 0, 0], 10),    // carrier-grade NAT, and metadata at Alibaba
    v4([127, 0, 0, 0], 8),      // loopback
    v4([168, 63, 129, 16], 32), // metadata at Azure
    v4([169, 254, 0, 0], 16),   // link-local, and metadata nearly everywhere
    v4([172, 16, 0, 0], 12),    // private
    v4([192, 0, 0, 0], 24),     // protocol assignments, and metadata at Oracle
    v4([192, 0, 2, 0], 24),     // documentation
    v4([192, 88, 99, 0], 24),   // 6to4 relays
    v4([192, 168, 0, 0], 16),   // private
    v4([198, 18, 0, 0], 15),    // benchmarks
    v4([198, 51, 100, 0], 24),  // documentation
    v4([203, 0, 113, 0], 24),   // documentation
    v4([224, 0, 0, 0], 4),      // multicast
    v4([240, 0, 0, 0], 4),      // reserved, and broadcast
];

/// Global unicast. Loopback, link-local, private, multicast, mapped (`::ffff:…`) and NAT64 (`64:ff9b::…`) addresses
/// are outside of it.
const OPEN_V6: Ipv6Net = v6([0x2000, 0, 0], 3);

/// The parts of `OPEN_V6` that aren't public.
const CLOSED_V6: [Ipv6Net; 4] = [
    v6([0x2001, 0, 0], 23),     // protocol assignments, and Teredo, which contains an IPv4 address
    v6([0x2001, 0xdb8, 0], 32), // documentation
    v6([0x2002, 0, 0], 16),     // 6to4, which contains an IPv4 address
    v6([0x3fff, 0, 0], 20),     // documentation
];

const fn v4([a, b, c, d]: [u8; 4], length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6([a, b, c]: [u16; 3], length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), length)
}

/// Whether an address is on the public internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !CLOSED_V4.iter().any(|net| net.contains(&address)),
        IpAddr::V6(address) => OPEN_V6.contains(&address) && !CLOSED_V6.iter().any(|net| net.contains(&address)),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    #[test]
    fn addresses_of_the_internet_are_public() {
        for text in ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0"] {
            assert!(public(text), "{text}");
        }
        for text in ["2606:4700:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888", "2003::1"] {
            assert!(public(text), "{text}");
        }
    }

    #[test]
    fn private_local_and_metadata_addresses_are_not() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
        ] {
            assert!(!public(text), "{text}");
        }
        for text in ["::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "100::1", "5f00::1"] {
            assert!(!public(text), "{text}");
        }
    }

    #[test]
    fn an_ipv4_address_inside_an_ipv6_one_is_not() {
        for text in [
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "2002:808:808::1",
            "2001:0:7f00:1::",
            "2001:db8::1",
            "3fff::1",
        ] {
            assert!(!public(text), "{text}");
        }
    }
}
