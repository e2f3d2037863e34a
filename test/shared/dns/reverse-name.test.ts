import fc from "fast-check";
import { expect, test } from "vitest";

import { addressAt, canonicalAddress, reverseName } from "../../../shared/dns/reverse.ts";

test.each([
  ["192.0.2.10", "10.2.0.192.in-addr.arpa"],
  ["255.254.0.1", "1.0.254.255.in-addr.arpa"],
  ["2001:db8::567:89ab", "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"],
  ["::ffff:192.0.2.10", "10.2.0.192.in-addr.arpa"],
])("the reverse name of %s is %s", (ip, name) => {
  expect(reverseName(ip)).toBe(name);
});

test.each(["", "192.0.2", "010.0.0.1", "0x7f.1", "fe80::1%eth0", "mail.example.com", "192.0.2.1 "])(
  "%j is not an address and has no reverse name",
  (text) => {
    expect(() => reverseName(text)).toThrow("not an IP address");
  },
);

test("the reverse name of an IPv6 address has its digits in reverse order, whatever the letter case", () => {
  const groups = fc.tuple(...Array.from({ length: 8 }, () => fc.integer({ min: 0x1000, max: 0xffff })));
  fc.assert(
    fc.property(groups, (parts) => {
      const spelling = parts.map((part) => part.toString(16)).join(":");
      const name = reverseName(spelling);
      expect(reverseName(spelling.toUpperCase())).toBe(name);
      expect(
        name
          .replace(/\.ip6\.arpa$/, "")
          .split(".")
          .toReversed()
          .join(""),
      ).toBe(spelling.replaceAll(":", ""));
    }),
  );
});

test("`addressAt` returns the address of a reverse name in its canonical spelling", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (ip) => {
      const canonical = canonicalAddress(ip);
      expect(addressAt(reverseName(ip))).toBe(canonical);
      expect(canonicalAddress(canonical)).toBe(canonical);
      expect(reverseName(canonical)).toBe(reverseName(ip));
    }),
  );
});

test.each([
  "in-addr.arpa",
  "2.0.192.in-addr.arpa",
  "1.10.2.0.192.in-addr.arpa",
  "256.2.0.192.in-addr.arpa",
  "010.2.0.192.in-addr.arpa",
  "10.2.0.192.in-addr.arpa.example.com",
  "8.b.d.0.1.0.0.2.ip6.arpa",
  `g.${"0.".repeat(31)}ip6.arpa`,
  `aa.${"0.".repeat(31)}ip6.arpa`,
  "mail.example.com",
  "",
])("`addressAt` finds no address in %j", (name) => {
  expect(addressAt(name)).toBeUndefined();
});
