import { expect, test } from "vitest";

import { findRecords } from "../../../../shared/domains/records/find-records.ts";
import { a, cname, delegated, internet, ns, serving, txt } from "../../../support/dns-network.ts";

test("look-ups find the delegations inside the zone with their glue, and nothing else below them; below a delegation of `_domainkey` they find the DKIM records, and not the delegation", async () => {
  const net = await internet();
  const child = await net.add(
    serving(
      {
        name: "em.shop.test",
        rrsets: [
          ns("em.shop.test", "ns1.em.shop.test"),
          a("em.shop.test", "192.0.2.1"),
          txt("em.shop.test", "v=spf1 -all"),
          a("ns1.em.shop.test", "192.0.2.53"),
          a("click.em.shop.test", "192.0.2.2"),
        ],
      },
      { name: "_domainkey.shop.test", rrsets: [txt("default._domainkey.shop.test", "v=DKIM1; p=AAAA")] },
    ),
  );
  const host = await net.add(
    serving({
      name: "shop.test",
      rrsets: [
        ...delegated("em.shop.test", child),
        ns("_domainkey.shop.test", "ns1.em.shop.test"),
        cname("links.shop.test", "click.em.shop.test"),
        // The nameservers of this name do not answer.
        ns("status.shop.test", "mx1.shop.test"),
        a("mx1.shop.test", "192.0.2.54"),
      ],
    }),
  );
  net.registered.push(...delegated("shop.test", host));
  const { method, records, skipped, unanswered } = await findRecords(net.open(), "shop.test");
  expect({ method, skipped, unanswered }).toEqual({ method: "lookups", skipped: [], unanswered: 0 });
  expect(records.map(({ name, type, value, ttl }) => `${name} ${ttl} ${type} ${value}`).toSorted()).toEqual([
    "default._domainkey 300 TXT v=DKIM1; p=AAAA",
    "em 3600 NS ns1.em.shop.test",
    "links 300 CNAME click.em.shop.test",
    "mx1 300 A 192.0.2.54",
    "ns1.em 300 A 192.0.2.53",
    "status 3600 NS mx1.shop.test",
  ]);
});

test("look-ups find a delegation to nameservers that also serve the zone", async () => {
  const net = await internet();
  const host = await net.add(
    serving(
      { name: "em.shop.test", rrsets: [ns("em.shop.test", "ns1.shop.test"), a("em.shop.test", "192.0.2.1")] },
      { name: "shop.test", rrsets: [ns("em.shop.test", "ns1.shop.test"), a("www.shop.test", "192.0.2.3")] },
    ),
  );
  net.registered.push(...delegated("shop.test", host));
  const { records } = await findRecords(net.open(), "shop.test");
  expect(records.map(({ name, type, value }) => `${name} ${type} ${value}`).toSorted()).toEqual([
    "em NS ns1.shop.test",
    "www A 192.0.2.3",
  ]);
});
