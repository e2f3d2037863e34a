import type { Answer } from "dns-packet";
import { expect, test } from "vitest";

import { svcParamsText } from "../../../shared/dns/svcb.ts";
import { framed } from "../../../shared/dns/transport.ts";
import { nextSerial } from "../../../shared/domains/zone.ts";
import { zoneAt } from "../../../shared/providers/dns/embedded.ts";
import { byTcp, query } from "../../infra/local/dns/asking.ts";
import { addedRecord, recordsRequest } from "../../support/dns-records.ts";
import { active } from "../../support/domains.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const server = () => ({ port: Number(process.env["TEST_DNS_PORT"]), stop: async () => undefined });

/** The records of a name and type in all sections of the nameserver's answer, with delegations and their glue. */
async function served(name: string, type: string): Promise<Answer[]> {
  const [packet] = await byTcp(server(), framed(query(name, type)));
  const all = [...(packet?.answers ?? []), ...(packet?.authorities ?? []), ...(packet?.additionals ?? [])];
  return all.filter((one) => one.name === name && one.type === type);
}

const host = (name: string): string => (name === "." || name === "" ? "." : `${name}.`);
const octet = (byte: number): string =>
  byte < 0x20 || byte > 0x7e
    ? `\\${String(byte).padStart(3, "0")}`
    : String.fromCharCode(byte).replace(/["\\]/, "\\$&");
const quote = (bytes: Buffer): string => `"${Array.from(bytes, octet).join("")}"`;

/** The data of an HTTPS or SVCB record: a priority, the labels of a target, and its parameters. */
function serviceText(data: Buffer): string {
  const labels: string[] = [];
  let at = 2;
  for (; data.readUInt8(at) > 0; at += 1 + data.readUInt8(at)) {
    labels.push(data.toString("latin1", at + 1, at + 1 + data.readUInt8(at)));
  }
  const params: { key: number; value: Buffer }[] = [];
  for (at += 1; at < data.length; at += 4 + data.readUInt16BE(at + 2)) {
    params.push({ key: data.readUInt16BE(at), value: data.subarray(at + 4, at + 4 + data.readUInt16BE(at + 2)) });
  }
  return `${data.readUInt16BE()} ${host(labels.join("."))} ${svcParamsText(params)}`.trim();
}

/** The data of a record from the wire, in the form of a zone file. */
function text(record: Answer): string {
  switch (record.type) {
    case "A":
    case "AAAA":
      return record.data;
    case "CNAME":
    case "NS":
      return host(record.data);
    case "MX":
      return `${record.data.preference} ${host(record.data.exchange)}`;
    case "SRV":
      return `${record.data.priority} ${record.data.weight} ${record.data.port} ${host(record.data.target)}`;
    case "TXT":
      return [record.data]
        .flat()
        .map((one) => quote(Buffer.from(one)))
        .join(" ");
    case "CAA":
      return `${record.data.flags} ${record.data.tag} ${quote(Buffer.from(record.data.value))}`;
    case "TLSA": {
      const { usage, selector, matchingType, certificate } = record.data;
      return `${usage} ${selector} ${matchingType} ${certificate.toString("hex")}`;
    }
    case "SSHFP":
      return `${record.data.algorithm} ${record.data.hash} ${record.data.fingerprint.toLowerCase()}`;
    case "SOA": {
      const { mname, rname, serial, refresh, retry, expire, minimum } = record.data;
      return `${host(mname)} ${host(rname)} ${serial} ${refresh} ${retry} ${expire} ${minimum}`;
    }
    default:
      if (!("data" in record) || !Buffer.isBuffer(record.data)) throw new Error(`a ${record.type} is not expected`);
      return serviceText(record.data);
  }
}

const wireTypes: Record<string, string> = { HTTPS: "UNKNOWN_65", SVCB: "UNKNOWN_64" };

/** Every record that the nameserver has for the zone, as lines of a zone file. */
async function servedLines(domain: string): Promise<string[]> {
  const zone = await zoneAt(testTable(), domain);
  const sets = [{ name: domain, type: "SOA" }, ...(zone?.rrsets ?? [])];
  const lines = sets.map(async ({ name, type }) => {
    const owner = name === domain ? "@" : name.slice(0, -domain.length - 1);
    const records = await served(name, wireTypes[type] ?? type);
    return records.map((record) => [owner, "ttl" in record && record.ttl, "IN", type, text(record)].join("\t"));
  });
  return (await Promise.all(lines)).flat().toSorted();
}

async function exportedLines(account: Account, domain: string): Promise<string[]> {
  const { body } = await recordsRequest(account, "GET", `/export?domain=${domain}`);
  return (body.zone_file as string).split("\n").filter((line) => line.includes("\tIN\t"));
}

async function serialOf(domain: string): Promise<number> {
  const [soa] = await served(domain, "SOA");
  return soa?.type === "SOA" ? (soa.data.serial ?? 0) : 0;
}

test("the exported file agrees with the nameserver: every name, value and TTL, with SOA and NS", async () => {
  const account = await newAccount();
  const { name: domain } = await active(account);
  const zone_file = [
    "@ 600 A 192.0.2.1",
    "@ 300 A 192.0.2.2",
    "@ AAAA 2001:db8::1",
    "* 60 CNAME www",
    "www A 192.0.2.3",
    "mail MX 10 mx.example.net.",
    "silent MX 0 .",
    "_sip._tcp SRV 1 2 5060 sip.example.net.",
    '@ CAA 128 issue "ca.example; a=b"',
    `text TXT "${"x".repeat(255)}" "\\195\\169 \\"quoted\\" \\\\"`,
    "sub NS ns1.sub",
    "sub NS ns.example.net.",
    "ns1.sub A 192.0.2.4",
    `_443._tcp TLSA 3 1 1 ${"0a".repeat(32)}`,
    `www SSHFP 4 2 ${"f0".repeat(32)}`,
    'www HTTPS 1 . alpn="h2,h3" key700="\\195 \\"" port=8443',
    "@ HTTPS 0 cdn.example.net.",
    "_dns SVCB 2 dns.example.net. alpn=dot",
  ];
  const { body } = await recordsRequest(account, "POST", "/import", { domain, zone_file: zone_file.join("\n") });
  expect(body).toMatchObject({ created_count: zone_file.length, skipped: [] });
  const lines = await exportedLines(account, domain);
  // Two nameservers, an SOA, and seven system records.
  expect(lines).toHaveLength(zone_file.length + 10);
  expect(lines.toSorted()).toEqual(await servedLines(domain));
});

test("the serial grows with each change, and a request that changes nothing keeps it", async () => {
  const account = await newAccount();
  const { name: domain } = await active(account);
  const serials = [await serialOf(domain)];
  const { id } = await addedRecord(account, { domain, name: "www", type: "A", value: "192.0.2.1" });
  serials.push(await serialOf(domain));
  await recordsRequest(account, "PATCH", `/${id}`, { ttl: 600 });
  serials.push(await serialOf(domain));
  await recordsRequest(account, "PATCH", `/${id}`, { ttl: 600 });
  expect(await serialOf(domain)).toBe(serials[2]);
  await recordsRequest(account, "DELETE", `/${id}`);
  serials.push(await serialOf(domain));
  expect(serials).toEqual([...new Set(serials)].toSorted((a, b) => a - b));
  expect(serials).toHaveLength(4);
});

test.each([
  [1, "2026-03-01T12:00:00Z", 1_772_366_400],
  [1_772_366_400, "2026-03-01T12:00:00Z", 1_772_366_401],
  [1_772_366_500, "2026-03-01T12:00:00Z", 1_772_366_501],
  [2 ** 32 - 1, "2026-03-01T12:00:00Z", 1_772_366_400],
  [2 ** 32 - 1, "1970-01-01T00:00:00Z", 0],
  [4_294_967_290, "2106-02-07T06:28:26Z", 10],
])("after the serial %i, at %s, comes %i (RFC 1982)", (serial, at, next) => {
  expect(nextSerial(serial, new Date(at))).toBe(next);
});
