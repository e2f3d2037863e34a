import fc from "fast-check";
import { expect, test } from "vitest";

import { clientNetwork } from "../../../shared/core/ip.ts";
import { anyString } from "../../support/text.ts";

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::ffff:c000:201", "192.0.2.1"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:db8::2:3:4:5", "2001:db8:0:0::/64"],
  ["2001:DB8:0:0:ffff:ffff:ffff:ffff", "2001:db8:0:0::/64"],
  ["2001:db8:0:1::1", "2001:db8:0:1::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["", "unknown"],
  ["unix:", "unknown"],
  ["example.com", "unknown"],
  ["192.0.2.1, 192.0.2.2", "unknown"],
])("the network of %s is %s", (ip, network) => {
  expect(clientNetwork(ip)).toBe(network);
});

test("all spellings of all addresses of a /64 have the same network, and no text throws", () => {
  fc.assert(
    fc.property(fc.ipV6(), anyString(), (ip, text) => {
      const network = clientNetwork(ip);
      expect(typeof clientNetwork(text)).toBe("string");
      if (!network.endsWith("::/64")) return;
      expect(clientNetwork(network.replace("/64", "1"))).toBe(network);
      expect(clientNetwork(network.replace("::/64", ":1:2:3:4").toUpperCase())).toBe(network);
    }),
    { numRuns: 300 },
  );
});
