import { expect, test } from "vitest";

import { parseRecord } from "../../../../shared/domains/records/input.ts";
import {
  dmarcRecord,
  reservedFor,
  spfRecord,
  systemRecords,
} from "../../../../shared/domains/records/system-records.ts";

const settings = {
  dmarc_policy: "quarantine",
  dmarc_report_email: "dmarc@example.com",
  spf_includes: [],
  redirect_url: null,
  mta_sts_mode: null,
  tls_report_email: null,
} as const;

test("all system records are valid records, and customers cannot write them", () => {
  const key =
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gunVTLw7onLRnrq0/IzW7yWR7QkrmBL7jTKEn5u+qKhbwKfBstIs+bMY2Zkp18gnTxKLxoS2tFczGkPLPgizskuemMghRniWaoLcyehkd3qqGElvW/VDL5AaWTg0nLVkjRo9z+40RQzuVaE8AkAFmxZzow3x+VJYKdjykkJ0iT9wCS0DRTXu269V264Vf/3jvredZiKRkgwlL9xNAwxXFg0x/XFw005UWVRIkdgcKWTjpBP2dPwVZ4WWC+9aGVd+Gyn1o0CLelf4rEjGoXbAAEgAqeGUxrcIlbjXfbcmwIDAQAB";
  const records = systemRecords(settings, { selector: "hm1", public_key: key });
  expect(records).toHaveLength(7);
  for (const { purpose: _, ...record } of records) {
    expect(parseRecord(record, "example.com")).toEqual({ record });
    expect(reservedFor(record, settings)).toBeTypeOf("string");
  }
});

test("the SPF record names the domain's own sending addresses before our include, even 16 long addresses", () => {
  expect(spfRecord([]).value).toBe("v=spf1 include:_spf.hosted-mail.example ~all");
  const senders = ["45.0.0.1", "2606:4700::1111"];
  expect(spfRecord(senders).value).toBe(
    "v=spf1 ip4:45.0.0.1 ip6:2606:4700::1111 include:_spf.hosted-mail.example ~all",
  );
  expect(spfRecord(senders, ["_spf.a.example", "b.example"]).value).toBe(
    "v=spf1 ip4:45.0.0.1 ip6:2606:4700::1111 include:_spf.hosted-mail.example include:_spf.a.example include:b.example ~all",
  );
  const many = Array.from(
    { length: 16 },
    (_, index) => `2a01:4f8:1111:2222:3333:4444:5555:${(4_096 + index).toString(16)}`,
  );
  for (const { purpose: _, ...record } of [
    spfRecord(senders),
    spfRecord(many),
    spfRecord(senders, ["_spf.a.example"]),
  ]) {
    expect(parseRecord(record, "example.com")).toEqual({ record });
    expect(reservedFor(record, settings)).toBeTypeOf("string");
  }
});

test("the DMARC record has the policy and the address for reports", () => {
  expect(dmarcRecord(settings).value).toBe("v=DMARC1; p=quarantine; rua=mailto:dmarc@example.com");
  expect(dmarcRecord({ dmarc_policy: "none", dmarc_report_email: null }).value).toBe("v=DMARC1; p=none");
});

test.each([
  ["@", "MX", "mx.other.example"],
  ["@", "TXT", "v=spf1 -all"],
  ["_dmarc", "TXT", "v=DMARC1; p=none"],
  ["_dmarc", "CNAME", "dmarc.other.example"],
  ["hm1._domainkey", "CNAME", "key.other.example"],
  ["hm1._domainkey", "NS", "ns1.other.example"],
  ["_domainkey", "NS", "ns1.other.example"],
  ["autoconfig", "A", "192.0.2.1"],
  ["autodiscover", "NS", "ns1.other.example"],
] as const)("the record %s %s %s is reserved, because it would disturb mail", (name, type, value) => {
  expect(reservedFor({ name, type, value }, settings)).toBeTypeOf("string");
});

test.each([
  ["@", "A", "192.0.2.1"],
  ["@", "TXT", "my-site-verification=1"],
  ["sub", "MX", "mx.other.example"],
  ["sub", "TXT", "v=spf1 -all"],
  ["_dmarc.sub", "TXT", "v=DMARC1; p=none"],
  ["other._domainkey", "TXT", "v=DKIM1; p="],
  ["_domainkey", "TXT", "o=-"],
  ["sub", "NS", "ns1.other.example"],
  ["*", "A", "192.0.2.1"],
] as const)("the record %s %s %s is not reserved", (name, type, value) => {
  expect(reservedFor({ name, type, value }, settings)).toBeUndefined();
});
